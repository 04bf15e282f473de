/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Layouts other than the default, for the tests that choose one: what an id is
 * made of, how a layout is asked for, and whether a tick gives all it has.
 *
 * Functions return 0 or a negative errno unless they say otherwise.
 */
#ifndef SNOWFLAKE_LAYOUTS_H
#define SNOWFLAKE_LAYOUTS_H

#include "snowflake_test.h"

#define WORKER_SEQUENCE	"worker-sequence"
#define SEQUENCE_WORKER	"sequence-worker"
#define CUSTOM		"custom"

struct layout {
	const char *preset;
	int timestamp_bits;
	int worker_bits;
	int sequence_bits;
	const char *order;
	int tick_ms;
	int64_t epoch_ms;
};

enum preset { TWITTER, INSTAGRAM, DISCORD, SONYFLAKE, JS53, PRESETS };

extern const struct layout presets[PRESETS];

static inline int layout_shift(const struct layout *l)
{
	return l->worker_bits + l->sequence_bits;
}

static inline uint64_t layout_workers(const struct layout *l)
{
	return 1ULL << l->worker_bits;
}

static inline uint64_t layout_sequences(const struct layout *l)
{
	return 1ULL << l->sequence_bits;
}

static inline bool layout_worker_low(const struct layout *l)
{
	return l->order[0] == 's';
}

static inline int64_t layout_tick(const struct layout *l, uint64_t id)
{
	return id >> layout_shift(l);
}

static inline uint64_t layout_worker(const struct layout *l, uint64_t id)
{
	return id >> (layout_worker_low(l) ? 0 : l->sequence_bits) &
	       (layout_workers(l) - 1);
}

static inline uint64_t layout_sequence(const struct layout *l, uint64_t id)
{
	return id >> (layout_worker_low(l) ? l->worker_bits : 0) &
	       (layout_sequences(l) - 1);
}

/* The instants at which the tick of an id begins and ends, in Unix ms. */
static inline int64_t layout_begin_ms(const struct layout *l, uint64_t id)
{
	return l->epoch_ms + layout_tick(l, id) * l->tick_ms;
}

static inline int64_t layout_end_ms(const struct layout *l, uint64_t id)
{
	return layout_begin_ms(l, id) + l->tick_ms;
}

/* The tick of an instant, in Unix ms. */
static inline int64_t layout_tick_at(const struct layout *l, int64_t ms)
{
	return (ms - l->epoch_ms) / l->tick_ms;
}

/* The last tick: bit 63 stays 0, however wide the timestamp field is. */
static inline int64_t layout_last_tick(const struct layout *l)
{
	int bits = 63 - layout_shift(l);

	if (l->timestamp_bits < bits)
		bits = l->timestamp_bits;
	return (1LL << bits) - 1;
}

/* Unix ms of it; it has to fit. */
static inline int64_t layout_ends_ms(const struct layout *l)
{
	return l->epoch_ms + layout_last_tick(l) * l->tick_ms;
}

/*
 * Asks for a layout, by its preset or part by part, while there is no worker
 * id. layout_start() also drops the worker id first and sets one, and returns
 * once an id was read.
 */
int layout_put(const struct layout *l);
int layout_start(const struct layout *l, uint64_t worker);

/* The attribute that does not show the layout, or "". */
const char *layout_differs(const struct layout *l);

/* What is wrong with one id read just now, by its fields and by the clock, or "" */
const char *layout_fault_now(const struct layout *l, int fd, uint64_t worker);

/*
 * fill_ticks() reads several ticks' worth at a time, until @want ticks were
 * used up: each of their numbers came, once. Returns what is wrong, or "".
 */
struct fill {
	const struct layout *layout;
	int fd;
	uint64_t worker;	/* the first */
	uint64_t workers;
	/* Found out: */
	unsigned int full;
	uint64_t ids;
	uint64_t last;
	char fault[160];
};

const char *fill_ticks(struct fill *f, unsigned int want);

/* Binds an open file to a worker id. */
int device_bind(int fd, uint64_t worker);

#endif /* SNOWFLAKE_LAYOUTS_H */

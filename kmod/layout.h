/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The layout: how an id is made of a timestamp, a worker id and a sequence,
 * and what follows from the widths of the three. Also compiled in user space.
 */
#ifndef SNOWFLAKE_LAYOUT_H
#define SNOWFLAKE_LAYOUT_H

#include "portable.h"

/* No layout has longer ticks, in ms: ids would no longer tell the time. */
#define SNOWFLAKE_TICK_MAX_MS 1000

/**
 * enum snowflake_layout_order - what stands below the timestamp
 * @SNOWFLAKE_WORKER_SEQUENCE: the worker id, and the sequence lowest
 * @SNOWFLAKE_SEQUENCE_WORKER: the sequence, and the worker id lowest
 */
enum snowflake_layout_order {
	SNOWFLAKE_WORKER_SEQUENCE,
	SNOWFLAKE_SEQUENCE_WORKER,
};

/**
 * struct snowflake_layout - the make-up of an id
 * @timestamp_bits: width of the timestamp field, which counts ticks
 * @worker_bits: width of the worker id field
 * @sequence_bits: width of the sequence field
 * @order: an enum snowflake_layout_order
 * @tick_ms: length of a tick, in milliseconds
 * @epoch_ms: the instant of tick 0, in Unix milliseconds
 */
struct snowflake_layout {
	u8 timestamp_bits;
	u8 worker_bits;
	u8 sequence_bits;
	u8 order;
	u16 tick_ms;
	u64 epoch_ms;
};

/**
 * struct snowflake_fields - an id taken apart
 * @tick: value of the timestamp field, in ticks since the epoch
 * @worker: worker id
 * @sequence: number within the tick
 */
struct snowflake_fields {
	u64 tick;
	u64 worker;
	u64 sequence;
};

/**
 * enum snowflake_preset - the layouts that have a name
 * @SNOWFLAKE_TWITTER: the one that gave ids their name; the default
 * @SNOWFLAKE_INSTAGRAM: shards for routing
 * @SNOWFLAKE_DISCORD: the default's widths, from 2015 on
 * @SNOWFLAKE_SONYFLAKE: ticks of 10 ms, sequence above the worker id
 * @SNOWFLAKE_JS53: safe in a JavaScript number
 * @SNOWFLAKE_CUSTOM: none of these
 */
enum snowflake_preset {
	SNOWFLAKE_TWITTER,
	SNOWFLAKE_INSTAGRAM,
	SNOWFLAKE_DISCORD,
	SNOWFLAKE_SONYFLAKE,
	SNOWFLAKE_JS53,
	SNOWFLAKE_CUSTOM,
};

/* By enum snowflake_preset; custom has no layout of its own. */
extern const struct snowflake_layout snowflake_layouts[SNOWFLAKE_CUSTOM];

const char *snowflake_layout_check(const struct snowflake_layout *layout,
				   u64 now_ms);
u64 snowflake_layout_last_tick(const struct snowflake_layout *layout);
u64 snowflake_layout_ends_ms(const struct snowflake_layout *layout);
u64 snowflake_layout_tick_to_ms(const struct snowflake_layout *layout, u64 tick);
u64 snowflake_layout_encode(const struct snowflake_layout *layout,
			    const struct snowflake_fields *fields);
void snowflake_layout_decode(const struct snowflake_layout *layout, u64 id,
			     struct snowflake_fields *fields);

/**
 * snowflake_layout_shift - width of all that is below the timestamp
 * @layout: the layout
 *
 * Return: the number of bits by which a tick is shifted up in an id.
 */
static inline unsigned int
snowflake_layout_shift(const struct snowflake_layout *layout)
{
	return layout->worker_bits + layout->sequence_bits;
}

/**
 * snowflake_layout_workers - number of worker ids
 * @layout: the layout
 *
 * Return: how many worker ids there are; the highest is one less.
 */
static inline u64 snowflake_layout_workers(const struct snowflake_layout *layout)
{
	return 1ULL << layout->worker_bits;
}

/**
 * snowflake_layout_sequences - ids of one worker in one tick
 * @layout: the layout
 *
 * Return: how many numbers a worker has in each tick.
 */
static inline u64
snowflake_layout_sequences(const struct snowflake_layout *layout)
{
	return 1ULL << layout->sequence_bits;
}

#endif /* SNOWFLAKE_LAYOUT_H */

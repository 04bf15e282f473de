/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The generator: the word, the blocks, the order of a file. How they work
 * together is told at the top of generator.c. Also compiled in user space.
 */
#ifndef SNOWFLAKE_GENERATOR_H
#define SNOWFLAKE_GENERATOR_H

#include "clock.h"
#include "layout.h"
#include "portable.h"

/**
 * enum snowflake_verdict - what became of an attempt to get ids
 * @SNOWFLAKE_GIVEN: there are ids
 * @SNOWFLAKE_EXHAUSTED: the tick is used up; wait for the next
 * @SNOWFLAKE_CLOSED: the configuration is just being changed; wait for it
 * @SNOWFLAKE_SKEWED: the clock of this CPU is a trifle short of another's
 * @SNOWFLAKE_NO_WORKER: there is no worker id
 * @SNOWFLAKE_ENDED: the clock is past the layout's last tick
 * @SNOWFLAKE_BEHIND: numbers of a later tick than the clock's were handed out
 */
enum snowflake_verdict {
	SNOWFLAKE_GIVEN,
	SNOWFLAKE_EXHAUSTED,
	SNOWFLAKE_CLOSED,
	SNOWFLAKE_SKEWED,
	SNOWFLAKE_NO_WORKER,
	SNOWFLAKE_ENDED,
	SNOWFLAKE_BEHIND,
};

/**
 * struct snowflake_config - a configuration, immutable once in force
 * @layout: the layout
 * @verdict: %SNOWFLAKE_GIVEN, or why nothing is minted under it
 * @cookie: its number, never used again; 0 if nothing is minted under it
 * @worker_id: the first worker id
 * @worker_count: how many worker ids there are
 * @cpu_block: numbers in a CPU's full block
 * @shift: width of a tick's index in the word
 * @capacity: numbers of the range in each tick
 * @epoch_ns: the instant of tick 0, in ns since the Unix epoch
 * @tick_ns: length of a tick, in ns
 * @last_tick: the last tick that an id can carry
 * @id_offset: the difference between an id and its word
 */
struct snowflake_config {
	struct snowflake_layout layout;
	enum snowflake_verdict verdict;
	u32 cookie;
	u32 worker_id;
	u32 worker_count;
	u32 cpu_block;
	unsigned int shift;
	u64 capacity;
	s64 epoch_ns;
	u64 tick_ns;
	u64 last_tick;
	u64 id_offset;
};

/**
 * struct snowflake_generator - what all CPUs share
 * @word: the first number not handed out: tick << shift | index
 * @waiters: readers that sleep for the next tick, or slept for this one and
 *	have had nothing yet
 * @config: the configuration in force, an RCU pointer, never NULL
 */
struct snowflake_generator {
	atomic64_t word ____cacheline_aligned;
	atomic_t waiters ____cacheline_aligned;
	const struct snowflake_config __rcu *config;
};

/**
 * struct snowflake_block - numbers of one tick that one CPU holds for itself
 * @next: first number not given
 * @end: first number that is not the block's
 * @start_ns: start of its tick, in ns since the Unix epoch
 * @ceiling: first number of the tick after its own
 * @cookie: the configuration under which it was claimed
 * @size: how many numbers it was claimed with
 * @minted: ids given on this CPU, out of the block or past it
 *
 * Touched with preemption off by its own CPU only; @minted may be looked at by
 * others.
 */
struct snowflake_block {
	u64 next;
	u64 end;
	s64 start_ns;
	u64 ceiling;
	u32 cookie;
	u32 size;
	local64_t minted;
} ____cacheline_aligned;

/**
 * struct snowflake_order - what keeps the ids of one open file rising
 * @last: the highest word given to the file
 * @cookie: the configuration to which @last belongs
 * @lock: serializes the change from one configuration to the next
 */
struct snowflake_order {
	atomic64_t last;
	u32 cookie;
	raw_spinlock_t lock;
};

/**
 * struct snowflake_run - the outcome of one attempt
 * @id: the first id; the others follow it without a gap
 * @count: how many ids there are
 * @until: if there are none, the instant at which to try again, in ns of
 *	CLOCK_MONOTONIC, or %S64_MAX if no clock decides that
 */
struct snowflake_run {
	u64 id;
	u32 count;
	s64 until;
};

extern const struct snowflake_config snowflake_config_closed;
extern const struct snowflake_config snowflake_config_no_worker;

void snowflake_generator_init(struct snowflake_generator *generator);
void snowflake_order_init(struct snowflake_order *order);
void snowflake_config_derive(struct snowflake_config *config);
u32 snowflake_default_block(const struct snowflake_layout *layout,
			    u32 worker_count, unsigned int cpus);
void snowflake_generator_rebase(struct snowflake_generator *generator,
				const struct snowflake_config *config,
				struct snowflake_clock *clock);
enum snowflake_verdict
snowflake_generator_take(struct snowflake_generator *generator,
			 struct snowflake_clock *clock,
			 struct snowflake_block *block,
			 struct snowflake_order *order, u32 want, bool woken,
			 struct snowflake_run *run);
enum snowflake_verdict
snowflake_generator_probe(struct snowflake_generator *generator,
			  struct snowflake_clock *clock, s64 *until);
bool snowflake_generator_last_tick(struct snowflake_generator *generator,
				   const struct snowflake_layout *layout,
				   u64 *tick);

#endif /* SNOWFLAKE_GENERATOR_H */

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
 * @until: in its place if there are none, the instant at which to try again, in
 *	ns of CLOCK_MONOTONIC, or %S64_MAX if no clock decides that
 * @count: how many ids there are
 * @verdict: %SNOWFLAKE_GIVEN if there is at least one, otherwise why not
 *
 * Small enough to be returned in registers.
 */
struct snowflake_run {
	union {
		u64 id;
		s64 until;
	};
	u32 count;
	enum snowflake_verdict verdict;
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
struct snowflake_run
snowflake_generator_claim(struct snowflake_generator *generator,
			  struct snowflake_clock *clock,
			  struct snowflake_block *block,
			  struct snowflake_order *order, u32 want, bool woken);
struct snowflake_run
snowflake_generator_probe(struct snowflake_generator *generator,
			  struct snowflake_clock *clock);
bool snowflake_generator_last_tick(struct snowflake_generator *generator,
				   const struct snowflake_layout *layout,
				   u64 *tick);

/**
 * snowflake_generator_take - one attempt to get ids
 * @generator: the generator
 * @clock: the clock
 * @block: the block of this CPU
 * @order: the order of the file that reads
 * @want: how many ids, at least 1
 * @woken: the reader is one of the generator's waiters
 *
 * This is the way of nearly every small read: out of the block. All others go
 * by snowflake_generator_claim(), to which nothing here need be told, since it
 * looks at everything itself.
 *
 * Context: preemption disabled, which also keeps the configuration alive.
 * Return: the ids, at most @want, or why there are none.
 */
static __always_inline struct snowflake_run
snowflake_generator_take(struct snowflake_generator *generator,
			 struct snowflake_clock *clock,
			 struct snowflake_block *block,
			 struct snowflake_order *order, u32 want, bool woken)
{
	const struct snowflake_config *config =
		rcu_dereference_sched(generator->config);
	u64 word = atomic64_read_acquire(&generator->word);
	struct snowflake_run run = { .verdict = SNOWFLAKE_GIVEN };
	struct snowflake_time now;
	s64 last;

	/* The word first, then the clock: see generator.c. */
	if (unlikely(!snowflake_clock_read(clock, &now)))
		goto claim;

	/* Is the block alive, and are we not behind? */
	if (block->cookie != config->cookie || word > block->ceiling ||
	    (u64)(now.real - block->start_ns) >= config->tick_ns)
		goto claim;
	if (block->next == block->end || want > config->cpu_block)
		goto claim;

	/*
	 * Does it lie above all that the file was given? Pairs with
	 * order_adopt(): @last is of this configuration.
	 */
	if (smp_load_acquire(&order->cookie) != block->cookie)
		goto claim;
	last = atomic64_read(&order->last);
	if ((u64)last >= block->next)
		goto claim;

	/* If it fails, another thread has raised the file. */
	run.count = min_t(u64, want, block->end - block->next);
	if (unlikely(!atomic64_try_cmpxchg(&order->last, &last,
					   block->next + run.count - 1)))
		goto claim;

	run.id = block->next + config->id_offset;
	block->next += run.count;
	local64_add(run.count, &block->minted);
	return run;

claim:
	return snowflake_generator_claim(generator, clock, block, order, want,
					 woken);
}

#endif /* SNOWFLAKE_GENERATOR_H */

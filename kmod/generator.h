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
 * @SNOWFLAKE_UNSEEDED: draw a random number and try again with it
 * @SNOWFLAKE_EXHAUSTED: the tick is used up; wait for the next
 * @SNOWFLAKE_CLOSED: the configuration is just being changed; wait for it
 * @SNOWFLAKE_SKEWED: the clock of this CPU is a trifle short of another's
 * @SNOWFLAKE_NO_WORKER: there is no worker id
 * @SNOWFLAKE_CLONED: there is none since this machine was cloned
 * @SNOWFLAKE_UNBOUND: the file is not bound to a worker id of the range
 * @SNOWFLAKE_ENDED: the clock is past the layout's last tick
 * @SNOWFLAKE_JUMPED: the clock was set ahead further than the forward limit
 * @SNOWFLAKE_EXPIRED: the clock has reached the end of the window
 * @SNOWFLAKE_BEHIND: numbers of a later tick than the clock's were handed out
 * @SNOWFLAKE_NOT_YET: the clock is short of the window or of the epoch
 * @SNOWFLAKE_OUTDATED: the file was opened before the range was started anew
 * @SNOWFLAKE_VERDICTS: how many there are
 *
 * Where several apply, the first of them is met.
 */
enum snowflake_verdict {
	SNOWFLAKE_GIVEN,
	SNOWFLAKE_UNSEEDED,
	SNOWFLAKE_EXHAUSTED,
	SNOWFLAKE_CLOSED,
	SNOWFLAKE_SKEWED,
	SNOWFLAKE_NO_WORKER,
	SNOWFLAKE_CLONED,
	SNOWFLAKE_UNBOUND,
	SNOWFLAKE_ENDED,
	SNOWFLAKE_JUMPED,
	SNOWFLAKE_EXPIRED,
	SNOWFLAKE_BEHIND,
	SNOWFLAKE_NOT_YET,
	SNOWFLAKE_OUTDATED,
	SNOWFLAKE_VERDICTS,
};

/**
 * struct snowflake_word - a sequence space and its first number not handed out
 * @next: tick << shift | index
 * @waiters: readers that sleep for the next tick, or slept for this one and
 *	have had nothing yet
 */
struct snowflake_word {
	atomic64_t next;
	atomic_t waiters;
} ____cacheline_aligned;

/**
 * struct snowflake_config - a configuration, immutable once in force
 * @layout: the layout
 * @verdict: %SNOWFLAKE_GIVEN, or why nothing is minted under it
 * @cookie: its number, never used again; 0 if nothing is minted under it
 * @lineage: number of the first configuration that used its words; words of one
 *	lineage only rise
 * @era: files opened in an earlier era are given nothing
 * @worker_id: the first worker id
 * @worker_count: how many worker ids there are
 * @not_before_ms: start of the window, in Unix milliseconds, 0 if open
 * @not_after_ms: end of the window, in Unix milliseconds, 0 if open
 * @cpu_block: numbers in a CPU's full block; 0 if CPUs have no blocks
 * @bound: each file has a worker id, and each worker id a word of its own
 * @spread: a tick after a quiet one starts at a random number
 * @shift: width of a tick's index in a word
 * @capacity: numbers of a word in each tick
 * @epoch_ns: the instant of tick 0, in ns since the Unix epoch
 * @tick_ns: length of a tick, in ns
 * @last_tick: the last tick that an id can carry
 * @first_tick: the first tick inside the window
 * @end_tick: the first tick past the window
 * @id_offset: the difference between an id and its number, in pooled sharing
 *	with the sequence lowest
 * @words: one word, or one for each worker id in bound sharing
 */
struct snowflake_config {
	struct snowflake_layout layout;
	enum snowflake_verdict verdict;
	u32 cookie;
	u32 lineage;
	u32 era;
	u64 worker_id;
	u64 worker_count;
	u64 not_before_ms;
	u64 not_after_ms;
	u32 cpu_block;
	bool bound;
	bool spread;
	unsigned int shift;
	u64 capacity;
	s64 epoch_ns;
	u64 tick_ns;
	u64 last_tick;
	u64 first_tick;
	u64 end_tick;
	u64 id_offset;
	struct snowflake_word *words;
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

/* No worker id: a file that is not bound. */
#define SNOWFLAKE_NO_SHARD U64_MAX

/**
 * struct snowflake_order - what an open file brings to an attempt
 * @last: the highest number given to the file
 * @lineage: the lineage to which @last belongs
 * @era: the era in which the file was opened
 * @shard: the worker id that it is bound to, or %SNOWFLAKE_NO_SHARD
 * @lock: serializes the change from one lineage to the next
 */
struct snowflake_order {
	atomic64_t last;
	u32 lineage;
	u32 era;
	u64 shard;
	raw_spinlock_t lock;
};

/**
 * struct snowflake_rows - more on the ids of an attempt
 * @length: so many ids follow each other without a gap: a row. With the worker id
 *	lowest that is one sequence value, otherwise all there are
 * @left: so many of the first row are left
 * @gap: between the last id of a row and the first of the next
 * @ceiling: the first number of the tick after theirs
 */
struct snowflake_rows {
	u64 length;
	u64 left;
	u64 gap;
	u64 ceiling;
};

/**
 * struct snowflake_request - what a reader asks for
 * @rows: where it is told more on the ids; NULL if it takes only ids without a gap
 * @ceiling: if not 0, it takes only ids of the tick before this number
 * @want: how many ids, at least 1
 * @woken: it is one of the word's waiters
 * @seeded: there is a random number in @seed
 * @seed: where a tick starts if it is to start at random
 */
struct snowflake_request {
	struct snowflake_rows *rows;
	u64 ceiling;
	u32 want;
	bool woken;
	bool seeded;
	u32 seed;
};

/**
 * struct snowflake_run - the outcome of one attempt
 * @id: the first id; the others follow it, without a gap but for those of rows
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
extern const struct snowflake_config snowflake_config_cloned;

void snowflake_order_init(struct snowflake_order *order, u32 era);
bool snowflake_order_adopt(struct snowflake_order *order,
			   const struct snowflake_config *config);
void snowflake_config_derive(struct snowflake_config *config);
u32 snowflake_default_block(const struct snowflake_layout *layout,
			    u64 worker_count, unsigned int cpus);
void snowflake_config_start(struct snowflake_config *config, s64 floor_ns);
s64 snowflake_config_used(const struct snowflake_config *config);
u64 snowflake_config_words(const struct snowflake_config *config);
u32 snowflake_waiter_enter(const struct snowflake_config *config,
			   const struct snowflake_order *order);
void snowflake_waiter_leave(const struct snowflake_config *config,
			    const struct snowflake_order *order, u32 lineage);
struct snowflake_run
snowflake_generator_claim(const struct snowflake_config *config,
			  struct snowflake_clock *clock,
			  struct snowflake_block *block,
			  struct snowflake_order *order,
			  const struct snowflake_request *request);
struct snowflake_run
snowflake_generator_probe(const struct snowflake_config *config,
			  struct snowflake_clock *clock,
			  const struct snowflake_order *order, u64 *space);
u64 snowflake_id(const struct snowflake_config *config, u64 shard, u64 number);

/**
 * snowflake_block_take - take ids out of a block of the current tick
 * @config: the configuration in force, under which the block was claimed
 * @block: the block of this CPU
 * @order: the file that reads
 * @request: what it asks for
 * @run: where the ids go
 *
 * Context: preemption disabled.
 * Return: false if the block has nothing for this file.
 */
static __always_inline bool
snowflake_block_take(const struct snowflake_config *config,
		     struct snowflake_block *block,
		     struct snowflake_order *order,
		     const struct snowflake_request *request,
		     struct snowflake_run *run)
{
	s64 last;

	if (block->next == block->end ||
	    (request->ceiling && request->ceiling != block->ceiling))
		return false;

	/*
	 * Does it lie above all that the file was given? The acquire pairs with
	 * snowflake_order_adopt(): @last is of this lineage.
	 */
	if (unlikely(smp_load_acquire(&order->lineage) != config->lineage) &&
	    !snowflake_order_adopt(order, config))
		return false;
	last = atomic64_read(&order->last);
	if ((u64)last >= block->next)
		return false;

	/* If it fails, another thread has raised the file. */
	run->count = min_t(u64, request->want, block->end - block->next);
	if (unlikely(!atomic64_try_cmpxchg(&order->last, &last,
					   block->next + run->count - 1)))
		return false;

	if (request->rows)
		*request->rows = (struct snowflake_rows){
			.length = U64_MAX,
			.left = U64_MAX,
			.ceiling = block->ceiling,
		};
	run->verdict = SNOWFLAKE_GIVEN;
	run->id = block->next + config->id_offset;
	block->next += run->count;
	local64_add(run->count, &block->minted);
	return true;
}

/**
 * snowflake_generator_take - one attempt to get ids
 * @config: the configuration in force
 * @clock: the clock
 * @block: the block of this CPU
 * @order: the file that reads
 * @request: what it asks for
 *
 * This is the way of nearly every small read: out of the block. All others go
 * by snowflake_generator_claim(), to which nothing here need be told, since it
 * looks at everything itself.
 *
 * Context: preemption disabled, which also keeps the configuration alive.
 * Return: the ids, at most as many as wanted, or why there are none.
 */
static __always_inline struct snowflake_run
snowflake_generator_take(const struct snowflake_config *config,
			 struct snowflake_clock *clock,
			 struct snowflake_block *block,
			 struct snowflake_order *order,
			 const struct snowflake_request *request)
{
	struct snowflake_run run;
	u64 word;
	s64 now;

	/* In bound sharing the first word is another file's: do not touch it. */
	if (request->want > config->cpu_block)
		goto claim;

	/* The word first, then the clock: see generator.c. */
	word = atomic64_read_acquire(&config->words->next);
	if (unlikely(!snowflake_clock_plain(clock, &now)))
		goto claim;

	/* Is the block alive, and are we not behind? */
	if (block->cookie != config->cookie || word > block->ceiling ||
	    (u64)(now - block->start_ns) >= config->tick_ns)
		goto claim;
	if (likely(snowflake_block_take(config, block, order, request, &run)))
		return run;

claim:
	return snowflake_generator_claim(config, clock, block, order, request);
}

#endif /* SNOWFLAKE_GENERATOR_H */

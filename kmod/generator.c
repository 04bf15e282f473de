// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The generator: how numbers are handed out so that none is given twice.
 *
 * The word
 *	All CPUs share one 64-bit word, the first number not handed out:
 *	tick << shift | index. Numbers leave it in one way only, the claim: read
 *	the word, then the clock, and compare-and-exchange the word from what it
 *	was to the end of the run that is taken. The word only rises, so no
 *	number leaves it twice, whatever the clock does. The word is read before
 *	the clock: the other way round, a CPU that is held up between the two
 *	comes with a time older than its word and takes itself to be behind.
 *
 * Behind
 *	If the word belongs to a later tick than the clock's, then numbers of a
 *	time yet to come were handed out: somebody set the clock back. Nothing is
 *	minted until the clock has caught up. A word at the very start of the
 *	next tick is only a tick used up.
 *
 * Blocks
 *	So that CPUs do not fight for the word, each claims a block of numbers
 *	of the current tick and serves small reads out of it. A block is alive
 *	only in its own tick, under the configuration it was claimed under, and
 *	while not behind: a clock that was set back and comes by the same tick
 *	again finds the block alive again, which is safe, since its numbers were
 *	never given. Blocks start small in each tick and double, or CPUs with
 *	little to do would hold much of the tick unused.
 *
 * Order
 *	A file remembers the highest word it was given. If its reader moved to a
 *	CPU whose block lies below that, the block is left alone, and the reader
 *	claims just the numbers it needs from the word, which is above all.
 *
 * Configurations
 *	A configuration is immutable and has a cookie of its own. A new one comes
 *	into force behind a closed gate, after a grace period, and the word moves
 *	on to a fresh tick, so that no two configurations share one. The current
 *	clock has no say in this: it may be wrong just now.
 */
#include "generator.h"

/* CPUs may disagree on the time by so much, in ns, without anybody's fault. */
#define SKEW_NS (10 * NSEC_PER_USEC)

/* Numbers in a full block, unless that is too large a part of the tick. */
#define BLOCK_DEFAULT 64U

/* What a CPU's first block in a tick is a fraction of. */
#define BLOCK_FIRST_SHARE 8

/**
 * struct view - the word and the clock, seen together
 * @word: the word
 * @start: the first number that can be claimed
 * @limit: the first number that cannot be claimed in this tick
 * @ceiling: the first number of the next tick
 * @start_ns: start of this tick, in ns since the Unix epoch
 * @until: the instant at which things look different, in ns of CLOCK_MONOTONIC,
 *	or %S64_MAX if no clock decides that
 */
struct view {
	u64 word;
	u64 start;
	u64 limit;
	u64 ceiling;
	s64 start_ns;
	s64 until;
};

/* In force while a configuration is being changed: readers wait. */
const struct snowflake_config snowflake_config_closed = {
	.verdict = SNOWFLAKE_CLOSED,
};

/* In force while there is no worker id. */
const struct snowflake_config snowflake_config_no_worker = {
	.verdict = SNOWFLAKE_NO_WORKER,
};

/**
 * snowflake_generator_init - a generator that has handed out nothing
 * @generator: the generator
 */
void snowflake_generator_init(struct snowflake_generator *generator)
{
	memset(generator, 0, sizeof(*generator));
	rcu_assign_pointer(generator->config, &snowflake_config_no_worker);
}

/**
 * snowflake_order_init - a file that was given nothing
 * @order: the order of the file
 */
void snowflake_order_init(struct snowflake_order *order)
{
	memset(order, 0, sizeof(*order));
	raw_spin_lock_init(&order->lock);
}

/**
 * snowflake_default_block - the size of a block where nobody asks for another
 * @layout: the layout
 * @worker_count: number of worker ids
 * @cpus: number of possible CPUs
 *
 * Return: so many numbers that every CPU can have at least four blocks a tick,
 * if the tick has so many.
 */
u32 snowflake_default_block(const struct snowflake_layout *layout,
			    u32 worker_count, unsigned int cpus)
{
	u64 capacity = (u64)worker_count << layout->sequence_bits;
	u64 share = div64_u64(capacity, 4 * (u64)cpus);

	return max_t(u64, min_t(u64, share, BLOCK_DEFAULT), 1);
}

/**
 * snowflake_config_derive - fill in what follows from layout and range
 * @config: a configuration with layout, worker_id and worker_count set
 */
void snowflake_config_derive(struct snowflake_config *config)
{
	const struct snowflake_layout *layout = &config->layout;

	config->shift = snowflake_layout_shift(layout);
	config->capacity = (u64)config->worker_count << layout->sequence_bits;
	config->epoch_ns = layout->epoch_ms * NSEC_PER_MSEC;
	config->tick_ns = (u64)layout->tick_ms * NSEC_PER_MSEC;
	config->last_tick = snowflake_layout_last_tick(layout);
	config->id_offset = (u64)config->worker_id << layout->sequence_bits;
}

/**
 * snowflake_generator_rebase - move the word on to a tick that nobody used
 * @generator: the generator; nobody reads it
 * @config: the configuration that is about to come into force
 * @clock: the clock
 *
 * The first time, the tick of the clock is the floor: whoever minted before
 * this module was loaded may have used it, so nothing is minted in it.
 */
void snowflake_generator_rebase(struct snowflake_generator *generator,
				const struct snowflake_config *config,
				struct snowflake_clock *clock)
{
	u64 word = atomic64_read(&generator->word);
	struct snowflake_time now;

	if (!word) {
		while (!snowflake_clock_read(clock, &now))
			snowflake_clock_judge(clock);
		if (now.real < config->epoch_ns)
			return;
		word = div64_u64(now.real - config->epoch_ns, config->tick_ns);
		word = min_t(u64, word, config->last_tick) << config->shift;
		word++;
	}
	word = ((word - 1) >> config->shift) + 1;
	atomic64_set(&generator->word, word << config->shift);
}

/* Load the word, then read the clock, and say what can be had. */
static enum snowflake_verdict look(struct snowflake_generator *generator,
				   const struct snowflake_config *config,
				   struct snowflake_clock *clock,
				   struct view *view)
{
	struct snowflake_time now;
	s64 since, gap;
	u64 tick;

	view->until = S64_MAX;
	if (config->verdict != SNOWFLAKE_GIVEN)
		return config->verdict;

	for (;;) {
		view->word = atomic64_read_acquire(&generator->word);
		if (snowflake_clock_read(clock, &now))
			break;
		snowflake_clock_judge(clock);
	}

	since = now.real - config->epoch_ns;
	if (since < 0) {
		view->until = now.mono - since;
		return SNOWFLAKE_BEHIND;
	}
	tick = div64_u64(since, config->tick_ns);
	if (tick > config->last_tick)
		return SNOWFLAKE_ENDED;

	view->ceiling = (tick + 1) << config->shift;
	if (view->word > view->ceiling) {
		gap = ((view->word - 1) >> config->shift) * config->tick_ns -
		      since;
		view->until = now.mono + gap;
		return gap < SKEW_NS ? SNOWFLAKE_SKEWED : SNOWFLAKE_BEHIND;
	}

	view->start_ns = config->epoch_ns + tick * config->tick_ns;
	view->until = now.mono + (view->start_ns + config->tick_ns - now.real);
	view->start = max_t(u64, view->word, tick << config->shift);
	view->limit = (tick << config->shift) + config->capacity;
	return view->start < view->limit ? SNOWFLAKE_GIVEN :
					   SNOWFLAKE_EXHAUSTED;
}

/*
 * Each reader that slept for this tick is owed one number: others leave it
 * there, and the reader, once awake, takes it. Nobody can be outrun for good.
 */
static u64 room(struct snowflake_generator *generator, const struct view *view,
		bool woken)
{
	u64 all = view->limit - view->start;
	u64 owed = atomic_read(&generator->waiters);

	if (woken)
		return all >= owed ? all - owed + 1 : 1;
	return all > owed ? all - owed : 0;
}

/* How many numbers to take from the word for a reader that wants @want. */
static u32 measure(const struct snowflake_config *config,
		   const struct snowflake_block *block, const struct view *view,
		   u32 want, bool *refill)
{
	u32 size = max_t(u32, config->cpu_block / BLOCK_FIRST_SHARE, 1);

	*refill = want <= config->cpu_block;
	if (block->cookie == config->cookie && block->ceiling == view->ceiling) {
		size = min_t(u32, 2 * block->size, config->cpu_block);
		/* It still has numbers, but not for this file: leave it. */
		if (block->next < block->end)
			*refill = false;
	}
	return *refill ? max_t(u32, want, size) : want;
}

/*
 * The file's first read under a new configuration. All numbers of the old one
 * are below all of the new one: the file has no history under it.
 */
static void order_adopt(struct snowflake_order *order, u32 cookie)
{
	raw_spin_lock(&order->lock);
	if (order->cookie != cookie) {
		atomic64_set(&order->last, 0);
		/* Whoever sees the cookie sees the 0, or what came after. */
		smp_store_release(&order->cookie, cookie);
	}
	raw_spin_unlock(&order->lock);
}

/* Raise the file's highest word; another thread may have raised it further. */
static void order_raise(struct snowflake_order *order, u32 cookie, u64 to)
{
	s64 last;

	/* Pairs with order_adopt(). */
	if (smp_load_acquire(&order->cookie) != cookie)
		order_adopt(order, cookie);
	last = atomic64_read(&order->last);
	while ((u64)last < to)
		if (atomic64_try_cmpxchg(&order->last, &last, to))
			break;
}

/**
 * snowflake_generator_claim - take ids from the word
 * @generator: the generator
 * @clock: the clock
 * @block: the block of this CPU
 * @order: the order of the file that reads
 * @want: how many ids, at least 1
 * @woken: the reader is one of the generator's waiters
 *
 * This is the one place at which numbers leave the word. What they are for, the
 * reader alone or a new block too, see measure().
 *
 * Context: preemption disabled, which also keeps the configuration alive.
 * Return: the ids, at most @want, or why there are none.
 */
struct snowflake_run
snowflake_generator_claim(struct snowflake_generator *generator,
			  struct snowflake_clock *clock,
			  struct snowflake_block *block,
			  struct snowflake_order *order, u32 want, bool woken)
{
	const struct snowflake_config *config =
		rcu_dereference_sched(generator->config);
	struct snowflake_run run = { 0 };
	struct view view;
	u64 space, size;
	bool refill;
	s64 old;

	do {
		run.verdict = look(generator, config, clock, &view);
		run.until = view.until;
		if (run.verdict != SNOWFLAKE_GIVEN)
			return run;
		space = room(generator, &view, woken);
		if (!space) {
			run.verdict = SNOWFLAKE_EXHAUSTED;
			return run;
		}
		size = measure(config, block, &view, want, &refill);
		size = min_t(u64, size, space);
		old = view.word;
	} while (!atomic64_try_cmpxchg(&generator->word, &old,
				       view.start + size));

	run.id = view.start + config->id_offset;
	run.count = min_t(u64, want, size);
	if (refill) {
		block->next = view.start + run.count;
		block->end = view.start + size;
		block->start_ns = view.start_ns;
		block->ceiling = view.ceiling;
		block->cookie = config->cookie;
		block->size = size;
	}
	order_raise(order, config->cookie, view.start + run.count - 1);
	local64_add(run.count, &block->minted);
	return run;
}

/**
 * snowflake_generator_probe - what a read would meet just now
 * @generator: the generator
 * @clock: the clock
 *
 * Context: preemption disabled.
 * Return: the verdict, and the instant at which to look again; nothing is taken.
 */
struct snowflake_run
snowflake_generator_probe(struct snowflake_generator *generator,
			  struct snowflake_clock *clock)
{
	struct snowflake_run run = { 0 };
	struct view view;

	run.verdict = look(generator, rcu_dereference_sched(generator->config),
			   clock, &view);
	run.until = view.until;
	return run;
}

/**
 * snowflake_generator_last_tick - the latest tick of which numbers are gone
 * @generator: the generator
 * @layout: the layout in which the numbers are
 * @tick: where the tick goes, in ticks since the layout's epoch
 *
 * Return: false if no number was ever handed out and no floor was set.
 */
bool snowflake_generator_last_tick(struct snowflake_generator *generator,
				   const struct snowflake_layout *layout,
				   u64 *tick)
{
	u64 word = atomic64_read(&generator->word);

	if (!word)
		return false;
	*tick = (word - 1) >> snowflake_layout_shift(layout);
	return true;
}

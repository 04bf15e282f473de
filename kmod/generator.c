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
 *	A file remembers the highest number it was given. If its reader moved to
 *	a CPU whose block lies below that, the block is left alone, and the reader
 *	claims just the numbers it needs from the word, which is above all.
 *
 * Ids
 *	A number is not yet an id: the range of worker ids and the order of the
 *	fields decide that. With the sequence lowest, numbers that follow each
 *	other are ids that do. With the worker id lowest they are so only up to
 *	the end of the range: ids come in rows, and there are no blocks. In bound
 *	sharing each worker id has a word of its own, and there are no blocks
 *	either.
 *	Numbers, never ids, are compared for order.
 *
 * Configurations
 *	A configuration is immutable and has a cookie of its own. One that
 *	changes what ids look like comes into force behind a closed gate, after a
 *	grace period, with words that start in a tick that its range has not
 *	used: a new lineage. The current clock has no say in that, it may be wrong
 *	just now, unless nobody used the range so far. One that only changes the
 *	window goes on with the words of the one before; its new cookie ends all
 *	blocks, and so none need be looked at for the window again.
 */
#include "generator.h"

/* CPUs may disagree on the time by so much, in ns, without anybody's fault. */
#define SKEW_NS (10 * NSEC_PER_USEC)

/* Numbers in a full block, unless that is too large a part of the tick. */
#define BLOCK_DEFAULT 64U

/* What a CPU's first block in a tick is a fraction of. */
#define BLOCK_FIRST_SHARE 8

/* A random start is in the first part of the tick: of so many. */
#define SPREAD_PARTS 4

/**
 * struct view - the word and the clock, seen together
 * @now: the clock
 * @word: the word
 * @start: the first number that can be claimed
 * @limit: the first number that cannot be claimed in this tick
 * @floor: the first number of this tick
 * @ceiling: the first number of the next tick
 * @start_ns: start of this tick, in ns since the Unix epoch
 * @until: the instant at which things look different, in ns of CLOCK_MONOTONIC,
 *	or %S64_MAX if no clock decides that
 */
struct view {
	struct snowflake_time now;
	u64 word;
	u64 start;
	u64 limit;
	u64 floor;
	u64 ceiling;
	s64 start_ns;
	s64 until;
};

/* What configurations that mint nothing have for a word. */
static struct snowflake_word no_word;

/* In force while a configuration is being changed: readers wait. */
const struct snowflake_config snowflake_config_closed = {
	.verdict = SNOWFLAKE_CLOSED,
	.words = &no_word,
};

/* In force while there is no worker id. */
const struct snowflake_config snowflake_config_no_worker = {
	.verdict = SNOWFLAKE_NO_WORKER,
	.words = &no_word,
};

/* In force while there is none since this machine was cloned. */
const struct snowflake_config snowflake_config_cloned = {
	.verdict = SNOWFLAKE_CLONED,
	.words = &no_word,
};

/**
 * snowflake_order_init - a file that was given nothing
 * @order: the order of the file
 * @era: the era in which it is opened
 */
void snowflake_order_init(struct snowflake_order *order, u32 era)
{
	memset(order, 0, sizeof(*order));
	raw_spin_lock_init(&order->lock);
	order->era = era;
	order->shard = SNOWFLAKE_NO_SHARD;
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
			    u64 worker_count, unsigned int cpus)
{
	u64 capacity = worker_count << layout->sequence_bits;
	u64 share = div64_u64(capacity, 4 * (u64)cpus);

	return max_t(u64, min_t(u64, share, BLOCK_DEFAULT), 1);
}

/* The first tick of @config that begins no earlier than @ns. */
static u64 tick_from(const struct snowflake_config *config, s64 ns)
{
	if (ns <= config->epoch_ns)
		return 0;
	return div64_u64((u64)ns - config->epoch_ns + config->tick_ns - 1,
			 config->tick_ns);
}

/* The same for a limit of the window, in ms. */
static u64 tick_from_ms(const struct snowflake_config *config, u64 ms)
{
	const struct snowflake_layout *layout = &config->layout;

	if (ms <= layout->epoch_ms)
		return 0;
	return div64_u64(ms - layout->epoch_ms + layout->tick_ms - 1,
			 layout->tick_ms);
}

/**
 * snowflake_config_words - how many words a configuration has
 * @config: the configuration
 *
 * Return: the number of words.
 */
u64 snowflake_config_words(const struct snowflake_config *config)
{
	return config->bound ? config->worker_count : 1;
}

/**
 * snowflake_config_derive - fill in what follows from the rest
 * @config: a configuration with layout, range, sharing, cpu_block and window
 *	set
 */
void snowflake_config_derive(struct snowflake_config *config)
{
	const struct snowflake_layout *layout = &config->layout;
	u64 workers = config->bound ? 1 : config->worker_count;

	config->shift = snowflake_layout_shift(layout);
	config->capacity = workers << layout->sequence_bits;
	config->epoch_ns = layout->epoch_ms * NSEC_PER_MSEC;
	config->tick_ns = (u64)layout->tick_ms * NSEC_PER_MSEC;
	config->last_tick = snowflake_layout_last_tick(layout);
	config->id_offset = config->worker_id << layout->sequence_bits;
	if (config->bound || layout->order == SNOWFLAKE_SEQUENCE_WORKER)
		config->cpu_block = 0;
	config->first_tick = tick_from_ms(config, config->not_before_ms);
	config->end_tick = config->not_after_ms ?
			   tick_from_ms(config, config->not_after_ms) : U64_MAX;
}

/**
 * snowflake_config_start - let the words begin in a tick that nobody used
 * @config: the configuration, which nobody reads yet
 * @floor_ns: the end of the last tick used, in ns since the Unix epoch
 */
void snowflake_config_start(struct snowflake_config *config, s64 floor_ns)
{
	u64 tick = min_t(u64, tick_from(config, floor_ns),
			 config->last_tick + 1);
	u64 i;

	for (i = 0; i < snowflake_config_words(config); i++) {
		atomic64_set(&config->words[i].next, tick << config->shift);
		atomic_set(&config->words[i].waiters, 0);
	}
}

/* The word that is furthest ahead. */
static const struct snowflake_word *
foremost(const struct snowflake_config *config)
{
	const struct snowflake_word *word, *found = config->words;
	u64 i;

	for (i = 1; i < snowflake_config_words(config); i++) {
		word = &config->words[i];
		if ((u64)atomic64_read(&word->next) >
		    (u64)atomic64_read(&found->next))
			found = word;
	}
	return found;
}

/**
 * snowflake_config_used - until when a configuration has handed out numbers
 * @config: the configuration
 *
 * Return: the end of the last tick of which numbers are gone, in ns since the
 * Unix epoch.
 */
s64 snowflake_config_used(const struct snowflake_config *config)
{
	u64 next = atomic64_read(&foremost(config)->next);

	if (!next)
		return config->epoch_ns;
	return config->epoch_ns +
	       (((next - 1) >> config->shift) + 1) * config->tick_ns;
}

/* The word that a file reads from; NULL if it is bound to none. */
static struct snowflake_word *word_of(const struct snowflake_config *config,
				      u64 shard)
{
	if (!config->bound)
		return config->words;
	if (shard - config->worker_id >= config->worker_count)
		return NULL;
	return &config->words[shard - config->worker_id];
}

/**
 * snowflake_id - the id that a number stands for
 * @config: the configuration under which it was handed out
 * @shard: the worker id that the file is bound to, in bound sharing
 * @number: the number
 *
 * Return: the id.
 */
u64 snowflake_id(const struct snowflake_config *config, u64 shard, u64 number)
{
	u64 index = number & ((1ULL << config->shift) - 1);
	u64 first = config->bound ? shard : config->worker_id;
	u64 count = config->bound ? 1 : config->worker_count;
	struct snowflake_fields fields = { .tick = number >> config->shift };

	if (config->layout.order == SNOWFLAKE_WORKER_SEQUENCE)
		return number + (first << config->layout.sequence_bits);
	fields.sequence = div64_u64(index, count);
	fields.worker = first + (index - fields.sequence * count);
	return snowflake_layout_encode(&config->layout, &fields);
}

/* How the ids follow each other that the numbers from @number on stand for. */
static struct snowflake_rows rows_from(const struct snowflake_config *config,
				       u64 number)
{
	u64 index = number & ((1ULL << config->shift) - 1);
	u64 count = config->bound ? 1 : config->worker_count;
	struct snowflake_rows rows = { .length = U64_MAX, .left = U64_MAX };

	if (config->layout.order == SNOWFLAKE_SEQUENCE_WORKER) {
		rows.length = count;
		rows.left = count - (index - div64_u64(index, count) * count);
		rows.gap = snowflake_layout_workers(&config->layout) - count;
	}
	return rows;
}

/* Load the word, then read the clock, and say what can be had. */
static enum snowflake_verdict look(const struct snowflake_config *config,
				   struct snowflake_clock *clock,
				   const struct snowflake_word *word,
				   const struct snowflake_order *order,
				   struct view *view)
{
	enum snowflake_reading reading;
	s64 since, gap;
	u64 tick;

again:
	view->until = S64_MAX;
	if (config->verdict != SNOWFLAKE_GIVEN)
		return config->verdict;
	if (!word)
		return SNOWFLAKE_UNBOUND;

	do {
		view->word = atomic64_read_acquire(&word->next);
		reading = snowflake_clock_read(clock, &view->now);
	} while (reading == SNOWFLAKE_STEPPED);

	since = view->now.real - config->epoch_ns;
	tick = since < 0 ? 0 : div64_u64(since, config->tick_ns);
	if (tick > config->last_tick)
		return SNOWFLAKE_ENDED;
	if (reading == SNOWFLAKE_AHEAD)
		return SNOWFLAKE_JUMPED;
	if (tick >= config->end_tick)
		return SNOWFLAKE_EXPIRED;
	if (reading == SNOWFLAKE_LEADING)
		return SNOWFLAKE_BEHIND;

	view->floor = tick << config->shift;
	view->ceiling = (tick + 1) << config->shift;
	view->limit = view->floor + config->capacity;
	if (view->word > view->ceiling) {
		gap = ((view->word - 1) >> config->shift) * config->tick_ns -
		      since;
		view->until = snowflake_clock_until(&view->now, gap);
		return gap < SKEW_NS ? SNOWFLAKE_SKEWED : SNOWFLAKE_BEHIND;
	}
	if (since < 0 || tick < config->first_tick) {
		gap = config->first_tick * config->tick_ns - since;
		if (snowflake_clock_lead_to(clock, view->now.real + gap))
			goto again;
		view->until = snowflake_clock_until(&view->now, gap);
		return SNOWFLAKE_NOT_YET;
	}

	if (order && order->era != config->era)
		return SNOWFLAKE_OUTDATED;

	view->start_ns = config->epoch_ns + tick * config->tick_ns;
	view->until = snowflake_clock_until(&view->now, view->start_ns +
					    config->tick_ns - view->now.real);
	view->start = max_t(u64, view->word, view->floor);
	return view->start < view->limit ? SNOWFLAKE_GIVEN :
					   SNOWFLAKE_EXHAUSTED;
}

/*
 * Each reader that slept for this tick is owed one number: others leave it
 * there, and the reader, once awake, takes it. Nobody can be outrun for good.
 */
static u64 room(const struct snowflake_word *word, const struct view *view,
		bool woken)
{
	u64 all = view->limit - view->start;
	u64 owed = atomic_read(&word->waiters);

	/* One of them is the reader's own. */
	if (woken && owed)
		owed--;
	if (all > owed)
		return all - owed;
	return woken ? 1 : 0;
}

/* Was the tick before this one not used up? */
static bool after_quiet(const struct snowflake_config *config,
			const struct view *view)
{
	return view->word < view->floor &&
	       view->floor - view->word >
	       (1ULL << config->shift) - config->capacity;
}

/* In how many places a tick can start that is to start at random. */
static u64 spread(const struct snowflake_config *config)
{
	return min_t(u64, config->capacity / SPREAD_PARTS, U32_MAX);
}

/* How many numbers to take from the word for a reader. */
static u64 measure(const struct snowflake_config *config,
		   const struct snowflake_block *block, const struct view *view,
		   const struct snowflake_request *request, bool *refill)
{
	u32 want = request->want;
	u32 size = max_t(u32, config->cpu_block / BLOCK_FIRST_SHARE, 1);

	/* While slewing no block is served: see snowflake_clock_plain(). */
	*refill = want <= config->cpu_block && !view->now.slewing;
	if (block->cookie == config->cookie && block->ceiling == view->ceiling) {
		size = min_t(u32, 2 * block->size, config->cpu_block);
		/* It still has numbers, but not for this file: leave it. */
		if (block->next < block->end)
			*refill = false;
	}
	if (*refill)
		return max_t(u32, want, size);
	if (!request->rows)
		return min_t(u64, want, rows_from(config, view->start).left);
	return want;
}

/**
 * snowflake_order_adopt - a file's first read in a new lineage
 * @order: the order of the file
 * @config: the configuration in force
 *
 * All numbers of older lineages are of older ticks, so the file has no history
 * in this one; unless it is of an era in which ticks were later.
 *
 * Context: preemption disabled.
 * Return: false if the file is to be given nothing.
 */
bool snowflake_order_adopt(struct snowflake_order *order,
			   const struct snowflake_config *config)
{
	if (config->verdict != SNOWFLAKE_GIVEN || order->era != config->era)
		return false;

	raw_spin_lock(&order->lock);
	if (order->lineage != config->lineage) {
		atomic64_set(&order->last, 0);
		/* Whoever sees the lineage sees the 0, or what came after. */
		smp_store_release(&order->lineage, config->lineage);
	}
	raw_spin_unlock(&order->lock);
	return true;
}

/* Raise the file's highest number; another thread may have raised it further. */
static void order_raise(struct snowflake_order *order, u64 to)
{
	s64 last = atomic64_read(&order->last);

	while ((u64)last < to)
		if (atomic64_try_cmpxchg(&order->last, &last, to))
			break;
}

/*
 * The word has no more of this tick. A reader that asked for more than a block
 * came past what this CPU's own still has.
 */
static struct snowflake_run leftover(const struct snowflake_config *config,
				     struct snowflake_block *block,
				     struct snowflake_order *order,
				     const struct snowflake_request *request,
				     const struct view *view)
{
	struct snowflake_run run;

	if (block->cookie == config->cookie &&
	    block->ceiling == view->ceiling &&
	    snowflake_block_take(config, block, order, request, &run))
		return run;
	run.until = view->until;
	run.count = 0;
	run.verdict = SNOWFLAKE_EXHAUSTED;
	return run;
}

/**
 * snowflake_generator_claim - take ids from the word
 * @config: the configuration in force
 * @clock: the clock
 * @block: the block of this CPU
 * @order: the file that reads
 * @request: what it asks for
 *
 * This is the one place at which numbers leave the word. What they are for, the
 * reader alone or a new block too, see measure(). If there are none left, those
 * of the block are what the tick still has.
 *
 * Context: preemption disabled, which also keeps the configuration alive.
 * Return: the ids, at most as many as wanted, or why there are none.
 */
struct snowflake_run
snowflake_generator_claim(const struct snowflake_config *config,
			  struct snowflake_clock *clock,
			  struct snowflake_block *block,
			  struct snowflake_order *order,
			  const struct snowflake_request *request)
{
	u64 shard = READ_ONCE(order->shard);
	struct snowflake_word *word = word_of(config, shard);
	struct snowflake_run run = { 0 };
	struct view view;
	u64 space, size;
	bool refill;
	s64 old;

	/* The acquire pairs with snowflake_order_adopt(). */
	if (smp_load_acquire(&order->lineage) != config->lineage)
		snowflake_order_adopt(order, config);

	do {
		run.verdict = look(config, clock, word, order, &view);
		run.until = view.until;
		if (run.verdict == SNOWFLAKE_EXHAUSTED)
			return leftover(config, block, order, request, &view);
		if (run.verdict != SNOWFLAKE_GIVEN)
			return run;
		if (request->ceiling && request->ceiling != view.ceiling) {
			run.verdict = SNOWFLAKE_EXHAUSTED;
			return run;
		}
		if (config->spread && after_quiet(config, &view)) {
			if (!request->seeded) {
				run.verdict = SNOWFLAKE_UNSEEDED;
				return run;
			}
			view.start += (spread(config) * request->seed) >> 32;
		}
		space = room(word, &view, request->woken);
		if (!space)
			return leftover(config, block, order, request, &view);
		size = measure(config, block, &view, request, &refill);
		size = min_t(u64, size, space);
		old = view.word;
	} while (!atomic64_try_cmpxchg(&word->next, &old, view.start + size));

	snowflake_clock_minted(clock, &view.now);
	run.id = snowflake_id(config, shard, view.start);
	run.count = min_t(u64, request->want, size);
	if (request->rows) {
		*request->rows = rows_from(config, view.start);
		request->rows->ceiling = view.ceiling;
	}
	if (refill) {
		block->next = view.start + run.count;
		block->end = view.start + size;
		block->start_ns = view.start_ns;
		block->ceiling = view.ceiling;
		block->cookie = config->cookie;
		block->size = size;
	}
	order_raise(order, view.start + run.count - 1);
	local64_add(run.count, &block->minted);
	return run;
}

/**
 * snowflake_generator_probe - what a read would meet just now
 * @config: the configuration in force
 * @clock: the clock
 * @order: the file that would read, or NULL for the host as a whole
 * @space: where the count of numbers goes that this tick still has for it
 *
 * Context: preemption disabled.
 * Return: the verdict, and the instant at which to look again; nothing is taken.
 */
struct snowflake_run
snowflake_generator_probe(const struct snowflake_config *config,
			  struct snowflake_clock *clock,
			  const struct snowflake_order *order, u64 *space)
{
	const struct snowflake_word *word;
	struct snowflake_run run = { 0 };
	struct view view;

	word = order ? word_of(config, READ_ONCE(order->shard)) :
		       foremost(config);
	*space = 0;
	run.verdict = look(config, clock, word, order, &view);
	run.until = view.until;
	if (run.verdict != SNOWFLAKE_GIVEN)
		return run;
	*space = room(word, &view, false);
	if (!*space)
		run.verdict = SNOWFLAKE_EXHAUSTED;
	else if (config->spread && after_quiet(config, &view))
		*space -= min_t(u64, *space - 1, spread(config));
	return run;
}

/**
 * snowflake_waiter_enter - count a reader that is about to sleep for a tick
 * @config: the configuration in force
 * @order: the file that reads
 *
 * Context: preemption disabled.
 * Return: what snowflake_waiter_leave() has to be told.
 */
u32 snowflake_waiter_enter(const struct snowflake_config *config,
			   const struct snowflake_order *order)
{
	struct snowflake_word *word = word_of(config, READ_ONCE(order->shard));

	if (config->verdict != SNOWFLAKE_GIVEN || !word)
		return 0;
	atomic_inc(&word->waiters);
	return config->lineage;
}

/**
 * snowflake_waiter_leave - the reader has had its number, or gave up
 * @config: the configuration in force
 * @order: the file that reads
 * @lineage: what snowflake_waiter_enter() returned
 *
 * In a new lineage there are new words, on which nobody waits.
 *
 * Context: preemption disabled.
 */
void snowflake_waiter_leave(const struct snowflake_config *config,
			    const struct snowflake_order *order, u32 lineage)
{
	if (lineage && config->lineage == lineage)
		atomic_dec(&word_of(config, READ_ONCE(order->shard))->waiters);
}

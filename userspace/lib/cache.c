// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The cache of a thread; see cache.h.
 *
 * A block of ids lies on a page that is the thread's own and that a forked child
 * finds zero. Nobody but the thread touches it, but a signal handler may run
 * between any two instructions of the thread, use the same cache, and fork.
 *
 * The word of the block holds the number of the fill and the position of the
 * next id. The number rises by one with each fill and lies in memory that is not
 * wiped, so a child goes on from it: no word comes twice in a process and those
 * that it was forked from. An id is taken (cache_attempt() in cache.h) by
 *
 *	1. loading the word, and what it stands for: the id at its position, and
 *	   the tick and the generation of the block;
 *	2. moving the word on by one, whatever it is;
 *	3. comparing the generation with the engine's;
 *	4. looking whether the word is one more than it was in step 1.
 *
 * A handler that came in between and took an id, filled the block or returned as
 * a forked child has changed the word, so step 4 fails, and all begins anew. The
 * id at the position that step 2 found is lost with that: in the child because
 * the parent has it too, elsewhere so that ids rise. What comes after step 4 comes
 * to the caller, who can fork as well with the id in his hands.
 *
 * What is moved on so by mistake is one past the last id for each handler inside
 * another, and there it is seen that there are no more: a position stays far
 * below what would raise the number of the fill.
 *
 * The clock is read first of all, and an id only taken if it is of its tick.
 *
 * A block is filled with all signals blocked, so there are no handlers, and no
 * child that goes on in the middle; the child of another thread does not have
 * this one. It is filled without waiting: what is not there at once is read by
 * itself, with signals open (handle.c), and comes of use in the same way only
 * once a look at the life (wipe.h) has told that there was no fork.
 *
 * The generation is read before the layout and before the ids. If it is still the
 * same after an id was taken, that id is of this configuration and clock.
 *
 * While the device slews, its ticks are not the clock's. Then no id is taken, of
 * blocks and of what is read one by one alike, and there are no blocks because
 * of the latter: a block needs several ids of the clock's own tick.
 *
 * Nothing here is left half done by a handler that never returns, and there are
 * no locks: not one that a forked child could find held. Caches are put into the
 * list of their handle and stay there. A thread that ends leaves its own behind
 * for the next one, by a destructor that may run while the handle is closed. So
 * close takes those that still have an owner for orphans: they are not unmapped
 * but used again by other handles, and the destructor sees in the owner that it
 * has nothing to do any more.
 */
#include <assert.h>
#include <signal.h>

#include "cache.h"

/* The smallest block; less are cheaper to read one by one. */
#define WANT_LEAST 8

/* So many ids read one by one in one tick make it worth a block. */
#define SINGLE_MOST 4

/* No thread takes more than this share of a tick at once from the others. */
#define TICK_SHARE 8

static_assert(sizeof(struct block) <= WIPE_PAGE_SIZE, "it is one page");
static_assert(CACHE_IDS < CACHE_DROPPED, "positions are not those of dropped ones");
static_assert(sizeof(struct cache) <= WIPE_PAGE_SIZE, "it is one page");

static struct cache *orphans;

/* The serial number of the last handle; that of a closed one never comes back. */
static uint64_t serials;

/* Of no handle. */
static struct cache nobodys = { .serial = CACHE_NO_SERIAL };

__thread struct cache *cache_used CACHE_TLS = &nobodys;

static void signals_block(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static void signals_restore(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool own(struct cache *cache, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&cache->owner, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The list may only grow meanwhile, so the head is all that can be in the way. */
static void push(struct cache **list, struct cache *first, struct cache *last)
{
	last->next = __atomic_load_n(list, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(list, &last->next, first, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* All are taken and all but one put back: nobody sees a list that shrinks. */
static struct cache *adopt_orphan(void)
{
	struct cache *cache, *last;

	cache = __atomic_exchange_n(&orphans, NULL, __ATOMIC_ACQUIRE);
	if (!cache || !cache->next)
		return cache;
	for (last = cache->next; last->next; last = last->next)
		;
	push(&orphans, cache->next, last);
	return cache;
}

static struct cache *make(void)
{
	struct cache *cache;
	void *block;

	cache = wipe_map(true, &block);
	if (cache)
		cache->block = block;
	return cache;
}

/* A thread ends: from here on the cache may be another's, or unmapped. */
static void detach(void *value)
{
	cache_used = &nobodys;
	own(value, cache_self(), 0);
}

/* Lose what is left of the block, or of one that a handler fills meanwhile. */
static void drop(struct cache *cache)
{
	struct block *block = cache->block;
	uint64_t word = __atomic_load_n(&block->word, __ATOMIC_RELAXED);

	__atomic_store_n(&block->word, word | CACHE_DROPPED, __ATOMIC_RELAXED);
}

static uint64_t tick_of(const struct cache *cache, uint64_t id)
{
	return cache->shift < 64 ? id >> cache->shift : 0;
}

static uint64_t start_of(const struct cache *cache, uint64_t id)
{
	return cache->epoch_ns + tick_of(cache, id) * cache->tick_ns;
}

static bool in_tick(const struct cache *cache)
{
	return now_ns(CLOCK_REALTIME) - cache->start_ns < cache->tick_ns;
}

/* Read one by one until it is seen that ids are wanted often. */
static void begin(struct cache *cache)
{
	cache->want = 1;
	cache->single = 0;
}

/* What ids look like as of @generation; with no ticks, all are read one by one. */
static void learn(struct cache *cache, uint32_t generation)
{
	struct snowflake_info info;
	uint64_t most;

	cache->known = generation;
	begin(cache);
	cache->tick_ns = 0;
	if (cache->engine->ops->info(cache->engine, &info))
		return;

	cache->shift = info.worker_bits + info.sequence_bits;
	cache->tick_ns = info.tick_ms * NSEC_PER_MSEC;
	cache->epoch_ns = info.epoch_ms * NSEC_PER_MSEC;
	/* Large ones are all the same, and their product must fit. */
	most = 1ULL << (info.sequence_bits < 31 ? info.sequence_bits : 31);
	if (info.sharing == SNOWFLAKE_INFO_POOLED)
		most *= info.worker_count < 1U << 31 ? info.worker_count : 1U << 31;
	most /= TICK_SHARE;
	cache->most = most < CACHE_IDS ? most : CACHE_IDS;
}

/* One that a thread left behind, or a new one; NULL if there is no memory. */
static struct cache *find(struct caches *caches)
{
	struct cache *cache;

	cache = __atomic_load_n(&caches->all, __ATOMIC_ACQUIRE);
	for (; cache; cache = cache->next)
		if (!__atomic_load_n(&cache->owner, __ATOMIC_RELAXED) &&
		    own(cache, 0, cache_self()))
			return cache;

	cache = adopt_orphan() ?: make();
	if (cache) {
		__atomic_store_n(&cache->owner, cache_self(), __ATOMIC_RELAXED);
		cache->engine = caches->engine;
		cache->generation = caches->engine->generation;
		__atomic_store_n(&cache->serial, caches->serial,
				 __ATOMIC_RELAXED);
		push(&caches->all, cache, cache);
	}
	return cache;
}

/**
 * caches_recall - the calling thread's cache, though it is not the one used last
 * @caches: those of the handle
 *
 * Return: NULL if it has none yet, or there are to be none.
 */
struct cache *caches_recall(const struct caches *caches)
{
	struct cache *cache;

	if (!caches->engine)
		return NULL;
	cache = pthread_getspecific(caches->key);
	if (cache)
		cache_used = cache;
	return cache;
}

/**
 * caches_attach - give the calling thread a cache
 * @caches: those of the handle
 *
 * Context: any, but a signal handler only if the program has few thread-specific
 * keys (32 with glibc): for others the C library allocates memory.
 * Return: the cache; NULL if there is no memory for it, or there are to be none.
 */
struct cache *caches_attach(struct caches *caches)
{
	struct cache *cache;
	sigset_t before;

	if (!caches->engine)
		return NULL;
	signals_block(&before);
	/* A handler may have been quicker. */
	cache = pthread_getspecific(caches->key);
	if (!cache) {
		cache = find(caches);
		if (cache && pthread_setspecific(caches->key, cache)) {
			own(cache, cache_self(), 0);
			cache = NULL;
		} else if (cache) {
			drop(cache);
			learn(cache, __atomic_load_n(cache->generation,
						     __ATOMIC_ACQUIRE));
		}
	}
	signals_restore(&before);
	return cache;
}

/**
 * caches_open - have caches, if that is possible
 * @caches: zero
 * @engine: where ids come from
 */
void caches_open(struct caches *caches, struct engine *engine)
{
	if (!engine->generation || pthread_key_create(&caches->key, detach))
		return;
	caches->engine = engine;
	caches->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
}

/**
 * caches_close - give up all caches, whichever thread has them
 * @caches: what caches_open() opened
 *
 * Threads that had one may end at the same time.
 */
void caches_close(struct caches *caches)
{
	struct cache *cache, *next;
	uintptr_t owner;

	if (!caches->engine)
		return;
	pthread_key_delete(caches->key);
	cache_used = &nobodys;
	for (cache = caches->all; cache; cache = next) {
		next = cache->next;
		owner = __atomic_exchange_n(&cache->owner, CACHE_ORPHAN,
					    __ATOMIC_ACQ_REL);
		if (!owner || owner == cache_self())
			wipe_unmap(cache, true);
		else
			push(&orphans, cache, cache);
	}
}

/**
 * cache_take - take an id that was read before
 * @cache: the calling thread's
 * @id: where to put it; untouched if there is none
 *
 * Context: any, signal handlers too.
 * Return: false if there is none that may be given out now.
 */
bool cache_take(struct cache *cache, uint64_t *id)
{
	struct block *block = cache->block;
	enum cache_attempt attempt;

	do {
		/* Most often it is used up, and the clock need not be read. */
		if (block->word % CACHE_FILL >= block->count)
			return false;
		attempt = cache_attempt(cache, now_ns(CLOCK_REALTIME), id);
	} while (attempt == CACHE_AGAIN);
	return attempt == CACHE_TAKEN;
}

/* How many ids the next read is to be of, after the use of those before it. */
static unsigned int size_up(struct cache *cache)
{
	struct block *block = cache->block;
	uint32_t used = block->word % CACHE_FILL;

	if (block->word < CACHE_DROPPED) {
		/* It was wiped: we are a child. */
		begin(cache);
	} else if (cache->want == 1) {
		cache->single = in_tick(cache) ? cache->single + 1 : 0;
		if (cache->single >= SINGLE_MOST && cache->most >= WANT_LEAST)
			cache->want = WANT_LEAST;
	} else if (used >= block->count) {
		if (in_tick(cache))
			cache->want *= 2;
		if (cache->want > cache->most)
			cache->want = cache->most;
	} else if (used < block->count / 2) {
		cache->want = used * 2;
		if (cache->want < WANT_LEAST)
			begin(cache);
	}
	return cache->want;
}

/* Fill the block with ids of one tick; signals are blocked. */
static bool fill(struct cache *cache, unsigned int want)
{
	uint32_t generation = __atomic_load_n(cache->generation, __ATOMIC_ACQUIRE);
	struct block *block = cache->block;
	ssize_t count, first;
	uint64_t last;

	drop(cache);
	if (generation != cache->known) {
		learn(cache, generation);
		return false;
	}
	count = cache->engine->ops->read(cache->engine, block->ids, want,
					 DEADLINE_NOW);
	if (count <= 0)
		return false;
	/* If there should be more than one tick, the last is the clock's. */
	last = tick_of(cache, block->ids[count - 1]);
	for (first = 0; tick_of(cache, block->ids[first]) != last; first++)
		;

	cache->start_ns = start_of(cache, block->ids[first]);
	block->start_ns = cache->start_ns;
	block->tick_ns = cache->tick_ns;
	block->generation = generation;
	block->count = count;
	block->word = ++cache->fills * CACHE_FILL + first;
	return true;
}

/**
 * cache_refill - read a block if the thread asks for ids often enough
 * @cache: the calling thread's, from which none can be taken
 *
 * Does not wait.
 *
 * Context: any, signal handlers too.
 * Return: false if there is no block, and ids are to be read one by one.
 */
bool cache_refill(struct cache *cache)
{
	uint32_t generation = __atomic_load_n(cache->generation, __ATOMIC_RELAXED);
	unsigned int want = 0;
	sigset_t before;
	bool filled;

	if (generation == cache->known) {
		want = size_up(cache);
		if (want == 1)
			return false;
	}
	signals_block(&before);
	filled = fill(cache, want);
	signals_restore(&before);
	return filled;
}

/**
 * cache_read_past - an id was read past the cache
 * @cache: the calling thread's
 * @id: the id
 *
 * What a signal handler has left of a block of its own is lost: it may lie below.
 *
 * Context: any, signal handlers too.
 */
void cache_read_past(struct cache *cache, uint64_t id)
{
	drop(cache);
	cache->start_ns = start_of(cache, id);
}

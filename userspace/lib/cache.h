/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The cache of a thread: a block of ids that were read in one call, each given
 * out within its own tick. How it stays true across forks and in signal
 * handlers is told in cache.c.
 */
#ifndef SNOWFLAKE_LIB_CACHE_H
#define SNOWFLAKE_LIB_CACHE_H

#include <pthread.h>
#include <time.h>

#include "engine.h"
#include "wipe.h"

/* What the numbers of fills are counted in; below it is the position. */
#define CACHE_FILL 0x10000

/* As many as leave a page room for the rest of the block. */
#define CACHE_IDS ((WIPE_PAGE_SIZE - 64) / sizeof(uint64_t))

/**
 * struct block - the ids; wiped on fork
 * @word: number of the fill | position of the next id; 0 if it was wiped
 * @start_ns: the start of their tick, in ns since the Unix epoch
 * @tick_ns: the length of it
 * @generation: the engine's, from before they were read
 * @count: the position after the last of them
 * @ids: the ids
 */
struct block {
	uint64_t word;
	uint64_t start_ns;
	uint64_t tick_ns;
	uint32_t generation;
	uint32_t count;
	uint64_t ids[CACHE_IDS];
};

/**
 * struct cache - what a thread has of a handle; not wiped on fork
 * @block: the ids
 * @generation: what the engine has them dropped by
 * @engine: where they come from
 * @next: in the list of all that the handle has, or of those nobody has
 * @owner: the thread, 0 if it is free, CACHE_ORPHAN if its handle is closed
 * @fills: the number of the last fill
 * @known: the generation to which what follows belongs
 * @shift: how far a tick is shifted up in an id
 * @tick_ns: the length of a tick
 * @epoch_ns: the start of tick 0, in ns since the Unix epoch
 * @most: not more than so many ids are read in one call
 * @want: so many ids are to be read; with 1 there is no block
 * @single: so many were read one by one in one tick
 * @start_ns: the start of the tick of the last one
 */
struct cache {
	struct block *block;
	const uint32_t *generation;
	struct engine *engine;
	struct cache *next;
	uintptr_t owner;
	uint64_t fills;

	uint32_t known;
	unsigned int shift;
	uint64_t tick_ns;
	uint64_t epoch_ns;
	unsigned int most;

	unsigned int want;
	unsigned int single;
	uint64_t start_ns;
};

/**
 * struct caches - what the threads have of a handle
 * @engine: where ids come from; NULL if there are to be no caches
 * @key: a thread's own
 * @all: the list of all
 */
struct caches {
	struct engine *engine;
	pthread_key_t key;
	struct cache *all;
};

void caches_open(struct caches *caches, struct engine *engine);
void caches_close(struct caches *caches);
struct cache *caches_attach(struct caches *caches);

bool cache_refill(struct cache *cache);
void cache_read_past(struct cache *cache, uint64_t id);

/**
 * cache_now - the wall clock
 *
 * Return: ns since the Unix epoch.
 */
static inline uint64_t cache_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Signal handlers of this thread are all that may come in between. */
#define cache_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/**
 * cache_exchange - compare and exchange where only signal handlers interfere
 * @word: what to change
 * @from: what it has to be
 * @to: what to make of it
 *
 * On x86 it needs no bus lock, which costs as much as half the clock does.
 *
 * Return: false if it was something else.
 */
static inline bool cache_exchange(uint64_t *word, uint64_t from, uint64_t to)
{
#ifdef __x86_64__
	bool done;

	__asm__ __volatile__("cmpxchgq %3, %1"
			     : "=@ccz" (done), "+m" (*word), "+a" (from)
			     : "r" (to)
			     : "memory");
	return done;
#else
	return __atomic_compare_exchange_n(word, &from, to, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

/**
 * cache_take - take an id that was read before
 * @cache: the calling thread's
 * @id: where to put it; valid only if true is returned
 *
 * Context: any, signal handlers too.
 * Return: false if there is none that may be given out now.
 */
static inline bool cache_take(struct cache *cache, uint64_t *id)
{
	struct block *block = cache->block;
	uint64_t word, taken;
	uint32_t at;

	for (;;) {
		word = __atomic_load_n(&block->word, __ATOMIC_RELAXED);
		cache_barrier();
		at = word % CACHE_FILL;
		if (at >= block->count)
			return false;
		taken = block->ids[at];
		cache_barrier();
		if (!cache_exchange(&block->word, word, word + 1))
			continue;
		cache_barrier();
		if (cache_now() - block->start_ns >= block->tick_ns ||
		    __atomic_load_n(cache->generation, __ATOMIC_RELAXED) !=
		    block->generation)
			return false;
		cache_barrier();
		if (__atomic_load_n(&block->word, __ATOMIC_RELAXED) == word + 1)
			break;
	}
	*id = taken;
	return true;
}

/**
 * caches_mine - the calling thread's cache
 * @caches: those of the handle
 *
 * Return: NULL if it has none yet, or there are to be none.
 */
static inline struct cache *caches_mine(const struct caches *caches)
{
	return caches->engine ? pthread_getspecific(caches->key) : NULL;
}

#endif /* SNOWFLAKE_LIB_CACHE_H */

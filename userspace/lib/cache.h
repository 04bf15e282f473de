/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The cache of a thread: a block of ids that were read in one call, each given
 * out within its own tick. How it stays true across forks and in signal
 * handlers is told in cache.c.
 */
#ifndef SNOWFLAKE_LIB_CACHE_H
#define SNOWFLAKE_LIB_CACHE_H

#include <pthread.h>

#include "engine.h"
#include "now.h"
#include "wipe.h"

/* What the numbers of fills are counted in; below it is the position. */
#define CACHE_FILL 0x10000

/* What a position has when the block was dropped. */
#define CACHE_DROPPED (CACHE_FILL / 2)

/*
 * Thread variables that a library loaded late can have as cheaply as a program;
 * the GNU C library keeps room for them, others may not.
 */
#ifdef __GLIBC__
#define CACHE_TLS __attribute__((__tls_model__("initial-exec")))
#else
#define CACHE_TLS
#endif

/* The owner of a cache whose handle was closed before its thread ended. */
#define CACHE_ORPHAN UINTPTR_MAX

/* The serial number that no handle has. */
#define CACHE_NO_SERIAL UINT64_MAX

/* As many as leave a page room for the rest of the block. */
#define CACHE_IDS ((WIPE_PAGE_SIZE - 64) / sizeof(uint64_t))

/**
 * struct block - the ids; wiped on fork
 * @word: number of the fill, 0 if it was wiped | position of the next id
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
 * @serial: of the handle
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
	uint64_t serial;
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
 * @serial: of the handle, if there are to be caches; 0 if not
 * @key: a thread's own
 * @all: the list of all
 */
struct caches {
	struct engine *engine;
	uint64_t serial;
	pthread_key_t key;
	struct cache *all;
};

void caches_open(struct caches *caches, struct engine *engine);
void caches_close(struct caches *caches);
struct cache *caches_recall(const struct caches *caches);
struct cache *caches_attach(struct caches *caches);

bool cache_take(struct cache *cache, uint64_t *id);
bool cache_refill(struct cache *cache);
void cache_read_past(struct cache *cache, uint64_t id);

/* Signal handlers of this thread are all that may come in between. */
#define cache_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/**
 * cache_move_on - raise a word by one where only signal handlers interfere
 * @word: the word
 *
 * In one instruction. On x86 it needs no bus lock, which costs as much as half
 * the clock does.
 */
static inline void cache_move_on(uint64_t *word)
{
#ifdef __x86_64__
	__asm__ __volatile__("incq %0" : "+m" (*word) : : "memory");
#else
	__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
#endif
}

/**
 * enum cache_attempt - what came of an attempt to take an id
 * @CACHE_TAKEN: it was taken
 * @CACHE_NONE: there is none that may be given out now
 * @CACHE_AGAIN: a handler came in between; there may be others
 */
enum cache_attempt {
	CACHE_TAKEN,
	CACHE_NONE,
	CACHE_AGAIN,
};

/**
 * cache_attempt - attempt to take an id that was read before
 * @cache: the calling thread's
 * @now: the wall clock, read since the call began
 * @id: where to put it; untouched if there is none
 *
 * Context: any, signal handlers too.
 * Return: what came of it.
 */
static inline enum cache_attempt
cache_attempt(struct cache *cache, uint64_t now, uint64_t *id)
{
	struct block *block = cache->block;
	uint32_t at, generation;
	uint64_t word, taken;

	word = __atomic_load_n(&block->word, __ATOMIC_RELAXED);
	cache_barrier();
	at = word % CACHE_FILL;
	if (at >= block->count || now - block->start_ns >= block->tick_ns)
		return CACHE_NONE;
	generation = block->generation;
	taken = block->ids[at];
	cache_barrier();
	cache_move_on(&block->word);
	cache_barrier();
	if (__atomic_load_n(cache->generation, __ATOMIC_RELAXED) != generation)
		return CACHE_NONE;
	cache_barrier();
	if (__atomic_load_n(&block->word, __ATOMIC_RELAXED) != word + 1)
		return CACHE_AGAIN;
	*id = taken;
	return CACHE_TAKEN;
}

/* The cache that the thread used last; it may be another's by now. */
extern __thread struct cache *cache_used CACHE_TLS;

/**
 * cache_self - what tells the calling thread from all others
 *
 * Return: never 0 nor CACHE_ORPHAN.
 */
static inline uintptr_t cache_self(void)
{
	return (uintptr_t)&cache_used;
}

/**
 * caches_have - is it the calling thread's cache?
 * @caches: those of the handle
 * @cache: the one that the thread used last
 *
 * Spares what pthread_getspecific(3) costs, a tenth of a cached id.
 *
 * Return: false if it has to be recalled, or attached, or there are to be none.
 */
static inline bool caches_have(const struct caches *caches,
			       const struct cache *cache)
{
	return __atomic_load_n(&cache->serial, __ATOMIC_RELAXED) ==
	       caches->serial &&
	       __atomic_load_n(&cache->owner, __ATOMIC_RELAXED) == cache_self();
}

#endif /* SNOWFLAKE_LIB_CACHE_H */

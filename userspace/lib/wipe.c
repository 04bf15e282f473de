// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory that a forked child finds wiped; see wipe.h. The kernel wipes it,
 * whoever forks and how: no handler of pthread_atfork() has to run. It is left
 * alone by vfork(2) and posix_spawn(3), whose child lives in the memory of its
 * parent and so shares what it takes.
 *
 * All functions may be called from signal handlers: mmap(2) rather than
 * malloc(3), and no locks.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "wipe.h"

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/**
 * wipe_map - get a page that is wiped on fork, and maybe a plain one before it
 * @plain: get the plain one too
 * @wiped: where to put the address of the page that is wiped
 *
 * Return: what wipe_unmap() takes, the plain page if there is one; both are
 * zero. NULL if there is no memory or the kernel does not wipe it.
 */
void *wipe_map(bool plain, void **wiped)
{
	size_t size = page_size();
	char *map;

	map = mmap(NULL, size * (1 + plain), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	*wiped = map + plain * size;
	if (madvise(*wiped, size, MADV_WIPEONFORK)) {
		wipe_unmap(map, plain);
		return NULL;
	}
	return map;
}

/**
 * wipe_unmap - give the memory back
 * @map: what wipe_map() returned, or NULL
 * @plain: as it was given to wipe_map()
 */
void wipe_unmap(void *map, bool plain)
{
	if (map)
		munmap(map, page_size() * (1 + plain));
}

/**
 * life_begin - make forks noticed from now on
 * @life: zero; stays so, and notices nothing, if there is no memory
 */
void life_begin(struct life *life)
{
	void *wiped;

	life->token = wipe_map(false, &wiped);
}

/**
 * life_end - give the memory back
 * @life: what life_begin() began
 */
void life_end(struct life *life)
{
	wipe_unmap(life->token, false);
}

/**
 * life_now - what is another value in each process of those that forked
 * @life: what life_begin() began
 *
 * Return: the token; if it is still the same after something was done, no fork
 * has come in between, or we are the parent.
 */
uint64_t life_now(struct life *life)
{
	uint64_t token, none = 0;

	if (!life->token)
		return 0;
	token = __atomic_load_n(life->token, __ATOMIC_RELAXED);
	if (token)
		return token;
	token = __atomic_add_fetch(&life->count, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(life->token, &none, token, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return token;
	return none;
}

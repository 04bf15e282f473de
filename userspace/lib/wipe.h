/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Memory that a forked child finds wiped: what must not be there twice, and how
 * a process notices that it is a child.
 */
#ifndef SNOWFLAKE_LIB_WIPE_H
#define SNOWFLAKE_LIB_WIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What fits on a page of any machine. */
#define WIPE_PAGE_SIZE 4096

void *wipe_map(bool plain, void **wiped);
void wipe_unmap(void *map, bool plain);

/**
 * struct life - what changes when a process becomes two
 * @token: lies in memory that is wiped; NULL if there is none to be had
 * @count: lies in memory that is not: a child goes on from it, so that its
 *	tokens differ from its parent's
 */
struct life {
	uint64_t *token;
	uint64_t count;
};

void life_begin(struct life *life);
void life_end(struct life *life);
uint64_t life_now(struct life *life);

#endif /* SNOWFLAKE_LIB_WIPE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A log of the ids that processes forked from one another have taken, and the
 * trial whether a fork in the middle of a call makes two of one.
 */
#ifndef SNOWFLAKE_LIB_TAKEN_H
#define SNOWFLAKE_LIB_TAKEN_H

#include <stdbool.h>
#include <stdint.h>

#include <snowflake.h>

/* A number that is no id, to be found again where nothing was written. */
#define NO_ID UINT64_C(0x5a5a5a5a5a5a5a5a)

/* The log is shared; there is room for a million ids. */
void taken_reset(void);
unsigned int taken_count(void);
void taken_log(uint64_t id);

/* How many came more than once; the log is in order then. */
unsigned int taken_twice(void);

/*
 * An id, or the end of the program; several of them, logged. They do not return
 * an error, which would go unseen in a child.
 */
uint64_t take(struct snowflake *sf);
void take_some(struct snowflake *sf, unsigned int count);

/* The end of all children of this process; false if one did not end well. */
bool children_well(void);

#define TRIAL_IDS 4

/**
 * struct trial - a call in the middle of which a handler forks
 * @sf: the handle
 * @count: how many ids it asks for: 1 is next, more are fill
 * @ids: what it got
 * @is_child: we came out of the fork
 */
struct trial {
	struct snowflake *sf;
	unsigned int count;
	uint64_t ids[TRIAL_IDS];
	bool is_child;
};

enum { TRIAL_MISSED = -1, TRIAL_APART = 0 };

void trial_call(void *trial);
bool trial_fork(void *trial);
void trial_end(struct trial *trial);

/*
 * The call, with a fork before its instruction number @at. What the child takes in
 * the handler and later is logged, and what both got from the call. Where these
 * are the same they are logged once, and the number of instructions that were
 * left to run is returned: only at the very end of a call the id is as good as
 * the caller's. TRIAL_APART if they are not, TRIAL_MISSED if the call was over,
 * or had blocked signals, before that instruction.
 */
long trial_run(struct trial *trial, long at);

#endif /* SNOWFLAKE_LIB_TAKEN_H */

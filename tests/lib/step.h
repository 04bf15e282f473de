/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Have a signal handler run between any two instructions that one likes: the
 * processor is told to stop after each.
 */
#ifndef SNOWFLAKE_LIB_STEP_H
#define SNOWFLAKE_LIB_STEP_H

#include <stdbool.h>

/* Can it be done here? Not under valgrind, nor where signals are put off. */
bool step_possible(void);

/*
 * Calls @call(@arg), and @handler(@arg) in a signal handler that comes before the
 * instruction number @at. Returns how many instructions there were, with @at -1;
 * else whether there was one of that number, or 0 if the call blocked signals
 * first, which ends the stepping.
 */
long step_call(void (*call)(void *arg), void (*handler)(void *arg), void *arg,
	       long at);

/* step_call() met a block of signals: it has counted up to there. */
bool step_blocked(void);

#endif /* SNOWFLAKE_LIB_STEP_H */

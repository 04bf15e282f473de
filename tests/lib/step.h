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
 * Calls @call(@arg), and @handler(@arg) in a signal handler before instruction
 * number @at, if there is one: -1 is none. It goes on unless @handler returns
 * true, or @call blocks signals. Returns how many instructions it counted.
 */
long step_call(void (*call)(void *arg), bool (*handler)(void *arg), void *arg,
	       long at);

/* Did the handler run in the last step_call(), and did that block signals? */
bool step_done(void);
bool step_blocked(void);

#endif /* SNOWFLAKE_LIB_STEP_H */

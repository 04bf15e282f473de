/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Waiting: what a read does that got no ids.
 */
#ifndef SNOWFLAKE_WAIT_H
#define SNOWFLAKE_WAIT_H

#include <linux/types.h>

#include "generator.h"

/**
 * struct snowflake_waiter - what one read call has waited so far
 * @nonblock: it must not wait
 * @counted: it slept for a tick and is owed a number
 * @looks: how often in a row it looked again at a skewed clock
 * @deadline: until when it waits while behind, in ns of CLOCK_MONOTONIC; 0 as
 *	long as it was not behind
 */
struct snowflake_waiter {
	bool nonblock;
	bool counted;
	unsigned int looks;
	s64 deadline;
};

int snowflake_wait(struct snowflake_waiter *waiter,
		   const struct snowflake_run *run);
void snowflake_wait_end(struct snowflake_waiter *waiter);
int snowflake_wait_errno(enum snowflake_verdict verdict);

#endif /* SNOWFLAKE_WAIT_H */

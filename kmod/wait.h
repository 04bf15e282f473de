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
 * @order: the file that reads
 * @request: what the next attempt asks for, kept up to date but for its want
 * @nonblock: it must not wait
 * @lineage: it is counted as a waiter of a word of this lineage; 0 if it is not
 * @looks: how often in a row it looked again at a skewed clock
 * @deadline: until when it waits while behind, in ns of CLOCK_MONOTONIC; 0 as
 *	long as it was not behind
 */
struct snowflake_waiter {
	const struct snowflake_order *order;
	struct snowflake_request request;
	bool nonblock;
	u32 lineage;
	unsigned int looks;
	s64 deadline;
};

int snowflake_wait(struct snowflake_waiter *waiter,
		   const struct snowflake_run *run);
void snowflake_wait_end(struct snowflake_waiter *waiter);
int snowflake_wait_errno(enum snowflake_verdict verdict);

#endif /* SNOWFLAKE_WAIT_H */

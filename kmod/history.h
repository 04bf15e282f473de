/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The history: which worker ids were used until when. Also compiled in user
 * space.
 */
#ifndef SNOWFLAKE_HISTORY_H
#define SNOWFLAKE_HISTORY_H

#include "portable.h"

/* So many ranges are remembered apart; more are taken together. */
#define SNOWFLAKE_HISTORY_MAX 64

/**
 * struct snowflake_history - the ranges of worker ids used so far
 * @count: how many ranges there are
 * @used: the ranges, which may overlap
 * @used.first: first worker id
 * @used.last: last worker id
 * @used.until_ns: no number of an earlier tick than this is left, in ns since
 *	the Unix epoch
 */
struct snowflake_history {
	unsigned int count;
	struct snowflake_used {
		u64 first;
		u64 last;
		s64 until_ns;
	} used[SNOWFLAKE_HISTORY_MAX];
};

void snowflake_history_add(struct snowflake_history *history, u64 worker_id,
			   u64 worker_count, s64 until_ns);
bool snowflake_history_find(const struct snowflake_history *history,
			    u64 worker_id, u64 worker_count, s64 *until_ns);
bool snowflake_history_latest(const struct snowflake_history *history,
			      s64 *until_ns);

#endif /* SNOWFLAKE_HISTORY_H */

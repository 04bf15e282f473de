// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The history: which worker ids were used until when, whatever the layout was.
 *
 * It is in nanoseconds rather than in ticks, because layouts differ in those. A
 * worker id of one layout is taken for the same worker id of another: that may
 * lose numbers, and repeats none.
 */
#include "history.h"

/**
 * snowflake_history_add - remember that a range was used
 * @history: the history
 * @worker_id: first worker id of the range
 * @worker_count: how many there are
 * @until_ns: the end of the last tick used, in ns since the Unix epoch
 */
void snowflake_history_add(struct snowflake_history *history, u64 worker_id,
			   u64 worker_count, s64 until_ns)
{
	u64 last = worker_id + worker_count - 1;
	struct snowflake_used *used = history->used;
	unsigned int i;

	for (i = 0; i < history->count; i++)
		if (used[i].first == worker_id && used[i].last == last)
			break;

	if (i == SNOWFLAKE_HISTORY_MAX) {
		/* Full: from now on all that was used is one range. */
		for (i = 1; i < history->count; i++) {
			used[0].first = min_t(u64, used[0].first, used[i].first);
			used[0].last = max_t(u64, used[0].last, used[i].last);
			used[0].until_ns = max_t(s64, used[0].until_ns,
						 used[i].until_ns);
		}
		history->count = 1;
		i = 1;
	}
	if (i == history->count) {
		history->count++;
		used[i].first = worker_id;
		used[i].last = last;
		used[i].until_ns = until_ns;
	}
	used[i].until_ns = max_t(s64, used[i].until_ns, until_ns);
}

/**
 * snowflake_history_find - until when any of a range was used
 * @history: the history
 * @worker_id: first worker id of the range
 * @worker_count: how many there are
 * @until_ns: where the end of the last tick used goes, in ns since the Unix
 *	epoch
 *
 * Return: false if none of them was used.
 */
bool snowflake_history_find(const struct snowflake_history *history,
			    u64 worker_id, u64 worker_count, s64 *until_ns)
{
	u64 last = worker_id + worker_count - 1;
	bool found = false;
	unsigned int i;

	for (i = 0; i < history->count; i++) {
		const struct snowflake_used *used = &history->used[i];

		if (used->last < worker_id || used->first > last)
			continue;
		*until_ns = found ? max_t(s64, *until_ns, used->until_ns) :
				    used->until_ns;
		found = true;
	}
	return found;
}

/**
 * snowflake_history_latest - until when any worker id was used
 * @history: the history
 * @until_ns: where the end of the last tick used goes, in ns since the Unix
 *	epoch
 *
 * Return: false if none was used.
 */
bool snowflake_history_latest(const struct snowflake_history *history,
			      s64 *until_ns)
{
	return snowflake_history_find(history, 0, U64_MAX, until_ns);
}

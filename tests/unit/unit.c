// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the unit tests have in common. See unit.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

/**
 * unit_random - a random number (splitmix64)
 * @state: any number to begin with; the same one gives the same sequence
 *
 * Return: 64 random bits.
 */
u64 unit_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/**
 * unit_random_below - a random number of a range
 * @state: as for unit_random()
 * @limit: how many numbers there are to choose from, small against 2^64
 *
 * Return: a number from 0 to @limit - 1.
 */
u64 unit_random_below(u64 *state, u64 limit)
{
	return unit_random(state) % limit;
}

/**
 * unit_config_init - a configuration of the twitter layout, with its own cookie
 * @config: where it goes
 * @worker_id: the first worker id
 * @worker_count: how many
 * @cpu_block: numbers in a full block
 */
void unit_config_init(struct snowflake_config *config, u32 worker_id,
		      u32 worker_count, u32 cpu_block)
{
	static u32 cookie;

	*config = (struct snowflake_config) {
		.layout = snowflake_layout_twitter,
		.cookie = ++cookie,
		.worker_id = worker_id,
		.worker_count = worker_count,
		.cpu_block = cpu_block,
	};
	snowflake_config_derive(config);
}

/**
 * unit_put_in_force - change the configuration, as config.c does in the kernel
 * @generator: the generator
 * @clock: the clock
 * @config: the configuration, which stays where it is
 * @synchronize: the grace period: returns when all readers that came before are
 *	through; NULL if nobody reads
 */
void unit_put_in_force(struct snowflake_generator *generator,
		       struct snowflake_clock *clock,
		       const struct snowflake_config *config,
		       void (*synchronize)(void))
{
	rcu_assign_pointer(generator->config, &snowflake_config_closed);
	if (synchronize)
		synchronize();
	if (config->verdict == SNOWFLAKE_GIVEN)
		snowflake_generator_rebase(generator, config, clock);
	rcu_assign_pointer(generator->config, config);
}

static void log_reserve(struct unit_log *log, size_t count)
{
	if (log->count + count <= log->room)
		return;
	log->room = max_t(size_t, 2 * log->room, log->count + count);
	log->room = max_t(size_t, log->room, 1024);
	log->given = realloc(log->given, log->room * sizeof(*log->given));
	if (!log->given) {
		perror("realloc");
		exit(1);
	}
}

/**
 * unit_log_add - note a run of ids
 * @log: the log; zero when it is new
 * @first: the first id
 * @count: how many
 */
void unit_log_add(struct unit_log *log, u64 first, u64 count)
{
	/* Runs that follow one another, as out of a block, take one place. */
	if (log->count && log->given[log->count - 1].end == first) {
		log->given[log->count - 1].end += count;
		return;
	}
	log_reserve(log, 1);
	log->given[log->count++] = (struct unit_given) { first, first + count };
}

/**
 * unit_log_append - note all that another log has
 * @log: the log
 * @other: the other
 */
void unit_log_append(struct unit_log *log, const struct unit_log *other)
{
	if (!other->count)
		return;
	log_reserve(log, other->count);
	memcpy(log->given + log->count, other->given,
	       other->count * sizeof(*other->given));
	log->count += other->count;
}

static int compare(const void *a, const void *b)
{
	const struct unit_given *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/**
 * unit_log_sort - bring the ids into their order
 * @log: the log
 */
void unit_log_sort(struct unit_log *log)
{
	if (log->count)
		qsort(log->given, log->count, sizeof(*log->given), compare);
}

/**
 * unit_log_duplicate - look for an id that was given twice
 * @log: a sorted log
 * @id: where the lowest such id goes
 *
 * Return: true if there is one.
 */
bool unit_log_duplicate(const struct unit_log *log, u64 *id)
{
	size_t i;

	for (i = 1; i < log->count; i++) {
		if (log->given[i].first < log->given[i - 1].end) {
			*id = log->given[i].first;
			return true;
		}
	}
	return false;
}

/**
 * unit_log_ids - how many ids were given
 * @log: the log
 *
 * Return: their number.
 */
u64 unit_log_ids(const struct unit_log *log)
{
	u64 ids = 0;
	size_t i;

	for (i = 0; i < log->count; i++)
		ids += log->given[i].end - log->given[i].first;
	return ids;
}

/**
 * unit_log_free - give up the memory of a log
 * @log: the log, empty afterwards
 */
void unit_log_free(struct unit_log *log)
{
	free(log->given);
	*log = (struct unit_log) { 0 };
}

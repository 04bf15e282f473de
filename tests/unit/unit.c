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
 * unit_config_init - a configuration of the twitter layout
 * @config: where it goes; the rest is 0 and can be set before it is put in force
 * @worker_id: the first worker id
 * @worker_count: how many
 * @cpu_block: numbers in a full block
 */
void unit_config_init(struct snowflake_config *config, u64 worker_id,
		      u64 worker_count, u32 cpu_block)
{
	*config = (struct snowflake_config) {
		.layout = snowflake_layouts[SNOWFLAKE_TWITTER],
		.worker_id = worker_id,
		.worker_count = worker_count,
		.cpu_block = cpu_block,
	};
}

/**
 * unit_host_init - a module just loaded
 * @host: the host; whatever there was before has been given up
 */
void unit_host_init(struct unit_host *host)
{
	memset(host, 0, sizeof(*host));
	snowflake_clock_init(&host->clock);
	host->config = &snowflake_config_no_worker;
	host->era_until = S64_MIN;
}

/**
 * unit_host_exit - give up the memory of a host
 * @host: the host, whose configuration may be gone already
 */
void unit_host_exit(struct unit_host *host)
{
	free(host->words);
	host->words = NULL;
}

static void *xalloc(size_t size)
{
	void *memory = aligned_alloc(64, size);

	if (!memory) {
		perror("aligned_alloc");
		exit(1);
	}
	memset(memory, 0, size);
	return memory;
}

/* From here on as in kmod/config.c, where the reasons are. */

/* Numbers are never used again, whatever the host. */
static u32 new_cookie(void)
{
	static u32 last;

	return ++last;
}

static void retire(struct unit_host *host)
{
	const struct snowflake_config *config = host->running;
	s64 used;

	if (!config)
		return;
	used = snowflake_config_used(config);
	if (used > host->started) {
		snowflake_history_add(&host->history, config->worker_id,
				      config->worker_count, used);
		host->era_until = max_t(s64, host->era_until, used);
	}
	unit_host_exit(host);
	host->running = NULL;
}

static void start(struct unit_host *host, struct snowflake_config *config)
{
	s64 floor;
	bool used = snowflake_history_find(&host->history, config->worker_id,
					   config->worker_count, &floor);

	/* No file of this era goes down, unless a range was never used. */
	if (used)
		floor = max_t(s64, floor, host->era_until);
	else
		floor = snowflake_clock_floor(&host->clock) + 1;
	snowflake_config_start(config, floor);
	host->started = snowflake_config_used(config);

	if (host->started < host->era_until) {
		WRITE_ONCE(host->era, host->era + 1);
		host->era_until = S64_MIN;
	}
	config->era = host->era;
	config->lineage = config->cookie;
}

/**
 * unit_host_put_in_force - write a worker id
 * @host: the host
 * @config: the configuration, which stays where it is; NULL for none
 */
void unit_host_put_in_force(struct unit_host *host,
			    struct snowflake_config *config)
{
	rcu_assign_pointer(host->config, &snowflake_config_closed);
	if (host->synchronize)
		host->synchronize();
	retire(host);
	if (config) {
		config->cookie = new_cookie();
		snowflake_config_derive(config);
		host->words = xalloc(snowflake_config_words(config) *
				     sizeof(*config->words));
		config->words = host->words;
		start(host, config);
	}
	host->running = config;
	rcu_assign_pointer(host->config,
			   config ? config : &snowflake_config_no_worker);
}

/**
 * unit_host_window - change the window while there is a worker id
 * @host: the host
 * @config: where the configuration with the new window goes
 * @not_before_ms: start of the window, in Unix milliseconds, 0 if open
 * @not_after_ms: end of the window, in Unix milliseconds, 0 if open
 */
void unit_host_window(struct unit_host *host, struct snowflake_config *config,
		      u64 not_before_ms, u64 not_after_ms)
{
	*config = *host->running;
	config->not_before_ms = not_before_ms;
	config->not_after_ms = not_after_ms;
	config->cookie = new_cookie();
	snowflake_config_derive(config);
	rcu_assign_pointer(host->config, config);
	host->running = config;
	if (host->synchronize)
		host->synchronize();
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

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the unit tests have in common: cmocka with what it needs included before
 * it, a generator of random numbers that is the same everywhere, the host on
 * which configurations come into force, and the log that finds duplicates.
 */
#ifndef SNOWFLAKE_UNIT_H
#define SNOWFLAKE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "generator.h"
#include "history.h"

/*
 * Run the tests of a program. The name of the group, which ends the program's
 * TAP, says under which sanitizer it was.
 */
#define unit_run(name, tests)						\
	cmocka_run_group_tests_name(name " under " UNIT_SANITIZER,	\
				    tests, NULL, NULL)

u64 unit_random(u64 *state);
u64 unit_random_below(u64 *state, u64 limit);

/**
 * struct unit_host - what there is once on a host, as in kmod/host.h
 * @config: the configuration in force, never NULL
 * @running: the same as the one who changes it sees it; NULL if there is no
 *	worker id
 * @words: its words
 * @started: until when its words were used when it came into force
 * @clock: the clock
 * @history: the ranges used so far
 * @era: files opened from now on belong to this era
 * @era_until: until when files of this era were given ids
 * @synchronize: the grace period: returns when all readers that came before are
 *	through; NULL if nobody reads meanwhile
 */
struct unit_host {
	const struct snowflake_config *config;
	struct snowflake_config *running;
	struct snowflake_word *words;
	s64 started;
	struct snowflake_clock clock;
	struct snowflake_history history;
	u32 era;
	s64 era_until;
	void (*synchronize)(void);
};

void unit_config_init(struct snowflake_config *config, u64 worker_id,
		      u64 worker_count, u32 cpu_block);
void unit_host_init(struct unit_host *host);
void unit_host_exit(struct unit_host *host);
void unit_host_put_in_force(struct unit_host *host,
			    struct snowflake_config *config);
void unit_host_window(struct unit_host *host, struct snowflake_config *config,
		      u64 not_before_ms, u64 not_after_ms);

/**
 * struct unit_given - ids that were given in one go
 * @first: the first
 * @end: the one after the last
 */
struct unit_given {
	u64 first;
	u64 end;
};

/**
 * struct unit_log - all the ids that were given
 * @given: the runs
 * @count: how many
 * @room: for how many there is memory
 */
struct unit_log {
	struct unit_given *given;
	size_t count;
	size_t room;
};

void unit_log_add(struct unit_log *log, u64 first, u64 count);
void unit_log_append(struct unit_log *log, const struct unit_log *other);
void unit_log_sort(struct unit_log *log);
bool unit_log_duplicate(const struct unit_log *log, u64 *id);
u64 unit_log_ids(const struct unit_log *log);
void unit_log_free(struct unit_log *log);

#endif /* SNOWFLAKE_UNIT_H */

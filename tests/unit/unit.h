/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the unit tests have in common: cmocka with what it needs included before
 * it, a generator of random numbers that is the same everywhere, the way a
 * configuration comes into force, and the log that finds duplicates.
 */
#ifndef SNOWFLAKE_UNIT_H
#define SNOWFLAKE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "generator.h"

/*
 * Run the tests of a program. The name of the group, which ends the program's
 * TAP, says under which sanitizer it was.
 */
#define unit_run(name, tests)						\
	cmocka_run_group_tests_name(name " under " UNIT_SANITIZER,	\
				    tests, NULL, NULL)

u64 unit_random(u64 *state);
u64 unit_random_below(u64 *state, u64 limit);

void unit_config_init(struct snowflake_config *config, u32 worker_id,
		      u32 worker_count, u32 cpu_block);
void unit_put_in_force(struct snowflake_generator *generator,
		       struct snowflake_clock *clock,
		       const struct snowflake_config *config,
		       void (*synchronize)(void));

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

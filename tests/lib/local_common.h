/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the tests of the local engine have in common: a folder for each test, and
 * the engine in few words.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_COMMON_H
#define SNOWFLAKE_LIB_LOCAL_COMMON_H

#include "lib_test.h"
#include "machine.h"

extern char local_folder[];

int local_set_up(void **state);
int local_tear_down(void **state);
char *local_path(const char *name);
uint64_t local_random(uint64_t limit);

int try_open(struct engine **engine, const char *name);
struct engine *open_it(const char *name);
ssize_t take(struct engine *engine, uint64_t *ids, size_t count,
	     int64_t deadline);
uint64_t take_one(struct engine *engine);

#define LOCAL_TEST(name)						\
	cmocka_unit_test_setup_teardown(name, local_set_up,		\
					local_tear_down)

#endif /* SNOWFLAKE_LIB_LOCAL_COMMON_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the tests of the library have in common: cmocka with what it needs
 * included before it, and random numbers that can be had again.
 */
#ifndef SNOWFLAKE_LIB_TEST_H
#define SNOWFLAKE_LIB_TEST_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <snowflake.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Run the tests of a program. The name of the group, which ends the program's
 * TAP, says under which sanitizer it was.
 */
#define test_run(name, tests)						\
	cmocka_run_group_tests_name(name " under " TEST_SANITIZER,	\
				    tests, NULL, NULL)

/* A number that the caller may set: how many trials, which seed. */
static inline uint64_t test_setting(const char *name, uint64_t by_default)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : by_default;
}

static inline uint64_t test_trials(uint64_t by_default)
{
	return test_setting("TRIALS", by_default);
}

/* 64 random bits, of a sequence that SEED=N brings back. */
static inline uint64_t test_random(void)
{
	static unsigned short state[3];
	static int seeded;
	uint64_t high;

	if (!seeded) {
		uint64_t seed = test_setting("SEED", time(NULL));

		print_message("# SEED=%" PRIu64 "\n", seed);
		memcpy(state, &seed, sizeof(state));
		seeded = 1;
	}
	high = (uint32_t)jrand48(state);
	return high << 32 | (uint32_t)jrand48(state);
}

#endif /* SNOWFLAKE_LIB_TEST_H */

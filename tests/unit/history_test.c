// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The history: ranges overlap or they do not, to the worker id; and what was
 * used is never forgotten, however much there is to remember.
 */
#include "history.h"
#include "unit.h"

#define TOP ((1ULL << 62) - 1)	/* no worker id is greater */

static struct snowflake_history past;

static int setup(void **state)
{
	(void)state;
	past.count = 0;
	return 0;
}

static void assert_unused(u64 worker_id, u64 worker_count)
{
	s64 until = 77;

	assert_false(snowflake_history_find(&past, worker_id, worker_count,
					    &until));
	assert_int_equal(until, 77);
}

static void assert_used(u64 worker_id, u64 worker_count, s64 expected)
{
	s64 until = 77;

	assert_true(snowflake_history_find(&past, worker_id, worker_count,
					   &until));
	assert_int_equal(until, expected);
}

static void nothing_was_used(void **state)
{
	s64 until;

	(void)state;
	assert_unused(0, 1);
	assert_unused(0, TOP + 1);
	assert_false(snowflake_history_latest(&past, &until));
}

static void ranges_overlap_to_the_worker_id(void **state)
{
	u64 first, last;

	(void)state;
	snowflake_history_add(&past, 10, 5, 1000);	/* 10..14 */
	for (first = 0; first < 25; first++) {
		for (last = first; last < 25; last++) {
			if (last < 10 || first > 14)
				assert_unused(first, last - first + 1);
			else
				assert_used(first, last - first + 1, 1000);
		}
	}
}

static void the_ends_are_worker_ids_too(void **state)
{
	s64 until;

	(void)state;
	snowflake_history_add(&past, 0, 1, 5);
	assert_used(0, 1, 5);
	assert_used(0, TOP + 1, 5);
	assert_unused(1, TOP);
	snowflake_history_add(&past, TOP, 1, 9);
	assert_used(TOP, 1, 9);
	assert_unused(1, TOP - 1);
	assert_used(0, TOP + 1, 9);
	assert_true(snowflake_history_latest(&past, &until));
	assert_int_equal(until, 9);
}

static void the_latest_of_all_that_overlap_counts(void **state)
{
	s64 until;

	(void)state;
	snowflake_history_add(&past, 0, 4, 300);	/* 0..3 */
	snowflake_history_add(&past, 2, 4, 100);	/* 2..5 */
	snowflake_history_add(&past, 5, 3, 200);	/* 5..7 */
	assert_used(0, 2, 300);
	assert_used(3, 1, 300);
	assert_used(4, 1, 100);
	assert_used(4, 2, 200);
	assert_used(5, 1, 200);
	assert_used(2, 6, 300);
	assert_used(7, 100, 200);
	assert_unused(8, 100);
	assert_true(snowflake_history_latest(&past, &until));
	assert_int_equal(until, 300);
}

/* Before 1970 is a time like another. */
static void an_instant_may_be_negative(void **state)
{
	s64 until;

	(void)state;
	snowflake_history_add(&past, 1, 1, -500);
	snowflake_history_add(&past, 2, 1, -400);
	assert_used(1, 1, -500);
	assert_used(1, 2, -400);
	assert_true(snowflake_history_latest(&past, &until));
	assert_int_equal(until, -400);
}

static void the_same_range_takes_one_place_and_only_rises(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		snowflake_history_add(&past, 3, 2, 1000 + i);
	assert_int_equal(past.count, 1);
	assert_used(3, 1, 1999);
	snowflake_history_add(&past, 3, 2, 5);
	assert_used(4, 1, 1999);
	/* Not the same: one end alone is. */
	snowflake_history_add(&past, 3, 3, 6);
	snowflake_history_add(&past, 2, 3, 7);
	assert_int_equal(past.count, 3);
	assert_used(5, 1, 6);
	assert_used(2, 1, 7);
}

static void a_full_history_is_exact(void **state)
{
	u64 i;

	(void)state;
	for (i = 0; i < SNOWFLAKE_HISTORY_MAX; i++)
		snowflake_history_add(&past, 10 * i + 1, 1, 1000 - i);
	for (i = 0; i < SNOWFLAKE_HISTORY_MAX; i++) {
		assert_used(10 * i + 1, 1, 1000 - i);
		assert_unused(10 * i + 2, 9);
	}
	/* What is there already finds its place in a full one too. */
	snowflake_history_add(&past, 1, 1, 5000);
	assert_int_equal(past.count, SNOWFLAKE_HISTORY_MAX);
	assert_used(1, 1, 5000);
	assert_used(11, 1, 999);
}

/* Taken together, so that more is taken for used, and for longer; never less. */
static void one_more_takes_the_rest_together(void **state)
{
	u64 i;

	(void)state;
	for (i = 0; i < SNOWFLAKE_HISTORY_MAX; i++)
		snowflake_history_add(&past, 100 + (7 * i) % 64, 1,
				      i == 20 ? 9000 : 1000 + i);
	snowflake_history_add(&past, 500, 2, 10);
	assert_int_equal(past.count, 2);
	for (i = 0; i < SNOWFLAKE_HISTORY_MAX; i++)
		assert_used(100 + i, 1, 9000);
	assert_used(500, 1, 10);
	assert_used(501, 1, 10);
	assert_unused(99, 1);
	assert_unused(164, 336);
	assert_unused(502, 1);
}

#define WORKERS 300

static void no_floor_is_ever_lost(void **state)
{
	static s64 floors[WORKERS];
	u64 random = 1, first, count, i;
	s64 until, latest = 0;
	int round;

	(void)state;
	for (round = 0; round < 2000; round++) {
		first = unit_random_below(&random, WORKERS - 8);
		count = 1 + unit_random_below(&random, 8);
		until = 1 + unit_random_below(&random, 100000);
		snowflake_history_add(&past, first, count, until);
		latest = max_t(s64, latest, until);
		for (i = first; i < first + count; i++)
			floors[i] = max_t(s64, floors[i], until);
		for (i = 0; i < WORKERS; i++) {
			if (!floors[i])
				continue;
			assert_true(snowflake_history_find(&past, i, 1, &until));
			assert_true(until >= floors[i]);
			assert_true(until <= latest);
		}
		assert_true(snowflake_history_latest(&past, &until));
		assert_int_equal(until, latest);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define fresh(test) cmocka_unit_test_setup(test, setup)
		fresh(nothing_was_used),
		fresh(ranges_overlap_to_the_worker_id),
		fresh(the_ends_are_worker_ids_too),
		fresh(the_latest_of_all_that_overlap_counts),
		fresh(an_instant_may_be_negative),
		fresh(the_same_range_takes_one_place_and_only_rises),
		fresh(a_full_history_is_exact),
		fresh(one_more_takes_the_rest_together),
		fresh(no_floor_is_ever_lost),
#undef fresh
	};

	return unit_run("history", tests);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock: which steps are counted, once each, and that no time is used that
 * was read while the clock was being set.
 */
#include <pthread.h>
#include <sched.h>

#include "clock.h"
#include "driven_clock.h"
#include "unit.h"

#define NOON (1796066145L * 1000 * NSEC_PER_MSEC)	/* some day in 2026 */
#define MS NSEC_PER_MSEC

static struct snowflake_clock watched;

static int start(void **state)
{
	(void)state;
	driven_clock_start(NOON);
	snowflake_clock_init(&watched);
	return 0;
}

static void assert_steps(u64 count, u64 last_ns, u64 max_ns, u64 total_ns)
{
	struct snowflake_steps steps;

	snowflake_clock_steps(&watched, &steps);
	assert_int_equal(steps.rewinds, count);
	assert_int_equal(steps.rewind_last_ns, last_ns);
	assert_int_equal(steps.rewind_max_ns, max_ns);
	assert_int_equal(steps.rewind_total_ns, total_ns);
}

static void assert_reads(void)
{
	struct snowflake_time now;

	assert_true(snowflake_clock_read(&watched, &now));
	assert_int_equal(now.mono, driven_clock_mono());
	assert_int_equal(now.real, driven_clock_real());
}

static void assert_does_not_read(void)
{
	struct snowflake_time now;

	assert_false(snowflake_clock_read(&watched, &now));
}

static void a_clock_that_nobody_sets_is_read(void **state)
{
	(void)state;
	assert_reads();
	driven_clock_advance(1);
	assert_reads();
	driven_clock_advance(36L * 3600 * 1000 * MS);
	assert_reads();
	assert_steps(0, 0, 0, 0);
}

static void a_step_back_is_counted_once(void **state)
{
	(void)state;
	driven_clock_step(-5 * MS);
	assert_does_not_read();
	/* Reading alone does not judge. */
	assert_does_not_read();
	snowflake_clock_judge(&watched);
	snowflake_clock_judge(&watched);
	assert_reads();
	assert_steps(1, 5 * MS, 5 * MS, 5 * MS);
	assert_steps(1, 5 * MS, 5 * MS, 5 * MS);
}

static void steps_back_are_counted_exactly(void **state)
{
	(void)state;
	driven_clock_step(-5 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(1, 5 * MS, 5 * MS, 5 * MS);
	driven_clock_advance(123);
	driven_clock_step(-8L * 3600 * 1000 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(2, 28800000 * MS, 28800000 * MS, 28800005 * MS);
	driven_clock_step(-1);
	snowflake_clock_judge(&watched);
	assert_steps(3, 1, 28800000 * MS, 28800005 * MS + 1);
}

/* Fault 5: the counters are right also when nobody read in between. */
static void asking_for_the_steps_looks_at_the_clock(void **state)
{
	(void)state;
	driven_clock_step(-3 * MS);
	assert_steps(1, 3 * MS, 3 * MS, 3 * MS);
	assert_reads();
}

static void steps_unseen_between_are_seen_as_their_sum(void **state)
{
	(void)state;
	driven_clock_step(-2 * MS);
	driven_clock_step(-3 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(1, 5 * MS, 5 * MS, 5 * MS);

	driven_clock_step(-9 * MS);
	driven_clock_step(2 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(2, 7 * MS, 7 * MS, 12 * MS);

	driven_clock_step(-4 * MS);
	driven_clock_step(4 * MS);
	assert_reads();
	snowflake_clock_judge(&watched);
	assert_steps(2, 7 * MS, 7 * MS, 12 * MS);

	driven_clock_step(-4 * MS);
	driven_clock_step(5 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(2, 7 * MS, 7 * MS, 12 * MS);
}

static void a_step_forward_is_no_rewind(void **state)
{
	(void)state;
	driven_clock_step(3600000 * MS);
	assert_does_not_read();
	snowflake_clock_judge(&watched);
	assert_reads();
	assert_steps(0, 0, 0, 0);

	/* Back to the right time is one, though. */
	driven_clock_step(-3600000 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(1, 3600000 * MS, 3600000 * MS, 3600000 * MS);
}

static void suspend_is_no_step(void **state)
{
	(void)state;
	driven_clock_suspend(7200000 * MS);
	assert_does_not_read();
	snowflake_clock_judge(&watched);
	assert_reads();
	assert_steps(0, 0, 0, 0);
}

static void a_step_while_suspended_is_counted_alone(void **state)
{
	(void)state;
	driven_clock_suspend(7200000 * MS);
	driven_clock_step(-6 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(1, 6 * MS, 6 * MS, 6 * MS);

	/* The other way round, with a suspend judged in between. */
	driven_clock_suspend(50 * MS);
	snowflake_clock_judge(&watched);
	driven_clock_step(-1 * MS);
	driven_clock_suspend(50 * MS);
	snowflake_clock_judge(&watched);
	assert_steps(2, 1 * MS, 6 * MS, 7 * MS);
}

static void step_back_1ms(void)
{
	driven_clock_step(-1 * MS);
}

static void step_ahead_1ms(void)
{
	driven_clock_step(1 * MS);
}

static void a_read_while_the_clock_is_set_says_so(void **state)
{
	(void)state;
	driven_clock_interrupt(step_back_1ms);
	assert_does_not_read();
	snowflake_clock_judge(&watched);
	assert_reads();

	driven_clock_interrupt(step_ahead_1ms);
	assert_does_not_read();
	snowflake_clock_judge(&watched);
	assert_reads();
	assert_steps(1, 1 * MS, 1 * MS, 1 * MS);
}

static void steps_are_counted_from_init_on(void **state)
{
	(void)state;
	driven_clock_step(-2 * MS);
	driven_clock_suspend(3 * MS);
	snowflake_clock_init(&watched);
	assert_reads();
	assert_steps(0, 0, 0, 0);
}

#define JUDGES 6
#define STEPS 200

static bool judges_stop;

/* Two of them judge all the time, so that they meet for sure. */
static void *judge(void *always)
{
	struct snowflake_time now;

	while (!READ_ONCE(judges_stop))
		if (always || !snowflake_clock_read(&watched, &now))
			snowflake_clock_judge(&watched);
		else
			sched_yield();
	return NULL;
}

/* Fault 2: 200 steps back of 5 ms are 200 rewinds, however many CPUs see them. */
static void steps_that_many_threads_see_are_counted_once(void **state)
{
	pthread_t threads[JUDGES];
	struct snowflake_time now;
	int i;

	(void)state;
	WRITE_ONCE(judges_stop, false);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, judge,
						i < 2 ? &watched : NULL), 0);
	for (i = 0; i < STEPS; i++) {
		driven_clock_step(-5 * MS);
		while (!snowflake_clock_read(&watched, &now))
			sched_yield();
	}
	WRITE_ONCE(judges_stop, true);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_steps(STEPS, 5 * MS, 5 * MS, STEPS * 5 * MS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_clock_that_nobody_sets_is_read, start),
		cmocka_unit_test_setup(a_step_back_is_counted_once, start),
		cmocka_unit_test_setup(steps_back_are_counted_exactly, start),
		cmocka_unit_test_setup(asking_for_the_steps_looks_at_the_clock,
				       start),
		cmocka_unit_test_setup(steps_unseen_between_are_seen_as_their_sum,
				       start),
		cmocka_unit_test_setup(a_step_forward_is_no_rewind, start),
		cmocka_unit_test_setup(suspend_is_no_step, start),
		cmocka_unit_test_setup(a_step_while_suspended_is_counted_alone,
				       start),
		cmocka_unit_test_setup(a_read_while_the_clock_is_set_says_so,
				       start),
		cmocka_unit_test_setup(steps_are_counted_from_init_on, start),
		cmocka_unit_test_setup(steps_that_many_threads_see_are_counted_once,
				       start),
	};

	return unit_run("clock", tests);
}

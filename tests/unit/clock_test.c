// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock: which steps are counted, once each; that no time is used that was
 * read while the clock was being set; and what the policies make of steps.
 */
#include <pthread.h>
#include <sched.h>

#include "clock.h"
#include "driven_clock.h"
#include "unit.h"

#define NOON (1796066145L * 1000 * NSEC_PER_MSEC)	/* some day in 2026 */
#define MS NSEC_PER_MSEC
#define SEC (1000 * MS)
#define DAY (86400 * SEC)

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

static void assert_forward(u64 count, u64 max_ns)
{
	struct snowflake_steps steps;

	snowflake_clock_steps(&watched, &steps);
	assert_int_equal(steps.forward, count);
	assert_int_equal(steps.forward_max_ns, max_ns);
}

/* What comes of reading the clock once all steps are judged. */
static enum snowflake_reading reading(struct snowflake_time *now)
{
	enum snowflake_reading reading;

	do {
		reading = snowflake_clock_read(&watched, now);
	} while (reading == SNOWFLAKE_STEPPED);
	return reading;
}

static void assert_reading(enum snowflake_reading expected)
{
	struct snowflake_time now;

	assert_int_equal(reading(&now), expected);
}

/* The time to mint by. */
static s64 real(void)
{
	struct snowflake_time now;

	assert_int_equal(reading(&now), SNOWFLAKE_TIME);
	assert_int_equal(now.mono, driven_clock_mono());
	return now.real;
}

/* An id is minted just now. */
static s64 mint(void)
{
	struct snowflake_time now;

	assert_int_equal(reading(&now), SNOWFLAKE_TIME);
	snowflake_clock_minted(&watched, &now);
	return now.real;
}

/* Ids are this far ahead of the clock. */
static void assert_leads(s64 lead)
{
	struct snowflake_time now;

	assert_int_equal(snowflake_clock_lead(&watched), lead);
	assert_int_equal(reading(&now), SNOWFLAKE_TIME);
	assert_int_equal(now.real, driven_clock_real() + lead);
	assert_int_equal(now.slewing, lead > 0);
}

static int start_slewing(void **state)
{
	start(state);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	snowflake_clock_set_lead_limit(&watched, 10000);
	mint();
	return 0;
}

static void assert_reads(void)
{
	struct snowflake_time now;

	s64 real;

	assert_true(snowflake_clock_plain(&watched, &real));
	assert_int_equal(real, driven_clock_real());
	assert_int_equal(snowflake_clock_read(&watched, &now), SNOWFLAKE_TIME);
	assert_int_equal(now.mono, driven_clock_mono());
	assert_int_equal(now.real, driven_clock_real());
	assert_false(now.slewing);
}

static void assert_does_not_read(void)
{
	s64 real;

	assert_false(snowflake_clock_plain(&watched, &real));
}

static void assert_reads_after_judging(void)
{
	snowflake_clock_judge(&watched);
	assert_reads();
}

/* The step is met, judged, and the reader told to start over. */
static void assert_stepped(void)
{
	struct snowflake_time now;

	assert_int_equal(snowflake_clock_read(&watched, &now),
			 SNOWFLAKE_STEPPED);
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
	/* Reading alone does not judge what is plain. */
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

/*
 * Steps ahead.
 */

static void steps_ahead_are_counted_exactly(void **state)
{
	(void)state;
	assert_forward(0, 0);
	driven_clock_step(5 * MS);
	assert_stepped();
	assert_forward(1, 5 * MS);
	driven_clock_step(3600 * SEC + 1);
	assert_forward(2, 3600 * SEC + 1);
	driven_clock_step(1);
	assert_forward(3, 3600 * SEC + 1);
	/* Only the sum is seen of what comes so close together. */
	driven_clock_step(2 * DAY);
	driven_clock_step(-2 * DAY + 4);
	assert_forward(4, 3600 * SEC + 1);
	driven_clock_suspend(3 * DAY);
	assert_forward(4, 3600 * SEC + 1);
	driven_clock_suspend(3 * DAY);
	driven_clock_step(7200 * SEC);
	assert_forward(5, 7200 * SEC);
	assert_steps(0, 0, 0, 0);
}

static void ahead_is_further_than_the_limit(void **state)
{
	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	assert_reads();
	driven_clock_step(SEC);
	assert_reading(SNOWFLAKE_TIME);
	/* From what was last minted under, however small the steps are. */
	driven_clock_step(1);
	assert_reading(SNOWFLAKE_AHEAD);
	assert_does_not_read();
	driven_clock_advance(DAY);
	assert_reading(SNOWFLAKE_AHEAD);
	/* It ends by itself. */
	driven_clock_step(-1);
	assert_reading(SNOWFLAKE_TIME);
	assert_reads();
}

static void what_is_minted_under_is_what_counts(void **state)
{
	int i;

	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	for (i = 0; i < 10; i++) {
		driven_clock_step(SEC);
		mint();
	}
	driven_clock_step(SEC + 1);
	assert_reading(SNOWFLAKE_AHEAD);
	snowflake_clock_set_forward_limit(&watched, 1001);
	assert_reading(SNOWFLAKE_TIME);
	snowflake_clock_set_forward_limit(&watched, 1000);
	assert_reading(SNOWFLAKE_AHEAD);
	/* Without a limit nothing is ahead. */
	snowflake_clock_set_forward_limit(&watched, 0);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_step(400 * DAY);
	assert_reading(SNOWFLAKE_TIME);
}

static void a_jump_can_be_accepted(void **state)
{
	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_step(DAY);
	assert_reading(SNOWFLAKE_AHEAD);
	snowflake_clock_accept(&watched);
	assert_reads();
	/* The next one is another. */
	driven_clock_step(SEC);
	assert_reads_after_judging();
	driven_clock_step(1);
	assert_reading(SNOWFLAKE_AHEAD);
	snowflake_clock_accept(&watched);
	assert_reads();
}

/* A step that nobody has seen yet is accepted too: it is there. */
static void what_is_accepted_is_the_clock_of_now(void **state)
{
	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_step(DAY);
	snowflake_clock_accept(&watched);
	assert_reads();
	assert_forward(1, DAY);
}

static void before_the_first_id_no_clock_is_ahead(void **state)
{
	(void)state;
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_step(20000 * DAY);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_suspend(DAY);
	driven_clock_step(DAY);
	assert_reading(SNOWFLAKE_TIME);
	mint();
	driven_clock_step(SEC + 1);
	assert_reading(SNOWFLAKE_AHEAD);
}

static void a_step_back_and_its_correction_are_no_jump(void **state)
{
	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_step(-DAY);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_advance(3600 * SEC);
	driven_clock_step(DAY);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_step(SEC + 1);
	assert_reading(SNOWFLAKE_AHEAD);
}

static void suspend_is_no_jump(void **state)
{
	(void)state;
	mint();
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_suspend(DAY);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_step(SEC);
	assert_reading(SNOWFLAKE_TIME);
	driven_clock_step(1);
	assert_reading(SNOWFLAKE_AHEAD);
	/* It takes the reference along, too, while ahead. */
	driven_clock_suspend(DAY);
	assert_reading(SNOWFLAKE_AHEAD);
	driven_clock_step(-1);
	assert_reading(SNOWFLAKE_TIME);
}

/*
 * Slewing.
 */

static void a_step_back_is_given_back_at_one_sixteenth(void **state)
{
	static const s64 after[] = {
		0, 1, 15, 16, 17, 31, 32, 1000, MS, 16 * MS + 7, SEC, 47 * SEC,
		48 * SEC - 17, 48 * SEC - 16, 48 * SEC - 1
	};
	s64 before = real(), passed = 0;
	size_t i;

	(void)state;
	driven_clock_step(-3 * SEC);
	assert_stepped();
	for (i = 0; i < ARRAY_SIZE(after); i++) {
		driven_clock_advance(after[i] - passed);
		passed = after[i];
		assert_int_equal(real(), before + passed - passed / 16);
		assert_leads(3 * SEC - passed / 16);
	}
	/* 3 s are given back in 48 s, and that is the end of it. */
	driven_clock_advance(48 * SEC - passed);
	assert_leads(0);
	assert_reads();
	driven_clock_advance(DAY);
	assert_reads();
	assert_leads(0);
	assert_steps(1, 3 * SEC, 3 * SEC, 3 * SEC);
}

static void a_second_step_back_adds_to_the_lead(void **state)
{
	s64 before;

	(void)state;
	driven_clock_step(-3 * SEC);
	mint();
	driven_clock_advance(16 * SEC);
	assert_leads(2 * SEC);
	before = mint();
	driven_clock_step(-SEC);
	assert_int_equal(real(), before);
	assert_leads(3 * SEC);
	driven_clock_advance(16 * SEC);
	assert_leads(2 * SEC);
	driven_clock_advance(32 * SEC);
	assert_leads(0);
	assert_reads();
	assert_steps(2, SEC, 3 * SEC, 4 * SEC);
}

static void a_step_ahead_shortens_the_lead(void **state)
{
	s64 before;

	(void)state;
	driven_clock_step(-3 * SEC);
	before = mint();
	driven_clock_step(SEC);
	assert_int_equal(real(), before);
	assert_leads(2 * SEC);
	driven_clock_advance(16 * SEC);
	assert_leads(SEC);
	before = mint();
	/* More than is left: the time goes on with the clock. */
	driven_clock_step(1500 * MS);
	assert_int_equal(real(), before + 500 * MS);
	assert_leads(0);
	assert_reads_after_judging();
}

static void a_suspend_takes_the_lead_along(void **state)
{
	s64 before;

	(void)state;
	driven_clock_step(-3 * SEC);
	before = mint();
	driven_clock_suspend(DAY);
	assert_int_equal(real(), before + DAY);
	assert_leads(3 * SEC);
	driven_clock_advance(48 * SEC);
	assert_leads(0);
	assert_reads();
}

static void slewing_never_goes_back(void **state)
{
	u64 random = 42;
	s64 last = 0;
	int i;

	(void)state;
	snowflake_clock_set_lead_limit(&watched, 1000000);
	for (i = 0; i < 100000; i++) {
		switch (unit_random_below(&random, 4)) {
		case 0:
			driven_clock_step(unit_random_below(&random, 40 * MS) -
					  20 * MS);
			break;
		case 1:
			driven_clock_suspend(unit_random_below(&random, MS));
			break;
		default:
			driven_clock_advance(unit_random_below(&random, 2 * MS));
		}
		assert_true(real() >= last);
		assert_true(real() >= driven_clock_real());
		if (unit_random_below(&random, 2))
			last = mint();
	}
}

static void a_refusing_clock_goes_back(void **state)
{
	(void)state;
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	driven_clock_step(-3 * SEC);
	assert_stepped();
	assert_reads();
	assert_leads(0);
}

static void the_lead_goes_while_refusing(void **state)
{
	(void)state;
	driven_clock_step(-5 * SEC);
	mint();
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	assert_reads();
	assert_leads(0);
	/* The time of ids stands still, which is the full pace. */
	driven_clock_advance(2 * SEC);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	assert_leads(3 * SEC);
	driven_clock_advance(16 * SEC);
	assert_leads(2 * SEC);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	driven_clock_advance(2 * SEC - 1);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	assert_leads(1);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	driven_clock_advance(1);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	assert_leads(0);
	assert_reads();
}

static void a_lead_from_refusing_is_slewed(void **state)
{
	(void)state;
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	mint();
	driven_clock_step(-5 * SEC);
	driven_clock_advance(SEC);
	/* Seen only now, and only now it begins to go. */
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	assert_leads(5 * SEC);
	driven_clock_advance(16 * SEC);
	assert_leads(4 * SEC);
}

static void the_lead_has_a_limit(void **state)
{
	(void)state;
	driven_clock_step(-10 * SEC);
	assert_leads(10 * SEC);
	driven_clock_step(-1);
	assert_reading(SNOWFLAKE_LEADING);
	driven_clock_advance(15);
	assert_reading(SNOWFLAKE_LEADING);
	driven_clock_advance(1);
	assert_leads(10 * SEC);

	driven_clock_step(-SEC);
	assert_reading(SNOWFLAKE_LEADING);
	snowflake_clock_set_lead_limit(&watched, 11000);
	assert_leads(11 * SEC);
	snowflake_clock_set_lead_limit(&watched, 0);
	assert_reading(SNOWFLAKE_LEADING);
	driven_clock_advance(16 * 11 * SEC - 1);
	assert_reading(SNOWFLAKE_LEADING);
	driven_clock_advance(1);
	assert_leads(0);
	assert_reads();
}

static void slewing_can_start_at_a_later_instant(void **state)
{
	s64 later = real() + 3 * SEC;

	(void)state;
	assert_true(snowflake_clock_lead_to(&watched, later));
	assert_int_equal(real(), later);
	assert_leads(3 * SEC);
	driven_clock_advance(16 * SEC);
	assert_leads(2 * SEC);
	/* It is past already: nothing to do, and nothing is done. */
	assert_true(snowflake_clock_lead_to(&watched, later));
	assert_leads(2 * SEC);
	assert_true(snowflake_clock_lead_to(&watched, real()));
	assert_leads(2 * SEC);
}

static void a_lead_is_begun_within_its_limit_only(void **state)
{
	(void)state;
	assert_false(snowflake_clock_lead_to(&watched, real() + 10 * SEC + 1));
	assert_leads(0);
	assert_reads();
	assert_true(snowflake_clock_lead_to(&watched, real() + 10 * SEC));
	assert_leads(10 * SEC);

	/* The policy is not to lead. */
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	assert_false(snowflake_clock_lead_to(&watched, real() + 1));
	assert_false(snowflake_clock_lead_to(&watched, real()));
	assert_reads();
}

/* At 15/16 of the pace: the instant is due then, and was not shortly before. */
static void until_is_when_the_time_has_come(void **state)
{
	static const s64 gaps[] = {
		1, 2, 14, 15, 16, 29, 30, 31, 1000, MS - 1, MS, 7 * MS + 3, SEC
	};
	struct snowflake_time now;
	s64 until, target;
	size_t i;
	int phase;

	(void)state;
	now = (struct snowflake_time) { .mono = 1000, .real = 5 };
	assert_int_equal(snowflake_clock_until(&now, 33), 1033);

	driven_clock_step(-10 * SEC);
	for (phase = 0; phase < 16; phase++) {
		for (i = 0; i < ARRAY_SIZE(gaps); i++) {
			assert_int_equal(reading(&now), SNOWFLAKE_TIME);
			assert_true(now.slewing);
			target = now.real + gaps[i];
			until = snowflake_clock_until(&now, gaps[i]);
			assert_true(until > now.mono);
			if (until - 3 > now.mono) {
				driven_clock_advance(until - 3 - now.mono);
				assert_true(real() < target);
			}
			driven_clock_advance(until - driven_clock_mono());
			assert_true(real() >= target);
		}
		driven_clock_advance(1);
	}
}

static void the_floor_is_the_time_to_mint_by(void **state)
{
	(void)state;
	assert_int_equal(snowflake_clock_floor(&watched), driven_clock_real());
	driven_clock_step(-3 * SEC);
	assert_int_equal(snowflake_clock_floor(&watched),
			 driven_clock_real() + 3 * SEC);
	driven_clock_advance(16 * SEC);
	assert_int_equal(snowflake_clock_floor(&watched),
			 driven_clock_real() + 2 * SEC);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	assert_int_equal(snowflake_clock_floor(&watched), driven_clock_real());
	driven_clock_step(-DAY);
	assert_int_equal(snowflake_clock_floor(&watched), driven_clock_real());
	assert_steps(2, DAY, DAY, DAY + 3 * SEC);
}

static void a_clock_far_ahead_is_no_floor(void **state)
{
	s64 before;

	(void)state;
	snowflake_clock_set_forward_limit(&watched, 1000);
	before = mint();
	driven_clock_step(SEC);
	assert_int_equal(snowflake_clock_floor(&watched), before + SEC);
	driven_clock_step(1);
	assert_int_equal(snowflake_clock_floor(&watched), before);
	driven_clock_advance(5 * SEC);
	assert_int_equal(snowflake_clock_floor(&watched), before + 5 * SEC);
	snowflake_clock_accept(&watched);
	assert_int_equal(snowflake_clock_floor(&watched), driven_clock_real());
}

/* What nobody minted by need not be given back. */
static void a_jump_that_was_refused_leaves_no_lead(void **state)
{
	s64 before = mint();

	(void)state;
	snowflake_clock_set_forward_limit(&watched, 1000);
	driven_clock_step(DAY);
	assert_reading(SNOWFLAKE_AHEAD);
	/* Nor does it if the policy is written meanwhile. */
	snowflake_clock_set_policy(&watched, SNOWFLAKE_REFUSE);
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	assert_reading(SNOWFLAKE_AHEAD);
	driven_clock_step(-DAY);
	assert_int_equal(real(), before);
	assert_leads(0);
	/* Not even if it is off by a little, as clocks are. */
	driven_clock_step(DAY);
	assert_reading(SNOWFLAKE_AHEAD);
	driven_clock_step(-DAY - 5 * MS);
	assert_int_equal(real(), before);
	assert_leads(5 * MS);
}

/* The clock was wrong when the machine started, and is set before the first id. */
static void before_the_first_id_there_is_no_lead(void **state)
{
	(void)state;
	snowflake_clock_set_policy(&watched, SNOWFLAKE_SLEW);
	snowflake_clock_set_lead_limit(&watched, 10000);
	driven_clock_step(DAY);
	assert_stepped();
	driven_clock_step(-DAY);
	assert_leads(0);
	driven_clock_step(-DAY);
	assert_leads(0);
	assert_reads_after_judging();
}

static void to_accept_no_jump_changes_nothing(void **state)
{
	(void)state;
	snowflake_clock_set_forward_limit(&watched, 60000);
	driven_clock_step(-3 * SEC);
	mint();
	snowflake_clock_accept(&watched);
	assert_leads(3 * SEC);
	driven_clock_step(-1 * MS);
	assert_leads(3 * SEC + MS);
}

/*
 * What others do while the clock is looked at.
 */

static s64 others_minted;

static void others_mint_then_step_back(void)
{
	driven_clock_advance(32 * MS);
	others_minted = mint();
	driven_clock_step(-SEC);
}

/* The line starts where the step was, not where its judge first looked. */
static void others_mint_until_the_step(void **state)
{
	(void)state;
	others_minted = 0;
	driven_clock_interrupt(others_mint_then_step_back);
	snowflake_clock_judge(&watched);
	driven_clock_interrupt(NULL);
	/* It need not be interruptible there. */
	if (!others_minted)
		others_mint_then_step_back();
	assert_true(real() >= others_minted);
}

static bool was_set;

static void clock_is_set(void)
{
	was_set = true;
	driven_clock_step(-SEC);
}

/* Wherever in a reading the clock is set: the step is judged first. */
static void no_reading_spans_a_step(void **state)
{
	enum snowflake_reading reading;
	struct snowflake_time now;
	int at, met = 0;

	(void)state;
	driven_clock_step(-SEC);
	mint();
	for (at = 0; at < 6; at++) {
		was_set = false;
		driven_clock_interrupt_later(at, clock_is_set);
		reading = snowflake_clock_read(&watched, &now);
		driven_clock_interrupt(NULL);
		if (was_set) {
			assert_int_equal(reading, SNOWFLAKE_STEPPED);
			met++;
		} else {
			assert_int_equal(reading, SNOWFLAKE_TIME);
		}
	}
	assert_true(met);
}

#define JUDGES 6
#define STEPS 200

static bool judges_stop;

/* Two of them judge all the time, so that they meet for sure. */
static void *judge(void *always)
{
	struct snowflake_time now;

	while (!READ_ONCE(judges_stop))
		if (always)
			snowflake_clock_judge(&watched);
		else if (snowflake_clock_read(&watched, &now) == SNOWFLAKE_TIME)
			sched_yield();
	return NULL;
}

/* Fault 2: 200 steps back of 5 ms are 200 rewinds, however many CPUs see them. */
static void steps_that_many_threads_see_are_counted_once(void **state)
{
	pthread_t threads[JUDGES];
	s64 real;
	int i;

	(void)state;
	WRITE_ONCE(judges_stop, false);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, judge,
						i < 2 ? &watched : NULL), 0);
	for (i = 0; i < STEPS; i++) {
		driven_clock_step(-5 * MS);
		while (!snowflake_clock_plain(&watched, &real))
			sched_yield();
	}
	WRITE_ONCE(judges_stop, true);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_steps(STEPS, 5 * MS, 5 * MS, STEPS * 5 * MS);
}

/* The same where every reading takes the lock. */
static void steps_that_many_slew_are_counted_once(void **state)
{
	pthread_t threads[JUDGES];
	int i;

	(void)state;
	WRITE_ONCE(judges_stop, false);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, judge,
						i < 2 ? &watched : NULL), 0);
	for (i = 0; i < STEPS; i++) {
		driven_clock_step(i & 1 ? 4 * MS : -5 * MS);
		mint();
		driven_clock_advance(MS);
	}
	WRITE_ONCE(judges_stop, true);
	for (i = 0; i < JUDGES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_steps(STEPS / 2, 5 * MS, 5 * MS, STEPS / 2 * 5 * MS);
	assert_forward(STEPS / 2, 4 * MS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define fresh(test) cmocka_unit_test_setup(test, start)
#define slewing(test) cmocka_unit_test_setup(test, start_slewing)
		fresh(a_clock_that_nobody_sets_is_read),
		fresh(a_step_back_is_counted_once),
		fresh(steps_back_are_counted_exactly),
		fresh(asking_for_the_steps_looks_at_the_clock),
		fresh(steps_unseen_between_are_seen_as_their_sum),
		fresh(a_step_forward_is_no_rewind),
		fresh(suspend_is_no_step),
		fresh(a_step_while_suspended_is_counted_alone),
		fresh(a_read_while_the_clock_is_set_says_so),
		fresh(steps_are_counted_from_init_on),
		fresh(steps_that_many_threads_see_are_counted_once),
		fresh(steps_ahead_are_counted_exactly),
		fresh(ahead_is_further_than_the_limit),
		fresh(what_is_minted_under_is_what_counts),
		fresh(a_jump_can_be_accepted),
		fresh(what_is_accepted_is_the_clock_of_now),
		fresh(before_the_first_id_no_clock_is_ahead),
		fresh(a_step_back_and_its_correction_are_no_jump),
		fresh(suspend_is_no_jump),
		slewing(a_step_back_is_given_back_at_one_sixteenth),
		slewing(a_second_step_back_adds_to_the_lead),
		slewing(a_step_ahead_shortens_the_lead),
		slewing(a_suspend_takes_the_lead_along),
		slewing(slewing_never_goes_back),
		slewing(a_refusing_clock_goes_back),
		slewing(the_lead_goes_while_refusing),
		slewing(a_lead_from_refusing_is_slewed),
		slewing(the_lead_has_a_limit),
		slewing(slewing_can_start_at_a_later_instant),
		slewing(a_lead_is_begun_within_its_limit_only),
		slewing(until_is_when_the_time_has_come),
		slewing(the_floor_is_the_time_to_mint_by),
		slewing(a_clock_far_ahead_is_no_floor),
		slewing(a_jump_that_was_refused_leaves_no_lead),
		fresh(before_the_first_id_there_is_no_lead),
		slewing(to_accept_no_jump_changes_nothing),
		slewing(others_mint_until_the_step),
		slewing(no_reading_spans_a_step),
		slewing(steps_that_many_slew_are_counted_once),
#undef slewing
#undef fresh
	};

	return unit_run("clock", tests);
}

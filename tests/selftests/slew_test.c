// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Slewing from end to end: two seconds back under load, until nothing of the
 * lead is left. That takes half a minute, so it has a program of its own;
 * lead_test has the rest.
 */
#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		11
#define READERS		2
#define READ_MAX_IDS	512		/* few enough runs for a log */
#define STEP_NS		(2 * NSEC_PER_SEC)
#define GIVEN_BACK_S	32		/* 16 times the step */
#define GIVE_OR_TAKE_S	3
#define TIMEOUT_S	60
#define LOOK_NS		(20 * NSEC_PER_MSEC)
#define ROUNDING_MS	1		/* of lead_ms */
#define TICKS_LATE	2		/* a read may take */

#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

FIXTURE(slew) {
	int fd;
	struct readers *rs;
};

FIXTURE_SETUP(slew)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	self->rs = readers_new(READERS, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
}

FIXTURE_TEARDOWN(slew)
{
	EXPECT_EQ(0, reset());
}

/* One look at the lead, or at an id, with the time on both sides of it. */
struct look {
	int64_t mono, real;		/* before */
	int64_t mono_after, real_after;
	int64_t ms;
};

static struct look look_at(int fd)
{
	struct look look = { .real = realtime_ns(), .mono = monotonic_ns() };
	uint64_t id;

	if (fd < 0)
		look.ms = attr_number("lead_ms");
	else
		look.ms = read_id(fd, &id) ? -1 : id_ms(id);
	look.mono_after = monotonic_ns();
	look.real_after = realtime_ns();
	return look;
}

TEST_F_TIMEOUT(slew, two_seconds_back_under_load, TIMEOUT_S)
{
	struct stats before = stats_now(), now;
	int64_t stepping, stepped, lead_ms = ms_of(STEP_NS), last_ms, took;
	unsigned int looks = 0, prompt = 0;
	struct look look;

	ASSERT_EQ(0, readers_start(self->rs));
	look = look_at(self->fd);
	last_ms = look.ms;
	ASSERT_LT(0, last_ms);
	stepping = monotonic_ns();
	ASSERT_EQ(0, clock_step(-STEP_NS));
	stepped = monotonic_ns();

	do {
		/* The lead only falls, and by the formula. */
		look = look_at(-1);
		took = look.mono - stepped;
		ASSERT_GE(lead_ms, look.ms);
		ASSERT_LE(ms_of(lead_left(STEP_NS, look.mono_after - stepping)) -
			  ROUNDING_MS, look.ms);
		ASSERT_GE(ms_of(lead_left(STEP_NS, look.mono - stepped)) +
			  ROUNDING_MS, look.ms);
		lead_ms = look.ms;
		if (!lead_ms)
			break;

		/* So does no decoded time, which is the clock's and the lead. */
		look = look_at(self->fd);
		ASSERT_LE(last_ms, look.ms);
		last_ms = look.ms;
		ASSERT_LE(ms_of(look.real + lead_left(STEP_NS, look.mono - stepping)) -
			  ROUNDING_MS - TICKS_LATE, look.ms);
		ASSERT_GE(ms_of(look.real_after +
				lead_left(STEP_NS, look.mono_after - stepped)) +
			  ROUNDING_MS, look.ms);
		looks++;
		sleep_ns(LOOK_NS);
	} while (took < (GIVEN_BACK_S + GIVE_OR_TAKE_S) * NSEC_PER_SEC);

	EXPECT_EQ(0, lead_ms);
	EXPECT_LE((GIVEN_BACK_S - GIVE_OR_TAKE_S) * NSEC_PER_SEC, took);
	EXPECT_GE((GIVEN_BACK_S + GIVE_OR_TAKE_S) * NSEC_PER_SEC, took);
	EXPECT_LT(GIVEN_BACK_S, looks);

	/* In the end it is the wall clock's time again. */
	for (looks = 0; looks < 100; looks++) {
		look = look_at(self->fd);
		ASSERT_LE(last_ms, look.ms);
		last_ms = look.ms;
		EXPECT_GE(ms_of(look.real_after), look.ms);
		EXPECT_LE(ms_of(look.real), look.ms);
		prompt += look.ms >= ms_of(look.real_after) - TICKS_LATE;
		sleep_ns(NSEC_PER_MSEC);
	}
	EXPECT_LT(0, prompt);
	readers_stop(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, 0));
	EXPECT_STREQ("running", attr_string("state"));
	now = stats_now();
	EXPECT_EQ(before.refused, now.refused);
	EXPECT_EQ(before.rewinds + 1, now.rewinds);
	EXPECT_EQ(ms_of(STEP_NS), now.rewind_last_ms);
	EXPECT_EQ(before.rewind_total_ms + ms_of(STEP_NS), now.rewind_total_ms);
	EXPECT_EQ(before.forward_steps, now.forward_steps);
}

TEST_HARNESS_MAIN

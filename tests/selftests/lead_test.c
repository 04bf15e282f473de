// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The lead that slewing gives back: steps on top of it, its limit, and what
 * happens when policy, limit or worker id change meanwhile. slew_test sees a
 * long one through to its end.
 */
#include <poll.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		12
#define READERS		2
#define READ_MAX_IDS	64
#define LIMIT_MS	1000
#define BEYOND_MS	100
#define AT_ONCE_NS	(300 * NSEC_PER_MSEC)
#define LATE_NS		(500 * NSEC_PER_MSEC)
#define LOOK_NS		(10 * NSEC_PER_MSEC)
#define ROUNDING_MS	1		/* of lead_ms */
#define TICKS_LATE	2		/* a read may take */
#define SLOWNESS	16		/* times the lead, to give it back */

#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

/*
 * A lead as it was at some instant between @since and @until: at least @least
 * ns and at most @most. It is bounded and not known since the instant of a step
 * is not.
 */
struct lead {
	int64_t least, most;
	int64_t since, until;
};

FIXTURE(lead) {
	int fd;
	struct readers *rs;	/* threads, and what fd gave */
	struct stats before;
	struct lead lead;
	long long refused;
};

FIXTURE_SETUP(lead)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	self->rs = readers_new(READERS + 1, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	/* What the test before left behind is given back. */
	while (attr_number("lead_ms") > 0)
		sleep_ns(LOOK_NS);
	self->before = stats_now();
}

FIXTURE_TEARDOWN(lead)
{
	EXPECT_EQ(0, reset());
}

/* Threads that read meanwhile. */
static void load_begin(struct __test_metadata *_metadata, struct readers *rs)
{
	int i, err = 0;

	for (i = 0; i < READERS && !err; i++)
		err = reader_start(&rs->each[i]);
	ASSERT_EQ(0, err);
}

/* @allowed is the errno that they may have met. */
static void load_end(struct __test_metadata *_metadata, struct readers *rs,
		     int allowed)
{
	int i;

	atomic_store(&rs->stop, true);
	for (i = 0; i < READERS; i++)
		pthread_join(rs->each[i].thread, NULL);
	EXPECT_STREQ("", readers_fault(rs, allowed));
	EXPECT_LT(READERS, readers_ids(rs));
}

/* The clock is set: what it is set back by is added to what is left. */
static int lead_step(struct lead *lead, int64_t ns)
{
	int64_t stepping = monotonic_ns(), stepped;
	int err;

	err = clock_step(ns);
	stepped = monotonic_ns();
	lead->least = lead_left(lead->least, stepped - lead->since) - ns;
	lead->most = lead_left(lead->most, stepping - lead->until) - ns;
	lead->since = stepping;
	lead->until = stepped;
	return err;
}

/* lead_ms follows the formula, and so do ids: they are the clock plus that. */
static void check_lead(struct __test_metadata *_metadata,
		       const struct lead *lead, struct readers *rs, int fd)
{
	int64_t real, real_after, before, after;
	long long lead_ms, last_ms;
	uint64_t id = 0;

	before = monotonic_ns();
	lead_ms = attr_number("lead_ms");
	after = monotonic_ns();
	ASSERT_LE(ms_of(lead_left(lead->least, after - lead->since)) - ROUNDING_MS,
		  lead_ms);
	ASSERT_GE(ms_of(lead_left(lead->most, before - lead->until)) + ROUNDING_MS,
		  lead_ms);
	if (fd < 0)
		return;

	last_ms = rs->each[READERS].log.last ? id_ms(rs->each[READERS].log.last) : 0;
	real = realtime_ns();
	before = monotonic_ns();
	ASSERT_EQ(0, read_id(fd, &id));
	after = monotonic_ns();
	real_after = realtime_ns();
	log_add(&rs->each[READERS].log, &id, 1);
	ASSERT_LE(last_ms, id_ms(id));
	ASSERT_LE(ms_of(real + lead_left(lead->least, before - lead->since)) -
		  ROUNDING_MS - TICKS_LATE, id_ms(id));
	ASSERT_GE(ms_of(real_after + lead_left(lead->most, after - lead->until)) +
		  ROUNDING_MS, id_ms(id));
}

static void check_lead_for(struct __test_metadata *_metadata,
			   const struct lead *lead, struct readers *rs, int fd,
			   int64_t ns)
{
	int64_t end = monotonic_ns() + ns;

	do {
		check_lead(_metadata, lead, rs, fd);
		sleep_ns(LOOK_NS);
	} while (monotonic_ns() < end);
}

TEST_F(lead, a_second_step_while_leading)
{
	const int64_t first = 120 * NSEC_PER_MSEC, second = 80 * NSEC_PER_MSEC;
	struct stats now;

	load_begin(_metadata, self->rs);
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -first));
	check_lead_for(_metadata, &self->lead, self->rs, self->fd,
		       500 * NSEC_PER_MSEC);
	ASSERT_EQ(0, lead_step(&self->lead, -second));
	/* To its end, and some time with the clock. */
	check_lead_for(_metadata, &self->lead, self->rs, self->fd,
		       SLOWNESS * self->lead.most + 100 * NSEC_PER_MSEC);
	EXPECT_EQ(0, attr_number("lead_ms"));
	load_end(_metadata, self->rs, 0);

	now = stats_now();
	EXPECT_EQ(self->before.rewinds + 2, now.rewinds);
	EXPECT_EQ(ms_of(second), now.rewind_last_ms);
	EXPECT_EQ(self->before.rewind_total_ms + ms_of(first + second),
		  now.rewind_total_ms);
	EXPECT_EQ(self->before.refused, now.refused);
}

TEST_F(lead, a_step_ahead_while_leading)
{
	const int64_t back = 300 * NSEC_PER_MSEC;
	const int64_t ahead[] = { 100 * NSEC_PER_MSEC, 250 * NSEC_PER_MSEC };
	unsigned int i;

	load_begin(_metadata, self->rs);
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -back));
	check_lead_for(_metadata, &self->lead, self->rs, self->fd,
		       100 * NSEC_PER_MSEC);
	/* The first leaves some of the lead, the second goes beyond it. */
	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		ASSERT_EQ(0, lead_step(&self->lead, ahead[i]));
		check_lead_for(_metadata, &self->lead, self->rs, self->fd,
			       100 * NSEC_PER_MSEC);
	}
	EXPECT_EQ(0, attr_number("lead_ms"));
	load_end(_metadata, self->rs, 0);
	EXPECT_EQ(self->before.rewinds + 1, attr_number("stats/rewinds"));
	EXPECT_EQ(self->before.forward_steps + 2, attr_number("stats/forward_steps"));
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
}

/* Refused until the lead is down to the limit; then ids come on. */
TEST_F(lead, beyond_the_limit)
{
	const int64_t back = (LIMIT_MS + BEYOND_MS) * NSEC_PER_MSEC;
	const int64_t wait = SLOWNESS * BEYOND_MS * NSEC_PER_MSEC;
	int64_t begin, took;
	uint64_t id, last;
	int err;

	ASSERT_EQ(0, attr_put_number("lead_limit_ms", LIMIT_MS));
	load_begin(_metadata, self->rs);
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	last = self->rs->each[READERS].log.last;
	begin = monotonic_ns();
	ASSERT_EQ(0, lead_step(&self->lead, -back));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	self->refused++;
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_STREQ("behind", attr_string("state"));

	while ((err = read_id(self->fd, &id)) == -ECANCELED) {
		self->refused++;
		check_lead(_metadata, &self->lead, self->rs, -1);
		sleep_ns(LOOK_NS);
		ASSERT_GE(wait + LATE_NS, monotonic_ns() - begin);
	}
	took = monotonic_ns() - begin;
	EXPECT_EQ(0, err);
	log_add(&self->rs->each[READERS].log, &id, 1);
	EXPECT_LT(last, id);
	EXPECT_LE(wait - SLOWNESS * NSEC_PER_MSEC, took);
	EXPECT_GE(wait + LATE_NS, took);
	EXPECT_GE(LIMIT_MS, attr_number("lead_ms"));
	EXPECT_LE(LIMIT_MS - ms_of(LATE_NS), attr_number("lead_ms"));
	check_lead_for(_metadata, &self->lead, self->rs, self->fd,
		       50 * NSEC_PER_MSEC);
	EXPECT_STREQ("running", attr_string("state"));
	load_end(_metadata, self->rs, ECANCELED);
	EXPECT_EQ(self->before.refused + self->refused +
		  (long long)readers_failed(self->rs, ECANCELED),
		  attr_number("stats/refused"));
}

/* Each step is within the limit, both are not; and back. */
TEST_F(lead, beyond_the_limit_in_two_steps)
{
	const int64_t half = (LIMIT_MS * 6 / 10) * NSEC_PER_MSEC;
	uint64_t id;

	ASSERT_EQ(0, attr_put_number("lead_limit_ms", LIMIT_MS));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -half));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -half));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	check_lead(_metadata, &self->lead, self->rs, -1);
	ASSERT_EQ(0, lead_step(&self->lead, half));
	check_lead_for(_metadata, &self->lead, self->rs, self->fd,
		       50 * NSEC_PER_MSEC);
	EXPECT_STREQ("", readers_fault(self->rs, 0));
}

/* Raising the limit is a way on, and lowering it is none, at once. */
TEST_F(lead, the_limit_changes_while_leading)
{
	const int64_t back = (LIMIT_MS + BEYOND_MS) * NSEC_PER_MSEC;
	uint64_t id;

	ASSERT_EQ(0, attr_put_number("lead_limit_ms", LIMIT_MS));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -back));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put_number("lead_limit_ms", 2 * LIMIT_MS));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	EXPECT_STREQ("running", attr_string("state"));
	ASSERT_EQ(0, attr_put_number("lead_limit_ms", LIMIT_MS / 2));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_STREQ("behind", attr_string("state"));
	ASSERT_EQ(0, attr_put_number("lead_limit_ms", 2 * LIMIT_MS));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	EXPECT_STREQ("", readers_fault(self->rs, 0));
}

/* A poller hears of both, within the second that pollers may sleep. */
TEST_F(lead, poll_beyond_the_limit)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	int64_t begin, due;
	uint64_t id;

	ASSERT_EQ(0, attr_put_number("lead_limit_ms", LIMIT_MS));
	ASSERT_EQ(0, read_id(self->fd, &id));
	begin = monotonic_ns();
	ASSERT_EQ(0, lead_step(&self->lead, -(LIMIT_MS + BEYOND_MS / 2) *
					    NSEC_PER_MSEC));
	due = begin + SLOWNESS * BEYOND_MS / 2 * NSEC_PER_MSEC;
	ASSERT_EQ(1, poll(&pfd, 1, 2000));
	EXPECT_EQ(POLLIN | POLLERR, pfd.revents);
	/* An error is told without being asked for. */
	pfd.events = 0;
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLERR, pfd.revents);
	do {
		pfd.events = POLLIN;
		ASSERT_EQ(1, poll(&pfd, 1, 3000));
	} while (pfd.revents & POLLERR && monotonic_ns() < due + 2 * NSEC_PER_SEC);
	EXPECT_EQ(POLLIN, pfd.revents);
	EXPECT_GE(due + NSEC_PER_SEC + LATE_NS, monotonic_ns());
	EXPECT_EQ(0, read_id(self->fd, &id));
}

/*
 * With the other policy the ids of the lead are in the clock's future, which
 * is not minted from again.
 */
TEST_F(lead, to_refuse_while_leading)
{
	const int64_t back = 200 * NSEC_PER_MSEC;
	int64_t begin, gap, took;
	uint64_t id, last;
	int err;

	load_begin(_metadata, self->rs);
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -back));
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, attr_put("rewind_policy", "refuse"));
	last = self->rs->each[READERS].log.last;
	begin = monotonic_ns();
	gap = id_ms(last) * NSEC_PER_MSEC - realtime_ns();
	/* Or this machine is too slow to tell. */
	ASSERT_LT(20 * NSEC_PER_MSEC, gap);
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_STREQ("behind", attr_string("state"));
	while ((err = read_id(self->fd, &id)) == -ECANCELED) {
		sleep_ns(NSEC_PER_MSEC);
		ASSERT_GE(back + LATE_NS, monotonic_ns() - begin);
	}
	took = monotonic_ns() - begin;
	EXPECT_EQ(0, err);
	log_add(&self->rs->each[READERS].log, &id, 1);
	EXPECT_LE(gap, took);
	EXPECT_GE(back + LATE_NS, took);
	EXPECT_LE(id_ms(id), ms_of(realtime_ns()));

	/* And back: whatever is left of the lead, ids come on. */
	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	EXPECT_GE(ms_of(back), attr_number("lead_ms"));
	ASSERT_EQ(0, read_id(self->fd, &id));
	log_add(&self->rs->each[READERS].log, &id, 1);
	load_end(_metadata, self->rs, ECANCELED);
}

/* The other way it may help at once; at the latest the clock catches up. */
TEST_F(lead, to_slew_while_behind)
{
	const int64_t back = 500 * NSEC_PER_MSEC;
	int64_t begin;
	uint64_t id;
	int err;

	ASSERT_EQ(0, attr_put("rewind_policy", "refuse"));
	load_begin(_metadata, self->rs);
	ASSERT_EQ(0, read_id(self->fd, &id));
	log_add(&self->rs->each[READERS].log, &id, 1);
	begin = monotonic_ns();
	ASSERT_EQ(0, clock_step(-back));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	while ((err = read_id(self->fd, &id)) == -ECANCELED) {
		sleep_ns(NSEC_PER_MSEC);
		ASSERT_GE(back + LATE_NS, monotonic_ns() - begin);
	}
	EXPECT_EQ(0, err);
	log_add(&self->rs->each[READERS].log, &id, 1);
	sleep_ns(50 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(self->fd, &id));
	log_add(&self->rs->each[READERS].log, &id, 1);
	EXPECT_LE(id_ms(id), ms_of(realtime_ns()) + attr_number("lead_ms") +
			     ROUNDING_MS + 1);
	load_end(_metadata, self->rs, ECANCELED);
}

/* The lead belongs to the clock, not to the configuration. */
TEST_F(lead, a_worker_id_write_while_leading)
{
	const int64_t back = 400 * NSEC_PER_MSEC;
	int i;

	load_begin(_metadata, self->rs);
	check_lead(_metadata, &self->lead, self->rs, self->fd);
	ASSERT_EQ(0, lead_step(&self->lead, -back));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
		check_lead(_metadata, &self->lead, self->rs, self->fd);
	}
	load_end(_metadata, self->rs, 0);
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
}

TEST_HARNESS_MAIN

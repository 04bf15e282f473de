// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Steps far ahead: with forward_limit_ms no id comes from the wrong day, without
 * it there is a way out; and the leap second while slewing.
 *
 * Ids of another day would be in the way of all tests after, so each test has a
 * freshly loaded module.
 */
#include <poll.h>
#include <sys/timex.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		13
#define READERS		3
#define READ_MAX_IDS	64
#define LIMIT_MS	1000
#define LIMIT_NS	(LIMIT_MS * NSEC_PER_MSEC)
#define DAY_S		86400
#define DAY_NS		(DAY_S * NSEC_PER_SEC)
#define DAY_MS		(DAY_S * 1000LL)
#define HOUR_MS		3600000LL
#define RACES		50
#define RACE_NS		(3 * NSEC_PER_MSEC)	/* that the clock is wrong */
#define AT_ONCE_NS	(300 * NSEC_PER_MSEC)
#define LATE_NS		(500 * NSEC_PER_MSEC)
#define POLL_MS		1200			/* in which pollers hear of it */
#define LEAP_NS		(1500 * NSEC_PER_MSEC)	/* before midnight */

#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

FIXTURE(jump) {
	int fd;
	int nonblock;
	struct readers *rs;
	int clock_status;
	struct stats before;
	int64_t today_ms;
};

FIXTURE_VARIANT(jump) {
	const char *policy;
};

FIXTURE_VARIANT_ADD(jump, refuse) { .policy = "refuse" };
FIXTURE_VARIANT_ADD(jump, slew) { .policy = "slew" };

FIXTURE_SETUP(jump)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);
	struct timex tx = {};

	if (why)
		SKIP(return, "%s", why);
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &tx));
	self->clock_status = tx.status;
	ASSERT_EQ(0, clock_restore());
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, attr_put("rewind_policy", variant->policy));
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	self->nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, self->nonblock);
	self->rs = readers_new(READERS, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	self->before = stats_now();
	self->today_ms = ms_of(realtime_ns());
}

FIXTURE_TEARDOWN(jump)
{
	struct timex tx = { .modes = ADJ_STATUS, .status = self->clock_status };

	clock_adjtime(CLOCK_REALTIME, &tx);
	EXPECT_EQ(0, clock_restore());
	/* Also what a test left open when it failed: it pins the module. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	EXPECT_EQ(0, module_unload());
	EXPECT_EQ(0, module_load(""));
	EXPECT_EQ(0, reset());
}

static int set_limit(long long ms)
{
	return attr_put_number("forward_limit_ms", ms);
}

/* A read that gives an id of today, above the one before. */
static void mints(struct __test_metadata *_metadata, int fd, uint64_t *last)
{
	int64_t begin = monotonic_ns();
	uint64_t id = 0;

	ASSERT_EQ(0, read_id(fd, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_LT(*last, id);
	EXPECT_GE(ms_of(realtime_ns()) + attr_number("lead_ms"), id_ms(id));
	*last = id;
}

/* Blocking or not: an error, at once. */
static void refuses(struct __test_metadata *_metadata, int fd, int nonblock,
		    int error, const char *state)
{
	long long refused = attr_number("stats/refused");
	static uint64_t ids[MAX_READ_IDS];
	int64_t begin = monotonic_ns();

	EXPECT_EQ(-error, read_id(fd, ids));
	EXPECT_EQ(-error, read_id(nonblock, ids));
	EXPECT_EQ(-1, read(fd, ids, sizeof(ids)));
	EXPECT_EQ(error, errno);
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_EQ(refused + 3, attr_number("stats/refused"));
	EXPECT_STREQ(state, attr_string("state"));
}

/* No id of all that were read is from a day that is not today. */
static void today_only(struct __test_metadata *_metadata, struct readers *rs,
		       int64_t today_ms)
{
	struct reader *r;
	size_t i;

	for_each_reader(r, rs)
		for (i = 0; i < r->log.count; i++) {
			int64_t ms = id_ms(r->log.run[i].end - 1);

			ASSERT_GT(today_ms + HOUR_MS, ms);
			ASSERT_LT(today_ms - HOUR_MS, ms);
		}
}

TEST_F(jump, fault04_a_day_ahead_and_back)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct stats now;
	uint64_t last = 0;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	EXPECT_EQ(1, poll(&pfd, 1, POLL_MS));
	EXPECT_EQ(POLLIN | POLLERR, pfd.revents);
	EXPECT_EQ(id_ms(last), attr_number("last_timestamp_ms"));
	/* It does not wear off. */
	sleep_ns(100 * NSEC_PER_MSEC);
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");

	ASSERT_EQ(0, clock_step(-DAY_NS));
	mints(_metadata, self->fd, &last);
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_EQ(0, attr_number("lead_ms"));
	EXPECT_EQ(1, poll(&pfd, 1, POLL_MS));
	EXPECT_EQ(POLLIN, pfd.revents);
	mints(_metadata, self->fd, &last);

	now = stats_now();
	EXPECT_EQ(self->before.forward_steps + 1, now.forward_steps);
	EXPECT_EQ(DAY_MS, now.forward_max_ms);
	EXPECT_EQ(self->before.rewinds + 1, now.rewinds);
	EXPECT_EQ(DAY_MS, now.rewind_last_ms);
	EXPECT_EQ(self->before.refused + 6, now.refused);
}

TEST_F(jump, fault04_many_readers_race_the_step)
{
	struct reader *r;
	int i;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	for_each_reader(r, self->rs) {
		r->cpu = cpu_nth(r - self->rs->each);
		/* The path of single ids has the least time to look. */
		if (r - self->rs->each < READERS - 1)
			r->max_ids = 1;
	}
	ASSERT_EQ(0, readers_start(self->rs));
	for (i = 0; i < RACES; i++) {
		sleep_ns(RACE_NS + i % 8 * NSEC_PER_MSEC / 8);
		ASSERT_EQ(0, clock_step(DAY_NS));
		sleep_ns(RACE_NS);
		ASSERT_EQ(0, clock_step(-DAY_NS));
	}
	sleep_ns(RACE_NS);
	readers_stop(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, ERANGE));
	today_only(_metadata, self->rs, self->today_ms);
	EXPECT_LT(RACES, readers_failed(self->rs, ERANGE));
	/* They came back each time, and at the end. */
	EXPECT_LT(RACES, readers_ids(self->rs));
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_EQ(self->before.forward_steps + RACES,
		  attr_number("stats/forward_steps"));
	EXPECT_EQ(self->before.rewinds + RACES, attr_number("stats/rewinds"));
	EXPECT_EQ(self->before.refused +
		  (long long)readers_failed(self->rs, ERANGE),
		  attr_number("stats/refused"));
}

/* A reader in the middle of a long read, asleep for the next tick. */
TEST_F(jump, fault04_a_sleeper_sees_the_step)
{
	struct reader *r;
	int i;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	for_each_reader(r, self->rs)
		r->max_ids = MAX_READ_IDS;
	ASSERT_EQ(0, readers_start(self->rs));
	for (i = 0; i < RACES / 5; i++) {
		sleep_ns(2 * RACE_NS);
		ASSERT_EQ(0, clock_step(DAY_NS));
		sleep_ns(2 * RACE_NS);
		ASSERT_EQ(0, clock_step(-DAY_NS));
	}
	readers_stop(self->rs);
	EXPECT_STREQ("", readers_fault(self->rs, ERANGE));
	EXPECT_LT(0, readers_failed(self->rs, ERANGE));
	today_only(_metadata, self->rs, self->today_ms);
}

/* More than the limit, to the millisecond; steps add up until an id is made. */
TEST_F(jump, the_limit_is_exact)
{
	uint64_t last = 0;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(LIMIT_NS));
	mints(_metadata, self->fd, &last);

	ASSERT_EQ(0, clock_step(LIMIT_NS + NSEC_PER_MSEC));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, clock_step(-NSEC_PER_MSEC));
	mints(_metadata, self->fd, &last);

	ASSERT_EQ(0, clock_step(LIMIT_NS * 6 / 10));
	ASSERT_EQ(0, clock_step(LIMIT_NS * 6 / 10));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, clock_step(-LIMIT_NS * 3 / 10));
	mints(_metadata, self->fd, &last);

	ASSERT_EQ(0, clock_step(LIMIT_NS * 6 / 10));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(LIMIT_NS * 6 / 10));
	mints(_metadata, self->fd, &last);
}

TEST_F(jump, accept_jump_accepts)
{
	uint64_t last = 0, id;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	/* In advance it means nothing. */
	ASSERT_EQ(0, attr_put("accept_jump", "1"));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	EXPECT_EQ(-EINVAL, attr_put("accept_jump", "0"));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, attr_put("accept_jump", "1"));
	mints(_metadata, self->fd, &last);
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_LE(self->today_ms + DAY_MS, id_ms(last));

	/* Once for each jump. */
	ASSERT_EQ(0, clock_step(DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, clock_step(-DAY_NS));
	mints(_metadata, self->fd, &last);

	/* What was accepted counts: before it is in the past. */
	ASSERT_EQ(0, clock_step(-DAY_NS));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
}

/* So does a limit that is wide enough, or none. */
TEST_F(jump, a_wider_limit_accepts)
{
	uint64_t last = 0;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(2 * LIMIT_NS));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, set_limit(2 * LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, set_limit(LIMIT_MS));
	ASSERT_EQ(0, clock_step(DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
	ASSERT_EQ(0, set_limit(0));
	mints(_metadata, self->fd, &last);
	EXPECT_LE(self->today_ms + DAY_MS, id_ms(last));
}

/* Neither the same worker id, nor stopping, nor a range that is new. */
TEST_F(jump, a_worker_id_write_does_not_accept)
{
	static const int workers[] = { WORKER, -1, WORKER, WORKER + 1, WORKER + 1 };
	uint64_t last = 0, id;
	unsigned int i;
	int fd, nonblock;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(DAY_NS));
	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		ASSERT_EQ(0, attr_put_number("worker_id", workers[i]));
		if (workers[i] < 0) {
			refuses(_metadata, self->fd, self->nonblock, ENXIO,
				"no-worker");
			continue;
		}
		fd = device_open(0);
		ASSERT_LE(0, fd);
		nonblock = device_open(O_NONBLOCK);
		ASSERT_LE(0, nonblock);
		refuses(_metadata, fd, nonblock, ERANGE, "jumped");
		close(fd);
		close(nonblock);
	}

	/* The new range is not poisoned either. */
	ASSERT_EQ(0, clock_step(-DAY_NS));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	sleep_ns(10 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(fd, &id));
	EXPECT_EQ(WORKER + 1, id_worker(id));
	EXPECT_GE(ms_of(realtime_ns()) + attr_number("lead_ms"), id_ms(id));
	EXPECT_STREQ("running", attr_string("state"));
	/* And the old one is not. */
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	sleep_ns(10 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(fd, &id));
	EXPECT_GE(ms_of(realtime_ns()) + attr_number("lead_ms"), id_ms(id));
	EXPECT_LT(last, id);
}

/* The clock is as it was when ids were made last: nothing has jumped. */
TEST_F(jump, a_correction_is_none)
{
	uint64_t last = 0;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	mints(_metadata, self->fd, &last);
	ASSERT_EQ(0, clock_step(-DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ECANCELED, "behind");
	ASSERT_EQ(0, clock_step(DAY_NS));
	mints(_metadata, self->fd, &last);
	EXPECT_STREQ("running", attr_string("state"));
	/* Also when it overshoots, within the limit. */
	ASSERT_EQ(0, clock_step(-DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ECANCELED, "behind");
	ASSERT_EQ(0, clock_step(DAY_NS + LIMIT_NS));
	mints(_metadata, self->fd, &last);
	/* But not beyond it. */
	ASSERT_EQ(0, clock_step(-DAY_NS));
	ASSERT_EQ(0, clock_step(DAY_NS + LIMIT_NS + NSEC_PER_MSEC));
	refuses(_metadata, self->fd, self->nonblock, ERANGE, "jumped");
}

/* A host boots with a clock that is years off, and NTP sets it: no jump. */
TEST_F(jump, none_before_the_first_id)
{
	uint64_t last = 0;

	close(self->fd);
	close(self->nonblock);
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, clock_step(-1000 * DAY_NS));
	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, set_limit(LIMIT_MS));
	ASSERT_EQ(0, attr_put("rewind_policy", variant->policy));
	ASSERT_EQ(0, clock_step(1000 * DAY_NS));
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	self->nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, self->nonblock);
	mints(_metadata, self->fd, &last);
	EXPECT_LE(self->today_ms, id_ms(last));
	EXPECT_STREQ("running", attr_string("state"));
}

/* A poller that was asleep hears of the jump, and of its end. */
TEST_F(jump, a_sleeping_poller_hears_of_it)
{
	struct pollfd pfd = { .fd = self->fd };
	int64_t step = DAY_NS;
	uint64_t last = 0;
	int64_t begin;
	int i;

	ASSERT_EQ(0, set_limit(LIMIT_MS));
	for (i = 0; i < 2; i++) {
		pid_t pid;

		mints(_metadata, self->fd, &last);
		ASSERT_EQ(0, poll(&pfd, 1, 0));
		pid = fork_tied();
		ASSERT_LE(0, pid);
		if (!pid) {
			sleep_ns(50 * NSEC_PER_MSEC);
			_exit(-clock_step(step));
		}
		begin = monotonic_ns();
		ASSERT_EQ(1, poll(&pfd, 1, 3000));
		EXPECT_EQ(POLLERR, pfd.revents);
		EXPECT_GE(POLL_MS * NSEC_PER_MSEC, monotonic_ns() - begin);

		ASSERT_EQ(0, clock_step(-step));
		pfd.events = POLLIN;
		begin = monotonic_ns();
		do {
			ASSERT_EQ(1, poll(&pfd, 1, 3000));
		} while (pfd.revents & POLLERR &&
			 monotonic_ns() - begin < 3 * NSEC_PER_SEC);
		EXPECT_EQ(POLLIN, pfd.revents);
		EXPECT_GE(POLL_MS * NSEC_PER_MSEC, monotonic_ns() - begin);
		pfd.events = 0;
	}
}

/*
 * Without a limit a day is lost for the range that was used. Another one begins
 * with the clock at once; files that were open before would lose their order.
 */
TEST_F(jump, fault04_without_the_limit)
{
	uint64_t last = 0, id, others[2] = {};
	int fd, nonblock;

	mints(_metadata, self->fd, &last);
	mints(_metadata, self->nonblock, &others[0]);
	ASSERT_EQ(0, clock_step(DAY_NS));
	ASSERT_EQ(0, read_id(self->fd, &last));
	ASSERT_EQ(0, read_id(self->nonblock, &others[0]));
	EXPECT_LE(self->today_ms + DAY_MS, id_ms(last));
	ASSERT_EQ(0, clock_step(-DAY_NS));
	refuses(_metadata, self->fd, self->nonblock, ECANCELED, "behind");
	/* The same range is no way out, nor is one that overlaps it. */
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	refuses(_metadata, self->fd, self->nonblock, ECANCELED, "behind");
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("worker_count", "4"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER - 3));
	refuses(_metadata, self->fd, self->nonblock, ECANCELED, "behind");

	ASSERT_EQ(0, attr_put_number("worker_id", WORKER + 1));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, nonblock);
	sleep_ns(10 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(fd, &id));
	EXPECT_EQ(WORKER + 1, id_worker(id));
	EXPECT_GE(ms_of(realtime_ns()) + attr_number("lead_ms"), id_ms(id));
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, others));
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, others));

	/* Until they are opened again. */
	close(self->fd);
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, read_id(self->fd, &id));
	EXPECT_GT(id_ms(last), id_ms(id));
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, others));
	EXPECT_EQ(0, read_id(fd, &id));
}

/* A repeated second: refused, or given back in the 16 seconds after it. */
TEST_F(jump, fault06_a_leap_second)
{
	struct timex leap = { .modes = ADJ_STATUS, .status = STA_INS };
	bool slews = variant->policy[0] == 's';
	int64_t now, midnight, begin, offset;
	struct stats before, after;

	close(self->fd);
	close(self->nonblock);
	ASSERT_EQ(0, module_unload());
	now = realtime_ns();
	midnight = now - now % DAY_NS;
	ASSERT_EQ(0, clock_step(midnight - LEAP_NS - now));
	offset = realtime_ns() - monotonic_ns();
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &leap));
	begin = monotonic_ns();

	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, attr_put("rewind_policy", variant->policy));
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	before = stats_now();
	ASSERT_EQ(0, readers_start(self->rs));
	while (realtime_ns() - monotonic_ns() - offset > -NSEC_PER_SEC / 2) {
		ASSERT_GT(LEAP_NS + 2 * NSEC_PER_SEC, monotonic_ns() - begin) {
			TH_LOG("no leap second came");
		}
		sleep_ns(NSEC_PER_MSEC);
	}
	clock_moved(-NSEC_PER_SEC);
	if (slews) {
		EXPECT_LT(800, attr_number("lead_ms"));
		EXPECT_GE(1000, attr_number("lead_ms"));
	}
	sleep_ns((slews ? 200 : 1300) * NSEC_PER_MSEC);
	readers_stop(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, slews ? 0 : ECANCELED));
	EXPECT_LT(midnight / NSEC_PER_MSEC, id_ms(self->rs->each[0].log.last));
	after = stats_now();
	EXPECT_EQ(before.rewinds + 1, after.rewinds);
	EXPECT_EQ(1000, after.rewind_last_ms);
	EXPECT_EQ(before.rewind_total_ms + 1000, after.rewind_total_ms);
	EXPECT_EQ(before.forward_steps, after.forward_steps);
	EXPECT_EQ(slews, before.refused == after.refused);
}

TEST_HARNESS_MAIN

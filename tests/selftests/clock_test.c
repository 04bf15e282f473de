// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What happens when somebody sets the clock. Steps are exact (ADJ_SETOFFSET),
 * so the counters have to be, too.
 */
#include <poll.h>
#include <sys/timex.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		8
#define READERS		2
#define READ_MAX_IDS	64
#define AT_ONCE_NS	(100 * NSEC_PER_MSEC)
#define LATE_NS		(500 * NSEC_PER_MSEC)	/* for a wake-up to be noticed */
#define SMALL_STEPS	200
#define SMALL_STEP_NS	(5 * NSEC_PER_MSEC)
#define RETURNS		20			/* fault 1 */
#define HOURS_NS	(3600 * NSEC_PER_SEC)
#define DAY_S		86400
#define LEAP_NS		(2500 * NSEC_PER_MSEC)	/* before midnight */
#define END_NS		(1500 * NSEC_PER_MSEC)	/* before the last tick's end */

/* The real-time offset moves by the step exactly: no rounding to allow for. */
#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

FIXTURE(clock) {
	int fd;
	int nonblock;
	struct readers *rs;
	struct stats before;
};

FIXTURE_SETUP(clock)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
	self->rs = readers_new(READERS, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	self->before = stats_now();
}

FIXTURE_TEARDOWN(clock)
{
	EXPECT_EQ(0, reset());
}

/* Counters after steps back of @last, ..., @sum ns in all. */
static void check_rewinds(struct __test_metadata *_metadata,
			  const struct stats *before, long long count,
			  int64_t last, int64_t max, int64_t sum)
{
	struct stats now = stats_now();
	long long max_ms = ms_of(max);

	if (max_ms < before->rewind_max_ms)
		max_ms = before->rewind_max_ms;
	EXPECT_EQ(before->rewinds + count, now.rewinds);
	EXPECT_EQ(ms_of(last), now.rewind_last_ms);
	EXPECT_EQ(max_ms, now.rewind_max_ms);
	EXPECT_EQ(before->rewind_total_ms + ms_of(sum), now.rewind_total_ms);
}

/* Reads as the tests of a small step must not fail for want of patience. */
static int wait_long(void)
{
	return attr_put("rewind_wait_ms", "1000");
}

TEST_F(clock, three_seconds_back)
{
	const int64_t step = 3 * NSEC_PER_SEC;
	uint64_t before, id = 0;
	long long refused = 0;
	int64_t begin, took;
	int err;

	ASSERT_EQ(0, read_id(self->fd, &before));
	ASSERT_EQ(0, clock_step(-step));

	begin = monotonic_ns();
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, &id));
	refused += 2;
	EXPECT_STREQ("behind", attr_string("state"));
	EXPECT_EQ(self->before.rewinds + 1, attr_number("stats/rewinds"));
	EXPECT_LE(2995, attr_number("stats/rewind_last_ms"));
	EXPECT_GE(3005, attr_number("stats/rewind_last_ms"));
	check_rewinds(_metadata, &self->before, 1, step, step, step);
	EXPECT_EQ(id_ms(before), attr_number("last_timestamp_ms"));

	/* Reads resume when the clock has caught up, not sooner. */
	while ((err = read_id(self->fd, &id)) == -ECANCELED) {
		refused++;
		sleep_ns(5 * NSEC_PER_MSEC);
		ASSERT_GE(step + 5 * NSEC_PER_SEC, monotonic_ns() - begin);
	}
	took = monotonic_ns() - begin;
	EXPECT_EQ(0, err);
	EXPECT_LE(step - LATE_NS, took);
	EXPECT_GE(step + LATE_NS, took);
	EXPECT_LT(before, id);
	EXPECT_GE(realtime_ns() / NSEC_PER_MSEC, id_ms(id));
	EXPECT_STREQ("running", attr_string("state"));
	check_rewinds(_metadata, &self->before, 1, step, step, step);
	EXPECT_EQ(self->before.refused + refused, attr_number("stats/refused"));
}

/*
 * The clock passes a tick a second time that numbers were handed out from,
 * with blocks of it left on the CPUs.
 */
TEST_F(clock, fault01_step_back_and_return)
{
	const int64_t back = NSEC_PER_SEC, short_of = 2 * NSEC_PER_MSEC;
	struct readers *rs = self->rs;
	uint64_t before, id;
	int64_t ahead;
	int i, err;

	ASSERT_EQ(0, readers_start(rs));
	for (i = 0; i < RETURNS; i++) {
		/* Of the file that goes on: others may have a lower block. */
		do {
			err = read_id(self->nonblock, &before);
		} while (err == -EAGAIN);
		ASSERT_EQ(0, err);
		ASSERT_EQ(0, clock_step(-back));
		EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
		ahead = id_ms(before) * NSEC_PER_MSEC - short_of - realtime_ns();
		ASSERT_LT(0, ahead);
		ASSERT_EQ(0, clock_step(ahead));
		do {
			err = read_id(self->nonblock, &id);
		} while (err == -ECANCELED || err == -EAGAIN);
		ASSERT_EQ(0, err);
		EXPECT_LT(before, id);
		ASSERT_EQ(0, clock_step(back - ahead));
		sleep_ns(i % 4 * NSEC_PER_MSEC);
	}
	readers_stop(rs);

	EXPECT_STREQ("", readers_fault(rs, ECANCELED));
	EXPECT_LT(RETURNS, readers_ids(rs));
	check_rewinds(_metadata, &self->before, RETURNS, back, back, RETURNS * back);
}

TEST_F(clock, fault02_200_steps_of_5ms)
{
	struct readers *rs = self->rs;
	uint64_t before, id;
	int i;

	ASSERT_EQ(0, wait_long());
	ASSERT_EQ(0, readers_start(rs));
	for (i = 0; i < SMALL_STEPS; i++) {
		ASSERT_EQ(0, read_id(self->fd, &before));
		ASSERT_EQ(0, clock_step(-SMALL_STEP_NS));
		/* Looks at the step, and waits it out. */
		ASSERT_EQ(0, read_id(self->fd, &id));
		ASSERT_LT(before, id);
		ASSERT_LE(id_ms(id), realtime_ns() / NSEC_PER_MSEC);
	}
	readers_stop(rs);

	EXPECT_STREQ("", readers_fault(rs, 0));
	EXPECT_LT(SMALL_STEPS, readers_ids(rs));
	check_rewinds(_metadata, &self->before, SMALL_STEPS, SMALL_STEP_NS,
		      SMALL_STEP_NS, SMALL_STEPS * SMALL_STEP_NS);
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
}

TEST_F(clock, fault03_8_hours_back)
{
	const int64_t step = 8 * HOURS_NS;
	static uint64_t ids[MAX_READ_IDS];
	uint64_t before, id;
	int64_t begin;

	ASSERT_EQ(0, read_id(self->fd, &before));
	ASSERT_EQ(0, clock_step(-step));

	begin = monotonic_ns();
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);

	begin = monotonic_ns();
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);

	begin = monotonic_ns();
	EXPECT_EQ(-1, read(self->fd, ids, sizeof(ids)));
	EXPECT_EQ(ECANCELED, errno);
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);

	/* Too far for any patience that is shorter. */
	ASSERT_EQ(0, wait_long());
	begin = monotonic_ns();
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);

	EXPECT_STREQ("behind", attr_string("state"));
	check_rewinds(_metadata, &self->before, 1, step, step, step);

	ASSERT_EQ(0, clock_step(step));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_LT(before, id);
	EXPECT_STREQ("running", attr_string("state"));
	check_rewinds(_metadata, &self->before, 1, step, step, step);
}

TEST_F(clock, fault03_a_signal_interrupts_any_wait)
{
	struct stats before;
	int64_t begin, took;
	uint64_t id;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "10000"));
	ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, clock_step(-5 * NSEC_PER_SEC));
	before = stats_now();

	begin = monotonic_ns();
	interrupt_every(200);
	EXPECT_EQ(-EINTR, read_id(self->fd, &id));
	interrupt_every(0);
	took = monotonic_ns() - begin;
	EXPECT_LE(100 * NSEC_PER_MSEC, took);
	EXPECT_GE(200 * NSEC_PER_MSEC + LATE_NS, took);
	EXPECT_EQ(before.refused, attr_number("stats/refused"));
}

/* A killed reader does not wait either. */
TEST_F(clock, fault03_a_waiting_reader_can_be_killed)
{
	int64_t begin;
	uint64_t id;
	int status;
	pid_t pid;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "10000"));
	ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, clock_step(-5 * NSEC_PER_SEC));
	pid = fork_tied();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-read_id(self->fd, &id));
	sleep_ns(200 * NSEC_PER_MSEC);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	begin = monotonic_ns();
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_GE(LATE_NS, monotonic_ns() - begin);
}

/* Counted when they happen, though nobody reads between them or after. */
TEST_F(clock, fault05_steps_are_counted_unseen)
{
	static const int64_t steps[] = {
		-70 * NSEC_PER_MSEC, 30 * NSEC_PER_MSEC, -500 * NSEC_PER_MSEC,
		560 * NSEC_PER_MSEC, -20 * NSEC_PER_MSEC,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ASSERT_EQ(0, clock_step(steps[i]));
		sleep_ns(20 * NSEC_PER_MSEC);
	}
	check_rewinds(_metadata, &self->before, 3, 20 * NSEC_PER_MSEC,
		      500 * NSEC_PER_MSEC, 590 * NSEC_PER_MSEC);
}

/* Each step right after the one before, each looked at by one read. */
TEST_F(clock, fault05_steps_are_counted_by_readers)
{
	static const int ms[] = { 15, 1, 400, 33, 2 };
	int64_t last = 0, sum = 0;
	unsigned int i;
	uint64_t id;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		last = ms[i] * NSEC_PER_MSEC;
		sum += last;
		ASSERT_EQ(0, clock_step(-last));
		read_id(self->nonblock, &id);
	}
	check_rewinds(_metadata, &self->before, ARRAY_SIZE(ms), last,
		      400 * NSEC_PER_MSEC, sum);
}

TEST_F(clock, a_step_ahead_is_no_rewind)
{
	uint64_t before, id;
	int64_t now;

	ASSERT_EQ(0, read_id(self->fd, &before));
	ASSERT_EQ(0, clock_step(300 * NSEC_PER_MSEC));
	now = realtime_ns() / NSEC_PER_MSEC;
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_LE(now, id_ms(id));
	EXPECT_LE(300, id_ms(id) - id_ms(before));
	EXPECT_EQ(self->before.rewinds, attr_number("stats/rewinds"));
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
}

/* NTP slews the clock without setting it: no step of any kind. */
TEST_F(clock, slewing_is_no_step)
{
	struct timex tx = { .modes = ADJ_FREQUENCY, .freq = -(500 << 16) };
	struct timex zero = { .modes = ADJ_FREQUENCY };

	ASSERT_EQ(0, readers_start(self->rs));
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &tx));
	sleep_ns(300 * NSEC_PER_MSEC);
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &zero));
	readers_stop(self->rs);
	EXPECT_STREQ("", readers_fault(self->rs, 0));
	EXPECT_EQ(self->before.rewinds, attr_number("stats/rewinds"));
}

TEST_F(clock, fault06_one_second_back_under_load)
{
	const int64_t step = NSEC_PER_SEC;
	uint64_t before, id;

	ASSERT_EQ(0, readers_start(self->rs));
	sleep_ns(50 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(self->fd, &before));
	ASSERT_EQ(0, clock_step(-step));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	sleep_ns(step + 100 * NSEC_PER_MSEC);
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_LT(before, id);
	readers_stop(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, ECANCELED));
	/* All of them were refused, and all came back. */
	EXPECT_LE(READERS, readers_failed(self->rs, ECANCELED));
	EXPECT_LT(id_tick(before), id_tick(self->rs->each[0].log.last));
	EXPECT_LT(id_tick(before), id_tick(self->rs->each[1].log.last));
	check_rewinds(_metadata, &self->before, 1, step, step, step);
}

/* A gap of at most rewind_wait_ms, 10 unless it is set, is waited out. */
TEST_F(clock, a_small_step_is_waited_out)
{
	int64_t begin, gap;
	uint64_t before, id;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, read_id(self->fd, &before));
		ASSERT_EQ(0, clock_step(-SMALL_STEP_NS));
		begin = monotonic_ns();
		/* Until the tick that was last handed out from. */
		gap = id_ms(before) * NSEC_PER_MSEC - realtime_ns();
		ASSERT_EQ(0, read_id(self->fd, &id));
		EXPECT_LE(gap, monotonic_ns() - begin);
		EXPECT_GE(LATE_NS, monotonic_ns() - begin);
		EXPECT_LT(before, id);
		EXPECT_LE(id_ms(id), realtime_ns() / NSEC_PER_MSEC);
	}
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
	EXPECT_EQ(self->before.rewinds + 20, attr_number("stats/rewinds"));
}

/* A long read that is caught by a small step midway loses nothing. */
TEST_F(clock, a_small_step_within_a_long_read)
{
	int i;

	self->rs->each[0].max_ids = MAX_READ_IDS;
	self->rs->each[1].max_ids = MAX_READ_IDS;
	ASSERT_EQ(0, wait_long());
	ASSERT_EQ(0, readers_start(self->rs));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, clock_step(-SMALL_STEP_NS));
		sleep_ns(2 * SMALL_STEP_NS);
	}
	readers_stop(self->rs);
	EXPECT_STREQ("", readers_fault(self->rs, 0));
	check_rewinds(_metadata, &self->before, 50, SMALL_STEP_NS, SMALL_STEP_NS,
		      50 * SMALL_STEP_NS);
}

TEST_F(clock, rewind_wait_0_fails_at_once)
{
	uint64_t before, id;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "0"));
	ASSERT_EQ(0, read_id(self->fd, &before));
	/* Far enough for a slow machine to be still behind when it reads. */
	ASSERT_EQ(0, clock_step(-50 * NSEC_PER_MSEC));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_GT(id_ms(before), realtime_ns() / NSEC_PER_MSEC) {
		TH_LOG("too slow to tell");
	}
	EXPECT_EQ(self->before.refused + 1, attr_number("stats/refused"));
	sleep_ns(60 * NSEC_PER_MSEC);
	EXPECT_EQ(0, read_id(self->fd, &id));
	EXPECT_LT(before, id);
}

/*
 * A read has one deadline. The clock is held some 20 ms behind the last id by
 * steps that keep coming; a reader that began to wait anew at each, with its
 * patience of 50 ms, would wait as long as they do.
 */
#define HELD_BACK_NS	(20 * NSEC_PER_MSEC)
#define HELD_FOR_NS	(1500 * NSEC_PER_MSEC)

struct holder {
	pthread_t thread;
	atomic_bool stop;
	int64_t time;		/* what the clock is set to, again and again */
	int error;
};

static void *hold_clock(void *arg)
{
	struct holder *holder = arg;

	while (!atomic_load(&holder->stop) && !holder->error) {
		holder->error = clock_step(holder->time - realtime_ns());
		sleep_ns(5 * NSEC_PER_MSEC);
	}
	return NULL;
}

TEST_F(clock, one_deadline_per_read)
{
	struct holder holder = {};
	unsigned int canceled = 0;
	int64_t begin, took;
	uint64_t id;
	int i, err;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "50"));
	ASSERT_EQ(0, read_id(self->fd, &id));
	holder.time = id_ms(id) * NSEC_PER_MSEC - HELD_BACK_NS;
	ASSERT_EQ(0, clock_step(holder.time - realtime_ns()));
	begin = monotonic_ns();
	ASSERT_EQ(0, pthread_create(&holder.thread, NULL, hold_clock, &holder));
	for (i = 0; i < 5; i++) {
		took = monotonic_ns();
		err = read_id(self->fd, &id);
		took = monotonic_ns() - took;
		/* A holder that was held up lets a read through: not a fault. */
		if (!err)
			break;
		EXPECT_EQ(-ECANCELED, err);
		EXPECT_LE(HELD_BACK_NS / 2, took);
		EXPECT_GE(HELD_FOR_NS / 3, took);
		canceled++;
	}
	EXPECT_GT(HELD_FOR_NS, monotonic_ns() - begin);
	atomic_store(&holder.stop, true);
	pthread_join(holder.thread, NULL);
	EXPECT_EQ(0, holder.error);
	EXPECT_LT(0, canceled);
}

/* A poller hears of it: reading would fail. And hears when it is over. */
TEST_F(clock, poll_while_behind)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	uint64_t before, id;
	int64_t begin;

	ASSERT_EQ(0, read_id(self->fd, &before));
	ASSERT_EQ(0, clock_step(-300 * NSEC_PER_MSEC));
	ASSERT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(POLLIN | POLLERR, pfd.revents);

	begin = monotonic_ns();
	do {
		ASSERT_EQ(1, poll(&pfd, 1, 2000));
	} while (pfd.revents & POLLERR && monotonic_ns() - begin < 2 * NSEC_PER_SEC);
	EXPECT_EQ(POLLIN, pfd.revents);
	EXPECT_EQ(0, read_id(self->nonblock, &id));
	EXPECT_LT(before, id);
}

/* Writing the worker id again does not forget what was handed out. */
TEST_F(clock, a_worker_id_write_keeps_the_floor)
{
	uint64_t before, id;
	int i, err;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, read_id(self->fd, &before));
		ASSERT_EQ(0, clock_step(-300 * NSEC_PER_MSEC));
		if (i & 1) {
			ASSERT_EQ(0, attr_put("worker_id", "-1"));
		}
		ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
		EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
		EXPECT_STREQ("behind", attr_string("state"));
		while ((err = read_id(self->nonblock, &id)) == -ECANCELED ||
		       err == -EAGAIN)
			sleep_ns(NSEC_PER_MSEC);
		ASSERT_EQ(0, err);
		EXPECT_LT(id_tick(before), id_tick(id));
		EXPECT_GE(realtime_ns() / NSEC_PER_MSEC, id_ms(id));
	}
}

/*
 * Tests that need a module that has handed out nothing: they take the clock
 * far from where it is. After them the module is loaded afresh.
 */
FIXTURE(fresh) {
	struct readers *rs;
	int clock_status;
};

FIXTURE_SETUP(fresh)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);
	struct timex tx = {};

	if (why)
		SKIP(return, "%s", why);
	self->rs = readers_new(READERS, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &tx));
	self->clock_status = tx.status;
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, module_unload());
}

FIXTURE_TEARDOWN(fresh)
{
	struct timex tx = { .modes = ADJ_STATUS, .status = self->clock_status };

	close_all();
	clock_adjtime(CLOCK_REALTIME, &tx);
	EXPECT_EQ(0, module_unload());
	EXPECT_EQ(0, clock_restore());
	EXPECT_EQ(0, module_load(""));
	EXPECT_EQ(0, reset());
}

/* The kernel's own way to repeat a second: 23:59:59 comes twice. */
TEST_F(fresh, fault06_a_leap_second)
{
	struct timex leap = { .modes = ADJ_STATUS, .status = STA_INS };
	int64_t now, midnight, begin, offset;
	struct stats before;
	uint64_t id;
	int fd;

	now = realtime_ns();
	midnight = now - now % (DAY_S * NSEC_PER_SEC);
	ASSERT_EQ(0, clock_step(midnight - LEAP_NS - now));
	offset = realtime_ns() - monotonic_ns();
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &leap));
	begin = monotonic_ns();

	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, start(WORKER));
	before = stats_now();
	ASSERT_EQ(0, readers_start(self->rs));
	while (realtime_ns() - monotonic_ns() - offset > -NSEC_PER_SEC / 2) {
		ASSERT_GT(LEAP_NS + 2 * NSEC_PER_SEC, monotonic_ns() - begin) {
			TH_LOG("no leap second came");
		}
		sleep_ns(NSEC_PER_MSEC);
	}
	clock_moved(-NSEC_PER_SEC);
	sleep_ns(1300 * NSEC_PER_MSEC);
	readers_stop(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, ECANCELED));
	EXPECT_LT(0, readers_failed(self->rs, ECANCELED));
	check_rewinds(_metadata, &before, 1, NSEC_PER_SEC, NSEC_PER_SEC, NSEC_PER_SEC);
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read_id(fd, &id));
	EXPECT_LT(midnight / NSEC_PER_MSEC, id_ms(id));
}

/* The timestamp field ends: EOVERFLOW, and never an id below zero. */
TEST_F(fresh, fault20_the_end_of_the_timestamp_field)
{
	const int64_t end = (ENDS_MS + 1) * NSEC_PER_MSEC;
	static uint64_t ids[MAX_READ_IDS];
	struct stats before;
	struct pollfd pfd;
	struct reader *r;
	int64_t begin;
	int fd;

	ASSERT_EQ(0, clock_step(end - END_NS - realtime_ns()));
	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, start(WORKER));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	self->rs->each[0].max_ids = MAX_READ_IDS;
	for_each_reader(r, self->rs)
		r->target = UINT64_MAX;		/* to its first failure */
	begin = monotonic_ns();
	ASSERT_EQ(0, readers_start(self->rs));
	readers_wait(self->rs);
	EXPECT_GE(END_NS + LATE_NS, monotonic_ns() - begin);
	EXPECT_LE(end - LATE_NS, realtime_ns());

	EXPECT_STREQ("", readers_fault(self->rs, EOVERFLOW));
	EXPECT_EQ(READERS, readers_failed(self->rs, EOVERFLOW));
	for_each_reader(r, self->rs) {
		EXPECT_GE(ENDS_MS, id_ms(r->log.last));
		/* It was used to the end. */
		EXPECT_LE(ENDS_MS - ms_of(LATE_NS), id_ms(r->log.last));
	}

	before = stats_now();
	EXPECT_EQ(-EOVERFLOW, read_id(fd, ids));
	EXPECT_EQ(-1, read(fd, ids, sizeof(ids)));
	EXPECT_EQ(EOVERFLOW, errno);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EOVERFLOW, read_id(fd, ids));
	EXPECT_EQ(before.refused + 3, attr_number("stats/refused"));
	EXPECT_STREQ("ended", attr_string("state"));
	pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	EXPECT_EQ(POLLIN | POLLERR, pfd.revents);

	/* No way back in by a change of the worker either. */
	attr_put_number("worker_id", WORKER + 1);
	EXPECT_EQ(-EOVERFLOW, read_id(fd, ids));

	/* Decades later the shifted timestamp would look young again. */
	ASSERT_EQ(0, clock_step(80LL * 365 * DAY_S * NSEC_PER_SEC));
	EXPECT_EQ(-EOVERFLOW, read_id(fd, ids));
	attr_put_number("worker_id", WORKER + 2);
	EXPECT_EQ(-EOVERFLOW, read_id(fd, ids));
}

/* Before the epoch there is nothing to hand out either. */
TEST_F(fresh, before_the_epoch)
{
	uint64_t id;
	int fd;

	ASSERT_EQ(0, clock_step((EPOCH_MS - 60000) * NSEC_PER_MSEC - realtime_ns()));
	ASSERT_EQ(0, module_load(""));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	/* Whether the worker id is taken is open: that nothing is minted is not. */
	if (!attr_put_number("worker_id", WORKER)) {
		EXPECT_EQ(-ECANCELED, read_id(fd, &id));
	} else {
		EXPECT_EQ(-ENXIO, read_id(fd, &id));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock policies: what they make of a step, as a table of policy x step x
 * reader with one test for each cell; what counts as a step; the attributes.
 * lead_test and slew_test look closer at slewing, jump_test at steps ahead.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		10
#define READ_MAX_IDS	64
#define TRIES		20
#define AT_ONCE_NS	(300 * NSEC_PER_MSEC)
#define LATE_NS		(800 * NSEC_PER_MSEC)	/* for a wake-up to be noticed */
#define PATIENCE_MS	1000			/* beyond the step */
#define PATIENCE_MAX_MS	3600000			/* of rewind_wait_ms */
#define LONG_TICKS	40			/* of a read that takes a while */
#define LONG_IDS	(LONG_TICKS * IDS_PER_TICK)
#define UNSEEN_NS	(20 * NSEC_PER_MSEC)	/* between steps that nobody sees */

#define REFUSE		"refuse"
#define SLEW		"slew"

#define STEP_5MS	(5 * NSEC_PER_MSEC)
#define STEP_1S		(1 * NSEC_PER_SEC)
#define STEP_3S		(3 * NSEC_PER_SEC)
#define STEP_8H		(8 * 3600 * NSEC_PER_SEC)

/* Steps are exact: no rounding to allow for. */
#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

/* Who meets the step. */
enum who {
	BLOCKING,		/* reads after it */
	NONBLOCKING,		/* the same, with O_NONBLOCK */
	ASLEEP,			/* sleeps for the next tick when it happens */
	USED_UP,		/* reads after it, and the tick had been used up */
	SIGNALLED,		/* gets a signal while it sleeps after it */
};

/* What becomes of the read. */
enum outcome {
	WAITS,			/* sleeps until the clock has caught up */
	MINTS,			/* goes on at once */
	REFUSED,		/* ECANCELED at once */
	INTERRUPTED,		/* EINTR, or what it has so far */
};

/* A thread that makes one read, for others to look at. */
struct lone {
	pthread_t thread;
	atomic_int tid;
	atomic_bool go;
	atomic_bool done;
	int fd;
	ssize_t got;		/* bytes, or the negative errno */
	int64_t ended;
	uint64_t *ids;
	size_t count;
};

struct cell {
	const char *policy;
	int64_t step;
	enum who who;
	enum outcome outcome;
};

/* One test of the table. */
struct meeting {
	struct cell cell;
	int fd;
	int nonblock;
	struct readers *rs;	/* a thread; what fd gave; what nonblock gave */
	struct stats before;
	uint64_t last;
	unsigned int steps;
	unsigned int refused;
};

FIXTURE(cell) {
	struct meeting meeting;
};

FIXTURE_VARIANT(cell) {
	struct cell is;
};

/* A gap of up to rewind_wait_ms, 10 by default, is worth a wait. */
FIXTURE_VARIANT_ADD(cell, refuse_5ms_blocking) { { REFUSE, STEP_5MS, BLOCKING, WAITS } };
FIXTURE_VARIANT_ADD(cell, refuse_5ms_nonblocking) { { REFUSE, STEP_5MS, NONBLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_5ms_asleep) { { REFUSE, STEP_5MS, ASLEEP, WAITS } };
FIXTURE_VARIANT_ADD(cell, refuse_5ms_used_up) { { REFUSE, STEP_5MS, USED_UP, WAITS } };
FIXTURE_VARIANT_ADD(cell, refuse_5ms_signalled) { { REFUSE, STEP_5MS, SIGNALLED, INTERRUPTED } };

FIXTURE_VARIANT_ADD(cell, refuse_1s_blocking) { { REFUSE, STEP_1S, BLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_1s_nonblocking) { { REFUSE, STEP_1S, NONBLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_1s_asleep) { { REFUSE, STEP_1S, ASLEEP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_1s_used_up) { { REFUSE, STEP_1S, USED_UP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_1s_signalled) { { REFUSE, STEP_1S, SIGNALLED, INTERRUPTED } };

FIXTURE_VARIANT_ADD(cell, refuse_3s_blocking) { { REFUSE, STEP_3S, BLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_3s_nonblocking) { { REFUSE, STEP_3S, NONBLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_3s_asleep) { { REFUSE, STEP_3S, ASLEEP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_3s_used_up) { { REFUSE, STEP_3S, USED_UP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_3s_signalled) { { REFUSE, STEP_3S, SIGNALLED, INTERRUPTED } };

/* No patience is that long: there is no wait to interrupt either. */
FIXTURE_VARIANT_ADD(cell, refuse_8h_blocking) { { REFUSE, STEP_8H, BLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_8h_nonblocking) { { REFUSE, STEP_8H, NONBLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_8h_asleep) { { REFUSE, STEP_8H, ASLEEP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_8h_used_up) { { REFUSE, STEP_8H, USED_UP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, refuse_8h_signalled) { { REFUSE, STEP_8H, SIGNALLED, REFUSED } };

FIXTURE_VARIANT_ADD(cell, slew_5ms_blocking) { { SLEW, STEP_5MS, BLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_5ms_nonblocking) { { SLEW, STEP_5MS, NONBLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_5ms_asleep) { { SLEW, STEP_5MS, ASLEEP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_5ms_used_up) { { SLEW, STEP_5MS, USED_UP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_5ms_signalled) { { SLEW, STEP_5MS, SIGNALLED, INTERRUPTED } };

FIXTURE_VARIANT_ADD(cell, slew_1s_blocking) { { SLEW, STEP_1S, BLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_1s_nonblocking) { { SLEW, STEP_1S, NONBLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_1s_asleep) { { SLEW, STEP_1S, ASLEEP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_1s_used_up) { { SLEW, STEP_1S, USED_UP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_1s_signalled) { { SLEW, STEP_1S, SIGNALLED, INTERRUPTED } };

FIXTURE_VARIANT_ADD(cell, slew_3s_blocking) { { SLEW, STEP_3S, BLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_3s_nonblocking) { { SLEW, STEP_3S, NONBLOCKING, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_3s_asleep) { { SLEW, STEP_3S, ASLEEP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_3s_used_up) { { SLEW, STEP_3S, USED_UP, MINTS } };
FIXTURE_VARIANT_ADD(cell, slew_3s_signalled) { { SLEW, STEP_3S, SIGNALLED, INTERRUPTED } };

/* Beyond lead_limit_ms. */
FIXTURE_VARIANT_ADD(cell, slew_8h_blocking) { { SLEW, STEP_8H, BLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, slew_8h_nonblocking) { { SLEW, STEP_8H, NONBLOCKING, REFUSED } };
FIXTURE_VARIANT_ADD(cell, slew_8h_asleep) { { SLEW, STEP_8H, ASLEEP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, slew_8h_used_up) { { SLEW, STEP_8H, USED_UP, REFUSED } };
FIXTURE_VARIANT_ADD(cell, slew_8h_signalled) { { SLEW, STEP_8H, SIGNALLED, REFUSED } };

FIXTURE_SETUP(cell)
{
	struct meeting *m = &self->meeting;
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put("rewind_policy", variant->is.policy));
	ASSERT_EQ(0, start(WORKER));
	m->cell = variant->is;
	m->fd = device_open(0);
	ASSERT_LE(0, m->fd);
	m->nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, m->nonblock);
	m->rs = readers_new(3, READ_MAX_IDS);
	ASSERT_NE(NULL, m->rs);
}

FIXTURE_TEARDOWN(cell)
{
	EXPECT_EQ(0, reset());
}

static void *lone_read(void *arg)
{
	struct lone *lone = arg;

	atomic_store(&lone->tid, gettid());
	while (!atomic_load(&lone->go))
		;
	lone->got = read(lone->fd, lone->ids, lone->count * ID_SIZE);
	if (lone->got < 0)
		lone->got = -errno;
	lone->ended = monotonic_ns();
	atomic_store(&lone->done, true);
	return NULL;
}

static int lone_start(struct lone *lone, int fd)
{
	static uint64_t ids[LONG_IDS];
	int err;

	*lone = (struct lone){ .fd = fd, .ids = ids, .count = LONG_IDS };
	err = -pthread_create(&lone->thread, NULL, lone_read, lone);
	while (!err && !atomic_load(&lone->tid))
		sched_yield();
	return err;
}

/* Until it sleeps, or has ended. */
static void lone_wait_asleep(struct lone *lone)
{
	char path[64], text[256], *end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", lone->tid);
	while (!atomic_load(&lone->done)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (got <= 0)
			return;
		text[got] = '\0';
		/* The name of the command stands before it, in brackets. */
		end = strrchr(text, ')');
		if (end && end[1] && end[2] == 'S')
			return;
	}
}

static void on_signal(int signal)
{
	(void)signal;
}

static int step_back(struct meeting *self)
{
	self->steps++;
	return clock_step(-self->cell.step);
}

/* Is the last id still ahead of the clock, so that there is one answer only? */
static bool still_behind(struct meeting *self)
{
	return id_ms(self->last) > ms_of(realtime_ns());
}

static void keep(struct meeting *self, int fd, const uint64_t *ids, size_t count)
{
	log_add(&self->rs->each[fd == self->fd ? 1 : 2].log, ids, count);
	if (ids[count - 1] > self->last)
		self->last = ids[count - 1];
}

/* A read of one id after the step: the outcome and what it may take. */
static bool read_one(struct __test_metadata *_metadata, struct meeting *self,
		     int fd, enum outcome outcome)
{
	int64_t gap = id_ms(self->last) * NSEC_PER_MSEC - realtime_ns();
	uint64_t last = self->last, id = 0;
	int64_t begin = monotonic_ns(), took;
	int err;

	do {
		err = read_id(fd, &id);
		took = monotonic_ns() - begin;
	} while (err == -EAGAIN && outcome == MINTS && took < AT_ONCE_NS);
	if (!err)
		keep(self, fd, &id, 1);
	if (err == -ECANCELED)
		self->refused++;

	switch (outcome) {
	case WAITS:
		EXPECT_EQ(0, err);
		EXPECT_LE(gap, took);
		EXPECT_GE(LATE_NS, took);
		/* The last one may be the other file's, from another block. */
		EXPECT_LE(id_tick(last), id_tick(id));
		EXPECT_LE(id_ms(id), ms_of(realtime_ns()));
		break;
	case MINTS:
		EXPECT_EQ(0, err);
		EXPECT_GE(AT_ONCE_NS, took);
		EXPECT_LE(id_tick(last), id_tick(id));
		break;
	default:
		if (!still_behind(self))
			return false;
		EXPECT_EQ(-ECANCELED, err);
		EXPECT_GE(AT_ONCE_NS, took);
		break;
	}
	return true;
}

/* A long read that the step finds asleep. */
static bool step_on_sleeper(struct __test_metadata *_metadata,
			    struct meeting *self)
{
	int64_t begin = monotonic_ns(), stepped;
	struct lone lone;
	uint64_t id;

	ASSERT_EQ(0, lone_start(&lone, self->fd));
	atomic_store(&lone.go, true);
	/* Past its first ticks, so that it is the next tick that it sleeps for. */
	sleep_ns(2 * NSEC_PER_MSEC);
	lone_wait_asleep(&lone);
	ASSERT_EQ(0, step_back(self));
	stepped = monotonic_ns();
	pthread_join(lone.thread, NULL);
	if (lone.got > 0)
		keep(self, self->fd, lone.ids, lone.got / ID_SIZE);
	/* Each tick is shared with another reader, and longer while slewing. */
	EXPECT_GE(3 * LONG_TICKS * NSEC_PER_MSEC + LATE_NS, lone.ended - begin);
	if (lone.ended <= stepped)
		return false;

	if (self->cell.outcome != REFUSED) {
		EXPECT_EQ((ssize_t)(LONG_IDS * ID_SIZE), lone.got);
		return true;
	}
	EXPECT_GE(AT_ONCE_NS, lone.ended - stepped);
	if (lone.got == -ECANCELED) {
		self->refused++;
	} else {
		EXPECT_LT(0, lone.got);
		EXPECT_GT((ssize_t)(LONG_IDS * ID_SIZE), lone.got);
	}
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	self->refused++;
	return true;
}

/* The tick that the step leaves has nothing more. */
static bool step_after_used_up(struct __test_metadata *_metadata,
			       struct meeting *self)
{
	uint64_t id = 0;
	int err;

	err = drain_tick(self->nonblock, &id);
	ASSERT_EQ(0, err);
	keep(self, self->nonblock, &id, 1);
	ASSERT_EQ(0, step_back(self));

	err = read_id(self->nonblock, &id);
	if (!err)
		keep(self, self->nonblock, &id, 1);
	if (err == -ECANCELED)
		self->refused++;
	if (self->cell.outcome == MINTS) {
		EXPECT_TRUE(!err || err == -EAGAIN) TH_LOG("%d", err);
	} else {
		if (!still_behind(self))
			return false;
		EXPECT_EQ(-ECANCELED, err);
	}
	return read_one(_metadata, self, self->fd, self->cell.outcome);
}

/* However patient the reader is. */
static bool signal_after_step(struct __test_metadata *_metadata,
			      struct meeting *self)
{
	struct sigaction action = { .sa_handler = on_signal };
	int64_t patience = ms_of(self->cell.step) + PATIENCE_MS;
	struct lone lone;
	int64_t sent;

	if (patience > PATIENCE_MAX_MS)
		patience = PATIENCE_MAX_MS;
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", patience));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, lone_start(&lone, self->fd));
	ASSERT_EQ(0, step_back(self));
	atomic_store(&lone.go, true);
	lone_wait_asleep(&lone);
	sent = monotonic_ns();
	/* The thread has not been joined: it exists even if it has ended. */
	pthread_kill(lone.thread, SIGUSR1);
	pthread_join(lone.thread, NULL);
	if (lone.got > 0)
		keep(self, self->fd, lone.ids, lone.got / ID_SIZE);
	EXPECT_GE(AT_ONCE_NS, lone.ended - sent);

	if (self->cell.outcome == REFUSED) {
		EXPECT_EQ(-ECANCELED, lone.got);
		self->refused += lone.got == -ECANCELED;
		return true;
	}
	/* Where ids come on, the signal may come after the first ones. */
	EXPECT_TRUE(lone.got == -EINTR || lone.got > 0) TH_LOG("%zd", lone.got);
	if (self->cell.step > STEP_5MS && !strcmp(self->cell.policy, "refuse"))
		EXPECT_EQ(-EINTR, lone.got);
	return lone.got < (ssize_t)(LONG_IDS * ID_SIZE);
}

/* False if the machine was too slow for the outcome to be told. */
static bool meet(struct __test_metadata *_metadata, struct meeting *self)
{
	switch (self->cell.who) {
	case ASLEEP:
		return step_on_sleeper(_metadata, self);
	case USED_UP:
		return step_after_used_up(_metadata, self);
	case SIGNALLED:
		return signal_after_step(_metadata, self);
	default:
		break;
	}
	ASSERT_EQ(0, step_back(self));
	return read_one(_metadata, self,
			self->cell.who == BLOCKING ? self->fd : self->nonblock,
			self->cell.outcome);
}

TEST_F(cell, fault03)
{
	const struct cell *cell = &variant->is;
	struct meeting *m = &self->meeting;
	bool big = cell->step > STEP_5MS;
	bool refused = cell->outcome == REFUSED ||
		       (big && !strcmp(cell->policy, "refuse"));
	struct stats now;
	uint64_t id;
	int tries;
	bool told;

	m->before = stats_now();
	ASSERT_EQ(0, reader_start(&m->rs->each[0]));
	for (tries = 0, told = false; tries < TRIES && !told; tries++) {
		/* Within the order of both files. */
		ASSERT_EQ(0, read_id(m->fd, &id));
		keep(m, m->fd, &id, 1);
		told = meet(_metadata, m);
		if (big) {
			EXPECT_STREQ(refused ? "behind" : "running",
				     attr_string("state"));
		}

		/* Nothing of it is left once the clock is right again. */
		ASSERT_EQ(0, clock_step(cell->step));
		EXPECT_EQ(0, attr_number("lead_ms"));
		read_one(_metadata, m, m->fd, MINTS);
		EXPECT_STREQ("running", attr_string("state"));
	}
	EXPECT_TRUE(told) TH_LOG("this machine is too slow to tell");
	atomic_store(&m->rs->stop, true);
	pthread_join(m->rs->each[0].thread, NULL);

	EXPECT_STREQ("", readers_fault(m->rs, refused ? ECANCELED : 0));
	now = stats_now();
	EXPECT_EQ(m->before.rewinds + m->steps, now.rewinds);
	EXPECT_EQ(ms_of(cell->step), now.rewind_last_ms);
	EXPECT_LE(ms_of(cell->step), now.rewind_max_ms);
	EXPECT_EQ(m->before.rewind_total_ms +
		  m->steps * ms_of(cell->step), now.rewind_total_ms);
	EXPECT_EQ(m->before.forward_steps + m->steps, now.forward_steps);
	EXPECT_LE(ms_of(cell->step), now.forward_max_ms);
	EXPECT_EQ(m->before.refused + m->refused +
		  (long long)readers_failed(m->rs, ECANCELED), now.refused);
}

/* What counts as a step, under each policy and also with no worker id. */
FIXTURE(steps) {
	struct readers *rs;
	struct timex clock;
	struct stats before;
};

FIXTURE_VARIANT(steps) {
	const char *policy;
	int worker;
};

FIXTURE_VARIANT_ADD(steps, refuse) { .policy = "refuse", .worker = WORKER };
FIXTURE_VARIANT_ADD(steps, slew) { .policy = "slew", .worker = WORKER };
FIXTURE_VARIANT_ADD(steps, stopped) { .policy = "refuse", .worker = -1 };

FIXTURE_SETUP(steps)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put("rewind_policy", variant->policy));
	ASSERT_EQ(0, variant->worker < 0 ? 0 : start(variant->worker));
	self->rs = readers_new(1, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &self->clock));
	/* What the test before left behind is given back. */
	while (attr_number("lead_ms") > 0)
		sleep_ns(UNSEEN_NS);
	self->before = stats_now();
}

FIXTURE_TEARDOWN(steps)
{
	struct timex tx = {
		.modes = ADJ_STATUS | ADJ_FREQUENCY | ADJ_TICK,
		.status = self->clock.status & ~STA_RONLY,
		.freq = self->clock.freq,
		.tick = self->clock.tick,
	};

	clock_adjtime(CLOCK_REALTIME, &tx);
	EXPECT_EQ(0, reset());
}

static void check_steps(struct __test_metadata *_metadata,
			const struct stats *before, const int *ms,
			unsigned int count)
{
	struct stats want = *before, now;
	unsigned int i;

	for (i = 0; i < count; i++) {
		long long size = ms[i] < 0 ? -ms[i] : ms[i];

		if (ms[i] < 0) {
			want.rewinds++;
			want.rewind_last_ms = size;
			want.rewind_total_ms += size;
			if (size > want.rewind_max_ms)
				want.rewind_max_ms = size;
		} else {
			want.forward_steps++;
			if (size > want.forward_max_ms)
				want.forward_max_ms = size;
		}
	}
	now = stats_now();
	EXPECT_EQ(want.rewinds, now.rewinds);
	EXPECT_EQ(want.rewind_last_ms, now.rewind_last_ms);
	EXPECT_EQ(want.rewind_max_ms, now.rewind_max_ms);
	EXPECT_EQ(want.rewind_total_ms, now.rewind_total_ms);
	EXPECT_EQ(want.forward_steps, now.forward_steps);
	EXPECT_EQ(want.forward_max_ms, now.forward_max_ms);
}

/* Three back and two ahead, though nobody reads or looks between them. */
TEST_F(steps, fault05_are_counted_when_they_happen)
{
	static const int ms[] = { -70, 30, -28900000, 28900060, -20 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ms); i++) {
		ASSERT_EQ(0, clock_step(ms[i] * NSEC_PER_MSEC));
		sleep_ns(UNSEEN_NS);
	}
	check_steps(_metadata, &self->before, ms, ARRAY_SIZE(ms));
}

/* NTP's ways to bring a clock right without setting it. */
TEST_F(steps, slewing_is_none)
{
	struct timex ways[] = {
		{ .modes = ADJ_FREQUENCY, .freq = -(500 << 16) },
		{ .modes = ADJ_FREQUENCY, .freq = 500 << 16 },
		{ .modes = ADJ_TICK, .tick = self->clock.tick * 9 / 10 },
		{ .modes = ADJ_TICK, .tick = self->clock.tick * 11 / 10 },
		{ .modes = ADJ_TICK, .tick = self->clock.tick },
		{ .modes = ADJ_OFFSET | ADJ_STATUS | ADJ_NANO, .status = STA_PLL,
		  .offset = -100 * NSEC_PER_MSEC },
		{ .modes = ADJ_OFFSET | ADJ_STATUS | ADJ_NANO, .status = STA_PLL,
		  .offset = 100 * NSEC_PER_MSEC },
		{ .modes = ADJ_OFFSET_SINGLESHOT, .offset = -100000 },
	};
	unsigned int i;

	ASSERT_EQ(0, variant->worker < 0 ? 0 : readers_start(self->rs));
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ASSERT_LE(0, clock_adjtime(CLOCK_REALTIME, &ways[i])) {
			TH_LOG("way %u: %s", i, strerror(errno));
		}
		sleep_ns(50 * NSEC_PER_MSEC);
		EXPECT_EQ(0, attr_number("lead_ms"));
	}
	if (variant->worker >= 0) {
		readers_stop(self->rs);
		EXPECT_STREQ("", readers_fault(self->rs, 0));
		EXPECT_LT(0, readers_ids(self->rs));
	}
	check_steps(_metadata, &self->before, NULL, 0);
}

/*
 * Suspend moves the real time against the monotonic one as a step does, but it
 * is none: nobody set the clock, and no limit on steps ahead applies. The
 * kernel's own test mode goes as far as to stop the clock, and wakes by itself.
 */
#define SLEEP_S		3
#define PM_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int64_t suspended_ns(void)
{
	int64_t monotonic = monotonic_ns();
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec - monotonic;
}

TEST_F(steps, suspend_is_none)
{
	int64_t slept = suspended_ns();
	char delay[16];
	uint64_t id;
	int fd, err;

	snprintf(delay, sizeof(delay), "%d", SLEEP_S);
	err = put("/sys/power/pm_test", "core");
	if (!err)
		err = put("/sys/power/mem_sleep", "deep");
	if (!err)
		err = put(PM_DELAY, delay);
	if (err)
		SKIP(return, "no test mode of suspend: %s", strerror(-err));
	ASSERT_EQ(0, attr_put("forward_limit_ms", "1000"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(variant->worker < 0 ? -ENXIO : 0, read_id(fd, &id));
	err = put("/sys/power/state", "mem");
	put("/sys/power/pm_test", "none");
	if (err)
		SKIP(return, "cannot suspend: %s", strerror(-err));
	slept = suspended_ns() - slept;
	if (slept < NSEC_PER_SEC)
		SKIP(return, "the clock did not stop: %lld ns", (long long)slept);

	EXPECT_EQ(variant->worker < 0 ? -ENXIO : 0, read_id(fd, &id));
	if (variant->worker >= 0)
		EXPECT_GE(ms_of(LATE_NS), ms_of(realtime_ns()) - id_ms(id));
	EXPECT_STREQ(variant->worker < 0 ? "no-worker" : "running",
		     attr_string("state"));
	EXPECT_EQ(0, attr_number("lead_ms"));
	check_steps(_metadata, &self->before, NULL, 0);
}

/* The attributes. */
FIXTURE(attributes) {
	int unused;
};

FIXTURE_SETUP(attributes)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
}

FIXTURE_TEARDOWN(attributes)
{
	EXPECT_EQ(0, reset());
}

TEST_F(attributes, have_their_defaults)
{
	/* reset() would bring them back: only a fresh module can tell. */
	const char *why = missing(NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, module_load(""));
	EXPECT_STREQ("refuse", attr_string("rewind_policy"));
	EXPECT_EQ(REWIND_WAIT_MS, attr_number("rewind_wait_ms"));
	EXPECT_EQ(LEAD_LIMIT_MS, attr_number("lead_limit_ms"));
	EXPECT_EQ(0, attr_number("forward_limit_ms"));
	EXPECT_EQ(0, attr_number("lead_ms"));
	EXPECT_EQ(0, attr_number("stats/rewinds"));
	EXPECT_EQ(0, attr_number("stats/forward_steps"));
	EXPECT_EQ(0, attr_number("stats/forward_max_ms"));
}

TEST_F(attributes, are_writable_by_root_alone)
{
	static const struct {
		const char *name;
		mode_t mode;
	} cases[] = {
		{ "rewind_policy", 0644 }, { "rewind_wait_ms", 0644 },
		{ "lead_limit_ms", 0644 }, { "forward_limit_ms", 0644 },
		{ "accept_jump", 0200 }, { "lead_ms", 0444 },
		{ "stats/forward_steps", 0444 }, { "stats/forward_max_ms", 0444 },
	};
	char path[256], text[64];
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(path, sizeof(path), SYSFS "%s", cases[i].name);
		EXPECT_EQ(0, stat(path, &st)) TH_LOG("no %s", cases[i].name);
		EXPECT_EQ(cases[i].mode, st.st_mode & 07777) {
			TH_LOG("%s", cases[i].name);
		}
		if (cases[i].mode & 0444) {
			EXPECT_EQ(0, attr_get(cases[i].name, text, sizeof(text)));
			EXPECT_NE(0, strlen(text)) TH_LOG("%s", cases[i].name);
			EXPECT_EQ(strlen(text), strcspn(text, "\n "));
		} else {
			EXPECT_GT(0, attr_get(cases[i].name, text, sizeof(text)));
		}
	}
}

static const char *const bad_numbers[] = {
	"-1", "-1\n", "x", "7x", "\n", "1 2", "1.5", "1e3", "1,2", "--1", "0x10",
	"5\n6", "none", "-9223372036854775808", "9223372036854775808",
	"18446744073709551615", "18446744073709551616",
	"18446744073709552616", "-18446744073709550616",
	"99999999999999999999999999999999999999999999999999999999999999999999",
};

static const char *const bad_policies[] = {
	"Refuse", "refuse2", "refus", "slew slew", "slew,", "slew\nx", "\n", "0",
	"1", "none", "wait", "refuse slew", " slew", "slewslew",
};

static const char *const bad_jumps[] = {
	"0", "0\n", "2", "-1", "11", "1 1", "1x", "x", "\n", "y", "Y", "yes",
	"on", "true", "1.0", "4294967297", "18446744073709551617",
};

static const char *const policies[] = { "slew", "refuse", "slew\n", "refuse\n" };
static const char *const limits[] = { "1", "1000\n", "60000" };
static const char *const forward_limits[] = { "1", "1000\n", "0", "86400000" };
static const char *const jumps[] = { "1", "1\n" };

static const struct {
	const char *name;
	const char *const *good;
	unsigned int good_count;
	const char *const *bad;
	unsigned int bad_count;
} ranges[] = {
	{ "rewind_policy", policies, ARRAY_SIZE(policies),
	  bad_policies, ARRAY_SIZE(bad_policies) },
	{ "rewind_wait_ms", limits, ARRAY_SIZE(limits),
	  bad_numbers, ARRAY_SIZE(bad_numbers) },
	{ "lead_limit_ms", limits, ARRAY_SIZE(limits),
	  bad_numbers, ARRAY_SIZE(bad_numbers) },
	{ "forward_limit_ms", forward_limits, ARRAY_SIZE(forward_limits),
	  bad_numbers, ARRAY_SIZE(bad_numbers) },
	{ "accept_jump", jumps, ARRAY_SIZE(jumps),
	  bad_jumps, ARRAY_SIZE(bad_jumps) },
};

/* Policies and limits may be written at any time: stopped and running. */
TEST_F(attributes, fault15_ranges)
{
	char before[64] = "", after[64] = "";
	unsigned int i, j, running;

	for (running = 0; running < 2; running++) {
		ASSERT_EQ(0, running ? start(WORKER) : 0);
		for (i = 0; i < ARRAY_SIZE(ranges); i++) {
			const char *name = ranges[i].name;

			/* One of them cannot be read. */
			if (attr_get(name, before, sizeof(before)))
				before[0] = '\0';
			for (j = 0; j < ranges[i].bad_count; j++) {
				EXPECT_EQ(-EINVAL, attr_put(name, ranges[i].bad[j])) {
					TH_LOG("%s took '%s'", name,
					       ranges[i].bad[j]);
				}
				if (attr_get(name, after, sizeof(after)))
					after[0] = '\0';
				EXPECT_STREQ(before, after);
			}
			for (j = 0; j < ranges[i].good_count; j++) {
				EXPECT_EQ(0, attr_put(name, ranges[i].good[j])) {
					TH_LOG("%s refused '%s'", name,
					       ranges[i].good[j]);
				}
				if (!attr_get(name, after, sizeof(after))) {
					EXPECT_EQ(strcspn(ranges[i].good[j], "\n"),
						  strlen(after));
					EXPECT_EQ(0, strncmp(ranges[i].good[j], after,
							     strlen(after)));
				}
			}
		}
		EXPECT_STREQ(running ? "running" : "no-worker",
			     attr_string("state"));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Why the device gives no ids: the state, and who hears of its changes; the
 * errno of a read when several reasons apply; and which failures are counted.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		15
#define AT_ONCE_NS	(300 * NSEC_PER_MSEC)
#define NEWS_MS		1200		/* in which pollers hear of a change */
#define SOON_MS		400		/* of what time will change */
#define READ_EARLY	3
#define LIMIT_MS	1000
#define DAY_NS		(86400 * NSEC_PER_SEC)
#define FAR_NS		(5 * NSEC_PER_SEC)
#define SPARE_S		24		/* to the end of the short layout */

#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

/* A layout whose last tick is so many milliseconds away. */
static struct layout ending_in(int ms)
{
	struct layout l = { CUSTOM, 10, 10, 12, WORKER_SEQUENCE, 100, 0 };

	l.epoch_ms = now_ms() + ms - (layout_last_tick(&l) + 1) * l.tick_ms;
	return l;
}

/*
 * The ways from one state to the next. Each is what somebody does, and perhaps
 * what becomes of that by itself after @SOON_MS.
 */
static int stop(void)
{
	return attr_put("worker_id", "-1");
}

static int go(void)
{
	return attr_put_number("worker_id", WORKER);
}

static int open_window(void)
{
	return attr_put("not_after_ms", "0");
}

static int end_window(void)
{
	return attr_put_number("not_after_ms", now_ms());
}

static int end_window_soon(void)
{
	return attr_put_number("not_after_ms", now_ms() + SOON_MS);
}

static int go_soon(void)
{
	int err = stop();

	return err ?: attr_put_number("not_before_ms", now_ms() + SOON_MS) ?: go();
}

static int mint(void)
{
	int fd = device_open(0), err;
	uint64_t id;

	if (fd < 0)
		return fd;
	err = read_id(fd, &id);
	close(fd);
	return err;
}

static int far_back(void)
{
	return mint() ?: clock_step(-FAR_NS);
}

static int far_ahead(void)
{
	return clock_step(FAR_NS);
}

static int back_soon(void)
{
	return mint() ?: clock_step(-SOON_MS * NSEC_PER_MSEC);
}

static int jump(void)
{
	return attr_put_number("forward_limit_ms", LIMIT_MS) ?: mint() ?:
	       clock_step(DAY_NS);
}

static int jump_back(void)
{
	return clock_step(-DAY_NS);
}

static int lift_limit(void)
{
	return attr_put("forward_limit_ms", "0");
}

static int end_layout_soon(void)
{
	struct layout l = ending_in(SOON_MS + NEWS_MS);
	int err = stop();

	return err ?: layout_put(&l) ?: go();
}

static int twitter_again(void)
{
	int err = stop();

	return err ?: layout_put(&presets[TWITTER]);
}

static const struct {
	int (*act)(void);
	const char *state;	/* that follows */
	const char *later;	/* that follows by itself */
} ways[] = {
	{ stop, "no-worker", NULL },
	{ go, "running", NULL },
	{ end_window, "expired", NULL },
	{ open_window, "running", NULL },
	{ end_window_soon, NULL, "expired" },
	{ open_window, "running", NULL },
	{ far_back, "behind", NULL },
	{ far_ahead, "running", NULL },
	{ back_soon, "behind", "running" },
	{ jump, "jumped", NULL },
	{ jump_back, "running", NULL },
	{ lift_limit, NULL, NULL },
	{ go_soon, "not-yet", "running" },
	{ end_layout_soon, NULL, "ended" },
	{ twitter_again, "no-worker", NULL },
	{ go, "running", NULL },
};

/* Somebody else may poll the device meanwhile. */
FIXTURE(state) {
	int fd;			/* of the attribute */
	int device;
	int epoll;
	pthread_t poller;
};

FIXTURE_VARIANT(state) {
	bool polled;
};

FIXTURE_VARIANT_ADD(state, alone) { .polled = false };
FIXTURE_VARIANT_ADD(state, beside_a_poller_of_the_device) { .polled = true };

static void *poll_device(void *arg)
{
	struct epoll_event event;

	while (epoll_wait(*(int *)arg, &event, 1, -1) >= 0)
		;
	return NULL;
}

FIXTURE_SETUP(state)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	self->fd = open(SYSFS "state", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	if (!variant->polled)
		return;
	self->device = device_open(O_NONBLOCK);
	ASSERT_LE(0, self->device);
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, self->epoll);
	ASSERT_EQ(0, epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->device, &event));
	ASSERT_EQ(0, pthread_create(&self->poller, NULL, poll_device, &self->epoll));
}

FIXTURE_TEARDOWN(state)
{
	EXPECT_EQ(0, reset());
}

static const char *state_read(int fd)
{
	static char text[64];
	ssize_t got = pread(fd, text, sizeof(text) - 1, 0);

	text[got > 0 ? got - 1 : 0] = '\0';
	return text;
}

/*
 * A poller as it should be: it has read the attribute, sleeps, is told, reads
 * it again. Until that is @state; the time it took.
 */
static int64_t hear_of(struct __test_metadata *_metadata, int fd, const char *state,
		       int64_t limit)
{
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };
	int64_t begin = monotonic_ns(), end = begin + limit, left;

	while ((left = end - monotonic_ns()) > 0) {
		if (poll(&pfd, 1, ms_of(left) + 1) <= 0)
			break;
		EXPECT_EQ(POLLPRI | POLLERR, pfd.revents);
		if (!strcmp(state, state_read(fd)))
			return monotonic_ns() - begin;
	}
	EXPECT_TRUE(false) {
		TH_LOG("nobody told of '%s' in %lld ms, it is '%s'", state,
		       (long long)ms_of(limit), state_read(fd));
	}
	return limit;
}

TEST_F(state, every_change_is_told)
{
	unsigned int i;

	EXPECT_STREQ("running", state_read(self->fd));
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ASSERT_EQ(0, ways[i].act()) TH_LOG("way %u", i);
		if (ways[i].state)
			hear_of(_metadata, self->fd, ways[i].state,
				NEWS_MS * NSEC_PER_MSEC);
		if (ways[i].later)
			hear_of(_metadata, self->fd, ways[i].later,
				(SOON_MS + 2 * NEWS_MS) * NSEC_PER_MSEC);
		EXPECT_STREQ(ways[i].later ?: ways[i].state ?: "running",
			     attr_string("state")) {
			TH_LOG("way %u", i);
		}
	}
}

/* What time changes is told within a second of it, not just some day. */
TEST_F(state, time_is_told_in_time)
{
	int64_t due;

	EXPECT_STREQ("running", state_read(self->fd));
	/* Nothing is left that might look by chance. */
	sleep_ns(NEWS_MS * NSEC_PER_MSEC);
	due = monotonic_ns() + SOON_MS * NSEC_PER_MSEC;
	ASSERT_EQ(0, end_window_soon());
	hear_of(_metadata, self->fd, "expired", 5 * NSEC_PER_SEC);
	EXPECT_GE(due + NEWS_MS * NSEC_PER_MSEC, monotonic_ns());

	ASSERT_EQ(0, open_window());
	hear_of(_metadata, self->fd, "running", NEWS_MS * NSEC_PER_MSEC);
	ASSERT_EQ(0, back_soon());
	due = monotonic_ns() + SOON_MS * NSEC_PER_MSEC;
	hear_of(_metadata, self->fd, "behind", NEWS_MS * NSEC_PER_MSEC);
	hear_of(_metadata, self->fd, "running", 5 * NSEC_PER_SEC);
	EXPECT_GE(due + NEWS_MS * NSEC_PER_MSEC, monotonic_ns());
}

/*
 * Who has read the attribute before being told may not have been told at all
 * when the next change comes.
 */
TEST_F(state, what_was_read_counts)
{
	int64_t end;
	int i;

	for (i = 0; i < READ_EARLY; i++) {
		end = monotonic_ns() + 5 * NSEC_PER_SEC;
		ASSERT_EQ(0, end_window_soon());
		while (strcmp("expired", state_read(self->fd)))
			ASSERT_GT(end, monotonic_ns());
		ASSERT_EQ(0, open_window());
		hear_of(_metadata, self->fd, "running", NEWS_MS * NSEC_PER_MSEC);
	}
}

/* No change, no news: pollers may sleep. */
TEST_F(state, no_change_is_not_told)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLPRI };
	int i;

	/* News of the start may come late. */
	sleep_ns(AT_ONCE_NS);
	EXPECT_STREQ("running", state_read(self->fd));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, mint());
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "20"));
	ASSERT_EQ(0, attr_put_number("not_after_ms", now_ms() + ms_of(DAY_NS)));
	EXPECT_EQ(0, poll(&pfd, 1, NEWS_MS + 300)) {
		TH_LOG("told of '%s'", state_read(self->fd));
	}
}

/* Reasons to refuse, some of them at the same time: the first one counts. */
enum reason {
	STOPPED	= 1 << 0,
	UNBOUND	= 1 << 1,
	ENDED	= 1 << 2,
	JUMPED	= 1 << 3,
	EXPIRED	= 1 << 4,
	BEHIND	= 1 << 5,
	NOT_YET	= 1 << 6,
};

FIXTURE(reasons) {
	int fd;
	int nonblock;
};

FIXTURE_VARIANT(reasons) {
	unsigned int reasons;
	int error;
	const char *state;
};

FIXTURE_VARIANT_ADD(reasons, stopped) { STOPPED, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_unbound) { STOPPED | UNBOUND, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_ended) { STOPPED | ENDED, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_jumped) { STOPPED | JUMPED, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_expired) { STOPPED | EXPIRED, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_behind) { STOPPED | BEHIND, ENXIO, "no-worker" };
FIXTURE_VARIANT_ADD(reasons, stopped_and_more) {
	STOPPED | UNBOUND | ENDED | JUMPED | EXPIRED, ENXIO, "no-worker",
};

FIXTURE_VARIANT_ADD(reasons, unbound) { UNBOUND, EDESTADDRREQ, "running" };
FIXTURE_VARIANT_ADD(reasons, unbound_ended) { UNBOUND | ENDED, EDESTADDRREQ, "ended" };
FIXTURE_VARIANT_ADD(reasons, unbound_jumped) { UNBOUND | JUMPED, EDESTADDRREQ, "jumped" };
FIXTURE_VARIANT_ADD(reasons, unbound_expired) { UNBOUND | EXPIRED, EDESTADDRREQ, "expired" };
FIXTURE_VARIANT_ADD(reasons, unbound_not_yet) { UNBOUND | NOT_YET, EDESTADDRREQ, "not-yet" };
FIXTURE_VARIANT_ADD(reasons, unbound_and_more) {
	UNBOUND | ENDED | JUMPED | EXPIRED, EDESTADDRREQ, "ended",
};

FIXTURE_VARIANT_ADD(reasons, ended) { ENDED, EOVERFLOW, "ended" };
FIXTURE_VARIANT_ADD(reasons, ended_jumped) { ENDED | JUMPED, EOVERFLOW, "ended" };
FIXTURE_VARIANT_ADD(reasons, ended_expired) { ENDED | EXPIRED, EOVERFLOW, "ended" };
FIXTURE_VARIANT_ADD(reasons, ended_not_yet) { ENDED | NOT_YET, EOVERFLOW, "ended" };
FIXTURE_VARIANT_ADD(reasons, ended_jumped_expired) {
	ENDED | JUMPED | EXPIRED, EOVERFLOW, "ended",
};

FIXTURE_VARIANT_ADD(reasons, jumped) { JUMPED, ERANGE, "jumped" };
FIXTURE_VARIANT_ADD(reasons, jumped_expired) { JUMPED | EXPIRED, ERANGE, "jumped" };
FIXTURE_VARIANT_ADD(reasons, jumped_not_yet) { JUMPED | NOT_YET, ERANGE, "jumped" };

FIXTURE_VARIANT_ADD(reasons, expired) { EXPIRED, EKEYEXPIRED, "expired" };
FIXTURE_VARIANT_ADD(reasons, expired_behind) { EXPIRED | BEHIND, EKEYEXPIRED, "expired" };
FIXTURE_VARIANT_ADD(reasons, expired_not_yet) { EXPIRED | NOT_YET, EKEYEXPIRED, "expired" };

FIXTURE_VARIANT_ADD(reasons, behind) { BEHIND, ECANCELED, "behind" };
FIXTURE_VARIANT_ADD(reasons, not_yet) { NOT_YET, ECANCELED, "not-yet" };

FIXTURE_SETUP(reasons)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);
	struct layout l = ending_in(SPARE_S * 1000);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, variant->reasons & ENDED ? layout_put(&l) : 0);
	ASSERT_EQ(0, variant->reasons & UNBOUND ? attr_put("sharing", "bound") : 0);
	ASSERT_EQ(0, variant->reasons & UNBOUND ? go() : start(WORKER));
	ASSERT_EQ(0, devices_open(&self->fd, &self->nonblock));
}

FIXTURE_TEARDOWN(reasons)
{
	EXPECT_EQ(0, reset());
}

/* One id, so that there is something to be ahead of, or behind. */
static int mint_bound(void)
{
	int fd = device_open(0), err;
	uint64_t id;

	if (fd < 0)
		return fd;
	/* The long tick of the test before may have to end. */
	err = device_bind(fd, WORKER) ?:
	      attr_put_number("rewind_wait_ms", NEWS_MS) ?: read_id(fd, &id) ?:
	      attr_put_number("rewind_wait_ms", REWIND_WAIT_MS);
	close(fd);
	return err;
}

TEST_F(reasons, the_first_that_applies)
{
	const unsigned int reasons = variant->reasons;
	static uint64_t ids[MAX_READ_IDS];
	int64_t begin;
	struct stats before, after;

	ASSERT_EQ(0, reasons & UNBOUND ? mint_bound() : mint());
	ASSERT_EQ(0, reasons & JUMPED ? attr_put_number("forward_limit_ms", 1) : 0);
	ASSERT_EQ(0, reasons & ENDED ? clock_step(2 * SPARE_S * NSEC_PER_SEC) :
		     reasons & JUMPED ? clock_step(NSEC_PER_SEC) : 0);
	ASSERT_EQ(0, reasons & BEHIND ? clock_step(-FAR_NS) : 0);
	ASSERT_EQ(0, reasons & EXPIRED ?
		     attr_put_number("not_after_ms", now_ms() - 1) : 0);
	ASSERT_EQ(0, reasons & NOT_YET ?
		     attr_put_number("not_before_ms", now_ms() + ms_of(DAY_NS)) : 0);
	ASSERT_EQ(0, reasons & STOPPED ? stop() : 0);

	before = stats_now();
	begin = monotonic_ns();
	EXPECT_EQ(-variant->error, read_id(self->fd, ids));
	EXPECT_EQ(-variant->error, read_id(self->nonblock, ids));
	EXPECT_EQ(-1, read(self->fd, ids, sizeof(ids)));
	EXPECT_EQ(variant->error, errno);
	EXPECT_EQ(-1, read(self->nonblock, ids, sizeof(ids)));
	EXPECT_EQ(variant->error, errno);
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_STREQ(variant->state, attr_string("state"));
	after = stats_now();
	EXPECT_EQ(before.refused + 4, after.refused);
	EXPECT_EQ(before.ids, after.ids);
	EXPECT_EQ(before.exhausted, after.exhausted);
}

/* Which failures are not refusals. */
FIXTURE(refused) {
	int fd;
	int nonblock;
	long long before;
};

FIXTURE_SETUP(refused)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
	self->before = attr_number("stats/refused");
}

FIXTURE_TEARDOWN(refused)
{
	EXPECT_EQ(0, reset());
}

TEST_F(refused, not_by_an_empty_tick)
{
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, drain_tick(self->nonblock, NULL));
	EXPECT_EQ(self->before, attr_number("stats/refused"));
}

TEST_F(refused, not_by_a_wrong_call)
{
	uint64_t *nowhere = mmap(NULL, getpagesize(), PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t id;

	ASSERT_NE(MAP_FAILED, nowhere);
	EXPECT_EQ(-1, read(self->fd, &id, ID_SIZE - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-EFAULT, read_id(self->fd, nowhere));
	EXPECT_EQ(-EFAULT, read_id(self->nonblock, nowhere));
	EXPECT_EQ(self->before, attr_number("stats/refused"));
}

TEST_F(refused, not_by_a_signal)
{
	uint64_t id;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "10000"));
	ASSERT_EQ(0, attr_put_number("not_before_ms", now_ms() + SOON_MS * 2));
	interrupt_every(100);
	EXPECT_EQ(-EINTR, read_id(self->fd, &id));
	interrupt_every(0);
	EXPECT_EQ(self->before, attr_number("stats/refused"));
}

/* A read that the end of the window cuts short has not failed. */
TEST_F(refused, not_by_a_short_count)
{
	static uint64_t ids[MAX_READ_IDS * 64];
	ssize_t got;

	ASSERT_EQ(0, attr_put_number("not_after_ms", now_ms() + SOON_MS));
	do {
		got = read(self->fd, ids, sizeof(ids));
		ASSERT_LT(0, got);
	} while (got == sizeof(ids));
	EXPECT_EQ(0, got % ID_SIZE);
	EXPECT_EQ(self->before, attr_number("stats/refused"));
	EXPECT_EQ(-1, read(self->fd, ids, sizeof(ids)));
	EXPECT_EQ(EKEYEXPIRED, errno);
	EXPECT_EQ(self->before + 1, attr_number("stats/refused"));
}

TEST_HARNESS_MAIN

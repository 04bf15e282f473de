// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * poll, select and epoll: readable when an id is there, in error when a read
 * would fail, and never silent for good.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		9
#define ROUNDS		100
#define WAIT_MS		5000		/* for a wake-up that never comes */
#define LATE_NS		(500 * NSEC_PER_MSEC)	/* when the next tick is 1 ms away */
#define POLLERS		8

FIXTURE(poll) {
	int fd;			/* O_NONBLOCK */
};

FIXTURE_SETUP(poll)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	self->fd = device_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(poll)
{
	EXPECT_EQ(0, reset());
}

static int poll_once(int fd, short events, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int got = poll(&pfd, 1, ms);

	return got < 0 ? -errno : got ? pfd.revents : 0;
}

TEST_F(poll, readable_when_idle)
{
	sleep_ns(2 * NSEC_PER_MSEC);
	EXPECT_EQ(POLLIN, poll_once(self->fd, POLLIN, 0));
	EXPECT_EQ(0, poll_once(self->fd, POLLOUT, 0) & POLLOUT);
	EXPECT_EQ(0, poll_once(self->fd, 0, 0));
}

TEST_F(poll, without_a_worker)
{
	int64_t begin = monotonic_ns();
	uint64_t id;

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(POLLIN | POLLERR, poll_once(self->fd, POLLIN, WAIT_MS));
	EXPECT_EQ(POLLERR, poll_once(self->fd, 0, WAIT_MS));
	EXPECT_GE(LATE_NS, monotonic_ns() - begin);
	EXPECT_EQ(-ENXIO, read_id(self->fd, &id));

	ASSERT_EQ(0, start(WORKER));
	sleep_ns(2 * NSEC_PER_MSEC);
	EXPECT_EQ(POLLIN, poll_once(self->fd, POLLIN, WAIT_MS));
}

/* After EAGAIN the next tick wakes the poller, which then finds ids. */
#define AFTER_EAGAIN(wait)						\
do {									\
	uint64_t last, id;						\
	int64_t begin;							\
	int round;							\
									\
	for (round = 0; round < ROUNDS; round++) {			\
		ASSERT_EQ(0, drain_tick(self->fd, &last));		\
		begin = monotonic_ns();					\
		ASSERT_EQ(1, wait) TH_LOG("round %d", round);		\
		ASSERT_GE(LATE_NS, monotonic_ns() - begin);		\
		ASSERT_EQ(0, read_id(self->fd, &id));			\
		ASSERT_LT(id_tick(last), id_tick(id));			\
	}								\
} while (0)

TEST_F(poll, poll_after_eagain)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };

	AFTER_EAGAIN(poll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(POLLIN, pfd.revents);
}

static int select_once(int fd)
{
	struct timeval timeout = { .tv_sec = WAIT_MS / 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &timeout);
}

TEST_F(poll, select_after_eagain)
{
	AFTER_EAGAIN(select_once(self->fd));
}

static int epoll_with(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : epoll;
}

TEST_F(poll, epoll_level_triggered_after_eagain)
{
	int epoll = epoll_with(self->fd, EPOLLIN);
	struct epoll_event event;

	ASSERT_LE(0, epoll);
	AFTER_EAGAIN(epoll_wait(epoll, &event, 1, WAIT_MS));
	EXPECT_EQ(EPOLLIN, event.events);
	/* And for as long as there are ids. */
	sleep_ns(2 * NSEC_PER_MSEC);
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, WAIT_MS));
	EXPECT_EQ(1, epoll_wait(epoll, &event, 1, WAIT_MS));
}

/*
 * Edge triggered, nothing asks the device again between the EAGAIN and the
 * wait: the read itself has to see to the wake-up.
 */
TEST_F(poll, epoll_edge_triggered_after_eagain)
{
	int epoll = epoll_with(self->fd, EPOLLIN | EPOLLET);
	struct epoll_event event;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(1, epoll_wait(epoll, &event, 1, WAIT_MS));
	AFTER_EAGAIN(epoll_wait(epoll, &event, 1, WAIT_MS));
	EXPECT_EQ(EPOLLIN, event.events);
}

/* A poller that was there before it hears of the worker going. */
TEST_F(poll, a_sleeping_poller_hears_of_the_end)
{
	int epoll = epoll_with(self->fd, EPOLLIN | EPOLLET);
	struct epoll_event event;
	int64_t begin, end;

	ASSERT_LE(0, epoll);
	while (epoll_wait(epoll, &event, 1, 0) > 0)
		;
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	begin = monotonic_ns();
	end = begin + WAIT_MS * NSEC_PER_MSEC;
	do {
		event.events = 0;
		ASSERT_LE(0, epoll_wait(epoll, &event, 1, WAIT_MS));
	} while (!(event.events & EPOLLERR) && monotonic_ns() < end);
	EXPECT_EQ(EPOLLIN | EPOLLERR, event.events);
	EXPECT_GE(LATE_NS, monotonic_ns() - begin);

	/* And of its return, when there is something to read again. */
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	begin = monotonic_ns();
	end = begin + WAIT_MS * NSEC_PER_MSEC;
	do {
		event.events = 0;
		ASSERT_LE(0, epoll_wait(epoll, &event, 1, WAIT_MS));
	} while (event.events != EPOLLIN && monotonic_ns() < end);
	EXPECT_EQ(EPOLLIN, event.events);
	EXPECT_GE(LATE_NS, monotonic_ns() - begin);
}

/* Many that wait at once, on one file and on several, are all woken. */
struct poller {
	pthread_t thread;
	int fd;
	int64_t worst;
	int error;
};

static void *poll_and_read(void *arg)
{
	struct poller *p = arg;
	uint64_t ids[512];
	int i, got;

	for (i = 0; i < ROUNDS && !p->error; i++) {
		int64_t begin = monotonic_ns();

		got = poll_once(p->fd, POLLIN, WAIT_MS);
		begin = monotonic_ns() - begin;
		if (begin > p->worst)
			p->worst = begin;
		if (got != POLLIN)
			p->error = got < 0 ? got : -EIO;
		else if (read(p->fd, ids, sizeof(ids)) < 0 && errno != EAGAIN)
			p->error = -errno;
	}
	return NULL;
}

TEST_F(poll, many_pollers)
{
	struct poller pollers[POLLERS] = {};
	struct poller *p;

	for (p = pollers; p < pollers + POLLERS; p++) {
		p->fd = (p - pollers) % 2 ? device_open(O_NONBLOCK) : self->fd;
		ASSERT_LE(0, p->fd);
		ASSERT_EQ(0, pthread_create(&p->thread, NULL, poll_and_read, p));
	}
	for (p = pollers; p < pollers + POLLERS; p++) {
		pthread_join(p->thread, NULL);
		EXPECT_EQ(0, p->error);
		EXPECT_GE(LATE_NS, p->worst);
	}
}

/* Somebody else uses up every tick: a poller still sees one now and then. */
TEST_F(poll, beside_greedy_readers)
{
	struct readers *rs = readers_new(2, MAX_READ_IDS);
	int i, seen = 0;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, readers_start(rs));
	for (i = 0; i < ROUNDS; i++)
		seen += poll_once(self->fd, POLLIN, WAIT_MS) == POLLIN;
	readers_stop(rs);
	EXPECT_EQ(ROUNDS, seen);
	EXPECT_STREQ("", readers_fault(rs, 0));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The window [not_before, not_after): the timestamps for which this host has the
 * sole right to its worker ids. Each id is inside on its own tick, by the tick's
 * first millisecond, whatever becomes of the reader meanwhile.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		14
#define READERS		4
#define READ_MAX_IDS	64
#define AT_ONCE_NS	(300 * NSEC_PER_MSEC)
#define LATE_NS		(500 * NSEC_PER_MSEC)
#define NEWS_NS		(1200 * NSEC_PER_MSEC)	/* in which pollers hear of it */
#define WAIT_MS		5000			/* for news that never come */
#define SOON_MS		150
#define WINDOW_MS	300
#define IN_FORCE_MS	100			/* a write may take a while */
#define NEAR_MS		10
#define EDGES		5
#define SHRINKS		20
#define RISES		5
#define STOPS		20			/* fault 14 */
#define USED_MS		150			/* of the window's end, at least once */
#define LONG_BLOCK	4096
#define PAUSE_NS		(200 * NSEC_PER_USEC)
#define HOUR_NS		(3600 * NSEC_PER_SEC)

#define ms_of(ns)	((ns) / NSEC_PER_MSEC)

/* A block lives as long as its tick: long enough to be found after a write. */
static const struct layout slow = {
	CUSTOM, 34, 10, 19, WORKER_SEQUENCE, 200, 1262304000000LL,
};

FIXTURE(window) {
	int fd;
	int nonblock;
	const struct layout *layout;
	struct readers *rs;
};

FIXTURE_VARIANT(window) {
	const struct layout *layout;
	int cpu_block;
};

FIXTURE_VARIANT_ADD(window, ticks_of_1ms) { &presets[TWITTER], CPU_BLOCK };
FIXTURE_VARIANT_ADD(window, ticks_of_10ms) { &presets[SONYFLAKE], CPU_BLOCK };
FIXTURE_VARIANT_ADD(window, ticks_of_200ms) { &slow, LONG_BLOCK };

FIXTURE_SETUP(window)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->layout = variant->layout;
	ASSERT_EQ(0, layout_put(self->layout));
	if (variant->cpu_block != CPU_BLOCK)
		ASSERT_EQ(0, attr_put_number("cpu_block", variant->cpu_block));
	ASSERT_EQ(0, devices_open(&self->fd, &self->nonblock));
	self->rs = readers_new(READERS, READ_MAX_IDS);
	ASSERT_NE(NULL, self->rs);
	self->rs->each[0].max_ids = 1;
	self->rs->each[1].max_ids = 1;
}

FIXTURE_TEARDOWN(window)
{
	EXPECT_EQ(0, reset());
}

/* The first millisecond of the tick of an instant. */
static int64_t tick_begin(const struct layout *l, int64_t ms)
{
	return l->epoch_ms + layout_tick_at(l, ms) * l->tick_ms;
}

/* An instant in the middle of a tick, or a tick of 1 ms. */
static int64_t mid_tick(const struct layout *l, int64_t ms)
{
	return tick_begin(l, ms) + l->tick_ms / 2;
}

static int64_t put_not_after(int64_t ms)
{
	return attr_put_number("not_after_ms", ms);
}

static int64_t put_not_before(int64_t ms)
{
	return attr_put_number("not_before_ms", ms);
}

/* Readers have come on since, if only in the next tick. */
static bool come_on(const struct layout *l, const struct readers *rs, uint64_t ids)
{
	int64_t end = monotonic_ns() + 2 * l->tick_ms * NSEC_PER_MSEC + LATE_NS;

	while (readers_ids(rs) <= ids) {
		if (monotonic_ns() > end)
			return false;
		sleep_ns(NSEC_PER_MSEC / 4);
	}
	return true;
}

static void sleep_until_ms(int64_t ms)
{
	int64_t ns = ms * NSEC_PER_MSEC - realtime_ns();

	if (ns > 0)
		sleep_ns(ns);
}

/* An end so far ahead that the write is through; so long after a tick's begin. */
static int64_t end_soon(struct __test_metadata *_metadata, const struct layout *l,
			int after)
{
	int64_t end;

	do {
		end = tick_begin(l, now_ms() + IN_FORCE_MS + l->tick_ms) + after;
		ASSERT_EQ(0, put_not_after(end));
	} while (now_ms() > end - NEAR_MS);
	return end;
}

/* From the first tick inside to the last, with readers waiting for both. */
TEST_F(window, fault14_every_id_is_inside)
{
	const struct layout *l = self->layout;
	int64_t begin, end, first = INT64_MAX, last = 0;
	struct reader *r;

	begin = mid_tick(l, now_ms() + SOON_MS);
	end = mid_tick(l, begin + WINDOW_MS + l->tick_ms);
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "5000"));
	ASSERT_EQ(0, put_not_before(begin));
	ASSERT_EQ(0, put_not_after(end));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	for_each_reader(r, self->rs)
		r->target = UINT64_MAX;		/* to its first failure */
	ASSERT_EQ(0, readers_start(self->rs));
	readers_wait(self->rs);

	EXPECT_STREQ("", readers_fault(self->rs, EKEYEXPIRED));
	EXPECT_EQ(READERS, readers_failed(self->rs, EKEYEXPIRED));
	EXPECT_STREQ("expired", attr_string("state"));
	EXPECT_LE(end, now_ms());
	for_each_reader(r, self->rs) {
		int64_t ms;

		if (!r->log.count)
			continue;
		ms = layout_begin_ms(l, r->log.run[0].first);
		EXPECT_LE(begin, ms);
		if (ms < first)
			first = ms;
		ms = layout_begin_ms(l, r->log.last);
		EXPECT_GT(end, ms);
		if (ms > last)
			last = ms;
	}
	/* And it was used, from end to end. */
	EXPECT_GE(begin + l->tick_ms + USED_MS, first);
	EXPECT_LE(end - l->tick_ms - USED_MS, last);
}

/* What a read gave is right for some instant between its begin and end. */
TEST_F(window, fault14_the_edges_are_exact)
{
	const struct layout *l = self->layout;
	int64_t begin, end, before, after, ms;
	unsigned int early, inside, over;
	int edge, err;
	uint64_t id;

	begin = mid_tick(l, now_ms() + 2 * SOON_MS);
	end = mid_tick(l, begin + l->tick_ms + IN_FORCE_MS);
	ASSERT_EQ(0, put_not_before(begin));
	ASSERT_EQ(0, put_not_after(end));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	for (edge = 0; edge < EDGES; edge++) {
		/* Over and over, the end is moved: ids come on where it was. */
		if (edge)
			end = end_soon(_metadata, l, l->tick_ms / 2);
		early = 0;
		inside = 0;
		over = 0;
		do {
			before = now_ms();
			err = read_id(self->nonblock, &id);
			after = now_ms();
			switch (err) {
			case 0:
				inside++;
				ms = layout_begin_ms(l, id);
				ASSERT_LE(begin, ms);
				ASSERT_GT(end, ms);
				ASSERT_LE(tick_begin(l, before), ms);
				ASSERT_GE(after, ms);
				break;
			case -EAGAIN:
				inside++;
				ASSERT_LE(begin, tick_begin(l, after));
				break;
			case -ECANCELED:
				early++;
				ASSERT_GT(begin, tick_begin(l, before));
				break;
			default:
				over++;
				ASSERT_EQ(-EKEYEXPIRED, err);
				ASSERT_LE(end, tick_begin(l, after));
				break;
			}
		} while (tick_begin(l, before) < end);
		EXPECT_LT(0, over);
		EXPECT_LT(0, inside);
		EXPECT_EQ(!edge, early > 0);
		EXPECT_STREQ("expired", attr_string("state"));
	}
}

/*
 * The window is cut while readers of single ids, and others, are at it with
 * blocks of the current tick. Once the write has returned no read may give an id
 * of the tick that it cut off.
 */
static const struct layout *cut_layout;
static int64_t cuts[SHRINKS + 1];
static atomic_uint cut_now;		/* which is in force; 0: none */
static atomic_uint past_the_cut;

static void *read_under_cuts(void *arg)
{
	static __thread uint64_t ids[READ_MAX_IDS];
	struct reader *r = arg;
	unsigned int cut;
	ssize_t got;

	pin_to_cpu(r->cpu);
	while (!atomic_load(&r->all->stop)) {
		cut = atomic_load(&cut_now);
		got = read(r->fd, ids, r->max_ids * ID_SIZE);
		if (got < 0) {
			r->failed[errno % ERRNOS]++;
			sched_yield();
			continue;
		}
		log_add(&r->log, ids, got / ID_SIZE);
		/* Of a read that began and ended in the time of one cut. */
		if (cut && cut == atomic_load(&cut_now) &&
		    layout_begin_ms(cut_layout, r->log.last) >= cuts[cut])
			atomic_fetch_add(&past_the_cut, 1);
		/* Slowly: a block must not be used up when the write returns. */
		if (cut_layout == &slow)
			sleep_ns(PAUSE_NS);
	}
	return NULL;
}

TEST_F(window, fault14_shrinking_under_load)
{
	const struct layout *l = self->layout;
	struct reader *r;
	uint64_t id;
	int i;

	cut_layout = l;
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	for_each_reader(r, self->rs) {
		if (l == &slow)
			r->max_ids = 1;
		r->fd = device_open(0);
		ASSERT_LE(0, r->fd);
		r->cpu = cpu_nth(r - self->rs->each);
		ASSERT_EQ(0, pthread_create(&r->thread, NULL, read_under_cuts, r));
	}
	for (i = 1; i <= SHRINKS; i++) {
		EXPECT_TRUE(come_on(l, self->rs, readers_ids(self->rs)));
		cuts[i] = tick_begin(l, now_ms());
		ASSERT_EQ(0, put_not_after(cuts[i]));
		atomic_store(&cut_now, i);
		EXPECT_EQ(-EKEYEXPIRED, read_id(self->fd, &id));
		EXPECT_EQ(-EKEYEXPIRED, read_id(self->nonblock, &id));
		sleep_ns(5 * NSEC_PER_MSEC);
		EXPECT_STREQ("expired", attr_string("state"));
		atomic_store(&cut_now, 0);
		ASSERT_EQ(0, put_not_after(0));
	}
	readers_stop(self->rs);
	EXPECT_EQ(0, past_the_cut);
	EXPECT_STREQ("", readers_fault(self->rs, EKEYEXPIRED));
}

/* not_before is cut the same way: no id of a tick before it. */
TEST_F(window, not_before_rises_under_load)
{
	const struct layout *l = self->layout;
	struct reader *r;
	int64_t begin;
	uint64_t id;
	int i, err;

	ASSERT_EQ(0, attr_put("rewind_wait_ms", "0"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	for_each_reader(r, self->rs)
		r->cpu = cpu_nth(r - self->rs->each);
	ASSERT_EQ(0, readers_start(self->rs));
	for (i = 0; i < RISES; i++) {
		sleep_ns(3 * NSEC_PER_MSEC);
		begin = mid_tick(l, now_ms() + l->tick_ms);
		ASSERT_EQ(0, put_not_before(begin));
		/* One that sleeps gets its turn beside the others. */
		while ((err = read_id(self->fd, &id)) == -ECANCELED) {
			ASSERT_GT(begin + 2 * l->tick_ms + ms_of(LATE_NS), now_ms());
			sleep_ns(NSEC_PER_MSEC / 4);
		}
		ASSERT_EQ(0, err);
		ASSERT_LE(begin, layout_begin_ms(l, id));
	}
	readers_stop(self->rs);
	EXPECT_STREQ("", readers_fault(self->rs, ECANCELED));
}

/* A process is stopped right before the end, and goes on after it. */
TEST_F(window, fault14_a_reader_stopped_across_the_end)
{
	const struct layout *l = self->layout;
	struct reader *r = &self->rs->each[0];
	int i, rounds = l->tick_ms == 1 ? STOPS : STOPS / 5;
	uint64_t id;
	int64_t end;
	pid_t pid;

	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	pid = fork_tied();
	ASSERT_LE(0, pid);
	if (!pid) {
		reader_run(r);
		_exit(0);
	}
	for (i = 0; i < rounds; i++) {
		/* As long as it lasts, it is used. */
		ASSERT_EQ(0, put_not_after(0));
		EXPECT_TRUE(come_on(l, self->rs, r->log.ids));
		end = end_soon(_metadata, l, 0);
		sleep_until_ms(end - 1 - i % 3);
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		sleep_until_ms(end + 10);
		ASSERT_EQ(0, kill(pid, SIGCONT));
		sleep_ns(10 * NSEC_PER_MSEC);
		EXPECT_GT(end, layout_begin_ms(l, r->log.last));
		EXPECT_EQ(-EKEYEXPIRED, read_id(self->fd, &id));
	}
	ASSERT_EQ(0, put_not_after(0));
	EXPECT_TRUE(come_on(l, self->rs, r->log.ids));
	atomic_store(&self->rs->stop, true);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_LT(0, r->failed[EKEYEXPIRED]);
	EXPECT_STREQ("", readers_fault(self->rs, EKEYEXPIRED));
}

TEST_F(window, not_yet)
{
	const struct layout *l = self->layout;
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	int64_t begin, gap_ms = 400 + 2 * l->tick_ms, started;
	struct stats before;
	uint64_t id = 0;

	ASSERT_EQ(0, start(WORKER));
	before = stats_now();
	begin = tick_begin(l, now_ms() + gap_ms);
	ASSERT_EQ(0, put_not_before(begin));
	started = monotonic_ns();
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, &id));
	EXPECT_GE(AT_ONCE_NS, monotonic_ns() - started);
	EXPECT_STREQ("not-yet", attr_string("state"));
	EXPECT_EQ(before.refused + 2, attr_number("stats/refused"));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN | POLLERR, pfd.revents);

	/* Waited out, if it is not longer than the patience of readers. */
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", 2 * gap_ms));
	EXPECT_EQ(0, read_id(self->fd, &id));
	EXPECT_LE(begin, layout_begin_ms(l, id));
	EXPECT_GE(begin + ms_of(LATE_NS), now_ms());
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_EQ(1, poll(&pfd, 1, 2 * l->tick_ms));
	EXPECT_EQ(POLLIN, pfd.revents);

	EXPECT_EQ(before.refused + 2, attr_number("stats/refused"));
	EXPECT_EQ(before.rewinds, attr_number("stats/rewinds"));
	EXPECT_EQ(before.forward_steps, attr_number("stats/forward_steps"));
}

/* A time that is yet to come is not taken for one that was handed out. */
TEST_F(window, not_yet_leaves_no_trace)
{
	const struct layout *l = self->layout;
	uint64_t last, id = 0;
	int64_t begin;

	ASSERT_EQ(0, start(WORKER));
	ASSERT_EQ(0, read_id(self->fd, &last));
	ASSERT_EQ(0, put_not_before(now_ms() + ms_of(HOUR_NS)));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_STREQ("not-yet", attr_string("state"));
	/* That of the id, by whichever millisecond of its tick. */
	EXPECT_EQ(layout_tick(l, last),
		  layout_tick_at(l, attr_number("last_timestamp_ms")));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, put_not_before(0));
	begin = monotonic_ns();
	ASSERT_EQ(0, start(WORKER));
	EXPECT_EQ(0, read_id(self->fd, &id));
	/* The tick in which the last id was made is not used again. */
	EXPECT_GE(l->tick_ms * NSEC_PER_MSEC + AT_ONCE_NS, monotonic_ns() - begin);
	EXPECT_GE(now_ms(), layout_begin_ms(l, id));
	EXPECT_LT(last, id);
}

/* What does not depend on the length of the tick. */
FIXTURE(one) {
	int fd;
	int nonblock;
};

FIXTURE_SETUP(one)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
}

FIXTURE_TEARDOWN(one)
{
	EXPECT_EQ(0, reset());
}

/* Ways to sleep until the window ends. */
enum way { POLL_ERRORS, EPOLL_LEVEL, EPOLL_EDGE, WAYS };

static int epoll_of(int fd, enum way way)
{
	struct epoll_event event = {
		.events = way == EPOLL_EDGE ? EPOLLIN | EPOLLET : 0,
	};
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : epoll;
}

static int wait_once(int fd, int epoll, enum way way)
{
	struct epoll_event event = {};
	struct pollfd pfd = { .fd = fd };

	if (way == POLL_ERRORS)
		return poll(&pfd, 1, WAIT_MS) < 0 ? -errno : pfd.revents;
	return epoll_wait(epoll, &event, 1, WAIT_MS) < 0 ? -errno : (int)event.events;
}

/* Until that is the answer; the time it took. */
static int64_t wait_for(int fd, int epoll, enum way way, int mask, int bits)
{
	int64_t begin = monotonic_ns();
	int got;

	do {
		got = wait_once(fd, epoll, way);
	} while (got >= 0 && (got & mask) != bits &&
		 monotonic_ns() - begin < WAIT_MS * NSEC_PER_MSEC);
	return monotonic_ns() - begin;
}

TEST_F(one, fault14_pollers_hear_of_the_end)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	enum way way;

	for (way = 0; way < WAYS; way++) {
		int epoll = epoll_of(self->fd, way);
		uint64_t id;

		ASSERT_LE(0, epoll);
		ASSERT_EQ(0, put_not_after(now_ms() + SOON_MS));
		EXPECT_GE(SOON_MS * NSEC_PER_MSEC + NEWS_NS,
			  wait_for(self->fd, epoll, way, POLLERR, POLLERR)) {
			TH_LOG("way %d", way);
		}
		EXPECT_EQ(-EKEYEXPIRED, read_id(self->fd, &id));
		EXPECT_STREQ("expired", attr_string("state"));
		EXPECT_EQ(1, poll(&pfd, 1, 0));
		EXPECT_EQ(POLLIN | POLLERR, pfd.revents);

		ASSERT_EQ(0, put_not_after(0));
		EXPECT_EQ(0, read_id(self->fd, &id));
		EXPECT_EQ(1, poll(&pfd, 1, WAIT_MS));
		EXPECT_EQ(POLLIN, pfd.revents);
		close(epoll);
	}
}

/* A poller sleeps in an ended window, and another process extends it. */
TEST_F(one, pollers_hear_of_the_extension)
{
	int epoll = epoll_of(self->fd, EPOLL_EDGE);
	uint64_t id;
	pid_t pid;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, put_not_after(now_ms()));
	EXPECT_GE(NEWS_NS, wait_for(self->fd, epoll, EPOLL_EDGE, POLLERR, POLLERR));
	pid = fork_tied();
	ASSERT_LE(0, pid);
	if (!pid) {
		sleep_ns(100 * NSEC_PER_MSEC);
		_exit(put_not_after(now_ms() + ms_of(HOUR_NS)));
	}
	EXPECT_GE(100 * NSEC_PER_MSEC + NEWS_NS,
		  wait_for(self->fd, epoll, EPOLL_EDGE, POLLIN | POLLERR, POLLIN));
	EXPECT_EQ(0, read_id(self->fd, &id));
}

TEST_F(one, not_before_only_rises_while_minting)
{
	int64_t ms = now_ms();
	uint64_t id;
	int err;

	ASSERT_EQ(0, put_not_before(ms - 1000));
	EXPECT_EQ(0, put_not_before(ms - 1000));
	EXPECT_EQ(0, put_not_before(ms - 999));
	err = put_not_before(ms - 1000);
	EXPECT_TRUE(err == -EBUSY || err == -EINVAL) TH_LOG("%d", err);
	err = put_not_before(0);
	EXPECT_TRUE(err == -EBUSY || err == -EINVAL) TH_LOG("%d", err);
	EXPECT_EQ(ms - 999, attr_number("not_before_ms"));
	EXPECT_EQ(0, read_id(self->fd, &id));

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(0, put_not_before(ms - 1000));
	EXPECT_EQ(ms - 1000, attr_number("not_before_ms"));
	EXPECT_EQ(0, put_not_before(0));
	EXPECT_EQ(0, attr_number("not_before_ms"));
}

/* Hosts one after the other: what a guard writes, and in which order. */
TEST_F(one, the_order_of_a_guards_writes)
{
	int64_t ms = now_ms();
	uint64_t last, id;
	int64_t next;

	/* The window of the last time has ended; the next one lies after it. */
	ASSERT_EQ(0, put_not_after(ms));
	EXPECT_EQ(-EKEYEXPIRED, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	next = now_ms() + 50;
	ASSERT_EQ(0, put_not_before(next));
	ASSERT_EQ(0, put_not_after(next + ms_of(HOUR_NS)));
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "1000"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	ASSERT_EQ(0, read_id(self->fd, &last));
	EXPECT_LE(next, id_ms(last));

	/* The same without letting go of the worker id: never a way past it. */
	ms = now_ms() + 50;
	ASSERT_EQ(0, put_not_after(ms));
	next = ms + 50;
	ASSERT_EQ(0, put_not_before(next));
	EXPECT_GT(0, read_id(self->nonblock, &id));
	ASSERT_EQ(0, put_not_after(next + ms_of(HOUR_NS)));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_LE(next, id_ms(id));
	EXPECT_LT(last, id);
}

/*
 * What a guard does after a crash: not_before is the not_after that it stored
 * before. The clock may be wrong, and nothing is known of what was handed out.
 */
TEST_F(one, fault09_a_crash_and_a_wrong_clock)
{
	struct readers *rs = readers_new(2, READ_MAX_IDS);
	int64_t not_after = now_ms() + 300;
	struct reader *r;
	uint64_t id;

	ASSERT_NE(NULL, rs);
	for_each_reader(r, rs)
		r->target = UINT64_MAX;		/* to its first failure */
	ASSERT_EQ(0, put_not_after(not_after));
	ASSERT_EQ(0, reader_start(&rs->each[0]));
	pthread_join(rs->each[0].thread, NULL);
	EXPECT_LT(0, rs->each[0].failed[EKEYEXPIRED]);

	close_all();
	ASSERT_EQ(0, module_unload());
	ASSERT_EQ(0, clock_step(-HOUR_NS));
	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, put_not_before(not_after));
	ASSERT_EQ(0, put_not_after(not_after + ms_of(HOUR_NS)));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	EXPECT_STREQ("not-yet", attr_string("state"));

	/* Nearly right again: what is left passes. */
	ASSERT_EQ(0, clock_step(not_after * NSEC_PER_MSEC - realtime_ns() -
				NSEC_PER_SEC / 5));
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "1000"));
	ASSERT_EQ(0, reader_start(&rs->each[1]));
	sleep_ns(NSEC_PER_SEC / 2);
	ASSERT_EQ(0, put_not_after(now_ms()));
	pthread_join(rs->each[1].thread, NULL);
	EXPECT_STREQ("", readers_fault(rs, EKEYEXPIRED));
	EXPECT_LT(0, rs->each[1].log.ids);
	EXPECT_LE(not_after, id_ms(rs->each[1].log.run[0].first));
}

/* Within the limit of a lead, slewing begins at not_before. */
TEST_F(one, slew_starts_at_not_before)
{
	const int lead_ms = 1000;
	struct stats before = stats_now();
	int64_t begin, set, after, left;
	uint64_t id, last = 0;
	int i;

	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	set = monotonic_ns();
	begin = now_ms() + lead_ms;
	ASSERT_EQ(0, put_not_before(begin));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, read_id(self->fd, &id));
		after = monotonic_ns();
		EXPECT_LT(last, id);
		EXPECT_LE(begin, id_ms(id));
		/* The pace of a lead, from there on. */
		EXPECT_GE(begin + (after - set) * 15 / 16 / NSEC_PER_MSEC + 1,
			  id_ms(id));
		last = id;
		sleep_ns(10 * NSEC_PER_MSEC);
	}
	left = ms_of(lead_left(lead_ms * NSEC_PER_MSEC, monotonic_ns() - set));
	EXPECT_GE(lead_ms, attr_number("lead_ms"));
	EXPECT_LE(left - ms_of(AT_ONCE_NS), attr_number("lead_ms"));
	EXPECT_STREQ("running", attr_string("state"));
	EXPECT_EQ(before.rewinds, attr_number("stats/rewinds"));
	EXPECT_EQ(before.refused, attr_number("stats/refused"));
}

TEST_F(one, slew_does_not_start_beyond_the_limit)
{
	const int limit_ms = 500, beyond_ms = 300;
	int64_t begin, started;
	uint64_t id;
	int err;

	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	ASSERT_EQ(0, attr_put_number("lead_limit_ms", limit_ms));
	started = monotonic_ns();
	begin = now_ms() + limit_ms + beyond_ms;
	ASSERT_EQ(0, put_not_before(begin));
	EXPECT_EQ(-ECANCELED, read_id(self->nonblock, &id));
	EXPECT_STREQ("not-yet", attr_string("state"));
	while ((err = read_id(self->nonblock, &id)) == -ECANCELED ||
	       err == -EAGAIN) {
		ASSERT_GT(begin + ms_of(LATE_NS), now_ms());
		sleep_ns(NSEC_PER_MSEC);
	}
	EXPECT_EQ(0, err);
	EXPECT_LE(begin, id_ms(id));
	/* As soon as the limit allows, in whole milliseconds. */
	EXPECT_LE((beyond_ms - 1) * NSEC_PER_MSEC, monotonic_ns() - started);
	EXPECT_GE(limit_ms, attr_number("lead_ms"));
	EXPECT_GE(beyond_ms * NSEC_PER_MSEC + limit_ms * NSEC_PER_MSEC / 2,
		  monotonic_ns() - started);
}

/* Those who keep ids look at one number: it rises whenever those may be void. */
static void generation(struct __test_metadata *_metadata, const uint32_t *page,
		       int64_t *last, bool rises, const char *what)
{
	int64_t now = attr_number("generation");

	EXPECT_EQ(rises, now != *last) TH_LOG("%s: %jd", what, now);
	EXPECT_LE(*last, now) TH_LOG("%s", what);
	EXPECT_EQ(*page, now) TH_LOG("%s", what);
	*last = now;
}

TEST_F(one, the_generation)
{
	int64_t last = attr_number("generation"), ms = now_ms() + ms_of(HOUR_NS);
	uint32_t *page;
	uint64_t id;

	page = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_LT(0, last);
	EXPECT_EQ(0, put_not_after(ms));
	generation(_metadata, page, &last, true, "closed");
	EXPECT_EQ(0, put_not_after(ms + 1));
	generation(_metadata, page, &last, false, "extended");
	EXPECT_EQ(0, put_not_after(ms));
	generation(_metadata, page, &last, true, "shortened");
	EXPECT_EQ(0, put_not_after(0));
	generation(_metadata, page, &last, false, "opened");
	EXPECT_EQ(0, put_not_before(1));
	generation(_metadata, page, &last, true, "begins");
	EXPECT_EQ(0, put_not_before(now_ms() - 1000));
	generation(_metadata, page, &last, true, "begins later");

	EXPECT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(0, attr_put("rewind_policy", "slew"));
	EXPECT_EQ(0, attr_put("rewind_policy", "refuse"));
	EXPECT_EQ(0, attr_put("lead_limit_ms", "77"));
	EXPECT_EQ(-EINVAL, put_not_after(-1));
	generation(_metadata, page, &last, false, "policies and reads");

	EXPECT_EQ(0, clock_step(NSEC_PER_MSEC));
	sleep_ns(10 * NSEC_PER_MSEC);
	generation(_metadata, page, &last, true, "a step ahead");
	EXPECT_EQ(0, clock_step(-NSEC_PER_MSEC));
	sleep_ns(10 * NSEC_PER_MSEC);
	generation(_metadata, page, &last, true, "a step back");
	EXPECT_EQ(0, attr_put_number("worker_id", WORKER));
	generation(_metadata, page, &last, true, "put in force");
	munmap(page, getpagesize());
}

TEST_F(one, fault15_ranges)
{
	static const char *const names[] = { "not_before_ms", "not_after_ms" };
	static const char *const bad[] = {
		"-1", "-1\n", "x", "7x", "\n", "1 2", "1.5", "1e3", "0x10", "none",
		"9223372036854775808", "18446744073709551615",
		"18446744073709551616", "-18446744073709550616",
		"99999999999999999999999999999999999999999999999999999999999",
	};
	static const char *const good[] = { "1", "1234567890123\n", "4102444800000" };
	char path[256], text[64];
	unsigned int i, j, stopped;
	struct stat st;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), SYSFS "%s", names[i]);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0644, st.st_mode & 07777);
		EXPECT_EQ(0, attr_number(names[i]));
	}
	for (stopped = 0; stopped < 2; stopped++) {
		ASSERT_EQ(0, stopped ? attr_put("worker_id", "-1") : 0);
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			for (j = 0; j < ARRAY_SIZE(bad); j++) {
				EXPECT_EQ(-EINVAL, attr_put(names[i], bad[j])) {
					TH_LOG("%s took '%s'", names[i], bad[j]);
				}
				EXPECT_EQ(0, attr_number(names[i]));
			}
			for (j = 0; stopped && j < ARRAY_SIZE(good); j++) {
				EXPECT_EQ(0, attr_put(names[i], good[j]));
				ASSERT_EQ(0, attr_get(names[i], text, sizeof(text)));
				EXPECT_EQ(strcspn(good[j], "\n"), strlen(text));
				EXPECT_EQ(0, strncmp(good[j], text, strlen(text)));
			}
		}
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Bound sharing: each open file has one worker id of the range, each worker id
 * its own sequence.
 */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "layouts.h"
#include "kselftest_harness.h"
#include "../../kmod/uapi/snowflake.h"

#define FIRST		17
#define SHARDS		1000
#define MOST		8192		/* of a range that is bound */
#define WAIT_MS		1000
#define BATCH		32
#define REOPENS		3000
#define REOPENED	200		/* of these within one tick, at the least */
#define THREADS		4
#define THREAD_IDS	20000
#define FULL_TICKS	5
#define FULL_NS		(10 * NSEC_PER_SEC)
#define SETTLE_NS	(5 * NSEC_PER_SEC)
#define DAY_NS		(86400 * NSEC_PER_SEC)
#define ALL_FILES	(MOST + 64)

static const struct layout *const instagram = &presets[INSTAGRAM];

/* A range, bound, and in force; the clock has caught up with it. */
static int bound_start(const struct layout *l, int first, int count)
{
	int64_t end = monotonic_ns() + SETTLE_NS;
	uint64_t id;
	int fd, err;

	err = attr_put("worker_id", "-1");
	if (!err)
		err = layout_put(l);
	if (!err)
		err = attr_put_number("worker_count", count);
	if (!err)
		err = attr_put("sharing", "bound");
	if (!err)
		err = attr_put_number("worker_id", first);
	if (err)
		return err;

	fd = device_open(O_NONBLOCK);
	if (fd < 0)
		return fd;
	err = device_bind(fd, first);
	while (!err) {
		err = read_id(fd, &id);
		if (!err || (err != -EAGAIN && err != -ECANCELED) ||
		    monotonic_ns() > end)
			break;
		sleep_ns(NSEC_PER_MSEC);
		err = 0;
	}
	close(fd);
	return err;
}

static int open_bound(int flags, uint64_t worker)
{
	int fd = device_open(flags), err;

	if (fd < 0)
		return fd;
	err = device_bind(fd, worker);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static short poll_now(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, 0) < 0 ? -1 : poller.revents;
}

FIXTURE(bound) {
	int fd;
};

FIXTURE_SETUP(bound)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, bound_start(instagram, FIRST, SHARDS));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(bound)
{
	EXPECT_EQ(0, reset());
}

TEST_F(bound, attributes)
{
	EXPECT_STREQ("bound", attr_string("sharing"));
	EXPECT_EQ(FIRST, attr_number("worker_id"));
	EXPECT_EQ(SHARDS, attr_number("worker_count"));
}

TEST_F(bound, once_and_within_the_range)
{
	static const uint64_t outside[] = {
		0, FIRST - 1, FIRST + SHARDS, 8191, 8192, UINT64_MAX,
		(1ULL << 32) + FIRST, (1ULL << 63) + FIRST, -(uint64_t)FIRST,
	};
	struct snowflake_bind bind = { .worker_id = FIRST + 3 };
	unsigned int i;
	uint64_t id;

	for (i = 0; i < ARRAY_SIZE(outside); i++)
		EXPECT_EQ(-EINVAL, device_bind(self->fd, outside[i])) {
			TH_LOG("bound to %ju", (uintmax_t)outside[i]);
		}
	for (i = 0; i < 64; i++) {
		bind.reserved = 1ULL << i;
		EXPECT_EQ(-1, ioctl(self->fd, SNOWFLAKE_IOC_BIND, &bind));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(-1, ioctl(self->fd, SNOWFLAKE_IOC_BIND, NULL));
	EXPECT_EQ(EFAULT, errno);
	/* None of that has bound it. */
	EXPECT_EQ(-EDESTADDRREQ, read_id(self->fd, &id));

	EXPECT_EQ(0, device_bind(self->fd, FIRST + 3));
	EXPECT_EQ(-EBUSY, device_bind(self->fd, FIRST + 3));
	EXPECT_EQ(-EBUSY, device_bind(self->fd, FIRST + 4));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(FIRST + 3, layout_worker(instagram, id));
}

TEST_F(bound, ends_of_the_range)
{
	int first = open_bound(0, FIRST), last = open_bound(0, FIRST + SHARDS - 1);

	ASSERT_LE(0, first);
	ASSERT_LE(0, last);
	EXPECT_STREQ("", layout_fault_now(instagram, first, FIRST));
	EXPECT_STREQ("", layout_fault_now(instagram, last, FIRST + SHARDS - 1));
}

/* A program that knows less, or more than there is, of the structure. */
TEST_F(bound, structure_of_another_size)
{
	struct {
		struct snowflake_bind bind;
		uint64_t more[2];
	} later = { .bind.worker_id = FIRST + 5 };
	uint64_t earlier = FIRST + 6, id;
	int fd = device_open(0);

	ASSERT_LE(0, fd);
	later.more[1] = 1;
	EXPECT_EQ(-1, ioctl(self->fd, _IOC(_IOC_WRITE, 0xFC, 1, sizeof(later)), &later));
	EXPECT_TRUE(errno == EINVAL || errno == E2BIG);
	EXPECT_EQ(-EDESTADDRREQ, read_id(self->fd, &id));
	later.more[1] = 0;
	EXPECT_EQ(0, ioctl(self->fd, _IOC(_IOC_WRITE, 0xFC, 1, sizeof(later)), &later));
	EXPECT_STREQ("", layout_fault_now(instagram, self->fd, FIRST + 5));

	/* There was none that is smaller: taken, or not at all. */
	if (ioctl(fd, _IOC(_IOC_WRITE, 0xFC, 1, sizeof(earlier)), &earlier)) {
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(-EDESTADDRREQ, read_id(fd, &id));
	} else {
		EXPECT_STREQ("", layout_fault_now(instagram, fd, FIRST + 6));
	}
}

TEST_F(bound, only_with_a_worker_id_and_when_bound)
{
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(-ENXIO, device_bind(self->fd, FIRST));
	ASSERT_EQ(0, attr_put("sharing", "pooled"));
	EXPECT_EQ(-ENXIO, device_bind(self->fd, FIRST));
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST));
	EXPECT_EQ(-EINVAL, device_bind(self->fd, FIRST));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST));
	EXPECT_EQ(0, device_bind(self->fd, FIRST));
}

TEST_F(bound, unbound_is_edestaddrreq)
{
	long long refused = attr_number("stats/refused");
	long long minted = attr_number("stats/ids");
	int nonblock = device_open(O_NONBLOCK);
	uint64_t ids[BATCH];

	ASSERT_LE(0, nonblock);
	EXPECT_EQ(-EDESTADDRREQ, read_id(self->fd, ids));
	EXPECT_EQ(-EDESTADDRREQ, read_id(nonblock, ids));
	EXPECT_EQ(-1, read(self->fd, ids, sizeof(ids)));
	EXPECT_EQ(EDESTADDRREQ, errno);
	EXPECT_EQ(refused + 3, attr_number("stats/refused"));
	EXPECT_EQ(minted, attr_number("stats/ids"));
	EXPECT_EQ(POLLIN | POLLERR, poll_now(self->fd));
	EXPECT_EQ(POLLIN | POLLERR, poll_now(nonblock));

	/* It comes after ENXIO. */
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(-ENXIO, read_id(self->fd, ids));
	EXPECT_EQ(POLLIN | POLLERR, poll_now(self->fd));
}

/* Bound for good: also to a shard that a later range has no more. */
TEST_F(bound, a_range_that_lacks_the_shard)
{
	uint64_t id, last;
	int nonblock;

	ASSERT_EQ(0, device_bind(self->fd, FIRST));
	ASSERT_EQ(0, read_id(self->fd, &last));
	nonblock = open_bound(O_NONBLOCK, FIRST + 1);
	ASSERT_LE(0, nonblock);

	ASSERT_EQ(0, attr_put_number("worker_id", FIRST + 2));
	EXPECT_EQ(-EDESTADDRREQ, read_id(self->fd, &id));
	EXPECT_EQ(-EDESTADDRREQ, read_id(nonblock, &id));
	EXPECT_EQ(POLLIN | POLLERR, poll_now(self->fd));
	EXPECT_EQ(-EBUSY, device_bind(self->fd, FIRST + 2));

	/* It is there again. */
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST - 1));
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(FIRST, layout_worker(instagram, id));
	EXPECT_LT(last, id);
}

/* Also those at the ends of the field, in no matter how many files. */
TEST_F(bound, fault13_a_thousand_shards)
{
	static int fds[SHARDS];
	struct rlimit files = { ALL_FILES, ALL_FILES };
	uint64_t ids[BATCH], id;
	struct id_log log;
	int shard, i;
	ssize_t got;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_EQ(0, log_init(&log, 1 << 20));
	for (shard = 0; shard < SHARDS; shard++) {
		fds[shard] = open_bound(0, FIRST + shard);
		ASSERT_LE(0, fds[shard]) TH_LOG("shard %d", shard);
	}
	for (i = 0; i < 3; i++) {
		for (shard = 0; shard < SHARDS; shard++) {
			ASSERT_EQ(0, read_id(fds[shard], &id));
			ASSERT_EQ(FIRST + shard, (int)(id >> 10 & 0x1fff));
			log_add(&log, &id, 1);
			got = read(fds[shard], ids, sizeof(ids));
			ASSERT_EQ((ssize_t)sizeof(ids), got);
			ASSERT_LT(id, ids[0]);
			ASSERT_EQ(FIRST + shard, (int)(ids[0] >> 10 & 0x1fff));
			ASSERT_EQ(FIRST + shard, (int)(ids[BATCH - 1] >> 10 & 0x1fff));
			log_add(&log, ids, BATCH);
		}
	}
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &id));
	EXPECT_FALSE(log.full);
}

TEST_F(bound, at_most_8192)
{
	static const int shards[] = { 0, 1, 4095, 4096, 8190, 8191 };
	unsigned int i;
	int fd;

	ASSERT_EQ(0, bound_start(instagram, 0, MOST));
	for (i = 0; i < ARRAY_SIZE(shards); i++) {
		fd = open_bound(0, shards[i]);
		ASSERT_LE(0, fd);
		EXPECT_STREQ("", layout_fault_now(instagram, fd, shards[i]));
		close(fd);
	}

	/* The check of the whole: a range of a wider field, and the same pooled. */
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("layout/preset", "sonyflake"));
	ASSERT_EQ(0, attr_put("sharing", "pooled"));
	ASSERT_EQ(0, attr_put_number("worker_count", MOST + 1));
	EXPECT_EQ(0, attr_put("worker_id", "0"));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	EXPECT_EQ(-EINVAL, attr_put("worker_id", "0"));
	EXPECT_EQ(-1, attr_number("worker_id"));
	EXPECT_STREQ("no-worker", attr_string("state"));
	ASSERT_EQ(0, attr_put_number("worker_count", MOST));
	EXPECT_EQ(0, attr_put_number("worker_id", 65536 - MOST));
}

TEST_F(bound, fault17_each_number_of_a_tick_once)
{
	struct fill fill = {
		.layout = instagram,
		.fd = self->fd,
		.worker = FIRST + SHARDS - 1,
		.workers = 1,
	};

	ASSERT_EQ(0, device_bind(self->fd, fill.worker));
	EXPECT_STREQ("", fill_ticks(&fill, FULL_TICKS));
}

/* What is left of a tick, until it says EAGAIN. */
static int drain(int fd, struct id_log *log, int64_t *tick, uint64_t *in_tick)
{
	static uint64_t ids[MAX_READ_IDS];
	ssize_t got, i;

	for (;;) {
		got = read(fd, ids, sizeof(ids));
		if (got < 0)
			return errno == EAGAIN ? 0 : -errno;
		got /= ID_SIZE;
		log_add(log, ids, got);
		for (i = 0; i < got; i++) {
			if (layout_tick(instagram, ids[i]) != *tick)
				*in_tick = 0;
			*tick = layout_tick(instagram, ids[i]);
			++*in_tick;
		}
	}
}

/* All of one tick for one shard, and all of the same tick for the next. */
TEST_F(bound, each_shard_has_a_ceiling_of_its_own)
{
	const uint64_t ceiling = layout_sequences(instagram);
	int64_t tick[3] = {}, end = monotonic_ns() + FULL_NS;
	unsigned int found = 0, i;
	uint64_t in_tick[3] = {};
	struct id_log log[3];
	int fd[3];

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		ASSERT_EQ(0, log_init(&log[i], 1 << 20));
		fd[i] = open_bound(O_NONBLOCK, FIRST + i);
		ASSERT_LE(0, fd[i]);
	}
	while (found < FULL_TICKS && monotonic_ns() < end) {
		for (i = 0; i < ARRAY_SIZE(fd); i++) {
			ASSERT_EQ(0, drain(fd[i], &log[i], &tick[i], &in_tick[i]));
			ASSERT_GE(ceiling, in_tick[i]);
		}
		found += tick[0] == tick[1] && tick[1] == tick[2] &&
			 in_tick[0] == ceiling && in_tick[1] == ceiling &&
			 in_tick[2] == ceiling;
		sleep_ns(NSEC_PER_MSEC / 2);
	}
	EXPECT_LE(FULL_TICKS, found) {
		TH_LOG("three shards never used up the same tick");
	}
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		EXPECT_EQ(0, log[i].falls);
}

/*
 * The word of a shard outlives the files that are bound to it: one that was
 * made anew would begin the same tick a second time.
 */
TEST_F(bound, reopened_within_a_tick)
{
	unsigned int i, same = 0;
	uint64_t ids[3], last = 0;
	struct id_log log;
	int fd;

	ASSERT_EQ(0, log_init(&log, 1 << 20));
	for (i = 0; i < REOPENS; i++) {
		fd = open_bound(0, FIRST + 7);
		ASSERT_LE(0, fd);
		ASSERT_EQ((ssize_t)sizeof(ids), read(fd, ids, sizeof(ids)));
		close(fd);
		same += layout_tick(instagram, ids[0]) == layout_tick(instagram, last);
		last = ids[2];
		log_add(&log, ids, 3);
	}
	EXPECT_LT(REOPENED, same) {
		TH_LOG("only %u reopened within a tick: shows little", same);
	}
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &last)) {
		TH_LOG("such as %ju", (uintmax_t)last);
	}
}

/* The same worker id, written again: a configuration shares no tick either. */
TEST_F(bound, put_in_force_again)
{
	uint64_t id, last = 0;
	int i, k, fd[2];

	for (k = 0; k < 2; k++) {
		fd[k] = open_bound(0, FIRST + 7 + k);
		ASSERT_LE(0, fd[k]);
	}
	for (i = 0; i < 50; i++) {
		/* What one shard has used up, no other may begin again. */
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, read_id(fd[(i + k) % 2], &id));
			if (!k && i) {
				ASSERT_LT(layout_tick(instagram, last),
					  layout_tick(instagram, id));
			}
			last = id;
		}
		ASSERT_EQ(0, attr_put_number("worker_id", FIRST + i % 2));
	}
}

TEST_F_TIMEOUT(bound, threads_on_shards_and_files, 60)
{
	struct readers *rs = readers_new(3 * THREADS, 300);
	struct reader *r;
	int shared;

	/* A third on shards of their own, a third with one, a third with one file. */
	ASSERT_NE(NULL, rs);
	shared = open_bound(0, FIRST + 100);
	ASSERT_LE(0, shared);
	for_each_reader(r, rs) {
		int nr = r - rs->each;

		r->target = THREAD_IDS;
		r->fd = nr % 3 == 0 ? open_bound(0, FIRST + nr) :
			nr % 3 == 1 ? open_bound(0, FIRST + 200) : shared;
		ASSERT_LE(0, r->fd);
	}
	ASSERT_EQ(0, readers_start(rs));
	readers_wait(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
	for_each_reader(r, rs) {
		int nr = r - rs->each;
		uint64_t shard = FIRST + (nr % 3 == 0 ? nr : nr % 3 == 1 ? 200 : 100);
		size_t i;

		EXPECT_LE(THREAD_IDS, r->log.ids);
		for (i = 0; i < r->log.count; i++) {
			ASSERT_EQ(shard, layout_worker(instagram, r->log.run[i].first));
			ASSERT_EQ(shard, layout_worker(instagram, r->log.run[i].end - 1));
		}
	}
}

/* An open file has one binding, however it came to the one that reads it. */
TEST_F(bound, fault11_fork_shares_the_binding)
{
	uint64_t ids[2], mine;
	int pipes[2], status, copy, unbound = device_open(0);

	ASSERT_LE(0, unbound);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, device_bind(self->fd, FIRST + 9));
	if (!fork_tied()) {
		int err = device_bind(self->fd, FIRST + 10);

		if (err != -EBUSY || read_id(self->fd, &ids[0]))
			_exit(1);
		/* What the child binds is bound for the parent. */
		if (device_bind(unbound, FIRST + 11) || read_id(unbound, &ids[1]))
			_exit(2);
		if (write(pipes[1], ids, sizeof(ids)) != sizeof(ids))
			_exit(3);
		_exit(0);
	}
	wait(&status);
	ASSERT_EQ(0, status) TH_LOG("the child ended at %d", WEXITSTATUS(status));
	ASSERT_EQ((ssize_t)sizeof(ids), read(pipes[0], ids, sizeof(ids)));
	EXPECT_EQ(FIRST + 9, layout_worker(instagram, ids[0]));
	EXPECT_EQ(FIRST + 11, layout_worker(instagram, ids[1]));

	ASSERT_EQ(0, read_id(self->fd, &mine));
	EXPECT_EQ(FIRST + 9, layout_worker(instagram, mine));
	EXPECT_LT(ids[0], mine);
	EXPECT_EQ(-EBUSY, device_bind(unbound, FIRST + 11));
	ASSERT_EQ(0, read_id(unbound, &mine));
	EXPECT_EQ(FIRST + 11, layout_worker(instagram, mine));
	EXPECT_LT(ids[1], mine);

	copy = dup(self->fd);
	EXPECT_EQ(-EBUSY, device_bind(copy, FIRST + 12));
	EXPECT_STREQ("", layout_fault_now(instagram, copy, FIRST + 9));
}

/* Many at once that bind one file: one of them does. */
static void *bind_it(void *arg)
{
	struct reader *r = arg;
	int err;

	err = device_bind(r->fd, r->target);
	r->failed[-err]++;
	return NULL;
}

TEST_F(bound, one_of_many_binds)
{
	struct readers *rs = readers_new(THREADS, 1);
	struct reader *r;
	int round, fd;
	uint64_t id;

	ASSERT_NE(NULL, rs);
	for (round = 0; round < 200; round++) {
		fd = device_open(0);
		ASSERT_LE(0, fd);
		for_each_reader(r, rs) {
			r->fd = fd;
			r->target = FIRST + (r - rs->each);
			r->failed[0] = 0;
			r->failed[EBUSY] = 0;
		}
		for_each_reader(r, rs)
			ASSERT_EQ(0, pthread_create(&r->thread, NULL, bind_it, r));
		readers_wait(rs);
		ASSERT_EQ(1, readers_failed(rs, 0));
		ASSERT_EQ(THREADS - 1, readers_failed(rs, EBUSY));
		ASSERT_EQ(0, read_id(fd, &id));
		for_each_reader(r, rs)
			if (r->failed[0]) {
				ASSERT_EQ(r->target, layout_worker(instagram, id));
			}
		close(fd);
	}
}

/* Where the worker id is lowest and the tick long. */
TEST_F(bound, in_sonyflake)
{
	const struct layout *l = &presets[SONYFLAKE];
	struct fill fill = { .layout = l, .workers = 1 };
	int k;

	ASSERT_EQ(0, bound_start(l, 60000, 3));
	for (k = 0; k < 3; k++) {
		fill.worker = 60000 + k;
		fill.fd = open_bound(0, fill.worker);
		ASSERT_LE(0, fill.fd);
		EXPECT_STREQ("", layout_fault_now(l, fill.fd, fill.worker));
		EXPECT_STREQ("", fill_ticks(&fill, FULL_TICKS));
	}
}

/* Each shard starts its own tick somewhere else; none repeats, all are reached. */
TEST_F(bound, with_spread)
{
	struct fill fill = { .layout = instagram, .workers = 1 };
	unsigned int zeros = 0, i;
	uint64_t id;
	int k;

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("sequence_start", "spread"));
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST));
	for (k = 0; k < 3; k++) {
		fill.worker = FIRST + k;
		fill.fd = open_bound(0, fill.worker);
		ASSERT_LE(0, fill.fd);
		for (i = 0; i < 50; i++) {
			sleep_ns(3 * NSEC_PER_MSEC);
			ASSERT_EQ(0, read_id(fill.fd, &id));
			/* In the lower quarter. */
			ASSERT_GT(layout_sequences(instagram) / 4,
				  layout_sequence(instagram, id));
			zeros += !layout_sequence(instagram, id);
		}
		EXPECT_STREQ("", fill_ticks(&fill, FULL_TICKS));
	}
	EXPECT_GT(50, zeros);
}

FIXTURE(bound_clock) {
};

FIXTURE_SETUP(bound_clock)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, module_reload(""));
	ASSERT_EQ(0, bound_start(instagram, FIRST, 4));
}

FIXTURE_TEARDOWN(bound_clock)
{
	close_all();
	EXPECT_EQ(0, clock_restore());
	EXPECT_EQ(0, module_reload(""));
	EXPECT_EQ(0, reset());
}

/* A shard that nobody read from is no further than the one that was read. */
TEST_F(bound_clock, set_back_a_day)
{
	int read_from = open_bound(0, FIRST), unread = open_bound(0, FIRST + 1), fd;
	struct id_log log;
	uint64_t id;

	ASSERT_LE(0, read_from);
	ASSERT_LE(0, unread);
	ASSERT_EQ(0, log_init(&log, 1 << 10));
	ASSERT_EQ(0, read_id(read_from, &id));
	log_add(&log, &id, 1);
	ASSERT_EQ(0, clock_step(-DAY_NS));
	EXPECT_EQ(-ECANCELED, read_id(read_from, &id));

	/* A disjoint range of shards mints at once, an overlapping one does not. */
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST + 3));
	fd = open_bound(0, FIRST + 3);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECANCELED, read_id(fd, &id));
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST + 20));
	fd = open_bound(0, FIRST + 20);
	ASSERT_LE(0, fd);
	EXPECT_STREQ("", layout_fault_now(instagram, fd, FIRST + 20));
	/* Which of the two is first is EDESTADDRREQ. */
	EXPECT_EQ(-EDESTADDRREQ, read_id(read_from, &id));
	EXPECT_EQ(-EDESTADDRREQ, read_id(unread, &id));

	ASSERT_EQ(0, clock_restore());
	ASSERT_EQ(0, attr_put_number("worker_id", FIRST));
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	fd = open_bound(0, FIRST);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, read_id(fd, &id));
	log_add(&log, &id, 1);
	EXPECT_EQ(0, log.falls);
}

TEST_F(bound_clock, each_shard_waits_out_a_small_step)
{
	uint64_t last[4], id;
	int fd[4], k, round;

	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	for (k = 0; k < 4; k++) {
		fd[k] = open_bound(0, FIRST + k);
		ASSERT_LE(0, fd[k]);
		last[k] = 0;
	}
	for (round = 0; round < 20; round++) {
		for (k = 0; k < 4; k++) {
			ASSERT_EQ(0, read_id(fd[(round + k) % 4], &id));
			ASSERT_LT(last[(round + k) % 4], id);
			last[(round + k) % 4] = id;
		}
		ASSERT_EQ(0, clock_step(-5 * NSEC_PER_MSEC));
	}
}

TEST_HARNESS_MAIN

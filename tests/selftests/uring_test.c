// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reading and polling the device through io_uring, by liburing.
 */
#include <liburing.h>
#include <poll.h>

#include "kselftest_harness.h"
#include "snowflake_test.h"

#define WORKER		5
#define HOUR_MS		3600000LL
#define POLL_MS		1000		/* no poller sleeps longer past a change */
#define RING		64		/* requests at once */
#define ROUNDS		50

static void queue_read(struct io_uring *ring, int fd, void *to, size_t size,
		       uint64_t data, int flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_read(sqe, fd, to, size, -1);
	sqe->rw_flags = flags;
	io_uring_sqe_set_data64(sqe, data);
}

/* Submits what is queued and waits for as many results, in the order of data. */
static int ring_run(struct io_uring *ring, int *results, unsigned int count)
{
	int err = io_uring_submit_and_wait(ring, count);
	struct io_uring_cqe *cqe;

	for (; err >= 0 && count; count--) {
		err = io_uring_wait_cqe(ring, &cqe);
		if (err)
			break;
		results[io_uring_cqe_get_data64(cqe)] = cqe->res;
		io_uring_cqe_seen(ring, cqe);
	}
	return err < 0 ? err : 0;
}

/* One request and its result. */
static int ring_read_flags(struct io_uring *ring, int fd, void *to, size_t size,
			   int flags)
{
	int err, result;

	queue_read(ring, fd, to, size, 0, flags);
	err = ring_run(ring, &result, 1);
	return err ? err : result;
}

static int ring_read(struct io_uring *ring, int fd, void *to, size_t size)
{
	return ring_read_flags(ring, fd, to, size, 0);
}

static int ring_poll(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int err, result;

	io_uring_prep_poll_add(sqe, fd, POLLIN);
	io_uring_sqe_set_data64(sqe, 0);
	err = ring_run(ring, &result, 1);
	return err ? err : result & (POLLIN | POLLERR | POLLHUP);
}

FIXTURE(uring) {
	struct io_uring ring;
	int fd;
	int nonblock;
};

FIXTURE_SETUP(uring)
{
	const char *why = missing(NEED_ROOT);
	int err;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
	err = io_uring_queue_init(RING, &self->ring, 0);
	if (err)
		SKIP(return, "io_uring is not to be had here: %s", strerror(-err));
	/* A request that never completes must not hold the test for ever. */
	interrupt_every(5 * POLL_MS);
}

FIXTURE_TEARDOWN(uring)
{
	interrupt_every(0);
	io_uring_queue_exit(&self->ring);
	EXPECT_EQ(0, reset());
}

TEST_F(uring, single_reads)
{
	static uint64_t ids[MAX_READ_IDS];
	static const size_t sizes[] = { 8, 9, 15, 16, 800, 4096, 65536 };
	uint64_t last = 0;
	unsigned int i;
	int result;

	for (i = 0; i < ROUNDS * ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];

		result = ring_read(&self->ring, self->fd, ids, size);
		ASSERT_LT(0, result) TH_LOG("size %zu: %s", size, strerror(-result));
		ASSERT_EQ(0, result % (int)ID_SIZE);
		ASSERT_GE(size, (size_t)result);
		ASSERT_TRUE(rising(ids, result / ID_SIZE, &last));
	}
	result = ring_read(&self->ring, self->fd, ids, 7);
	EXPECT_EQ(-EINVAL, result);
	result = ring_read(&self->ring, self->fd, NULL, 8);
	EXPECT_EQ(-EFAULT, result);
}

TEST_F(uring, batches)
{
	static uint64_t ids[RING][16];
	int results[RING], i, round;
	struct id_log log;
	uint64_t sample;

	ASSERT_EQ(0, log_init(&log, 1 << 20));
	for (round = 0; round < 4 * ROUNDS; round++) {
		for (i = 0; i < RING; i++)
			queue_read(&self->ring, self->fd, ids[i],
				   (1 + i % 16) * ID_SIZE, i, 0);
		ASSERT_EQ(0, ring_run(&self->ring, results, RING));
		for (i = 0; i < RING; i++) {
			ASSERT_LT(0, results[i]) TH_LOG("%s", strerror(-results[i]));
			ASSERT_EQ(0, results[i] % (int)ID_SIZE);
			ASSERT_GE((1 + i % 16) * (int)ID_SIZE, results[i]);
			log_add(&log, ids[i], results[i] / ID_SIZE);
		}
	}
	/* Which of a batch came first is the kernel's affair. */
	log_sort(&log);
	EXPECT_EQ(0, log.negative);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &sample));
}

/*
 * With the tick used up: a request waits for the next, unless it says not to.
 * All are for more than a block, lest one be left on this CPU.
 */
TEST_F(uring, when_the_tick_is_used_up)
{
	static uint64_t ids[2 * CPU_BLOCK];
	unsigned int refused = 0;
	int result, i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, drain_tick(self->nonblock, NULL));
		result = ring_read(&self->ring, self->fd, ids, sizeof(ids));
		ASSERT_LT(0, result) TH_LOG("%s", strerror(-result));
		ASSERT_EQ(0, result % (int)ID_SIZE);
		ASSERT_EQ(WORKER, id_worker(ids[0]));

		ASSERT_EQ(0, drain_tick(self->nonblock, NULL));
		result = ring_read_flags(&self->ring, self->fd, ids, sizeof(ids), RWF_NOWAIT);
		ASSERT_TRUE(result > 0 || result == -EAGAIN) TH_LOG("%d", result);
		refused += result == -EAGAIN;

		/* O_NONBLOCK is for read(2): io_uring may wait in our place. */
		ASSERT_EQ(0, drain_tick(self->nonblock, NULL));
		result = ring_read(&self->ring, self->nonblock, ids, sizeof(ids));
		ASSERT_TRUE(result > 0 || result == -EAGAIN) TH_LOG("%d", result);
	}
	EXPECT_LT(0, refused);
}

TEST_F(uring, poll)
{
	int64_t begin;
	int result, i;
	uint64_t id;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, drain_tick(self->nonblock, NULL));
		begin = monotonic_ns();
		result = ring_poll(&self->ring, self->fd);
		EXPECT_EQ(POLLIN, result);
		EXPECT_GE(POLL_MS * NSEC_PER_MSEC, monotonic_ns() - begin);
	}
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	result = ring_poll(&self->ring, self->fd);
	EXPECT_EQ(POLLIN | POLLERR, result);
	result = ring_read(&self->ring, self->fd, &id, ID_SIZE);
	EXPECT_EQ(-ENXIO, result);
}

/* The same errors as from read(2). */
TEST_F(uring, refusals)
{
	uint64_t id;
	int result;

	ASSERT_EQ(0, attr_put_number("not_after_ms", now_ms() - HOUR_MS));
	result = ring_read(&self->ring, self->fd, &id, ID_SIZE);
	EXPECT_EQ(-EKEYEXPIRED, result);
	ASSERT_EQ(0, attr_put("not_after_ms", "0"));
	result = ring_read(&self->ring, self->fd, &id, ID_SIZE);
	EXPECT_EQ((int)ID_SIZE, result);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a read costs, in instructions: under emulation at one instruction a
 * nanosecond the raw monotonic clock counts them. Elsewhere it is skipped.
 */
#include <snowflake.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define BATCH		200		/* reads that are timed together */
#define BATCHES		50		/* the cheapest one met no interrupt */
#define WARM_UP		1000
#define BULK		32768
#define READ8_PERCENT	125		/* of read(/dev/zero, 8) */
#define BULK_PER_ID	8		/* instructions */
#define NEXT_PERCENT	20		/* of read(/dev/snowflake, 8) */
#define NEXT_BATCH	4000		/* blocks are part of the cost */

FIXTURE(cost) {
	int fd;
	int zero;
};

FIXTURE_SETUP(cost)
{
	const char *why = missing(NEED_ROOT | NEED_ICOUNT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	/* So many that the ceiling is not met. */
	ASSERT_EQ(0, attr_put_number("worker_count", WORKERS));
	ASSERT_EQ(0, start(0));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
	self->zero = open("/dev/zero", O_RDONLY);
	ASSERT_LE(0, self->zero);
}

FIXTURE_TEARDOWN(cost)
{
	EXPECT_EQ(0, reset());
}

static int64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/*
 * Instructions of one read: the mean of the cheapest batch, since the cost of
 * a tick's first reads is part of it and that of the timer interrupt is not.
 */
static double cost_of(int fd, size_t size, unsigned int batch)
{
	static uint64_t ids[BULK / ID_SIZE];
	int64_t best = INT64_MAX, took;
	unsigned int i, k;

	for (i = 0; i < WARM_UP; i++)
		if (read(fd, ids, size) != (ssize_t)size)
			return -1;
	for (i = 0; i < BATCHES; i++) {
		took = raw_ns();
		for (k = 0; k < batch; k++)
			if (read(fd, ids, size) != (ssize_t)size)
				return -1;
		took = raw_ns() - took;
		if (took < best)
			best = took;
	}
	return (double)best / batch;
}

TEST_F(cost, one_id_against_dev_zero)
{
	double zero = cost_of(self->zero, ID_SIZE, BATCH);
	double mine = cost_of(self->fd, ID_SIZE, BATCH);

	ksft_print_msg("read8: %.0f zero8: %.0f ratio %.3f\n", mine, zero, mine / zero);
	ASSERT_LT(0, zero);
	ASSERT_LT(0, mine);
	EXPECT_LE(mine * 100, zero * READ8_PERCENT);
}

TEST_F(cost, bulk_per_id)
{
	double mine = cost_of(self->fd, BULK, BATCH / 20);
	double each = mine * ID_SIZE / BULK;

	ksft_print_msg("read32k: %.0f an id: %.2f\n", mine, each);
	ASSERT_LT(0, mine);
	EXPECT_LE(each, BULK_PER_ID);
}

/* Instructions of one cached next, as cost_of() has it. */
static double cost_of_next(unsigned int flags, unsigned int batch)
{
	int64_t best = INT64_MAX, took;
	struct snowflake *sf;
	unsigned int i, k;
	uint64_t id;

	if (snowflake_open(&sf, NULL, flags))
		return -1;
	for (i = 0; i < BATCHES; i++) {
		took = raw_ns();
		for (k = 0; k < batch; k++)
			if (snowflake_next(sf, &id))
				return -1;
		took = raw_ns() - took;
		/* The first is the one that finds out that ids are wanted. */
		if (i && took < best)
			best = took;
	}
	snowflake_close(sf);
	return (double)best / batch;
}

/* Instructions of looking at the clock, which a cached next has to do. */
static double cost_of_clock(unsigned int batch)
{
	int64_t best = INT64_MAX, took;
	struct timespec now;
	unsigned int i, k;

	for (i = 0; i < BATCHES; i++) {
		took = raw_ns();
		for (k = 0; k < batch; k++)
			clock_gettime(CLOCK_REALTIME, &now);
		took = raw_ns() - took;
		if (took < best)
			best = took;
	}
	return (double)best / batch;
}

TEST_F(cost, cached_next)
{
	double mine = cost_of(self->fd, ID_SIZE, BATCH);
	double next = cost_of_next(0, NEXT_BATCH);
	double direct = cost_of_next(SNOWFLAKE_DIRECT, BATCH);

	ksft_print_msg("next: %.0f of which clock: %.0f read8: %.0f ratio %.3f direct next: %.0f\n",
		       next, cost_of_clock(NEXT_BATCH), mine, next / mine, direct);
	ASSERT_LT(0, next);
	ASSERT_LT(0, mine);
	EXPECT_LE(next * 100, mine * NEXT_PERCENT);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ceiling of ranges, of other layouts, of shards and with spread. As in
 * rate_test, the figures repeat only where time follows instructions.
 */
#include <sys/mman.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		10
#define RATE_NS		NSEC_PER_SEC
#define RATE_PERMILLE	970		/* of the ceiling, at the least */
#define BATCH_TICKS	2		/* of one read */
#define SHARDS		4

FIXTURE(rate_range) {
	struct layout layout;
	uint64_t workers;
};

FIXTURE_VARIANT(rate_range) {
	struct layout layout;
	uint64_t workers;
	bool spread;
};

FIXTURE_VARIANT_ADD(rate_range, of_8) {
	.layout = { "twitter", 41, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS },
	.workers = 8,
};

FIXTURE_VARIANT_ADD(rate_range, spread) {
	.layout = { "twitter", 41, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS },
	.workers = 1,
	.spread = true,
};

FIXTURE_VARIANT_ADD(rate_range, spread_of_8) {
	.layout = { "twitter", 41, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS },
	.workers = 8,
	.spread = true,
};

FIXTURE_VARIANT_ADD(rate_range, sonyflake) {
	.layout = { "sonyflake", 39, 16, 8, SEQUENCE_WORKER, 10, 1409529600000LL },
	.workers = 1,
};

FIXTURE_VARIANT_ADD(rate_range, sonyflake_of_64) {
	.layout = { "sonyflake", 39, 16, 8, SEQUENCE_WORKER, 10, 1409529600000LL },
	.workers = 64,
};

FIXTURE_VARIANT_ADD(rate_range, js53_of_16) {
	.layout = { "js53", 41, 4, 8, WORKER_SEQUENCE, 1, 1577836800000LL },
	.workers = 16,
};

/* The default's widths and rate, with the worker id lowest. */
FIXTURE_VARIANT_ADD(rate_range, sequence_above_the_worker) {
	.layout = { CUSTOM, 41, 10, 12, SEQUENCE_WORKER, 1, EPOCH_MS },
	.workers = 1,
};

FIXTURE_SETUP(rate_range)
{
	const char *why = missing(NEED_ROOT | NEED_ICOUNT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, layout_put(&variant->layout));
	ASSERT_EQ(0, attr_put_number("worker_count", variant->workers));
	ASSERT_EQ(0, attr_put("sequence_start", variant->spread ? "spread" : "zero"));
	ASSERT_EQ(0, start(variant->workers < layout_workers(&variant->layout) ? WORKER : 0));
}

FIXTURE_TEARDOWN(rate_range)
{
	EXPECT_EQ(0, reset());
}

/* Ids in a second that a range can have. */
static int64_t ceiling(const struct layout *l, uint64_t workers)
{
	return workers * layout_sequences(l) * 1000 / l->tick_ms;
}

TEST_F(rate_range, one_reader_gets_it_all)
{
	const struct layout *l = &variant->layout;
	size_t count = BATCH_TICKS * variant->workers * layout_sequences(l);
	uint64_t *ids = malloc(count * ID_SIZE), last = 0;
	int64_t begin, took, total = 0, all = ceiling(l, variant->workers);
	int fd = device_open(0);

	ASSERT_NE(NULL, ids);
	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)(count * ID_SIZE), read(fd, ids, count * ID_SIZE));
	begin = monotonic_ns();
	do {
		ASSERT_EQ((ssize_t)(count * ID_SIZE), read(fd, ids, count * ID_SIZE));
		ASSERT_LT(last, ids[0]);
		last = ids[count - 1];
		total += count;
		took = monotonic_ns() - begin;
	} while (took < RATE_NS);

	ksft_print_msg("%s, %ju workers%s: %lld ids/s, %.3f %% of the ceiling\n",
		       l->preset, (uintmax_t)variant->workers,
		       variant->spread ? ", spread" : "",
		       (long long)(total * NSEC_PER_SEC / took),
		       total * 100.0 * NSEC_PER_SEC / took / all);
	EXPECT_LE(all * RATE_PERMILLE / 1000, total * NSEC_PER_SEC / took);
	free(ids);
}

/* Two greedy readers: no more than there is, and none twice. */
TEST_F(rate_range, readers_share_it)
{
	const struct layout *l = &variant->layout;
	struct readers *rs = readers_new(2, MAX_READ_IDS);
	int64_t begin, took, all = ceiling(l, variant->workers);
	uint64_t ids;

	ASSERT_NE(NULL, rs);
	begin = monotonic_ns();
	ASSERT_EQ(0, readers_start(rs));
	sleep_ns(RATE_NS / 2);
	readers_stop(rs);
	took = monotonic_ns() - begin;
	EXPECT_STREQ("", readers_fault(rs, 0));
	ids = readers_ids(rs);
	ksft_print_msg("%s, %ju workers%s: %.3f %% of the ceiling\n", l->preset,
		       (uintmax_t)variant->workers, variant->spread ? ", spread" : "",
		       ids * 100.0 * NSEC_PER_SEC / took / all);
	/* The begin may fall in the middle of a tick of 10 ms, the end too. */
	EXPECT_GE((uint64_t)(all * (took / NSEC_PER_MSEC + 3 * l->tick_ms) / 1000), ids);
	/* Logging them takes its time as well: only up to the default's rate. */
	EXPECT_LE((uint64_t)(all <= IDS_PER_SEC ? all * RATE_PERMILLE / 1000 : 0),
		  ids * NSEC_PER_SEC / took);
}

FIXTURE(rate_bound) {
};

FIXTURE_SETUP(rate_bound)
{
	const char *why = missing(NEED_ROOT | NEED_ICOUNT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, layout_put(&presets[INSTAGRAM]));
	ASSERT_EQ(0, attr_put_number("worker_count", SHARDS));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
}

FIXTURE_TEARDOWN(rate_bound)
{
	EXPECT_EQ(0, reset());
}

/* Every shard gets its own ceiling, at once. */
TEST_F(rate_bound, fault25_each_shard_gets_it_all)
{
	int64_t begin, took, all = ceiling(&presets[INSTAGRAM], 1);
	struct readers *rs = readers_new(SHARDS, MAX_READ_IDS);
	struct reader *r;

	ASSERT_NE(NULL, rs);
	for_each_reader(r, rs) {
		r->fd = device_open(0);
		ASSERT_LE(0, r->fd);
		ASSERT_EQ(0, device_bind(r->fd, WORKER + (r - rs->each)));
	}
	begin = monotonic_ns();
	ASSERT_EQ(0, readers_start(rs));
	sleep_ns(RATE_NS);
	readers_stop(rs);
	took = monotonic_ns() - begin;
	EXPECT_STREQ("", readers_fault(rs, 0));
	for_each_reader(r, rs) {
		ksft_print_msg("shard %ld: %.3f %% of the ceiling\n",
			       (long)(r - rs->each),
			       r->log.ids * 100.0 * NSEC_PER_SEC / took / all);
		EXPECT_LE((uint64_t)(all * RATE_PERMILLE / 1000),
			  r->log.ids * NSEC_PER_SEC / took);
	}
}

TEST_HARNESS_MAIN

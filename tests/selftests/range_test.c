// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ranges of worker ids: pooled into one sequence space, and the way out of a
 * floor that a wrong clock left behind.
 */
#include <poll.h>
#include <sys/mman.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define FULL_TICKS	4		/* to see used up */
#define READERS		4
#define READ_MAX_IDS	500
#define READER_IDS	50000
#define DAY_NS		(86400 * NSEC_PER_SEC)
#define WAIT_MS		1000
#define BATCH		64		/* ids of one read */
#define TURNS		6		/* between two ranges */
#define TURN_NS		(2 * NSEC_PER_SEC)

/*
 * The range of each case uses up a tick of so few numbers that the slowest of
 * machines sees all of its workers.
 */
FIXTURE(pooled) {
	struct fill fill;
};

FIXTURE_VARIANT(pooled) {
	struct layout layout;
	uint64_t worker;
	uint64_t workers;
};

FIXTURE_VARIANT_ADD(pooled, of_2_in_twitter) {
	.layout = { "twitter", 41, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS },
	.worker = 1022,
	.workers = 2,
};

FIXTURE_VARIANT_ADD(pooled, of_8) {
	.layout = { CUSTOM, 38, 10, 12, WORKER_SEQUENCE, 20, EPOCH_MS },
	.worker = 100,
	.workers = 8,
};

FIXTURE_VARIANT_ADD(pooled, of_3_in_sonyflake) {
	.layout = { "sonyflake", 39, 16, 8, SEQUENCE_WORKER, 10, 1409529600000LL },
	.worker = 65533,
	.workers = 3,
};

FIXTURE_VARIANT_ADD(pooled, of_16_in_js53) {
	.layout = { "js53", 41, 4, 8, WORKER_SEQUENCE, 1, 1577836800000LL },
	.worker = 0,
	.workers = 16,
};

FIXTURE_VARIANT_ADD(pooled, of_all_1024) {
	.layout = { CUSTOM, 41, 10, 2, WORKER_SEQUENCE, 1, EPOCH_MS },
	.worker = 0,
	.workers = 1024,
};

FIXTURE_VARIANT_ADD(pooled, of_all_1024_sequence_above) {
	.layout = { CUSTOM, 41, 10, 2, SEQUENCE_WORKER, 1, EPOCH_MS },
	.worker = 0,
	.workers = 1024,
};

/* Not a power of two, so that a mask does not stand in for a remainder. */
FIXTURE_VARIANT_ADD(pooled, of_37_sequence_above) {
	.layout = { CUSTOM, 40, 16, 4, SEQUENCE_WORKER, 3, EPOCH_MS },
	.worker = 7,
	.workers = 37,
};

FIXTURE_SETUP(pooled)
{
	const uint64_t block = layout_sequences(&variant->layout);
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->fill = (struct fill){
		.layout = &variant->layout,
		.worker = variant->worker,
		.workers = variant->workers,
	};
	ASSERT_EQ(0, layout_put(&variant->layout));
	ASSERT_EQ(0, attr_put_number("worker_count", variant->workers));
	ASSERT_EQ(0, attr_put_number("cpu_block", block < CPU_BLOCK ? block : CPU_BLOCK));
	ASSERT_EQ(0, start(variant->worker));
	self->fill.fd = device_open(0);
	ASSERT_LE(0, self->fill.fd);
}

FIXTURE_TEARDOWN(pooled)
{
	EXPECT_EQ(0, reset());
}

/* Every number of every worker of the range, and of no other. */
TEST_F(pooled, uses_all_its_workers)
{
	EXPECT_STREQ("", fill_ticks(&self->fill, FULL_TICKS));
	EXPECT_LE(FULL_TICKS, self->fill.full);
}

TEST_F(pooled, no_duplicate_and_rising_per_file)
{
	struct readers *rs = readers_new(READERS, READ_MAX_IDS);
	struct reader *r;
	size_t i;

	ASSERT_NE(NULL, rs);
	/* Half of them out of blocks, so that these too cross workers. */
	for_each_reader(r, rs) {
		r->target = READER_IDS / (variant->layout.tick_ms > 2 ? 10 : 1);
		if ((r - rs->each) % 2)
			r->max_ids = 4;
	}
	ASSERT_EQ(0, readers_start(rs));
	readers_wait(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
	for_each_reader(r, rs) {
		for (i = 0; i < r->log.count; i++) {
			uint64_t first = layout_worker(&variant->layout,
						       r->log.run[i].first);
			uint64_t last = layout_worker(&variant->layout,
						      r->log.run[i].end - 1);

			ASSERT_GT(variant->workers, first - variant->worker);
			ASSERT_GT(variant->workers, last - variant->worker);
		}
	}
}

/* Ids of one read rise, also where the next one's worker is the lower. */
TEST_F(pooled, one_read_rises)
{
	uint64_t ids[BATCH], last = 0, below = 0;
	int round, i;

	for (round = 0; round < 200; round++) {
		ASSERT_EQ((ssize_t)sizeof(ids), read(self->fill.fd, ids, sizeof(ids)));
		for (i = 0; i < BATCH; i++) {
			ASSERT_LT(last, ids[i]);
			if (layout_worker(&variant->layout, ids[i]) <
			    layout_worker(&variant->layout, last))
				below++;
			last = ids[i];
		}
	}
	EXPECT_TRUE(below || !layout_worker_low(&variant->layout)) {
		TH_LOG("no worker was ever below the one before: shows little");
	}
}

FIXTURE(range) {
	int fd;
};

FIXTURE_SETUP(range)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	/* Without a floor or ranges of other tests. */
	ASSERT_EQ(0, module_reload(""));
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(range)
{
	close_all();
	EXPECT_EQ(0, clock_restore());
	EXPECT_EQ(0, module_reload(""));
	EXPECT_EQ(0, reset());
}

static int put_range(int first, int count)
{
	int err = attr_put("worker_id", "-1");

	if (!err)
		err = attr_put_number("worker_count", count);
	return err ?: attr_put_number("worker_id", first);
}

/* Reads a batch into a log; 0 or the negative errno. */
static int read_batch(int fd, struct id_log *log)
{
	uint64_t ids[BATCH];
	ssize_t got = read(fd, ids, sizeof(ids));

	if (got < 0)
		return -errno;
	log_add(log, ids, got / ID_SIZE);
	return got == sizeof(ids) ? 0 : -EIO;
}

static short poll_now(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, 0) < 0 ? -1 : poller.revents;
}

/*
 * The floor is a day ahead of the clock. Ranges that have a worker in common
 * with one that minted stay refused; one that has none mints at once.
 */
static void check_way_out(struct __test_metadata *_metadata, int old, int unread,
			  struct id_log *log)
{
	static const struct {
		int first;
		int count;
		bool disjoint;
	} ranges[] = {
		{ 20, 4, false },	/* what was in force */
		{ 23, 1, false }, { 23, 5, false }, { 17, 4, false },
		{ 28, 4, true }, { 16, 1, true }, { 32, 992, true }, { 0, 16, true },
	};
	const struct layout *l = &presets[TWITTER];
	int64_t before, after;
	unsigned int i;
	uint64_t id;
	int fd, k;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		ASSERT_EQ(0, put_range(ranges[i].first, ranges[i].count));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		if (!ranges[i].disjoint) {
			EXPECT_EQ(-ECANCELED, read_id(fd, &id)) {
				TH_LOG("range %u", i);
			}
			EXPECT_STREQ("behind", attr_string("state"));
			close(fd);
			continue;
		}

		/* At the clock, but for the tick in which it was asked for. */
		before = realtime_ns() / NSEC_PER_MSEC;
		ASSERT_EQ(0, read_id(fd, &id)) TH_LOG("range %u", i);
		after = realtime_ns() / NSEC_PER_MSEC;
		EXPECT_LE(before, layout_begin_ms(l, id));
		EXPECT_GE(after, layout_begin_ms(l, id));
		EXPECT_LE(ranges[i].first, id_worker(id));
		EXPECT_GT(ranges[i].first + ranges[i].count, id_worker(id));
		EXPECT_STREQ("running", attr_string("state"));
		log_add(log, &id, 1);
		for (k = 0; k < 50; k++)
			ASSERT_EQ(0, read_batch(fd, log));

		/* Files opened before are refused until reopened. */
		for (k = 0; k < 20; k++) {
			/* With numbers left in the block of this CPU. */
			ASSERT_EQ(0, read_id(fd, &id));
			log_add(log, &id, 1);
			EXPECT_EQ(-ECANCELED, read_id(old, &id));
			EXPECT_EQ(-ECANCELED, read_id(unread, &id));
			EXPECT_EQ(POLLIN | POLLERR, poll_now(old));
			EXPECT_EQ(POLLIN | POLLERR, poll_now(unread));
		}
		/* What they were refused cost nobody anything. */
		ASSERT_EQ(0, read_batch(fd, log));
		close(fd);
	}
}

TEST_F(range, fault04_a_clock_that_was_a_day_ahead)
{
	int unread = device_open(0);
	struct id_log log;
	uint64_t id;

	ASSERT_LE(0, unread);
	ASSERT_EQ(0, log_init(&log, 1 << 16));
	ASSERT_EQ(0, put_range(20, 4));
	ASSERT_EQ(0, clock_step(DAY_NS));
	ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, clock_step(-DAY_NS));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	check_way_out(_metadata, self->fd, unread, &log);
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &id));
	close(unread);
}

TEST_F(range, a_clock_set_back_a_day)
{
	int unread = device_open(0), i;
	struct id_log log;
	uint64_t id;

	ASSERT_LE(0, unread);
	ASSERT_EQ(0, log_init(&log, 1 << 16));
	ASSERT_EQ(0, put_range(20, 4));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, read_batch(self->fd, &log));
	ASSERT_EQ(0, clock_step(-DAY_NS));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	check_way_out(_metadata, self->fd, unread, &log);
	close(unread);

	/* Back to the old range, whose time has come again. */
	ASSERT_EQ(0, put_range(20, 4));
	EXPECT_EQ(-ECANCELED, read_id(self->fd, &id));
	ASSERT_EQ(0, clock_restore());
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	close(self->fd);
	self->fd = device_open(0);
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, read_batch(self->fd, &log));
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &id)) {
		TH_LOG("such as %ju", (uintmax_t)id);
	}
}

/* A range that was asked for and never minted has not used its workers. */
TEST_F(range, asked_for_is_not_used)
{
	uint64_t id;
	int fd;

	ASSERT_EQ(0, put_range(20, 4));
	ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, clock_step(-DAY_NS));
	/* Tried in vain, as it has the old one's workers. */
	ASSERT_EQ(0, put_range(0, 1024));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECANCELED, read_id(fd, &id));
	close(fd);
	ASSERT_EQ(0, put_range(30, 1));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read_id(fd, &id));
}

/*
 * To and fro between two ranges while the clock is set back and ahead, so that
 * each comes back to instants at which it has minted.
 */
TEST_F(range, returning_repeats_nothing)
{
	static const int firsts[] = { 5, 9 };
	int i, k, err, fd, refused = 0;
	struct id_log log, kept;
	uint64_t sample = 0;
	int64_t end;

	ASSERT_EQ(0, log_init(&log, 1 << 18));
	ASSERT_EQ(0, log_init(&kept, 1 << 18));
	for (i = 0; i < 2 * TURNS; i++) {
		/* A B A B with -2 s, then +2 s, and both ranges at each. */
		ASSERT_EQ(0, put_range(firsts[i % 2], 1 + i % 3));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		end = monotonic_ns() + 50 * NSEC_PER_MSEC;
		for (k = 0; monotonic_ns() < end; k++) {
			err = read_batch(fd, &log);
			ASSERT_TRUE(!err || err == -ECANCELED) TH_LOG("error %d", err);
			refused += err == -ECANCELED;
			/* A file that stays open may be refused, and must not fall. */
			err = read_batch(self->fd, &kept);
			ASSERT_TRUE(!err || err == -ECANCELED) TH_LOG("error %d", err);
			sleep_ns(NSEC_PER_MSEC);
		}
		close(fd);
		ASSERT_EQ(0, i % 2 ? clock_step(i % 4 == 1 ? -TURN_NS : TURN_NS) : 0);
	}
	EXPECT_LT(0, refused);
	EXPECT_LT(TURNS * BATCH, log.ids);
	EXPECT_LT(0, kept.ids);
	EXPECT_EQ(0, kept.falls);
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log, &kept }, 2, &sample)) {
		TH_LOG("such as %ju, worker %d", (uintmax_t)sample, id_worker(sample));
	}
}

/* The same through another layout in which the worker ids are different ones. */
TEST_F(range, returning_by_way_of_another_layout)
{
	struct id_log log;
	int fd, i, err;
	uint64_t id;

	ASSERT_EQ(0, log_init(&log, 1 << 16));
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", 0));
	for (i = 0; i < 4; i++) {
		fd = device_open(0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(0, layout_put(&presets[TWITTER]));
		ASSERT_EQ(0, attr_put("worker_id", "5"));
		do {
			err = read_batch(fd, &log);
			if (err) {
				ASSERT_EQ(-ECANCELED, err);
				sleep_ns(NSEC_PER_MSEC);
			}
		} while (err);

		/* Disjoint by number, behind by time. */
		ASSERT_EQ(0, clock_step(-NSEC_PER_SEC / 4));
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(0, layout_put(&presets[SONYFLAKE]));
		ASSERT_EQ(0, attr_put_number("worker_id", 5000 + i));
		err = read_id(fd, &id);
		EXPECT_TRUE(!err || err == -ECANCELED);
		close(fd);
	}
	EXPECT_EQ(0, log.falls);
	log_sort(&log);
	EXPECT_EQ(0, logs_duplicates((struct id_log *[]){ &log }, 1, &id));
}

/*
 * Readers of a range that is moved to a disjoint one under load, with a clock
 * that was set back: they are refused, never given an old id or a foreign one.
 */
TEST_F(range, moved_away_under_load)
{
	struct readers *rs = readers_new(READERS, READ_MAX_IDS);
	struct reader *r;
	int i;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, put_range(20, 1));
	for_each_reader(r, rs)
		r->flags = (r - rs->each) % 2 ? O_NONBLOCK : 0;
	ASSERT_EQ(0, readers_start(rs));
	sleep_ns(50 * NSEC_PER_MSEC);
	ASSERT_EQ(0, clock_step(-DAY_NS));
	for (i = 0; i < 20; i++) {
		/* Without a stop between, so there is no ENXIO. */
		ASSERT_EQ(0, attr_put_number("worker_id", 30 + i));
		sleep_ns(5 * NSEC_PER_MSEC);
	}
	readers_stop(rs);
	for_each_reader(r, rs) {
		EXPECT_LT(0, r->failed[ECANCELED]);
		r->failed[EAGAIN] = 0;
		/* All ids are of the time before. */
		EXPECT_LT(realtime_ns() / NSEC_PER_MSEC, id_ms(r->log.last));
		EXPECT_EQ(20, id_worker(r->log.last));
	}
	EXPECT_STREQ("", readers_fault(rs, ECANCELED));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The attributes: what they take and refuse, and that a new worker id is in
 * force when the write returns, with no id twice.
 */
#include <poll.h>
#include <sys/stat.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		5
#define CHANGES		300
#define READERS		2
#define STEPS_BACK	40
#define STEP_BACK_NS	(40 * NSEC_PER_MSEC)	/* more than a grace period */

FIXTURE(config) {
	int fd;
};

FIXTURE_SETUP(config)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->fd = device_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(config)
{
	EXPECT_EQ(0, reset());
}

TEST_F(config, the_twitter_layout)
{
	EXPECT_STREQ("twitter", attr_string("layout/preset"));
	EXPECT_EQ(TIMESTAMP_BITS, attr_number("layout/timestamp_bits"));
	EXPECT_EQ(WORKER_BITS, attr_number("layout/worker_bits"));
	EXPECT_EQ(SEQUENCE_BITS, attr_number("layout/sequence_bits"));
	EXPECT_EQ(1, attr_number("layout/tick_ms"));
	EXPECT_EQ(EPOCH_MS, attr_number("layout/epoch_ms"));
	EXPECT_EQ(ENDS_MS, attr_number("layout/ends_ms"));
	EXPECT_STRNE("sequence-worker", attr_string("layout/order"));
}

TEST_F(config, writable_by_root_alone)
{
	static const struct {
		const char *name;
		mode_t mode;
	} cases[] = {
		{ "worker_id", 0644 }, { "worker_count", 0644 },
		{ "cpu_block", 0644 }, { "rewind_wait_ms", 0644 },
		{ "sharing", 0644 }, { "sequence_start", 0644 },
		{ "rewind_policy", 0644 }, { "lead_limit_ms", 0644 },
		{ "forward_limit_ms", 0644 },
		{ "not_before_ms", 0644 }, { "not_after_ms", 0644 },
		{ "state", 0444 }, { "last_timestamp_ms", 0444 },
		{ "generation", 0444 }, { "clone_detection", 0444 },
		{ "lead_ms", 0444 },
		{ "layout/preset", 0644 }, { "layout/timestamp_bits", 0644 },
		{ "layout/worker_bits", 0644 }, { "layout/sequence_bits", 0644 },
		{ "layout/order", 0644 }, { "layout/tick_ms", 0644 },
		{ "layout/epoch_ms", 0644 }, { "layout/ends_ms", 0444 },
		{ "stats/forward_steps", 0444 }, { "stats/forward_max_ms", 0444 },
		{ "stats/clones", 0444 },
		{ "stats/ids", 0444 }, { "stats/refused", 0444 },
		{ "stats/exhausted", 0444 }, { "stats/rewinds", 0444 },
		{ "stats/rewind_last_ms", 0444 }, { "stats/rewind_max_ms", 0444 },
		{ "stats/rewind_total_ms", 0444 },
	};
	char path[256], text[4096];
	struct stat st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(path, sizeof(path), SYSFS "%s", cases[i].name);
		EXPECT_EQ(0, stat(path, &st)) TH_LOG("no %s", cases[i].name);
		EXPECT_EQ(cases[i].mode, st.st_mode & 07777) {
			TH_LOG("%s", cases[i].name);
		}
		EXPECT_EQ(0, attr_get(cases[i].name, text, sizeof(text)));
		/* One value, which is no list and has no further line. */
		EXPECT_NE(0, strlen(text));
		EXPECT_EQ(NULL, strpbrk(text, "\n ")) TH_LOG("%s", cases[i].name);
	}
}

/* A refused write is EINVAL, and the value is what it was. */
static void refused(struct __test_metadata *_metadata, const char *name,
		    const char *const values[], unsigned int count)
{
	char before[64], after[64];
	unsigned int i;

	ASSERT_EQ(0, attr_get(name, before, sizeof(before)));
	for (i = 0; i < count; i++) {
		EXPECT_EQ(-EINVAL, attr_put(name, values[i])) {
			TH_LOG("%s took '%s'", name, values[i]);
		}
		EXPECT_EQ(0, attr_get(name, after, sizeof(after)));
		EXPECT_STREQ(before, after) {
			TH_LOG("%s changed by '%s'", name, values[i]);
		}
	}
}

static const char *const bad_workers[] = {
	"-2", "1024", "4294967296", "18446744073709551616", "7x", "\n", "1 2",
	"-2\n", "1024\n", "4294967301", "18446744073709551621", "-4294967291",
	"-18446744073709551611", "x", "--1", "1.0", "1e2", "1,2", "5\n6", "none",
	"9223372036854775807", "-9223372036854775808", "65536", "2147483648",
	"99999999999999999999999999999999999999999999999999999999999999999999",
};

TEST_F(config, fault15_worker_id_while_stopped)
{
	refused(_metadata, "worker_id", bad_workers, ARRAY_SIZE(bad_workers));
	EXPECT_STREQ("no-worker", attr_string("state"));
}

TEST_F(config, fault15_worker_id_while_running)
{
	uint64_t id;

	ASSERT_EQ(0, start(WORKER));
	refused(_metadata, "worker_id", bad_workers, ARRAY_SIZE(bad_workers));
	EXPECT_EQ(WORKER, attr_number("worker_id"));
	EXPECT_STREQ("running", attr_string("state"));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(WORKER, id_worker(id));

	/* sysfs does not even pass an empty write on. */
	attr_put("worker_id", "");
	EXPECT_EQ(WORKER, attr_number("worker_id"));
}

TEST_F(config, fault15_range_beyond_the_field)
{
	static const char *const beyond[] = { "1023", "1022", "1021\n" };
	uint64_t id;

	ASSERT_EQ(0, attr_put("worker_count", "4"));
	refused(_metadata, "worker_id", beyond, ARRAY_SIZE(beyond));
	ASSERT_EQ(0, start(1020));
	refused(_metadata, "worker_id", beyond, ARRAY_SIZE(beyond));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_LE(1020, id_worker(id));
}

TEST_F(config, fault15_other_attributes)
{
	static const char *const counts[] = {
		"0", "-1", "1025", "4294967296", "4294967297", "7x", "\n", "1 2",
		"18446744073709551616", "18446744073709551617", "-4294967295", "x",
	};
	static const char *const blocks[] = {
		"-1", "7x", "\n", "1 2", "x", "4294967297", "18446744073709551617",
	};
	static const char *const waits[] = {
		"-1", "7x", "\n", "1 2", "x", "18446744073709551616",
		"18446744073709551626", "-18446744073709551606",
	};

	refused(_metadata, "worker_count", counts, ARRAY_SIZE(counts));
	refused(_metadata, "cpu_block", blocks, ARRAY_SIZE(blocks));
	refused(_metadata, "rewind_wait_ms", waits, ARRAY_SIZE(waits));
}

TEST_F(config, ends_of_the_ranges_are_taken)
{
	uint64_t id;

	ASSERT_EQ(0, start(0));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(0, id_worker(id));
	ASSERT_EQ(0, start(WORKERS - 1));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(WORKERS - 1, id_worker(id));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));

	ASSERT_EQ(0, attr_put("worker_count", "1024"));
	EXPECT_EQ(WORKERS, attr_number("worker_count"));
	ASSERT_EQ(0, start(0));
	ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));

	EXPECT_EQ(0, attr_put("cpu_block", "1"));
	EXPECT_EQ(0, attr_put("rewind_wait_ms", "0"));
	EXPECT_EQ(0, attr_number("rewind_wait_ms"));
}

/* A range is one sequence space: its workers share out the tick in turn. */
TEST_F(config, workers_multiply_the_ceiling)
{
	static uint64_t ids[MAX_READ_IDS];
	unsigned int workers = 0, i, round;
	ssize_t got;
	int fd;

	ASSERT_EQ(0, attr_put("worker_count", "2"));
	ASSERT_EQ(0, start(6));
	fd = device_open(O_NONBLOCK);
	ASSERT_LE(0, fd);
	for (round = 0; round < 50; round++) {
		sleep_ns(2 * NSEC_PER_MSEC);
		got = read(fd, ids, sizeof(ids));
		ASSERT_LT(0, got);
		for (i = 0; i < got / ID_SIZE; i++) {
			ASSERT_TRUE(id_worker(ids[i]) == 6 || id_worker(ids[i]) == 7);
			workers |= 1 << (id_worker(ids[i]) - 6);
		}
	}
	EXPECT_EQ(3, workers);
}

TEST_F(config, shape_is_fixed_while_running)
{
	ASSERT_EQ(0, start(WORKER));
	EXPECT_EQ(-EBUSY, attr_put("worker_count", "2"));
	EXPECT_EQ(-EBUSY, attr_put("cpu_block", "32"));
	EXPECT_EQ(1, attr_number("worker_count"));
	EXPECT_EQ(CPU_BLOCK, attr_number("cpu_block"));

	/* A policy is not. */
	EXPECT_EQ(0, attr_put("rewind_wait_ms", "20"));
	EXPECT_EQ(20, attr_number("rewind_wait_ms"));

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(0, attr_put("worker_count", "2"));
	EXPECT_EQ(0, attr_put("cpu_block", "32"));
	EXPECT_EQ(2, attr_number("worker_count"));
	EXPECT_EQ(32, attr_number("cpu_block"));
}

/* Unset is ENXIO, blocking or not: nothing is derived from anywhere. */
TEST_F(config, fault12_unset_is_enxio)
{
	int nonblock = device_open(O_NONBLOCK);
	static uint64_t ids[MAX_READ_IDS];
	struct stats before;
	int round;

	ASSERT_LE(0, nonblock);
	for (round = 0; round < 3; round++) {
		before = stats_now();
		EXPECT_EQ(-ENXIO, read_id(self->fd, ids));
		EXPECT_EQ(-ENXIO, read_id(nonblock, ids));
		EXPECT_EQ(-1, read(self->fd, ids, sizeof(ids)));
		EXPECT_EQ(ENXIO, errno);
		EXPECT_EQ(before.refused + 3, stats_now().refused);
		EXPECT_EQ(before.ids, stats_now().ids);
		EXPECT_STREQ("no-worker", attr_string("state"));
		EXPECT_EQ(-1, attr_number("worker_id"));

		ASSERT_EQ(0, start(WORKER));
		EXPECT_STREQ("running", attr_string("state"));
		EXPECT_EQ(0, read_id(self->fd, ids));
		ASSERT_EQ(0, attr_put("worker_id", "-1\n"));
	}
}

/* In force on every CPU when the write returns, blocks there or not. */
TEST_F(config, a_write_does_not_say_yes_too_early)
{
	int cpus = cpu_count(), cpu[CPU_SETSIZE], i, round;
	uint64_t id;

	for (i = 0; i < cpus; i++)
		cpu[i] = cpu_nth(i);

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, attr_put_number("worker_id", round));
		for (i = 0; i < cpus; i++) {
			ASSERT_EQ(0, pin_to_cpu(cpu[i]));
			ASSERT_EQ(0, read_id(self->fd, &id));
			ASSERT_EQ(round, id_worker(id));
		}
		if (round % 4 != 3)
			continue;
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		for (i = 0; i < cpus; i++) {
			ASSERT_EQ(0, pin_to_cpu(cpu[i]));
			ASSERT_EQ(-ENXIO, read_id(self->fd, &id));
		}
	}
}

/*
 * Ranges [0, 1] and [1, 2] in turn while readers read: worker 1's numbers
 * exist in both, so a tick that both may mint from gives ids twice. The reads
 * are large enough to use up ticks: only then both workers' numbers are met.
 *
 * A change waits for a grace period, which as a rule takes longer than a tick
 * and would hide a shared one. So they are expedited, or the clock is set back
 * at each change to come by the last tick again.
 */
enum change {
	EXPEDITED,
	STOP_BETWEEN,
	STEP_BACK,
};

static void change_under_load(struct __test_metadata *_metadata, enum change how,
			      int changes)
{
	struct readers *rs = readers_new(READERS + 1, MAX_READ_IDS);
	struct reader *r, *own = &rs->each[READERS];
	int fd = device_open(0), i;
	bool seen[3] = {};
	uint64_t id;

	ASSERT_NE(NULL, rs);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, attr_put("worker_count", "2"));
	ASSERT_EQ(0, start(0));
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, reader_start(&rs->each[i]));

	for (i = 0; i < changes; i++) {
		int worker = how == STOP_BETWEEN ? i / 2 % 2 : i % 2;

		if (how == STOP_BETWEEN && i % 2) {
			ASSERT_EQ(0, attr_put("worker_id", "-1"));
			continue;
		}
		if (how == STEP_BACK) {
			ASSERT_EQ(0, clock_step(-STEP_BACK_NS));
		}
		ASSERT_EQ(0, attr_put_number("worker_id", worker));
		/* What the writer itself reads next is the new range's. */
		ASSERT_EQ(0, read_id(fd, &id));
		log_add(&own->log, &id, 1);
		ASSERT_LE(worker, id_worker(id));
		ASSERT_GE(worker + 1, id_worker(id));
		/* Now and then there is time to use up a tick of each range. */
		if (how != STOP_BETWEEN)
			sleep_ns(i % 4 * NSEC_PER_MSEC);
		else if (i % 16 < 4)
			sleep_ns(4 * NSEC_PER_MSEC);
	}
	atomic_store(&rs->stop, true);
	for (i = 0; i < READERS; i++)
		pthread_join(rs->each[i].thread, NULL);

	EXPECT_STREQ("", readers_fault(rs, how == STOP_BETWEEN ? ENXIO : 0));
	for_each_reader(r, rs) {
		size_t k;

		EXPECT_LE(changes / 2, r->log.ids);
		for (k = 0; k < r->log.count; k++) {
			int first = id_worker(r->log.run[k].first);
			int last = id_worker(r->log.run[k].end - 1);

			ASSERT_GE(2, first);
			ASSERT_GE(2, last);
			seen[first] = true;
			seen[last] = true;
		}
	}
	EXPECT_TRUE(seen[0] && seen[1] && seen[2]) {
		TH_LOG("not every worker was met: the test shows little");
	}
	if (how == STOP_BETWEEN) {
		EXPECT_LT(0, readers_failed(rs, ENXIO));
	}
}

TEST_F_TIMEOUT(config, overlapping_ranges_under_load, 60)
{
	struct stats before = stats_now();

	rcu_expedite(true);
	change_under_load(_metadata, EXPEDITED, CHANGES);
	EXPECT_EQ(before.refused, stats_now().refused);
	EXPECT_EQ(before.rewinds, stats_now().rewinds);
}

TEST_F_TIMEOUT(config, overlapping_ranges_with_a_stop_between, 60)
{
	change_under_load(_metadata, STOP_BETWEEN, CHANGES);
}

TEST_F_TIMEOUT(config, overlapping_ranges_and_steps_back, 60)
{
	struct stats before = stats_now();
	const char *why = missing(NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "1000"));
	change_under_load(_metadata, STEP_BACK, STEPS_BACK);
	EXPECT_EQ(before.refused, stats_now().refused);
	EXPECT_EQ(before.rewinds + STEPS_BACK, stats_now().rewinds);
}

TEST_HARNESS_MAIN

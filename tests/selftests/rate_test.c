// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ceiling is reached, asleep, and shared. Only under emulation where time
 * follows instructions do the figures repeat: elsewhere they are skipped.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		10
#define RATE_NS		NSEC_PER_SEC
#define QUIET_NS	(NSEC_PER_SEC / 2)
#define QUIET_PERMILLE	950		/* idle, at the least */
#define QUIET_TRIES	60
#define RATE_PERMILLE	995		/* of the ceiling, at the least */
#define CPU_PERMILLE	50		/* at the most */
#define FAIR_PERMILLE	100		/* of the ceiling, for each of two */

/* Idle time of the machine, in ns; the kernel tells it in USER_HZ. */
static int64_t idle_ns(void)
{
	long long idle = 0;
	FILE *stat = fopen("/proc/stat", "r");

	if (stat) {
		if (fscanf(stat, "cpu %*d %*d %*d %lld", &idle) != 1)
			idle = 0;
		fclose(stat);
	}
	return idle * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

/* A machine that has just booted is busy with itself for a while. */
static bool becomes_quiet(void)
{
	int64_t idle;
	int i;

	for (i = 0; i < QUIET_TRIES; i++) {
		idle = idle_ns();
		sleep_ns(QUIET_NS);
		idle = idle_ns() - idle;
		if (idle >= QUIET_NS * QUIET_PERMILLE / 1000)
			return true;
	}
	return false;
}

FIXTURE(rate) {
	struct stats before;
};

FIXTURE_SETUP(rate)
{
	const char *why = missing(NEED_ROOT | NEED_ICOUNT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(becomes_quiet());
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	self->before = stats_now();
}

FIXTURE_TEARDOWN(rate)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

static int64_t cpu_ns(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * NSEC_PER_USEC;
}

/* 64 KiB are two ticks' worth: each read asks for twice what there is. */
TEST_F(rate, fault19_twice_the_ceiling_asleep)
{
	static uint64_t ids[MAX_READ_IDS];
	int64_t begin, took, busy, idle, total = 0;
	uint64_t last = 0;
	int fd = device_open(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(ids), read(fd, ids, sizeof(ids)));

	begin = monotonic_ns();
	busy = cpu_ns();
	idle = idle_ns();
	do {
		ASSERT_EQ((ssize_t)sizeof(ids), read(fd, ids, sizeof(ids)));
		ASSERT_LT(last, ids[0]);
		last = ids[MAX_READ_IDS - 1];
		total += MAX_READ_IDS;
		took = monotonic_ns() - begin;
	} while (took < RATE_NS);
	busy = cpu_ns() - busy;
	idle = idle_ns() - idle;

	ksft_print_msg("one reader: %lld ids/s, %.3f %% of the ceiling\n",
		       (long long)(total * NSEC_PER_SEC / took),
		       total * 100.0 * NSEC_PER_SEC / took / IDS_PER_SEC);
	ksft_print_msg("its CPU time: %.2f %%, the machine idle: %.1f %%\n",
		       busy * 100.0 / took, idle * 100.0 / took);
	EXPECT_LE(IDS_PER_SEC * RATE_PERMILLE / 1000, total * NSEC_PER_SEC / took);
	EXPECT_GE(took * CPU_PERMILLE / 1000, busy);
}

TEST_F(rate, two_readers_share)
{
	struct readers *rs = readers_new(2, MAX_READ_IDS);
	struct reader *r;
	int64_t begin, took;
	uint64_t ids;

	ASSERT_NE(NULL, rs);
	begin = monotonic_ns();
	ASSERT_EQ(0, readers_start(rs));
	sleep_ns(RATE_NS);
	readers_stop(rs);
	took = monotonic_ns() - begin;
	EXPECT_STREQ("", readers_fault(rs, 0));

	ids = readers_ids(rs);
	for_each_reader(r, rs)
		ksft_print_msg("reader %ld of two: %.2f %% of the ceiling\n",
			       (long)(r - rs->each),
			       r->log.ids * 100.0 * NSEC_PER_SEC / took / IDS_PER_SEC);
	ksft_print_msg("all: %.3f %% of the ceiling\n",
		       ids * 100.0 * NSEC_PER_SEC / took / IDS_PER_SEC);
	/* Begin and end of the threads are in the time, so allow for a tick each. */
	EXPECT_LE((uint64_t)((took - 3 * NSEC_PER_MSEC) / NSEC_PER_USEC *
			     IDS_PER_TICK * RATE_PERMILLE / 1000 / 1000), ids);
	for_each_reader(r, rs)
		EXPECT_LE((uint64_t)(took / NSEC_PER_USEC * IDS_PER_TICK / 1000 *
				     FAIR_PERMILLE / 1000), r->log.ids);
}

/* A reader of small pieces is not pushed aside by a greedy one. */
TEST_F(rate, nobody_is_starved)
{
	struct readers *rs = readers_new(3, MAX_READ_IDS);
	uint64_t reads;

	ASSERT_NE(NULL, rs);
	rs->each[0].max_ids = 1;
	ASSERT_EQ(0, readers_start(rs));
	sleep_ns(RATE_NS);
	readers_stop(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));

	/* It may wait for each tick, and gets one id of each. */
	reads = rs->each[0].log.ids;
	ksft_print_msg("single reads beside two greedy readers: %ju in a second\n",
		       (uintmax_t)reads);
	EXPECT_LE(RATE_NS / NSEC_PER_MSEC / 2, (int64_t)reads);
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Many readers at once: no id twice, no order lost, nobody refused.
 */
#include <sys/mman.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		7
#define PROCESSES	4
#define THREADS		2		/* of each process */
#define TOTAL_IDS	10000000
#define FLOCK		64		/* processes, fault 13 */
#define FLOCK_IDS	100000		/* of each */
#define FLOCK_MAX_IDS	512
#define BOUNDARY_NS	(3 * NSEC_PER_SEC)
#define ALARMS		8		/* on each CPU */
#define EARLY_STEPS	20		/* distances of the alarms from the tick's end */
#define EARLY_STEP_NS	(4 * NSEC_PER_USEC)

FIXTURE(race) {
	struct stats before;
};

FIXTURE_SETUP(race)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->before = stats_now();
}

/* Nobody set the clock: nothing may have been refused or counted as a step. */
FIXTURE_TEARDOWN(race)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

/* Runs readers[p * threads ...] as threads of process p, to their end. */
static void run_in_processes(struct __test_metadata *_metadata,
			     struct readers *rs, unsigned int processes)
{
	unsigned int threads = rs->count / processes, p, t;
	int status;

	for (p = 0; p < processes; p++) {
		struct reader *mine = rs->each + p * threads;
		pid_t pid = fork_tied();

		ASSERT_LE(0, pid);
		if (pid)
			continue;
		for (t = 1; t < threads; t++)
			if (reader_start(&mine[t]))
				_exit(1);
		reader_run(&mine[0]);
		for (t = 1; t < threads; t++)
			pthread_join(mine[t].thread, NULL);
		_exit(0);
	}
	for (p = 0; p < processes; p++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
}

TEST_F_TIMEOUT(race, ten_million_in_mixed_sizes, 120)
{
	struct readers *rs = readers_new(PROCESSES * THREADS, MAX_READ_IDS);
	struct stats after;
	struct reader *r;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, start(WORKER));
	for_each_reader(r, rs)
		r->target = TOTAL_IDS / rs->count;
	run_in_processes(_metadata, rs, PROCESSES);

	EXPECT_STREQ("", readers_fault(rs, 0));
	EXPECT_LE(TOTAL_IDS, readers_ids(rs));
	after = stats_now();
	EXPECT_LE(self->before.ids + TOTAL_IDS, after.ids);
}

TEST_F_TIMEOUT(race, fault13_64_processes, 120)
{
	struct readers *rs = readers_new(FLOCK, FLOCK_MAX_IDS);
	struct reader *r;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, start(WORKER));
	for_each_reader(r, rs)
		r->target = FLOCK_IDS;
	run_in_processes(_metadata, rs, FLOCK);

	EXPECT_STREQ("", readers_fault(rs, 0));
	EXPECT_LE(FLOCK * FLOCK_IDS, readers_ids(rs));
}

/*
 * A generator that reads the clock before the word is wrong only if something
 * holds it up between the two while the tick ends and a peer goes on into the
 * next: it then takes the word for one from the future. So small reads run on
 * every CPU, and so do alarms that go off a little before the end of each tick,
 * some at once to make a long interrupt: it, and where the kernel is preemptible
 * the threads which spin until the tick is over, hold the readers up just then.
 * A read that may wait, or of one id only, might look again and hide it: these
 * are O_NONBLOCK and of two, and the wrong verdict fails them with ECANCELED.
 */
struct alarm {
	pthread_t thread;
	int cpu;
	struct readers *rs;
	unsigned int rung;
};

static void *ring_before_ticks(void *arg)
{
	struct alarm *alarm = arg;
	struct timespec ts;
	int64_t tick, at;

	pin_to_cpu(alarm->cpu);
	while (!atomic_load(&alarm->rs->stop)) {
		tick = realtime_ns() / NSEC_PER_MSEC + 1;
		at = tick * NSEC_PER_MSEC - tick % EARLY_STEPS * EARLY_STEP_NS;
		ts.tv_sec = at / NSEC_PER_SEC;
		ts.tv_nsec = at % NSEC_PER_SEC;
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
		while (realtime_ns() < tick * NSEC_PER_MSEC + 20 * NSEC_PER_USEC)
			;
		alarm->rung++;
	}
	return NULL;
}

FIXTURE(boundary) {
	struct stats before;
};

FIXTURE_VARIANT(boundary) {
	int cpu_block;
};

FIXTURE_VARIANT_ADD(boundary, cpu_block_1) {
	.cpu_block = 1,
};

FIXTURE_VARIANT_ADD(boundary, cpu_block_64) {
	.cpu_block = 64,
};

FIXTURE_SETUP(boundary)
{
	const char *why = missing(NEED_ROOT | NEED_CPUS);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put_number("cpu_block", variant->cpu_block));
	ASSERT_EQ(0, start(WORKER));
	self->before = stats_now();
}

FIXTURE_TEARDOWN(boundary)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

TEST_F_TIMEOUT(boundary, small_reads, 60)
{
	unsigned int cpus = cpu_count(), i, rung = 0;
	struct readers *rs = readers_new(2 * cpus, 2);
	unsigned int count = ALARMS * cpus;
	struct alarm *alarms = calloc(count, sizeof(*alarms));
	struct reader *r;

	ASSERT_NE(NULL, rs);
	ASSERT_NE(NULL, alarms);
	for_each_reader(r, rs) {
		r->cpu = cpu_nth(r - rs->each);
		r->flags = O_NONBLOCK;
		r->always_max = true;
	}
	ASSERT_EQ(0, readers_start(rs));
	for (i = 0; i < count; i++) {
		alarms[i].cpu = cpu_nth(i);
		alarms[i].rs = rs;
		ASSERT_EQ(0, pthread_create(&alarms[i].thread, NULL,
					    ring_before_ticks, &alarms[i]));
	}

	sleep_ns(BOUNDARY_NS);
	readers_stop(rs);
	for (i = 0; i < count; i++) {
		pthread_join(alarms[i].thread, NULL);
		rung += alarms[i].rung;
	}
	ksft_print_msg("%ju ids, %u alarms\n", (uintmax_t)readers_ids(rs), rung);

	EXPECT_STREQ("", readers_fault(rs, EAGAIN));
	EXPECT_LT(100 * count, rung);
	EXPECT_LT(1000 * cpus, readers_ids(rs));
}

TEST_HARNESS_MAIN

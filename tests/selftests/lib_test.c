// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libsnowflake over the device: handles, errors and time limits, and that what a
 * thread has read ahead is neither given out twice nor at another time, whoever
 * forks, sets the clock or the configuration. What needs no device is looked at
 * in tests/lib.
 */
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <snowflake.h>

#include "../lib/step.h"
#include "../lib/taken.h"
#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		17
#define CHILDREN	64
#define CHILD_IDS	1000
#define THREADS		4
#define WARM		100		/* ids in one tick: read ahead surely */
/* In the middle of a call, or as the environment has it; more in tests/lib. */
#define FORKS		2000
#define INSTANT_MOST	64		/* instructions at the end of a call */
#define NOBODY		65534

/* Ticks so long that nothing read ahead gets too old to be given out. */
static const struct layout slow = {
	.preset = CUSTOM, .timestamp_bits = 41, .worker_bits = 10,
	.sequence_bits = 12, .order = WORKER_SEQUENCE, .tick_ms = 1000,
	.epoch_ms = EPOCH_MS,
};

FIXTURE(lib) {
	struct snowflake *sf;
};

FIXTURE_SETUP(lib)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	ASSERT_EQ(0, snowflake_open(&self->sf, NULL, 0));
	taken_reset();
}

FIXTURE_TEARDOWN(lib)
{
	snowflake_close(self->sf);
	EXPECT_EQ(0, reset());
}

/* Long ticks, and so many worker ids that they do not get used up. */
static int start_slow(int workers)
{
	int err;

	err = attr_put("worker_id", "-1");
	if (!err)
		err = attr_put_number("worker_count", workers);
	return err ?: layout_start(&slow, 0);
}

/* Wait for a new tick, long as it is. */
static void new_slow_tick(void)
{
	int64_t tick = NSEC_PER_SEC - (realtime_ns() - EPOCH_MS * NSEC_PER_MSEC) %
				      NSEC_PER_SEC;

	sleep_ns(tick + NSEC_PER_MSEC);
}

TEST_F(lib, opens_a_device_only)
{
	char folder[] = P_tmpdir "/lib_test.XXXXXX";
	char name[sizeof(folder) + sizeof("/node")];
	struct snowflake *none = (void *)&none;

	ASSERT_NE(NULL, mkdtemp(folder));
	snprintf(name, sizeof(name), "%s/node", folder);
	EXPECT_EQ(-ENOENT, snowflake_open(&none, name, 0));
	EXPECT_EQ(-ENOTTY, snowflake_open(&none, "/dev/zero", 0));
	EXPECT_EQ(-ENOTTY, snowflake_open(&none, "/proc/version", 0));
	EXPECT_EQ(-ENOTTY, snowflake_open(&none, "/dev", 0));
	ASSERT_EQ(0, mkfifo(name, 0600));
	EXPECT_EQ(-ENOTTY, snowflake_open(&none, name, 0));
	ASSERT_EQ(0, unlink(name));
	EXPECT_EQ(-EINVAL, snowflake_open(&none, NULL, 2));
	/* A node that nobody drives. */
	ASSERT_EQ(0, mknod(name, S_IFCHR | 0600, 10 << 8 | 254));
	EXPECT_EQ(-ENODEV, snowflake_open(&none, name, 0));
	ASSERT_EQ(0, unlink(name));
	ASSERT_EQ(0, rmdir(folder));
	EXPECT_EQ((void *)&none, (void *)none);
}

TEST_F(lib, open_runs_out_of_files)
{
	struct rlimit before, few = { 0 };
	struct snowflake *sf, *more;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	few.rlim_max = before.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	EXPECT_EQ(-EMFILE, snowflake_open(&sf, NULL, 0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
	/* It kept nothing of what failed, and an open one goes on. */
	ASSERT_EQ(0, snowflake_open(&more, NULL, 0));
	snowflake_close(more);
	take_some(self->sf, WARM);
}

/* A device that may not be read is not opened; one that may needs no more. */
TEST_F(lib, works_as_nobody)
{
	struct snowflake *sf;
	int err;

	ASSERT_EQ(0, chmod(DEVICE, 0400));
	ASSERT_EQ(0, seteuid(NOBODY));
	err = snowflake_open(&sf, NULL, 0);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-EACCES, err);
	ASSERT_EQ(0, chmod(DEVICE, 0444));
	ASSERT_EQ(0, seteuid(NOBODY));
	err = snowflake_open(&sf, NULL, 0);
	if (!err)
		take_some(sf, WARM);
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, err);
	snowflake_close(sf);
}

/* Where ioctl(2) is forbidden, ids are read one by one. */
TEST_F(lib, works_in_a_sandbox)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_SIZE(code), code };
	struct snowflake_id_layout layout;
	struct snowflake *sf;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
			_exit(1);
		/* The one that was opened before goes on as well. */
		take_some(self->sf, WARM);
		if (snowflake_open(&sf, NULL, 0))
			_exit(2);
		take_some(sf, WARM);
		if (snowflake_get_layout(sf, &layout) != -EPERM)
			_exit(3);
		_exit(0);
	}
	EXPECT_TRUE(children_well());
	EXPECT_EQ(2 * WARM, taken_count());
	EXPECT_EQ(0, taken_twice());
}

TEST_F(lib, tells_the_configuration)
{
	struct snowflake_id_layout layout;
	uint64_t first = NO_ID, count = NO_ID;

	ASSERT_EQ(0, snowflake_get_layout(self->sf, &layout));
	EXPECT_EQ(EPOCH_MS, layout.epoch_ms);
	EXPECT_EQ(1, layout.tick_ms);
	EXPECT_EQ(TIMESTAMP_BITS, layout.timestamp_bits);
	EXPECT_EQ(WORKER_BITS, layout.worker_bits);
	EXPECT_EQ(SEQUENCE_BITS, layout.sequence_bits);
	EXPECT_EQ(SNOWFLAKE_SEQUENCE_LOWEST, layout.order);
	ASSERT_EQ(0, snowflake_get_workers(self->sf, &first, &count));
	EXPECT_EQ(WORKER, first);
	EXPECT_EQ(1, count);

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(-ENXIO, snowflake_get_workers(self->sf, &first, &count));
	ASSERT_EQ(0, layout_put(&presets[SONYFLAKE]));
	ASSERT_EQ(0, snowflake_get_layout(self->sf, &layout));
	EXPECT_EQ(10, layout.tick_ms);
	EXPECT_EQ(SNOWFLAKE_WORKER_LOWEST, layout.order);
	EXPECT_LE(0, snowflake_fd(self->sf));
}

/* One now and then is read by itself: none is lost, and no tick drained. */
TEST_F(lib, low_rate_costs_nothing)
{
	struct stats before = stats_now();
	int i;

	for (i = 0; i < 100; i++) {
		take_some(self->sf, 1);
		sleep_ns(2 * NSEC_PER_MSEC);
	}
	EXPECT_EQ(100, stats_now().ids - before.ids);
}

#define PAUSE_MS	1500
#define PROMPT_NS	NSEC_PER_MSEC

/* An id, and when it was asked for; again if a busy host let it take long. */
static int64_t take_ms(struct snowflake *sf, int64_t *asked)
{
	int64_t ms, tries = 0;

	do {
		*asked = realtime_ns();
		ms = id_ms(take(sf));
	} while (realtime_ns() - *asked > PROMPT_NS && ++tries < 100);
	return ms;
}

/* How much later an id is that is asked for 1.5 s after so many others. */
static int64_t pause_ms(struct snowflake *sf, int before)
{
	int64_t first, second, began, ended;

	take_some(sf, before);
	first = take_ms(sf, &began);
	sleep_ns(PAUSE_MS * NSEC_PER_MSEC - (realtime_ns() - began));
	second = take_ms(sf, &ended);
	/* But for the time that we overslept. */
	return second - first - (ended - began) / NSEC_PER_MSEC + PAUSE_MS;
}

/* What was read ahead does not get old. */
TEST_F(lib, id_after_a_pause)
{
	int64_t ms = pause_ms(self->sf, 0);

	EXPECT_LE(PAUSE_MS - 3, ms);
	EXPECT_GE(PAUSE_MS + 3, ms);
	ms = pause_ms(self->sf, WARM);
	EXPECT_LE(PAUSE_MS - 3, ms);
	EXPECT_GE(PAUSE_MS + 3, ms);
}

/* No id is of another tick than that in which it was given out. */
TEST_F(lib, ids_are_of_now)
{
	uint64_t id, last = 0;
	int64_t before, after;
	int i;

	for (i = 0; i < 50000; i++) {
		before = realtime_ns() / NSEC_PER_MSEC;
		id = take(self->sf);
		after = realtime_ns() / NSEC_PER_MSEC;
		ASSERT_LE(before, id_ms(id));
		ASSERT_GE(after, id_ms(id));
		ASSERT_LT(last, id);
		last = id;
	}
}

/* 64 children, forked where the parent has ids read ahead that are still good. */
static void fork_children(struct snowflake *sf, int before)
{
	int i;

	take_some(sf, before);
	for (i = 0; i < CHILDREN; i++) {
		if (fork_tied())
			continue;
		take_some(sf, CHILD_IDS);
		_exit(0);
	}
	take_some(sf, CHILD_IDS);
}

TEST_F(lib, children_after_one_id)
{
	fork_children(self->sf, 1);
	EXPECT_TRUE(children_well());
	EXPECT_EQ(1 + (CHILDREN + 1) * CHILD_IDS, taken_count());
	EXPECT_EQ(0, taken_twice());
}

TEST_F(lib, children_after_many_ids)
{
	ASSERT_EQ(0, start_slow(WORKERS));
	new_slow_tick();
	fork_children(self->sf, WARM);
	EXPECT_TRUE(children_well());
	EXPECT_EQ(WARM + (CHILDREN + 1) * CHILD_IDS, taken_count());
	EXPECT_EQ(0, taken_twice());
}

static void *fork_often(void *sf)
{
	uint64_t last = 0, id;
	int i;

	for (i = 0; i < 20; i++) {
		take_some(sf, WARM);
		/* Not tied: it would die with the thread. */
		if (!fork()) {
			take_some(sf, WARM);
			_exit(0);
		}
		/* Those of one thread rise. */
		id = take(sf);
		if (id <= last)
			abort();
		last = id;
		taken_log(id);
	}
	return NULL;
}

TEST_F(lib, threads_fork)
{
	pthread_t threads[THREADS];
	int i;

	ASSERT_EQ(0, start_slow(WORKERS));
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, fork_often, self->sf));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_TRUE(children_well());
	EXPECT_EQ(THREADS * 20 * (2 * WARM + 1), taken_count());
	EXPECT_EQ(0, taken_twice());
}

TEST_F(lib, vfork_and_spawn)
{
	char *const args[] = { "true", NULL };
	pid_t pid;
	int i;

	ASSERT_EQ(0, start_slow(WORKERS));
	take_some(self->sf, WARM);
	for (i = 0; i < 100; i++) {
		pid = vfork();
		if (!pid) {
			take_some(self->sf, 1);
			_exit(0);
		}
		ASSERT_LT(0, pid);
		take_some(self->sf, 1);
		ASSERT_EQ(0, posix_spawn(&pid, "/bin/true", NULL, NULL, args, NULL));
		take_some(self->sf, 1);
		EXPECT_TRUE(children_well());
	}
	EXPECT_EQ(WARM + 300, taken_count());
	EXPECT_EQ(0, taken_twice());
}

/*
 * A signal handler that forks in the middle of a call, before each instruction
 * of it in turn. @forks of them; returns after how many instructions of a call
 * the id is the caller's, at the most.
 */
static long fork_in_calls(struct trial *trial, int forks)
{
	long at = 0, left, instant = 0;

	take_some(trial->sf, WARM);
	while (forks) {
		left = trial_run(trial, at++);
		if (left == TRIAL_MISSED)
			at = 0;
		else
			forks--;
		if (left > instant)
			instant = left;
	}
	return instant;
}

TEST_F_TIMEOUT(lib, handler_forks, 300)
{
	struct trial next = { .sf = self->sf, .count = 1 };
	struct trial fill = { .sf = self->sf, .count = TRIAL_IDS };
	struct trial direct = { .count = 1 };
	const char *wanted = getenv("FORKS");
	long forks = wanted ? atol(wanted) : FORKS, instant;

	if (!step_possible())
		SKIP(return, "no way to stop after each instruction here");
	ASSERT_LE(10, forks);
	/* Parent and child take turns all the time. */
	ASSERT_EQ(0, pin_to_cpu(cpu_nth(0)));
	ASSERT_EQ(0, start_slow(WORKERS));
	ASSERT_EQ(0, snowflake_open(&direct.sf, NULL, SNOWFLAKE_DIRECT));

	instant = fork_in_calls(&next, forks * 6 / 10);
	ksft_print_msg("next: the id is the caller's for the last %ld instructions\n",
		       instant);
	EXPECT_GE(INSTANT_MOST, instant);
	instant = fork_in_calls(&fill, forks * 2 / 10);
	ksft_print_msg("fill: for the last %ld\n", instant);
	EXPECT_GE(INSTANT_MOST, instant);
	instant = fork_in_calls(&direct, forks * 2 / 10);
	ksft_print_msg("direct: for the last %ld\n", instant);
	EXPECT_GE(INSTANT_MOST, instant);
	EXPECT_EQ(0, taken_twice());
	snowflake_close(direct.sf);
}

static void *take_and_check(void *sf)
{
	uint64_t last = 0, id;
	int i;

	for (i = 0; i < 20000; i++) {
		id = take(sf);
		if (id <= last)
			abort();
		last = id;
		taken_log(id);
	}
	return NULL;
}

TEST_F(lib, threads_share_a_handle)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, take_and_check, self->sf));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(THREADS * 20000, taken_count());
	EXPECT_EQ(0, taken_twice());
}

/* The step is met between two calls, though the ids would be there. */
TEST_F(lib, clock_is_set_back)
{
	const char *why = missing(NEED_MACHINE);
	uint64_t id = NO_ID, last;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_slow(WORKERS));
	new_slow_tick();
	take_some(self->sf, WARM);
	last = take(self->sf);
	ASSERT_EQ(0, clock_step(-3600 * NSEC_PER_SEC));
	EXPECT_EQ(-ECANCELED, snowflake_next(self->sf, &id));
	EXPECT_EQ(-ECANCELED, snowflake_next_timed(self->sf, &id, 0));
	EXPECT_EQ(-ECANCELED, snowflake_next_timed(self->sf, &id, 10));
	EXPECT_EQ(-ECANCELED, snowflake_fill(self->sf, &id, 1, -1));
	EXPECT_EQ(NO_ID, id);
	/* And in the tick that comes a second time. */
	ASSERT_EQ(0, clock_step(3600 * NSEC_PER_SEC));
	id = take(self->sf);
	EXPECT_LT(last, id);
	taken_log(last);
	taken_log(id);
	take_some(self->sf, WARM);
	EXPECT_EQ(0, taken_twice());
}

/* Ids of another time than the clock's are read one by one: none is lost. */
TEST_F(lib, bypassed_while_slewing)
{
	const char *why = missing(NEED_MACHINE);
	struct stats before;
	uint64_t id, last;
	int64_t behind;
	int i;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, attr_put("rewind_policy", "slew"));
	take_some(self->sf, WARM);
	last = take(self->sf);
	ASSERT_EQ(0, clock_step(-3 * NSEC_PER_SEC));
	before = stats_now();
	for (i = 0; i < 2000; i++) {
		id = take(self->sf);
		ASSERT_LT(last, id);
		last = id;
		behind = id_ms(id) - realtime_ns() / NSEC_PER_MSEC;
		ASSERT_LE(2000, behind);
	}
	EXPECT_EQ(2000, stats_now().ids - before.ids);
}

TEST_F(lib, configuration_changes)
{
	uint64_t id = NO_ID, last;
	int i;

	for (i = 0; i < 10; i++) {
		take_some(self->sf, WARM);
		last = take(self->sf);
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(-ENXIO, snowflake_next(self->sf, &id));
		ASSERT_EQ(NO_ID, id);
		ASSERT_EQ(0, start(i));
		id = take(self->sf);
		EXPECT_EQ(i, id_worker(id));
		EXPECT_LT(id_tick(last), id_tick(id));
		id = NO_ID;
	}
	/* Another layout, and what is read ahead is known by it. */
	ASSERT_EQ(0, start_slow(WORKERS));
	new_slow_tick();
	for (i = 0; i < 1000; i++) {
		id = take(self->sf);
		ASSERT_LE(layout_begin_ms(&slow, id), realtime_ns() / NSEC_PER_MSEC);
		ASSERT_GT(layout_end_ms(&slow, id) + 100,
			  realtime_ns() / NSEC_PER_MSEC);
	}
	EXPECT_EQ(0, taken_twice());
}

TEST_F(lib, window_ends)
{
	uint64_t id;
	int err;

	ASSERT_EQ(0, attr_put_number("not_after_ms",
				     realtime_ns() / NSEC_PER_MSEC + 300));
	while (!(err = snowflake_next(self->sf, &id)))
		ASSERT_GT(attr_number("not_after_ms"), id_ms(id));
	EXPECT_EQ(-EKEYEXPIRED, err);
	/* Ids that are there, but that the window was taken away from. */
	ASSERT_EQ(0, attr_put("not_after_ms", "0"));
	ASSERT_EQ(0, start_slow(WORKERS));
	new_slow_tick();
	take_some(self->sf, WARM);
	ASSERT_EQ(0, attr_put_number("not_after_ms", EPOCH_MS + 1000));
	EXPECT_EQ(-EKEYEXPIRED, snowflake_next(self->sf, &id));
}

TEST_F(lib, bound_to_a_worker)
{
	struct snowflake *other;
	uint64_t id;
	int i;

	EXPECT_EQ(-EINVAL, snowflake_bind(self->sf, WORKER));
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	EXPECT_EQ(-ENXIO, snowflake_bind(self->sf, WORKER));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put("worker_count", "4"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
	EXPECT_EQ(-EDESTADDRREQ, snowflake_next(self->sf, &id));
	EXPECT_EQ(-EINVAL, snowflake_bind(self->sf, WORKER + 4));
	ASSERT_EQ(0, snowflake_bind(self->sf, WORKER + 3));
	EXPECT_EQ(-EBUSY, snowflake_bind(self->sf, WORKER + 3));
	ASSERT_EQ(0, snowflake_open(&other, NULL, 0));
	ASSERT_EQ(0, snowflake_bind(other, WORKER));
	for (i = 0; i < 2000; i++) {
		ASSERT_EQ(WORKER + 3, id_worker(take(self->sf)));
		ASSERT_EQ(WORKER, id_worker(take(other)));
	}
	snowflake_close(other);
}

static int64_t ms_of(int64_t since)
{
	return (monotonic_ns() - since) / NSEC_PER_MSEC;
}

TEST_F(lib, time_limits)
{
	static uint64_t ids[2 * IDS_PER_TICK];
	int64_t began;
	uint64_t id = NO_ID;
	ssize_t got;

	ASSERT_EQ(0, start_slow(1));
	new_slow_tick();
	/* What the tick has, at once. */
	ASSERT_EQ(0, snowflake_next_timed(self->sf, ids, 0));
	got = snowflake_fill(self->sf, ids, 2 * IDS_PER_TICK, 0);
	/* A processor may keep some of a block to itself. */
	EXPECT_LE(IDS_PER_TICK - CPU_BLOCK, got);
	EXPECT_GT(IDS_PER_TICK, got);
	EXPECT_EQ(-EAGAIN, snowflake_next_timed(self->sf, &id, 0));
	EXPECT_EQ(-EAGAIN, snowflake_fill(self->sf, &id, 1, 0));
	began = monotonic_ns();
	EXPECT_EQ(-EAGAIN, snowflake_next_timed(self->sf, &id, 50));
	EXPECT_LE(49, ms_of(began));
	EXPECT_GE(250, ms_of(began));
	EXPECT_EQ(NO_ID, id);

	/* The first id ends the wait; then the time may run out. */
	ASSERT_EQ(0, snowflake_next_timed(self->sf, &id, 5000));
	EXPECT_GE(1100, ms_of(began));
	EXPECT_LT(ids[got - 1], id);
	began = monotonic_ns();
	got = snowflake_fill(self->sf, ids, 2 * IDS_PER_TICK, 20);
	EXPECT_LE(IDS_PER_TICK - CPU_BLOCK, got);
	EXPECT_GT(IDS_PER_TICK, got);
	EXPECT_GE(250, ms_of(began));
	/* Or not. */
	EXPECT_EQ(IDS_PER_TICK + 10,
		  snowflake_fill(self->sf, ids, IDS_PER_TICK + 10, 5000));
	EXPECT_EQ(IDS_PER_TICK, snowflake_fill(self->sf, ids, IDS_PER_TICK, -1));
}

TEST_F(lib, signal_ends_the_wait)
{
	static uint64_t ids[2 * IDS_PER_TICK];
	uint64_t id = NO_ID;

	ASSERT_EQ(0, start_slow(1));
	new_slow_tick();
	ASSERT_LT(0, snowflake_fill(self->sf, ids, IDS_PER_TICK, 0));
	interrupt_every(50);
	EXPECT_EQ(-EINTR, snowflake_next(self->sf, &id));
	EXPECT_EQ(-EINTR, snowflake_next_timed(self->sf, &id, 800));
	EXPECT_EQ(-EINTR, snowflake_fill(self->sf, &id, 1, -1));
	interrupt_every(0);
	EXPECT_EQ(NO_ID, id);
	/* After the first ids it only makes them fewer. */
	new_slow_tick();
	interrupt_every(50);
	EXPECT_EQ(IDS_PER_TICK,
		  snowflake_fill(self->sf, ids, 2 * IDS_PER_TICK, -1));
	interrupt_every(0);
}

TEST_HARNESS_MAIN

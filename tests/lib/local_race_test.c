// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The local engine, used by many at once: processes, threads, forked children,
 * signal handlers, and processes that are killed. By the machine's own clock, or
 * by one so fast that time has to be reserved again every few milliseconds.
 *
 * SEED=N repeats what is random; KILLS=N is how many processes are killed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local_common.h"

#define TWITTER_CAPACITY 4096

struct log {
	uint64_t count;
	uint64_t room;
	uint64_t ids[];
};

static struct log *log_new(uint64_t room)
{
	size_t size = sizeof(struct log) + room * sizeof(uint64_t);
	struct log *log = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(log != MAP_FAILED);
	log->room = room;
	return log;
}

/* A place is taken before it is written: one that is killed leaves a 0. */
static bool log_add(struct log *log, const uint64_t *ids, size_t n)
{
	uint64_t at = __atomic_fetch_add(&log->count, n, __ATOMIC_RELAXED);

	if (at + n > log->room)
		return false;
	memcpy(log->ids + at, ids, n * sizeof(*ids));
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How many ids there are; each of them once. */
static uint64_t log_check(struct log *log)
{
	uint64_t n = log->count < log->room ? log->count : log->room;
	uint64_t i, ids = 0;

	qsort(log->ids, n, sizeof(uint64_t), compare);
	for (i = 0; i < n; i++) {
		if (!log->ids[i])
			continue;
		ids++;
		if (i && log->ids[i] == log->ids[i - 1])
			fail_msg("%llu is there twice",
				 (unsigned long long)log->ids[i]);
	}
	munmap(log, sizeof(*log) + log->room * sizeof(uint64_t));
	return ids;
}

struct work {
	struct engine *engine;
	struct log *log;
	unsigned int rounds;
	unsigned int most;
	int err;
};

static void *mint(void *argument)
{
	struct work *work = argument;
	uint64_t ids[256], last = 0;
	unsigned int i, want;
	ssize_t n, j;

	for (i = 0; i < work->rounds; i++) {
		want = 1 + i * 7 % work->most;
		n = take(work->engine, ids, want, DEADLINE_NEVER);
		if (n < 0) {
			work->err = n;
			break;
		}
		for (j = 0; j < n; j++, last = ids[j - 1])
			if (ids[j] <= last)
				work->err = -ERANGE;
		if (!log_add(work->log, ids, n))
			break;
	}
	return NULL;
}

#define THREADS 4

/* Two handles, two threads on each: 0 if all went well. */
static int mint_with_threads(struct log *log, unsigned int rounds)
{
	struct work works[THREADS];
	pthread_t threads[THREADS];
	struct engine *engines[2];
	int err = 0, i;

	for (i = 0; i < 2; i++) {
		err = try_open(&engines[i], "7,count=2");
		if (err)
			return err;
	}
	for (i = 0; i < THREADS; i++) {
		works[i] = (struct work){ engines[i % 2], log, rounds, 200, 0 };
		pthread_create(&threads[i], NULL, mint, &works[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		err = works[i].err ?: err;
	}
	for (i = 0; i < 2; i++)
		engine_local.close(engines[i]);
	return err;
}

/* A child that does not outlive its parent, and asserts nothing. */
static pid_t fork_child(void)
{
	pid_t parent = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(3);
	}
	return pid;
}

static void reap(unsigned int children)
{
	int status;

	while (children--) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

#define PROCESSES 8

static void many(bool fast)
{
	struct log *log = log_new(4000000);
	int i;

	machine.clock = MACHINE_OWN;
	if (fast)
		machine_go_fast();
	for (i = 0; i < PROCESSES; i++)
		if (!fork_child())
			_exit(!!mint_with_threads(log, 400));
	reap(PROCESSES);
	assert_true(log_check(log) > PROCESSES * THREADS * 400 * 90);
}

static void processes(void **state)
{
	(void)state;
	many(false);
}

/* A window passes in 20 ms, so all reserve at once, again and again. */
static void processes_that_reserve(void **state)
{
	(void)state;
	many(true);
}

static void threads(void **state)
{
	struct log *log = log_new(4000000);

	(void)state;
	machine_go_fast();
	assert_int_equal(mint_with_threads(log, 1000), 0);
	assert_true(log_check(log) > THREADS * 1000 * 90);
	assert_true(machine.syncs > 0);
}

static void mint_until_killed(struct log *log)
{
	struct work work = { NULL, log, 200, 8, 0 };
	struct engine *engine;

	/* Opening is a time to be killed at, too. */
	for (;;) {
		if (try_open(&engine, "7,count=2"))
			_exit(1);
		work.engine = engine;
		mint(&work);
		if (work.err)
			_exit(2);
		engine_local.close(engine);
	}
}

static void kills(void **state)
{
	uint64_t room = 8000000;
	struct log *log = log_new(room);
	pid_t pids[4] = { 0 };
	unsigned int i, k, rounds = test_setting("KILLS", 400);
	uint64_t ids;
	int status;

	(void)state;
	machine_go_fast();
	for (k = 0; k < rounds; k++) {
		i = local_random(ARRAY_SIZE(pids));
		if (pids[i]) {
			kill(pids[i], SIGKILL);
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_true(WIFSIGNALED(status));
		}
		pids[i] = fork_child();
		if (!pids[i])
			mint_until_killed(log);
		usleep(local_random(4000));
	}
	for (i = 0; i < ARRAY_SIZE(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], &status, 0);
		assert_true(WIFSIGNALED(status));
	}
	assert_true(__atomic_load_n(&log->count, __ATOMIC_RELAXED) < room);
	ids = log_check(log);
	print_message("# %llu ids, %u processes killed\n",
		      (unsigned long long)ids, rounds);
	assert_true(ids > rounds);
}

static void forks(void **state)
{
	struct log *log = log_new(200000);
	struct engine *engine;
	struct work work;
	uint64_t id;
	int i;

	(void)state;
	machine_go_fast();
	engine = open_it("1");
	id = take_one(engine);
	log_add(log, &id, 1);
	work = (struct work){ engine, log, 1000, 1, 0 };
	for (i = 0; i < 64; i++) {
		if (fork_child())
			continue;
		mint(&work);
		/* A child's child has it, too. */
		if (!(i % 8) && !fork_child()) {
			mint(&work);
			_exit(!!work.err);
		}
		if (!(i % 8))
			reap(1);
		/* What the child closes stays open to the others. */
		engine_local.close(engine);
		_exit(!!work.err);
	}
	mint(&work);
	reap(64);
	mint(&work);
	assert_int_equal(work.err, 0);
	engine_local.close(engine);
	assert_int_equal(log_check(log), 1 + 1000 * (64 + 8 + 2));
}

/* The range is in use as long as a child is that has it. */
static void child_keeps_it(void **state)
{
	struct engine *engine = open_it("1"), *other;
	int end[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(end), 0);
	pid = fork_child();
	if (!pid) {
		close(end[1]);
		_exit(read(end[0], &byte, 1) < 0);
	}
	engine_local.close(engine);
	assert_int_equal(try_open(&other, "0,count=2"), -EADDRINUSE);
	close(end[1]);
	close(end[0]);
	reap(1);
	engine_local.close(open_it("0,count=2"));
}

static struct work nested;
static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	mint(&nested);
	handled++;
	errno = saved;
}

static void signals(void **state)
{
	struct itimerval often = { { 0, 150 }, { 0, 150 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_signal };
	struct log *log = log_new(4000000);
	struct work work;

	(void)state;
	machine_go_fast();
	nested = (struct work){ open_it("1"), log, 3, 3, 0 };
	work = (struct work){ nested.engine, log, 150000, 1, 0 };
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	mint(&work);
	setitimer(ITIMER_REAL, &never, NULL);
	/* One may still be on its way. */
	signal(SIGALRM, SIG_IGN);
	assert_int_equal(work.err, 0);
	assert_int_equal(nested.err, 0);
	assert_true(handled > 10);
	assert_true(machine.syncs > 1);
	engine_local.close(nested.engine);
	assert_true(log_check(log) >= 150000 + 3u * handled);
}

static void do_nothing(int number)
{
	(void)number;
}

static void interrupted(void **state)
{
	struct sigaction action = { .sa_handler = do_nothing,
				    .sa_flags = SA_RESTART };
	struct itimerval soon = { { 0, 1000 }, { 0, 1000 } };
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	static uint64_t ids[2560];
	struct engine *engine;
	ssize_t n, eintr = 0, count = 0;
	int i;

	(void)state;
	machine.clock = MACHINE_OWN;
	engine = open_it("1,layout=sonyflake");
	take_one(engine);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (i = 0; i < 50; i++) {
		n = take(engine, ids, ARRAY_SIZE(ids), DEADLINE_NEVER);
		if (n == -EINTR)
			eintr++;
		else
			count += n == 256;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	assert_true(eintr > 5);
	assert_true(count > 0);
	engine_local.close(engine);
}

/* What it costs and whether it machine.sleeps: figures, and bounds that are generous. */
static void rate(void **state)
{
	static uint64_t ids[200 * TWITTER_CAPACITY];
	struct rusage before, after;
	struct engine *engine;
	int64_t start, took, busy;

	(void)state;
	machine.clock = MACHINE_OWN;
	engine = open_it("1");
	take_one(engine);
	getrusage(RUSAGE_SELF, &before);
	start = machine_own_ns(CLOCK_MONOTONIC);
	assert_int_equal(take(engine, ids, ARRAY_SIZE(ids), DEADLINE_NEVER),
			 ARRAY_SIZE(ids));
	took = machine_own_ns(CLOCK_MONOTONIC) - start;
	getrusage(RUSAGE_SELF, &after);
	busy = (after.ru_utime.tv_sec - before.ru_utime.tv_sec +
		after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000LL +
	       after.ru_utime.tv_usec - before.ru_utime.tv_usec +
	       after.ru_stime.tv_usec - before.ru_stime.tv_usec;
	print_message("# %.1f %% of the ceiling, %.1f %% of a processor\n",
		      200 * NS_PER_MS * 100.0 / took, busy * 1e5 / took);
	assert_true(took < 10 * 200 * NS_PER_MS);
	assert_true(busy * 1000 < took * 9 / 10);
	engine_local.close(engine);
}

#define CALLS 64

static void cost(void **state)
{
	int64_t start, claim = INT64_MAX, clock = INT64_MAX, took;
	struct engine *engine;
	struct timespec now;
	unsigned int i, round;
	uint64_t id;

	(void)state;
	machine.clock = MACHINE_OWN;
	engine = open_it("1");
	for (round = 0; round < 2000; round++) {
		start = machine_own_ns(CLOCK_MONOTONIC);
		for (i = 0; i < CALLS; i++)
			take(engine, &id, 1, DEADLINE_NEVER);
		took = machine_own_ns(CLOCK_MONOTONIC) - start;
		claim = took < claim ? took : claim;
		start = machine_own_ns(CLOCK_MONOTONIC);
		for (i = 0; i < CALLS; i++)
			clock_gettime(CLOCK_REALTIME, &now);
		took = machine_own_ns(CLOCK_MONOTONIC) - start;
		clock = took < clock ? took : clock;
	}
	print_message("# a claim: %.1f ns; clock_gettime: %.1f ns\n",
		      claim * 1.0 / CALLS, clock * 1.0 / CALLS);
	assert_true(claim < 100 * clock);
	engine_local.close(engine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		LOCAL_TEST(processes),
		LOCAL_TEST(processes_that_reserve),
		LOCAL_TEST(threads),
		LOCAL_TEST(kills),
		LOCAL_TEST(forks),
		LOCAL_TEST(child_keeps_it),
		LOCAL_TEST(signals),
		LOCAL_TEST(interrupted),
		LOCAL_TEST(rate),
		LOCAL_TEST(cost),
	};

	return test_run("local_race_test", tests);
}

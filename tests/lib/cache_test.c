// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Handles and the caches of their threads, over an engine that the test drives:
 * when they read ahead, when they give out what they have, and that nobody gets
 * an id twice, whoever forks and where.
 */
#include "lib_test.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "step.h"
#include "taken.h"

#define NAME "/fake"
#define MSEC 1000000LL

static struct snowflake *sf;

static int setup(void **state)
{
	(void)state;
	taken_reset();
	fake_reset();
	return snowflake_open(&sf, NAME, 0);
}

static int teardown(void **state)
{
	(void)state;
	snowflake_close(sf);
	return 0;
}

/* The clock stands still at the start of a new tick. */
static void new_tick(void)
{
	int64_t now = fake->clock_ns ?: fake_now();

	fake->clock_ns = now / FAKE_TICK_NS * FAKE_TICK_NS + FAKE_TICK_NS;
}

static int64_t clock_tick(void)
{
	return fake->clock_ns / FAKE_TICK_NS - FAKE_EPOCH_MS;
}

static void test_low_rate_costs_nothing(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		new_tick();
		assert_int_equal(fake_tick(take(sf)), clock_tick());
		assert_int_equal(fake_tick(take(sf)), clock_tick());
	}
	assert_int_equal(fake->most, 1);
	assert_int_equal(fake->reads, 200);
	assert_int_equal(fake->given, 200);
}

static void test_grows_with_use_and_shrinks(void **state)
{
	uint64_t id, last = 0;
	unsigned int i;

	(void)state;
	new_tick();
	for (i = 0; i < FAKE_IDS_PER_TICK; i++) {
		id = take(sf);
		assert_int_equal(fake_tick(id), clock_tick());
		assert_true(id > last);
		last = id;
	}
	/* Nothing was lost: it is the whole tick. */
	assert_int_equal(fake->given, FAKE_IDS_PER_TICK);
	assert_in_range(fake->reads, 1, 24);
	assert_in_range(fake->most, 256, FAKE_IDS_PER_TICK / 8);

	/* With two ids in a tick it takes no more than a few ticks to learn. */
	for (i = 0; i < 8; i++) {
		new_tick();
		take(sf);
		take(sf);
	}
	fake->most = 0;
	fake->given = 0;
	for (i = 0; i < 8; i++) {
		new_tick();
		take(sf);
		take(sf);
	}
	assert_int_equal(fake->most, 1);
	assert_int_equal(fake->given, 16);
}

/* A small tick is not taken from others. */
static void test_takes_a_share_of_the_tick(void **state)
{
	unsigned int i;

	(void)state;
	fake->sequence_bits = 8;
	new_tick();
	for (i = 0; i < 300; i++)
		take(sf);
	assert_int_equal(fake->most, 256 / 8);
}

/* So often in one tick that there is a block with ids left. */
static void warm_up(void)
{
	unsigned int i;

	new_tick();
	/* It has forgotten how many were wanted before. */
	fake->generation++;
	for (i = 0; i < 40; i++)
		take_some(sf, 1);
	fake->reads = 0;
	take_some(sf, 1);
	assert_int_equal(fake->reads, 0);
}

static void test_serves_within_the_tick(void **state)
{
	(void)state;
	warm_up();
	fake->clock_ns += FAKE_TICK_NS - 1;
	take(sf);
	assert_int_equal(fake->reads, 0);
	fake->clock_ns++;
	assert_int_equal(fake_tick(take(sf)), clock_tick());
	assert_true(fake->reads > 0);
}

/* When the clock goes through a tick twice, the block does not come back. */
static void test_tick_comes_twice(void **state)
{
	uint64_t id, last;

	(void)state;
	warm_up();
	new_tick();
	last = take(sf);
	fake->clock_ns -= FAKE_TICK_NS;
	assert_int_equal(snowflake_next_timed(sf, &id, 0), -EAGAIN);
	fake->clock_ns += FAKE_TICK_NS;
	assert_true(take(sf) > last);
}

static void test_clock_set_back_in_the_tick(void **state)
{
	uint64_t id;

	(void)state;
	warm_up();
	fake->clock_ns--;
	assert_int_equal(snowflake_next_timed(sf, &id, 0), -EAGAIN);
}

static void test_generation_changes(void **state)
{
	uint64_t id = NO_ID;

	(void)state;
	warm_up();
	fake->infos = 0;
	fake->generation++;
	fake->error = ENXIO;
	assert_int_equal(snowflake_next(sf, &id), -ENXIO);
	assert_int_equal(id, NO_ID);
	fake->error = 0;
	take(sf);
	assert_int_equal(fake->infos, 1);
	assert_true(fake->reads > 0);
}

/* While ids lead the clock, none is read that is not given out. */
static void test_bypassed_while_slewing(void **state)
{
	unsigned int i;

	(void)state;
	warm_up();
	/* As at a step back. */
	fake->lead_ns = 5 * MSEC;
	fake->clock_ns -= 3 * MSEC;
	fake->generation++;
	fake->given = 0;
	fake->most = 0;
	for (i = 0; i < 500; i++)
		assert_int_equal(fake_tick(take(sf)), clock_tick() + 5);
	assert_int_equal(fake->most, 1);
	assert_int_equal(fake->given, 500);
}

static void test_direct(void **state)
{
	struct snowflake *direct;
	unsigned int i;

	(void)state;
	assert_int_equal(snowflake_open(&direct, NAME, SNOWFLAKE_DIRECT), 0);
	new_tick();
	for (i = 0; i < 500; i++)
		take(direct);
	assert_int_equal(fake->reads, 500);
	assert_int_equal(fake->most, 1);
	snowflake_close(direct);
}

static void test_open_fails(void **state)
{
	struct snowflake *none = (void *)&none;

	(void)state;
	assert_int_equal(snowflake_open(&none, "none", 0), -ENOENT);
	assert_int_equal(snowflake_open(&none, NAME, 2), -EINVAL);
	assert_int_equal(snowflake_open(&none, NAME, ~0U), -EINVAL);
	assert_ptr_equal(none, &none);
	snowflake_close(NULL);
}

static void test_errors_change_nothing(void **state)
{
	uint64_t id = NO_ID;
	static const int errors[] = {
		ENXIO, EDESTADDRREQ, EOVERFLOW, ERANGE, EKEYEXPIRED, ECANCELED
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		fake->error = errors[i];
		assert_int_equal(snowflake_next(sf, &id), -errors[i]);
		assert_int_equal(snowflake_next_timed(sf, &id, 0), -errors[i]);
		assert_int_equal(snowflake_fill(sf, &id, 1, -1), -errors[i]);
	}
	fake->error = 0;
	assert_int_equal(snowflake_next_timed(sf, &id, -2), -EINVAL);
	assert_int_equal(snowflake_next_timed(sf, &id, INT_MIN), -EINVAL);
	assert_int_equal(snowflake_fill(sf, &id, 1, -2), -EINVAL);
	assert_int_equal(snowflake_fill(sf, &id, SSIZE_MAX / 8 + 1, 0), -EINVAL);
	assert_int_equal(snowflake_fill(sf, &id, 0, -1), 0);
	assert_int_equal(id, NO_ID);
}

/* The block first, then the engine; a time that is up gives what there is. */
static void test_fill(void **state)
{
	static uint64_t ids[2 * FAKE_IDS_PER_TICK];
	uint64_t last;
	ssize_t got, i;

	(void)state;
	warm_up();
	last = take(sf);
	got = snowflake_fill(sf, ids, 3000, 0);
	assert_int_equal(got, 3000);
	assert_int_equal(ids[0], last + 1);
	got += snowflake_fill(sf, ids + got, ARRAY_SIZE(ids) - got, 0);
	assert_in_range(got, 3001, FAKE_IDS_PER_TICK - 42);
	assert_int_equal(snowflake_fill(sf, ids, 1, 0), -EAGAIN);
	assert_int_equal(snowflake_fill(sf, ids, 1, 3), -EAGAIN);
	/* All that the tick had came, and came to us. */
	assert_int_equal(fake->given, FAKE_IDS_PER_TICK);
	assert_int_equal(got, FAKE_IDS_PER_TICK - 42);
	for (i = 1; i < got; i++)
		assert_true(ids[i] > ids[i - 1]);
	assert_true(ids[0] > last);

	/* With time enough all come; what follows in this thread is higher. */
	fake->clock_ns = 0;
	assert_int_equal(snowflake_fill(sf, ids, ARRAY_SIZE(ids), 10000),
			 ARRAY_SIZE(ids));
	assert_true(take(sf) > ids[ARRAY_SIZE(ids) - 1]);
	assert_int_equal(snowflake_fill(sf, ids, ARRAY_SIZE(ids), -1),
			 ARRAY_SIZE(ids));
}

static void test_info(void **state)
{
	struct snowflake_id_layout layout;
	uint64_t first, count;

	(void)state;
	assert_int_equal(snowflake_get_layout(sf, &layout), 0);
	assert_int_equal(layout.epoch_ms, FAKE_EPOCH_MS);
	assert_int_equal(layout.tick_ms, 1);
	assert_int_equal(layout.worker_bits + layout.sequence_bits, FAKE_SHIFT);
	assert_int_equal(layout.order, SNOWFLAKE_SEQUENCE_LOWEST);
	assert_int_equal(snowflake_get_workers(sf, &first, &count), 0);
	assert_int_equal(first, FAKE_WORKER);
	assert_int_equal(count, 1);
	assert_int_equal(snowflake_bind(sf, FAKE_WORKER), 0);
	assert_int_equal(snowflake_bind(sf, FAKE_WORKER + 1), -EINVAL);
	assert_int_equal(snowflake_fd(sf), -EOPNOTSUPP);
}

/* Without thread-specific keys it works as well, but for the cache. */
static void test_no_keys_left(void **state)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	struct snowflake *poor;
	unsigned int count = 0, i;

	(void)state;
	while (count < PTHREAD_KEYS_MAX &&
	       !pthread_key_create(&keys[count], NULL))
		count++;
	assert_int_equal(snowflake_open(&poor, NAME, 0), 0);
	new_tick();
	fake->reads = 0;
	for (i = 0; i < 100; i++)
		take(poor);
	assert_int_equal(fake->reads, 100);
	snowflake_close(poor);
	while (count--)
		pthread_key_delete(keys[count]);
}

/* One handle, many threads: no duplicate, and those of each thread rise. */
#define THREADS 8
#define THREAD_IDS 5000

static void *take_many(void *arg)
{
	struct snowflake *handle = arg;
	uint64_t ids[16], last = 0, id;
	ssize_t got, i;
	unsigned int n;

	for (n = 0; n < THREAD_IDS; n++) {
		id = take(handle);
		if (id <= last)
			abort();
		taken_log(id);
		last = id;
		if (n % 64)
			continue;
		got = snowflake_fill(handle, ids, ARRAY_SIZE(ids), 1000);
		for (i = 0; i < got; i++) {
			if (ids[i] <= last)
				abort();
			taken_log(ids[i]);
			last = ids[i];
		}
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	unsigned int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_many, sf), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(taken_count() >= THREADS * THREAD_IDS);
	assert_int_equal(taken_twice(), 0);
}

/* Threads that end while the handles they used are closed, in any order. */
struct leaver {
	struct snowflake *handles[3];
	sem_t used;
};

static void *use_and_leave(void *arg)
{
	struct leaver *leaver = arg;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(leaver->handles); i++)
		for (n = 0; n < 20; n++)
			taken_log(take(leaver->handles[i]));
	sem_post(&leaver->used);
	return NULL;
}

static void test_thread_ends_while_closing(void **state)
{
	struct leaver leaver;
	pthread_t threads[3];
	unsigned int round, i;

	(void)state;
	sem_init(&leaver.used, 0, 0);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < 3; i++)
			assert_int_equal(snowflake_open(&leaver.handles[i], NAME, 0), 0);
		for (i = 0; i < 3; i++)
			assert_int_equal(pthread_create(&threads[i], NULL,
							use_and_leave, &leaver), 0);
		for (i = 0; i < 3; i++)
			sem_wait(&leaver.used);
		/* Now they end, or have ended: at times join first. */
		for (i = 0; i < 3 && round % 4 == 3; i++)
			pthread_join(threads[i], NULL);
		for (i = 0; i < 3; i++)
			snowflake_close(leaver.handles[(i + round) % 3]);
		for (i = 0; i < 3 && round % 4 != 3; i++)
			pthread_join(threads[i], NULL);
	}
	sem_destroy(&leaver.used);
	assert_int_equal(taken_twice(), 0);
}

static unsigned int count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int lines = 0;
	int c;

	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

/* A thread that stays while handles come and go does not pile up caches. */
struct stayer {
	struct snowflake *handle;
	sem_t go, done;
};

static void *stay(void *arg)
{
	struct stayer *stayer = arg;

	for (;;) {
		sem_wait(&stayer->go);
		if (!stayer->handle)
			return NULL;
		take_some(stayer->handle, 20);
		sem_post(&stayer->done);
	}
}

static void test_handles_come_and_go(void **state)
{
	struct stayer stayer;
	unsigned int round, maps = 0;
	pthread_t thread;

	(void)state;
	sem_init(&stayer.go, 0, 0);
	sem_init(&stayer.done, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, stay, &stayer), 0);
	for (round = 0; round < 500; round++) {
		assert_int_equal(snowflake_open(&stayer.handle, NAME, 0), 0);
		sem_post(&stayer.go);
		sem_wait(&stayer.done);
		take_some(stayer.handle, 20);
		snowflake_close(stayer.handle);
		if (round == 99)
			maps = count_maps();
	}
	assert_in_range(count_maps(), 0, maps + 20);
	stayer.handle = NULL;
	sem_post(&stayer.go);
	pthread_join(thread, NULL);
	assert_int_equal(taken_twice(), 0);
}

static void *take_and_end(void *arg)
{
	take_some(arg, 20);
	return NULL;
}

/* Threads that come and go leave their caches to each other. */
static void test_threads_come_and_go(void **state)
{
	unsigned int round, maps = 0;
	pthread_t thread;

	(void)state;
	for (round = 0; round < 500; round++) {
		assert_int_equal(pthread_create(&thread, NULL, take_and_end, sf), 0);
		pthread_join(thread, NULL);
		if (round == 99)
			maps = count_maps();
	}
	assert_in_range(count_maps(), 0, maps + 20);
	assert_int_equal(taken_twice(), 0);
}

/*
 * Forks. The clock stands still where the block that is there twice would be
 * good in both.
 */
#define CHILDREN 32
#define CHILD_IDS 20

static void test_children(void **state)
{
	unsigned int i;

	(void)state;
	warm_up();
	for (i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		take_some(sf, CHILD_IDS / 2);
		if (i % 8 == 0 && !fork()) {
			take_some(sf, CHILD_IDS / 2);
			_exit(0);
		}
		take_some(sf, CHILD_IDS / 2);
		while (wait(NULL) > 0)
			;
		_exit(0);
	}
	take_some(sf, CHILD_IDS);
	assert_true(children_well());
	assert_int_equal(taken_twice(), 0);
}

/* A child has threads of its own, and closes what it was given. */
static void child_of_threads(struct snowflake *handle)
{
/* The sanitizers may be found locked in the child of many threads. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	pthread_t thread;

	if (pthread_create(&thread, NULL, take_and_end, handle))
		abort();
	take_some(handle, 10);
	pthread_join(thread, NULL);
	snowflake_close(handle);
#else
	take_some(handle, 10);
#endif
}

static void *fork_and_take(void *arg)
{
	unsigned int i;
	int status;

	take_some(arg, 20);
	for (i = 0; i < 8; i++) {
		take_some(arg, 3);
		if (!fork()) {
			take_some(arg, 10);
			child_of_threads(arg);
			_exit(0);
		}
		take_some(arg, 3);
	}
	while (wait(&status) > 0)
		if (status)
			abort();
	return NULL;
}

static void test_threads_fork(void **state)
{
	pthread_t threads[THREADS];
	unsigned int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fork_and_take, sf), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(taken_count() >= THREADS * 8 * 26);
	assert_int_equal(taken_twice(), 0);
}

/* A child in the memory of its parent takes from what they have together. */
static void test_vfork(void **state)
{
	unsigned int i;

	(void)state;
	warm_up();
	for (i = 0; i < 50; i++) {
		pid_t pid = vfork();

		if (!pid) {
			take_some(sf, 1);
			_exit(0);
		}
		assert_true(pid > 0);
		take_some(sf, 1);
		if (i % 10 == 9)
			new_tick();
	}
	assert_true(children_well());
	assert_int_equal(taken_twice(), 0);
}

static void test_posix_spawn(void **state)
{
	static const char name[] = "true";
	char *const args[] = { (char *)name, NULL };
	unsigned int i;
	pid_t pid;

	(void)state;
	warm_up();
	for (i = 0; i < 20; i++) {
		assert_int_equal(posix_spawnp(&pid, name, NULL, NULL, args, NULL), 0);
		take_some(sf, 1);
	}
	assert_true(children_well());
	assert_int_equal(taken_twice(), 0);
}

/* Signal handlers that use the handle they came in upon. */
static volatile uint64_t handler_last;
static volatile bool handler_leaves;
static sigjmp_buf way_out;

static void take_in_handler(int signal)
{
	uint64_t id;

	(void)signal;
	id = take(sf);
	if (id <= handler_last)
		abort();
	handler_last = id;
	taken_log(id);
	if (handler_leaves)
		siglongjmp(way_out, 1);
}

#define IDS_ENOUGH 500000

static void take_under_timer(bool leave)
{
	struct sigaction action = { .sa_handler = take_in_handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 150 }, { 0, 150 } }, never = { 0 };
	volatile unsigned int taken = 0;
	volatile uint64_t last = 0;
	uint64_t ids[3], end;
	ssize_t got, i;

	handler_last = 0;
	handler_leaves = leave;
	end = fake_now() + 300 * MSEC;
	sigaction(SIGALRM, &action, NULL);
	if (sigsetjmp(way_out, 1))
		last = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	while ((uint64_t)fake_now() < end && taken_count() < IDS_ENOUGH) {
		if (taken++ % 16) {
			got = snowflake_next(sf, ids) ?: 1;
		} else {
			got = snowflake_fill(sf, ids, ARRAY_SIZE(ids), -1);
		}
		if (got == -EINTR)
			continue;
		assert_true(got > 0);
		for (i = 0; i < got; i++) {
			/* The handler may leave between taking and logging. */
			assert_true(ids[i] > last);
			last = ids[i];
			taken_log(last);
		}
	}
	handler_leaves = false;
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
	assert_true(handler_last);
	assert_int_equal(taken_twice(), 0);
}

static void test_handler_takes(void **state)
{
	(void)state;
	take_under_timer(false);
}

static void test_handler_never_returns(void **state)
{
	(void)state;
	take_under_timer(true);
}

/*
 * A handler that forks between any two instructions of a call. What the child
 * gets in the handler, from the interrupted call and after it is all looked at.
 * Only the end of a call, after its last look, cannot be safe: there the id is as
 * good as the caller's. It must be the end, and short; it is counted with what
 * the test itself does after the call.
 */
#ifdef __SANITIZE_ADDRESS__
#define INSTANT_MOST(n) ((n) * 5 / 2)
#else
#define INSTANT_MOST(n) (n)
#endif

static void fork_at_each_instruction(const char *what, struct trial *trial,
				     void (*prepare)(void), long most)
{
	long length, at, step, left = 0, instant = 0;

	if (!step_possible()) {
		print_message("# no way to stop after each instruction here\n");
		return;
	}
	/* The first call of all has more to do. */
	prepare();
	trial_call(trial);
	trial_end(trial);
	prepare();
	length = step_call(trial_call, NULL, trial, -1);
	trial_end(trial);
	assert_false(step_blocked());
	/* The end bit by bit, until it is surely left. */
	step = length / test_trials(100) + 1;
	for (at = length - 1; at >= 0;
	     at -= length - at < instant + 30 ? 1 : step) {
		prepare();
		left = trial_run(trial, at);
		assert_int_not_equal(left, TRIAL_MISSED);
		if (left > instant)
			instant = left;
	}
	print_message("# %s: of %ld instructions, the id is the caller's for the last %ld\n",
		      what, length, instant);
	assert_in_range(instant, 1, INSTANT_MOST(most));
	assert_int_equal(taken_twice(), 0);
}

static void test_fork_in_cached_next(void **state)
{
	struct trial trial = { .sf = sf, .count = 1 };

	(void)state;
	fork_at_each_instruction("cached", &trial, warm_up, 40);
}

/* The first in a tick, so it is read by itself. */
static void test_fork_in_single_next(void **state)
{
	struct trial trial = { .sf = sf, .count = 1 };

	(void)state;
	fake->clock_ns = fake_now();
	take(sf);
	fork_at_each_instruction("single", &trial, new_tick, 64);
}

static void test_fork_in_direct_next(void **state)
{
	struct trial trial = { .count = 1 };

	(void)state;
	assert_int_equal(snowflake_open(&trial.sf, NAME, SNOWFLAKE_DIRECT), 0);
	fork_at_each_instruction("direct", &trial, new_tick, 64);
	snowflake_close(trial.sf);
}

static void test_fork_in_fill(void **state)
{
	struct trial trial = { .sf = sf, .count = TRIAL_IDS };

	(void)state;
	fork_at_each_instruction("fill", &trial, warm_up, 40);
}

/* A signal that comes as the engine's read returns, and a handler that forks. */
static struct trial *interrupted;

static void fork_in_handler(int signal)
{
	(void)signal;
	trial_fork(interrupted);
}

static void fork_in_read(struct trial *trial, unsigned int before)
{
	struct sigaction action = { .sa_handler = fork_in_handler };

	warm_up();
	take_some(sf, before);
	interrupted = trial;
	sigaction(SIGUSR1, &action, NULL);
	fake->reads = 0;
	while (!fake->reads) {
		fake->signal = SIGUSR1;
		trial_call(trial);
		trial_end(trial);
	}
	assert_int_equal(fake->signal, 0);
	take_some(sf, 20);
	assert_true(children_well());
	signal(SIGUSR1, SIG_DFL);
}

/* Out of a block that is used up, and while it is asked for more than it has. */
static void test_fork_in_read(void **state)
{
	struct trial next = { .sf = sf, .count = 1 };
	struct trial fill = { .sf = sf, .count = TRIAL_IDS };
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		fork_in_read(&next, i);
		fork_in_read(&fill, i);
	}
	assert_int_equal(taken_twice(), 0);
}

/*
 * The same again and again, wherever the call happens to be: so often, or less if
 * the environment has it so.
 */
#ifdef __SANITIZE_ADDRESS__
#define FORKS 500
#else
#define FORKS 10000
#endif

static void test_handler_forks(void **state)
{
	struct trial next = { .sf = sf, .count = 1 };
	struct trial fill = { .sf = sf, .count = TRIAL_IDS };
	const char *wanted = getenv("FORKS");
	long forks = wanted && atol(wanted) < FORKS ? atol(wanted) : FORKS;
	long at = 0, left;
	struct trial *trial;

	(void)state;
	if (!step_possible())
		return;
	assert_in_range(forks, 1, LONG_MAX);
	while (forks) {
		if (at % 50 == 0)
			warm_up();
		trial = forks % 4 ? &next : &fill;
		left = trial_run(trial, at++);
		assert_in_range(left + 1, 0, INSTANT_MOST(64) + 1);
		if (left == TRIAL_MISSED)
			at = 0;
		else
			forks--;
	}
	assert_int_equal(taken_twice(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
		TEST(open_fails),
		TEST(errors_change_nothing),
		TEST(info),
		TEST(direct),
		TEST(low_rate_costs_nothing),
		TEST(grows_with_use_and_shrinks),
		TEST(takes_a_share_of_the_tick),
		TEST(serves_within_the_tick),
		TEST(tick_comes_twice),
		TEST(clock_set_back_in_the_tick),
		TEST(generation_changes),
		TEST(bypassed_while_slewing),
		TEST(fill),
		TEST(no_keys_left),
		TEST(threads),
		TEST(thread_ends_while_closing),
		TEST(handles_come_and_go),
		TEST(threads_come_and_go),
		TEST(children),
		TEST(threads_fork),
		TEST(vfork),
		TEST(posix_spawn),
		TEST(handler_takes),
		TEST(handler_never_returns),
		TEST(fork_in_read),
		TEST(fork_in_cached_next),
		TEST(fork_in_single_next),
		TEST(fork_in_direct_next),
		TEST(fork_in_fill),
		TEST(handler_forks),
	};

	return test_run("cache", tests);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The generator under real threads and the real clock. Each thread is a CPU with
 * a block of its own; there are more threads than CPUs, so that they are held up
 * anywhere, and some are held up on purpose right after they looked at the
 * clock.
 *
 * Nobody sets the clock here: whoever meets another verdict than that the tick
 * is used up, or that the window is over, has met a fault.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "unit.h"

#define THREADS 8
#define SLOW_THREADS 3		/* of these, held up on purpose */
#define FILES 6			/* shared by all threads */
#define SHARE_NS (1500 * NSEC_PER_MSEC)	/* for how long they share them */
#define CHANGES 400		/* of the configuration or the window */
#define BOUND 4			/* worker ids in bound sharing */
#define NSEC_PER_SEC (1000 * NSEC_PER_MSEC)

/* A reader looks again so often at a clock that is a trifle short. */
#define LOOKS_MAX 100

/**
 * struct file - an open file
 * @order: its order
 * @highest: the highest id of a read that is over
 */
struct file {
	struct snowflake_order order;
	u64 highest;
};

/**
 * struct reader - a thread that reads
 * @thread: the thread
 * @block: its block
 * @own: a file that no other thread reads
 * @random: its random numbers
 * @log: what it was given
 * @slow: it is held up on purpose
 * @fault: what went wrong, or NULL; cmocka's asserts are for the main thread
 * @verdicts: how often it met which
 */
struct reader {
	pthread_t thread;
	struct snowflake_block block;
	struct file own;
	u64 random;
	struct unit_log log;
	bool slow;
	const char *fault;
	u64 verdicts[SNOWFLAKE_VERDICTS];
};

static struct unit_host host;
static struct snowflake_config configs[CHANGES + 1];
static struct file files[FILES];
static struct reader readers[THREADS];
static bool stop;

/**
 * struct window - what nobody may mint outside of
 * @changes: rises before the window grows and after it has shrunk
 * @not_before: its first tick
 * @not_after: the first tick past it
 * @used: there are windows at all
 */
static struct {
	unsigned int changes;
	u64 not_before;
	u64 not_after;
	bool used;
} window;

static bool config_is_bound;

/* Readers hold it where they would have preemption disabled. */
static pthread_rwlock_t grace;

/* The offset of the real-time clock, fixed, so that indeed nobody sets it. */
static s64 real_offset;

static __thread struct reader *self;

static s64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void sleep_until(s64 mono)
{
	struct timespec ts = {
		.tv_sec = mono / NSEC_PER_SEC,
		.tv_nsec = mono % NSEC_PER_SEC,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

/*
 * To be held up here for longer than a tick, with the time already known, is
 * what shows whether the word was read before.
 */
ktime_t ktime_get(void)
{
	s64 now = clock_ns(CLOCK_MONOTONIC);

	if (self && self->slow) {
		switch (unit_random_below(&self->random, 256)) {
		case 0:
			sleep_until(now + 1500 * NSEC_PER_USEC);
			break;
		case 1:
		case 2:
		case 3:
			sched_yield();
			break;
		}
	}
	return now;
}

ktime_t ktime_mono_to_any(ktime_t mono, enum tk_offsets offset)
{
	return offset == TK_OFFS_REAL ? mono + real_offset : mono;
}

static u64 tick_now(void)
{
	return (clock_ns(CLOCK_MONOTONIC) + real_offset -
		configs[0].epoch_ns) / configs[0].tick_ns;
}

static const struct snowflake_config *config_in_force(void)
{
	return rcu_dereference_sched(host.config);
}

static struct snowflake_run take(struct reader *reader, struct file *file,
				 const struct snowflake_request *request)
{
	struct snowflake_run run;

	pthread_rwlock_rdlock(&grace);
	run = snowflake_generator_take(config_in_force(), &host.clock,
				       &reader->block, &file->order, request);
	pthread_rwlock_unlock(&grace);
	return run;
}

/* Say that a reader goes to sleep, or has had what it slept for. */
static u32 wait_begin(struct file *file)
{
	u32 lineage;

	pthread_rwlock_rdlock(&grace);
	lineage = snowflake_waiter_enter(config_in_force(), &file->order);
	pthread_rwlock_unlock(&grace);
	return lineage;
}

static void wait_end(struct file *file, u32 lineage)
{
	pthread_rwlock_rdlock(&grace);
	snowflake_waiter_leave(config_in_force(), &file->order, lineage);
	pthread_rwlock_unlock(&grace);
}

/* Note that the file was given all up to this id. */
static void raise(struct file *file, u64 id)
{
	/* Pairs with the other threads' in the loop. */
	u64 highest = smp_load_acquire(&file->highest);

	while (highest < id)
		if (__atomic_compare_exchange_n(&file->highest, &highest, id,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			break;
}

/* The window as it was told last, and how often that was. */
static unsigned int window_look(u64 *not_before, u64 *not_after)
{
	unsigned int changes;

	do {
		/* All of them pair with tell_window(). */
		changes = smp_load_acquire(&window.changes);
		*not_before = __atomic_load_n(&window.not_before,
					      __ATOMIC_ACQUIRE);
		*not_after = __atomic_load_n(&window.not_after,
					     __ATOMIC_ACQUIRE);
	} while (READ_ONCE(window.changes) != changes);
	return changes;
}

/* One read, with all the waiting that it needs; what it was given is noted. */
static void read_once(struct reader *reader, struct file *file, u32 want)
{
	/* Pairs with raise(): that read is wholly over. */
	u64 past = smp_load_acquire(&file->highest);
	struct snowflake_request request = { .want = want };
	struct snowflake_run run;
	u32 waits = 0;
	u64 tick, before, not_before, not_after;
	unsigned int changes;
	int looks = 0;

	do {
		changes = window_look(&not_before, &not_after);
		before = tick_now();
		run = take(reader, file, &request);
		reader->verdicts[run.verdict]++;
		switch (run.verdict) {
		case SNOWFLAKE_GIVEN:
			break;
		case SNOWFLAKE_EXHAUSTED:
			if (!waits)
				waits = wait_begin(file);
			request.woken = waits;
			sleep_until(run.until);
			break;
		case SNOWFLAKE_CLOSED:
			sched_yield();
			break;
		case SNOWFLAKE_EXPIRED:
		case SNOWFLAKE_NOT_YET:
			if (!window.used)
				reader->fault = "past a window that is open";
			else if (READ_ONCE(stop))
				goto out;
			sched_yield();
			break;
		case SNOWFLAKE_SKEWED:
			if (++looks > LOOKS_MAX)
				reader->fault = "short of the time for long";
			break;
		default:
			reader->fault = "a verdict that nobody gave cause for";
		}
	} while (run.verdict != SNOWFLAKE_GIVEN && !reader->fault);
out:
	wait_end(file, waits);
	if (reader->fault || run.verdict != SNOWFLAKE_GIVEN)
		return;

	tick = run.id >> 22;
	if (!run.count || run.count > want)
		reader->fault = "another number of ids than wanted";
	/* Reads that overlap may be given theirs in any order. */
	else if (run.id <= past)
		reader->fault = "an id below that of an earlier read of the file";
	else if (tick < before)
		reader->fault = "an id of a tick that was over";
	else if (tick > tick_now())
		reader->fault = "an id of a tick that is to come";
	else if (changes == window_look(&not_before, &not_after) &&
		 (tick < not_before || tick >= not_after))
		reader->fault = "an id outside the window";
	else if (config_is_bound && (run.id >> 12 & 1023) != file->order.shard)
		reader->fault = "an id of another's worker id";
	raise(file, run.id + run.count - 1);
	unit_log_add(&reader->log, run.id, run.count);
}

static u32 some_want(u64 *random, u32 bulk)
{
	switch (unit_random_below(random, 16)) {
	case 0:
		return 1 + unit_random_below(random, bulk);
	case 1:
	case 2:
		return 1 + unit_random_below(random, 20);
	default:
		return 1;
	}
}

/* Stay with a file for a while, as programs do, then go on with another. */
static void *read_along(void *data)
{
	struct reader *reader = data;
	struct file *file;
	int times;

	self = reader;
	while (!READ_ONCE(stop) && !reader->fault) {
		file = &reader->own;
		if (unit_random_below(&reader->random, 4))
			file = &files[unit_random_below(&reader->random, FILES)];
		times = 1 + unit_random_below(&reader->random, 30);
		while (times-- && !reader->fault)
			read_once(reader, file,
				  some_want(&reader->random, 300));
	}
	return NULL;
}

/* Much of every tick is used, so that a range repeated would show. */
static void *read_much(void *data)
{
	struct reader *reader = data;

	self = reader;
	while (!READ_ONCE(stop) && !reader->fault) {
		struct file *file = unit_random_below(&reader->random, 2) ?
					    &reader->own :
					    &files[0];

		read_once(reader, file, some_want(&reader->random, 3000));
	}
	return NULL;
}

static int setup(void **state)
{
	pthread_rwlockattr_t attr;
	int i;

	(void)state;
	/* Or the writer would wait until no reader is left. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
				      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&grace, &attr);
	pthread_rwlockattr_destroy(&attr);

	real_offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	unit_host_init(&host);
	memset(readers, 0, sizeof(readers));
	memset(files, 0, sizeof(files));
	for (i = 0; i < FILES; i++)
		snowflake_order_init(&files[i].order, 0);
	for (i = 0; i < THREADS; i++) {
		snowflake_order_init(&readers[i].own.order, 0);
		readers[i].random = clock_ns(CLOCK_MONOTONIC) + i;
		readers[i].slow = i < SLOW_THREADS;
	}
	WRITE_ONCE(stop, false);
	config_is_bound = false;
	window.not_before = 0;
	window.not_after = U64_MAX;
	window.used = false;
	return 0;
}

static void begin(void *(*reading)(void *))
{
	int i;

	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						reading, &readers[i]), 0);
}

/* Wait for all, and bring together what they were given, in order. */
static void end(struct unit_log *log)
{
	u64 verdicts[SNOWFLAKE_VERDICTS] = { 0 };
	const char *fault = NULL;
	int i, j;

	WRITE_ONCE(stop, true);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);

	for (i = 0; i < THREADS; i++) {
		unit_log_append(log, &readers[i].log);
		unit_log_free(&readers[i].log);
		for (j = 0; j < SNOWFLAKE_VERDICTS; j++)
			verdicts[j] += readers[i].verdicts[j];
		if (readers[i].fault)
			fault = readers[i].fault;
	}
	unit_log_sort(log);
	pthread_rwlock_destroy(&grace);

	printf("# %" PRIu64 " ids; reads: %" PRIu64 " given, %" PRIu64
	       " exhausted, %" PRIu64 " closed, %" PRIu64 " skewed, %" PRIu64
	       " outside\n",
	       unit_log_ids(log), verdicts[SNOWFLAKE_GIVEN],
	       verdicts[SNOWFLAKE_EXHAUSTED], verdicts[SNOWFLAKE_CLOSED],
	       verdicts[SNOWFLAKE_SKEWED],
	       verdicts[SNOWFLAKE_EXPIRED] + verdicts[SNOWFLAKE_NOT_YET]);
	fflush(stdout);
	if (fault)
		fail_msg("%s", fault);
	assert_int_equal(verdicts[SNOWFLAKE_BEHIND], 0);
	assert_int_equal(verdicts[SNOWFLAKE_NO_WORKER], 0);
	assert_int_equal(verdicts[SNOWFLAKE_ENDED], 0);
	assert_int_equal(verdicts[SNOWFLAKE_OUTDATED], 0);
	for (i = 0; (u64)i < snowflake_config_words(host.config); i++)
		assert_int_equal(atomic_read(&host.words[i].waiters), 0);
	unit_host_exit(&host);
}

static void assert_no_duplicate(const struct unit_log *log)
{
	u64 id;

	if (unit_log_duplicate(log, &id))
		fail_msg("id %" PRIu64 " was given twice", id);
}

static void assert_no_step(void)
{
	struct snowflake_steps steps;

	snowflake_clock_steps(&host.clock, &steps);
	assert_int_equal(steps.rewinds, 0);
}

/* Fault 13, with threads in the place of processes. */
static void threads_that_share_files(void **state)
{
	static struct unit_log log;

	(void)state;
	unit_config_init(&configs[0], 7, 1, 64);
	unit_host_put_in_force(&host, &configs[0]);
	begin(read_along);
	sleep_until(clock_ns(CLOCK_MONOTONIC) + SHARE_NS);
	end(&log);
	assert_no_duplicate(&log);
	assert_no_step();
	unit_log_free(&log);
}

/* Returns when all that read when it was called are through. */
static void synchronize(void)
{
	pthread_rwlock_wrlock(&grace);
	pthread_rwlock_unlock(&grace);
}

/* The ranges are 0..1 and 1..2: none of the ids of a tick is of 0 and of 2. */
static void assert_no_tick_is_shared(const struct unit_log *log)
{
	u64 tick = 0, min = 0;
	size_t i;

	for (i = 0; i < log->count; i++) {
		u64 first = log->given[i].first, last = log->given[i].end - 1;

		if (first >> 22 != tick) {
			tick = first >> 22;
			min = first >> 12 & 1023;
		}
		assert_true((last >> 12 & 1023) <= min + 1);
		assert_true((last >> 12 & 1023) <= 2);
	}
}

static void configurations_that_change_under_readers(void **state)
{
	u64 random = clock_ns(CLOCK_MONOTONIC);
	static struct unit_log log;
	int i;

	(void)state;
	for (i = 0; i <= CHANGES; i++)
		unit_config_init(&configs[i], i & 1, 2, 64);
	unit_host_put_in_force(&host, &configs[0]);
	host.synchronize = synchronize;
	begin(read_much);
	for (i = 1; i <= CHANGES; i++) {
		sleep_until(clock_ns(CLOCK_MONOTONIC) +
			    unit_random_below(&random, 4 * NSEC_PER_MSEC));
		unit_host_put_in_force(&host, &configs[i]);
	}
	end(&log);
	assert_no_duplicate(&log);
	assert_no_tick_is_shared(&log);
	assert_no_step();
	unit_log_free(&log);
}

/* Each thread has a file of its own, and shares others, of the same worker ids. */
static void bound_readers_share_worker_ids(void **state)
{
	static struct unit_log log;
	int i;

	(void)state;
	unit_config_init(&configs[0], 20, BOUND, 64);
	configs[0].bound = true;
	config_is_bound = true;
	for (i = 0; i < THREADS; i++)
		readers[i].own.order.shard = 20 + i % BOUND;
	for (i = 0; i < FILES; i++)
		files[i].order.shard = 20 + i % BOUND;
	unit_host_put_in_force(&host, &configs[0]);
	begin(read_much);
	sleep_until(clock_ns(CLOCK_MONOTONIC) + SHARE_NS);
	for (i = 1; i < BOUND; i++)
		assert_true(atomic64_read(&host.words[i].next));
	end(&log);
	assert_no_duplicate(&log);
	assert_no_step();
	unit_log_free(&log);
}

/* Tell readers of a window, in one piece. */
static void tell_window(u64 not_before, u64 not_after)
{
	/* Odd or even does not matter: readers only ask whether it changed. */
	__atomic_fetch_add(&window.changes, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&window.not_before, not_before, __ATOMIC_SEQ_CST);
	__atomic_store_n(&window.not_after, not_after, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&window.changes, 1, __ATOMIC_SEQ_CST);
}

/* Once the write has returned, no id is outside, block or claim. */
static void windows_that_shrink_under_readers(void **state)
{
	u64 random = clock_ns(CLOCK_MONOTONIC), first = 0, last;
	u64 epoch_ms = snowflake_layouts[SNOWFLAKE_TWITTER].epoch_ms;
	static struct unit_log log;
	int i;

	(void)state;
	unit_config_init(&configs[0], 7, 2, 64);
	unit_host_put_in_force(&host, &configs[0]);
	host.synchronize = synchronize;
	window.used = true;
	begin(read_along);
	for (i = 1; i + 1 <= CHANGES; i += 2) {
		sleep_until(clock_ns(CLOCK_MONOTONIC) +
			    unit_random_below(&random, 3 * NSEC_PER_MSEC));
		last = tick_now() + 3 - unit_random_below(&random, 5);
		if (unit_random_below(&random, 4) == 0)
			first = tick_now() + unit_random_below(&random, 2);
		unit_host_window(&host, &configs[i], epoch_ms + first,
				 epoch_ms + last);
		tell_window(first, last);
		sleep_until(clock_ns(CLOCK_MONOTONIC) +
			    unit_random_below(&random, 2 * NSEC_PER_MSEC));
		tell_window(first, U64_MAX);
		unit_host_window(&host, &configs[i + 1], epoch_ms + first, 0);
	}
	end(&log);
	assert_no_duplicate(&log);
	assert_no_step();
	unit_log_free(&log);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(threads_that_share_files, setup),
		cmocka_unit_test_setup(configurations_that_change_under_readers,
				       setup),
		cmocka_unit_test_setup(bound_readers_share_worker_ids, setup),
		cmocka_unit_test_setup(windows_that_shrink_under_readers, setup),
	};

	return unit_run("race", tests);
}

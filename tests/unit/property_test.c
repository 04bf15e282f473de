// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What must hold whatever happens: random reads by four files on four CPUs, on a
 * clock that advances, is set and sleeps, and under configurations that follow
 * one another. A read is now and then held up while others do as they please.
 *
 * Of each read that nothing came between, a small model says beforehand what
 * must become of it; of the others, what must not.
 *
 * Environment: SEED=N repeats a run, OPS=N makes it longer or shorter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "driven_clock.h"
#include "unit.h"

#define OPS_DEFAULT 2000000
#define EPOCH_MS 1288834974657ULL
#define TICK 505000000000ULL
#define TICK_NS NSEC_PER_MSEC
#define SKEW_NS (10 * NSEC_PER_USEC)
#define SHIFT 22
#define CPUS 4
#define FILES 4
#define WAITERS_MAX 5
#define DEPTH_MAX 2		/* interrupts of interrupts */

static u64 seed;
static u64 random_state;
static u64 ops;			/* done so far */

static struct snowflake_generator generator;
static struct snowflake_clock watched;
static struct snowflake_config configs[2];	/* in force in turn */
static const struct snowflake_config *in_force;
static struct snowflake_block cpus[CPUS];
static struct snowflake_order files[FILES];

/* What the model knows. */
static u64 highest[FILES];	/* id that the file was given */
static u64 top;			/* tick in which a number was given last */
static bool top_closed;		/* the rest of that tick is not to be given */
static u64 top_given;		/* numbers of that tick that were given */
static struct unit_log given;	/* all ids */

/* How the clock was while a read was under way. */
static s64 real_min;		/* earliest time */
static s64 real_max;		/* latest time */

static unsigned int depth;	/* of interrupts */
static unsigned int interrupts;	/* so far */
static unsigned int busy;	/* CPUs on which a read is held up, as bits */
static int asleep;		/* waiters that are not in a read just now */

/* So that a run can be told to be a good one. */
static u64 verdicts[SNOWFLAKE_BEHIND + 1];
static u64 changes;

#define check(condition)						\
	do {								\
		if (!(condition))					\
			fail_msg("SEED=%" PRIu64 ", operation %" PRIu64	\
				 ": %s", seed, ops, #condition);	\
	} while (0)

static u64 below(u64 limit)
{
	return unit_random_below(&random_state, limit);
}

static bool one_in(u64 n)
{
	return !below(n);
}

/* All orders of magnitude alike. */
static u64 of_any_size(unsigned int bits)
{
	return below(1ULL << below(bits + 1));
}

static u64 tick_of(s64 real)
{
	return real / TICK_NS - EPOCH_MS;
}

static u64 tick_now(void)
{
	return tick_of(driven_clock_real());
}

static s64 tick_start(u64 tick)
{
	return (EPOCH_MS + tick) * TICK_NS;
}

static void clock_moved(void)
{
	s64 real = driven_clock_real();

	real_min = min_t(s64, real_min, real);
	real_max = max_t(s64, real_max, real);
}

static void advance(s64 ns)
{
	driven_clock_advance(ns);
	clock_moved();
}

static void move_clock(void)
{
	s64 by;

	switch (below(12)) {
	case 0:
		by = of_any_size(33);
		/* Far from the epoch, before which all would be behind. */
		driven_clock_step(one_in(2) ? by : -by);
		break;
	case 1:
		driven_clock_suspend(of_any_size(33));
		break;
	case 2:
		if (one_in(2))
			snowflake_clock_judge(&watched);
		break;
	default:
		driven_clock_advance(of_any_size(21));
	}
	clock_moved();
}

static void new_config(void)
{
	struct snowflake_config *next = in_force == &configs[0] ? &configs[1] :
								  &configs[0];
	bool first = !in_force;
	struct snowflake_run run;

	if (!first && one_in(3)) {
		unit_put_in_force(&generator, &watched,
				  &snowflake_config_no_worker, NULL);
		run = snowflake_generator_take(&generator, &watched,
					       &cpus[below(CPUS)],
					       &files[below(FILES)], 1, false);
		check(run.verdict == SNOWFLAKE_NO_WORKER);
		if (one_in(2))
			move_clock();
	}
	unit_config_init(next, below(4), 1 + below(3), 1U << below(9));
	unit_put_in_force(&generator, &watched, next, NULL);
	in_force = next;
	changes++;

	if (first)
		top = tick_now();
	top_closed = true;
}

/* Numbers of the top tick that CPUs hold and can still give. */
static u64 held(void)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		if (cpus[i].cookie == in_force->cookie &&
		    cpus[i].ceiling == (top + 1) << SHIFT)
			sum += cpus[i].end - cpus[i].next;
	return sum;
}

/* Nothing of a tick gets lost but what is left for those who wait. */
static void check_used_up(bool woken)
{
	u64 rest = in_force->capacity - top_given - held();

	check(top_given + held() <= in_force->capacity);
	check(rest <= (u64)atomic_read(&generator.waiters));
	if (woken)
		check(!rest);
}

/* Who claims leaves a number for each that waits; the woken has its own. */
static void check_left(struct snowflake_run run, bool woken, u64 word_before)
{
	u64 word = atomic64_read(&generator.word);
	u64 rest = in_force->capacity - (word & ((1U << SHIFT) - 1));
	u64 owed = atomic_read(&generator.waiters);

	if (word == word_before)
		return;
	if (woken)
		check(rest >= owed - 1 || run.count == 1);
	else
		check(rest >= owed);
}

/* What became of a read that nothing came between. */
static void check_verdict(struct snowflake_run run, bool woken, u64 word_before)
{
	u64 tick = tick_now();
	s64 gap = tick_start(top) - driven_clock_real();

	if (tick < top) {
		check(run.verdict == (gap < SKEW_NS ? SNOWFLAKE_SKEWED :
						      SNOWFLAKE_BEHIND));
		check(run.until == driven_clock_mono() + gap);
		return;
	}
	if (run.verdict == SNOWFLAKE_GIVEN) {
		check(tick > top || !top_closed);
		check_left(run, woken, word_before);
		return;
	}
	check(run.verdict == SNOWFLAKE_EXHAUSTED);
	check(tick == top);
	check(run.until == driven_clock_mono() + tick_start(tick + 1) -
			   driven_clock_real());
	if (!top_closed)
		check_used_up(woken);
}

static void check_given(struct snowflake_run run, u32 want, u64 past,
			u64 top_before)
{
	u64 last = run.id + run.count - 1;
	u64 tick = run.id >> SHIFT;

	check(run.count && run.count <= want);
	check(last >> SHIFT == tick);
	check(tick >= tick_of(real_min) && tick <= tick_of(real_max));
	/* Not while behind. */
	check(tick >= top_before);
	check(((run.id >> 12) & 1023) >= in_force->worker_id);
	check(((last >> 12) & 1023) <
	      in_force->worker_id + in_force->worker_count);
	/* Above all that the file had when the read began. */
	check(run.id > past);
}

static void note_given(int file, struct snowflake_run run)
{
	u64 tick = run.id >> SHIFT;

	highest[file] = max_t(u64, highest[file], run.id + run.count - 1);
	unit_log_add(&given, run.id, run.count);
	if (tick > top) {
		top = tick;
		top_closed = false;
		top_given = 0;
	}
	if (tick == top)
		top_given += run.count;
}

/* It said until when: it is so until then, and otherwise from then on. */
static void check_until(struct snowflake_run run)
{
	struct snowflake_run early, due;
	s64 gap = run.until - driven_clock_mono();

	check(gap > 0);
	advance(gap - 1);
	early = snowflake_generator_probe(&generator, &watched);
	advance(1);
	due = snowflake_generator_probe(&generator, &watched);
	if (run.verdict == SNOWFLAKE_EXHAUSTED) {
		check(early.verdict == SNOWFLAKE_EXHAUSTED ||
		      atomic_read(&generator.waiters));
		check(due.verdict == SNOWFLAKE_GIVEN);
	} else {
		check(early.verdict == SNOWFLAKE_SKEWED);
		check(due.verdict == SNOWFLAKE_GIVEN ||
		      due.verdict == SNOWFLAKE_EXHAUSTED);
	}
}

static void others_go_on(void);

static u32 some_want(void)
{
	switch (below(20)) {
	case 0:
		return 1 + below(6000);
	case 1:
	case 2:
		return 1 + below(300);
	case 3:
	case 4:
	case 5:
		return 1 + below(32);
	default:
		return 1;
	}
}

static void read_some(void)
{
	s64 outer_min = real_min, outer_max = real_max;
	unsigned int interrupts_before = interrupts;
	u64 word_before = atomic64_read(&generator.word);
	u64 top_before = top;
	int file = below(FILES);
	int cpu = below(CPUS);
	u64 past = highest[file];
	bool woken = asleep && one_in(2);
	u32 want = some_want();
	struct snowflake_run run;

	/* A CPU on which a read is held up does nothing else. */
	while (busy & 1U << cpu)
		cpu = (cpu + 1) % CPUS;

	real_max = driven_clock_real();
	real_min = real_max;
	busy |= 1U << cpu;
	asleep -= woken;
	if (depth < DEPTH_MAX && one_in(8))
		driven_clock_interrupt(others_go_on);
	run = snowflake_generator_take(&generator, &watched, &cpus[cpu],
				       &files[file], want, woken);
	driven_clock_interrupt(NULL);
	busy &= ~(1U << cpu);

	verdicts[run.verdict]++;
	if (interrupts == interrupts_before)
		check_verdict(run, woken, word_before);
	if (run.verdict == SNOWFLAKE_GIVEN) {
		check_given(run, want, past, top_before);
		note_given(file, run);
		if (woken)
			atomic_dec(&generator.waiters);
	} else if (woken) {
		asleep++;
	} else if (run.verdict == SNOWFLAKE_EXHAUSTED &&
		   atomic_read(&generator.waiters) < WAITERS_MAX && one_in(4)) {
		atomic_inc(&generator.waiters);
		asleep++;
	} else if (!depth && interrupts == interrupts_before && one_in(3)) {
		check_until(run);
	}

	real_min = min_t(s64, real_min, outer_min);
	real_max = max_t(s64, real_max, outer_max);
}

static void operate(void)
{
	switch (below(16)) {
	case 0:
	case 1:
	case 2:
		move_clock();
		break;
	case 3:
		/* A waiter is interrupted by a signal. */
		if (one_in(8) && asleep) {
			asleep--;
			atomic_dec(&generator.waiters);
		}
		break;
	default:
		read_some();
	}
}

/* What happens while a read is held up. */
static void others_go_on(void)
{
	int count = 1 + below(6);

	depth++;
	interrupts++;
	while (count--)
		operate();
	depth--;
}

static void reopen_file(void)
{
	int file = below(FILES);

	snowflake_order_init(&files[file]);
	highest[file] = 0;
}

static u64 number_of(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void start(void)
{
	int i;

	driven_clock_start(tick_start(TICK) + 123456);
	snowflake_clock_init(&watched);
	snowflake_generator_init(&generator);
	for (i = 0; i < FILES; i++)
		snowflake_order_init(&files[i]);
	new_config();
}

static void whatever_happens_the_promises_hold(void **state)
{
	u64 total = number_of("OPS", OPS_DEFAULT);
	u64 duplicate;

	(void)state;
	start();
	while (ops++ < total) {
		if (one_in(600))
			new_config();
		else if (one_in(2000))
			reopen_file();
		else
			operate();
	}

	printf("# %" PRIu64 " ids, %" PRIu64 " configurations, %u interrupts; reads: %"
	       PRIu64 " given, %" PRIu64 " exhausted, %" PRIu64 " skewed, %"
	       PRIu64 " behind\n", unit_log_ids(&given), changes, interrupts,
	       verdicts[SNOWFLAKE_GIVEN], verdicts[SNOWFLAKE_EXHAUSTED],
	       verdicts[SNOWFLAKE_SKEWED], verdicts[SNOWFLAKE_BEHIND]);
	unit_log_sort(&given);
	if (unit_log_duplicate(&given, &duplicate))
		fail_msg("SEED=%" PRIu64 ": id %" PRIu64 " was given twice",
			 seed, duplicate);
	unit_log_free(&given);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_happens_the_promises_hold),
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = number_of("SEED", now.tv_sec ^ (u64)now.tv_nsec << 20);
	random_state = seed;
	printf("# SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	return unit_run("property", tests);
}

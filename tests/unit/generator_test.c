// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The generator on a driven clock: every verdict, every rule about blocks, files
 * and configurations, one at a time. "CPUs" are blocks: a reader that moves to
 * another CPU goes on with another block. What another CPU does between two
 * steps of a claim happens in the clock's interrupt.
 */
#include "driven_clock.h"
#include "unit.h"

#define TICK 505000000000ULL	/* some tick of 2026 */
#define TICK_NS NSEC_PER_MSEC
#define SKEW_NS (10 * NSEC_PER_USEC)
#define SHIFT 22		/* of the twitter layout */
#define FULL 4096U		/* numbers of one worker in one tick */
#define WORKER 7

static struct snowflake_generator generator;
static struct snowflake_clock watched;
static struct snowflake_config first_config;
static struct snowflake_block cpus[4];
static struct snowflake_order files[4];

static s64 tick_start(const struct snowflake_config *config, u64 tick)
{
	return config->epoch_ns + tick * config->tick_ns;
}

/* Let time pass up to so many ns after the start of a tick. */
static void wait_for(u64 tick, s64 ns)
{
	s64 gap = tick_start(&first_config, tick) + ns - driven_clock_real();

	assert_true(gap >= 0);
	driven_clock_advance(gap);
}

/*
 * Set the clock to so many ns after the start of a tick, and have it noticed at
 * once: a step that nobody has judged yet keeps readers away from their blocks.
 */
static void set_to(u64 tick, s64 ns)
{
	driven_clock_step(tick_start(&first_config, tick) + ns -
			  driven_clock_real());
	snowflake_clock_judge(&watched);
}

/* A module just loaded, without a worker id. */
static void load(const struct snowflake_layout *layout, u64 tick)
{
	size_t i;

	unit_config_init(&first_config, WORKER, 1, 64);
	first_config.layout = *layout;
	snowflake_config_derive(&first_config);
	driven_clock_start(tick_start(&first_config, tick));
	snowflake_clock_init(&watched);
	snowflake_generator_init(&generator);
	memset(cpus, 0, sizeof(cpus));
	for (i = 0; i < ARRAY_SIZE(files); i++)
		snowflake_order_init(&files[i]);
}

static void use(const struct snowflake_config *config)
{
	unit_put_in_force(&generator, &watched, config, NULL);
}

static int setup_loaded(void **state)
{
	(void)state;
	load(&snowflake_layout_twitter, TICK);
	return 0;
}

/* Worker 7 alone, blocks of 64, and a tick in which nothing was taken yet. */
static int setup(void **state)
{
	(void)state;
	load(&snowflake_layout_twitter, TICK - 1);
	use(&first_config);
	wait_for(TICK, 0);
	return 0;
}

static struct snowflake_run take(int cpu, int file, u32 want)
{
	return snowflake_generator_take(&generator, &watched, &cpus[cpu],
					&files[file], want, false);
}

static struct snowflake_run take_woken(int cpu, int file, u32 want)
{
	return snowflake_generator_take(&generator, &watched, &cpus[cpu],
					&files[file], want, true);
}

static u64 word(void)
{
	return atomic64_read(&generator.word);
}

static u64 make_id(u64 tick, u32 worker, u32 sequence)
{
	return tick << SHIFT | worker << 12 | sequence;
}

static void assert_run(struct snowflake_run run, u64 id, u32 count)
{
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	assert_int_equal(run.id, id);
	assert_int_equal(run.count, count);
}

/* Numbers of the worker that most tests use. */
static void assert_given(struct snowflake_run run, u64 tick, u32 sequence,
			 u32 count)
{
	assert_run(run, make_id(tick, WORKER, sequence), count);
}

/* Refused until so many ns from now. */
static void assert_refused_for(struct snowflake_run run,
			       enum snowflake_verdict verdict, s64 ns)
{
	assert_int_equal(run.verdict, verdict);
	assert_int_equal(run.count, 0);
	assert_int_equal(run.until, driven_clock_mono() + ns);
}

/* Refused, and no clock will change it. */
static void assert_refused(struct snowflake_run run,
			   enum snowflake_verdict verdict)
{
	assert_int_equal(run.verdict, verdict);
	assert_int_equal(run.count, 0);
	assert_int_equal(run.until, S64_MAX);
}

static void assert_rewinds(u64 count)
{
	struct snowflake_steps steps;

	snowflake_clock_steps(&watched, &steps);
	assert_int_equal(steps.rewinds, count);
}

/*
 * Coming into force.
 */

/* Fault 12: unset means refused; nothing is derived. */
static void without_a_worker_id_nothing_is_given(void **state)
{
	(void)state;
	assert_refused(take(0, 0, 1), SNOWFLAKE_NO_WORKER);
	assert_refused(snowflake_generator_probe(&generator, &watched),
		       SNOWFLAKE_NO_WORKER);
	assert_int_equal(word(), 0);
}

static void the_floor_tick_is_left_alone(void **state)
{
	(void)state;
	driven_clock_advance(TICK_NS / 4);
	use(&first_config);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS * 3 / 4);
	wait_for(TICK, TICK_NS - 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, 1);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

/* The clock may still be wrong when the module is loaded. */
static void the_floor_is_that_of_the_first_configuration(void **state)
{
	(void)state;
	set_to(TICK + 1000000, 0);
	use(&first_config);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	set_to(TICK + 999999, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, TICK_NS);
}

/* A step that nobody has seen yet is counted on the way. */
static void the_floor_is_that_of_a_judged_clock(void **state)
{
	(void)state;
	driven_clock_step(5 * TICK_NS);
	use(&first_config);
	assert_int_equal(word(), (TICK + 6) << SHIFT);
	/* Seen together, the two steps would be none. */
	driven_clock_step(-5 * TICK_NS);
	assert_rewinds(1);
}

static void the_last_tick_is_that_of_the_word(void **state)
{
	u64 tick;

	(void)state;
	assert_false(snowflake_generator_last_tick(&generator,
						   &first_config.layout, &tick));
	use(&first_config);
	assert_true(snowflake_generator_last_tick(&generator,
						  &first_config.layout, &tick));
	assert_int_equal(tick, TICK);
	wait_for(TICK + 2, 0);
	take(0, 0, 1);
	assert_true(snowflake_generator_last_tick(&generator,
						  &first_config.layout, &tick));
	assert_int_equal(tick, TICK + 2);
	/* Used up, the tick is still the last. */
	take(1, 1, FULL);
	assert_true(snowflake_generator_last_tick(&generator,
						  &first_config.layout, &tick));
	assert_int_equal(tick, TICK + 2);
}

static void what_follows_from_layout_and_range(void **state)
{
	(void)state;
	assert_int_equal(first_config.shift, 22);
	assert_int_equal(first_config.capacity, 4096);
	assert_int_equal(first_config.epoch_ns, 1288834974657000000);
	assert_int_equal(first_config.tick_ns, 1000000);
	assert_int_equal(first_config.last_tick, 2199023255551);
	assert_int_equal(first_config.id_offset, 7 << 12);
}

static void every_cpu_can_have_four_blocks(void **state)
{
	const struct snowflake_layout *twitter = &snowflake_layout_twitter;
	static const struct snowflake_layout narrow = {
		.timestamp_bits = 41,
		.worker_bits = 4,
		.sequence_bits = 2,
		.tick_ms = 1,
	};

	(void)state;
	assert_int_equal(snowflake_default_block(twitter, 1, 1), 64);
	assert_int_equal(snowflake_default_block(twitter, 1, 16), 64);
	assert_int_equal(snowflake_default_block(twitter, 1, 17), 60);
	assert_int_equal(snowflake_default_block(twitter, 1, 64), 16);
	assert_int_equal(snowflake_default_block(twitter, 8, 64), 64);
	assert_int_equal(snowflake_default_block(twitter, 1, 8192), 1);
	assert_int_equal(snowflake_default_block(&narrow, 1, 1), 1);
	assert_int_equal(snowflake_default_block(&narrow, 4, 2), 2);
}

/*
 * Ticks and numbers.
 */

static void every_tick_starts_at_sequence_zero(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_given(take(0, 0, 1), TICK, 1, 1);
	wait_for(TICK, TICK_NS - 1);
	assert_given(take(0, 0, 1), TICK, 2, 1);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
	wait_for(TICK + 500, 77);
	assert_given(take(0, 0, 3), TICK + 500, 0, 3);
}

/* Fault 17: the number after the last of a tick belongs to a later tick. */
static void a_tick_holds_4096_and_then_waits(void **state)
{
	u32 i;

	(void)state;
	wait_for(TICK, 300);
	for (i = 0; i < FULL; i++)
		assert_given(take(0, 0, 1), TICK, i, 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS - 300);
	assert_refused_for(take(1, 1, 9), SNOWFLAKE_EXHAUSTED, TICK_NS - 300);
	wait_for(TICK, TICK_NS - 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, 1);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void eight_workers_hold_eight_times_as_much(void **state)
{
	struct snowflake_config eight;
	u32 i;

	(void)state;
	unit_config_init(&eight, 8, 8, 64);
	use(&eight);
	wait_for(TICK + 1, 0);
	for (i = 0; i < 8 * FULL; i++)
		assert_run(take(0, 0, 1),
			   make_id(TICK + 1, 8 + i / FULL, i % FULL), 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(TICK + 2, 0);
	assert_run(take(0, 0, 1), make_id(TICK + 2, 8, 0), 1);
}

/* The word stands at the start of the next tick then: used up, not behind. */
static void all_workers_of_the_layout_are_not_behind_at_the_end(void **state)
{
	struct snowflake_config all;

	(void)state;
	unit_config_init(&all, 0, 1024, 64);
	use(&all);
	wait_for(TICK + 1, 0);
	assert_run(take(0, 0, 2048 * FULL), make_id(TICK + 1, 0, 0),
		   1024 * FULL);
	assert_int_equal(word(), (TICK + 2) << SHIFT);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(TICK + 2, 0);
	assert_run(take(0, 0, 1), make_id(TICK + 2, 0, 0), 1);
}

static void more_than_there_is_gives_what_there_is(void **state)
{
	(void)state;
	assert_given(take(0, 0, 5000), TICK, 0, FULL);
	assert_refused_for(take(0, 0, 904), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, FULL - 3), TICK + 1, 0, FULL - 3);
	assert_given(take(0, 0, 10), TICK + 1, FULL - 3, 3);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

static void a_long_tick_lasts_until_its_end(void **state)
{
	static const struct snowflake_layout slow = {
		.timestamp_bits = 39,
		.worker_bits = 16,
		.sequence_bits = 8,
		.tick_ms = 10,
		.epoch_ms = 1409529600000ULL,
	};

	(void)state;
	load(&slow, 1000);
	use(&first_config);
	wait_for(1001, 3000000);
	assert_run(take(0, 0, 300), 1001ULL << 24 | WORKER << 8, 256);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, 7000000);
	wait_for(1001, 9999999);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, 1);
	wait_for(1002, 0);
	assert_run(take(0, 0, 1), 1002ULL << 24 | WORKER << 8, 1);
}

static void the_probe_takes_nothing(void **state)
{
	struct snowflake_run run;
	u64 before = word();

	(void)state;
	run = snowflake_generator_probe(&generator, &watched);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	assert_int_equal(word(), before);
	assert_given(take(0, 0, FULL), TICK, 0, FULL);
	before = word();
	wait_for(TICK, 5);
	assert_refused_for(snowflake_generator_probe(&generator, &watched),
			   SNOWFLAKE_EXHAUSTED, TICK_NS - 5);
	set_to(TICK - 1, 0);
	assert_refused_for(snowflake_generator_probe(&generator, &watched),
			   SNOWFLAKE_BEHIND, TICK_NS);
	assert_int_equal(word(), before);
}

static void what_is_given_is_counted_per_cpu(void **state)
{
	(void)state;
	take(0, 0, 1);		/* a new block */
	take(0, 0, 1);		/* out of it */
	take(0, 0, 100);	/* past it */
	take(1, 1, 3);
	assert_int_equal(local64_read(&cpus[0].minted), 102);
	assert_int_equal(local64_read(&cpus[1].minted), 3);
	set_to(TICK - 1, 0);
	take(0, 0, 1);
	assert_int_equal(local64_read(&cpus[0].minted), 102);
}

/*
 * Blocks and files.
 */

/* How much each claim takes while one CPU reads id by id, over two ticks. */
static void assert_growth(u32 cpu_block, const u32 *sizes, size_t count)
{
	struct snowflake_config config;
	u64 before;
	int round;
	size_t i;
	u32 j;

	unit_config_init(&config, WORKER, 1, cpu_block);
	use(&config);
	for (round = 0; round < 2; round++) {
		driven_clock_advance(TICK_NS);
		take(0, 0, 1);
		assert_int_equal(word() & (FULL - 1), sizes[0]);
		for (i = 1; i < count; i++) {
			for (j = 1; j < sizes[i - 1]; j++)
				take(0, 0, 1);
			before = word();
			take(0, 0, 1);
			assert_int_equal(word() - before, sizes[i]);
		}
	}
}

static void blocks_double_up_to_cpu_block(void **state)
{
	static const u32 of_1[] = { 1, 1, 1 };
	static const u32 of_4[] = { 1, 2, 4, 4 };
	static const u32 of_12[] = { 1, 2, 4, 8, 12, 12 };
	static const u32 of_64[] = { 8, 16, 32, 64, 64 };
	static const u32 of_256[] = { 32, 64, 128, 256, 256 };

	(void)state;
	assert_growth(1, of_1, ARRAY_SIZE(of_1));
	assert_growth(4, of_4, ARRAY_SIZE(of_4));
	assert_growth(12, of_12, ARRAY_SIZE(of_12));
	assert_growth(64, of_64, ARRAY_SIZE(of_64));
	assert_growth(256, of_256, ARRAY_SIZE(of_256));
}

static void a_block_serves_several_at_once(void **state)
{
	(void)state;
	assert_given(take(0, 0, 2), TICK, 0, 2);
	assert_given(take(0, 0, 5), TICK, 2, 5);
	/* What is left of it, though more was asked for. */
	assert_given(take(0, 0, 5), TICK, 7, 1);
	assert_given(take(0, 0, 5), TICK, 8, 5);
	assert_int_equal(word(), (TICK << SHIFT) + 24);
}

static void the_last_block_is_what_the_tick_still_has(void **state)
{
	(void)state;
	assert_given(take(1, 1, FULL - 5), TICK, 0, FULL - 5);
	assert_given(take(0, 0, 1), TICK, FULL - 5, 1);
	assert_int_equal(word(), (TICK << SHIFT) + FULL);
	assert_given(take(0, 0, 9), TICK, FULL - 4, 4);
	assert_refused_for(take(0, 0, 9), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

static void more_than_a_block_takes_just_that(void **state)
{
	(void)state;
	assert_given(take(1, 1, 1), TICK, 0, 1);
	assert_given(take(0, 0, 65), TICK, 8, 65);
	assert_int_equal(word(), (TICK << SHIFT) + 73);
	/* The other CPU's block was left as it was, and so is one's own. */
	assert_given(take(1, 1, 65), TICK, 73, 65);
	assert_int_equal(word(), (TICK << SHIFT) + 138);
	assert_int_equal(cpus[1].next, (TICK << SHIFT) + 1);
	assert_int_equal(cpus[1].end, (TICK << SHIFT) + 8);
}

/* What was given past the block counts for the order of the file. */
static void a_file_never_goes_back_into_its_block(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_given(take(0, 0, 65), TICK, 8, 65);
	assert_given(take(0, 0, 1), TICK, 73, 1);
	assert_given(take(0, 0, 1), TICK, 74, 1);
	assert_int_equal(word(), (TICK << SHIFT) + 75);
}

static void a_file_that_moves_to_a_lower_block_leaves_it_alone(void **state)
{
	(void)state;
	assert_given(take(0, 1, 1), TICK, 0, 1);	/* CPU 0: 1..7 left */
	assert_given(take(1, 0, 1), TICK, 8, 1);	/* CPU 1: 9..15 left */
	assert_given(take(1, 0, 2), TICK, 9, 2);
	/* Just what it needs, above all that was handed out. */
	assert_given(take(0, 0, 3), TICK, 16, 3);
	assert_int_equal(word(), (TICK << SHIFT) + 19);
	/* Back on CPU 1 the rest of its own block has become too low as well. */
	assert_given(take(1, 0, 1), TICK, 19, 1);
	/* A file that is not above it goes on with the block of CPU 0. */
	assert_given(take(0, 1, 4), TICK, 1, 4);
	assert_given(take(0, 1, 4), TICK, 5, 3);
}

static void a_file_that_moves_to_a_higher_block_is_served_by_it(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_given(take(1, 1, 1), TICK, 8, 1);
	assert_given(take(1, 0, 2), TICK, 9, 2);
	assert_int_equal(word(), (TICK << SHIFT) + 16);
}

/* Two threads share a file on two CPUs, turn and turn about. */
static void a_shared_file_rises_on_two_cpus(void **state)
{
	struct snowflake_run run;
	u64 last = 0;
	int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		run = take(i & 1, 0, 1);
		assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
		assert_true(run.id > last);
		last = run.id;
	}
}

static void a_block_dies_with_its_tick(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	wait_for(TICK, TICK_NS - 1);
	assert_given(take(0, 0, 1), TICK, 1, 1);
	/* Nobody has claimed anything in the new tick: only the clock tells. */
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void a_block_is_not_served_before_its_tick(void **state)
{
	(void)state;
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
	set_to(TICK, TICK_NS - SKEW_NS);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, SKEW_NS);
}

static void a_block_dies_with_its_configuration(void **state)
{
	struct snowflake_config other;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	unit_config_init(&other, WORKER + 1, 1, 64);
	use(&other);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_refused_for(take(0, 1, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(TICK + 1, 0);
	assert_run(take(0, 0, 1), make_id(TICK + 1, WORKER + 1, 0), 1);
}

static void a_block_is_not_served_while_closed(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	rcu_assign_pointer(generator.config, &snowflake_config_closed);
	assert_refused(take(0, 0, 1), SNOWFLAKE_CLOSED);
	assert_refused(take(1, 1, 100), SNOWFLAKE_CLOSED);
	assert_refused(snowflake_generator_probe(&generator, &watched),
		       SNOWFLAKE_CLOSED);
	use(&snowflake_config_no_worker);
	assert_refused(take(0, 0, 1), SNOWFLAKE_NO_WORKER);
	assert_refused(take(1, 1, 1), SNOWFLAKE_NO_WORKER);
	assert_int_equal(word(), (TICK << SHIFT) + 8);
}

/*
 * The clock set back, and ahead.
 */

/* Fault 3: what the reader gets at once is how far off the clock is. */
static void behind_until_the_tick_of_the_last_number(void **state)
{
	(void)state;
	wait_for(TICK, 400000);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	driven_clock_step(-5 * TICK_NS);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND,
			   5 * TICK_NS - 400000);
	assert_refused_for(take(1, 1, 500), SNOWFLAKE_BEHIND,
			   5 * TICK_NS - 400000);
	assert_rewinds(1);
	wait_for(TICK - 1, TICK_NS - SKEW_NS);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, SKEW_NS);
	wait_for(TICK, 0);
	assert_given(take(0, 0, 1), TICK, 1, 1);
	assert_rewinds(1);
}

static void behind_counts_from_a_tick_used_up(void **state)
{
	(void)state;
	assert_given(take(0, 0, FULL), TICK, 0, FULL);
	set_to(TICK - 8 * 3600 * 1000, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND,
			   8 * 3600 * 1000 * TICK_NS);
	wait_for(TICK, 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS - 1);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void a_trifle_short_is_skew(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK - 1, TICK_NS - SKEW_NS + 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_SKEWED, SKEW_NS - 1);
	set_to(TICK - 1, TICK_NS - 1);
	assert_refused_for(take(1, 1, 1), SNOWFLAKE_SKEWED, 1);
	set_to(TICK - 1, TICK_NS - SKEW_NS);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, SKEW_NS);
}

static void a_block_is_not_served_while_behind(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	wait_for(TICK + 1, 0);
	assert_given(take(1, 1, 1), TICK + 1, 0, 1);
	/* CPU 0 has a block of just this tick. */
	set_to(TICK, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, TICK_NS);
	assert_refused_for(take(0, 2, 1), SNOWFLAKE_BEHIND, TICK_NS);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 8, 1);
}

/* Fault 1: time passes the same tick twice. */
static void a_block_is_alive_again_in_its_own_tick(void **state)
{
	(void)state;
	assert_given(take(0, 0, 3), TICK, 0, 3);
	set_to(TICK - 1000, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 1000 * TICK_NS);
	wait_for(TICK, 7);
	assert_given(take(0, 0, 9), TICK, 3, 5);
	assert_given(take(1, 1, 1), TICK, 8, 1);

	/* And the other way round: ahead, where nobody reads, and back. */
	set_to(TICK + 1000, 0);
	set_to(TICK, 0);
	assert_given(take(1, 1, 1), TICK, 9, 1);
	assert_given(take(0, 0, 1), TICK, 16, 1);
	assert_int_equal(word(), (TICK << SHIFT) + 32);
}

static void a_step_ahead_goes_on_at_once(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK + 3600000, 0);
	assert_given(take(0, 0, 1), TICK + 3600000, 0, 1);
	assert_rewinds(0);
}

/* Fault 6: a second that is repeated, read all along. */
static void a_repeated_second_repeats_no_id(void **state)
{
	struct snowflake_run run;
	u64 last = 0;
	int i;

	(void)state;
	for (i = 0; i < 4000; i++) {
		if (i == 1500)
			driven_clock_step(-1000 * TICK_NS);
		run = take(i & 1, 0, 3);
		if (i >= 1500 && i < 2500 - 1) {
			assert_int_equal(run.verdict, SNOWFLAKE_BEHIND);
		} else {
			assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
			assert_true(run.id > last);
			last = run.id + run.count - 1;
		}
		driven_clock_advance(TICK_NS);
	}
	assert_rewinds(1);
}

static void before_the_epoch_is_behind(void **state)
{
	(void)state;
	load(&snowflake_layout_twitter, 10);
	set_to(0, -5 * TICK_NS - 1);
	use(&first_config);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 5 * TICK_NS + 1);
	wait_for(0, -1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 1);

	/* Also when the clock falls before it later. */
	wait_for(30, 0);
	assert_given(take(0, 0, 1), 30, 0, 1);
	set_to(0, -1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 1);
	wait_for(0, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 30 * TICK_NS);
}

/* Fault 20. */
static void minting_ends_with_the_last_tick(void **state)
{
	static const struct snowflake_layout narrow = {
		.timestamp_bits = 4,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1700000000000ULL,
	};

	(void)state;
	load(&narrow, 10);
	use(&first_config);
	wait_for(15, 0);
	assert_given(take(0, 0, 1), 15, 0, 1);
	wait_for(15, TICK_NS - 1);
	assert_given(take(0, 0, 1), 15, 1, 1);
	wait_for(16, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_ENDED);
	assert_refused(take(1, 1, 500), SNOWFLAKE_ENDED);
	assert_refused(snowflake_generator_probe(&generator, &watched),
		       SNOWFLAKE_ENDED);
	driven_clock_advance(86400000 * TICK_NS);
	assert_refused(take(0, 0, 1), SNOWFLAKE_ENDED);

	/* The clock was wrong. */
	set_to(15, 0);
	assert_given(take(0, 0, 1), 15, 2, 1);
	assert_given(take(1, 1, FULL), 15, 8, FULL - 8);
	assert_refused_for(take(2, 2, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

static void a_floor_past_the_end_stays_ended(void **state)
{
	static const struct snowflake_layout narrow = {
		.timestamp_bits = 4,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1700000000000ULL,
	};

	(void)state;
	load(&narrow, 1000);
	use(&first_config);
	assert_refused(take(0, 0, 1), SNOWFLAKE_ENDED);
	set_to(15, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

static void no_id_reaches_the_sign_bit(void **state)
{
	static const struct snowflake_layout wide = {
		.timestamp_bits = 42,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1420070400000ULL,
	};
	struct snowflake_config top;
	u64 last = (1ULL << 41) - 1;

	(void)state;
	load(&wide, last - 1);
	unit_config_init(&top, 1023, 1, 64);
	top.layout = wide;
	snowflake_config_derive(&top);
	use(&top);
	wait_for(last, 0);
	assert_run(take(0, 0, FULL - 1), make_id(last, 1023, 0), FULL - 1);
	assert_run(take(0, 0, 1), INT64_MAX, 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(last + 1, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_ENDED);
}

/*
 * One configuration after another.
 */

static void two_configurations_share_no_tick(void **state)
{
	struct snowflake_config other;

	(void)state;
	wait_for(TICK, 100);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	/* The same worker: the least that is left out is repeated. */
	unit_config_init(&other, WORKER, 1, 64);
	use(&other);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS - 100);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void a_configuration_that_minted_nothing_uses_no_tick(void **state)
{
	struct snowflake_config others[3];
	size_t i;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		unit_config_init(&others[i], i, 1, 64);
		use(&others[i]);
		assert_int_equal(word(), (TICK + 1) << SHIFT);
	}
}

/* The word of such a tick stands at the start of the next, which is unused. */
static void a_tick_used_up_is_followed_by_the_next(void **state)
{
	struct snowflake_config all, other;

	(void)state;
	unit_config_init(&all, 0, 1024, 64);
	use(&all);
	take(0, 0, 1024 * FULL);
	assert_int_equal(word(), (TICK + 1) << SHIFT);
	unit_config_init(&other, 1, 1, 64);
	use(&other);
	assert_int_equal(word(), (TICK + 1) << SHIFT);
}

/* It may be wrong just now. */
static void a_change_does_not_ask_a_clock_that_is_behind(void **state)
{
	struct snowflake_config other;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK - 3600000, 0);
	unit_config_init(&other, WORKER, 1, 64);
	use(&other);
	assert_int_equal(word(), (TICK + 1) << SHIFT);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 3600000 * TICK_NS);
	wait_for(TICK, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void a_change_does_not_ask_a_clock_that_is_ahead(void **state)
{
	struct snowflake_config other;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK + 3600000, 0);
	unit_config_init(&other, WORKER, 1, 64);
	use(&other);
	assert_int_equal(word(), (TICK + 1) << SHIFT);
	set_to(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void take_into(struct unit_log *log, int cpu, int file, u32 want)
{
	struct snowflake_run run = take(cpu, file, want);

	if (run.verdict == SNOWFLAKE_GIVEN)
		unit_log_add(log, run.id, run.count);
}

/* In force in turn, twice in each tick and with much of every tick used. */
static void overlapping_ranges_repeat_no_id(void **state)
{
	struct snowflake_config low, high;
	static struct unit_log log;
	u64 id;
	int i;

	(void)state;
	take_into(&log, 2, 2, 1);
	for (i = 0; i < 40; i++) {
		struct snowflake_config *config = i & 1 ? &high : &low;

		unit_config_init(config, i & 1, 2, 64);
		use(config);
		take_into(&log, 0, 0, 5000);
		take_into(&log, 1, 1, 1);
		driven_clock_advance(TICK_NS);
		take_into(&log, 0, 0, 5000);
		take_into(&log, 1, 1, 1);
	}
	assert_int_equal(unit_log_ids(&log), 1 + 40 * 5001);
	unit_log_sort(&log);
	assert_false(unit_log_duplicate(&log, &id));
	unit_log_free(&log);
}

static void a_file_rises_across_configurations(void **state)
{
	struct snowflake_config lower;
	struct snowflake_run run;
	u64 last;

	(void)state;
	run = take(0, 0, FULL);
	last = run.id + run.count - 1;
	unit_config_init(&lower, 0, 1, 64);
	use(&lower);
	wait_for(TICK + 1, 0);
	/* Its first read here is that of another CPU's block. */
	assert_run(take(1, 1, 1), make_id(TICK + 1, 0, 0), 1);
	run = take(1, 0, 1);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	assert_true(run.id > last);
	last = run.id;
	run = take(1, 0, 1);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	assert_true(run.id > last);
}

/*
 * Words of another layout do not compare: what the file was given under one may
 * be far above all that it will be given under the next.
 */
static void a_file_forgets_an_old_configuration(void **state)
{
	(void)state;
	files[0].cookie = first_config.cookie - 1;
	atomic64_set(&files[0].last, S64_MAX);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_given(take(0, 0, 1), TICK, 1, 1);
	/* It was the block that gave it. */
	assert_int_equal(word(), (TICK << SHIFT) + 8);
}

/*
 * Readers that wait.
 */

static void wait_begin(int count)
{
	while (count--)
		atomic_inc(&generator.waiters);
}

static void wait_end(void)
{
	atomic_dec(&generator.waiters);
}

static void every_waiter_is_left_one_number(void **state)
{
	int i;

	(void)state;
	wait_begin(3);
	assert_given(take(0, 0, 5000), TICK, 0, FULL - 3);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_refused_for(take(1, 1, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	for (i = 3; i; i--) {
		assert_given(take_woken(1, 1, 100), TICK, FULL - i, 1);
		wait_end();
	}
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_refused_for(take_woken(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

/* The woken one has its own number and what is owed to nobody. */
static void the_woken_leaves_the_others_theirs(void **state)
{
	(void)state;
	wait_begin(3);
	assert_given(take_woken(0, 0, 5000), TICK, 0, FULL - 2);
	wait_end();
	assert_refused_for(take(1, 1, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_given(take_woken(1, 1, 5000), TICK, FULL - 2, 1);
	wait_end();
	assert_given(take_woken(2, 2, 5000), TICK, FULL - 1, 1);
	wait_end();
}

static void more_waiters_than_numbers(void **state)
{
	int i;

	(void)state;
	assert_given(take(3, 3, FULL - 4), TICK, 0, FULL - 4);
	wait_begin(10);
	assert_refused_for(take(3, 3, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	for (i = 4; i; i--) {
		assert_given(take_woken(0, 0, 7), TICK, FULL - i, 1);
		wait_end();
	}
	assert_refused_for(take_woken(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	/* The six that are left find theirs in the next tick. */
	wait_for(TICK + 1, 0);
	assert_given(take(3, 3, 5000), TICK + 1, 0, FULL - 6);
	for (i = 6; i; i--) {
		assert_given(take_woken(0, 0, 1), TICK + 1, FULL - i, 1);
		wait_end();
	}
	assert_refused_for(take(3, 3, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

/* A block is no way round: what fills it leaves theirs to the waiters too. */
static void blocks_leave_the_waiters_theirs(void **state)
{
	struct snowflake_run run;
	u32 given = 0;

	(void)state;
	wait_begin(5);
	for (;;) {
		run = take(0, 0, 1);
		if (run.verdict != SNOWFLAKE_GIVEN)
			break;
		given += run.count;
	}
	assert_int_equal(run.verdict, SNOWFLAKE_EXHAUSTED);
	assert_int_equal(given, FULL - 5);
}

/*
 * What another CPU does between two steps of a claim.
 */

static void other_claims(void)
{
	assert_given(take(1, 1, 5), TICK, 0, 5);
}

static void two_claims_at_once_share_nothing(void **state)
{
	(void)state;
	/* Without a block, the first to read the clock is the claim. */
	driven_clock_interrupt(other_claims);
	assert_given(take(0, 0, 100), TICK, 8, 100);
}

static void other_mints_later(void)
{
	wait_for(TICK + 5, 0);
	assert_given(take(1, 1, 1), TICK + 5, 0, 1);
}

/*
 * The word is read before the clock: the other way round, who is held up
 * between the two takes itself to be behind, though nobody set the clock.
 */
static void a_slow_reader_is_not_behind(void **state)
{
	(void)state;
	driven_clock_interrupt(other_mints_later);
	assert_given(snowflake_generator_claim(&generator, &watched, &cpus[0],
					       &files[0], 1, false),
		     TICK + 5, 8, 1);
}

static void a_slow_probe_is_not_behind(void **state)
{
	struct snowflake_run run;

	(void)state;
	driven_clock_interrupt(other_mints_later);
	run = snowflake_generator_probe(&generator, &watched);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
}

static void a_slow_reader_of_a_block_is_not_behind(void **state)
{
	struct snowflake_run run;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	driven_clock_interrupt(other_mints_later);
	run = take(0, 0, 1);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	/* Out of its block or past it: both were right at some time. */
	if (run.id != make_id(TICK, WORKER, 1))
		assert_given(run, TICK + 5, 8, 1);
}

/*
 * No id is given under a clock whose step was not judged: a second step would
 * hide the first. The clock is set back and forth within the tick, where it
 * makes no difference to the ids.
 */
static void no_id_before_a_step_is_judged(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		wait_for(TICK + i, TICK_NS / 2);
		take(0, 0, 1);
		driven_clock_step(TICK_NS / 4);
		if (i < 2)	/* out of the block, and past it */
			take(0, 0, i ? 100 : 1);
		else
			snowflake_generator_probe(&generator, &watched);
		driven_clock_step(-TICK_NS / 4);
		assert_rewinds(i + 1);
	}
}

static void clock_is_set_back(void)
{
	driven_clock_step(-3 * TICK_NS);
}

static void a_step_in_the_middle_is_judged_first(void **state)
{
	(void)state;
	/* While a block is about to be served, and while a claim is made. */
	assert_given(take(0, 0, 1), TICK, 0, 1);
	driven_clock_interrupt(clock_is_set_back);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 3 * TICK_NS);
	assert_rewinds(1);
	wait_for(TICK, 0);
	driven_clock_interrupt(clock_is_set_back);
	assert_refused_for(take(1, 1, 1), SNOWFLAKE_BEHIND, 3 * TICK_NS);
	assert_rewinds(2);
	wait_for(TICK, 0);
	driven_clock_interrupt(clock_is_set_back);
	assert_refused_for(snowflake_generator_probe(&generator, &watched),
			   SNOWFLAKE_BEHIND, 3 * TICK_NS);
	assert_rewinds(3);
}

static void clock_is_ahead_then_set_back(void)
{
	wait_for(TICK + 5, 0);
	set_to(TICK + 3, 0);
}

/* Another CPU has judged the step already; no clock ever showed TICK - 2. */
static void a_time_is_not_put_together_of_two_clocks(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	driven_clock_interrupt(clock_is_ahead_then_set_back);
	assert_given(snowflake_generator_claim(&generator, &watched, &cpus[0],
					       &files[0], 1, false),
		     TICK + 3, 0, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define loaded(test) cmocka_unit_test_setup(test, setup_loaded)
#define running(test) cmocka_unit_test_setup(test, setup)
		loaded(without_a_worker_id_nothing_is_given),
		loaded(the_floor_tick_is_left_alone),
		loaded(the_floor_is_that_of_the_first_configuration),
		loaded(the_floor_is_that_of_a_judged_clock),
		loaded(the_last_tick_is_that_of_the_word),
		loaded(what_follows_from_layout_and_range),
		loaded(every_cpu_can_have_four_blocks),
		running(every_tick_starts_at_sequence_zero),
		running(a_tick_holds_4096_and_then_waits),
		loaded(eight_workers_hold_eight_times_as_much),
		loaded(all_workers_of_the_layout_are_not_behind_at_the_end),
		running(more_than_there_is_gives_what_there_is),
		loaded(a_long_tick_lasts_until_its_end),
		running(the_probe_takes_nothing),
		running(what_is_given_is_counted_per_cpu),
		running(blocks_double_up_to_cpu_block),
		running(a_block_serves_several_at_once),
		running(the_last_block_is_what_the_tick_still_has),
		running(more_than_a_block_takes_just_that),
		running(a_file_never_goes_back_into_its_block),
		running(a_file_that_moves_to_a_lower_block_leaves_it_alone),
		running(a_file_that_moves_to_a_higher_block_is_served_by_it),
		running(a_shared_file_rises_on_two_cpus),
		running(a_block_dies_with_its_tick),
		running(a_block_is_not_served_before_its_tick),
		running(a_block_dies_with_its_configuration),
		running(a_block_is_not_served_while_closed),
		running(behind_until_the_tick_of_the_last_number),
		running(behind_counts_from_a_tick_used_up),
		running(a_trifle_short_is_skew),
		running(a_block_is_not_served_while_behind),
		running(a_block_is_alive_again_in_its_own_tick),
		running(a_step_ahead_goes_on_at_once),
		running(a_repeated_second_repeats_no_id),
		loaded(before_the_epoch_is_behind),
		loaded(minting_ends_with_the_last_tick),
		loaded(a_floor_past_the_end_stays_ended),
		loaded(no_id_reaches_the_sign_bit),
		running(two_configurations_share_no_tick),
		running(a_configuration_that_minted_nothing_uses_no_tick),
		running(a_tick_used_up_is_followed_by_the_next),
		running(a_change_does_not_ask_a_clock_that_is_behind),
		running(a_change_does_not_ask_a_clock_that_is_ahead),
		running(overlapping_ranges_repeat_no_id),
		running(a_file_rises_across_configurations),
		running(a_file_forgets_an_old_configuration),
		running(every_waiter_is_left_one_number),
		running(the_woken_leaves_the_others_theirs),
		running(more_waiters_than_numbers),
		running(blocks_leave_the_waiters_theirs),
		running(two_claims_at_once_share_nothing),
		running(a_slow_reader_is_not_behind),
		running(a_slow_probe_is_not_behind),
		running(a_slow_reader_of_a_block_is_not_behind),
		running(no_id_before_a_step_is_judged),
		running(a_step_in_the_middle_is_judged_first),
		running(a_time_is_not_put_together_of_two_clocks),
#undef loaded
#undef running
	};

	return unit_run("generator", tests);
}

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

static struct unit_host host;
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
	snowflake_clock_judge(&host.clock);
}

/* A module just loaded, without a worker id. */
static void load(const struct snowflake_layout *layout, u64 tick)
{
	size_t i;

	unit_config_init(&first_config, WORKER, 1, 64);
	first_config.layout = *layout;
	snowflake_config_derive(&first_config);
	driven_clock_start(tick_start(&first_config, tick));
	unit_host_exit(&host);
	unit_host_init(&host);
	memset(cpus, 0, sizeof(cpus));
	for (i = 0; i < ARRAY_SIZE(files); i++)
		snowflake_order_init(&files[i], 0);
}

static void use(struct snowflake_config *config)
{
	unit_host_put_in_force(&host, config);
}

static int setup_loaded(void **state)
{
	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_TWITTER], TICK);
	return 0;
}

/* Worker 7 alone, blocks of 64, and a tick in which nothing was taken yet. */
static int setup(void **state)
{
	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_TWITTER], TICK - 1);
	use(&first_config);
	wait_for(TICK, 0);
	return 0;
}

static struct snowflake_run take_asked(int cpu, int file,
				       struct snowflake_request request)
{
	return snowflake_generator_take(host.config, &host.clock, &cpus[cpu],
					&files[file], &request);
}

static struct snowflake_run take(int cpu, int file, u32 want)
{
	return take_asked(cpu, file, (struct snowflake_request) {
				  .want = want,
			  });
}

static struct snowflake_run take_woken(int cpu, int file, u32 want)
{
	return take_asked(cpu, file, (struct snowflake_request) {
				  .want = want,
				  .woken = true,
			  });
}

/* Past the block of the CPU, whatever there is in it. */
static struct snowflake_run claim(int cpu, int file, u32 want)
{
	struct snowflake_request request = { .want = want };

	return snowflake_generator_claim(host.config, &host.clock, &cpus[cpu],
					 &files[file], &request);
}

static struct snowflake_run probe(int file)
{
	u64 space;

	return snowflake_generator_probe(host.config, &host.clock, &files[file],
					 &space);
}

static u64 word(void)
{
	return atomic64_read(&host.config->words->next);
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

	snowflake_clock_steps(&host.clock, &steps);
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
	assert_refused(probe(0),
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

static void assert_used(u64 end)
{
	assert_int_equal(snowflake_config_used(host.config),
			 tick_start(host.config, end));
}

static void what_is_used_ends_with_the_tick_of_the_word(void **state)
{
	(void)state;
	use(&first_config);
	assert_used(TICK + 1);
	wait_for(TICK + 2, 0);
	take(0, 0, 1);
	assert_used(TICK + 3);
	/* Used up, the tick is still the last. */
	take(1, 1, FULL);
	assert_used(TICK + 3);
	wait_for(TICK + 9, 0);
	assert_used(TICK + 3);
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
	const struct snowflake_layout *twitter = &snowflake_layouts[SNOWFLAKE_TWITTER];
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
	run = probe(0);
	assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
	assert_int_equal(word(), before);
	assert_given(take(0, 0, FULL), TICK, 0, FULL);
	before = word();
	wait_for(TICK, 5);
	assert_refused_for(probe(0),
			   SNOWFLAKE_EXHAUSTED, TICK_NS - 5);
	set_to(TICK - 1, 0);
	assert_refused_for(probe(0),
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
	use(NULL);
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

/* Also for a reader that asks for more than a block, if it may have it. */
static void a_used_up_tick_leaves_the_block(void **state)
{
	(void)state;
	assert_given(take(0, 0, 3), TICK, 0, 3);		/* 3..7 left */
	assert_given(take(1, 1, FULL), TICK, 8, FULL - 8);
	assert_refused_for(take(0, 1, 100), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_refused_for(take(1, 2, 100), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_given(take(0, 2, 100), TICK, 3, 5);
	assert_refused_for(take(0, 2, 100), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_int_equal(word(), (TICK << SHIFT) + FULL);
}

/* But neither in another tick nor under another configuration. */
static void a_dead_block_is_no_leftover(void **state)
{
	struct snowflake_config other;

	(void)state;
	assert_given(take(0, 0, 3), TICK, 0, 3);
	wait_for(TICK + 1, 0);
	assert_given(take(1, 1, FULL), TICK + 1, 0, FULL);
	assert_refused_for(take(0, 2, 100), SNOWFLAKE_EXHAUSTED, TICK_NS);

	assert_given((wait_for(TICK + 2, 0), take(0, 0, 3)), TICK + 2, 0, 3);
	unit_host_window(&host, &other, 0, 0);
	assert_given(take(1, 1, FULL), TICK + 2, 8, FULL - 8);
	assert_refused_for(take(0, 2, 100), SNOWFLAKE_EXHAUSTED, TICK_NS);
	use(NULL);
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
	rcu_assign_pointer(host.config, &snowflake_config_closed);
	assert_refused(take(0, 0, 1), SNOWFLAKE_CLOSED);
	assert_refused(take(1, 1, 100), SNOWFLAKE_CLOSED);
	assert_refused(probe(0),
		       SNOWFLAKE_CLOSED);
	assert_int_equal(atomic64_read(&host.words->next), (TICK << SHIFT) + 8);
	use(NULL);
	assert_refused(take(0, 0, 1), SNOWFLAKE_NO_WORKER);
	assert_refused(take(1, 1, 1), SNOWFLAKE_NO_WORKER);
	host.config = &snowflake_config_cloned;
	assert_refused(take(0, 0, 1), SNOWFLAKE_CLONED);
	assert_refused(probe(0), SNOWFLAKE_CLONED);
	assert_int_equal(word(), 0);
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

static void before_the_epoch_is_not_yet(void **state)
{
	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_TWITTER], 10);
	set_to(0, -5 * TICK_NS - 1);
	use(&first_config);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 5 * TICK_NS + 1);
	wait_for(0, -1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 1);

	/* When the clock falls before it later, it is behind. */
	wait_for(30, 0);
	assert_given(take(0, 0, 1), 30, 0, 1);
	set_to(0, -1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 30 * TICK_NS + 1);
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
	assert_refused(probe(0),
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
		unit_config_init(&others[i], WORKER - i, 1 + i, 64);
		use(&others[i]);
		assert_int_equal(word(), (TICK + 1) << SHIFT);
		wait_for(TICK + 5 + i, 0);
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
	files[0].lineage = first_config.lineage - 1;
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
		assert_int_equal(snowflake_waiter_enter(host.config, &files[0]),
				 host.config->lineage);
}

static void wait_end(void)
{
	snowflake_waiter_leave(host.config, &files[0], host.config->lineage);
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
	assert_given(claim(0, 0, 1),
		     TICK + 5, 8, 1);
}

static void a_slow_probe_is_not_behind(void **state)
{
	struct snowflake_run run;

	(void)state;
	driven_clock_interrupt(other_mints_later);
	run = probe(0);
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
			probe(0);
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
	assert_refused_for(probe(0),
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
	assert_given(claim(0, 0, 1),
		     TICK + 3, 0, 1);
}

/*
 * The window.
 */

#define TICK_MS (1288834974657ULL + TICK)	/* when TICK begins, in Unix ms */

static struct snowflake_config windows[8];
static unsigned int windows_used;

static void set_window(u64 not_before_ms, u64 not_after_ms)
{
	unit_host_window(&host,
			 &windows[windows_used++ % ARRAY_SIZE(windows)],
			 not_before_ms, not_after_ms);
}

static void what_follows_from_the_window(void **state)
{
	static const struct {
		u64 ms;
		u64 tick;
	} limits[] = {		/* after an epoch at 1000, ticks of 10 ms */
		{ 1, 0 }, { 999, 0 }, { 1000, 0 }, { 1001, 1 }, { 1009, 1 },
		{ 1010, 1 }, { 1011, 2 }, { 2000, 100 }, { 2001, 101 },
	};
	struct snowflake_config config;
	size_t i;

	(void)state;
	unit_config_init(&config, WORKER, 1, 64);
	snowflake_config_derive(&config);
	assert_int_equal(config.first_tick, 0);
	assert_true(config.end_tick == U64_MAX);

	config.layout.epoch_ms = 1000;
	config.layout.tick_ms = 10;
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		config.not_before_ms = limits[i].ms;
		config.not_after_ms = limits[i].ms;
		snowflake_config_derive(&config);
		assert_int_equal(config.first_tick, limits[i].tick);
		assert_int_equal(config.end_tick, limits[i].tick);
	}
}

static void the_window_begins_with_its_first_tick(void **state)
{
	(void)state;
	set_window(TICK_MS + 5, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 5 * TICK_NS);
	assert_refused_for(take(1, 1, 500), SNOWFLAKE_NOT_YET, 5 * TICK_NS);
	assert_refused_for(probe(0), SNOWFLAKE_NOT_YET, 5 * TICK_NS);
	wait_for(TICK + 4, TICK_NS - 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 1);
	/* It is no rewind, and the word is where it was. */
	assert_rewinds(0);
	assert_int_equal(word(), TICK << SHIFT);
	wait_for(TICK + 5, 0);
	assert_given(take(0, 0, 1), TICK + 5, 0, 1);
}

static void the_window_ends_before_its_end(void **state)
{
	(void)state;
	set_window(0, TICK_MS + 2);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	wait_for(TICK + 1, TICK_NS - 1);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
	wait_for(TICK + 2, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	assert_refused(take(1, 1, 500), SNOWFLAKE_EXPIRED);
	assert_refused(probe(0), SNOWFLAKE_EXPIRED);
	/* The rest of the last tick is still there for a clock set back. */
	set_to(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 1, 1, 1);
	set_to(TICK + 2, 0);
	set_window(0, TICK_MS + 3);
	assert_given(take(0, 0, 1), TICK + 2, 0, 1);
	wait_for(TICK + 3, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
}

/* A tick is inside if its first instant is. */
static void long_ticks_are_inside_or_not(void **state)
{
	const struct snowflake_layout *sonyflake =
		&snowflake_layouts[SNOWFLAKE_SONYFLAKE];
	u64 ms = sonyflake->epoch_ms + 10 * 1000;

	(void)state;
	load(sonyflake, 990);
	use(&first_config);
	set_window(ms + 1, ms + 21);	/* 1001 and 1002 */
	wait_for(1000, 9999999);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 1);
	wait_for(1001, 0);
	assert_run(take(0, 0, 1), 1001ULL << 24 | WORKER, 1);
	wait_for(1002, 9999999);
	assert_run(take(0, 0, 1), 1002ULL << 24 | WORKER, 1);
	wait_for(1003, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	set_window(ms + 1, ms + 30);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	set_window(ms + 1, ms + 31);
	assert_run(take(0, 0, 1), 1003ULL << 24 | WORKER, 1);
}

static void an_empty_window_gives_nothing(void **state)
{
	(void)state;
	set_window(TICK_MS + 2, TICK_MS + 2);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 2 * TICK_NS);
	wait_for(TICK + 2, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	/* One that was over before the layout began. */
	set_window(0, 1);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
}

static void a_window_goes_on_with_the_words(void **state)
{
	u32 cookie = host.config->cookie, lineage = host.config->lineage;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_given(take(1, 1, 1), TICK, 8, 1);
	set_window(TICK_MS, TICK_MS + 100);
	assert_int_not_equal(host.config->cookie, cookie);
	assert_int_equal(host.config->lineage, lineage);
	assert_int_equal(word(), (TICK << SHIFT) + 16);
	/* No block survives, and the files go on rising. */
	assert_given(take(0, 0, 1), TICK, 16, 1);
	assert_given(take(0, 1, 1), TICK, 17, 1);
	assert_given(take(1, 1, 1), TICK, 24, 1);
	assert_int_equal(files[0].lineage, lineage);
}

static void a_block_ends_with_the_window(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_window(0, TICK_MS);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	set_window(TICK_MS + 1, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, TICK_NS);
}

/* The first of the reasons is told. */
static void past_the_end_comes_first(void **state)
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
	set_window(0, narrow.epoch_ms + 14);
	wait_for(12, 0);
	assert_given(take(0, 0, 1), 12, 0, 1);
	snowflake_clock_set_forward_limit(&host.clock, 1);
	set_to(15, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_JUMPED);
	set_to(16, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_ENDED);
	snowflake_clock_accept(&host.clock);
	set_to(15, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
}

static void reasons_have_an_order(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_window(0, TICK_MS + 1000);
	snowflake_clock_set_forward_limit(&host.clock, 2000);

	/* Ahead, and past the window. */
	set_to(TICK + 3600000, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_JUMPED);
	assert_refused(probe(0), SNOWFLAKE_JUMPED);
	snowflake_clock_accept(&host.clock);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);

	/* Past the window, and behind. */
	set_window(0, TICK_MS - 10);
	set_to(TICK - 5, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_EXPIRED);
	set_to(TICK - 20, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 20 * TICK_NS);

	/* Behind, and before the window. */
	set_window(TICK_MS + 7, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 20 * TICK_NS);
	wait_for(TICK, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 7 * TICK_NS);
	wait_for(TICK + 7, 0);
	assert_given(take(0, 0, 1), TICK + 7, 0, 1);
}

static void a_block_is_not_served_by_a_clock_ahead(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	snowflake_clock_set_forward_limit(&host.clock, 1);
	/* All within the tick of the block, but for the limit. */
	set_to(TICK + 2, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_JUMPED);
	set_to(TICK, 5);
	assert_given(take(0, 0, 1), TICK, 1, 1);
}

/*
 * Slewing.
 */

static void slew(u64 lead_limit_ms)
{
	snowflake_clock_set_policy(&host.clock, SNOWFLAKE_SLEW);
	snowflake_clock_set_lead_limit(&host.clock, lead_limit_ms);
}

static void ids_go_on_after_a_step_back(void **state)
{
	(void)state;
	slew(10000);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK - 3000, 0);
	/* Not out of the block: who serves those does not know of leads. */
	assert_given(take(0, 0, 1), TICK, 8, 1);
	driven_clock_advance(16 * TICK_NS);
	assert_given(take(0, 0, 1), TICK + 15, 0, 1);
	driven_clock_advance(47984 * TICK_NS);
	assert_given(take(0, 0, 1), TICK + 45000, 0, 1);
	assert_rewinds(1);
}

/* No block is claimed that would not be served: the ceiling is reachable. */
static void nothing_is_lost_while_slewing(void **state)
{
	u32 i;

	(void)state;
	slew(10000);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK - 3000, 0);
	assert_given(take(0, 0, FULL), TICK, 8, FULL - 8);
	driven_clock_advance(16 * TICK_NS);
	for (i = 0; i < FULL; i++)
		assert_given(take(i & 1, i & 1, 1), TICK + 15, i, 1);
	assert_int_equal(take(0, 0, 1).verdict, SNOWFLAKE_EXHAUSTED);
}

/* A tick lasts longer then, and so does the wait for it. */
static void a_tick_lasts_longer_while_slewing(void **state)
{
	struct snowflake_run run;

	(void)state;
	slew(10000);
	assert_given(take(0, 0, FULL), TICK, 0, FULL);
	set_to(TICK - 3000, 0);
	run = take(0, 0, 1);
	assert_refused_for(run, SNOWFLAKE_EXHAUSTED,
			   TICK_NS + TICK_NS / 15 + 1);
	driven_clock_advance(TICK_NS + 1000);
	assert_int_equal(take(0, 0, 1).verdict, SNOWFLAKE_EXHAUSTED);
	driven_clock_advance(run.until - driven_clock_mono());
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void too_great_a_lead_is_behind(void **state)
{
	(void)state;
	slew(1000);
	assert_given(take(0, 0, 1), TICK, 0, 1);
	set_to(TICK - 1001, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_BEHIND);
	assert_refused(take(1, 1, 100), SNOWFLAKE_BEHIND);
	assert_refused(probe(0), SNOWFLAKE_BEHIND);
	driven_clock_advance(16 * TICK_NS);
	assert_given(take(0, 0, 1), TICK + 15, 0, 1);
}

static void slewing_may_start_at_the_window(void **state)
{
	(void)state;
	set_window(TICK_MS + 3001, 0);
	slew(3000);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_NOT_YET, 3001 * TICK_NS);
	assert_int_equal(snowflake_clock_lead(&host.clock), 0);
	wait_for(TICK + 1, 0);
	assert_given(take(0, 0, 1), TICK + 3001, 0, 1);
	assert_int_equal(snowflake_clock_lead(&host.clock), 3000 * TICK_NS);
	assert_rewinds(0);
}

/*
 * Bound sharing.
 */

static struct snowflake_config bound_config;

static void use_bound(u64 worker_id, u64 worker_count)
{
	use(NULL);
	unit_config_init(&bound_config, worker_id, worker_count, 64);
	bound_config.bound = true;
	use(&bound_config);
	driven_clock_advance(TICK_NS);
}

static void only_bound_files_are_given_ids(void **state)
{
	static const u64 wrong[] = { SNOWFLAKE_NO_SHARD, 0, 7, 11, 1023 };
	u64 before;
	size_t i;

	(void)state;
	use_bound(8, 3);
	before = word();
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		files[0].shard = wrong[i];
		assert_refused(take(0, 0, 1), SNOWFLAKE_UNBOUND);
		assert_refused(take(0, 0, 100), SNOWFLAKE_UNBOUND);
		assert_refused(probe(0), SNOWFLAKE_UNBOUND);
		assert_int_equal(snowflake_waiter_enter(host.config, &files[0]),
				 0);
		snowflake_waiter_leave(host.config, &files[0], 0);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(atomic64_read(&host.words[i].next), before);
		assert_int_equal(atomic_read(&host.words[i].waiters), 0);
	}

	/* It comes before all that the clock decides. */
	set_to(TICK - 1000, 0);
	assert_refused(take(0, 0, 1), SNOWFLAKE_UNBOUND);
	use(NULL);
	assert_refused(take(0, 0, 1), SNOWFLAKE_NO_WORKER);
}

static void each_worker_has_a_word(void **state)
{
	int i;

	(void)state;
	use_bound(8, 3);
	assert_int_equal(host.config->capacity, FULL);
	for (i = 0; i < 3; i++) {
		files[i].shard = 8 + i;
		assert_run(take(i, i, 1), make_id(TICK + 1, 8 + i, 0), 1);
	}
	/* One is used up, the others are as they were. */
	assert_run(take(0, 1, 5000), make_id(TICK + 1, 9, 1), FULL - 1);
	assert_refused_for(take(0, 1, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	assert_run(take(0, 0, 5000), make_id(TICK + 1, 8, 1), FULL - 1);
	assert_run(take(0, 2, 7), make_id(TICK + 1, 10, 1), 7);
	/* No CPU keeps a block: on another, the file goes on where it was. */
	assert_run(take(3, 2, 1), make_id(TICK + 1, 10, 8), 1);
	assert_run(take(0, 2, 1), make_id(TICK + 1, 10, 9), 1);
	/* Two files of one worker share its word. */
	files[3].shard = 10;
	assert_run(take(1, 3, 1), make_id(TICK + 1, 10, 10), 1);
	assert_run(take(0, 2, 1), make_id(TICK + 1, 10, 11), 1);
}

static void each_worker_is_behind_on_its_own(void **state)
{
	u64 space;

	(void)state;
	use_bound(8, 3);
	files[0].shard = 8;
	files[1].shard = 9;
	assert_run(take(0, 0, 1), make_id(TICK + 1, 8, 0), 1);
	wait_for(TICK + 9, 0);
	assert_run(take(0, 1, 1), make_id(TICK + 9, 9, 0), 1);
	set_to(TICK + 4, 0);
	assert_refused_for(take(0, 1, 1), SNOWFLAKE_BEHIND, 5 * TICK_NS);
	assert_run(take(0, 0, 1), make_id(TICK + 4, 8, 0), 1);
	/* The host as a whole is behind if one of them is. */
	assert_int_equal(snowflake_generator_probe(host.config, &host.clock,
						   NULL, &space).verdict,
			 SNOWFLAKE_BEHIND);
	/* What is used is used by the latest of them. */
	assert_used(TICK + 10);
}

static void waiters_wait_for_their_own_word(void **state)
{
	(void)state;
	use_bound(8, 2);
	files[0].shard = 8;
	files[1].shard = 9;
	wait_begin(3);
	assert_run(take(0, 0, 5000), make_id(TICK + 1, 8, 0), FULL - 3);
	assert_run(take(0, 1, 5000), make_id(TICK + 1, 9, 0), FULL);
	wait_end();
	assert_run(take(0, 0, 5000), make_id(TICK + 1, 8, FULL - 3), 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
}

static void a_later_range_may_lack_the_shard(void **state)
{
	struct snowflake_config pooled;

	(void)state;
	use_bound(8, 3);
	files[0].shard = 10;
	assert_run(take(0, 0, 1), make_id(TICK + 1, 10, 0), 1);
	use_bound(8, 2);
	assert_refused(take(0, 0, 1), SNOWFLAKE_UNBOUND);
	use_bound(10, 1);
	assert_run(take(0, 0, 1), make_id(TICK + 3, 10, 0), 1);
	/* In pooled sharing it does not matter. */
	unit_config_init(&pooled, 3, 1, 64);
	use(&pooled);
	driven_clock_advance(TICK_NS);
	assert_run(take(0, 0, 1), make_id(TICK + 4, 3, 0), 1);
	use(NULL);
}

static void bound_with_the_worker_lowest(void **state)
{
	u64 i;

	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_SONYFLAKE], 1000);
	first_config.worker_count = 5;
	first_config.bound = true;
	use(&first_config);
	wait_for(1001, 0);
	files[0].shard = WORKER + 4;
	/* Ids that follow each other would be those of other workers. */
	for (i = 0; i < 256; i++)
		assert_run(take(0, 0, 10),
			   1001ULL << 24 | i << 16 | (WORKER + 4), 1);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, 10 * TICK_NS);
}

/*
 * The worker id lowest.
 */

static void runs_end_with_the_range(void **state)
{
	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_SONYFLAKE], 1000);
	first_config.worker_count = 3;
	use(&first_config);
	wait_for(1001, 0);
	assert_int_equal(host.config->cpu_block, 0);
	assert_run(take(0, 0, 2), 1001ULL << 24 | WORKER, 2);
	assert_run(take(0, 0, 9), 1001ULL << 24 | (WORKER + 2), 1);
	assert_run(take(0, 0, 9), 1001ULL << 24 | 1 << 16 | WORKER, 3);
	assert_run(take(1, 1, 1), 1001ULL << 24 | 2 << 16 | WORKER, 1);
	assert_run(take(0, 0, 9), 1001ULL << 24 | 2 << 16 | (WORKER + 1), 2);
	/* Just that has left the word: there are no blocks. */
	assert_int_equal(word(), (1001ULL << 24) + 9);
}

static struct snowflake_run take_rows(int cpu, int file, u32 want,
				      struct snowflake_rows *rows)
{
	*rows = (struct snowflake_rows) { .left = U64_MAX };
	return take_asked(cpu, file, (struct snowflake_request) {
				  .rows = rows,
				  .want = want,
			  });
}

static void assert_rows(const struct snowflake_rows *rows, u64 left, u64 length,
			u64 gap)
{
	assert_true(rows->left == left);
	assert_true(rows->length == length);
	assert_true(rows->gap == gap);
}

static void rows_follow_each_other(void **state)
{
	struct snowflake_rows rows;

	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_SONYFLAKE], 1000);
	first_config.worker_count = 3;
	use(&first_config);
	wait_for(1001, 0);
	assert_run(take_rows(0, 0, 4, &rows), 1001ULL << 24 | WORKER, 4);
	assert_rows(&rows, 3, 3, 65533);
	/* The first row is not whole, nor is the last. */
	assert_run(take_rows(0, 0, 9, &rows),
		   1001ULL << 24 | 1 << 16 | (WORKER + 1), 9);
	assert_rows(&rows, 2, 3, 65533);
	assert_run(take_rows(1, 1, 5000, &rows),
		   1001ULL << 24 | 4 << 16 | (WORKER + 1), 755);
	assert_rows(&rows, 2, 3, 65533);
	assert_refused_for(take_rows(0, 0, 1, &rows), SNOWFLAKE_EXHAUSTED,
			   10 * TICK_NS);
}

static void a_bound_file_has_rows_of_one(void **state)
{
	struct snowflake_rows rows;

	(void)state;
	load(&snowflake_layouts[SNOWFLAKE_SONYFLAKE], 1000);
	first_config.worker_count = 3;
	first_config.bound = true;
	use(&first_config);
	wait_for(1001, 0);
	files[0].shard = WORKER + 2;
	assert_run(take_rows(0, 0, 500, &rows),
		   1001ULL << 24 | (WORKER + 2), 256);
	assert_rows(&rows, 1, 1, 65535);
}

/* With the sequence lowest there is no gap, in blocks and past them. */
static void without_rows_there_is_no_gap(void **state)
{
	struct snowflake_rows rows;

	(void)state;
	assert_given(take_rows(0, 0, 1, &rows), TICK, 0, 1);
	assert_true(rows.left == U64_MAX);
	assert_given(take_rows(0, 0, 7, &rows), TICK, 1, 7);
	assert_true(rows.left == U64_MAX);
	assert_given(take_rows(0, 0, 5000, &rows), TICK, 8, FULL - 8);
	assert_true(rows.left == U64_MAX);
}

/* Who must not wait for the next tick takes nothing of it. */
static void a_reader_may_stay_in_a_tick(void **state)
{
	struct snowflake_request stay = { .want = 1 };
	struct snowflake_rows rows;

	(void)state;
	assert_given(take_rows(0, 0, 1, &rows), TICK, 0, 1);
	stay.ceiling = rows.ceiling;
	assert_int_equal(stay.ceiling, (TICK + 1) << SHIFT);
	assert_given(take_rows(0, 0, 1, &rows), TICK, 1, 1);
	assert_int_equal(rows.ceiling, stay.ceiling);
	/* Out of the block, past it, and not in the next tick. */
	assert_given(take_asked(0, 0, stay), TICK, 2, 1);
	stay.want = 100;
	assert_given(take_asked(0, 0, stay), TICK, 8, 100);
	wait_for(TICK + 1, 0);
	assert_refused_for(take_asked(0, 0, stay), SNOWFLAKE_EXHAUSTED,
			   TICK_NS);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
	stay.want = 1;
	assert_refused_for(take_asked(0, 0, stay), SNOWFLAKE_EXHAUSTED,
			   TICK_NS);
	assert_int_equal(word(), ((TICK + 1) << SHIFT) + 8);
	assert_given(take(0, 0, 1), TICK + 1, 1, 1);
}

/* All the workers of a range, and of the layout. */
static void every_id_of_the_range_is_given(void **state)
{
	static const u64 counts[] = { 1, 2, 3, 255, 65536 };
	const struct snowflake_layout *sonyflake =
		&snowflake_layouts[SNOWFLAKE_SONYFLAKE];
	struct snowflake_fields fields;
	struct snowflake_run run;
	u64 expected, worker;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		load(sonyflake, 1000);
		first_config.worker_id = counts[i] == 65536 ? 0 : WORKER;
		first_config.worker_count = counts[i];
		use(&first_config);
		wait_for(1001, 0);
		for (expected = 0;; expected += run.count) {
			run = take(0, 0, 100000);
			if (run.verdict != SNOWFLAKE_GIVEN)
				break;
			assert_int_equal(run.count, counts[i]);
			snowflake_layout_decode(sonyflake, run.id, &fields);
			worker = fields.worker - first_config.worker_id;
			assert_int_equal(fields.tick, 1001);
			assert_int_equal(fields.sequence * counts[i] + worker,
					 expected);
		}
		assert_int_equal(expected, 256 * counts[i]);
		assert_refused_for(run, SNOWFLAKE_EXHAUSTED, 10 * TICK_NS);
		wait_for(1002, 0);
		assert_run(take(0, 0, 1),
			   1002ULL << 24 | first_config.worker_id, 1);
	}
}

static void a_number_stands_for_one_id(void **state)
{
	struct snowflake_config config;
	struct snowflake_fields fields;
	u64 random = 3, number, id, index;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		unit_config_init(&config, 100, 1 + (i >> 2) % 70, 0);
		if (i & 1)
			config.layout = snowflake_layouts[SNOWFLAKE_SONYFLAKE];
		config.bound = i & 2;
		snowflake_config_derive(&config);
		index = unit_random_below(&random, config.capacity);
		number = 12345ULL << config.shift | index;
		id = snowflake_id(&config, 102, number);
		snowflake_layout_decode(&config.layout, id, &fields);
		assert_int_equal(fields.tick, 12345);
		if (config.bound) {
			assert_int_equal(fields.worker, 102);
			assert_int_equal(fields.sequence, index);
		} else if (i & 1) {
			assert_int_equal(fields.worker,
					 100 + index % config.worker_count);
			assert_int_equal(fields.sequence,
					 index / config.worker_count);
		} else {
			assert_int_equal(fields.worker, 100 + index / FULL);
			assert_int_equal(fields.sequence, index % FULL);
		}
	}
}

/*
 * The start of a tick.
 */

static struct snowflake_run take_seeded(int cpu, int file, u32 want, u32 seed)
{
	return take_asked(cpu, file, (struct snowflake_request) {
				  .want = want,
				  .seeded = true,
				  .seed = seed,
			  });
}

static void use_spread(void)
{
	first_config.spread = true;
	use(&first_config);
	/* The first tick of a configuration follows none. */
	driven_clock_advance(TICK_NS);
	assert_given(take(0, 0, 1), TICK + 1, 0, 1);
}

static void a_quiet_tick_is_followed_by_a_random_start(void **state)
{
	static const struct {
		u32 seed;
		u32 sequence;
	} starts[] = {
		{ 0, 0 }, { 1, 0 }, { 1U << 22, 1 }, { 1U << 31, 512 },
		{ U32_MAX, 1023 },
	};
	u64 before, tick = TICK + 2;
	struct snowflake_run run;
	size_t i;

	(void)state;
	use_spread();
	for (i = 0; i < ARRAY_SIZE(starts); i++, tick++) {
		wait_for(tick, 0);
		before = word();
		run = take(0, 0, 1);
		assert_int_equal(run.verdict, SNOWFLAKE_UNSEEDED);
		assert_int_equal(run.count, 0);
		assert_int_equal(take(1, 1, 500).verdict, SNOWFLAKE_UNSEEDED);
		/* Nobody needs a random number to look. */
		assert_int_equal(probe(0).verdict, SNOWFLAKE_GIVEN);
		assert_int_equal(word(), before);
		assert_given(take_seeded(0, 0, 1, starts[i].seed), tick,
			     starts[i].sequence, 1);
		/* The tick has started, for all. */
		assert_given(take(0, 0, 1), tick, starts[i].sequence + 1, 1);
		assert_given(take(1, 1, 65), tick, starts[i].sequence + 8, 65);
		assert_given(take_seeded(2, 2, 65, U32_MAX), tick,
			     starts[i].sequence + 73, 65);
	}
}

static void what_is_above_the_start_is_all_there(void **state)
{
	(void)state;
	use_spread();
	wait_for(TICK + 2, 0);
	assert_given(take_seeded(0, 0, 5000, 1U << 31), TICK + 2, 512,
		     FULL - 512);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	/* A tick used up is followed by one that starts at zero. */
	wait_for(TICK + 3, 0);
	assert_given(take(0, 0, 1), TICK + 3, 0, 1);
	assert_given(take_seeded(0, 0, 64, U32_MAX), TICK + 3, 1, 7);
	assert_given(take_seeded(0, 0, 5000, U32_MAX), TICK + 3, 8, FULL - 8);
	/* Unless there was a quiet one in between. */
	wait_for(TICK + 5, 0);
	assert_int_equal(take(0, 0, 1).verdict, SNOWFLAKE_UNSEEDED);
	assert_given(take_seeded(0, 0, 1, U32_MAX), TICK + 5, 1023, 1);
}

/* One number short of used up is quiet; the word does not stand at its end. */
static void almost_used_up_is_quiet(void **state)
{
	(void)state;
	use_spread();
	assert_given(take(0, 0, 7), TICK + 1, 1, 7);
	assert_given(take(0, 0, FULL - 9), TICK + 1, 8, FULL - 9);
	wait_for(TICK + 2, 0);
	assert_int_equal(take(0, 0, 1).verdict, SNOWFLAKE_UNSEEDED);
}

static void spread_at_the_extremes_of_capacity(void **state)
{
	/* Of all widths of the sequence, with one worker and with all. */
	struct snowflake_layout layout = {
		.timestamp_bits = 10,
		.worker_bits = 1,
		.tick_ms = 1,
		.epoch_ms = 1700000000000ULL,
	};
	struct snowflake_run run;
	u64 part, number;
	u8 bits, all;

	(void)state;
	for (bits = 1; bits <= 52; bits++) {
		for (all = 0; all < 2; all++) {
			layout.sequence_bits = bits;
			load(&layout, 100);
			first_config.worker_id = 0;
			first_config.worker_count = 1 + all;
			first_config.spread = true;
			first_config.cpu_block = 1;
			use(&first_config);
			wait_for(101, 0);
			run = take(0, 0, 1);
			assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
			wait_for(103, 0);
			run = take(0, 0, 1);
			assert_int_equal(run.verdict, SNOWFLAKE_UNSEEDED);
			run = take_seeded(0, 0, 1, U32_MAX);
			assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
			number = run.id & ((1ULL << (bits + 1)) - 1);
			part = min_t(u64, (1ULL << bits << all) / 4, U32_MAX);
			assert_int_equal(run.id >> (bits + 1), 103);
			assert_true(part ? number < part : !number);
			assert_true(part < 2 || number >= part / 2);
		}
	}
}

static void a_whole_tick_of_all_workers_is_used_up(void **state)
{
	struct snowflake_config all;

	(void)state;
	unit_config_init(&all, 0, 1024, 64);
	all.spread = true;
	use(&all);
	wait_for(TICK + 1, 0);
	assert_run(take(0, 0, 2048 * FULL), make_id(TICK + 1, 0, 0),
		   1024 * FULL);
	wait_for(TICK + 2, 0);
	assert_run(take(0, 0, 1), make_id(TICK + 2, 0, 0), 1);
	wait_for(TICK + 3, 0);
	assert_int_equal(take(0, 0, 1).verdict, SNOWFLAKE_UNSEEDED);
	use(NULL);
}

/*
 * Lineages and eras.
 */

static void a_new_file_is_served_by_the_block(void **state)
{
	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	assert_int_equal(files[1].lineage, 0);
	assert_given(take(0, 1, 1), TICK, 1, 1);
	assert_int_equal(files[1].lineage, host.config->lineage);
	assert_int_equal(word(), (TICK << SHIFT) + 8);
}

static void who_may_adopt_a_lineage(void **state)
{
	struct snowflake_config later;

	(void)state;
	assert_false(snowflake_order_adopt(&files[0],
					   &snowflake_config_closed));
	assert_false(snowflake_order_adopt(&files[0],
					   &snowflake_config_no_worker));
	assert_false(snowflake_order_adopt(&files[0],
					   &snowflake_config_cloned));
	assert_int_equal(files[0].lineage, 0);
	assert_true(snowflake_order_adopt(&files[0], host.config));
	assert_int_equal(files[0].lineage, host.config->lineage);
	/* Again, by another thread: what the file was given meanwhile stays. */
	atomic64_set(&files[0].last, 77);
	assert_true(snowflake_order_adopt(&files[0], host.config));
	assert_int_equal(atomic64_read(&files[0].last), 77);

	later = *host.config;
	later.era++;
	later.lineage++;
	assert_false(snowflake_order_adopt(&files[0], &later));
	assert_int_equal(atomic64_read(&files[0].last), 77);
	later.era--;
	assert_true(snowflake_order_adopt(&files[0], &later));
	assert_int_equal(atomic64_read(&files[0].last), 0);
}

/* The way out of a floor poisoned by a clock that was once far ahead. */
static void a_range_never_used_starts_at_the_clock(void **state)
{
	struct snowflake_config fresh;
	u64 space;

	(void)state;
	set_to(TICK + 86400000, 0);
	assert_given(take(0, 0, 1), TICK + 86400000, 0, 1);
	set_to(TICK + 1, 0);
	use(NULL);
	use(&first_config);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND,
			   86399999 * TICK_NS);

	unit_config_init(&fresh, WORKER + 1, 1, 64);
	use(&fresh);
	assert_int_equal(host.era, 1);
	wait_for(TICK + 2, 0);
	/* Nobody who had ids of later ticks goes down, by block or by claim. */
	assert_refused(take(0, 0, 1), SNOWFLAKE_OUTDATED);
	assert_refused(take(0, 1, 500), SNOWFLAKE_OUTDATED);
	assert_refused(probe(0), SNOWFLAKE_OUTDATED);
	snowflake_order_init(&files[2], host.era);
	assert_run(take(0, 2, 1), make_id(TICK + 2, WORKER + 1, 0), 1);
	assert_refused(take(0, 0, 1), SNOWFLAKE_OUTDATED);
	assert_int_equal(snowflake_generator_probe(host.config, &host.clock,
						   NULL, &space).verdict,
			 SNOWFLAKE_GIVEN);
	/* The tick that is used up is no reason to wait for what never comes. */
	take(0, 2, FULL);
	assert_refused(take(0, 0, 1), SNOWFLAKE_OUTDATED);
	snowflake_order_init(&files[0], host.era);
	assert_refused_for(take(1, 0, 1), SNOWFLAKE_EXHAUSTED, TICK_NS);
	use(NULL);
}

static void a_range_that_overlaps_does_not(void **state)
{
	struct snowflake_config over;

	(void)state;
	set_to(TICK + 86400000, 0);
	assert_given(take(0, 0, 1), TICK + 86400000, 0, 1);
	set_to(TICK + 1, 0);
	unit_config_init(&over, WORKER - 2, 3, 64);
	use(&over);
	assert_int_equal(host.era, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND,
			   86399999 * TICK_NS);
	use(NULL);
}

static void ranges_in_turn_outdate_nobody(void **state)
{
	struct snowflake_config low, high;
	u64 last = 0;
	int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct snowflake_config *config = i & 1 ? &high : &low;
		struct snowflake_run run;

		unit_config_init(config, i & 1 ? 100 : 200, 2, 64);
		use(config);
		driven_clock_advance(TICK_NS);
		run = take(0, 0, 1);
		assert_int_equal(run.verdict, SNOWFLAKE_GIVEN);
		assert_true(run.id > last);
		last = run.id;
	}
	assert_int_equal(host.era, 0);
	use(NULL);
}

/* A range used before knows nothing of what another gave meanwhile. */
static void a_file_does_not_go_down_with_a_range_used_before(void **state)
{
	struct snowflake_config other, again;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	wait_for(TICK + 10000, 0);
	unit_config_init(&other, 100, 1, 64);
	use(&other);
	wait_for(TICK + 10001, 0);
	assert_run(take(0, 0, 1), make_id(TICK + 10001, 100, 0), 1);
	unit_config_init(&again, WORKER, 1, 64);
	use(&again);
	set_to(TICK + 5000, 0);
	assert_refused_for(take(0, 0, 1), SNOWFLAKE_BEHIND, 5001 * TICK_NS);
	wait_for(TICK + 10002, 0);
	assert_given(take(0, 0, 1), TICK + 10002, 0, 1);
	use(NULL);
}

/* A layout's ticks are not another's: what is used is carried over in ns. */
static void a_layout_with_other_ticks_shares_none(void **state)
{
	const struct snowflake_layout *sonyflake =
		&snowflake_layouts[SNOWFLAKE_SONYFLAKE];
	struct snowflake_config coarse, fine;
	u64 tick;

	(void)state;
	assert_given(take(0, 0, 1), TICK, 0, 1);
	unit_config_init(&coarse, WORKER, 1, 64);
	coarse.layout = *sonyflake;
	use(&coarse);
	tick = word() >> 24;
	assert_true(tick_start(&coarse, tick) >=
		    tick_start(&first_config, TICK + 1));
	assert_true(tick_start(&coarse, tick - 1) <
		    tick_start(&first_config, TICK + 1));
	driven_clock_advance(tick_start(&coarse, tick) - driven_clock_real());
	assert_run(take(0, 0, 1), tick << 24 | WORKER, 1);

	unit_config_init(&fine, WORKER, 1, 64);
	use(&fine);
	assert_int_equal(tick_start(&fine, word() >> SHIFT),
			 tick_start(&coarse, tick + 1));
	assert_int_equal(word() & ((1 << SHIFT) - 1), 0);
	use(NULL);
}

static void words_start_at_the_floor_rounded_up(void **state)
{
	static const struct {
		s64 floor;
		u64 tick;
	} floors[] = {		/* epoch at 1 s, ticks of 10 ms, 16 of them */
		{ S64_MIN, 0 }, { -1, 0 }, { 0, 0 },
		{ 1000000000, 0 }, { 1000000001, 1 }, { 1009999999, 1 },
		{ 1010000000, 1 }, { 1010000001, 2 }, { 1150000000, 15 },
		{ 1150000001, 16 }, { 1160000000, 16 }, { 1160000001, 16 },
		{ S64_MAX, 16 },
	};
	struct snowflake_word words[3];
	struct snowflake_config config;
	size_t i, j;

	(void)state;
	unit_config_init(&config, WORKER, 3, 64);
	config.layout = (struct snowflake_layout) { 4, 5, 6, 0, 10, 1000 };
	config.bound = true;
	config.words = words;
	snowflake_config_derive(&config);
	assert_int_equal(snowflake_config_words(&config), 3);
	for (i = 0; i < ARRAY_SIZE(floors); i++) {
		for (j = 0; j < 3; j++)
			atomic_set(&words[j].waiters, 5);
		snowflake_config_start(&config, floors[i].floor);
		for (j = 0; j < 3; j++) {
			assert_int_equal(atomic64_read(&words[j].next),
					 floors[i].tick << 11);
			assert_int_equal(atomic_read(&words[j].waiters), 0);
		}
		assert_int_equal(snowflake_config_used(&config),
				 1000000000 + floors[i].tick * 10000000);
	}
	config.bound = false;
	assert_int_equal(snowflake_config_words(&config), 1);
}

/*
 * Blocks of any size.
 */

static void without_blocks_every_read_claims(void **state)
{
	struct snowflake_config none;
	u32 i;

	(void)state;
	unit_config_init(&none, WORKER, 1, 0);
	use(&none);
	wait_for(TICK + 1, 0);
	for (i = 0; i < 20; i++) {
		assert_given(take(i & 1, i & 1, 1), TICK + 1, i, 1);
		assert_int_equal(word(), ((TICK + 1) << SHIFT) + i + 1);
		assert_int_equal(cpus[i & 1].cookie, 0);
	}
	assert_given(take(0, 0, 5000), TICK + 1, 20, FULL - 20);
	assert_int_equal(local64_read(&cpus[0].minted), 10 + FULL - 20);
	use(NULL);
}

static void a_block_of_one_holds_nothing(void **state)
{
	struct snowflake_config one;
	u32 i;

	(void)state;
	unit_config_init(&one, WORKER, 1, 1);
	use(&one);
	wait_for(TICK + 1, 0);
	for (i = 0; i < 20; i++) {
		assert_given(take(i & 1, i & 1, 1), TICK + 1, i, 1);
		assert_int_equal(word(), ((TICK + 1) << SHIFT) + i + 1);
		assert_int_equal(cpus[i & 1].next, cpus[i & 1].end);
	}
	use(NULL);
}

/*
 * Waiters, and what a file can still have.
 */

static void waiters_of_an_old_lineage_do_not_count(void **state)
{
	struct snowflake_config other;
	u32 lineage;

	(void)state;
	lineage = snowflake_waiter_enter(host.config, &files[0]);
	assert_int_equal(lineage, host.config->lineage);
	assert_int_equal(atomic_read(&host.words->waiters), 1);
	unit_config_init(&other, WORKER, 1, 64);
	use(&other);
	assert_int_equal(atomic_read(&host.words->waiters), 0);
	snowflake_waiter_leave(host.config, &files[0], lineage);
	assert_int_equal(atomic_read(&host.words->waiters), 0);
	lineage = snowflake_waiter_enter(host.config, &files[0]);
	assert_int_equal(atomic_read(&host.words->waiters), 1);
	snowflake_waiter_leave(host.config, &files[0], lineage);
	assert_int_equal(atomic_read(&host.words->waiters), 0);

	/* The words are gone, and nobody looks at them. */
	lineage = snowflake_waiter_enter(host.config, &files[0]);
	use(NULL);
	snowflake_waiter_leave(host.config, &files[0], lineage);
	assert_int_equal(snowflake_waiter_enter(host.config, &files[0]), 0);
	snowflake_waiter_leave(host.config, &files[0], 0);
	assert_int_equal(atomic_read(&host.config->words->waiters), 0);
}

static void waiters_stay_with_the_window(void **state)
{
	u32 lineage;

	(void)state;
	lineage = snowflake_waiter_enter(host.config, &files[0]);
	set_window(TICK_MS, TICK_MS + 10);
	assert_given(take(1, 1, 5000), TICK, 0, FULL - 1);
	assert_given(take_woken(0, 0, 9), TICK, FULL - 1, 1);
	snowflake_waiter_leave(host.config, &files[0], lineage);
	assert_int_equal(atomic_read(&host.words->waiters), 0);
}

static void assert_space(u64 expected)
{
	u64 space = 12345;

	snowflake_generator_probe(host.config, &host.clock, &files[0], &space);
	assert_int_equal(space, expected);
}

static void the_probe_tells_what_is_left(void **state)
{
	(void)state;
	assert_space(FULL);
	take(0, 0, 100);
	assert_space(FULL - 100);
	wait_begin(3);
	assert_space(FULL - 103);
	take(0, 0, FULL);
	assert_space(0);
	wait_for(TICK + 1, 0);
	assert_space(FULL - 3);
	set_to(TICK - 1, 0);
	assert_space(0);
	use(NULL);
	assert_space(0);
}

/* A random start leaves less; it is not known yet how much. */
static void the_probe_promises_no_more_than_a_spread_tick_has(void **state)
{
	struct snowflake_config tiny;
	u64 space;

	(void)state;
	use_spread();
	assert_space(FULL - 8);
	wait_for(TICK + 2, 0);
	assert_space(FULL - FULL / 4);
	assert_given(take_seeded(0, 0, 5000, U32_MAX), TICK + 2, 1023,
		     FULL - 1023);

	/* There is always something. */
	unit_config_init(&tiny, WORKER, 1, 1);
	tiny.layout.sequence_bits = 2;
	tiny.spread = true;
	use(&tiny);
	driven_clock_advance(2 * TICK_NS);
	take(0, 0, 1);
	driven_clock_advance(2 * TICK_NS);
	snowflake_generator_probe(&tiny, &host.clock, &files[1], &space);
	assert_int_equal(space, 3);
	wait_begin(3);
	snowflake_generator_probe(&tiny, &host.clock, &files[1], &space);
	assert_int_equal(space, 1);
	use(NULL);
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
		loaded(what_is_used_ends_with_the_tick_of_the_word),
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
		running(a_used_up_tick_leaves_the_block),
		running(a_dead_block_is_no_leftover),
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
		loaded(before_the_epoch_is_not_yet),
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
		loaded(what_follows_from_the_window),
		running(the_window_begins_with_its_first_tick),
		running(the_window_ends_before_its_end),
		loaded(long_ticks_are_inside_or_not),
		running(an_empty_window_gives_nothing),
		running(a_window_goes_on_with_the_words),
		running(a_block_ends_with_the_window),
		loaded(past_the_end_comes_first),
		running(reasons_have_an_order),
		running(a_block_is_not_served_by_a_clock_ahead),
		running(ids_go_on_after_a_step_back),
		running(nothing_is_lost_while_slewing),
		running(a_tick_lasts_longer_while_slewing),
		running(too_great_a_lead_is_behind),
		running(slewing_may_start_at_the_window),
		loaded(only_bound_files_are_given_ids),
		loaded(each_worker_has_a_word),
		loaded(each_worker_is_behind_on_its_own),
		loaded(waiters_wait_for_their_own_word),
		loaded(a_later_range_may_lack_the_shard),
		loaded(bound_with_the_worker_lowest),
		loaded(runs_end_with_the_range),
		loaded(rows_follow_each_other),
		loaded(a_bound_file_has_rows_of_one),
		running(without_rows_there_is_no_gap),
		running(a_reader_may_stay_in_a_tick),
		loaded(every_id_of_the_range_is_given),
		loaded(a_number_stands_for_one_id),
		loaded(a_quiet_tick_is_followed_by_a_random_start),
		loaded(what_is_above_the_start_is_all_there),
		loaded(almost_used_up_is_quiet),
		loaded(spread_at_the_extremes_of_capacity),
		loaded(a_whole_tick_of_all_workers_is_used_up),
		running(a_new_file_is_served_by_the_block),
		running(who_may_adopt_a_lineage),
		running(a_range_never_used_starts_at_the_clock),
		running(a_range_that_overlaps_does_not),
		running(ranges_in_turn_outdate_nobody),
		running(a_file_does_not_go_down_with_a_range_used_before),
		running(a_layout_with_other_ticks_shares_none),
		loaded(words_start_at_the_floor_rounded_up),
		loaded(without_blocks_every_read_claims),
		loaded(a_block_of_one_holds_nothing),
		running(waiters_of_an_old_lineage_do_not_count),
		running(waiters_stay_with_the_window),
		running(the_probe_tells_what_is_left),
		loaded(the_probe_promises_no_more_than_a_spread_tick_has),
#undef loaded
#undef running
	};

	return unit_run("generator", tests);
}

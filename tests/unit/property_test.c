// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What must hold whatever happens: random reads by four files on four CPUs, on a
 * clock that advances, is set and sleeps, and under configurations, windows and
 * policies that follow one another. A read is now and then held up while others do as they please.
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

#define OPS_DEFAULT 4800000
#define ROUNDS 48		/* hosts, one after the other */
#define NOON (1796066145L * 1000 * NSEC_PER_MSEC)	/* some day in 2026 */
#define SKEW_NS (10 * NSEC_PER_USEC)
#define CPUS 4
#define FILES 4
#define WORKERS 16		/* of these are all ranges */
#define WORDS_MAX 3
#define CONFIGS 64		/* windows change in held up reads too */
#define WAITERS_MAX 5
#define DEPTH_MAX 2		/* interrupts of interrupts */

/* Beside the presets: few numbers a tick, long ticks, and the sign bit. */
static const struct snowflake_layout layouts[] = {
	{ 41, 4, 3, SNOWFLAKE_WORKER_SEQUENCE, 1, 1600000000000ULL },
	{ 41, 4, 3, SNOWFLAKE_WORKER_SEQUENCE, 1, 1600000000001ULL },
	{ 41, 4, 1, SNOWFLAKE_SEQUENCE_WORKER, 3, 1700000000000ULL },
	{ 45, 4, 15, SNOWFLAKE_SEQUENCE_WORKER, 7, 1500000000000ULL },
	{ 30, 4, 6, SNOWFLAKE_WORKER_SEQUENCE, 250, 1650000000000ULL },
};

#define LAYOUTS (ARRAY_SIZE(snowflake_layouts) + ARRAY_SIZE(layouts))

/**
 * struct file - an open file
 * @order: its order
 * @highest: the highest id that it was given
 * @lineage: under which that was
 * @until: the end of that id's tick, in ns since the Unix epoch
 */
struct file {
	struct snowflake_order order;
	u64 highest;
	u32 lineage;
	s64 until;
};

/**
 * struct top - what the model knows of a word
 * @tick: the one in which a number was given last
 * @closed: the rest of that tick is not to be given
 * @lossy: blocks of that tick may have died with a window
 * @given: numbers of that tick that were given or left out at its start
 */
struct top {
	u64 tick;
	bool closed;
	bool lossy;
	u64 given;
};

static u64 seed;
static u64 random_state;
static u64 ops;			/* done so far */

static struct unit_host host;
static struct snowflake_config configs[CONFIGS];
static unsigned int configs_used;
static unsigned int layout_now;	/* index of the layout in force */
static struct snowflake_block cpus[CPUS];
static struct file files[FILES];

static struct {
	int file;
	u32 lineage;
} waiters[WAITERS_MAX];		/* those that are not in a read just now */

static int asleep;

static struct top tops[WORDS_MAX];
static s64 until[WORKERS];	/* end of the last tick of each worker id */
static s64 retired[WORKERS];	/* the same, without what is in force */
static struct unit_log given[LAYOUTS];

/* How the clock was while a read was under way, and what may lead it. */
static s64 real_min;
static s64 real_max;
static s64 slew_min;		/* below which a slewing clock must not fall */

static unsigned int depth;	/* of interrupts */
static unsigned int interrupts;	/* so far */
static unsigned int busy;	/* CPUs on which a read is held up, as bits */

/* So that a run can be told to be a good one. */
static u64 verdicts[SNOWFLAKE_VERDICTS];
static u64 ids, changes, windows, eras;
static u64 round_changes;	/* configurations of this round */

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

static u64 tick_of(const struct snowflake_config *config, s64 real)
{
	return (real - config->epoch_ns) / (s64)config->tick_ns;
}

static s64 tick_start(const struct snowflake_config *config, u64 tick)
{
	return config->epoch_ns + tick * config->tick_ns;
}

/* The time to mint by; what it is made of is the business of clock_test. */
static enum snowflake_reading read_clock(struct snowflake_time *now)
{
	enum snowflake_reading reading;

	do {
		reading = snowflake_clock_read(&host.clock, now);
	} while (reading == SNOWFLAKE_STEPPED);
	return reading;
}

static void clock_moved(void)
{
	struct snowflake_time now;
	enum snowflake_reading reading;

	real_min = min_t(s64, real_min, driven_clock_real());
	real_max = max_t(s64, real_max, driven_clock_real());
	/* Do not judge, now and then: that is the readers' job. */
	if (one_in(2))
		return;
	reading = read_clock(&now);
	if (host.clock.policy == SNOWFLAKE_SLEW && reading != SNOWFLAKE_AHEAD)
		check(now.real >= slew_min);
	real_min = min_t(s64, real_min, now.real);
	real_max = max_t(s64, real_max, now.real);
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
		/* An hour at most; far from any epoch or end. */
		by = of_any_size(one_in(8) ? 42 : 33);
		driven_clock_step(one_in(2) ? by : -by);
		break;
	case 1:
		driven_clock_suspend(of_any_size(33));
		break;
	case 2:
		if (one_in(2))
			snowflake_clock_judge(&host.clock);
		break;
	default:
		driven_clock_advance(of_any_size(22));
	}
	clock_moved();
}

static void set_policies(void)
{
	static const u64 lead_limits[] = { 0, 5, 100, 10000 };
	static const u64 forward_limits[] = { 0, 0, 3, 200 };

	switch (below(6)) {
	case 0:
	case 1:
		snowflake_clock_set_policy(&host.clock, below(2));
		slew_min = S64_MIN;
		break;
	case 2:
		snowflake_clock_set_lead_limit(&host.clock,
					       lead_limits[below(4)]);
		break;
	case 3:
		snowflake_clock_set_forward_limit(&host.clock,
						  forward_limits[below(4)]);
		break;
	default:
		snowflake_clock_accept(&host.clock);
	}
	clock_moved();
}

static u64 some_limit_ms(void)
{
	s64 now_ms = driven_clock_real() / NSEC_PER_MSEC;

	switch (below(6)) {
	case 0:
		return now_ms + 20 - below(40);
	case 1:
		return now_ms + of_any_size(14);
	case 2:
		return now_ms - of_any_size(14);
	default:
		return 0;
	}
}

static struct snowflake_config *new_config(void)
{
	return &configs[configs_used++ % CONFIGS];
}

static void change_window(void)
{
	u64 not_before = some_limit_ms(), not_after = some_limit_ms();
	size_t i;

	not_before = max_t(u64, not_before, host.running->not_before_ms);
	unit_host_window(&host, new_config(), not_before, not_after);
	windows++;
	/* Mostly windows must be so that there are ids. */
	if (one_in(2))
		unit_host_window(&host, new_config(), not_before, 0);
	for (i = 0; i < WORDS_MAX; i++)
		tops[i].lossy = true;
}

static void choose_layout(struct snowflake_config *config)
{
	layout_now = below(LAYOUTS);
	if (layout_now < ARRAY_SIZE(snowflake_layouts))
		config->layout = snowflake_layouts[layout_now];
	else
		config->layout = layouts[layout_now -
					 ARRAY_SIZE(snowflake_layouts)];
}

/* The words are the only ones to know where they start; that it is right shows. */
static void begin_tops(void)
{
	const struct snowflake_config *config = host.config;
	u64 i, first;

	for (i = 0; i < snowflake_config_words(config); i++) {
		first = (u64)atomic64_read(&config->words[i].next) >>
			config->shift;
		check(first);
		tops[i] = (struct top) { .tick = first - 1, .closed = true };
	}
	memcpy(retired, until, sizeof(retired));
}

static void reconfigure(void)
{
	struct snowflake_config *next = new_config();
	struct snowflake_run run;
	u64 workers, first;

	if (one_in(3)) {
		struct snowflake_request request = { .want = 1 };

		unit_host_put_in_force(&host, NULL);
		run = snowflake_generator_take(host.config, &host.clock,
					       &cpus[below(CPUS)],
					       &files[below(FILES)].order,
					       &request);
		check(run.verdict == SNOWFLAKE_NO_WORKER);
		if (one_in(2))
			move_clock();
	}
	/* Now and then comes a worker id that was never used. */
	workers = min_t(u64, 1 + round_changes++ / 16, WORKERS);
	first = one_in(2) ? workers - 1 : below(workers);
	unit_config_init(next, first,
			 1 + below(min_t(u64, workers - first, WORDS_MAX)),
			 1U << below(9));
	if (one_in(2))
		choose_layout(next);
	else if (host.running)
		next->layout = host.running->layout;
	else
		layout_now = SNOWFLAKE_TWITTER;
	next->bound = one_in(4);
	next->spread = one_in(3);
	if (one_in(4)) {
		next->not_before_ms = some_limit_ms();
		next->not_after_ms = some_limit_ms();
	}
	unit_host_put_in_force(&host, next);
	/* A range not used so far gives up a lead beyond the limit. */
	slew_min = S64_MIN;
	changes++;
	begin_tops();
}

static struct top *top_of(const struct snowflake_config *config, int file)
{
	u64 shard = files[file].order.shard;

	if (!config->bound)
		return &tops[0];
	if (shard < config->worker_id ||
	    shard >= config->worker_id + config->worker_count)
		return NULL;
	return &tops[shard - config->worker_id];
}

static u64 owed(const struct snowflake_config *config, const struct top *top)
{
	return atomic_read(&config->words[top - tops].waiters);
}

/* Numbers of the top tick that CPUs hold and can still give. */
static u64 held(const struct snowflake_config *config)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < CPUS; i++)
		if (cpus[i].cookie == config->cookie &&
		    cpus[i].ceiling == (tops[0].tick + 1) << config->shift)
			sum += cpus[i].end - cpus[i].next;
	return sum;
}

/* Nothing of a tick gets lost but what is left for those who wait. */
static void check_used_up(const struct snowflake_config *config,
			  const struct top *top, bool woken)
{
	u64 rest;

	check(top->given + held(config) <= config->capacity);
	if (top->lossy || top->closed)
		return;
	rest = config->capacity - top->given - held(config);
	check(rest <= owed(config, top));
	if (woken)
		check(!rest);
}

/* Who claims leaves a number for each that waits; the woken has its own. */
static void check_left(const struct snowflake_config *config,
		       const struct top *top, struct snowflake_run run,
		       bool woken, u64 word_before)
{
	u64 word = atomic64_read(&config->words[top - tops].next);
	u64 rest = config->capacity - (word - (top->tick << config->shift));

	if (word == word_before)
		return;
	if (woken)
		check(rest + 1 >= owed(config, top) || run.count == 1);
	else
		check(rest >= owed(config, top));
}

static bool inside(const struct snowflake_config *config, s64 start)
{
	if (start < (s64)(config->not_before_ms * NSEC_PER_MSEC))
		return false;
	return !config->not_after_ms ||
	       start < (s64)(config->not_after_ms * NSEC_PER_MSEC);
}

/* What must become of a read that nothing came between. */
static void check_verdict(const struct snowflake_config *config,
			  struct snowflake_run run, int file,
			  const struct snowflake_request *request)
{
	const struct top *top = top_of(config, file);
	struct snowflake_time now;
	enum snowflake_reading reading = read_clock(&now);
	u64 tick = tick_of(config, now.real);
	s64 start = tick_start(config, tick), gap;

	if (!top) {
		check(run.verdict == SNOWFLAKE_UNBOUND);
		return;
	}
	if (reading == SNOWFLAKE_AHEAD) {
		check(run.verdict == SNOWFLAKE_JUMPED);
		return;
	}
	if (config->not_after_ms &&
	    start >= (s64)(config->not_after_ms * NSEC_PER_MSEC)) {
		check(run.verdict == SNOWFLAKE_EXPIRED);
		return;
	}
	if (reading == SNOWFLAKE_LEADING) {
		check(run.verdict == SNOWFLAKE_BEHIND);
		return;
	}
	if (tick < top->tick) {
		gap = tick_start(config, top->tick) - now.real;
		check(run.verdict == (gap < SKEW_NS ? SNOWFLAKE_SKEWED :
						      SNOWFLAKE_BEHIND));
		check(run.until == snowflake_clock_until(&now, gap));
		return;
	}
	if (!inside(config, start)) {
		check(run.verdict == SNOWFLAKE_NOT_YET);
		check(run.until > now.mono);
		return;
	}
	if (request->ceiling && request->ceiling != (tick + 1) << config->shift) {
		check(run.verdict == SNOWFLAKE_EXHAUSTED ||
		      run.verdict == SNOWFLAKE_OUTDATED);
		return;
	}
	if (run.verdict == SNOWFLAKE_GIVEN) {
		check(files[file].order.era == host.era);
		check(tick == top->tick && !top->closed);
		return;
	}
	if (run.verdict == SNOWFLAKE_OUTDATED) {
		check(files[file].order.era != host.era);
		return;
	}
	check(run.verdict == SNOWFLAKE_EXHAUSTED);
	check(tick == top->tick || owed(config, top) >= config->capacity ||
	      config->spread);
	check(run.until ==
	      snowflake_clock_until(&now, start + config->tick_ns - now.real));
	if (tick == top->tick)
		check_used_up(config, top, request->woken);
}

/* The number within its tick and word that an id stands for. */
static u64 index_of(const struct snowflake_config *config,
		    const struct snowflake_fields *fields)
{
	u64 worker = fields->worker - config->worker_id;

	if (config->bound)
		return fields->sequence;
	if (config->layout.order == SNOWFLAKE_SEQUENCE_WORKER)
		return fields->sequence * config->worker_count + worker;
	return (worker << config->layout.sequence_bits) + fields->sequence;
}

/* The ids of a run, row by row; note them if there is a log. Returns the last. */
static u64 go_through(struct snowflake_run run,
		      const struct snowflake_rows *rows, struct unit_log *log)
{
	u64 left = rows->left, id = run.id, n;

	for (;;) {
		n = min_t(u64, run.count, left);
		if (log)
			unit_log_add(log, id, n);
		run.count -= n;
		if (!run.count)
			return id + n - 1;
		id += n + rows->gap;
		left = rows->length;
	}
}

static void check_given(const struct snowflake_config *config,
			struct snowflake_run run,
			const struct snowflake_rows *rows,
			const struct snowflake_request *request,
			const struct file *before, u64 top_before)
{
	struct snowflake_fields fields, last;
	s64 start;
	u64 i;

	check(run.count && run.count <= request->want);
	snowflake_layout_decode(&config->layout, run.id, &fields);
	snowflake_layout_decode(&config->layout, go_through(run, rows, NULL),
				&last);
	check(fields.tick == last.tick);
	if (request->ceiling)
		check(request->ceiling == (fields.tick + 1) << config->shift);
	if (request->rows)
		check(rows->ceiling == (fields.tick + 1) << config->shift);
	check(index_of(config, &last) - index_of(config, &fields) + 1 ==
	      run.count);
	check(fields.tick >= tick_of(config, real_min));
	check(fields.tick <= tick_of(config, real_max));
	/* Not while behind. */
	check(fields.tick >= top_before);
	check(fields.worker >= config->worker_id);
	check(last.worker >= config->worker_id);
	check(fields.worker < config->worker_id + config->worker_count);
	check(last.worker < config->worker_id + config->worker_count);
	if (config->bound)
		check(fields.worker == before->order.shard &&
		      last.worker == fields.worker);

	start = tick_start(config, fields.tick);
	check(inside(config, start));
	/* Two configurations that share a worker id share no tick. */
	for (i = 0; i < config->worker_count; i++)
		check(start >= retired[config->worker_id + i]);
	/* Above all that the file had when the read began. */
	if (before->lineage == config->lineage)
		check(run.id > before->highest);
	else
		check(start >= before->until);
}

static void note_given(const struct snowflake_config *config, int file,
		       struct snowflake_run run,
		       const struct snowflake_rows *rows)
{
	struct top *top = top_of(config, file);
	struct snowflake_fields fields;
	u64 i, skipped;
	s64 end;

	snowflake_layout_decode(&config->layout, run.id, &fields);
	end = tick_start(config, fields.tick + 1);
	if (files[file].lineage != config->lineage)
		files[file].highest = 0;
	files[file].lineage = config->lineage;
	files[file].highest = max_t(u64, files[file].highest,
				    go_through(run, rows, NULL));
	files[file].until = max_t(s64, files[file].until, end);
	for (i = 0; i < config->worker_count; i++)
		until[config->worker_id + i] =
			max_t(s64, until[config->worker_id + i], end);
	go_through(run, rows, &given[layout_now]);

	if (fields.tick > top->tick) {
		skipped = index_of(config, &fields);
		if (config->spread)
			check(skipped <= config->capacity / 4);
		else
			check(!skipped || config != host.config);
		*top = (struct top) {
			.tick = fields.tick,
			.given = skipped,
		};
	}
	/* A read that was held up may have left a block that is dead. */
	if (config != host.config)
		top->lossy = true;
	if (fields.tick == top->tick)
		top->given += run.count;
}

static struct snowflake_run probe(int file)
{
	struct snowflake_run run;
	u64 space;

	run = snowflake_generator_probe(host.config, &host.clock,
					&files[file].order, &space);
	check(!space == (run.verdict != SNOWFLAKE_GIVEN));
	return run;
}

/* It said until when: it is so until then, and otherwise from then on. */
static void check_until(struct snowflake_run run, int file)
{
	const struct top *top = top_of(host.config, file);
	struct snowflake_run early, due;
	struct snowflake_time now;
	s64 gap = run.until - driven_clock_mono();

	if (run.until == S64_MAX || read_clock(&now) != SNOWFLAKE_TIME ||
	    now.slewing || gap > 3600000 * NSEC_PER_MSEC)
		return;
	check(gap > 0);
	advance(gap - 1);
	early = probe(file);
	advance(1);
	due = probe(file);
	if (due.verdict == SNOWFLAKE_EXPIRED)
		return;
	switch (run.verdict) {
	case SNOWFLAKE_EXHAUSTED:
		check(early.verdict == SNOWFLAKE_EXHAUSTED ||
		      owed(host.config, top) ||
		      early.verdict == SNOWFLAKE_OUTDATED);
		check(due.verdict == SNOWFLAKE_GIVEN ||
		      due.verdict == SNOWFLAKE_OUTDATED ||
		      owed(host.config, top) >= host.config->capacity);
		break;
	case SNOWFLAKE_NOT_YET:
		/* Slewing may start there, within its limit. */
		check(early.verdict == SNOWFLAKE_NOT_YET ||
		      host.clock.policy == SNOWFLAKE_SLEW);
		check(due.verdict != SNOWFLAKE_NOT_YET);
		break;
	default:
		check(early.verdict == SNOWFLAKE_SKEWED);
		check(due.verdict != SNOWFLAKE_SKEWED &&
		      due.verdict != SNOWFLAKE_BEHIND);
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

static struct snowflake_run take(const struct snowflake_config *config, int cpu,
				 int file, struct snowflake_request *request)
{
	struct snowflake_run run;

	for (;;) {
		if (depth < DEPTH_MAX && one_in(8))
			driven_clock_interrupt(others_go_on);
		run = snowflake_generator_take(config, &host.clock, &cpus[cpu],
					       &files[file].order, request);
		driven_clock_interrupt(NULL);
		if (run.verdict != SNOWFLAKE_UNSEEDED)
			return run;
		check(config->spread && !request->seeded);
		verdicts[run.verdict]++;
		request->seeded = true;
		request->seed = one_in(3) ? -below(2) : below(1ULL << 32);
	}
}

/* Whoever reads for long in vain has the clock or the window set right. */
static void help(struct snowflake_run run, int file)
{
	const struct top *top = top_of(host.config, file);

	switch (run.verdict) {
	case SNOWFLAKE_BEHIND:
		if (one_in(4))
			driven_clock_step(tick_start(host.config, top->tick) -
					  driven_clock_real());
		else if (one_in(8))
			reconfigure();
		break;
	case SNOWFLAKE_JUMPED:
		if (one_in(10))
			snowflake_clock_accept(&host.clock);
		break;
	case SNOWFLAKE_EXPIRED:
	case SNOWFLAKE_NOT_YET:
		if (one_in(10))
			change_window();
		else if (one_in(10))
			reconfigure();
		break;
	default:
		break;
	}
	clock_moved();
}

static void read_some(void)
{
	const struct snowflake_config *config = host.config;
	struct snowflake_rows rows = { .left = U64_MAX };
	struct snowflake_request request = {
		.rows = one_in(2) ? &rows : NULL,
		.want = some_want(),
	};
	s64 outer_min = real_min, outer_max = real_max;
	unsigned int interrupts_before = interrupts;
	int file = below(FILES), cpu = below(CPUS);
	u64 word_before = 0, top_before = 0;
	struct snowflake_run run;
	u32 lineage = 0;
	struct file before;
	struct top *top;

	if (asleep && one_in(2)) {
		file = waiters[--asleep].file;
		lineage = waiters[asleep].lineage;
		request.woken = true;
	}
	before = files[file];
	top = top_of(config, file);
	if (top) {
		word_before = atomic64_read(&config->words[top - tops].next);
		top_before = top->tick;
		/* It wants no ids of another tick than it had some of. */
		if (one_in(8))
			request.ceiling = (top->tick + below(3)) <<
					  config->shift;
	}

	/* A CPU on which a read is held up does nothing else. */
	while (busy & 1U << cpu)
		cpu = (cpu + 1) % CPUS;
	busy |= 1U << cpu;
	real_min = S64_MAX;
	real_max = S64_MIN;
	clock_moved();
	run = take(config, cpu, file, &request);
	clock_moved();
	/* Leads are looked at in slew_min; what they are is clock_test's. */
	if (host.clock.policy == SNOWFLAKE_SLEW || config != host.config)
		real_max = S64_MAX / 2;
	busy &= ~(1U << cpu);

	verdicts[run.verdict]++;
	if (run.verdict == SNOWFLAKE_GIVEN) {
		check_given(config, run, &rows, &request, &before, top_before);
		note_given(config, file, run, &rows);
	}
	if (interrupts == interrupts_before) {
		check_verdict(config, run, file, &request);
		if (run.verdict == SNOWFLAKE_GIVEN) {
			check_left(config, top, run, request.woken,
				   word_before);
			slew_min = max_t(s64, slew_min,
					 tick_start(config, top->tick));
		}
	} else {
		slew_min = S64_MIN;
	}
	if (run.verdict == SNOWFLAKE_GIVEN || one_in(16)) {
		snowflake_waiter_leave(host.config, &files[file].order,
				       lineage);
	} else if (lineage && asleep < WAITERS_MAX) {
		waiters[asleep].file = file;
		waiters[asleep++].lineage = lineage;
	} else if (lineage) {
		snowflake_waiter_leave(host.config, &files[file].order,
				       lineage);
	} else if (run.verdict == SNOWFLAKE_EXHAUSTED && asleep < WAITERS_MAX &&
		   one_in(4)) {
		waiters[asleep].lineage =
			snowflake_waiter_enter(host.config, &files[file].order);
		if (waiters[asleep].lineage)
			waiters[asleep++].file = file;
	} else if (!depth && interrupts == interrupts_before && one_in(3) &&
		   run.verdict != SNOWFLAKE_GIVEN && !request.ceiling) {
		check_until(run, file);
	} else if (!depth) {
		help(run, file);
	}

	real_min = min_t(s64, real_min, outer_min);
	real_max = max_t(s64, real_max, outer_max);
}

static void operate(void)
{
	switch (below(18)) {
	case 0:
	case 1:
	case 2:
		move_clock();
		break;
	case 3:
		if (one_in(20))
			change_window();
		break;
	case 4:
		if (one_in(20))
			set_policies();
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

static void reopen(int file)
{
	int i;

	/* Not while somebody reads it. */
	for (i = 0; i < asleep; i++)
		if (waiters[i].file == file)
			return;
	files[file] = (struct file) { .until = S64_MIN };
	snowflake_order_init(&files[file].order, host.era);
	if (one_in(3))
		files[file].order.shard = below(WORKERS);
	else if (host.running && host.running->bound)
		files[file].order.shard = host.running->worker_id +
					  below(host.running->worker_count);
}

static u64 number_of(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void start(void)
{
	int i;

	driven_clock_start(NOON + 123456);
	unit_host_init(&host);
	snowflake_clock_set_lead_limit(&host.clock, 10000);
	for (i = 0; i < WORKERS; i++)
		until[i] = S64_MIN;
	memset(cpus, 0, sizeof(cpus));
	asleep = 0;
	round_changes = 0;
	slew_min = S64_MIN;
	for (i = 0; i < FILES; i++)
		reopen(i);
	reconfigure();
}

/* The round is over: were all its ids different? */
static void end(void)
{
	u64 duplicate;
	size_t i;

	for (i = 0; i < LAYOUTS; i++) {
		ids += unit_log_ids(&given[i]);
		unit_log_sort(&given[i]);
		if (unit_log_duplicate(&given[i], &duplicate))
			fail_msg("SEED=%" PRIu64 ", before operation %" PRIu64
				 ": id %" PRIu64 " of layout %zu was given twice",
				 seed, ops, duplicate, i);
		unit_log_free(&given[i]);
	}
	eras += host.era + 1;
	unit_host_exit(&host);
}

static void whatever_happens_the_promises_hold(void **state)
{
	u64 total = number_of("OPS", OPS_DEFAULT);
	int i;

	(void)state;
	for (i = 1; i <= ROUNDS; i++) {
		start();
		while (ops < total / ROUNDS * i) {
			ops++;
			if (one_in(600))
				reconfigure();
			else if (one_in(100))
				reopen(below(FILES));
			else
				operate();
		}
		end();
	}

	printf("# %" PRIu64 " ids, %" PRIu64 " configurations, %" PRIu64
	       " windows, %" PRIu64 " eras, %u interrupts; verdicts:", ids,
	       changes, windows, eras, interrupts);
	for (i = 0; i < SNOWFLAKE_VERDICTS; i++)
		printf(" %" PRIu64, verdicts[i]);
	printf("\n");
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

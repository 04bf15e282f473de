// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The local engine: the generator of the module in the process, for machines
 * where no module can be loaded. All processes of the user share the word of a
 * range through a file; see local_file.c.
 *
 * There is no state in the process but what is fixed when the handle is opened.
 * So a handle goes on in a forked child, a signal handler may ask for an id while
 * the thread is at it, and a process that is killed leaves nothing behind: what
 * it claimed is lost, and never given again.
 *
 * The ids of a handle rise because those of the word do. There are no blocks: the
 * handle's cache stands in for them.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "local_folder.h"
#include "now.h"

/* Who is behind by no more waits for the clock: as rewind_wait_ms of the device. */
#define REWIND_WAIT_NS (10 * NSEC_PER_MSEC)

/* How often to look again at a clock that is a trifle short. */
#define LOOKS_MAX 100

/* More is reserved when less than this is left, in ns. */
#define EARLY_NS (LOCAL_WINDOW_NS / 2)

/* If that fails, somebody tries again after so long, in ns. */
#define AGAIN_NS (100 * NSEC_PER_MSEC)

/**
 * struct local - a handle's local engine
 * @engine: what it has in common with others
 * @file: the state file and the configuration
 * @clock: the clock
 * @early: so many numbers before the end of what is covered, reserve more
 * @again: so many numbers later, try again
 */
struct local {
	struct engine engine;
	struct local_file file;
	struct snowflake_clock clock;
	u64 early;
	u64 again;
};

/**
 * struct patience - how long a read waits
 * @deadline: until when it waits for anything, in ns of CLOCK_MONOTONIC
 * @behind: until when it waits while behind; 0 as long as it was not
 * @looks: how often it looked again at a skewed clock
 */
struct patience {
	s64 deadline;
	s64 behind;
	unsigned int looks;
};

static const int verdict_errno[SNOWFLAKE_VERDICTS] = {
	[SNOWFLAKE_EXHAUSTED] = -EAGAIN,
	[SNOWFLAKE_SKEWED] = -ECANCELED,
	[SNOWFLAKE_ENDED] = -EOVERFLOW,
	[SNOWFLAKE_BEHIND] = -ECANCELED,
	[SNOWFLAKE_NOT_YET] = -ECANCELED,
};

static struct local *to_local(struct engine *engine)
{
	return (struct local *)engine;
}

/* Sleep by the clock that nobody can set. */
static int sleep_until(s64 until)
{
	struct timespec at = {
		.tv_sec = until / NSEC_PER_SEC,
		.tv_nsec = until % NSEC_PER_SEC,
	};

	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* The tick is used up: sleep for the next one. */
static int wait_tick(const struct patience *patience, s64 now, s64 until)
{
	int err;

	if (patience->deadline <= now)
		return -EAGAIN;
	err = sleep_until(min_t(s64, until, patience->deadline));
	if (!err && patience->deadline < until)
		err = -EAGAIN;
	return err;
}

/* The clock is behind: wait a little, if that is enough. */
static int wait_behind(struct patience *patience, s64 now, s64 until)
{
	if (!patience->behind)
		patience->behind = min_t(s64, now + REWIND_WAIT_NS,
					 patience->deadline);
	if (until > patience->behind)
		return -ECANCELED;
	return sleep_until(until);
}

/* Whoever kept ids for later has to drop them: the clock was set back. */
static void raise_generation(struct local *local)
{
	u32 *generation = &local->file.live->generation;

	/* It begins odd: never 0. */
	__atomic_fetch_add(generation, 2, __ATOMIC_RELEASE);
}

/* Wait until it is worth to try again, if it is. */
static int wait_for(struct local *local, struct patience *patience,
		    const struct snowflake_run *run)
{
	/* The core's instants are of the clock that can be set. */
	s64 gap = run->until - ktime_get();
	s64 now = local_host_monotonic();

	if (run->verdict == SNOWFLAKE_SKEWED && patience->looks++ < LOOKS_MAX)
		return 0;
	switch (run->verdict) {
	case SNOWFLAKE_EXHAUSTED:
		return wait_tick(patience, now, now + gap);
	case SNOWFLAKE_SKEWED:
	case SNOWFLAKE_BEHIND:
	case SNOWFLAKE_NOT_YET:
		raise_generation(local);
		return wait_behind(patience, now, now + gap);
	default:
		return verdict_errno[run->verdict];
	}
}

/* Shall we be the one to reserve more before there is need to? */
static bool volunteer(struct local *local, u64 ceiling)
{
	u64 *tried = &local->file.live->tried;
	u64 last = READ_ONCE(*tried);

	/* Also if the clock was set back. */
	return ceiling - last >= local->again &&
	       __atomic_compare_exchange_n(tried, &last, ceiling, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * May numbers below @ceiling be handed out? 0 if the disk knows of their time;
 * -ECANCELED if it cannot be told, since the clock was set back after they were
 * claimed.
 */
static int cover(struct local *local, u64 ceiling)
{
	u64 *covered = &local->file.live->covered;
	u64 until;
	int err;

	/* The acquire pairs with local_file_reserve(): the disk knows. */
	until = smp_load_acquire(covered);
	if (likely(until >= ceiling + local->early))
		return 0;
	if (until >= ceiling) {
		/* There is time: if it fails, somebody will try again. */
		if (volunteer(local, ceiling))
			local_file_reserve(&local->file, ktime_get());
		return 0;
	}
	err = local_file_reserve(&local->file, ktime_get());
	if (err)
		return err;
	return READ_ONCE(*covered) >= ceiling ? 0 : -ECANCELED;
}

/* Write a run, row by row. */
static void put_run(u64 *ids, const struct snowflake_run *run,
		    const struct snowflake_rows *rows)
{
	u64 left = rows->left;
	u64 id = run->id;
	u32 i;

	for (i = 0; i < run->count; i++) {
		if (!left) {
			id += rows->gap;
			left = rows->length;
		}
		ids[i] = id++;
		left--;
	}
}

static ssize_t local_read(struct engine *engine, uint64_t *ids, size_t count,
			  int64_t deadline)
{
	struct local *local = to_local(engine);
	struct patience patience = { .deadline = deadline };
	struct snowflake_rows rows = { 0 };
	struct snowflake_request request = { .rows = &rows };
	struct snowflake_block none = { 0 };
	struct snowflake_order order;
	struct snowflake_run run;
	size_t done = 0;
	int err = 0;

	snowflake_order_init(&order, 0);
	while (done < count && !err) {
		request.want = min_t(size_t, count - done, U32_MAX);
		run = snowflake_generator_claim(&local->file.config,
						&local->clock, &none, &order,
						&request);
		if (run.verdict != SNOWFLAKE_GIVEN) {
			err = wait_for(local, &patience, &run);
			continue;
		}
		err = cover(local, rows.ceiling);
		if (err)
			break;
		put_run(ids + done, &run, &rows);
		done += run.count;
		patience.looks = 0;
		/* At once means: what this tick still has. */
		if (deadline == DEADLINE_NOW)
			request.ceiling = rows.ceiling;
	}
	return done ? (ssize_t)done : err;
}

static int local_info(struct engine *engine, struct snowflake_info *info)
{
	const struct local *local = to_local(engine);
	const struct snowflake_config *config = &local->file.config;

	*info = (struct snowflake_info){
		.worker_id = config->worker_id,
		.worker_count = config->worker_count,
		.epoch_ms = config->layout.epoch_ms,
		.bound_to = -1,
		.generation = READ_ONCE(local->file.live->generation),
		.tick_ms = config->layout.tick_ms,
		.timestamp_bits = config->layout.timestamp_bits,
		.worker_bits = config->layout.worker_bits,
		.sequence_bits = config->layout.sequence_bits,
		.order = config->layout.order,
		.sharing = SNOWFLAKE_INFO_POOLED,
	};
	return 0;
}

static int local_bind(struct engine *engine, uint64_t worker_id)
{
	/* Sharing is pooled: as the device answers. */
	(void)engine;
	(void)worker_id;
	return -EINVAL;
}

static u64 numbers_in(const struct snowflake_config *config, u64 ns)
{
	return div64_u64(ns, config->tick_ns) << config->shift;
}

/* The device has a word of its own. */
static int check_device(const struct local_range *range)
{
	u64 first, count;
	int err;

	err = local_host_device(&first, &count);
	if (err)
		return err;
	if (count && first < range->first + range->count &&
	    range->first < first + count)
		return -EADDRINUSE;
	return 0;
}

static int open_range(struct local *local, const struct local_name *name)
{
	int dir, err;

	err = check_device(&name->range);
	if (err)
		return err;
	dir = local_folder_open(name->dir);
	if (dir < 0)
		return dir;
	err = local_folder_enter(dir, &name->range, &local->file);
	if (err)
		close(dir);
	return err;
}

static int local_open(struct engine **engine, const char *text)
{
	struct local_name name;
	struct local *local;
	int err;

	err = local_name_parse(&name, text);
	if (err)
		return err;
	local = calloc(1, sizeof(*local));
	err = local ? open_range(local, &name) : -ENOMEM;
	local_name_free(&name);
	if (err) {
		free(local);
		return err;
	}
	snowflake_clock_init(&local->clock);
	local->early = numbers_in(&local->file.config, EARLY_NS);
	local->again = numbers_in(&local->file.config, AGAIN_NS);
	local->engine = (struct engine){
		.ops = &engine_local,
		.generation = &local->file.live->generation,
		.fd = -1,
	};
	*engine = &local->engine;
	return 0;
}

static void local_close(struct engine *engine)
{
	struct local *local = to_local(engine);
	int dir = local->file.dir;

	local_file_close(&local->file);
	close(dir);
	free(local);
}

const struct engine_ops engine_local = {
	.prefix = SNOWFLAKE_LOCAL,
	.open = local_open,
	.close = local_close,
	.read = local_read,
	.info = local_info,
	.bind = local_bind,
};

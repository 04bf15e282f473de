// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Layouts and ids: what can be known of an id without a device. The arithmetic
 * of the fields is the core's (kmod/layout.c); here are its checks and limits.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <snowflake.h>

#include "ids.h"
#include "now.h"

static_assert((int)SNOWFLAKE_SEQUENCE_LOWEST == (int)SNOWFLAKE_WORKER_SEQUENCE &&
	      (int)SNOWFLAKE_WORKER_LOWEST == (int)SNOWFLAKE_SEQUENCE_WORKER,
	      "the orders of the API are those of the core");

static const char * const names[SNOWFLAKE_CUSTOM] = {
	[SNOWFLAKE_TWITTER] = "twitter",
	[SNOWFLAKE_INSTAGRAM] = "instagram",
	[SNOWFLAKE_DISCORD] = "discord",
	[SNOWFLAKE_SONYFLAKE] = "sonyflake",
	[SNOWFLAKE_JS53] = "js53",
};

/* The core's idea of a layout, if ids can be made in it by @now. */
static int to_core(const struct snowflake_id_layout *from, u64 now,
		   struct snowflake_layout *to, const char **why)
{
	*to = (struct snowflake_layout) {
		.timestamp_bits = from->timestamp_bits,
		.worker_bits = from->worker_bits,
		.sequence_bits = from->sequence_bits,
		.order = from->order,
		.tick_ms = from->tick_ms,
		.epoch_ms = from->epoch_ms,
	};
	*why = snowflake_layout_check(to, now);
	if (!*why && (from->reserved[0] || from->reserved[1]))
		*why = "reserved is not zero";
	return *why ? -EINVAL : 0;
}

/* The same where the time does not matter: for ids that there are already. */
static int to_core_timeless(const struct snowflake_id_layout *from,
			    struct snowflake_layout *to)
{
	const char *why;

	return to_core(from, U64_MAX, to, &why);
}

static u64 saturating_mul(u64 a, u64 b)
{
	u64 product;

	return __builtin_mul_overflow(a, b, &product) ? U64_MAX : product;
}

static u64 saturating_add(u64 a, u64 b)
{
	u64 sum;

	return __builtin_add_overflow(a, b, &sum) ? U64_MAX : sum;
}

/* Times end where snowflake_print_time() and snowflake_span() take no more. */
static u64 tick_start_ms(const struct snowflake_layout *layout, u64 tick)
{
	u64 ms = saturating_mul(tick, layout->tick_ms);

	return min_t(u64, saturating_add(ms, layout->epoch_ms), S64_MAX);
}

/* What is @count in every tick, by the second: rounded down once, at the end. */
static u64 per_second(const struct snowflake_layout *layout, u64 count)
{
	u64 whole = saturating_mul(count / layout->tick_ms, 1000);
	u64 rest = count % layout->tick_ms * 1000 / layout->tick_ms;

	return saturating_add(whole, rest);
}

/**
 * ids_preset - the core's layout of a name
 * @name: one of those that snowflake_preset_name() gives
 *
 * Return: NULL if there is no preset of that name.
 */
const struct snowflake_layout *ids_preset(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return &snowflake_layouts[i];
	return NULL;
}

/**
 * snowflake_preset - the layout of a name
 * @name: one of those that snowflake_preset_name() gives
 * @layout: where it goes
 *
 * Context: any; async-signal-safe.
 * Return: 0, or -EINVAL if there is no preset of that name.
 */
int snowflake_preset(const char *name, struct snowflake_id_layout *layout)
{
	const struct snowflake_layout *core = ids_preset(name);

	if (!core)
		return -EINVAL;
	*layout = (struct snowflake_id_layout) {
		.epoch_ms = core->epoch_ms,
		.tick_ms = core->tick_ms,
		.timestamp_bits = core->timestamp_bits,
		.worker_bits = core->worker_bits,
		.sequence_bits = core->sequence_bits,
		.order = core->order,
	};
	return 0;
}

/**
 * snowflake_preset_name - the names of the layouts that have one
 * @index: from 0 on; 0 is the default
 *
 * Context: any; async-signal-safe.
 * Return: a constant string, NULL if there are no more.
 */
const char *snowflake_preset_name(unsigned int index)
{
	return index < ARRAY_SIZE(names) ? names[index] : NULL;
}

/**
 * snowflake_check_layout - whether ids can be made in a layout now
 * @layout: the layout
 * @why: where a constant string goes that says what is wrong, if anything is;
 *	may be NULL
 *
 * The other functions take layouts whose epoch is yet to come, too: what an id
 * means does not depend on the time of day.
 *
 * Context: any; async-signal-safe.
 * Return: 0, or -EINVAL if a field is out of range, the fields do not fit into
 * 64 bits or the epoch is not past.
 */
int snowflake_check_layout(const struct snowflake_id_layout *layout,
			   const char **why)
{
	struct snowflake_layout core;
	const char *wrong;
	int err = to_core(layout, now_ns(CLOCK_REALTIME) / NSEC_PER_MSEC, &core, &wrong);

	if (err && why)
		*why = wrong;
	return err;
}

/**
 * snowflake_get_limits - what a layout has room for
 * @layout: the layout
 * @limits: where it goes. What is more than a number can hold is UINT64_MAX,
 *	and a @last_ms that is later than any time here, INT64_MAX
 *
 * Context: any; async-signal-safe.
 * Return: 0, or -EINVAL if the layout is none (see snowflake_check_layout()).
 */
int snowflake_get_limits(const struct snowflake_id_layout *layout,
			 struct snowflake_limits *limits)
{
	struct snowflake_layout core;
	int err = to_core_timeless(layout, &core);
	u64 last, sequences, workers;

	if (err)
		return err;
	last = snowflake_layout_last_tick(&core);
	sequences = snowflake_layout_sequences(&core);
	workers = snowflake_layout_workers(&core);
	*limits = (struct snowflake_limits) {
		.ids_per_tick = sequences,
		.ids_per_second = per_second(&core, sequences),
		.workers = workers,
		.fleet_per_second = per_second(&core, workers * sequences),
		.last_ms = tick_start_ms(&core, last),
		.span_ms = saturating_mul(last + 1, core.tick_ms),
	};
	return 0;
}

/**
 * snowflake_compose - put an id together
 * @layout: the layout
 * @parts: its tick, worker id and sequence; its time_ms is not looked at
 * @id: where the id goes
 *
 * Nobody knows of an id made so: use it to compare with, not to name things.
 *
 * Context: any; async-signal-safe.
 * Return: 0, -EINVAL if the layout is none, or -ERANGE if a part does not fit
 * its field or the id would have the sign bit.
 */
int snowflake_compose(const struct snowflake_id_layout *layout,
		      const struct snowflake_id_parts *parts, uint64_t *id)
{
	struct snowflake_layout core;
	int err = to_core_timeless(layout, &core);

	if (err)
		return err;
	if (parts->tick > snowflake_layout_last_tick(&core) ||
	    parts->worker >= snowflake_layout_workers(&core) ||
	    parts->sequence >= snowflake_layout_sequences(&core))
		return -ERANGE;
	*id = snowflake_layout_encode(&core, &(struct snowflake_fields) {
		.tick = parts->tick,
		.worker = parts->worker,
		.sequence = parts->sequence,
	});
	return 0;
}

/**
 * snowflake_decode - take an id apart
 * @layout: the layout in which it was made
 * @id: the id
 * @parts: where its parts go. A @time_ms that is later than any time here is
 *	INT64_MAX
 *
 * Context: any; async-signal-safe.
 * Return: 0, -EINVAL if the layout is none, or -ERANGE if @id has the sign bit
 * or a bit above the layout's fields.
 */
int snowflake_decode(const struct snowflake_id_layout *layout, uint64_t id,
		     struct snowflake_id_parts *parts)
{
	struct snowflake_fields fields;
	struct snowflake_layout core;
	int err = to_core_timeless(layout, &core);

	if (err)
		return err;
	snowflake_layout_decode(&core, id, &fields);
	if (fields.tick > snowflake_layout_last_tick(&core))
		return -ERANGE;
	*parts = (struct snowflake_id_parts) {
		.tick = fields.tick,
		.time_ms = tick_start_ms(&core, fields.tick),
		.worker = fields.worker,
		.sequence = fields.sequence,
	};
	return 0;
}

/* How many ticks, of those that ids can carry, start before an instant. */
static u64 ticks_before(const struct snowflake_layout *layout, s64 ms)
{
	u64 ticks, end = snowflake_layout_last_tick(layout) + 1;

	if (ms <= 0 || (u64)ms <= layout->epoch_ms)
		return 0;
	ticks = ((u64)ms - layout->epoch_ms + layout->tick_ms - 1) /
		layout->tick_ms;
	return min_t(u64, ticks, end);
}

/**
 * snowflake_span - the ids of a span of time
 * @layout: the layout
 * @from_ms: start of the span, in Unix milliseconds
 * @until_ms: its end, which is not part of it
 * @first: where the lowest id of the span goes
 * @last: where the highest goes, which is part of the span, as BETWEEN has it
 *
 * The ids of the span are those of all ticks that start in it: those whose
 * @time_ms, when decoded, is at or after @from_ms and before @until_ms. So spans
 * that follow one another have each id once. What lies before the epoch, or
 * after the last tick, has no ids, and only the rest of the span counts.
 *
 * Context: any; async-signal-safe.
 * Return: 0, -EINVAL if the layout is none or @until_ms is before @from_ms, or
 * -ERANGE if no tick starts in the span.
 */
int snowflake_span(const struct snowflake_id_layout *layout, int64_t from_ms,
		   int64_t until_ms, uint64_t *first, uint64_t *last)
{
	struct snowflake_layout core;
	int err = to_core_timeless(layout, &core);
	unsigned int shift;
	u64 from, until;

	if (err || until_ms < from_ms)
		return -EINVAL;
	from = ticks_before(&core, from_ms);
	until = ticks_before(&core, until_ms);
	if (from == until)
		return -ERANGE;
	shift = snowflake_layout_shift(&core);
	*first = from << shift;
	*last = (until << shift) - 1;
	return 0;
}

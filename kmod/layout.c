// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The layout of an id. See layout.h.
 */
#include "layout.h"

const struct snowflake_layout snowflake_layouts[SNOWFLAKE_CUSTOM] = {
	[SNOWFLAKE_TWITTER] = {
		.timestamp_bits = 41,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1288834974657ULL,	/* 2010-11-04T01:42:54.657Z */
	},
	[SNOWFLAKE_INSTAGRAM] = {
		.timestamp_bits = 41,
		.worker_bits = 13,
		.sequence_bits = 10,
		.tick_ms = 1,
		.epoch_ms = 1314220021721ULL,	/* 2011-08-24T21:07:01.721Z */
	},
	[SNOWFLAKE_DISCORD] = {
		.timestamp_bits = 42,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1420070400000ULL,	/* 2015-01-01T00:00:00.000Z */
	},
	[SNOWFLAKE_SONYFLAKE] = {
		.timestamp_bits = 39,
		.worker_bits = 16,
		.sequence_bits = 8,
		.order = SNOWFLAKE_SEQUENCE_WORKER,
		.tick_ms = 10,
		.epoch_ms = 1409529600000ULL,	/* 2014-09-01T00:00:00.000Z */
	},
	[SNOWFLAKE_JS53] = {
		.timestamp_bits = 41,
		.worker_bits = 4,
		.sequence_bits = 8,
		.tick_ms = 1,
		.epoch_ms = 1577836800000ULL,	/* 2020-01-01T00:00:00.000Z */
	},
};

/**
 * snowflake_layout_check - whether ids can be made in a layout
 * @layout: the layout
 * @now_ms: the time, in Unix milliseconds, or %U64_MAX to leave it out
 *
 * Return: NULL, or words on which field is wrong and why.
 */
const char *snowflake_layout_check(const struct snowflake_layout *layout,
				   u64 now_ms)
{
	if (!layout->timestamp_bits)
		return "timestamp_bits is 0: there must be at least one";
	if (!layout->worker_bits)
		return "worker_bits is 0: there must be at least one";
	if (!layout->sequence_bits)
		return "sequence_bits is 0: there must be at least one";
	if (layout->timestamp_bits + snowflake_layout_shift(layout) > 64)
		return "timestamp_bits, worker_bits and sequence_bits are more than 64 together";
	if (layout->order > SNOWFLAKE_SEQUENCE_WORKER)
		return "order is neither worker-sequence nor sequence-worker";
	if (!layout->tick_ms || layout->tick_ms > SNOWFLAKE_TICK_MAX_MS)
		return "tick_ms is not from 1 to 1000";
	if (layout->epoch_ms >= now_ms)
		return "epoch_ms is not past: there is no timestamp before it";
	return NULL;
}

/**
 * snowflake_layout_last_tick - the last tick that an id can carry
 * @layout: the layout
 *
 * An id never uses the sign bit, however wide the timestamp field is.
 *
 * Return: the highest timestamp, in ticks since the epoch.
 */
u64 snowflake_layout_last_tick(const struct snowflake_layout *layout)
{
	unsigned int positive = 63 - snowflake_layout_shift(layout);

	return (1ULL << min_t(unsigned int, layout->timestamp_bits, positive)) -
	       1;
}

/**
 * snowflake_layout_ends_ms - the instant of the last tick
 * @layout: the layout
 *
 * Return: Unix milliseconds; %U64_MAX if they do not fit.
 */
u64 snowflake_layout_ends_ms(const struct snowflake_layout *layout)
{
	u64 last = snowflake_layout_last_tick(layout);

	if (last > div64_u64(U64_MAX - layout->epoch_ms, layout->tick_ms))
		return U64_MAX;
	return snowflake_layout_tick_to_ms(layout, last);
}

/**
 * snowflake_layout_tick_to_ms - the instant at which a tick begins
 * @layout: the layout
 * @tick: ticks since the epoch
 *
 * Return: Unix milliseconds.
 */
u64 snowflake_layout_tick_to_ms(const struct snowflake_layout *layout, u64 tick)
{
	return layout->epoch_ms + tick * layout->tick_ms;
}

/**
 * snowflake_layout_encode - put an id together
 * @layout: the layout
 * @fields: its parts, each within its field
 *
 * Return: the id.
 */
u64 snowflake_layout_encode(const struct snowflake_layout *layout,
			    const struct snowflake_fields *fields)
{
	u64 id = fields->tick << snowflake_layout_shift(layout);

	if (layout->order == SNOWFLAKE_SEQUENCE_WORKER)
		return id | fields->sequence << layout->worker_bits |
		       fields->worker;
	return id | fields->worker << layout->sequence_bits | fields->sequence;
}

/**
 * snowflake_layout_decode - take an id apart
 * @layout: the layout under which the id was made
 * @id: the id
 * @fields: where its parts go
 */
void snowflake_layout_decode(const struct snowflake_layout *layout, u64 id,
			     struct snowflake_fields *fields)
{
	u64 workers = snowflake_layout_workers(layout) - 1;
	u64 sequences = snowflake_layout_sequences(layout) - 1;

	if (layout->order == SNOWFLAKE_SEQUENCE_WORKER) {
		fields->sequence = (id >> layout->worker_bits) & sequences;
		fields->worker = id & workers;
	} else {
		fields->sequence = id & sequences;
		fields->worker = (id >> layout->sequence_bits) & workers;
	}
	fields->tick = id >> snowflake_layout_shift(layout);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The layout of an id. See layout.h.
 */
#include "layout.h"

const struct snowflake_layout snowflake_layout_twitter = {
	.timestamp_bits = 41,
	.worker_bits = 10,
	.sequence_bits = 12,
	.tick_ms = 1,
	.epoch_ms = 1288834974657ULL,	/* 2010-11-04T01:42:54.657Z */
};

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
 * snowflake_layout_decode - take an id apart
 * @layout: the layout under which the id was made
 * @id: the id
 * @fields: where its parts go
 */
void snowflake_layout_decode(const struct snowflake_layout *layout, u64 id,
			     struct snowflake_fields *fields)
{
	fields->sequence = id & (snowflake_layout_sequences(layout) - 1);
	fields->worker = (id >> layout->sequence_bits) &
			 (snowflake_layout_workers(layout) - 1);
	fields->tick = id >> snowflake_layout_shift(layout);
}

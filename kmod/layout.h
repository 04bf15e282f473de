/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The layout: how an id is made of a timestamp, a worker id and a sequence,
 * and what follows from the widths of the three. Also compiled in user space.
 */
#ifndef SNOWFLAKE_LAYOUT_H
#define SNOWFLAKE_LAYOUT_H

#include "portable.h"

/**
 * struct snowflake_layout - the make-up of an id
 * @timestamp_bits: width of the timestamp field, which counts ticks
 * @worker_bits: width of the worker id field
 * @sequence_bits: width of the sequence field, lowest in the id
 * @tick_ms: length of a tick, in milliseconds
 * @epoch_ms: the instant of tick 0, in Unix milliseconds
 */
struct snowflake_layout {
	u8 timestamp_bits;
	u8 worker_bits;
	u8 sequence_bits;
	u16 tick_ms;
	u64 epoch_ms;
};

/**
 * struct snowflake_fields - an id taken apart
 * @tick: value of the timestamp field, in ticks since the epoch
 * @worker: worker id
 * @sequence: number within the tick
 */
struct snowflake_fields {
	u64 tick;
	u32 worker;
	u32 sequence;
};

/* 41 / 10 / 12, one tick a millisecond: the layout that gave ids their name. */
extern const struct snowflake_layout snowflake_layout_twitter;

u64 snowflake_layout_last_tick(const struct snowflake_layout *layout);
u64 snowflake_layout_tick_to_ms(const struct snowflake_layout *layout, u64 tick);
void snowflake_layout_decode(const struct snowflake_layout *layout, u64 id,
			     struct snowflake_fields *fields);

/**
 * snowflake_layout_shift - width of all that is below the timestamp
 * @layout: the layout
 *
 * Return: the number of bits by which a tick is shifted up in an id.
 */
static inline unsigned int
snowflake_layout_shift(const struct snowflake_layout *layout)
{
	return layout->worker_bits + layout->sequence_bits;
}

/**
 * snowflake_layout_workers - number of worker ids
 * @layout: the layout
 *
 * Return: how many worker ids there are; the highest is one less.
 */
static inline u32 snowflake_layout_workers(const struct snowflake_layout *layout)
{
	return 1U << layout->worker_bits;
}

/**
 * snowflake_layout_sequences - ids of one worker in one tick
 * @layout: the layout
 *
 * Return: how many numbers a worker has in each tick.
 */
static inline u32
snowflake_layout_sequences(const struct snowflake_layout *layout)
{
	return 1U << layout->sequence_bits;
}

#endif /* SNOWFLAKE_LAYOUT_H */

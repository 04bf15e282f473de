/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The clock: CLOCK_REALTIME as ids see it. It is read as monotonic time plus
 * the real-time offset, because the offset alone tells that somebody set the
 * clock: it moves by the exact size of the step, and not when NTP slews.
 */
#ifndef SNOWFLAKE_CLOCK_H
#define SNOWFLAKE_CLOCK_H

#include "portable.h"

/**
 * struct snowflake_time - one reading of the clock
 * @mono: CLOCK_MONOTONIC, in ns: what sleepers are woken by
 * @real: CLOCK_REALTIME, in ns since the Unix epoch: what ids are made of
 */
struct snowflake_time {
	s64 mono;
	s64 real;
};

/**
 * struct snowflake_steps - how often and how far the clock was set
 * @rewinds: steps back
 * @rewind_last_ns: size of the last step back, in ns
 * @rewind_max_ns: size of the largest step back, in ns
 * @rewind_total_ns: sum of all steps back, in ns
 */
struct snowflake_steps {
	u64 rewinds;
	u64 rewind_last_ns;
	u64 rewind_max_ns;
	u64 rewind_total_ns;
};

/**
 * struct snowflake_clock - the clock and what is known of its steps
 * @offset: the real-time offset last judged, in ns; ids are minted under this
 *	one only
 * @lock: serializes judging; raw, because readers judge with preemption off
 * @boot_offset: the boot-time offset seen together with @offset, in ns
 * @steps: the steps counted so far, under @lock
 */
struct snowflake_clock {
	atomic64_t offset;
	raw_spinlock_t lock;
	s64 boot_offset;
	struct snowflake_steps steps;
};

void snowflake_clock_init(struct snowflake_clock *clock);
void snowflake_clock_judge(struct snowflake_clock *clock);
void snowflake_clock_steps(struct snowflake_clock *clock,
			   struct snowflake_steps *steps);

/**
 * snowflake_clock_read - read the clock, unless it was set
 * @clock: the clock
 * @now: the reading, valid only if true is returned
 *
 * The offset last judged is loaded first, then the time, then the offset: if the
 * clock is set in between, the two offsets differ, also when another CPU has
 * judged the step by then, and the time is not used.
 *
 * Context: any but the timekeeper's own callbacks.
 * Return: false if the clock was set since the last judgement: the caller calls
 * snowflake_clock_judge() and starts all over.
 */
static __always_inline bool snowflake_clock_read(struct snowflake_clock *clock,
						 struct snowflake_time *now)
{
	s64 judged = atomic64_read_acquire(&clock->offset);
	s64 offset;

	now->mono = ktime_to_ns(ktime_get());
	offset = ktime_to_ns(ktime_mono_to_real(0));
	now->real = now->mono + offset;
	return likely(offset == judged);
}

#endif /* SNOWFLAKE_CLOCK_H */

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock: which steps it made, each counted once.
 *
 * Whoever first sees that the real-time offset is not the one last judged takes
 * the lock, looks again, counts the step and publishes the new offset; all
 * others find it published. Ids are minted under the published offset only, so
 * none comes from a clock whose step was not counted.
 *
 * Steps so close together that one look covers both are seen as their sum.
 */
#include "clock.h"

/**
 * snowflake_clock_init - start to watch the clock
 * @clock: the clock; steps are counted from here on
 */
void snowflake_clock_init(struct snowflake_clock *clock)
{
	raw_spin_lock_init(&clock->lock);
	memset(&clock->steps, 0, sizeof(clock->steps));
	clock->boot_offset = ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT));
	atomic64_set(&clock->offset, ktime_to_ns(ktime_mono_to_real(0)));
}

static void clock_count(struct snowflake_steps *steps, s64 step)
{
	u64 back = -step;

	if (step >= 0)
		return;
	steps->rewinds++;
	steps->rewind_last_ns = back;
	steps->rewind_max_ns = max_t(u64, steps->rewind_max_ns, back);
	steps->rewind_total_ns += back;
}

/*
 * Suspend moves the real-time and the boot-time offset alike; what moves the
 * real-time offset alone is a step. Reading the two one after the other is
 * safe, since tasks are frozen across suspend.
 */
static void clock_look(struct snowflake_clock *clock)
{
	s64 offset = ktime_to_ns(ktime_mono_to_real(0));
	s64 boot = ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT));

	clock_count(&clock->steps, (offset - atomic64_read(&clock->offset)) -
				   (boot - clock->boot_offset));
	clock->boot_offset = boot;
	atomic64_set(&clock->offset, offset);
}

/**
 * snowflake_clock_judge - look whether the clock was set, and count the step
 * @clock: the clock
 *
 * Context: any but the timekeeper's own callbacks.
 */
void snowflake_clock_judge(struct snowflake_clock *clock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock->lock, flags);
	clock_look(clock);
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_steps - the steps counted so far, up to this moment
 * @clock: the clock
 * @steps: where a consistent copy of the counters goes
 *
 * Context: as snowflake_clock_judge().
 */
void snowflake_clock_steps(struct snowflake_clock *clock,
			   struct snowflake_steps *steps)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock->lock, flags);
	clock_look(clock);
	*steps = clock->steps;
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

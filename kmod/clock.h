/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The clock: CLOCK_REALTIME as ids see it, the steps that it made, and what the
 * policies make of them. It is read as monotonic time plus the real-time
 * offset, because the offset alone tells that somebody set the clock: it moves
 * by the exact size of the step, and not when NTP slews.
 */
#ifndef SNOWFLAKE_CLOCK_H
#define SNOWFLAKE_CLOCK_H

#include "portable.h"

/**
 * enum snowflake_policy - what happens after the clock was set back
 * @SNOWFLAKE_REFUSE: nothing is minted until it has caught up
 * @SNOWFLAKE_SLEW: ids go on at 15/16 of its pace until it has caught up
 */
enum snowflake_policy {
	SNOWFLAKE_REFUSE,
	SNOWFLAKE_SLEW,
};

/**
 * enum snowflake_reading - what came of reading the clock
 * @SNOWFLAKE_TIME: the time to mint by
 * @SNOWFLAKE_STEPPED: the clock was set; it was looked at, so start over
 * @SNOWFLAKE_AHEAD: it was set ahead further than the forward limit
 * @SNOWFLAKE_LEADING: the lead over it is greater than the lead limit
 */
enum snowflake_reading {
	SNOWFLAKE_TIME,
	SNOWFLAKE_STEPPED,
	SNOWFLAKE_AHEAD,
	SNOWFLAKE_LEADING,
};

/**
 * struct snowflake_time - one reading of the clock
 * @mono: CLOCK_MONOTONIC, in ns: what sleepers are woken by
 * @real: the time that ids are made of, in ns since the Unix epoch
 * @slewing: @real goes at 15/16 of the pace of @mono
 */
struct snowflake_time {
	s64 mono;
	s64 real;
	bool slewing;
};

/**
 * struct snowflake_steps - how often and how far the clock was set
 * @rewinds: steps back
 * @rewind_last_ns: size of the last step back, in ns
 * @rewind_max_ns: size of the largest step back, in ns
 * @rewind_total_ns: sum of all steps back, in ns
 * @forward: steps ahead
 * @forward_max_ns: size of the largest step ahead, in ns
 */
struct snowflake_steps {
	u64 rewinds;
	u64 rewind_last_ns;
	u64 rewind_max_ns;
	u64 rewind_total_ns;
	u64 forward;
	u64 forward_max_ns;
};

/**
 * struct snowflake_clock - the clock and what is known of its steps
 * @plain: the real-time offset last judged, in ns, if the time to mint by is
 *	just monotonic time plus that; otherwise a value that no offset has
 * @minted: the difference between real and monotonic time under which ids were
 *	last minted, in ns
 * @lock: serializes judging and what follows; raw, because readers judge with
 *	preemption off
 * @offset: the real-time offset last judged, in ns
 * @boot_offset: the boot-time offset seen together with @offset, in ns
 * @line_offset: what the slew line starts from, in ns
 * @line_mono: the instant at which it starts, in ns of CLOCK_MONOTONIC
 * @policy: what happens after the clock was set back
 * @lead_limit_ns: how far ids may lead while slewing, in ns
 * @forward_limit_ns: how far the clock may be set ahead, in ns; 0 is any
 * @ahead: it was set ahead further than that
 * @steps: the steps counted so far
 */
struct snowflake_clock {
	atomic64_t plain;
	atomic64_t minted;
	raw_spinlock_t lock;
	s64 offset;
	s64 boot_offset;
	s64 line_offset;
	s64 line_mono;
	enum snowflake_policy policy;
	s64 lead_limit_ns;
	s64 forward_limit_ns;
	bool ahead;
	struct snowflake_steps steps;
};

void snowflake_clock_init(struct snowflake_clock *clock);
void snowflake_clock_judge(struct snowflake_clock *clock);
void snowflake_clock_steps(struct snowflake_clock *clock,
			   struct snowflake_steps *steps);
void snowflake_clock_set_policy(struct snowflake_clock *clock,
				enum snowflake_policy policy);
void snowflake_clock_set_lead_limit(struct snowflake_clock *clock, u64 limit_ms);
void snowflake_clock_set_forward_limit(struct snowflake_clock *clock,
				       u64 limit_ms);
void snowflake_clock_accept(struct snowflake_clock *clock);
s64 snowflake_clock_lead(struct snowflake_clock *clock);
bool snowflake_clock_lead_to(struct snowflake_clock *clock, s64 real);
s64 snowflake_clock_floor(struct snowflake_clock *clock);
enum snowflake_reading snowflake_clock_read(struct snowflake_clock *clock,
					    struct snowflake_time *now);

/**
 * snowflake_clock_plain - read the clock where there is no more to it
 * @clock: the clock
 * @real: the time to mint by, in ns since the Unix epoch; valid only if true is
 *	returned
 *
 * The time is read between the judged offset and the offset: if the clock is set
 * in between, the two differ, whoever judges the step meanwhile, and the time is
 * not used.
 *
 * Context: any but the timekeeper's own callbacks.
 * Return: false if the clock was set, or the time to mint by is another than
 * the clock's: snowflake_clock_read() knows.
 */
static __always_inline bool snowflake_clock_plain(struct snowflake_clock *clock,
						  s64 *real)
{
	s64 plain = atomic64_read_acquire(&clock->plain);
	s64 mono = ktime_to_ns(ktime_get());
	s64 offset = ktime_to_ns(ktime_mono_to_real(0));

	*real = mono + offset;
	return likely(offset == plain);
}

/**
 * snowflake_clock_minted - tell the clock that ids were minted
 * @clock: the clock
 * @now: the reading that they were made of
 */
static __always_inline void
snowflake_clock_minted(struct snowflake_clock *clock,
		       const struct snowflake_time *now)
{
	s64 under = now->real - now->mono;

	/* It hardly ever changes: do not write a line that all CPUs read. */
	if (atomic64_read(&clock->minted) != under)
		atomic64_set(&clock->minted, under);
}

/**
 * snowflake_clock_until - when the time to mint by will be so much later
 * @now: a reading of the clock
 * @gap: how much later, in ns
 *
 * Return: the instant, in ns of CLOCK_MONOTONIC.
 */
static inline s64 snowflake_clock_until(const struct snowflake_time *now,
					s64 gap)
{
	/* At 15/16 of the pace a gap takes 16/15 of its length. */
	if (now->slewing)
		gap += div64_u64(gap, 15) + 1;
	return now->mono + gap;
}

#endif /* SNOWFLAKE_CLOCK_H */

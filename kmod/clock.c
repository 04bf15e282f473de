// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The clock: which steps it made, each counted once, and what the policies make
 * of them.
 *
 * Judging
 *	Whoever first sees that the real-time offset is not the one last judged
 *	takes the lock, looks again, counts the step and publishes the new offset;
 *	all others find it published. Ids are minted under the published offset
 *	only, so none comes from a clock whose step was not judged. Steps so close
 *	together that one look covers both are seen as their sum.
 *
 * Slewing
 *	A step back leaves a lead: the ids are ahead of the clock. The slew line
 *	gives it back at 1/16 of the pace of time: line(m) = line_offset -
 *	(m - line_mono) / 16, and the time to mint by is m + max(offset, line(m)).
 *	It never goes back. Where the policy is to refuse, the time of ids stands
 *	still and the lead goes at the full pace; the line is kept all the same,
 *	for the case that the policy changes.
 *
 * Ahead
 *	An offset further ahead of the one last minted under than the forward
 *	limit stops minting, until it is back within the limit or accepted.
 *
 * While the time to mint by is just monotonic time plus the offset, which is
 * nearly always, readers compare the offset with one word, plain, and take no
 * lock.
 */
#include "clock.h"

/* No offset has these values. */
#define NOT_PLAIN S64_MIN
#define NOT_MINTED S64_MIN

/* A lead is given back at one part in so many of the pace of time: 16 as 4. */
#define SLEW_SHIFT 4

static s64 real_offset(void)
{
	return ktime_to_ns(ktime_mono_to_real(0));
}

static s64 boot_offset(void)
{
	return ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_BOOT));
}

/* The larger of the offset and the slew line. */
static s64 line_at(const struct snowflake_clock *clock, s64 mono)
{
	s64 given_back = mono - clock->line_mono;

	if (clock->policy == SNOWFLAKE_SLEW)
		given_back >>= SLEW_SHIFT;
	return max_t(s64, clock->offset, clock->line_offset - given_back);
}

static bool is_ahead(const struct snowflake_clock *clock)
{
	s64 minted = atomic64_read(&clock->minted);

	return clock->forward_limit_ns && minted != NOT_MINTED &&
	       clock->offset - minted > clock->forward_limit_ns;
}

/* Tell readers whether they can do without the lock. */
static void publish(struct snowflake_clock *clock, s64 mono)
{
	bool plain;

	clock->ahead = is_ahead(clock);
	plain = !clock->ahead && (clock->policy == SNOWFLAKE_REFUSE ||
				  line_at(clock, mono) == clock->offset);
	atomic64_set(&clock->plain, plain ? clock->offset : NOT_PLAIN);
}

static void count(struct snowflake_steps *steps, s64 step)
{
	u64 size = step < 0 ? -step : step;

	if (step < 0) {
		steps->rewinds++;
		steps->rewind_last_ns = size;
		steps->rewind_max_ns = max_t(u64, steps->rewind_max_ns, size);
		steps->rewind_total_ns += size;
	} else if (step > 0) {
		steps->forward++;
		steps->forward_max_ns = max_t(u64, steps->forward_max_ns, size);
	}
}

/*
 * Look at the offsets; say whether they had moved. Suspend moves the real-time
 * and the boot-time offset alike, and all that is measured against them moves
 * along; what moves the real-time offset alone is a step. Reading the two one
 * after the other is safe, since tasks are frozen across suspend.
 *
 * The slew line starts from what ids had come to: a time by which nobody has
 * minted leaves no lead.
 */
static bool look(struct snowflake_clock *clock)
{
	s64 offset = real_offset();
	s64 boot = boot_offset();
	s64 slept = boot - clock->boot_offset;
	s64 minted = atomic64_read(&clock->minted);
	s64 mono;

	if (offset == clock->offset && !slept)
		return false;

	/* After the step: until then others minted by the old offset. */
	mono = ktime_to_ns(ktime_get());
	clock->line_offset = minted == NOT_MINTED ? offset :
			     min_t(s64, minted, line_at(clock, mono)) + slept;
	clock->line_mono = mono;
	if (minted != NOT_MINTED)
		atomic64_set(&clock->minted, minted + slept);
	count(&clock->steps, offset - clock->offset - slept);
	clock->boot_offset = boot;
	clock->offset = offset;
	publish(clock, mono);
	return true;
}

/**
 * snowflake_clock_init - start to watch the clock
 * @clock: the clock; steps are counted from here on
 */
void snowflake_clock_init(struct snowflake_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	raw_spin_lock_init(&clock->lock);
	clock->boot_offset = boot_offset();
	clock->offset = real_offset();
	clock->line_offset = clock->offset;
	clock->line_mono = ktime_to_ns(ktime_get());
	atomic64_set(&clock->minted, NOT_MINTED);
	publish(clock, clock->line_mono);
}

/* Read the clock under the lock. */
static enum snowflake_reading read_locked(struct snowflake_clock *clock,
					  struct snowflake_time *now)
{
	s64 line;

	/* The time, then the offset, as in snowflake_clock_plain(). */
	now->mono = ktime_to_ns(ktime_get());
	if (look(clock))
		return SNOWFLAKE_STEPPED;

	/* Minting may have moved on since it was published, or the lead gone. */
	publish(clock, now->mono);
	line = clock->policy == SNOWFLAKE_SLEW ? line_at(clock, now->mono) :
						 clock->offset;
	now->real = now->mono + line;
	now->slewing = line > clock->offset;
	if (clock->ahead)
		return SNOWFLAKE_AHEAD;
	if (line - clock->offset > clock->lead_limit_ns)
		return SNOWFLAKE_LEADING;
	return SNOWFLAKE_TIME;
}

/**
 * snowflake_clock_read - read the clock
 * @clock: the clock
 * @now: the reading; meant to mint by only if %SNOWFLAKE_TIME is returned
 *
 * Context: any but the timekeeper's own callbacks.
 * Return: %SNOWFLAKE_TIME, or why ids cannot be made of @now.
 */
enum snowflake_reading snowflake_clock_read(struct snowflake_clock *clock,
					    struct snowflake_time *now)
{
	enum snowflake_reading reading;
	unsigned long flags;
	s64 offset, plain;

	/* In this order, as in snowflake_clock_plain(). */
	plain = atomic64_read_acquire(&clock->plain);
	now->mono = ktime_to_ns(ktime_get());
	offset = real_offset();
	now->real = now->mono + offset;
	now->slewing = false;
	if (likely(offset == plain))
		return SNOWFLAKE_TIME;

	raw_spin_lock_irqsave(&clock->lock, flags);
	reading = read_locked(clock, now);
	raw_spin_unlock_irqrestore(&clock->lock, flags);
	return reading;
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
	look(clock);
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
	look(clock);
	*steps = clock->steps;
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_set_policy - what happens after the clock was set back
 * @clock: the clock
 * @policy: the policy; a lead that there is now counts
 */
void snowflake_clock_set_policy(struct snowflake_clock *clock,
				enum snowflake_policy policy)
{
	unsigned long flags;
	s64 mono;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	mono = ktime_to_ns(ktime_get());
	clock->line_offset = line_at(clock, mono);
	clock->line_mono = mono;
	clock->policy = policy;
	publish(clock, mono);
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_set_lead_limit - how far ids may lead while slewing
 * @clock: the clock
 * @limit_ms: the limit, in ms
 */
void snowflake_clock_set_lead_limit(struct snowflake_clock *clock, u64 limit_ms)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock->lock, flags);
	clock->lead_limit_ns = limit_ms * NSEC_PER_MSEC;
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_set_forward_limit - how far the clock may be set ahead
 * @clock: the clock
 * @limit_ms: the limit, in ms; 0 is any
 */
void snowflake_clock_set_forward_limit(struct snowflake_clock *clock,
				       u64 limit_ms)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	clock->forward_limit_ns = limit_ms * NSEC_PER_MSEC;
	publish(clock, ktime_to_ns(ktime_get()));
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_accept - mint by the clock though it was set far ahead
 * @clock: the clock
 */
void snowflake_clock_accept(struct snowflake_clock *clock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	/* A lead is not given up. */
	if (is_ahead(clock))
		atomic64_set(&clock->minted, clock->offset);
	publish(clock, ktime_to_ns(ktime_get()));
	raw_spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * snowflake_clock_lead - how far ids are ahead of the clock
 * @clock: the clock
 *
 * Return: ns; 0 unless slewing.
 */
s64 snowflake_clock_lead(struct snowflake_clock *clock)
{
	unsigned long flags;
	s64 lead = 0;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	if (clock->policy == SNOWFLAKE_SLEW)
		lead = line_at(clock, ktime_to_ns(ktime_get())) - clock->offset;
	raw_spin_unlock_irqrestore(&clock->lock, flags);
	return lead;
}

/**
 * snowflake_clock_lead_to - begin to slew from a later instant
 * @clock: the clock
 * @real: the instant, in ns since the Unix epoch
 *
 * Return: true if the time to mint by is not before @real now; false if the
 * policy is not to slew or the lead would be beyond its limit.
 */
bool snowflake_clock_lead_to(struct snowflake_clock *clock, s64 real)
{
	unsigned long flags;
	bool leads = false;
	s64 mono, line;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	mono = ktime_to_ns(ktime_get());
	line = real - mono;
	if (clock->policy == SNOWFLAKE_SLEW &&
	    line - clock->offset <= clock->lead_limit_ns) {
		if (line > line_at(clock, mono)) {
			clock->line_offset = line;
			clock->line_mono = mono;
			publish(clock, mono);
		}
		leads = true;
	}
	raw_spin_unlock_irqrestore(&clock->lock, flags);
	return leads;
}

/**
 * snowflake_clock_floor - a time that no id of this host is later than
 * @clock: the clock
 *
 * For worker ids that this module did not mint with: whoever did before had this
 * clock. One that was set far ahead is not believed, and a lead beyond its limit
 * is given up: it is of other worker ids, and nothing could be minted with it.
 *
 * Return: ns since the Unix epoch.
 */
s64 snowflake_clock_floor(struct snowflake_clock *clock)
{
	unsigned long flags;
	s64 mono, under;

	raw_spin_lock_irqsave(&clock->lock, flags);
	look(clock);
	mono = ktime_to_ns(ktime_get());
	under = clock->offset;
	if (clock->ahead)
		under = atomic64_read(&clock->minted);
	else if (clock->policy == SNOWFLAKE_SLEW)
		under = line_at(clock, mono);
	if (under - clock->offset > clock->lead_limit_ns) {
		under = clock->offset;
		clock->line_offset = under;
		clock->line_mono = mono;
		atomic64_set(&clock->minted, under);
		publish(clock, mono);
	}
	raw_spin_unlock_irqrestore(&clock->lock, flags);
	return mono + under;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Waiting: what a read does that got no ids. It sleeps by monotonic time, which
 * nobody can set, and then looks again; a step of the clock while it sleeps is
 * met by that look.
 */
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "config.h"
#include "host.h"
#include "wait.h"

/* How much later than asked a reader may be woken, in ns. */
#define SLACK_NS (10 * NSEC_PER_USEC)

/* How often to look again at a clock that is a trifle short. */
#define LOOKS_MAX 100

static const int verdict_errno[] = {
	[SNOWFLAKE_GIVEN] = 0,
	[SNOWFLAKE_EXHAUSTED] = -EAGAIN,
	[SNOWFLAKE_CLOSED] = -EAGAIN,
	[SNOWFLAKE_SKEWED] = -EAGAIN,
	[SNOWFLAKE_NO_WORKER] = -ENXIO,
	[SNOWFLAKE_ENDED] = -EOVERFLOW,
	[SNOWFLAKE_BEHIND] = -ECANCELED,
};

/**
 * snowflake_wait_errno - what a read that cannot wait returns
 * @verdict: what it met
 *
 * Return: a negative errno, or 0 for %SNOWFLAKE_GIVEN.
 */
int snowflake_wait_errno(enum snowflake_verdict verdict)
{
	return verdict_errno[verdict];
}

static int sleep_until(s64 until)
{
	ktime_t expires = ns_to_ktime(until);

	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout_range(&expires, SLACK_NS, HRTIMER_MODE_ABS);
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

static int wait_tick(struct snowflake_waiter *waiter, s64 until)
{
	if (waiter->nonblock)
		return -EAGAIN;
	if (!waiter->counted) {
		waiter->counted = true;
		atomic_inc(&snowflake_host.generator.waiters);
	}
	atomic64_inc(&snowflake_host.exhausted);
	return sleep_until(until);
}

static int wait_behind(struct snowflake_waiter *waiter, s64 until)
{
	s64 wait_ms = READ_ONCE(snowflake_host.rewind_wait_ms);

	if (waiter->nonblock)
		return -ECANCELED;
	if (!waiter->deadline)
		waiter->deadline = ktime_to_ns(ktime_get()) +
				   wait_ms * NSEC_PER_MSEC;
	if (until > waiter->deadline)
		return -ECANCELED;
	return sleep_until(until);
}

/**
 * snowflake_wait - wait until it is worth to try again, if it is
 * @waiter: the read; zero but for nonblock when it begins
 * @run: the attempt that gave no ids
 *
 * Context: process, preemption enabled; sleeps unless the read is non-blocking.
 * Return: 0 to try again; otherwise what ends the read: the errno of
 * the verdict, or -ERESTARTSYS after a signal.
 */
int snowflake_wait(struct snowflake_waiter *waiter,
		   const struct snowflake_run *run)
{
	switch (run->verdict) {
	case SNOWFLAKE_EXHAUSTED:
		return wait_tick(waiter, run->until);
	case SNOWFLAKE_CLOSED:
		return waiter->nonblock ? -EAGAIN : snowflake_config_wait();
	case SNOWFLAKE_SKEWED:
		if (waiter->looks++ < LOOKS_MAX) {
			cpu_relax();
			return 0;
		}
		fallthrough;
	case SNOWFLAKE_BEHIND:
		return wait_behind(waiter, run->until);
	default:
		return snowflake_wait_errno(run->verdict);
	}
}

/**
 * snowflake_wait_end - the read got ids, or gave up
 * @waiter: the read
 */
void snowflake_wait_end(struct snowflake_waiter *waiter)
{
	waiter->looks = 0;
	if (waiter->counted) {
		waiter->counted = false;
		atomic_dec(&snowflake_host.generator.waiters);
	}
}

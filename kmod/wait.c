// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Waiting: what a read does that got no ids. It sleeps by monotonic time, which
 * nobody can set, and then looks again; a step of the clock while it sleeps is
 * met by that look.
 */
#include <linux/hrtimer.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "config.h"
#include "host.h"
#include "wait.h"
#include "watch.h"

/* How much later than asked a reader may be woken, in ns. */
#define SLACK_NS (10 * NSEC_PER_USEC)

/* A reader that waits for the clock looks at it at least so often, in ns. */
#define SLICE_NS NSEC_PER_SEC

/* How often to look again at a clock that is a trifle short. */
#define LOOKS_MAX 100

static const int verdict_errno[SNOWFLAKE_VERDICTS] = {
	[SNOWFLAKE_GIVEN] = 0,
	[SNOWFLAKE_UNSEEDED] = 0,
	[SNOWFLAKE_EXHAUSTED] = -EAGAIN,
	[SNOWFLAKE_CLOSED] = -EAGAIN,
	[SNOWFLAKE_SKEWED] = -EAGAIN,
	[SNOWFLAKE_NO_WORKER] = -ENXIO,
	[SNOWFLAKE_CLONED] = -ENXIO,
	[SNOWFLAKE_UNBOUND] = -EDESTADDRREQ,
	[SNOWFLAKE_ENDED] = -EOVERFLOW,
	[SNOWFLAKE_JUMPED] = -ERANGE,
	[SNOWFLAKE_EXPIRED] = -EKEYEXPIRED,
	[SNOWFLAKE_BEHIND] = -ECANCELED,
	[SNOWFLAKE_OUTDATED] = -ECANCELED,
	[SNOWFLAKE_NOT_YET] = -ECANCELED,
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
	const struct snowflake_config *config;

	if (waiter->nonblock) {
		/* Who polls by edges asks no more: have it woken. */
		snowflake_watch_until(until);
		return -EAGAIN;
	}
	rcu_read_lock_sched();
	config = snowflake_host_config();
	/* Nobody counts it on the words of a new lineage yet. */
	if (waiter->lineage != config->lineage || !waiter->lineage)
		waiter->lineage = snowflake_waiter_enter(config, waiter->order);
	rcu_read_unlock_sched();
	waiter->request.woken = waiter->lineage;
	atomic64_inc(&snowflake_host.exhausted);
	return sleep_until(until);
}

static int wait_behind(struct snowflake_waiter *waiter, s64 until)
{
	s64 wait_ms = READ_ONCE(snowflake_host.rewind_wait_ms);
	s64 now;

	if (waiter->nonblock) {
		snowflake_watch_until(until);
		return -ECANCELED;
	}
	now = ktime_to_ns(ktime_get());
	if (!waiter->deadline)
		waiter->deadline = now + wait_ms * NSEC_PER_MSEC;
	if (until > waiter->deadline)
		return -ECANCELED;
	/* In slices: the clock may be put right meanwhile. */
	return sleep_until(min_t(s64, until, now + SLICE_NS));
}

/**
 * snowflake_wait - wait until it is worth to try again, if it is
 * @waiter: the read; zero but for order and nonblock when it begins
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
	case SNOWFLAKE_UNSEEDED:
		/* It may sleep for a lock, so not with preemption off. */
		waiter->request.seed = get_random_u32();
		waiter->request.seeded = true;
		return 0;
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
	case SNOWFLAKE_NOT_YET:
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
	waiter->request.seeded = false;
	if (waiter->lineage) {
		rcu_read_lock_sched();
		snowflake_waiter_leave(snowflake_host_config(), waiter->order,
				       waiter->lineage);
		rcu_read_unlock_sched();
		waiter->lineage = 0;
		waiter->request.woken = false;
	}
}

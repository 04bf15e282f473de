// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The watch: notices what happens while nobody reads.
 *
 * Steps of the clock
 *	The timekeeper calls us when the clock was set, but inside its own lock,
 *	where the clock must not be read: the look at it is left to an irq_work,
 *	and the words about it to a work item.
 *
 * State
 *	Nothing in the claim ever notifies. Whoever changes something wakes the
 *	pollers of the device, and those of the attribute "state" if it changed.
 *	What time alone changes is seen by a work item that sleeps as readers do,
 *	until the next tick or for a second at most: while somebody polls the
 *	device, and while somebody who has read "state" may be polling that.
 *
 * The end of the layout
 *	A work item that looks once a day warns in the last year.
 */
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/printk.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched.h>
#include <linux/sysfs.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "host.h"
#include "watch.h"

/* A poller never waits longer than this, in ns, for news. */
#define SLICE_NS NSEC_PER_SEC

/* How much later than asked a poller may be woken, in ns. */
#define SLACK_NS (10 * NSEC_PER_USEC)

/* In the last year the log says so, once a day. */
#define YEAR_MS (365ULL * DAY_MS)
#define DAY_MS (24ULL * 3600 * MSEC_PER_SEC)

static DECLARE_WAIT_QUEUE_HEAD(pollers);
static struct workqueue_struct *watch_queue;

static void look_no_later(s64 until);

static void tell_of_state(struct work_struct *work);
static DECLARE_WORK(state_work, tell_of_state);

/* The last timestamp of the layout in force, in Unix ms. */
static u64 layout_ends_ms = U64_MAX;

static bool in_last_year(void)
{
	u64 now_ms = div_u64(ktime_get_real_ns(), NSEC_PER_MSEC);
	u64 ends_ms = READ_ONCE(layout_ends_ms);

	return now_ms < ends_ms && ends_ms - now_ms < YEAR_MS;
}

/*
 * State.
 */

static const char * const states[SNOWFLAKE_VERDICTS] = {
	[SNOWFLAKE_GIVEN] = "running",
	[SNOWFLAKE_UNSEEDED] = "running",
	[SNOWFLAKE_EXHAUSTED] = "running",
	[SNOWFLAKE_CLOSED] = "running",
	[SNOWFLAKE_SKEWED] = "running",
	[SNOWFLAKE_NO_WORKER] = "no-worker",
	[SNOWFLAKE_CLONED] = "cloned",
	[SNOWFLAKE_UNBOUND] = "running",
	[SNOWFLAKE_ENDED] = "ended",
	[SNOWFLAKE_JUMPED] = "jumped",
	[SNOWFLAKE_EXPIRED] = "expired",
	[SNOWFLAKE_BEHIND] = "behind",
	[SNOWFLAKE_OUTDATED] = "running",
	[SNOWFLAKE_NOT_YET] = "not-yet",
};

/* The device whose attribute "state" is told of changes; NULL while none is. */
static struct device *notified;

/* What was told or read last, and whether there is still something to tell. */
static const char *last_state;
static int state_untold;

/* Somebody has read the state since it was last told of, and may poll it. */
static bool state_read;

static struct snowflake_run probe(void)
{
	struct snowflake_run run;
	u64 space;

	rcu_read_lock_sched();
	run = snowflake_generator_probe(snowflake_host_config(),
					&snowflake_host.clock, NULL, &space);
	rcu_read_unlock_sched();
	return run;
}

/*
 * Can time alone change the state, and soon? All else wakes the pollers when it
 * happens.
 */
static bool changes_with_time(void)
{
	enum snowflake_verdict verdict;
	bool ends;

	rcu_read_lock_sched();
	ends = snowflake_host_config()->not_after_ms;
	verdict = probe().verdict;
	rcu_read_unlock_sched();

	switch (verdict) {
	case SNOWFLAKE_BEHIND:
	case SNOWFLAKE_NOT_YET:
		return READ_ONCE(notified);
	case SNOWFLAKE_GIVEN:
	case SNOWFLAKE_EXHAUSTED:
	case SNOWFLAKE_SKEWED:
		return READ_ONCE(notified) && (ends || in_last_year());
	default:
		return false;
	}
}

/**
 * snowflake_watch_state - the state of the host's generator
 *
 * For those who print it: they, and who polls for the next, are told of a
 * change.
 *
 * Context: process.
 * Return: one word.
 */
const char *snowflake_watch_state(void)
{
	const char *state = states[probe().verdict];

	WRITE_ONCE(state_read, true);
	/* Others may have read another, and be polling. */
	if (xchg(&last_state, state) != state)
		WRITE_ONCE(state_untold, 1);
	queue_work(watch_queue, &state_work);
	return state;
}

static void tell_of_state(struct work_struct *work)
{
	const char *state = states[probe().verdict];
	struct device *device = READ_ONCE(notified);
	bool changed = xchg(&last_state, state) != state;

	if (xchg(&state_untold, 0) || changed) {
		/* Those who poll it will read it again. */
		WRITE_ONCE(state_read, false);
		if (device)
			sysfs_notify(&device->kobj, NULL, "state");
	} else if (READ_ONCE(state_read) && changes_with_time()) {
		look_no_later(S64_MAX);
	}
}

/**
 * snowflake_watch_notify - tell of changes of state from now on
 * @device: the device with the attribute, or NULL for no longer
 *
 * Context: process.
 */
void snowflake_watch_notify(struct device *device)
{
	WRITE_ONCE(notified, device);
	if (!device)
		flush_work(&state_work);
}

/**
 * snowflake_watch_wake - something changed: let those who wait look again
 *
 * Context: any.
 */
void snowflake_watch_wake(void)
{
	wake_up_interruptible_all(&pollers);
	queue_work(watch_queue, &state_work);
}

/*
 * Steps of the clock.
 */

static void tell_of_steps(struct work_struct *work)
{
	static struct snowflake_steps told;
	struct snowflake_steps steps;

	snowflake_clock_steps(&snowflake_host.clock, &steps);
	if (steps.rewinds != told.rewinds)
		pr_warn_ratelimited("clock set back by %llu ms (%llu times so far)\n",
				    div_u64(steps.rewind_last_ns, NSEC_PER_MSEC),
				    steps.rewinds);
	told = steps;
	if (probe().verdict == SNOWFLAKE_JUMPED)
		pr_warn_ratelimited("clock set ahead beyond forward_limit_ms: no ids until it is back or accept_jump is written\n");
	snowflake_watch_wake();
}

static DECLARE_WORK(step_work, tell_of_steps);

static void look_at_clock(struct irq_work *work)
{
	snowflake_clock_judge(&snowflake_host.clock);
	queue_work(watch_queue, &step_work);
}

static DEFINE_IRQ_WORK(step_irq, look_at_clock);

/* Called under the timekeeper's lock: the clock must not be read here. */
static int timekeeper_updated(struct notifier_block *block, unsigned long was_set,
			      void *timekeeper)
{
	if (was_set) {
		snowflake_host_generation_raise();
		irq_work_queue(&step_irq);
	}
	return NOTIFY_OK;
}

static struct notifier_block timekeeper_block = {
	.notifier_call = timekeeper_updated,
};

/*
 * What time alone changes.
 */

/* When to look again, in ns of CLOCK_MONOTONIC. */
static atomic64_t next_look = ATOMIC64_INIT(S64_MAX);
static DECLARE_WAIT_QUEUE_HEAD(next_look_changed);

static void look_again(struct work_struct *work)
{
	DEFINE_WAIT(wait);
	ktime_t expires;
	s64 until;

	for (;;) {
		prepare_to_wait(&next_look_changed, &wait, TASK_IDLE);
		until = atomic64_read(&next_look);
		/* Queued again while it slept, it has seen to that already. */
		if (until == S64_MAX || ktime_to_ns(ktime_get()) >= until)
			break;
		expires = ns_to_ktime(until);
		schedule_hrtimeout_range(&expires, SLACK_NS, HRTIMER_MODE_ABS);
	}
	finish_wait(&next_look_changed, &wait);

	atomic64_set(&next_look, S64_MAX);
	snowflake_watch_wake();
}

static DECLARE_WORK(look_work, look_again);

/**
 * snowflake_watch_poll - put a poller on the queue of those who are woken
 * @file: the file that it polls
 * @table: its poll table
 */
void snowflake_watch_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &pollers, table);
}

static void look_no_later(s64 until)
{
	s64 latest = ktime_to_ns(ktime_get()) + SLICE_NS;
	s64 old = atomic64_read(&next_look);

	until = min(until, latest);
	do {
		if (until >= old)
			return;
	} while (!atomic64_try_cmpxchg(&next_look, &old, until));
	queue_work(watch_queue, &look_work);
	wake_up(&next_look_changed);
}

/**
 * snowflake_watch_until - wake the pollers no later than this, if there are any
 * @until: an instant in ns of CLOCK_MONOTONIC; a second from now is the latest
 *
 * Context: process.
 */
void snowflake_watch_until(s64 until)
{
	if (wq_has_sleeper(&pollers))
		look_no_later(until);
}

/*
 * The end of the layout.
 */

static void tell_of_end(struct work_struct *work);
static DECLARE_DELAYED_WORK(end_work, tell_of_end);

static void tell_of_end(struct work_struct *work)
{
	time64_t ends = div_u64(READ_ONCE(layout_ends_ms), MSEC_PER_SEC);

	if (in_last_year() && probe().verdict != SNOWFLAKE_NO_WORKER)
		pr_warn("the layout ends in less than a year, at %ptTs: no ids from then on\n",
			&ends);
	queue_delayed_work(watch_queue, &end_work, msecs_to_jiffies(DAY_MS));
}

/**
 * snowflake_watch_end - warn of the end of the layout that came into force
 * @ends_ms: its last timestamp, in Unix milliseconds
 *
 * Context: process.
 */
void snowflake_watch_end(u64 ends_ms)
{
	if (READ_ONCE(layout_ends_ms) == ends_ms)
		return;
	WRITE_ONCE(layout_ends_ms, ends_ms);
	mod_delayed_work(watch_queue, &end_work, 0);
}

/**
 * snowflake_watch_init - begin to watch
 *
 * Context: process; the clock and the configuration are initialized.
 * Return: 0, or -ENOMEM.
 */
int snowflake_watch_init(void)
{
	int err;

	watch_queue = alloc_workqueue("snowflake", WQ_UNBOUND, 0);
	if (!watch_queue)
		return -ENOMEM;
	last_state = states[probe().verdict];
	err = pvclock_gtod_register_notifier(&timekeeper_block);
	if (err)
		destroy_workqueue(watch_queue);
	return err;
}

/**
 * snowflake_watch_exit - no longer watch
 *
 * Context: process; nobody has the device open or changes anything any more.
 */
void snowflake_watch_exit(void)
{
	pvclock_gtod_unregister_notifier(&timekeeper_block);
	irq_work_sync(&step_irq);
	cancel_delayed_work_sync(&end_work);
	atomic64_set(&next_look, 0);
	wake_up(&next_look_changed);
	destroy_workqueue(watch_queue);
}

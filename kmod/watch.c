// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The watch: notices what happens while nobody reads.
 *
 * Steps of the clock
 *	The timekeeper calls us when the clock was set, but inside its own lock,
 *	where the clock must not be read: the look at it is left to an irq_work,
 *	and the words about it to a work item.
 *
 * Pollers
 *	Nothing in the claim ever wakes a poller. While somebody polls, a work
 *	item sleeps as readers do, until the next tick or for a second at most,
 *	and then lets the pollers look again.
 */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/printk.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "host.h"
#include "watch.h"

/* A poller never waits longer than this, in ns, for news. */
#define SLICE_NS NSEC_PER_SEC

/* How much later than asked a poller may be woken, in ns. */
#define SLACK_NS (10 * NSEC_PER_USEC)

static DECLARE_WAIT_QUEUE_HEAD(pollers);
static struct workqueue_struct *watch_queue;

static void tell_of_steps(struct work_struct *work)
{
	static u64 told;
	struct snowflake_steps steps;

	snowflake_clock_steps(&snowflake_host.clock, &steps);
	if (steps.rewinds != told) {
		told = steps.rewinds;
		pr_warn_ratelimited("clock set back by %llu ms (%llu times so far): no ids until it has caught up\n",
				    div_u64(steps.rewind_last_ns, NSEC_PER_MSEC),
				    steps.rewinds);
	}
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
	if (was_set)
		irq_work_queue(&step_irq);
	return NOTIFY_OK;
}

static struct notifier_block timekeeper_block = {
	.notifier_call = timekeeper_updated,
};

/* When the pollers are to look again, in ns of CLOCK_MONOTONIC. */
static atomic64_t next_look = ATOMIC64_INIT(S64_MAX);
static DECLARE_WAIT_QUEUE_HEAD(next_look_changed);

static void watch_for_pollers(struct work_struct *work)
{
	DEFINE_WAIT(wait);
	ktime_t expires;
	s64 until;

	for (;;) {
		prepare_to_wait(&next_look_changed, &wait, TASK_IDLE);
		until = atomic64_read(&next_look);
		if (ktime_to_ns(ktime_get()) >= until)
			break;
		expires = ns_to_ktime(until);
		schedule_hrtimeout_range(&expires, SLACK_NS, HRTIMER_MODE_ABS);
	}
	finish_wait(&next_look_changed, &wait);

	atomic64_set(&next_look, S64_MAX);
	snowflake_watch_wake();
}

static DECLARE_WORK(poll_work, watch_for_pollers);

/**
 * snowflake_watch_poll - put a poller on the queue of those who are woken
 * @file: the file that it polls
 * @table: its poll table
 */
void snowflake_watch_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &pollers, table);
}

/**
 * snowflake_watch_until - wake the pollers no later than this
 * @until: an instant in ns of CLOCK_MONOTONIC; a second from now is the latest
 *
 * Context: process.
 */
void snowflake_watch_until(s64 until)
{
	s64 latest = ktime_to_ns(ktime_get()) + SLICE_NS;
	s64 old = atomic64_read(&next_look);

	if (!wq_has_sleeper(&pollers))
		return;
	until = min(until, latest);
	do {
		if (until >= old)
			return;
	} while (!atomic64_try_cmpxchg(&next_look, &old, until));
	queue_work(watch_queue, &poll_work);
	wake_up(&next_look_changed);
}

/**
 * snowflake_watch_wake - let the pollers look again
 *
 * Context: any.
 */
void snowflake_watch_wake(void)
{
	wake_up_interruptible_all(&pollers);
}

/**
 * snowflake_watch_init - begin to watch
 *
 * Context: process; the clock is initialized.
 * Return: 0, or -ENOMEM.
 */
int snowflake_watch_init(void)
{
	int err;

	watch_queue = alloc_workqueue("snowflake", WQ_UNBOUND, 0);
	if (!watch_queue)
		return -ENOMEM;
	err = pvclock_gtod_register_notifier(&timekeeper_block);
	if (err)
		destroy_workqueue(watch_queue);
	return err;
}

/**
 * snowflake_watch_exit - no longer watch
 *
 * Context: process; nobody has the device open any more.
 */
void snowflake_watch_exit(void)
{
	pvclock_gtod_unregister_notifier(&timekeeper_block);
	irq_work_sync(&step_irq);
	cancel_work_sync(&step_work);
	atomic64_set(&next_look, 0);
	wake_up(&next_look_changed);
	cancel_work_sync(&poll_work);
	destroy_workqueue(watch_queue);
}

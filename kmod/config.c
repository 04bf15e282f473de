// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The configuration: what root asks for, checked, and put in force.
 *
 * What shapes ids is one immutable object, which readers see whole or not at
 * all. A new one comes into force in four steps: close the gate (readers that
 * come now wait, none fails), let a grace period pass (readers that came before
 * are through), move the word on to a tick that nobody used, open the gate. By
 * the time the write returns, no CPU mints under the old one.
 */
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "config.h"
#include "host.h"
#include "watch.h"

/* An hour: whoever waits longer for a clock wants another policy. */
#define REWIND_WAIT_MAX_MS 3600000

static DEFINE_MUTEX(config_lock);
static DECLARE_WAIT_QUEUE_HEAD(config_gate);

/*
 * What was asked for, under config_lock. It shapes ids from the moment at which
 * a worker id is written.
 */
static struct {
	const struct snowflake_layout *layout;
	s64 worker_id;
	u32 worker_count;
	u32 cpu_block;		/* 0: the default for the range */
	u32 cookie;		/* of the last configuration made */
} asked = {
	.layout = &snowflake_layout_twitter,
	.worker_id = -1,
	.worker_count = 1,
};

static s64 read_worker_id(void)
{
	return asked.worker_id;
}

static s64 max_worker_id(void)
{
	return snowflake_layout_workers(asked.layout) - 1;
}

static s64 read_worker_count(void)
{
	return asked.worker_count;
}

static s64 max_worker_count(void)
{
	return snowflake_layout_workers(asked.layout);
}

static int write_worker_count(s64 value)
{
	asked.worker_count = value;
	return 0;
}

static s64 read_cpu_block(void)
{
	if (asked.cpu_block)
		return asked.cpu_block;
	return snowflake_default_block(asked.layout, asked.worker_count,
				       num_possible_cpus());
}

static s64 max_cpu_block(void)
{
	return snowflake_layout_sequences(asked.layout);
}

static int write_cpu_block(s64 value)
{
	asked.cpu_block = value;
	return 0;
}

static s64 read_rewind_wait(void)
{
	return READ_ONCE(snowflake_host.rewind_wait_ms);
}

static s64 max_rewind_wait(void)
{
	return REWIND_WAIT_MAX_MS;
}

static int write_rewind_wait(s64 value)
{
	WRITE_ONCE(snowflake_host.rewind_wait_ms, value);
	return 0;
}

static void put_in_force(const struct snowflake_config *config)
{
	struct snowflake_generator *generator = &snowflake_host.generator;
	const struct snowflake_config *old =
		rcu_dereference_protected(generator->config,
					  lockdep_is_held(&config_lock));

	if (config == old)
		return;

	rcu_assign_pointer(generator->config, &snowflake_config_closed);
	synchronize_rcu();
	if (config->verdict == SNOWFLAKE_GIVEN)
		snowflake_generator_rebase(generator, config,
					   &snowflake_host.clock);
	rcu_assign_pointer(generator->config, config);
	wake_up_all(&config_gate);
	snowflake_watch_wake();

	if (old != &snowflake_config_no_worker)
		kfree(old);
}

static int write_worker_id(s64 value)
{
	u32 workers = snowflake_layout_workers(asked.layout);
	struct snowflake_config *config;

	if (value < 0) {
		put_in_force(&snowflake_config_no_worker);
		asked.worker_id = -1;
		return 0;
	}

	if (value + asked.worker_count > workers) {
		pr_warn_ratelimited("worker_id %lld refused: with worker_count %u the range ends past the last worker id %u\n",
				    value, asked.worker_count, workers - 1);
		return -EINVAL;
	}

	config = kzalloc(sizeof(*config), GFP_KERNEL);
	if (!config)
		return -ENOMEM;
	config->layout = *asked.layout;
	config->worker_id = value;
	config->worker_count = asked.worker_count;
	config->cpu_block = read_cpu_block();
	config->cookie = ++asked.cookie;
	snowflake_config_derive(config);

	put_in_force(config);
	asked.worker_id = value;
	return 0;
}

/**
 * struct item - how an item is read, checked and written; all under config_lock
 * @name: its name as attribute and as module parameter
 * @shapes: it shapes ids: it can be written only while there is no worker id
 * @min: the least value
 * @limit: gives the greatest value
 * @read: gives the value
 * @write: takes a value that is in range
 */
struct item {
	const char *name;
	bool shapes;
	s64 min;
	s64 (*limit)(void);
	s64 (*read)(void);
	int (*write)(s64 value);
};

static const struct item items[] = {
	[SNOWFLAKE_WORKER_ID] = {
		.name = "worker_id",
		.min = -1,
		.limit = max_worker_id,
		.read = read_worker_id,
		.write = write_worker_id,
	},
	[SNOWFLAKE_WORKER_COUNT] = {
		.name = "worker_count",
		.shapes = true,
		.min = 1,
		.limit = max_worker_count,
		.read = read_worker_count,
		.write = write_worker_count,
	},
	[SNOWFLAKE_CPU_BLOCK] = {
		.name = "cpu_block",
		.shapes = true,
		.min = 1,
		.limit = max_cpu_block,
		.read = read_cpu_block,
		.write = write_cpu_block,
	},
	[SNOWFLAKE_REWIND_WAIT_MS] = {
		.name = "rewind_wait_ms",
		.min = 0,
		.limit = max_rewind_wait,
		.read = read_rewind_wait,
		.write = write_rewind_wait,
	},
};

/**
 * snowflake_config_write - write an item
 * @which: the item
 * @text: a decimal number, which a newline may follow
 *
 * Context: process; a worker id waits for a grace period.
 * Return: 0, once the value is in force on all CPUs; -EINVAL if it is no number
 * or out of range, which is logged; -EBUSY if it shapes ids and there is a
 * worker id; -ENOMEM. After an error everything is as it was.
 */
int snowflake_config_write(enum snowflake_item which, const char *text)
{
	const struct item *item = &items[which];
	s64 value, max;
	int err;

	mutex_lock(&config_lock);
	max = item->limit();
	err = kstrtos64(text, 10, &value);
	if (err || value < item->min || value > max) {
		pr_warn_ratelimited("%s '%.*s' refused: must be a whole number from %lld to %lld\n",
				    item->name, (int)min_t(size_t, strcspn(text, "\n"), 32),
				    text, item->min, max);
		err = -EINVAL;
	} else if (item->shapes && asked.worker_id >= 0) {
		err = -EBUSY;
	} else {
		err = item->write(value);
	}
	mutex_unlock(&config_lock);
	return err;
}

/**
 * snowflake_config_read - read an item
 * @which: the item
 *
 * Context: process.
 * Return: its value.
 */
s64 snowflake_config_read(enum snowflake_item which)
{
	s64 value;

	mutex_lock(&config_lock);
	value = items[which].read();
	mutex_unlock(&config_lock);
	return value;
}

/**
 * snowflake_config_layout - the layout that is or will be in force
 * @layout: where a copy goes
 *
 * Context: process.
 */
void snowflake_config_layout(struct snowflake_layout *layout)
{
	mutex_lock(&config_lock);
	*layout = *asked.layout;
	mutex_unlock(&config_lock);
}

/**
 * snowflake_config_wait - wait until the gate is open
 *
 * Context: process, interruptible.
 * Return: 0, or -ERESTARTSYS after a signal.
 */
int snowflake_config_wait(void)
{
	return wait_event_interruptible(config_gate,
					rcu_access_pointer(snowflake_host.generator.config) !=
					&snowflake_config_closed);
}

/**
 * snowflake_config_exit - give up the worker id before the module goes
 *
 * Context: process; nobody can read or write any more.
 */
void snowflake_config_exit(void)
{
	mutex_lock(&config_lock);
	put_in_force(&snowflake_config_no_worker);
	mutex_unlock(&config_lock);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The configuration: what root asks for, checked, and put in force.
 *
 * What shapes ids is one immutable object, which readers see whole or not at
 * all. A new one comes into force in four steps: close the gate (readers that
 * come now wait, none fails), let a grace period pass (readers that came before
 * are through), let its words start in a tick that its worker ids have not used,
 * open the gate. By the time the write returns, no CPU mints under the old one.
 *
 * A change of the window makes a new object too, but one that goes on with the
 * words of the old, so the gate stays open.
 *
 * A clone of the machine closes the gate at once, whatever a write is doing: who
 * opens the gate looks first whether there was a clone since the write began.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "config.h"
#include "history.h"
#include "host.h"
#include "watch.h"

/* An hour: whoever waits longer for a clock wants another policy. */
#define REWIND_WAIT_MAX_MS 3600000

/* So that no limit in ms, and no instant, overflows in ns. */
#define MS_MAX (S64_MAX / NSEC_PER_MSEC)

/* More than any tick is worth; blocks are counted in 32 bits. */
#define CPU_BLOCK_MAX BIT_ULL(30)

/* Each worker id has a cache line of its own in bound sharing: 512 KiB. */
#define BOUND_MAX 8192

static DEFINE_MUTEX(config_lock);
static DECLARE_WAIT_QUEUE_HEAD(config_gate);

/*
 * Held only to exchange the configuration in force; raw, because clones are
 * reported in any context.
 */
static DEFINE_RAW_SPINLOCK(gate_lock);

/* The rest is under config_lock. */

/* What ids are made by; NULL if there is no worker id. */
static struct snowflake_config *in_force;

static struct snowflake_history history;

/* Until when files of this era were given ids; what the words began with. */
static s64 era_until = S64_MIN;
static s64 started;

static u32 last_cookie;

/* So many clones were reported whose worker id is gone. */
static int clones_heeded;

/* What was asked for; what shapes ids does so once a worker id is written. */
static s64 asked[SNOWFLAKE_ITEMS];

static struct snowflake_layout asked_layout(void)
{
	struct snowflake_layout layout = {
		.timestamp_bits = asked[SNOWFLAKE_TIMESTAMP_BITS],
		.worker_bits = asked[SNOWFLAKE_WORKER_BITS],
		.sequence_bits = asked[SNOWFLAKE_SEQUENCE_BITS],
		.order = asked[SNOWFLAKE_ORDER],
		.tick_ms = asked[SNOWFLAKE_TICK_MS],
		.epoch_ms = asked[SNOWFLAKE_EPOCH_MS],
	};

	return layout;
}

static void ask_for_layout(const struct snowflake_layout *layout)
{
	asked[SNOWFLAKE_TIMESTAMP_BITS] = layout->timestamp_bits;
	asked[SNOWFLAKE_WORKER_BITS] = layout->worker_bits;
	asked[SNOWFLAKE_SEQUENCE_BITS] = layout->sequence_bits;
	asked[SNOWFLAKE_ORDER] = layout->order;
	asked[SNOWFLAKE_TICK_MS] = layout->tick_ms;
	asked[SNOWFLAKE_EPOCH_MS] = layout->epoch_ms;
}

/*
 * The gate.
 */

/* Exchange what is in force, unless there was a clone after @clones were seen. */
static bool exchange(const struct snowflake_config *config, int clones)
{
	unsigned long flags;
	bool same;

	raw_spin_lock_irqsave(&gate_lock, flags);
	same = atomic_read(&snowflake_host.clones) == clones;
	if (same)
		rcu_assign_pointer(snowflake_host.config, config);
	raw_spin_unlock_irqrestore(&gate_lock, flags);
	return same;
}

static void wake_waiting(void)
{
	wake_up_all(&config_gate);
	snowflake_watch_wake();
}

/*
 * Nobody reads the configuration that was in force: remember what it used, and
 * let it go. A range that was only asked for is not used.
 */
static void retire(void)
{
	s64 used;

	if (!in_force)
		return;
	used = snowflake_config_used(in_force);
	if (used > started) {
		snowflake_history_add(&history, in_force->worker_id,
				      in_force->worker_count, used);
		era_until = max_t(s64, era_until, used);
	}
	kvfree(in_force->words);
	kfree(in_force);
	in_force = NULL;
}

/* Let the words of a new configuration begin where its range was not used. */
static void start(struct snowflake_config *config)
{
	s64 floor;
	bool used = snowflake_history_find(&history, config->worker_id,
					   config->worker_count, &floor);

	/*
	 * Files that had ids of another range meanwhile must not go down. If
	 * nobody used this one since we were loaded, then perhaps before:
	 * nothing is minted in the tick that is now.
	 */
	if (used)
		floor = max_t(s64, floor, era_until);
	else
		floor = snowflake_clock_floor(&snowflake_host.clock) + 1;
	snowflake_config_start(config, floor);
	started = snowflake_config_used(config);

	/* It starts before ids that were given: files that had them refuse. */
	if (started < era_until) {
		WRITE_ONCE(snowflake_host.era, snowflake_host.era + 1);
		era_until = S64_MIN;
	}
	config->era = snowflake_host.era;
	config->lineage = config->cookie;
}

/*
 * Put a configuration in force, or none. It is gone if that fails, which a
 * clone of the machine since @clones were seen makes it do.
 */
static int put_in_force(struct snowflake_config *config, int clones)
{
	if (!exchange(&snowflake_config_closed, clones))
		goto cloned;
	synchronize_rcu();
	retire();
	if (config)
		start(config);
	if (!exchange(config ?: &snowflake_config_no_worker, clones))
		goto cloned;
	in_force = config;
	asked[SNOWFLAKE_WORKER_ID] = config ? (s64)config->worker_id : -1;
	snowflake_host_generation_raise();
	wake_waiting();
	return 0;

cloned:
	if (config)
		kvfree(config->words);
	kfree(config);
	return -ECANCELED;
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
					rcu_access_pointer(snowflake_host.config) !=
					&snowflake_config_closed);
}

/*
 * Take config_lock. If a clone was reported, the gate is closed already, and
 * what was in force goes before anything else is done.
 */
static void lock_config(void)
{
	unsigned long flags;
	int clones;

	mutex_lock(&config_lock);

	/* The count and the gate as one. */
	raw_spin_lock_irqsave(&gate_lock, flags);
	clones = atomic_read(&snowflake_host.clones);
	raw_spin_unlock_irqrestore(&gate_lock, flags);
	if (clones == clones_heeded)
		return;

	synchronize_rcu();
	retire();
	asked[SNOWFLAKE_WORKER_ID] = -1;
	clones_heeded = clones;
}

static void drop_worker_id(struct work_struct *work)
{
	lock_config();
	mutex_unlock(&config_lock);
}

static DECLARE_WORK(drop_work, drop_worker_id);

/**
 * snowflake_config_clone - this machine is a clone: drop the worker id
 *
 * Nothing is minted from now on; what was in force is put away later.
 *
 * Context: any.
 */
void snowflake_config_clone(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&gate_lock, flags);
	atomic_inc(&snowflake_host.clones);
	rcu_assign_pointer(snowflake_host.config, &snowflake_config_cloned);
	raw_spin_unlock_irqrestore(&gate_lock, flags);
	snowflake_host_generation_raise();
	wake_waiting();
	schedule_work(&drop_work);
}

/*
 * The items.
 */

static u64 max_worker_id(void)
{
	return (1ULL << asked[SNOWFLAKE_WORKER_BITS]) - 1;
}

static u64 max_worker_count(void)
{
	return 1ULL << asked[SNOWFLAKE_WORKER_BITS];
}

/* All numbers of a tick. */
static u64 max_cpu_block(void)
{
	u64 workers = min_t(u64, asked[SNOWFLAKE_WORKER_COUNT], CPU_BLOCK_MAX);

	if (asked[SNOWFLAKE_SEQUENCE_BITS] >= ilog2(CPU_BLOCK_MAX))
		return CPU_BLOCK_MAX;
	return min_t(u64, workers << asked[SNOWFLAKE_SEQUENCE_BITS],
		     CPU_BLOCK_MAX);
}

/* A block of 0 was not asked for: it is the default for the range. */
static u32 cpu_block(void)
{
	struct snowflake_layout layout = asked_layout();

	if (asked[SNOWFLAKE_CPU_BLOCK])
		return asked[SNOWFLAKE_CPU_BLOCK];
	return snowflake_default_block(&layout, asked[SNOWFLAKE_WORKER_COUNT],
				       num_possible_cpus());
}

/* What is wrong with all that was asked for, together with a worker id? */
static const char *check(const struct snowflake_layout *layout, u64 worker_id)
{
	u64 count = asked[SNOWFLAKE_WORKER_COUNT];
	u64 now_ms = div_u64(ktime_get_real_ns(), NSEC_PER_MSEC);
	const char *why;

	/* A clock before the epoch of a preset is wrong, not the epoch. */
	if (asked[SNOWFLAKE_PRESET] != SNOWFLAKE_CUSTOM)
		now_ms = U64_MAX;
	why = snowflake_layout_check(layout, now_ms);
	if (why)
		return why;
	if (worker_id >= snowflake_layout_workers(layout))
		return "worker_id does not fit into worker_bits";
	if (count > snowflake_layout_workers(layout) - worker_id)
		return "worker_count: the range ends past the last worker id";
	if (asked[SNOWFLAKE_SHARING] && count > BOUND_MAX)
		return "worker_count is more than 8192, the most for bound sharing";
	if (asked[SNOWFLAKE_CPU_BLOCK] > max_cpu_block())
		return "cpu_block is more than the ids of a tick";
	return NULL;
}

static struct snowflake_config *make(const struct snowflake_layout *layout,
				     u64 worker_id)
{
	struct snowflake_config *config = kzalloc(sizeof(*config), GFP_KERNEL);

	if (!config)
		return NULL;
	config->layout = *layout;
	config->worker_id = worker_id;
	config->worker_count = asked[SNOWFLAKE_WORKER_COUNT];
	config->bound = asked[SNOWFLAKE_SHARING];
	config->spread = asked[SNOWFLAKE_SEQUENCE_START];
	config->cpu_block = cpu_block();
	config->not_before_ms = asked[SNOWFLAKE_NOT_BEFORE_MS];
	config->not_after_ms = asked[SNOWFLAKE_NOT_AFTER_MS];
	config->cookie = ++last_cookie;
	snowflake_config_derive(config);
	config->words = kvcalloc(snowflake_config_words(config),
				 sizeof(*config->words), GFP_KERNEL);
	if (!config->words) {
		kfree(config);
		return NULL;
	}
	return config;
}

static int apply_worker_id(s64 value, int clones)
{
	struct snowflake_layout layout = asked_layout();
	struct snowflake_config *config;
	const char *why;
	int err;

	if (value < 0)
		return in_force ? put_in_force(NULL, clones) : 0;

	why = check(&layout, value);
	if (why) {
		pr_warn_ratelimited("worker_id %lld refused: %s\n", value, why);
		return -EINVAL;
	}
	config = make(&layout, value);
	if (!config)
		return -ENOMEM;
	err = put_in_force(config, clones);
	if (!err)
		snowflake_watch_end(snowflake_layout_ends_ms(&layout));
	return err;
}

/*
 * The window in force is that of the configuration, so a change makes another,
 * with the words of the old. If it leaves less than there was, no block and no
 * reader that saw the old one may be left when the write returns.
 */
static int change_window(u64 not_before_ms, u64 not_after_ms, int clones)
{
	struct snowflake_config *old = in_force;
	struct snowflake_config *new;
	bool shrinks;

	if (!old)
		return 0;
	shrinks = not_before_ms > old->not_before_ms ||
		  (not_after_ms ?: U64_MAX) < (old->not_after_ms ?: U64_MAX);

	new = kmemdup(old, sizeof(*old), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->not_before_ms = not_before_ms;
	new->not_after_ms = not_after_ms;
	new->cookie = ++last_cookie;
	snowflake_config_derive(new);
	if (!exchange(new, clones)) {
		kfree(new);
		return -ECANCELED;
	}
	in_force = new;
	if (shrinks)
		snowflake_host_generation_raise();
	synchronize_rcu();
	kfree(old);
	wake_waiting();
	return 0;
}

static int apply_not_before(s64 value, int clones)
{
	/* Ids of an earlier time may be another host's. */
	if (in_force && value < asked[SNOWFLAKE_NOT_BEFORE_MS])
		return -EBUSY;
	return change_window(value, asked[SNOWFLAKE_NOT_AFTER_MS], clones);
}

static int apply_not_after(s64 value, int clones)
{
	return change_window(asked[SNOWFLAKE_NOT_BEFORE_MS], value, clones);
}

static int apply_preset(s64 value, int clones)
{
	if (value < SNOWFLAKE_CUSTOM)
		ask_for_layout(&snowflake_layouts[value]);
	return 0;
}

static int apply_part(s64 value, int clones)
{
	asked[SNOWFLAKE_PRESET] = SNOWFLAKE_CUSTOM;
	return 0;
}

static int apply_rewind_wait(s64 value, int clones)
{
	WRITE_ONCE(snowflake_host.rewind_wait_ms, value);
	return 0;
}

static int apply_rewind_policy(s64 value, int clones)
{
	snowflake_clock_set_policy(&snowflake_host.clock, value);
	return 0;
}

static int apply_lead_limit(s64 value, int clones)
{
	snowflake_clock_set_lead_limit(&snowflake_host.clock, value);
	return 0;
}

static int apply_forward_limit(s64 value, int clones)
{
	snowflake_clock_set_forward_limit(&snowflake_host.clock, value);
	return 0;
}

static int apply_accept_jump(s64 value, int clones)
{
	snowflake_clock_accept(&snowflake_host.clock);
	return 0;
}

static const char * const sharings[] = { "pooled", "bound", NULL };
static const char * const starts[] = { "zero", "spread", NULL };

static const char * const policies[] = {
	[SNOWFLAKE_REFUSE] = "refuse",
	[SNOWFLAKE_SLEW] = "slew",
	NULL
};

static const char * const orders[] = {
	[SNOWFLAKE_WORKER_SEQUENCE] = "worker-sequence",
	[SNOWFLAKE_SEQUENCE_WORKER] = "sequence-worker",
	NULL
};

static const char * const presets[] = {
	[SNOWFLAKE_TWITTER] = "twitter",
	[SNOWFLAKE_INSTAGRAM] = "instagram",
	[SNOWFLAKE_DISCORD] = "discord",
	[SNOWFLAKE_SONYFLAKE] = "sonyflake",
	[SNOWFLAKE_JS53] = "js53",
	[SNOWFLAKE_CUSTOM] = "custom",
	NULL
};

/**
 * struct item - how an item is read, checked and written; all under config_lock
 * @name: its name as attribute and as module parameter
 * @shapes: it shapes ids: it can be written only while there is no worker id
 * @min: the least value
 * @max: the greatest value
 * @limit: gives the greatest value where it depends on others
 * @choices: the words for the values 0, 1, ..., where it is not a number
 * @apply: does what a value that is in range asks for, before it is recorded
 */
struct item {
	const char *name;
	bool shapes;
	s64 min;
	s64 max;
	u64 (*limit)(void);
	const char * const *choices;
	int (*apply)(s64 value, int clones);
};

static const struct item items[] = {
	[SNOWFLAKE_WORKER_ID] = {
		.name = "worker_id",
		.min = -1,
		.limit = max_worker_id,
		.apply = apply_worker_id,
	},
	[SNOWFLAKE_WORKER_COUNT] = {
		.name = "worker_count",
		.shapes = true,
		.min = 1,
		.limit = max_worker_count,
	},
	[SNOWFLAKE_SHARING] = {
		.name = "sharing",
		.shapes = true,
		.choices = sharings,
	},
	[SNOWFLAKE_CPU_BLOCK] = {
		.name = "cpu_block",
		.shapes = true,
		.min = 1,
		.limit = max_cpu_block,
	},
	[SNOWFLAKE_SEQUENCE_START] = {
		.name = "sequence_start",
		.shapes = true,
		.choices = starts,
	},
	[SNOWFLAKE_PRESET] = {
		.name = "layout",
		.shapes = true,
		.choices = presets,
		.apply = apply_preset,
	},
	[SNOWFLAKE_TIMESTAMP_BITS] = {
		.name = "timestamp_bits",
		.shapes = true,
		.min = 1,
		.max = 62,
		.apply = apply_part,
	},
	[SNOWFLAKE_WORKER_BITS] = {
		.name = "worker_bits",
		.shapes = true,
		.min = 1,
		.max = 62,
		.apply = apply_part,
	},
	[SNOWFLAKE_SEQUENCE_BITS] = {
		.name = "sequence_bits",
		.shapes = true,
		.min = 1,
		.max = 62,
		.apply = apply_part,
	},
	[SNOWFLAKE_ORDER] = {
		.name = "order",
		.shapes = true,
		.choices = orders,
		.apply = apply_part,
	},
	[SNOWFLAKE_TICK_MS] = {
		.name = "tick_ms",
		.shapes = true,
		.min = 1,
		.max = SNOWFLAKE_TICK_MAX_MS,
		.apply = apply_part,
	},
	[SNOWFLAKE_EPOCH_MS] = {
		.name = "epoch_ms",
		.shapes = true,
		.max = MS_MAX,
		.apply = apply_part,
	},
	[SNOWFLAKE_REWIND_POLICY] = {
		.name = "rewind_policy",
		.choices = policies,
		.apply = apply_rewind_policy,
	},
	[SNOWFLAKE_REWIND_WAIT_MS] = {
		.name = "rewind_wait_ms",
		.max = REWIND_WAIT_MAX_MS,
		.apply = apply_rewind_wait,
	},
	[SNOWFLAKE_LEAD_LIMIT_MS] = {
		.name = "lead_limit_ms",
		.max = MS_MAX,
		.apply = apply_lead_limit,
	},
	[SNOWFLAKE_FORWARD_LIMIT_MS] = {
		.name = "forward_limit_ms",
		.max = MS_MAX,
		.apply = apply_forward_limit,
	},
	[SNOWFLAKE_ACCEPT_JUMP] = {
		.name = "accept_jump",
		.min = 1,
		.max = 1,
		.apply = apply_accept_jump,
	},
	[SNOWFLAKE_NOT_BEFORE_MS] = {
		.name = "not_before_ms",
		.max = MS_MAX,
		.apply = apply_not_before,
	},
	[SNOWFLAKE_NOT_AFTER_MS] = {
		.name = "not_after_ms",
		.max = MS_MAX,
		.apply = apply_not_after,
	},
};

/* The value that a text stands for, if it is one that the item can have. */
static int parse(const struct item *item, const char *text, s64 *value)
{
	int length = min_t(size_t, strcspn(text, "\n"), 32);
	s64 max = item->limit ? item->limit() : item->max;
	int choice;

	if (item->choices) {
		choice = __sysfs_match_string(item->choices, -1, text);
		if (choice >= 0) {
			*value = choice;
			return 0;
		}
		pr_warn_ratelimited("%s '%.*s' refused: there is no such choice\n",
				    item->name, length, text);
		return -EINVAL;
	}
	if (!kstrtos64(text, 10, value) && *value >= item->min && *value <= max)
		return 0;
	pr_warn_ratelimited("%s '%.*s' refused: must be a whole number from %lld to %lld\n",
			    item->name, length, text, item->min, max);
	return -EINVAL;
}

/**
 * snowflake_config_write - write an item
 * @which: the item
 * @text: a decimal number or the word for a choice, which a newline may follow
 *
 * Context: process; what is in force changes after a grace period.
 * Return: 0, once the value is in force on all CPUs; -EINVAL if it is none that
 * the item can have, which is logged; -EBUSY if it cannot be had while there is
 * a worker id; -ECANCELED if this machine was cloned after the write began, since
 * it was decided on before that; -ENOMEM. After an error everything is as it was.
 */
int snowflake_config_write(enum snowflake_item which, const char *text)
{
	const struct item *item = &items[which];
	int clones = atomic_read(&snowflake_host.clones);
	s64 value;
	int err;

	lock_config();
	err = parse(item, text, &value);
	if (!err && item->shapes && in_force)
		err = -EBUSY;
	if (!err && item->apply)
		err = item->apply(value, clones);
	if (!err && which != SNOWFLAKE_WORKER_ID)
		asked[which] = value;
	mutex_unlock(&config_lock);
	if (!err && item->apply)
		snowflake_watch_wake();
	return err;
}

/**
 * snowflake_config_print - print an item
 * @which: the item
 * @buf: a page
 *
 * Context: process.
 * Return: the length of what was printed.
 */
int snowflake_config_print(enum snowflake_item which, char *buf)
{
	const struct item *item = &items[which];
	s64 value;

	lock_config();
	value = which == SNOWFLAKE_CPU_BLOCK ? cpu_block() : asked[which];
	mutex_unlock(&config_lock);

	if (item->choices)
		return sysfs_emit(buf, "%s\n", item->choices[value]);
	return sysfs_emit(buf, "%lld\n", value);
}

/**
 * snowflake_config_layout - the layout that is or will be in force
 * @layout: where a copy goes
 *
 * Context: process.
 */
void snowflake_config_layout(struct snowflake_layout *layout)
{
	lock_config();
	*layout = asked_layout();
	mutex_unlock(&config_lock);
}

/**
 * snowflake_config_info - what ids look like and whose they are
 * @info: what is known of it here is filled in
 *
 * Context: process.
 */
void snowflake_config_info(struct snowflake_info *info)
{
	lock_config();
	info->worker_id = asked[SNOWFLAKE_WORKER_ID];
	info->worker_count = asked[SNOWFLAKE_WORKER_COUNT];
	info->epoch_ms = asked[SNOWFLAKE_EPOCH_MS];
	info->not_before_ms = asked[SNOWFLAKE_NOT_BEFORE_MS];
	info->not_after_ms = asked[SNOWFLAKE_NOT_AFTER_MS];
	info->generation = snowflake_host_generation();
	info->tick_ms = asked[SNOWFLAKE_TICK_MS];
	info->timestamp_bits = asked[SNOWFLAKE_TIMESTAMP_BITS];
	info->worker_bits = asked[SNOWFLAKE_WORKER_BITS];
	info->sequence_bits = asked[SNOWFLAKE_SEQUENCE_BITS];
	info->order = asked[SNOWFLAKE_ORDER];
	info->sharing = asked[SNOWFLAKE_SHARING];
	mutex_unlock(&config_lock);
}

/**
 * snowflake_config_last_ms - the latest timestamp that an id may have
 *
 * Context: process.
 * Return: Unix milliseconds; 0 as long as there was no worker id.
 */
u64 snowflake_config_last_ms(void)
{
	s64 until = 0;

	lock_config();
	if (in_force)
		until = snowflake_config_used(in_force);
	else if (!snowflake_history_latest(&history, &until))
		until = 0;
	mutex_unlock(&config_lock);
	return until > 0 ? div_u64(until - 1, NSEC_PER_MSEC) : 0;
}

/**
 * snowflake_config_init - begin with the defaults and without a worker id
 */
void snowflake_config_init(void)
{
	asked[SNOWFLAKE_WORKER_ID] = -1;
	asked[SNOWFLAKE_WORKER_COUNT] = 1;
	asked[SNOWFLAKE_REWIND_WAIT_MS] = 10;
	asked[SNOWFLAKE_LEAD_LIMIT_MS] = 10000;
	snowflake_host.rewind_wait_ms = asked[SNOWFLAKE_REWIND_WAIT_MS];
	snowflake_clock_set_lead_limit(&snowflake_host.clock,
				       asked[SNOWFLAKE_LEAD_LIMIT_MS]);
	ask_for_layout(&snowflake_layouts[SNOWFLAKE_TWITTER]);
	rcu_assign_pointer(snowflake_host.config, &snowflake_config_no_worker);
}

/**
 * snowflake_config_exit - give up the worker id before the module goes
 *
 * Context: process; nobody can read, write or report a clone any more.
 */
void snowflake_config_exit(void)
{
	flush_work(&drop_work);
	lock_config();
	if (in_force)
		put_in_force(NULL, clones_heeded);
	mutex_unlock(&config_lock);
}

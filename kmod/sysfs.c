// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The attributes, in /sys/class/misc/snowflake: one value a file.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "clone.h"
#include "config.h"
#include "host.h"
#include "watch.h"

/* An attribute that is an item of the configuration. */
struct item_attribute {
	struct device_attribute attr;
	enum snowflake_item item;
};

static enum snowflake_item item_of(struct device_attribute *attr)
{
	return container_of(attr, struct item_attribute, attr)->item;
}

static ssize_t item_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return snowflake_config_print(item_of(attr), buf);
}

static ssize_t item_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	return snowflake_config_write(item_of(attr), buf) ?: count;
}

#define ITEM_ATTR(_name, _mode, _show, _item)				\
static struct item_attribute item_attr_##_name = {			\
	.attr = __ATTR(_name, _mode, _show, item_store),		\
	.item = _item,							\
}

#define ITEM_ATTR_RW(_name, _item)					\
	ITEM_ATTR(_name, 0644, item_show, _item)

/* An attribute that is a value to look at. */
#define VALUE_ATTR_RO(name, value)					\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%llu\n", (u64)(value));			\
}									\
									\
static DEVICE_ATTR_RO(name)

/* To the nearest millisecond. */
static u64 ms(u64 ns)
{
	return div_u64(ns + NSEC_PER_MSEC / 2, NSEC_PER_MSEC);
}

ITEM_ATTR_RW(worker_id, SNOWFLAKE_WORKER_ID);
ITEM_ATTR_RW(worker_count, SNOWFLAKE_WORKER_COUNT);
ITEM_ATTR_RW(sharing, SNOWFLAKE_SHARING);
ITEM_ATTR_RW(cpu_block, SNOWFLAKE_CPU_BLOCK);
ITEM_ATTR_RW(sequence_start, SNOWFLAKE_SEQUENCE_START);
ITEM_ATTR_RW(rewind_policy, SNOWFLAKE_REWIND_POLICY);
ITEM_ATTR_RW(rewind_wait_ms, SNOWFLAKE_REWIND_WAIT_MS);
ITEM_ATTR_RW(lead_limit_ms, SNOWFLAKE_LEAD_LIMIT_MS);
ITEM_ATTR_RW(forward_limit_ms, SNOWFLAKE_FORWARD_LIMIT_MS);
ITEM_ATTR(accept_jump, 0200, NULL, SNOWFLAKE_ACCEPT_JUMP);
ITEM_ATTR_RW(not_before_ms, SNOWFLAKE_NOT_BEFORE_MS);
ITEM_ATTR_RW(not_after_ms, SNOWFLAKE_NOT_AFTER_MS);

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%s\n", snowflake_watch_state());
}
static DEVICE_ATTR_RO(state);

VALUE_ATTR_RO(generation, snowflake_host_generation());
VALUE_ATTR_RO(clone_detection, snowflake_clone_detection());

/* Upwards, so that 0 means none. */
static u64 lead_ms(void)
{
	return div_u64(snowflake_clock_lead(&snowflake_host.clock) +
		       NSEC_PER_MSEC - 1, NSEC_PER_MSEC);
}
VALUE_ATTR_RO(lead_ms, lead_ms());
VALUE_ATTR_RO(last_timestamp_ms, snowflake_config_last_ms());

static struct attribute *snowflake_attrs[] = {
	&item_attr_worker_id.attr.attr,
	&item_attr_worker_count.attr.attr,
	&item_attr_sharing.attr.attr,
	&item_attr_cpu_block.attr.attr,
	&item_attr_sequence_start.attr.attr,
	&item_attr_rewind_policy.attr.attr,
	&item_attr_rewind_wait_ms.attr.attr,
	&item_attr_lead_limit_ms.attr.attr,
	&item_attr_forward_limit_ms.attr.attr,
	&item_attr_accept_jump.attr.attr,
	&item_attr_not_before_ms.attr.attr,
	&item_attr_not_after_ms.attr.attr,
	&dev_attr_state.attr,
	&dev_attr_generation.attr,
	&dev_attr_clone_detection.attr,
	&dev_attr_lead_ms.attr,
	&dev_attr_last_timestamp_ms.attr,
	NULL
};

static const struct attribute_group snowflake_group = {
	.attrs = snowflake_attrs,
};

/* layout/ */

static u64 ends(void)
{
	struct snowflake_layout layout;

	snowflake_config_layout(&layout);
	if (snowflake_layout_check(&layout, U64_MAX))
		return 0;
	return snowflake_layout_ends_ms(&layout);
}

ITEM_ATTR_RW(preset, SNOWFLAKE_PRESET);
ITEM_ATTR_RW(timestamp_bits, SNOWFLAKE_TIMESTAMP_BITS);
ITEM_ATTR_RW(worker_bits, SNOWFLAKE_WORKER_BITS);
ITEM_ATTR_RW(sequence_bits, SNOWFLAKE_SEQUENCE_BITS);
ITEM_ATTR_RW(order, SNOWFLAKE_ORDER);
ITEM_ATTR_RW(tick_ms, SNOWFLAKE_TICK_MS);
ITEM_ATTR_RW(epoch_ms, SNOWFLAKE_EPOCH_MS);
VALUE_ATTR_RO(ends_ms, ends());

static struct attribute *layout_attrs[] = {
	&item_attr_preset.attr.attr,
	&item_attr_timestamp_bits.attr.attr,
	&item_attr_worker_bits.attr.attr,
	&item_attr_sequence_bits.attr.attr,
	&item_attr_order.attr.attr,
	&item_attr_tick_ms.attr.attr,
	&item_attr_epoch_ms.attr.attr,
	&dev_attr_ends_ms.attr,
	NULL
};

static const struct attribute_group layout_group = {
	.name = "layout",
	.attrs = layout_attrs,
};

/* stats/ */

static u64 minted(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += local64_read(&per_cpu(snowflake_blocks, cpu).minted);
	return sum;
}

static struct snowflake_steps steps(void)
{
	struct snowflake_steps steps;

	snowflake_clock_steps(&snowflake_host.clock, &steps);
	return steps;
}

VALUE_ATTR_RO(ids, minted());
VALUE_ATTR_RO(refused, atomic64_read(&snowflake_host.refused));
VALUE_ATTR_RO(exhausted, atomic64_read(&snowflake_host.exhausted));
VALUE_ATTR_RO(rewinds, steps().rewinds);
VALUE_ATTR_RO(rewind_last_ms, ms(steps().rewind_last_ns));
VALUE_ATTR_RO(rewind_max_ms, ms(steps().rewind_max_ns));
VALUE_ATTR_RO(rewind_total_ms, ms(steps().rewind_total_ns));
VALUE_ATTR_RO(forward_steps, steps().forward);
VALUE_ATTR_RO(forward_max_ms, ms(steps().forward_max_ns));
VALUE_ATTR_RO(clones, atomic_read(&snowflake_host.clones));

static struct attribute *stats_attrs[] = {
	&dev_attr_ids.attr,
	&dev_attr_refused.attr,
	&dev_attr_exhausted.attr,
	&dev_attr_rewinds.attr,
	&dev_attr_rewind_last_ms.attr,
	&dev_attr_rewind_max_ms.attr,
	&dev_attr_rewind_total_ms.attr,
	&dev_attr_forward_steps.attr,
	&dev_attr_forward_max_ms.attr,
	&dev_attr_clones.attr,
	NULL
};

static const struct attribute_group stats_group = {
	.name = "stats",
	.attrs = stats_attrs,
};

const struct attribute_group *snowflake_groups[] = {
	&snowflake_group,
	&layout_group,
	&stats_group,
	NULL
};

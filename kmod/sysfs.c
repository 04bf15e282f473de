// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The attributes, in /sys/class/misc/snowflake: one value a file.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "config.h"
#include "host.h"

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
	return sysfs_emit(buf, "%lld\n", snowflake_config_read(item_of(attr)));
}

static ssize_t item_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	return snowflake_config_write(item_of(attr), buf) ?: count;
}

#define ITEM_ATTR_RW(_name, _item)					\
static struct item_attribute item_attr_##_name = {			\
	.attr = __ATTR(_name, 0644, item_show, item_store),		\
	.item = _item,							\
}

/* An attribute that is a value to look at. */
#define VALUE_ATTR_RO(name, value)					\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%llu\n", (u64)(value));			\
}									\
									\
static DEVICE_ATTR_RO(name)

static struct snowflake_layout layout(void)
{
	struct snowflake_layout layout;

	snowflake_config_layout(&layout);
	return layout;
}

ITEM_ATTR_RW(worker_id, SNOWFLAKE_WORKER_ID);
ITEM_ATTR_RW(worker_count, SNOWFLAKE_WORKER_COUNT);
ITEM_ATTR_RW(cpu_block, SNOWFLAKE_CPU_BLOCK);
ITEM_ATTR_RW(rewind_wait_ms, SNOWFLAKE_REWIND_WAIT_MS);

static const char * const states[] = {
	[SNOWFLAKE_GIVEN] = "running",
	[SNOWFLAKE_EXHAUSTED] = "running",
	[SNOWFLAKE_CLOSED] = "running",
	[SNOWFLAKE_SKEWED] = "running",
	[SNOWFLAKE_NO_WORKER] = "no-worker",
	[SNOWFLAKE_ENDED] = "ended",
	[SNOWFLAKE_BEHIND] = "behind",
};

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct snowflake_run run;

	preempt_disable();
	run = snowflake_generator_probe(&snowflake_host.generator,
					&snowflake_host.clock);
	preempt_enable();
	return sysfs_emit(buf, "%s\n", states[run.verdict]);
}
static DEVICE_ATTR_RO(state);

/* 0 as long as there is nothing to tell. */
static u64 last_timestamp(void)
{
	struct snowflake_layout in = layout();
	u64 tick;

	if (!snowflake_generator_last_tick(&snowflake_host.generator, &in,
					   &tick))
		return 0;
	return snowflake_layout_tick_to_ms(&in, tick);
}
VALUE_ATTR_RO(last_timestamp_ms, last_timestamp());

static struct attribute *snowflake_attrs[] = {
	&item_attr_worker_id.attr.attr,
	&item_attr_worker_count.attr.attr,
	&item_attr_cpu_block.attr.attr,
	&item_attr_rewind_wait_ms.attr.attr,
	&dev_attr_state.attr,
	&dev_attr_last_timestamp_ms.attr,
	NULL
};

static const struct attribute_group snowflake_group = {
	.attrs = snowflake_attrs,
};

/* layout/ */

static ssize_t preset_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "twitter\n");
}
static DEVICE_ATTR_RO(preset);

static ssize_t order_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "worker-sequence\n");
}
static DEVICE_ATTR_RO(order);

static u64 ends(void)
{
	struct snowflake_layout in = layout();

	return snowflake_layout_tick_to_ms(&in, snowflake_layout_last_tick(&in));
}

VALUE_ATTR_RO(timestamp_bits, layout().timestamp_bits);
VALUE_ATTR_RO(worker_bits, layout().worker_bits);
VALUE_ATTR_RO(sequence_bits, layout().sequence_bits);
VALUE_ATTR_RO(tick_ms, layout().tick_ms);
VALUE_ATTR_RO(epoch_ms, layout().epoch_ms);
VALUE_ATTR_RO(ends_ms, ends());

static struct attribute *layout_attrs[] = {
	&dev_attr_preset.attr,
	&dev_attr_timestamp_bits.attr,
	&dev_attr_worker_bits.attr,
	&dev_attr_sequence_bits.attr,
	&dev_attr_order.attr,
	&dev_attr_tick_ms.attr,
	&dev_attr_epoch_ms.attr,
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

/* To the nearest millisecond. */
static u64 ms(u64 ns)
{
	return div_u64(ns + NSEC_PER_MSEC / 2, NSEC_PER_MSEC);
}

VALUE_ATTR_RO(ids, minted());
VALUE_ATTR_RO(refused, atomic64_read(&snowflake_host.refused));
VALUE_ATTR_RO(exhausted, atomic64_read(&snowflake_host.exhausted));
VALUE_ATTR_RO(rewinds, steps().rewinds);
VALUE_ATTR_RO(rewind_last_ms, ms(steps().rewind_last_ns));
VALUE_ATTR_RO(rewind_max_ms, ms(steps().rewind_max_ns));
VALUE_ATTR_RO(rewind_total_ms, ms(steps().rewind_total_ns));

static struct attribute *stats_attrs[] = {
	&dev_attr_ids.attr,
	&dev_attr_refused.attr,
	&dev_attr_exhausted.attr,
	&dev_attr_rewinds.attr,
	&dev_attr_rewind_last_ms.attr,
	&dev_attr_rewind_max_ms.attr,
	&dev_attr_rewind_total_ms.attr,
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

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What there is once on a host: all rooms of the module share it.
 */
#ifndef SNOWFLAKE_HOST_H
#define SNOWFLAKE_HOST_H

#include <linux/percpu.h>

#include "clock.h"
#include "generator.h"
#include "uapi/snowflake.h"

/**
 * struct snowflake_host - the generator of this host and what is told about it
 * @config: the configuration in force, never NULL
 * @clock: the clock
 * @page: the page that programs can map
 * @era: files opened from now on belong to this era
 * @rewind_wait_ms: how long a read waits at most while behind, in ms
 * @refused: reads that failed, but for EAGAIN, EINVAL, EFAULT and signals
 * @exhausted: times a reader had to wait for a tick
 * @clones: how often this machine was reported to be a clone
 */
struct snowflake_host {
	const struct snowflake_config __rcu *config;
	struct snowflake_clock clock ____cacheline_aligned;
	struct snowflake_page *page;
	u32 era;
	unsigned int rewind_wait_ms;
	atomic64_t refused ____cacheline_aligned;
	atomic64_t exhausted;
	atomic_t clones;
};

extern struct snowflake_host snowflake_host;
DECLARE_PER_CPU_ALIGNED(struct snowflake_block, snowflake_blocks);

/* The device, whose operations are in device.c and attributes in sysfs.c. */
extern const struct file_operations snowflake_fops;
extern const struct attribute_group *snowflake_groups[];

/**
 * snowflake_host_config - the configuration in force
 *
 * Context: preemption disabled, which keeps the configuration alive.
 * Return: the configuration.
 */
static __always_inline const struct snowflake_config *snowflake_host_config(void)
{
	return rcu_dereference_sched(snowflake_host.config);
}

u32 snowflake_host_generation(void);
void snowflake_host_generation_raise(void);

#endif /* SNOWFLAKE_HOST_H */

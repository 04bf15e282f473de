/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What there is once on a host: all rooms of the module share it.
 */
#ifndef SNOWFLAKE_HOST_H
#define SNOWFLAKE_HOST_H

#include <linux/percpu.h>

#include "clock.h"
#include "generator.h"

/**
 * struct snowflake_host - the generator of this host and what is told about it
 * @generator: the word and the configuration in force
 * @clock: the clock
 * @rewind_wait_ms: how long a read waits at most while behind, in ms
 * @refused: reads that failed, but for EAGAIN, EINVAL, EFAULT and signals
 * @exhausted: times a reader had to wait for a tick
 */
struct snowflake_host {
	struct snowflake_generator generator;
	struct snowflake_clock clock;
	unsigned int rewind_wait_ms;
	atomic64_t refused;
	atomic64_t exhausted;
};

extern struct snowflake_host snowflake_host;
DECLARE_PER_CPU_ALIGNED(struct snowflake_block, snowflake_blocks);

/* The device, whose attributes are in sysfs.c. */
extern const struct file_operations snowflake_fops;
extern const struct attribute_group *snowflake_groups[];

#endif /* SNOWFLAKE_HOST_H */

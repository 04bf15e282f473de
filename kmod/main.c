// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Load and unload, and the boot values of the configuration.
 */
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "config.h"
#include "host.h"
#include "watch.h"

struct snowflake_host snowflake_host = {
	.rewind_wait_ms = 10,
};

DEFINE_PER_CPU_ALIGNED(struct snowflake_block, snowflake_blocks);

/* Text, so that one parser with its words serves attributes and parameters. */
static char *worker_id;
module_param(worker_id, charp, 0);
MODULE_PARM_DESC(worker_id, "First worker id of this host, -1 for none (default -1)");

static char *worker_count;
module_param(worker_count, charp, 0);
MODULE_PARM_DESC(worker_count, "How many worker ids this host has (default 1)");

static struct miscdevice snowflake_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "snowflake",
	.fops = &snowflake_fops,
	.groups = snowflake_groups,
	.mode = 0444,
};

static int __init boot_value(enum snowflake_item item, const char *text)
{
	return text ? snowflake_config_write(item, text) : 0;
}

static int __init snowflake_init(void)
{
	int err;

	snowflake_clock_init(&snowflake_host.clock);
	snowflake_generator_init(&snowflake_host.generator);

	err = snowflake_watch_init();
	if (err)
		return err;

	/* The worker id last: it puts the others in force. */
	err = boot_value(SNOWFLAKE_WORKER_COUNT, worker_count) ?:
	      boot_value(SNOWFLAKE_WORKER_ID, worker_id);
	if (err)
		goto err_config;

	err = misc_register(&snowflake_device);
	if (err)
		goto err_config;
	return 0;

err_config:
	snowflake_config_exit();
	snowflake_watch_exit();
	return err;
}

static void __exit snowflake_exit(void)
{
	misc_deregister(&snowflake_device);
	snowflake_config_exit();
	snowflake_watch_exit();
}

module_init(snowflake_init);
module_exit(snowflake_exit);

MODULE_DESCRIPTION("Unique, time-sortable 64-bit ids for every process of a host");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("0.1.0");

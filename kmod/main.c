// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Load and unload, and the boot values of the configuration.
 */
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "clone.h"
#include "config.h"
#include "host.h"
#include "watch.h"

struct snowflake_host snowflake_host;

DEFINE_PER_CPU_ALIGNED(struct snowflake_block, snowflake_blocks);

/*
 * The boot values, in the order in which they are taken: the worker id last,
 * since it puts the others in force. They are text, so that one parser with its
 * words serves attributes and parameters.
 */
static struct boot_value {
	enum snowflake_item item;
	char *text;
} boot_values[] = {
	{ SNOWFLAKE_PRESET },
	{ SNOWFLAKE_EPOCH_MS },
	{ SNOWFLAKE_WORKER_COUNT },
	{ SNOWFLAKE_NOT_BEFORE_MS },
	{ SNOWFLAKE_NOT_AFTER_MS },
	{ SNOWFLAKE_WORKER_ID },
};

module_param_named(layout, boot_values[0].text, charp, 0);
MODULE_PARM_DESC(layout, "Layout of ids: twitter (default), instagram, discord, sonyflake or js53");
module_param_named(epoch_ms, boot_values[1].text, charp, 0);
MODULE_PARM_DESC(epoch_ms, "Instant of timestamp 0, in Unix ms (default: that of the layout)");
module_param_named(worker_count, boot_values[2].text, charp, 0);
MODULE_PARM_DESC(worker_count, "How many worker ids this host has (default 1)");
module_param_named(not_before_ms, boot_values[3].text, charp, 0);
MODULE_PARM_DESC(not_before_ms, "No id has an earlier timestamp, Unix ms (default 0: open)");
module_param_named(not_after_ms, boot_values[4].text, charp, 0);
MODULE_PARM_DESC(not_after_ms, "All ids have an earlier timestamp, Unix ms (default 0: open)");
module_param_named(worker_id, boot_values[5].text, charp, 0);
MODULE_PARM_DESC(worker_id, "First worker id of this host, -1 for none (default -1)");

static struct miscdevice snowflake_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "snowflake",
	.fops = &snowflake_fops,
	.groups = snowflake_groups,
	.mode = 0444,
};

/* Seen as an atomic_t here; programs that map the page only look. */
static atomic_t *generation(void)
{
	BUILD_BUG_ON(sizeof(atomic_t) !=
		     sizeof(snowflake_host.page->generation));
	return (atomic_t *)&snowflake_host.page->generation;
}

/**
 * snowflake_host_generation - the value of the page that programs can map
 *
 * Return: the generation.
 */
u32 snowflake_host_generation(void)
{
	return atomic_read(generation());
}

/**
 * snowflake_host_generation_raise - tell programs that ids they keep are old
 *
 * Context: any, the timekeeper's callbacks included.
 */
void snowflake_host_generation_raise(void)
{
	/* 0 is for programs that have not looked yet. */
	if (!atomic_inc_return(generation()))
		atomic_inc(generation());
}

static int __init take_boot_values(void)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(boot_values); i++) {
		if (!boot_values[i].text)
			continue;
		err = snowflake_config_write(boot_values[i].item,
					     boot_values[i].text);
		if (err)
			return err;
	}
	return 0;
}

static int __init snowflake_init(void)
{
	int err;

	snowflake_host.page = (void *)get_zeroed_page(GFP_KERNEL);
	if (!snowflake_host.page)
		return -ENOMEM;
	snowflake_host_generation_raise();
	snowflake_clock_init(&snowflake_host.clock);
	snowflake_config_init();

	err = snowflake_watch_init();
	if (err)
		goto err_page;
	err = snowflake_clone_init();
	if (err)
		goto err_watch;
	err = take_boot_values();
	if (err)
		goto err_clone;
	err = misc_register(&snowflake_device);
	if (err)
		goto err_clone;
	snowflake_watch_notify(snowflake_device.this_device);
	return 0;

err_clone:
	snowflake_clone_exit();
	snowflake_config_exit();
err_watch:
	snowflake_watch_exit();
err_page:
	free_page((unsigned long)snowflake_host.page);
	return err;
}

static void __exit snowflake_exit(void)
{
	snowflake_watch_notify(NULL);
	misc_deregister(&snowflake_device);
	snowflake_clone_exit();
	snowflake_config_exit();
	snowflake_watch_exit();
	free_page((unsigned long)snowflake_host.page);
}

module_init(snowflake_init);
module_exit(snowflake_exit);

MODULE_DESCRIPTION("Unique, time-sortable 64-bit ids for every process of a host");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("0.1.0");

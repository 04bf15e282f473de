// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * VM clones: two machines that run on from one snapshot have the same worker id
 * and the same clock, and would mint the same ids. When the kernel reports that
 * this machine is such a clone, it drops its worker id.
 *
 * The report is asynchronous: ids read in the instants between resuming and the
 * report can repeat.
 */
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/random.h>

#include "clone.h"
#include "config.h"

/* In process context as a rule, but in an interrupt where firmware uses those. */
static int cloned(struct notifier_block *block, unsigned long action,
		  void *data)
{
	snowflake_config_clone();
	pr_warn_ratelimited("this machine is a clone: its worker id is dropped, give it one of its own\n");
	return NOTIFY_OK;
}

static struct notifier_block clone_block = {
	.notifier_call = cloned,
};

/**
 * snowflake_clone_init - begin to heed reports of clones
 *
 * Context: process; the configuration is initialized.
 * Return: 0, or a negative errno.
 */
int snowflake_clone_init(void)
{
	return register_random_vmfork_notifier(&clone_block);
}

/**
 * snowflake_clone_exit - no longer heed them
 *
 * Context: process; returns when no report is being heeded.
 */
void snowflake_clone_exit(void)
{
	unregister_random_vmfork_notifier(&clone_block);
}

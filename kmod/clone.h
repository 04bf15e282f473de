/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * VM clones, as the kernel reports them.
 */
#ifndef SNOWFLAKE_CLONE_H
#define SNOWFLAKE_CLONE_H

#include <linux/kconfig.h>
#include <linux/types.h>

int snowflake_clone_init(void);
void snowflake_clone_exit(void);

/**
 * snowflake_clone_detection - whether this kernel can report clones
 *
 * Where it cannot, registering for reports succeeds all the same.
 *
 * Return: true if it can.
 */
static inline bool snowflake_clone_detection(void)
{
	return IS_ENABLED(CONFIG_VMGENID);
}

#endif /* SNOWFLAKE_CLONE_H */

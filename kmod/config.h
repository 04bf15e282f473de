/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The configuration: what root asks for, checked, and put in force.
 */
#ifndef SNOWFLAKE_CONFIG_H
#define SNOWFLAKE_CONFIG_H

#include <linux/types.h>

#include "layout.h"

/**
 * enum snowflake_item - what can be configured, each a whole number
 * @SNOWFLAKE_WORKER_ID: first worker id of this host, -1 for none
 * @SNOWFLAKE_WORKER_COUNT: how many worker ids this host has
 * @SNOWFLAKE_CPU_BLOCK: numbers in a CPU's full block
 * @SNOWFLAKE_REWIND_WAIT_MS: how long a read waits at most while behind, in ms
 */
enum snowflake_item {
	SNOWFLAKE_WORKER_ID,
	SNOWFLAKE_WORKER_COUNT,
	SNOWFLAKE_CPU_BLOCK,
	SNOWFLAKE_REWIND_WAIT_MS,
};

int snowflake_config_write(enum snowflake_item item, const char *text);
s64 snowflake_config_read(enum snowflake_item item);
void snowflake_config_layout(struct snowflake_layout *layout);
int snowflake_config_wait(void);
void snowflake_config_exit(void);

#endif /* SNOWFLAKE_CONFIG_H */

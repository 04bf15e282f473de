/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The configuration: what root asks for, checked, and put in force.
 */
#ifndef SNOWFLAKE_CONFIG_H
#define SNOWFLAKE_CONFIG_H

#include <linux/types.h>

#include "layout.h"

/**
 * enum snowflake_item - what can be configured
 * @SNOWFLAKE_WORKER_ID: first worker id of this host, -1 for none
 * @SNOWFLAKE_WORKER_COUNT: how many worker ids this host has
 * @SNOWFLAKE_SHARING: how files share the worker ids
 * @SNOWFLAKE_CPU_BLOCK: numbers in a CPU's full block
 * @SNOWFLAKE_SEQUENCE_START: what the first number of a tick is
 * @SNOWFLAKE_PRESET: a layout that has a name
 * @SNOWFLAKE_TIMESTAMP_BITS: width of the timestamp field
 * @SNOWFLAKE_WORKER_BITS: width of the worker id field
 * @SNOWFLAKE_SEQUENCE_BITS: width of the sequence field
 * @SNOWFLAKE_ORDER: what stands below the timestamp
 * @SNOWFLAKE_TICK_MS: length of a tick, in ms
 * @SNOWFLAKE_EPOCH_MS: the instant of tick 0, in Unix ms
 * @SNOWFLAKE_REWIND_POLICY: what happens after the clock was set back
 * @SNOWFLAKE_REWIND_WAIT_MS: how long a read waits at most while behind, in ms
 * @SNOWFLAKE_LEAD_LIMIT_MS: how far ids may lead while slewing, in ms
 * @SNOWFLAKE_FORWARD_LIMIT_MS: how far the clock may be set ahead, in ms
 * @SNOWFLAKE_ACCEPT_JUMP: mint though it was set ahead further
 * @SNOWFLAKE_NOT_BEFORE_MS: start of the window, in Unix ms
 * @SNOWFLAKE_NOT_AFTER_MS: end of the window, in Unix ms
 * @SNOWFLAKE_ITEMS: how many there are
 */
enum snowflake_item {
	SNOWFLAKE_WORKER_ID,
	SNOWFLAKE_WORKER_COUNT,
	SNOWFLAKE_SHARING,
	SNOWFLAKE_CPU_BLOCK,
	SNOWFLAKE_SEQUENCE_START,
	SNOWFLAKE_PRESET,
	SNOWFLAKE_TIMESTAMP_BITS,
	SNOWFLAKE_WORKER_BITS,
	SNOWFLAKE_SEQUENCE_BITS,
	SNOWFLAKE_ORDER,
	SNOWFLAKE_TICK_MS,
	SNOWFLAKE_EPOCH_MS,
	SNOWFLAKE_REWIND_POLICY,
	SNOWFLAKE_REWIND_WAIT_MS,
	SNOWFLAKE_LEAD_LIMIT_MS,
	SNOWFLAKE_FORWARD_LIMIT_MS,
	SNOWFLAKE_ACCEPT_JUMP,
	SNOWFLAKE_NOT_BEFORE_MS,
	SNOWFLAKE_NOT_AFTER_MS,
	SNOWFLAKE_ITEMS,
};

struct snowflake_info;

void snowflake_config_init(void);
void snowflake_config_exit(void);
int snowflake_config_write(enum snowflake_item item, const char *text);
int snowflake_config_print(enum snowflake_item item, char *buf);
void snowflake_config_layout(struct snowflake_layout *layout);
void snowflake_config_info(struct snowflake_info *info);
u64 snowflake_config_last_ms(void);
int snowflake_config_wait(void);
void snowflake_config_clone(void);

#endif /* SNOWFLAKE_CONFIG_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The watch: notices what happens while nobody reads.
 */
#ifndef SNOWFLAKE_WATCH_H
#define SNOWFLAKE_WATCH_H

#include <linux/poll.h>
#include <linux/types.h>

struct device;

int snowflake_watch_init(void);
void snowflake_watch_notify(struct device *device);
void snowflake_watch_exit(void);
void snowflake_watch_poll(struct file *file, poll_table *table);
void snowflake_watch_until(s64 until);
void snowflake_watch_wake(void);
void snowflake_watch_end(u64 ends_ms);
const char *snowflake_watch_state(void);

#endif /* SNOWFLAKE_WATCH_H */

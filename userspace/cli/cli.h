/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the snowflake command share.
 */
#ifndef SNOWFLAKE_CLI_H
#define SNOWFLAKE_CLI_H

#include "../../kmod/layout.h"

#define __printf(a, b) __attribute((__format__(__printf__, a, b)))

#define DEVICE "/dev/snowflake"

/* Tests build the command with a folder of their own here. */
#ifndef SYSFS
#define SYSFS "/sys/class/misc/snowflake"
#endif

/* Exit statuses; main.c's help and the manual page list them. */
enum status {
	STATUS_OK,
	STATUS_ERROR,
	STATUS_USAGE,
	STATUS_REFUSED,
	STATUS_NO_WORKER,
	STATUS_NO_DEVICE,
	STATUS_NO_PERMISSION,
};

/* The call that failed: one errno means different things from different ones. */
enum call {
	CALL_OPEN,
	CALL_READ,
};

/* One subcommand is one file. argv[0] is the program's name. */
enum status next_main(int argc, char **argv);
enum status decode_main(int argc, char **argv);

/* errors.c */
void complain(const char *format, ...) __printf(1, 2);
enum status wrong_usage(const char *command);
enum status explain(enum call call, const char *device, int err);
bool flushed(void);

/* number.c: NULL, or what is wrong with the text */
const char *parse_decimal(const char *text, u64 *value);
const char *parse_id(const char *text, u64 *id);

/* sysfs.c */
#define PRESET_SIZE 32

/**
 * struct named_layout - a layout and what it is called
 * @preset: its name
 * @layout: the layout
 */
struct named_layout {
	char preset[PRESET_SIZE];
	struct snowflake_layout layout;
};

bool sysfs_number(const char *attribute, u64 *value);
enum status sysfs_layout(struct named_layout *layout);

/* time.c */
#define TIME_SIZE 80

u64 time_now_ms(void);
const char *time_text(u64 ms, char text[TIME_SIZE]);

#endif /* SNOWFLAKE_CLI_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the snowflake command share.
 */
#ifndef SNOWFLAKE_CLI_H
#define SNOWFLAKE_CLI_H

#include <inttypes.h>
#include <stdbool.h>

#include <snowflake.h>

#define __printf(a, b) __attribute__((__format__(__printf__, a, b)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Tests build the command with a device and a folder of their own here. */
#ifndef DEVICE
#define DEVICE SNOWFLAKE_DEVICE
#endif
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

/* One subcommand is one file. argv[0] is the program's name. */
enum status next_main(int argc, char **argv);
enum status decode_main(int argc, char **argv);
enum status range_main(int argc, char **argv);
enum status status_main(int argc, char **argv);
enum status set_main(int argc, char **argv);
enum status capacity_main(int argc, char **argv);
enum status watch_main(int argc, char **argv);
enum status bench_main(int argc, char **argv);

/* errors.c */
void complain(const char *format, ...) __printf(1, 2);
enum status wrong_usage(const char *command);
enum status wrong_operand(const char *command, const char *operand);
enum status explain(enum snowflake_call call, const char *device, int err);
enum status status_of(enum snowflake_call call, int err);
bool flushed(void);

/* text.c: NULL, or what is wrong with the text */
#define GROUPED_SIZE 28
#define LENGTH_SIZE 32
#define SHARE_SIZE 16

const char *parse_number(const char *text, uint64_t *value);
const char *parse_id(const char *text, uint64_t *id);
const char *parse_format(const char *text, enum snowflake_format *format);
const char *parse_instant(const char *text, int64_t now_ms, int64_t *unix_ms);
const char *parse_seconds(const char *text, unsigned int min_ms,
			  unsigned int *ms);
bool is_option(const char *argument);
const char *grouped(uint64_t number, char text[GROUPED_SIZE]);
const char *time_text(int64_t unix_ms, char text[SNOWFLAKE_TIME_SIZE]);
const char *length_text(uint64_t ms, char text[LENGTH_SIZE]);
const char *share_text(uint64_t part, uint64_t whole, char text[SHARE_SIZE]);

/* bar.c */
void print_bar(const struct snowflake_id_layout *layout, uint64_t id);

/* clocks.c */
int64_t now_unix_ms(void);
uint64_t now_ns(void);
uint64_t per_second(uint64_t count, uint64_t ns);

/* json.c */
void json_open(const char *name);
void json_close(void);
void json_text(const char *name, const char *text);
void json_number(const char *name, uint64_t number);
void json_id(const char *name, uint64_t id);
void json_bare(const char *name, const char *value);

/**
 * struct progress - how far long work has come
 * @what: what is being done
 * @whole: how much there is to do, 0 if that is not known
 * @next_ns: when to tell next
 * @shown: a line stands there
 * @terminal: it is told at all
 */
struct progress {
	const char *what;
	uint64_t whole;
	uint64_t next_ns;
	bool shown;
	bool terminal;
};

/* progress.c */
void progress_begin(struct progress *progress, const char *what,
		    uint64_t whole, bool lines);
void progress_show(struct progress *progress, uint64_t done);
void progress_end(struct progress *progress);

#endif /* SNOWFLAKE_CLI_H */

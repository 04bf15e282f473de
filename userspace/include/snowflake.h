/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * libsnowflake: unique, time-sortable 64-bit ids from /dev/snowflake.
 *
 *	struct snowflake *sf;
 *	uint64_t id;
 *	int err = snowflake_open(&sf, NULL, 0);
 *
 *	if (!err)
 *		err = snowflake_next(sf, &id);
 *	if (err)
 *		fputs(snowflake_strerror(SNOWFLAKE_IN_NEXT, err), stderr);
 *
 * Functions that can fail return a negative errno, and then change nothing of
 * what they were given pointers to. A handle may be used by any number of
 * threads at once, and goes on to be of use in a forked child. There is nothing
 * to initialize and no state but the handles.
 */
#ifndef SNOWFLAKE_H
#define SNOWFLAKE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The device that a NULL name stands for. */
#define SNOWFLAKE_DEVICE "/dev/snowflake"

/* What names of the local engine begin with. */
#define SNOWFLAKE_LOCAL "local:"

/* A handle: an open device or engine. */
struct snowflake;

/**
 * enum snowflake_flags - how a handle is to behave
 * @SNOWFLAKE_DIRECT: every id is read from the device when it is asked for. For
 *	ids that must rise across processes (cpu_block is 1) rather than within
 *	a tick of each other
 */
enum snowflake_flags {
	SNOWFLAKE_DIRECT = 1,
};

/**
 * enum snowflake_id_order - what stands below the timestamp in an id
 * @SNOWFLAKE_SEQUENCE_LOWEST: the worker id, and the sequence lowest
 * @SNOWFLAKE_WORKER_LOWEST: the sequence, and the worker id lowest
 */
enum snowflake_id_order {
	SNOWFLAKE_SEQUENCE_LOWEST = 0,
	SNOWFLAKE_WORKER_LOWEST = 1,
};

/**
 * struct snowflake_id_layout - the fields of an id
 * @epoch_ms: the instant of timestamp 0, in Unix milliseconds
 * @tick_ms: one unit of the timestamp, in milliseconds, 1 to 1000
 * @timestamp_bits: width of the timestamp field
 * @worker_bits: width of the worker id field
 * @sequence_bits: width of the sequence field
 * @order: an enum snowflake_id_order
 * @reserved: zero
 */
struct snowflake_id_layout {
	uint64_t epoch_ms;
	uint16_t tick_ms;
	uint8_t timestamp_bits;
	uint8_t worker_bits;
	uint8_t sequence_bits;
	uint8_t order;
	uint8_t reserved[2];
};

/**
 * struct snowflake_id_parts - an id taken apart
 * @tick: the timestamp field: ticks since the epoch
 * @time_ms: the start of that tick, in Unix milliseconds; INT64_MAX if later
 * @worker: worker id
 * @sequence: number within the tick
 */
struct snowflake_id_parts {
	uint64_t tick;
	uint64_t time_ms;
	uint64_t worker;
	uint64_t sequence;
};

/**
 * struct snowflake_limits - what a layout has room for
 * @ids_per_tick: ids of one worker id in one tick
 * @ids_per_second: ids of one worker id in one second, rounded down
 * @workers: how many worker ids there are
 * @fleet_per_second: ids of all worker ids in one second, UINT64_MAX if more
 * @last_ms: the start of the last tick, in Unix milliseconds; INT64_MAX if later
 * @span_ms: from the epoch to the end of the last tick, in milliseconds
 */
struct snowflake_limits {
	uint64_t ids_per_tick;
	uint64_t ids_per_second;
	uint64_t workers;
	uint64_t fleet_per_second;
	uint64_t last_ms;
	uint64_t span_ms;
};

/**
 * enum snowflake_format - how an id is written
 * @SNOWFLAKE_DECIMAL: digits, without leading zeros
 * @SNOWFLAKE_HEX: 16 hexadecimal digits, in lower case
 * @SNOWFLAKE_BASE32: 13 digits of Crockford's base 32
 * @SNOWFLAKE_BASE58: 11 digits of base 58, in Bitcoin's alphabet
 * @SNOWFLAKE_BASE62: 11 digits of base 62: 0-9, A-Z, a-z
 * @SNOWFLAKE_JSON: decimal digits as a JSON string, in quotation marks, since
 *	JavaScript rounds numbers above 2^53
 *
 * All but decimal and JSON are of fixed width, so that text sorts as ids do.
 */
enum snowflake_format {
	SNOWFLAKE_DECIMAL,
	SNOWFLAKE_HEX,
	SNOWFLAKE_BASE32,
	SNOWFLAKE_BASE58,
	SNOWFLAKE_BASE62,
	SNOWFLAKE_JSON,
};

/* Room for an id in any format, with the terminating NUL. */
#define SNOWFLAKE_ID_SIZE 24

/* Room for a time, with the terminating NUL. */
#define SNOWFLAKE_TIME_SIZE 40

/**
 * enum snowflake_call - which call failed: what an errno means depends on it
 * @SNOWFLAKE_IN_OPEN: snowflake_open()
 * @SNOWFLAKE_IN_NEXT: snowflake_next(), snowflake_next_timed(), snowflake_fill(),
 *	or read(2) of the device
 * @SNOWFLAKE_IN_BIND: snowflake_bind()
 * @SNOWFLAKE_IN_INFO: snowflake_get_layout(), snowflake_get_workers()
 * @SNOWFLAKE_IN_TEXT: the functions that take or write text, ids and layouts
 */
enum snowflake_call {
	SNOWFLAKE_IN_OPEN,
	SNOWFLAKE_IN_NEXT,
	SNOWFLAKE_IN_BIND,
	SNOWFLAKE_IN_INFO,
	SNOWFLAKE_IN_TEXT,
};

/* A handle. */

int snowflake_open(struct snowflake **sf, const char *name, unsigned int flags);
void snowflake_close(struct snowflake *sf);

int snowflake_next(struct snowflake *sf, uint64_t *id);
int snowflake_next_timed(struct snowflake *sf, uint64_t *id, int timeout_ms);
ssize_t snowflake_fill(struct snowflake *sf, uint64_t *ids, size_t count,
		       int timeout_ms);

int snowflake_bind(struct snowflake *sf, uint64_t worker_id);
int snowflake_get_layout(struct snowflake *sf,
			 struct snowflake_id_layout *layout);
int snowflake_get_workers(struct snowflake *sf, uint64_t *first,
			  uint64_t *count);
int snowflake_fd(const struct snowflake *sf);

const char *snowflake_strerror(enum snowflake_call call, int err);

/* Layouts and ids; no device is needed. */

int snowflake_preset(const char *name, struct snowflake_id_layout *layout);
const char *snowflake_preset_name(unsigned int index);
int snowflake_check_layout(const struct snowflake_id_layout *layout,
			   const char **why);
int snowflake_get_limits(const struct snowflake_id_layout *layout,
			 struct snowflake_limits *limits);
int snowflake_compose(const struct snowflake_id_layout *layout,
		      const struct snowflake_id_parts *parts, uint64_t *id);
int snowflake_decode(const struct snowflake_id_layout *layout, uint64_t id,
		     struct snowflake_id_parts *parts);
int snowflake_span(const struct snowflake_id_layout *layout, int64_t from_ms,
		   int64_t until_ms, uint64_t *first, uint64_t *last);

/* Text. */

int snowflake_print(enum snowflake_format format, uint64_t id, char *text,
		    size_t size);
int snowflake_parse(enum snowflake_format format, const char *text,
		    uint64_t *id);
int snowflake_print_time(int64_t unix_ms, char *text, size_t size);
int snowflake_parse_time(const char *text, int64_t *unix_ms);

#ifdef __cplusplus
}
#endif

#endif /* SNOWFLAKE_H */

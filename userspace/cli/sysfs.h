/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The attributes of the device: what the module says about itself, and what it
 * can be told.
 */
#ifndef SNOWFLAKE_CLI_SYSFS_H
#define SNOWFLAKE_CLI_SYSFS_H

#include "cli.h"

/*
 * enum attribute - the attributes, in the order in which they are to be written
 *
 * A preset sets its parts, so it comes before them; the limit of cpu_block
 * follows from the layout and worker_count; the worker id puts all of it in
 * force, and with an open window it mints without bound, so it is the last.
 */
enum attribute {
	PRESET,
	TIMESTAMP_BITS,
	WORKER_BITS,
	SEQUENCE_BITS,
	ORDER,
	TICK_MS,
	EPOCH_MS,
	WORKER_COUNT,
	SHARING,
	CPU_BLOCK,
	SEQUENCE_START,
	REWIND_POLICY,
	REWIND_WAIT_MS,
	LEAD_LIMIT_MS,
	FORWARD_LIMIT_MS,
	NOT_BEFORE_MS,
	NOT_AFTER_MS,
	ACCEPT_JUMP,
	WORKER_ID,
	/* From here on they are read only. */
	STATE,
	GENERATION,
	CLONE_DETECTION,
	LEAD_MS,
	LAST_TIMESTAMP_MS,
	ENDS_MS,
	IDS,
	REFUSED,
	EXHAUSTED,
	REWINDS,
	REWIND_LAST_MS,
	REWIND_MAX_MS,
	REWIND_TOTAL_MS,
	FORWARD_STEPS,
	FORWARD_MAX_MS,
	CLONES,
	ATTRIBUTES,
};

/* How many can be written. */
#define WRITABLE (WORKER_ID + 1)

/* Room for a value, with its NUL. */
#define VALUE_SIZE 32

/**
 * struct attribute_info - what is known of an attribute
 * @path: its name, below the device's folder
 * @choices: the words that it can be, up to a NULL; NULL if it is a number
 * @min: its least value, if it can be written
 * @max: its greatest, as far as that depends on no other
 * @shapes: it shapes ids: it can be written only while there is no worker id
 */
struct attribute_info {
	const char *path;
	const char * const *choices;
	int64_t min;
	int64_t max;
	bool shapes;
};

extern const struct attribute_info attributes[ATTRIBUTES];

/**
 * struct value - the value of an attribute
 * @known: there is one
 * @number: the number; -1 is UINT64_MAX; 0 for a word
 * @text: as it is read and written
 */
struct value {
	bool known;
	uint64_t number;
	char text[VALUE_SIZE];
};

/**
 * struct snapshot - all of them at one time
 * @values: the values
 * @at_ns: when, in ns of CLOCK_MONOTONIC
 */
struct snapshot {
	struct value values[ATTRIBUTES];
	uint64_t at_ns;
};

bool sysfs_there(void);
bool sysfs_read(enum attribute attribute, struct value *value);
int sysfs_write(enum attribute attribute, const char *text);
void sysfs_snapshot(struct snapshot *snapshot);
void sysfs_path(enum attribute attribute, char *path, size_t size);
void value_set(struct value *value, const char *text);
void value_number(struct value *value, uint64_t number);
bool snapshot_layout(const struct snapshot *snapshot,
		     struct snowflake_id_layout *layout);

#endif /* SNOWFLAKE_CLI_SYSFS_H */

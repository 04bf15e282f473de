// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The attributes of the device in sysfs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

/* What the module takes for ms, so that they do not overflow in ns. */
#define MS_MAX (INT64_MAX / 1000000)

#define BITS_MAX 62
#define PATH_SIZE 256

static const char * const presets[] = {
	"twitter", "instagram", "discord", "sonyflake", "js53", "custom", NULL
};

static const char * const orders[] = {
	[SNOWFLAKE_SEQUENCE_LOWEST] = "worker-sequence",
	[SNOWFLAKE_WORKER_LOWEST] = "sequence-worker",
	NULL
};

static const char * const sharings[] = { "pooled", "bound", NULL };
static const char * const starts[] = { "zero", "spread", NULL };
static const char * const policies[] = { "refuse", "slew", NULL };

static const char * const states[] = {
	"running", "no-worker", "cloned", "ended", "jumped", "expired",
	"behind", "not-yet", NULL
};

const struct attribute_info attributes[ATTRIBUTES] = {
	[PRESET] = {
		.path = "layout/preset", .choices = presets, .shapes = true,
	},
	[TIMESTAMP_BITS] = {
		.path = "layout/timestamp_bits",
		.min = 1, .max = BITS_MAX, .shapes = true,
	},
	[WORKER_BITS] = {
		.path = "layout/worker_bits",
		.min = 1, .max = BITS_MAX, .shapes = true,
	},
	[SEQUENCE_BITS] = {
		.path = "layout/sequence_bits",
		.min = 1, .max = BITS_MAX, .shapes = true,
	},
	[ORDER] = { .path = "layout/order", .choices = orders, .shapes = true },
	[TICK_MS] = {
		.path = "layout/tick_ms", .min = 1, .max = 1000, .shapes = true,
	},
	[EPOCH_MS] = {
		.path = "layout/epoch_ms",
		.min = 0, .max = MS_MAX, .shapes = true,
	},
	[WORKER_COUNT] = {
		.path = "worker_count",
		.min = 1, .max = INT64_MAX, .shapes = true,
	},
	[SHARING] = { .path = "sharing", .choices = sharings, .shapes = true },
	[CPU_BLOCK] = {
		.path = "cpu_block",
		.min = 1, .max = 1073741824, .shapes = true,
	},
	[SEQUENCE_START] = {
		.path = "sequence_start", .choices = starts, .shapes = true,
	},
	[REWIND_POLICY] = { .path = "rewind_policy", .choices = policies },
	[REWIND_WAIT_MS] = {
		.path = "rewind_wait_ms", .min = 0, .max = 3600000,
	},
	[LEAD_LIMIT_MS] = { .path = "lead_limit_ms", .min = 0, .max = MS_MAX },
	[FORWARD_LIMIT_MS] = {
		.path = "forward_limit_ms", .min = 0, .max = MS_MAX,
	},
	[NOT_BEFORE_MS] = { .path = "not_before_ms", .min = 0, .max = MS_MAX },
	[NOT_AFTER_MS] = { .path = "not_after_ms", .min = 0, .max = MS_MAX },
	[ACCEPT_JUMP] = { .path = "accept_jump", .min = 1, .max = 1 },
	[WORKER_ID] = { .path = "worker_id", .min = -1, .max = INT64_MAX },
	[STATE] = { .path = "state", .choices = states },
	[GENERATION] = { .path = "generation" },
	[CLONE_DETECTION] = { .path = "clone_detection" },
	[LEAD_MS] = { .path = "lead_ms" },
	[LAST_TIMESTAMP_MS] = { .path = "last_timestamp_ms" },
	[ENDS_MS] = { .path = "layout/ends_ms" },
	[IDS] = { .path = "stats/ids" },
	[REFUSED] = { .path = "stats/refused" },
	[EXHAUSTED] = { .path = "stats/exhausted" },
	[REWINDS] = { .path = "stats/rewinds" },
	[REWIND_LAST_MS] = { .path = "stats/rewind_last_ms" },
	[REWIND_MAX_MS] = { .path = "stats/rewind_max_ms" },
	[REWIND_TOTAL_MS] = { .path = "stats/rewind_total_ms" },
	[FORWARD_STEPS] = { .path = "stats/forward_steps" },
	[FORWARD_MAX_MS] = { .path = "stats/forward_max_ms" },
	[CLONES] = { .path = "stats/clones" },
};

/**
 * sysfs_there - whether there is anything to read
 *
 * Return: whether the device's folder is there.
 */
bool sysfs_there(void)
{
	return !access(SYSFS, F_OK);
}

/**
 * sysfs_path - where an attribute is
 * @attribute: the attribute
 * @path: where its path goes
 * @size: room for it
 */
void sysfs_path(enum attribute attribute, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", SYSFS, attributes[attribute].path);
}

/* A word may be one of a later module; nothing else goes to a terminal. */
static bool is_word(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length && !text[length];
}

/* A number from 0 to 2^64-1, or -1. */
static bool to_number(const char *text, uint64_t *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!strcmp(text, "-1")) {
		*number = UINT64_MAX;
		return true;
	}
	if (!digits || text[digits])
		return false;
	errno = 0;
	*number = strtoull(text, NULL, 10);
	return !errno;
}

/**
 * value_set - a value from its text
 * @value: it is known after that, if the text is a word or a number
 * @text: its text
 */
void value_set(struct value *value, const char *text)
{
	value->number = 0;
	value->known = strlen(text) < VALUE_SIZE &&
		       (to_number(text, &value->number) || is_word(text));
	if (value->known)
		strcpy(value->text, text);
}

/**
 * value_number - a value from a number
 * @value: the value
 * @number: the number, UINT64_MAX for -1
 */
void value_number(struct value *value, uint64_t number)
{
	value->known = true;
	value->number = number;
	snprintf(value->text, VALUE_SIZE, "%jd", (int64_t)number);
}

/**
 * sysfs_read - read an attribute
 * @attribute: which
 * @value: where it goes; not known if it cannot be read or makes no sense
 *
 * Return: whether it is known.
 */
bool sysfs_read(enum attribute attribute, struct value *value)
{
	char path[PATH_SIZE], text[VALUE_SIZE];
	ssize_t length;
	int fd;

	value->known = false;
	sysfs_path(attribute, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return false;
	if (text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	/* Where a number belongs, a word is none, and the other way round. */
	value_set(value, text);
	if (value->known && !attributes[attribute].choices)
		value->known = to_number(text, &value->number);
	return value->known;
}

/**
 * sysfs_write - write an attribute
 * @attribute: which
 * @text: the value, which a newline is put after
 *
 * Return: 0, or a negative errno.
 */
int sysfs_write(enum attribute attribute, const char *text)
{
	char path[PATH_SIZE], line[VALUE_SIZE + 1];
	int err = 0, fd, length;

	sysfs_path(attribute, path, sizeof(path));
	length = snprintf(line, sizeof(line), "%s\n", text);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, line, length) != length)
		err = -errno;
	close(fd);
	return err;
}

/**
 * sysfs_snapshot - read all attributes
 * @snapshot: where they go
 */
void sysfs_snapshot(struct snapshot *snapshot)
{
	unsigned int i;

	*snapshot = (struct snapshot) { .at_ns = now_ns() };
	for (i = 0; i < ATTRIBUTES; i++) {
		if (i != ACCEPT_JUMP)
			sysfs_read(i, &snapshot->values[i]);
	}
}

/**
 * snapshot_layout - the layout that the attributes describe
 * @snapshot: the attributes
 * @layout: where it goes
 *
 * Return: whether it is known; a layout that is not understood must not be
 * taken for another.
 */
bool snapshot_layout(const struct snapshot *snapshot,
		     struct snowflake_id_layout *layout)
{
	const struct value *values = snapshot->values;
	struct snowflake_limits limits;
	unsigned int i;

	for (i = TIMESTAMP_BITS; i <= EPOCH_MS; i++) {
		if (!values[i].known)
			return false;
		if (!attributes[i].choices &&
		    (values[i].number < (uint64_t)attributes[i].min ||
		     values[i].number > (uint64_t)attributes[i].max))
			return false;
	}
	if (strcmp(values[ORDER].text, orders[0]) &&
	    strcmp(values[ORDER].text, orders[1]))
		return false;
	*layout = (struct snowflake_id_layout) {
		.epoch_ms = values[EPOCH_MS].number,
		.tick_ms = values[TICK_MS].number,
		.timestamp_bits = values[TIMESTAMP_BITS].number,
		.worker_bits = values[WORKER_BITS].number,
		.sequence_bits = values[SEQUENCE_BITS].number,
		.order = !strcmp(values[ORDER].text, orders[1]),
	};
	return !snowflake_get_limits(layout, &limits);
}

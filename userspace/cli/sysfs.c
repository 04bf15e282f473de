// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the module says about itself in sysfs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

/* What no layout exceeds, whatever a later module offers. */
#define BITS_MAX 62
#define TICK_MS_MAX 1000
#define EPOCH_MS_MAX ((u64)S64_MAX / NSEC_PER_MSEC)

/* One attribute, without its newline. */
static bool sysfs_text(const char *attribute, char *text, size_t size)
{
	char path[128];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", SYSFS, attribute);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, text, size - 1);
	close(fd);
	if (length <= 0)
		return false;
	if (text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	return true;
}

/**
 * sysfs_number - an attribute that is a number
 * @attribute: its path below the device's folder
 * @value: where it goes
 *
 * Return: whether there is one.
 */
bool sysfs_number(const char *attribute, u64 *value)
{
	char text[32];

	return sysfs_text(attribute, text, sizeof(text)) &&
	       !parse_decimal(text, value);
}

/* An id under a layout that is not understood would be decoded wrongly. */
static enum status not_understood(const char *attribute)
{
	complain("%s/%s: missing, or not known to this version of the command",
		 SYSFS, attribute);
	return STATUS_ERROR;
}

/**
 * sysfs_layout - the layout of the ids of this host
 * @layout: where it goes; "twitter" where there is no device
 *
 * Return: STATUS_OK, or the status to exit with after the complaint.
 */
enum status sysfs_layout(struct named_layout *layout)
{
	enum { TIMESTAMP, WORKER, SEQUENCE, TICK, EPOCH, PARTS };
	static const struct {
		const char *attribute;
		u64 min, max;
	} parts[PARTS] = {
		[TIMESTAMP] = { "layout/timestamp_bits", 1, BITS_MAX },
		[WORKER] = { "layout/worker_bits", 1, BITS_MAX },
		[SEQUENCE] = { "layout/sequence_bits", 1, BITS_MAX },
		[TICK] = { "layout/tick_ms", 1, TICK_MS_MAX },
		[EPOCH] = { "layout/epoch_ms", 0, EPOCH_MS_MAX },
	};
	char order[PRESET_SIZE];
	u64 value[PARTS];
	size_t i;

	if (access(SYSFS, F_OK)) {
		*layout = (struct named_layout){
			.preset = "twitter",
			.layout = snowflake_layouts[SNOWFLAKE_TWITTER],
		};
		return STATUS_OK;
	}

	if (!sysfs_text("layout/preset", layout->preset, PRESET_SIZE))
		return not_understood("layout/preset");
	if (!sysfs_text("layout/order", order, sizeof(order)) ||
	    (strcmp(order, "worker-sequence") &&
	     strcmp(order, "sequence-worker")))
		return not_understood("layout/order");
	for (i = 0; i < PARTS; i++) {
		if (!sysfs_number(parts[i].attribute, &value[i]) ||
		    value[i] < parts[i].min || value[i] > parts[i].max)
			return not_understood(parts[i].attribute);
	}
	if (value[TIMESTAMP] + value[WORKER] + value[SEQUENCE] > 64)
		return not_understood("layout/timestamp_bits");

	layout->layout = (struct snowflake_layout){
		.timestamp_bits = value[TIMESTAMP],
		.worker_bits = value[WORKER],
		.sequence_bits = value[SEQUENCE],
		.order = order[0] == 's' ? SNOWFLAKE_SEQUENCE_WORKER :
					   SNOWFLAKE_WORKER_SEQUENCE,
		.tick_ms = value[TICK],
		.epoch_ms = value[EPOCH],
	};
	return STATUS_OK;
}

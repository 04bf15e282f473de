// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Layouts other than the default; see layouts.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "layouts.h"
#include "../../kmod/uapi/snowflake.h"

#define FILL_NS		(10 * NSEC_PER_SEC)	/* to see ticks used up */
#define FILL_TICKS	4			/* of one read */

/* As published by those who use them; not taken from the module. */
const struct layout presets[PRESETS] = {
	[TWITTER] = {
		"twitter", 41, 10, 12, WORKER_SEQUENCE, 1, 1288834974657LL,
	},
	[INSTAGRAM] = {
		"instagram", 41, 13, 10, WORKER_SEQUENCE, 1, 1314220021721LL,
	},
	[DISCORD] = {
		"discord", 42, 10, 12, WORKER_SEQUENCE, 1, 1420070400000LL,
	},
	[SONYFLAKE] = {
		"sonyflake", 39, 16, 8, SEQUENCE_WORKER, 10, 1409529600000LL,
	},
	[JS53] = {
		"js53", 41, 4, 8, WORKER_SEQUENCE, 1, 1577836800000LL,
	},
};

int layout_put(const struct layout *l)
{
	int err;

	if (strcmp(l->preset, CUSTOM))
		return attr_put("layout/preset", l->preset);

	err = attr_put_number("layout/timestamp_bits", l->timestamp_bits);
	if (!err)
		err = attr_put_number("layout/worker_bits", l->worker_bits);
	if (!err)
		err = attr_put_number("layout/sequence_bits", l->sequence_bits);
	if (!err)
		err = attr_put("layout/order", l->order);
	if (!err)
		err = attr_put_number("layout/tick_ms", l->tick_ms);
	if (!err)
		err = attr_put_number("layout/epoch_ms", l->epoch_ms);
	return err;
}

int layout_start(const struct layout *l, uint64_t worker)
{
	int err = attr_put("worker_id", "-1");

	if (!err)
		err = layout_put(l);
	return err ?: start(worker);
}

const char *layout_differs(const struct layout *l)
{
	if (strcmp(attr_string("layout/preset"), l->preset))
		return "preset";
	if (attr_number("layout/timestamp_bits") != l->timestamp_bits)
		return "timestamp_bits";
	if (attr_number("layout/worker_bits") != l->worker_bits)
		return "worker_bits";
	if (attr_number("layout/sequence_bits") != l->sequence_bits)
		return "sequence_bits";
	if (strcmp(attr_string("layout/order"), l->order))
		return "order";
	if (attr_number("layout/tick_ms") != l->tick_ms)
		return "tick_ms";
	if (attr_number("layout/epoch_ms") != l->epoch_ms)
		return "epoch_ms";
	return "";
}

const char *layout_fault_now(const struct layout *l, int fd, uint64_t worker)
{
	static char fault[160];
	int64_t before, after, tick;
	uint64_t id;
	int err;

	before = layout_tick_at(l, realtime_ns() / NSEC_PER_MSEC);
	err = read_id(fd, &id);
	after = layout_tick_at(l, realtime_ns() / NSEC_PER_MSEC);
	tick = layout_tick(l, id);

	fault[0] = '\0';
	if (err)
		snprintf(fault, sizeof(fault), "read: %s", strerror(-err));
	else if ((int64_t)id < 0)
		snprintf(fault, sizeof(fault), "%jd is negative", (intmax_t)id);
	else if (tick < before || tick > after)
		snprintf(fault, sizeof(fault),
			 "%ju: tick %jd, the clock's were %jd to %jd",
			 (uintmax_t)id, (intmax_t)tick, (intmax_t)before,
			 (intmax_t)after);
	else if (layout_worker(l, id) != worker)
		snprintf(fault, sizeof(fault), "%ju: worker %ju is not %ju",
			 (uintmax_t)id, (uintmax_t)layout_worker(l, id),
			 (uintmax_t)worker);
	return fault;
}

/* The place of an id in its tick, of all that the range has; -1: not in it. */
static int64_t fill_index(const struct fill *f, uint64_t id)
{
	const struct layout *l = f->layout;
	uint64_t worker = layout_worker(l, id) - f->worker;
	uint64_t sequence = layout_sequence(l, id);

	if (worker >= f->workers)
		return -1;
	return layout_worker_low(l) ? sequence * f->workers + worker :
	       worker * layout_sequences(l) + sequence;
}

/* A tick's ids are all there if as many rise as there are places. */
static void fill_check(struct fill *f, const uint64_t *ids, size_t count)
{
	uint64_t capacity = f->workers * layout_sequences(f->layout), in_tick = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t id = ids[i], last = f->last;

		f->last = id;
		f->ids++;
		if (id <= last || (int64_t)id < 0) {
			snprintf(f->fault, sizeof(f->fault), "%ju after %ju",
				 (uintmax_t)id, (uintmax_t)last);
			return;
		}
		if (fill_index(f, id) < 0) {
			snprintf(f->fault, sizeof(f->fault),
				 "%ju: worker %ju is not in the range",
				 (uintmax_t)id,
				 (uintmax_t)layout_worker(f->layout, id));
			return;
		}
		/* Of the first tick a part was read before. */
		if (layout_tick(f->layout, id) != layout_tick(f->layout, last))
			in_tick = 0;
		if (++in_tick == capacity)
			f->full++;
	}
}

const char *fill_ticks(struct fill *f, unsigned int want)
{
	size_t count = FILL_TICKS * f->workers * layout_sequences(f->layout);
	int64_t end = monotonic_ns() + FILL_NS;
	uint64_t *ids = malloc(count * ID_SIZE);
	ssize_t got;

	f->full = 0;
	f->ids = 0;
	f->last = 0;
	f->fault[0] = '\0';
	if (!ids)
		return "no memory";
	while (f->full < want && !f->fault[0]) {
		if (monotonic_ns() > end) {
			snprintf(f->fault, sizeof(f->fault),
				 "%u of %u ticks used up, after %ju ids",
				 f->full, want, (uintmax_t)f->ids);
			break;
		}
		got = read(f->fd, ids, count * ID_SIZE);
		if (got < 0)
			snprintf(f->fault, sizeof(f->fault), "read: %s",
				 strerror(errno));
		else if ((size_t)got < count * ID_SIZE)
			snprintf(f->fault, sizeof(f->fault),
				 "%zd of %zu bytes", got, count * ID_SIZE);
		else
			fill_check(f, ids, count);
	}
	free(ids);
	return f->fault;
}

int device_bind(int fd, uint64_t worker)
{
	struct snowflake_bind bind = { .worker_id = worker };

	return ioctl(fd, SNOWFLAKE_IOC_BIND, &bind) ? -errno : 0;
}

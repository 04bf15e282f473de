/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An engine: where the ids of a handle come from, the device or a generator in
 * the process. Handles (handle.c) and their caches (cache.c) know no more of it
 * than this.
 */
#ifndef SNOWFLAKE_LIB_ENGINE_H
#define SNOWFLAKE_LIB_ENGINE_H

#include <snowflake.h>

#include "../../kmod/uapi/snowflake.h"

/* A deadline, in ns of CLOCK_MONOTONIC: never, or already. */
#define DEADLINE_NEVER INT64_MAX
#define DEADLINE_NOW 0

struct engine;

/**
 * struct engine_ops - what an engine can do
 * @prefix: what the names that are its own begin with, "" for the rest
 * @open: open it by name; a negative errno if that fails
 * @close: give it up
 * @read: up to @count ids, at least one, waiting until the deadline at most:
 *	-EAGAIN if there was none until then, with %DEADLINE_NOW at once; blocks
 *	as read(2) of the device does with %DEADLINE_NEVER; -EINTR after a signal
 * @info: what ids look like and whose they are
 * @bind: bind it to one worker id
 */
struct engine_ops {
	const char *prefix;
	int (*open)(struct engine **engine, const char *name);
	void (*close)(struct engine *engine);
	ssize_t (*read)(struct engine *engine, uint64_t *ids, size_t count,
			int64_t deadline);
	int (*info)(struct engine *engine, struct snowflake_info *info);
	int (*bind)(struct engine *engine, uint64_t worker_id);
};

/**
 * struct engine - what is common to all of them; the first member of each
 * @ops: what it can do
 * @generation: changes whenever ids kept for later must be dropped; NULL if none
 *	may be kept
 * @fd: what can be polled for ids, -1 if there is no such thing
 */
struct engine {
	const struct engine_ops *ops;
	const uint32_t *generation;
	int fd;
};

extern const struct engine_ops engine_device;
extern const struct engine_ops engine_local;

#endif /* SNOWFLAKE_LIB_ENGINE_H */

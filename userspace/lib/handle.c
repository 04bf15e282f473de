// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Handles: an engine, the caches that threads have of it, and what notices that
 * the process has become two.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "engine.h"
#include "now.h"
#include "wipe.h"

/* More than this read(2) does not take at once: 1 GiB. */
#define READ_MOST 0x8000000

/**
 * struct snowflake - a handle
 * @engine: where ids come from
 * @caches: what threads have read ahead of it
 * @life: notices forks
 */
struct snowflake {
	struct engine *engine;
	struct caches caches;
	struct life life;
};

/* The first whose prefix a name has; the last takes all. */
static const struct engine_ops *const engines[] = {
	&engine_local,
	&engine_device,
};

static const struct engine_ops *engine_of(const char *name)
{
	size_t i = 0;

	while (strncmp(name, engines[i]->prefix, strlen(engines[i]->prefix)))
		i++;
	return engines[i];
}

/**
 * snowflake_open - open a device or another engine
 * @sf: where to put the handle; untouched if it fails
 * @name: path of a device, or the name of a local engine, which begins with
 *	%SNOWFLAKE_LOCAL; NULL for %SNOWFLAKE_DEVICE
 * @flags: 0, or flags of enum snowflake_flags
 *
 * The device is opened close-on-exec. Nothing is done in its stead if it cannot
 * be opened. It may still refuse to give ids: only reading tells.
 *
 * Context: any thread; not a signal handler.
 * Return: 0 or a negative errno: -EINVAL for an unknown flag, -ENOMEM, -ENOTTY if
 * @name is not a Snowflake device, or what open(2) fails with, such as -ENOENT,
 * -ENXIO or -ENODEV without the module, -EACCES or -EPERM without the right and
 * -EMFILE; for a local engine see snowflake-local(7).
 */
int snowflake_open(struct snowflake **sf, const char *name, unsigned int flags)
{
	struct snowflake *handle;
	int err;

	if (flags & ~SNOWFLAKE_DIRECT)
		return -EINVAL;
	if (!name)
		name = SNOWFLAKE_DEVICE;
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return -ENOMEM;
	err = engine_of(name)->open(&handle->engine, name);
	if (err) {
		free(handle);
		return err;
	}
	life_begin(&handle->life);
	if (handle->life.token && !(flags & SNOWFLAKE_DIRECT))
		caches_open(&handle->caches, handle->engine);
	*sf = handle;
	return 0;
}

/**
 * snowflake_close - close a handle
 * @sf: the handle, or NULL
 *
 * Ids that were read ahead are lost. No thread may be using the handle, but
 * those that did may end at the same time.
 *
 * Context: any thread; not a signal handler.
 */
void snowflake_close(struct snowflake *sf)
{
	if (!sf)
		return;
	caches_close(&sf->caches);
	life_end(&sf->life);
	sf->engine->ops->close(sf->engine);
	free(sf);
}

/* A time limit like that of poll(2) as a deadline. */
static int deadline_of(int timeout_ms, int64_t *deadline)
{
	if (timeout_ms < -1)
		return -EINVAL;
	if (timeout_ms <= 0) {
		*deadline = timeout_ms ? DEADLINE_NEVER : DEADLINE_NOW;
		return 0;
	}
	*deadline = now_ns(CLOCK_MONOTONIC) +
		    (int64_t)timeout_ms * NSEC_PER_MSEC;
	return 0;
}

/* Read @count ids; what comes short comes from a signal, an error or the time. */
static ssize_t read_ids(struct engine *engine, uint64_t *ids, size_t count,
			int64_t deadline)
{
	size_t done = 0, want;
	ssize_t got;

	while (done < count) {
		want = count - done < READ_MOST ? count - done : READ_MOST;
		got = engine->ops->read(engine, ids + done, want, deadline);
		if (got < 0)
			return done ? (ssize_t)done : got;
		done += got;
		/* With a deadline, it only says that the tick is used up. */
		if ((size_t)got < want && (deadline == DEADLINE_NEVER ||
					   deadline == DEADLINE_NOW))
			break;
	}
	return done;
}

/*
 * What the block still has, and what lacks from the engine. If the process
 * becomes two meanwhile, the ids are the parent's, and the child gets others.
 */
static ssize_t gather(struct snowflake *sf, struct cache *cache, uint64_t *ids,
		      size_t count, int64_t deadline)
{
	uint64_t life;
	ssize_t done, got;

	do {
		life = life_now(&sf->life);
		done = 0;
		while (cache && (size_t)done < count &&
		       cache_take(cache, ids + done))
			done++;
		if ((size_t)done == count)
			continue;
		got = read_ids(sf->engine, ids + done, count - done, deadline);
		if (got > 0)
			done += got;
		else if (!done)
			return got;
		if (cache)
			cache_read_past(cache, ids[done - 1]);
	} while (life_now(&sf->life) != life);
	return done;
}

/* Out of the block, which is nearly always so where it matters. */
static inline bool next_taken(struct snowflake *sf, uint64_t *id)
{
	struct cache *cache;
	uint64_t now;

	if (!sf->caches.serial)
		return false;
	/* First of all, so that not much has to be kept during the call. */
	now = now_ns(CLOCK_REALTIME);
	cache = cache_used;
	return caches_have(&sf->caches, cache) &&
	       cache_attempt(cache, now, id) == CACHE_TAKEN;
}

/* Not out of the block: there is none, or it has had its time. */
static int next_read(struct snowflake *sf, uint64_t *id, int64_t deadline)
{
	struct cache *cache;
	uint64_t taken;
	ssize_t got;

	cache = caches_recall(&sf->caches) ?: caches_attach(&sf->caches);
	if (cache && (cache_take(cache, id) ||
		      (cache_refill(cache) && cache_take(cache, id))))
		return 0;
	got = gather(sf, cache, &taken, 1, deadline);
	if (got < 0)
		return got;
	*id = taken;
	return 0;
}

/**
 * snowflake_next - get an id, and wait for it if need be
 * @sf: the handle
 * @id: where to put it; untouched if it fails
 *
 * The ids of one thread rise; those of a signal handler count as another
 * thread's. None was made in another tick than that in which it is given out,
 * but by the time that the thread was kept from running. When a thread asks often,
 * its ids are read ahead, at most an eighth of a tick; see %SNOWFLAKE_DIRECT.
 *
 * Context: any thread, after fork too; a signal handler if the thread has got an
 * id from this handle before.
 * Return: 0 or a negative errno. -EINTR: a signal came while it waited. What the
 * device refuses with: -ENXIO no worker id, -EDESTADDRREQ not bound, -EOVERFLOW
 * the layout has ended, -ERANGE the clock has jumped ahead, -EKEYEXPIRED the
 * window has ended, -ECANCELED the clock is behind.
 */
int snowflake_next(struct snowflake *sf, uint64_t *id)
{
	if (next_taken(sf, id))
		return 0;
	return next_read(sf, id, DEADLINE_NEVER);
}

/**
 * snowflake_next_timed - get an id, and wait for it at most so long
 * @sf: the handle
 * @id: where to put it; untouched if it fails
 * @timeout_ms: how long to wait, in milliseconds; 0 not at all, -1 for ever
 *
 * Context: as snowflake_next().
 * Return: 0 or a negative errno: -EAGAIN if there was none in that time, -EINVAL
 * for another negative time, or as snowflake_next().
 */
int snowflake_next_timed(struct snowflake *sf, uint64_t *id, int timeout_ms)
{
	int64_t deadline;
	int err;

	err = deadline_of(timeout_ms, &deadline);
	if (err)
		return err;
	if (next_taken(sf, id))
		return 0;
	return next_read(sf, id, deadline);
}

/**
 * snowflake_fill - get many ids
 * @sf: the handle
 * @ids: where to put them; they rise
 * @count: how many
 * @timeout_ms: how long to wait, in milliseconds; 0 not at all, -1 for ever
 *
 * Context: as snowflake_next().
 * Return: how many ids there are: @count, or less if the time ran out, a signal
 * came or ids were refused after the first of them, as with read(2). 0 only if
 * @count is 0. If there are none, a negative errno as of snowflake_next_timed();
 * -EINVAL for more than SSIZE_MAX bytes of them.
 */
ssize_t snowflake_fill(struct snowflake *sf, uint64_t *ids, size_t count,
		       int timeout_ms)
{
	int64_t deadline;
	int err;

	err = deadline_of(timeout_ms, &deadline);
	if (err)
		return err;
	if (count > SSIZE_MAX / sizeof(*ids))
		return -EINVAL;
	if (!count)
		return 0;
	return gather(sf, caches_recall(&sf->caches), ids, count, deadline);
}

/**
 * snowflake_bind - bind a handle to one worker id of the host, or shard
 * @sf: the handle
 * @worker_id: the worker id
 *
 * It can be done once, where sharing is bound, and holds for all threads.
 *
 * Context: any thread.
 * Return: 0 or a negative errno: -EBUSY if it is bound already, -EINVAL if the
 * worker id is not the host's or sharing is not bound, -ENXIO without worker ids.
 */
int snowflake_bind(struct snowflake *sf, uint64_t worker_id)
{
	return sf->engine->ops->bind(sf->engine, worker_id);
}

/**
 * snowflake_get_layout - what ids of this handle look like
 * @sf: the handle
 * @layout: where to put it; untouched if it fails
 *
 * It may change as long as the host has no worker id.
 *
 * Context: any thread.
 * Return: 0 or a negative errno, such as -EPERM in a sandbox without ioctl(2).
 */
int snowflake_get_layout(struct snowflake *sf,
			 struct snowflake_id_layout *layout)
{
	struct snowflake_info info;
	int err;

	err = sf->engine->ops->info(sf->engine, &info);
	if (err)
		return err;
	*layout = (struct snowflake_id_layout){
		.epoch_ms = info.epoch_ms,
		.tick_ms = info.tick_ms,
		.timestamp_bits = info.timestamp_bits,
		.worker_bits = info.worker_bits,
		.sequence_bits = info.sequence_bits,
		.order = info.order == SNOWFLAKE_INFO_SEQUENCE_WORKER ?
			 SNOWFLAKE_WORKER_LOWEST : SNOWFLAKE_SEQUENCE_LOWEST,
	};
	return 0;
}

/**
 * snowflake_get_workers - the worker ids of this host
 * @sf: the handle
 * @first: where to put the lowest; untouched if it fails
 * @count: where to put how many there are; untouched if it fails
 *
 * Context: any thread.
 * Return: 0 or a negative errno: -ENXIO if there are none, or as
 * snowflake_get_layout().
 */
int snowflake_get_workers(struct snowflake *sf, uint64_t *first,
			  uint64_t *count)
{
	struct snowflake_info info;
	int err;

	err = sf->engine->ops->info(sf->engine, &info);
	if (err)
		return err;
	if (info.worker_id < 0)
		return -ENXIO;
	*first = info.worker_id;
	*count = info.worker_count;
	return 0;
}

/**
 * snowflake_fd - the file to poll for ids
 * @sf: the handle, which goes on owning it
 *
 * It is for poll(2) and the like; ids that a thread has read ahead do not show
 * in it. snowflake_next_timed() with a limit of 0 goes with it.
 *
 * Context: any thread.
 * Return: a file descriptor; -EOPNOTSUPP if the engine has none.
 */
int snowflake_fd(const struct snowflake *sf)
{
	return sf->engine->fd < 0 ? -EOPNOTSUPP : sf->engine->fd;
}

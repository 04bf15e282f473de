// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Errors in words: what happened, and after a semicolon what to do about it.
 * Every such text has one semicolon, so that programs can part the two.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include <snowflake.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define SYSFS "/sys/class/misc/snowflake"
#define LOAD "load it as root: modprobe snowflake worker_id=N, or in the source tree: make load WORKER_ID=N"
#define GROW "the state of this local engine cannot be kept: its file system is full, read-only or failing; make room, or have its folder on one that can be written"
#define MANY "there are too many open files; close some, or raise the limit (ulimit -n)"

#define BIT(n) (1U << (n))

#define OPEN BIT(SNOWFLAKE_IN_OPEN)
#define NEXT BIT(SNOWFLAKE_IN_NEXT)
#define BIND BIT(SNOWFLAKE_IN_BIND)
#define INFO BIT(SNOWFLAKE_IN_INFO)
#define TEXT BIT(SNOWFLAKE_IN_TEXT)

/**
 * struct wording - the words for an errno
 * @calls: who returns it in this sense
 * @err: the errno
 * @text: what happened; and what to do
 */
struct wording {
	unsigned int calls;
	int err;
	const char *text;
};

static const struct wording wordings[] = {
	{
		OPEN, ENOENT,
		"there is no such device: the module is not loaded, or this container was not given the device; "
		LOAD
	}, {
		OPEN, ENXIO,
		"the device node has no driver: the module is not loaded; " LOAD
	}, {
		OPEN, ENODEV,
		"the device node has no driver: the module is not loaded; " LOAD
	}, {
		OPEN, EACCES,
		"you may not open it; ask the administrator to add you to the group of the device, which ls -lL shows (a local engine is for the user who made it)"
	}, {
		OPEN, EPERM,
		"it is not allowed here: the device rules of a container or service forbid it; start the container or service with the device allowed, for reading"
	}, {
		OPEN, ENOTTY,
		"it is not a snowflake device; give the path of one, such as "
		SNOWFLAKE_DEVICE
	}, {
		OPEN, EINVAL,
		"the name or the flags are malformed; give the path of a device, or a name as snowflake-local(7) has it, and flags of <snowflake.h>"
	}, {
		OPEN, ENOTDIR,
		"a part of the path is no folder, or there is no folder for the state of a local engine; correct the path, set HOME, or name a folder as snowflake-local(7) has it"
	}, {
		OPEN, EMFILE, MANY
	}, {
		OPEN, ENFILE, MANY
	}, {
		OPEN, EADDRINUSE,
		"the worker ids overlap those of the device or of another local engine on this host; give it some that nothing else has"
	}, {
		OPEN, EBADMSG,
		"the state file of this local engine is damaged or is none; once no process uses it, take it away, and use worker ids that were never in use"
	}, {
		OPEN | NEXT, ENOSPC, GROW
	}, {
		OPEN | NEXT, EDQUOT, GROW
	}, {
		OPEN | NEXT, EROFS, GROW
	}, {
		OPEN | NEXT, EIO, GROW
	}, {
		NEXT | BIND | INFO, ENXIO,
		"this host has no worker id; give it one that no other host has, as root: echo N > "
		SYSFS "/worker_id"
	}, {
		NEXT, EDESTADDRREQ,
		"worker ids are bound here (sharing), and this open file is bound to none; bind the file to a worker id, or have the administrator set sharing to pooled"
	}, {
		NEXT, EOVERFLOW,
		"the clock is past the last timestamp that an id can hold; see whether the clock is right (the end of the device's layout, in Unix ms, is in "
		SYSFS "/layout/ends_ms)"
	}, {
		NEXT, ERANGE,
		"the clock jumped ahead by more than forward_limit_ms; set the clock right or, if it is right now, as root: echo 1 > "
		SYSFS "/accept_jump"
	}, {
		NEXT, EKEYEXPIRED,
		"the window of this host's worker id has ended; have it extended by whoever hands out worker ids (the end is in "
		SYSFS "/not_after_ms)"
	}, {
		NEXT, ECANCELED,
		"the clock is behind: it was set back, is not set yet, or is short of not_before_ms; no id is made until it has caught up: wait, or set it right"
	}, {
		NEXT, EAGAIN,
		"the ids of this tick are used up, and the call does not wait, or no longer; try again in a moment"
	}, {
		NEXT, EINTR,
		"a signal came before the first id; call again"
	}, {
		NEXT, EINVAL,
		"there is no room for a whole id, or for so many, or the time limit is none; ask for 8 bytes, or one id, at least, and pass -1 for no limit"
	}, {
		NEXT, ESTALE,
		"the state file of this local engine was removed or replaced; open the engine again"
	}, {
		NEXT, EBADF,
		"the file was closed, but not by the library; close no descriptors that are not yours, and open the device or engine again"
	}, {
		INFO, EOPNOTSUPP,
		"a local engine has no file to poll; use snowflake_next_timed()"
	}, {
		BIND, EBUSY,
		"it is bound to a worker id already, and that lasts; open another for another worker id"
	}, {
		BIND, EINVAL,
		"there is nothing to bind to: sharing is not bound, or the worker id is not one of this host's; take one of the range that snowflake_get_workers() tells, where sharing is bound"
	}, {
		TEXT, EINVAL,
		"it is malformed, or there is no such format, preset or layout; correct it (snowflake_check_layout() says what a layout lacks)"
	}, {
		TEXT, ERANGE,
		"it is out of range: no id from 0 to 2^63-1, more than its field of the layout holds, or a span in which no tick starts; see whether it is of this layout and format"
	}, {
		TEXT, EOVERFLOW,
		"the instant is not in the years 1 to 9999; give one that is"
	}, {
		TEXT, ENOBUFS,
		"there is no room for the text; give SNOWFLAKE_ID_SIZE bytes for an id, SNOWFLAKE_TIME_SIZE for a time"
	},
};

/* An errno of which the library knows no more than the system does. */
static const char *general(int err)
{
	const char *text = NULL;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
	/* Unlike strerror(), it neither allocates nor translates. */
	text = strerrordesc_np(err);
#endif
	return text ? text : "an error that has no name here";
}

/**
 * snowflake_strerror - an error in words
 * @call: what returned it
 * @err: the errno, negative or positive
 *
 * Where the library knows what the error means of @call, the text says what
 * happened and, after "; ", what to do; it has one semicolon. Other errors have
 * the system's words.
 *
 * Context: any; thread-safe, allocates nothing.
 * Return: a constant string of one line, never NULL.
 */
const char *snowflake_strerror(enum snowflake_call call, int err)
{
	const struct wording *w;

	if (err < 0 && err != INT_MIN)
		err = -err;
	for (w = wordings; w < wordings + ARRAY_SIZE(wordings); w++) {
		if (w->err == err && (unsigned int)call <= SNOWFLAKE_IN_TEXT &&
		    (w->calls & BIT(call)))
			return w->text;
	}
	return general(err);
}

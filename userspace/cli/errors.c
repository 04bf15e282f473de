// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Errors in words: what happened and what to do about it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli.h"

#define LOAD "load it as root: modprobe snowflake worker_id=N, or in the source tree: make load WORKER_ID=N"

static void behind(void);

/**
 * struct wording - the words for an errno
 * @call: who returned it
 * @err: the errno
 * @name: its name
 * @status: what to exit with
 * @what: what happened
 * @cure: what to do
 * @more: tells what can be found out now, or NULL
 */
struct wording {
	enum call call;
	int err;
	const char *name;
	enum status status;
	const char *what;
	const char *cure;
	void (*more)(void);
};

static const struct wording wordings[] = {
	{
		CALL_OPEN, ENOENT, "ENOENT", STATUS_NO_DEVICE,
		"there is no such device: the module is not loaded, or this container was not given the device",
		LOAD, NULL
	}, {
		CALL_OPEN, ENXIO, "ENXIO", STATUS_NO_DEVICE,
		"the device node has no driver: the module is not loaded",
		LOAD, NULL
	}, {
		CALL_OPEN, ENODEV, "ENODEV", STATUS_NO_DEVICE,
		"the device node has no driver: the module is not loaded",
		LOAD, NULL
	}, {
		CALL_OPEN, EACCES, "EACCES", STATUS_NO_PERMISSION,
		"you may not read it",
		"ask the administrator to add you to its group, which ls -lL shows",
		NULL
	}, {
		CALL_OPEN, EPERM, "EPERM", STATUS_NO_PERMISSION,
		"it is not allowed here: the device rules of a container or service forbid it",
		"start the container or service with the device allowed, for reading",
		NULL
	}, {
		CALL_READ, ENXIO, "ENXIO", STATUS_NO_WORKER,
		"this host has no worker id",
		"give it one that no other host has, as root: echo N > " SYSFS
		"/worker_id",
		NULL
	}, {
		CALL_READ, EDESTADDRREQ, "EDESTADDRREQ", STATUS_NO_WORKER,
		"worker ids are bound here (sharing), and this open file is bound to none",
		"bind the file to a worker id, or have the administrator set sharing to pooled",
		NULL
	}, {
		CALL_READ, EOVERFLOW, "EOVERFLOW", STATUS_REFUSED,
		"the clock is past the last timestamp that an id can hold",
		"see whether the clock is right; the end, in Unix ms, is in " SYSFS
		"/layout/ends_ms",
		NULL
	}, {
		CALL_READ, ERANGE, "ERANGE", STATUS_REFUSED,
		"the clock jumped ahead by more than forward_limit_ms",
		"set the clock right or, if it is right now, as root: echo 1 > " SYSFS
		"/accept_jump",
		NULL
	}, {
		CALL_READ, EKEYEXPIRED, "EKEYEXPIRED", STATUS_REFUSED,
		"the window of this host's worker id has ended",
		"have it extended by whoever hands out worker ids; the end is in " SYSFS
		"/not_after_ms",
		NULL
	}, {
		CALL_READ, ECANCELED, "ECANCELED", STATUS_REFUSED,
		"the clock is behind: it was set back, is not set yet, or is short of not_before_ms",
		"no id is made until it has caught up: wait, or set it right",
		behind
	}, {
		CALL_READ, EAGAIN, "EAGAIN", STATUS_REFUSED,
		"the ids of this tick are used up, and the file does not wait",
		"try again in a moment", NULL
	},
};

static void to_wait(const char *attribute, const char *what)
{
	char until_text[TIME_SIZE], now_text[TIME_SIZE];
	u64 until, now = time_now_ms();

	if (!sysfs_number(attribute, &until) || now >= until)
		return;
	complain("%s %s, the clock says %s: %.3f s to wait", what,
		 time_text(until, until_text), time_text(now, now_text),
		 (until - now) / 1000.0);
}

/* How far the clock is behind, as far as that can be told. */
static void behind(void)
{
	u64 lead;

	to_wait("not_before_ms", "the window of this host's worker id begins at");
	/* Who slews waits for another clock. */
	if (sysfs_number("lead_ms", &lead) && lead)
		complain("ids are %.3f s ahead of the clock, which is more than lead_limit_ms",
			 lead / 1000.0);
	else
		to_wait("last_timestamp_ms", "the last id is of");
}

/**
 * complain - tell a line on standard error
 * @format: as for printf, without a newline
 */
void complain(const char *format, ...)
{
	va_list arguments;

	fputs("snowflake: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/**
 * wrong_usage - point to the help, after the complaint
 * @command: whose help, ending in a blank; "" for the whole
 *
 * Return: what to exit with.
 */
enum status wrong_usage(const char *command)
{
	fprintf(stderr, "Try 'snowflake %s--help'.\n", command);
	return STATUS_USAGE;
}

/**
 * explain - tell what an errno means
 * @call: the call that failed
 * @device: on which file
 * @err: the errno
 *
 * Return: what to exit with.
 */
enum status explain(enum call call, const char *device, int err)
{
	const struct wording *w;

	for (w = wordings; w < wordings + ARRAY_SIZE(wordings); w++) {
		if (w->call != call || w->err != err)
			continue;
		complain("%s: %s (%s)", device, w->what, w->name);
		if (w->more)
			w->more();
		complain("%s", w->cure);
		return w->status;
	}
	complain("%s: %s", device, strerror(err));
	return STATUS_ERROR;
}

/**
 * flushed - write what was printed
 *
 * A reader that has gone needs no words; all else that keeps output from being
 * written is told.
 *
 * Return: whether all of it was written.
 */
bool flushed(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	if (errno != EPIPE)
		complain("standard output: %s", strerror(errno));
	return false;
}

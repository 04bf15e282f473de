// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Errors in words: those of the library, and what can be found out beside them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "sysfs.h"

/* Room for a complaint; a longer one is cut. */
#define COMPLAINT_SIZE 1024

static void behind(void);

/**
 * struct meaning - what an errno comes to for the command
 * @call: who returned it
 * @err: the errno
 * @name: its name
 * @status: what to exit with
 * @more: tells what can be found out now, or NULL
 */
struct meaning {
	enum snowflake_call call;
	int err;
	const char *name;
	enum status status;
	void (*more)(void);
};

static const struct meaning meanings[] = {
	{ SNOWFLAKE_IN_OPEN, ENOENT, "ENOENT", STATUS_NO_DEVICE, NULL },
	{ SNOWFLAKE_IN_OPEN, ENXIO, "ENXIO", STATUS_NO_DEVICE, NULL },
	{ SNOWFLAKE_IN_OPEN, ENODEV, "ENODEV", STATUS_NO_DEVICE, NULL },
	{ SNOWFLAKE_IN_OPEN, EACCES, "EACCES", STATUS_NO_PERMISSION, NULL },
	{ SNOWFLAKE_IN_OPEN, EPERM, "EPERM", STATUS_NO_PERMISSION, NULL },
	{ SNOWFLAKE_IN_OPEN, ENOTTY, "ENOTTY", STATUS_ERROR, NULL },
	{ SNOWFLAKE_IN_OPEN, EADDRINUSE, "EADDRINUSE", STATUS_REFUSED, NULL },
	{ SNOWFLAKE_IN_NEXT, ENXIO, "ENXIO", STATUS_NO_WORKER, NULL },
	{
		SNOWFLAKE_IN_NEXT, EDESTADDRREQ, "EDESTADDRREQ",
		STATUS_NO_WORKER, NULL
	},
	{ SNOWFLAKE_IN_NEXT, EOVERFLOW, "EOVERFLOW", STATUS_REFUSED, NULL },
	{ SNOWFLAKE_IN_NEXT, ERANGE, "ERANGE", STATUS_REFUSED, NULL },
	{ SNOWFLAKE_IN_NEXT, EKEYEXPIRED, "EKEYEXPIRED", STATUS_REFUSED, NULL },
	{ SNOWFLAKE_IN_NEXT, ECANCELED, "ECANCELED", STATUS_REFUSED, behind },
	{ SNOWFLAKE_IN_NEXT, EAGAIN, "EAGAIN", STATUS_REFUSED, NULL },
	{ SNOWFLAKE_IN_INFO, ENXIO, "ENXIO", STATUS_NO_WORKER, NULL },
};

static void to_wait(enum attribute attribute, const char *what)
{
	char until_text[SNOWFLAKE_TIME_SIZE], now_text[SNOWFLAKE_TIME_SIZE];
	char left[LENGTH_SIZE];
	int64_t now = now_unix_ms();
	struct value until;

	if (!sysfs_read(attribute, &until) || now >= (int64_t)until.number)
		return;
	complain("%s %s, the clock says %s: %s to wait", what,
		 time_text(until.number, until_text), time_text(now, now_text),
		 length_text(until.number - now, left));
}

/* How far the clock is behind, as far as that can be told. */
static void behind(void)
{
	char text[LENGTH_SIZE];
	struct value lead;

	to_wait(NOT_BEFORE_MS, "the window of this host's worker id begins at");
	/* Who slews waits for another clock. */
	if (sysfs_read(LEAD_MS, &lead) && lead.number)
		complain("ids are %s ahead of the clock, which is more than lead_limit_ms",
			 length_text(lead.number, text));
	else
		to_wait(LAST_TIMESTAMP_MS, "the last id is of");
}

/**
 * complain - tell a line on standard error
 * @format: as for printf, without a newline
 *
 * What was typed or piped in is repeated, but gives the terminal no orders.
 */
void complain(const char *format, ...)
{
	char text[COMPLAINT_SIZE], *c;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	fprintf(stderr, "snowflake: %s\n", text);
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
 * wrong_operand - complain of an operand where none is taken
 * @command: the subcommand, ending in a blank
 * @operand: what was given
 *
 * Return: what to exit with.
 */
enum status wrong_operand(const char *command, const char *operand)
{
	complain("'%s': %stakes no operand", operand, command);
	return wrong_usage(command);
}

static const struct meaning *meaning_of(enum snowflake_call call, int err)
{
	const struct meaning *m;

	for (m = meanings; m < meanings + ARRAY_SIZE(meanings); m++) {
		if (m->call == call && m->err == -err)
			return m;
	}
	return NULL;
}

/**
 * status_of - what to exit with after an error
 * @call: the call that failed
 * @err: what it returned, a negative errno
 *
 * Return: the status.
 */
enum status status_of(enum snowflake_call call, int err)
{
	const struct meaning *m = meaning_of(call, err);

	return m ? m->status : STATUS_ERROR;
}

/**
 * explain - tell what an error means and what to do about it
 * @call: the call that failed
 * @device: on which device or engine
 * @err: what it returned, a negative errno
 *
 * Return: what to exit with.
 */
enum status explain(enum snowflake_call call, const char *device, int err)
{
	const struct meaning *m = meaning_of(call, err);
	const char *text = snowflake_strerror(call, err);
	const char *cure = strstr(text, "; ");
	int length = cure ? (int)(cure - text) : (int)strlen(text);

	if (m)
		complain("%s: %.*s (%s)", device, length, text, m->name);
	else
		complain("%s: %.*s", device, length, text);
	if (m && m->more)
		m->more();
	if (cure)
		complain("%s", cure + 2);
	return m ? m->status : STATUS_ERROR;
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

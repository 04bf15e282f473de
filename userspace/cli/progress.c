// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How far long work has come: a line on standard error that is written over,
 * if that is a terminal, and not before the work has taken a second.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

#define FIRST_NS 1000000000
#define EVERY_NS 200000000

/**
 * progress_begin - the work begins
 * @progress: what is kept for it
 * @what: what is being done
 * @whole: how much there is to do, 0 if that is not known
 * @lines: lines go to standard output meanwhile, which on a terminal are
 *	progress enough
 */
void progress_begin(struct progress *progress, const char *what,
		    uint64_t whole, bool lines)
{
	*progress = (struct progress) {
		.what = what,
		.whole = whole,
		.terminal = isatty(STDERR_FILENO) &&
			    !(lines && isatty(STDOUT_FILENO)),
	};
	if (progress->terminal)
		progress->next_ns = now_ns() + FIRST_NS;
}

/**
 * progress_show - so much is done
 * @progress: what is kept for it
 * @done: how much of the whole
 */
void progress_show(struct progress *progress, uint64_t done)
{
	char text[GROUPED_SIZE], share[SHARE_SIZE];
	uint64_t now;

	if (!progress->terminal)
		return;
	now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + EVERY_NS;
	progress->shown = true;
	if (progress->whole)
		fprintf(stderr, "\r%s %s, %s\033[K", grouped(done, text),
			progress->what,
			share_text(done, progress->whole, share));
	else
		fprintf(stderr, "\r%s %s\033[K", grouped(done, text),
			progress->what);
}

/**
 * progress_end - the work has ended: take the line away
 * @progress: what is kept for it
 */
void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Unix milliseconds and what people read instead.
 */
#include <stdio.h>
#include <time.h>

#include "cli.h"

/**
 * time_now_ms - what the clock says
 *
 * Return: Unix milliseconds.
 */
u64 time_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/**
 * time_text - an instant in ISO 8601, UTC, to the millisecond
 * @ms: Unix milliseconds
 * @text: where it goes
 *
 * Return: @text.
 */
const char *time_text(u64 ms, char text[TIME_SIZE])
{
	time_t seconds = ms / 1000;
	struct tm tm;

	/* A custom layout may outlive the calendar. */
	if (!gmtime_r(&seconds, &tm)) {
		snprintf(text, TIME_SIZE, "beyond the calendar");
		return text;
	}
	snprintf(text, TIME_SIZE, "%04lld-%02d-%02dT%02d:%02d:%02d.%03uZ",
		 tm.tm_year + 1900LL, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		 tm.tm_min, tm.tm_sec, (unsigned int)(ms % 1000));
	return text;
}

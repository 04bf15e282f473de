// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the clocks say, and how fast things go by them.
 */
#include <time.h>

#include "cli.h"

/**
 * now_unix_ms - what the clock on the wall says
 *
 * Return: Unix milliseconds.
 */
int64_t now_unix_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/**
 * now_ns - a clock that nobody sets
 *
 * Return: nanoseconds.
 */
uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

/**
 * per_second - a rate
 * @count: how many
 * @ns: in how many nanoseconds
 *
 * Return: how many in a second, 0 if no time has passed.
 */
uint64_t per_second(uint64_t count, uint64_t ns)
{
	return ns ? (uint64_t)((double)count * 1e9 / (double)ns + 0.5) : 0;
}

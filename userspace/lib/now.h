/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The clocks, in ns.
 */
#ifndef SNOWFLAKE_LIB_NOW_H
#define SNOWFLAKE_LIB_NOW_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000LL

/* As the core has it. */
#define NSEC_PER_MSEC 1000000L

/**
 * now_ns - read a clock
 * @clock: CLOCK_REALTIME or CLOCK_MONOTONIC, which need no system call
 *
 * Context: any, signal handlers too.
 * Return: ns since the clock's zero.
 */
static inline int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

#endif /* SNOWFLAKE_LIB_NOW_H */

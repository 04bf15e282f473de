/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the library shows: all that snowflake.h declares. Everything else is
 * compiled as hidden. The Makefile includes this before each source file but the
 * core's.
 */
#ifndef SNOWFLAKE_LIB_PUBLIC_H
#define SNOWFLAKE_LIB_PUBLIC_H

#pragma GCC visibility push(default)
#include <snowflake.h>
#pragma GCC visibility pop

#endif /* SNOWFLAKE_LIB_PUBLIC_H */

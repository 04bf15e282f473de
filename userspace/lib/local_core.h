/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core of the module, for files that include the public header as well: that
 * one has an enum snowflake_order, and C has one space for the tags of both.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_CORE_H
#define SNOWFLAKE_LIB_LOCAL_CORE_H

#define snowflake_order snowflake_core_order
#include "../../kmod/generator.h"
#undef snowflake_order

#endif /* SNOWFLAKE_LIB_LOCAL_CORE_H */

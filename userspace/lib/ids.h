/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Presets as the core has them, for engines that go by the core.
 */
#ifndef SNOWFLAKE_LIB_IDS_H
#define SNOWFLAKE_LIB_IDS_H

#include "../../kmod/layout.h"

const struct snowflake_layout *ids_preset(const char *name);

#endif /* SNOWFLAKE_LIB_IDS_H */

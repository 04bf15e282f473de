/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The folder of the state files: who may use which range, and from when on.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_FOLDER_H
#define SNOWFLAKE_LIB_LOCAL_FOLDER_H

#include "local_file.h"

int local_folder_open(const char *path);
int local_folder_enter(int dir, const struct local_range *range,
		       struct local_file *file);

#endif /* SNOWFLAKE_LIB_LOCAL_FOLDER_H */

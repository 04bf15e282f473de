/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The names of the local engine.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_NAME_H
#define SNOWFLAKE_LIB_LOCAL_NAME_H

#include "../../kmod/layout.h"

/**
 * struct local_range - worker ids and what ids look like
 * @layout: the layout
 * @first: the first worker id
 * @count: how many worker ids there are
 */
struct local_range {
	struct snowflake_layout layout;
	u64 first;
	u64 count;
};

/**
 * struct local_name - what a name says
 * @range: the range
 * @dir: the folder of the files, NULL if it is not named
 * @text: memory that @dir is in
 */
struct local_name {
	struct local_range range;
	const char *dir;
	char *text;
};

int local_name_parse(struct local_name *name, const char *text);
void local_name_free(struct local_name *name);

#endif /* SNOWFLAKE_LIB_LOCAL_NAME_H */

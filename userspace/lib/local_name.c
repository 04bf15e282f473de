// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The names of the local engine:
 * local:WORKER[,count=N][,layout=PRESET][,dir=FOLDER]
 */
#include <stdlib.h>

#include <snowflake.h>

#include "ids.h"
#include "local_name.h"

static int parse_count(struct local_name *name, const char *value)
{
	return snowflake_parse(SNOWFLAKE_DECIMAL, value, &name->range.count);
}

static int parse_layout(struct local_name *name, const char *value)
{
	const struct snowflake_layout *layout = ids_preset(value);

	if (!layout)
		return -EINVAL;
	name->range.layout = *layout;
	return 0;
}

static int parse_dir(struct local_name *name, const char *value)
{
	name->dir = value;
	return *value ? 0 : -EINVAL;
}

static const struct option {
	const char *name;
	int (*parse)(struct local_name *name, const char *value);
} options[] = {
	{ "count", parse_count },
	{ "layout", parse_layout },
	{ "dir", parse_dir },
};

/* One NAME=VALUE; @seen has a bit for each option that came before. */
static int parse_option(struct local_name *name, char *text, unsigned int *seen)
{
	char *value = strchr(text, '=');
	unsigned int i;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(text, options[i].name))
			continue;
		if (*seen & 1U << i)
			return -EINVAL;
		*seen |= 1U << i;
		return options[i].parse(name, value);
	}
	return -EINVAL;
}

/* Is it a range that the layout has? */
static bool fits(const struct local_range *range)
{
	u64 workers = snowflake_layout_workers(&range->layout);

	return range->count && range->first < workers &&
	       range->count <= workers - range->first;
}

static int parse(struct local_name *name)
{
	char *rest = name->text;
	char *word = strsep(&rest, ",");
	unsigned int seen = 0;

	if (snowflake_parse(SNOWFLAKE_DECIMAL, word, &name->range.first))
		return -EINVAL;
	while ((word = strsep(&rest, ",")))
		if (parse_option(name, word, &seen))
			return -EINVAL;
	return fits(&name->range) ? 0 : -EINVAL;
}

/**
 * local_name_parse - take a name apart
 * @name: where what it says goes, to be freed; untouched on failure
 * @text: the name
 *
 * Return: 0, -EINVAL if the name is not one of ours, -ENOMEM.
 */
int local_name_parse(struct local_name *name, const char *text)
{
	size_t prefix = strlen(SNOWFLAKE_LOCAL);
	struct local_name new = {
		.range.layout = snowflake_layouts[SNOWFLAKE_TWITTER],
		.range.count = 1,
	};
	int err;

	if (strncmp(text, SNOWFLAKE_LOCAL, prefix))
		return -EINVAL;
	new.text = strdup(text + prefix);
	if (!new.text)
		return -ENOMEM;
	err = parse(&new);
	if (err)
		local_name_free(&new);
	else
		*name = new;
	return err;
}

/**
 * local_name_free - give up the memory of a name
 * @name: the name
 */
void local_name_free(struct local_name *name)
{
	free(name->text);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Counts the ids of files, as the device gives them, and what is wrong with
 * them: duplicates, within a file or between files, ids that are below the one
 * before them in their file, and ids that are none.
 *
 *	count FILE...
 *
 * Prints "IDS DUPLICATES FALLS WRONG"; fails if a file is not of whole ids.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

int main(int argc, char **argv)
{
	size_t ids = 0, duplicates = 0, falls = 0, wrong = 0, more, i;
	uint64_t *all = NULL;
	struct stat st;
	FILE *file;
	int arg;

	for (arg = 1; arg < argc; arg++) {
		file = fopen(argv[arg], "rb");
		if (!file || fstat(fileno(file), &st))
			err(1, "%s", argv[arg]);
		if (st.st_size % sizeof(*all))
			errx(1, "%s: no whole number of ids", argv[arg]);
		more = st.st_size / sizeof(*all);
		all = reallocarray(all, ids + more + 1, sizeof(*all));
		if (!all || fread(all + ids, sizeof(*all), more, file) != more)
			err(1, "%s", argv[arg]);
		fclose(file);
		for (i = ids; i < ids + more; i++) {
			wrong += !all[i] || all[i] > INT64_MAX;
			falls += i > ids && all[i] < all[i - 1];
		}
		ids += more;
	}
	qsort(all, ids, sizeof(*all), compare);
	for (i = 1; i < ids; i++)
		duplicates += all[i] == all[i - 1];
	printf("%zu %zu %zu %zu\n", ids, duplicates, falls, wrong);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reads COUNT ids in a manner of C, and writes them as the device gives them. Says
 * "ready" on standard error, and begins at the end of standard input.
 *
 *	reader {read|block|library|fill} COUNT DEVICE
 *
 * "read" is read(2) of one id at a time, "block" of many; "library" and "fill"
 * are snowflake_next() and snowflake_fill().
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <snowflake.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* How many at once. */
#define BLOCK 1000

static struct snowflake *sf;
static int fd;

static ssize_t take_read(uint64_t *ids, size_t count)
{
	return read(fd, ids, sizeof(*ids)) == sizeof(*ids) ? 1 : -errno;
}

static ssize_t take_block(uint64_t *ids, size_t count)
{
	ssize_t got = read(fd, ids, count * sizeof(*ids));

	return got > 0 && got % sizeof(*ids) == 0 ?
	       got / (ssize_t)sizeof(*ids) : -errno;
}

static ssize_t take_library(uint64_t *ids, size_t count)
{
	int error = snowflake_next(sf, ids);

	return error ? error : 1;
}

static ssize_t take_fill(uint64_t *ids, size_t count)
{
	return snowflake_fill(sf, ids, count, -1);
}

static const struct {
	const char *name;
	ssize_t (*take)(uint64_t *ids, size_t count);
} manners[] = {
	{ "read", take_read },
	{ "block", take_block },
	{ "library", take_library },
	{ "fill", take_fill },
};

int main(int argc, char **argv)
{
	size_t count, done = 0, i = 0, want;
	uint64_t *ids;
	ssize_t got;
	int error;

	if (argc != 4)
		errx(2, "usage: reader MANNER COUNT DEVICE");
	while (strcmp(argv[1], manners[i].name))
		if (++i == ARRAY_SIZE(manners))
			errx(2, "no manner '%s'", argv[1]);
	count = strtoul(argv[2], NULL, 10);
	ids = malloc(count * sizeof(*ids));
	fd = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (!ids || fd < 0)
		err(1, "%s", argv[3]);
	error = snowflake_open(&sf, argv[3], 0);
	if (error)
		errx(1, "%s", snowflake_strerror(SNOWFLAKE_IN_OPEN, error));

	fputs("ready\n", stderr);
	while (getchar() != EOF)
		;
	while (done < count) {
		want = count - done < BLOCK ? count - done : BLOCK;
		got = manners[i].take(ids + done, want);
		if (got <= 0)
			errx(1, "%s", snowflake_strerror(SNOWFLAKE_IN_NEXT, got));
		done += got;
	}
	if (fwrite(ids, sizeof(*ids), count, stdout) != count || fflush(stdout))
		err(1, "standard output");
	return 0;
}

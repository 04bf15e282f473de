// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the tests of the local engine have in common; see local_common.h.
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "local_common.h"

char local_folder[PATH_MAX];

/* Tests begin with an empty folder and a day like any other. */
int local_set_up(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(local_folder, sizeof(local_folder), "%s/local_test.XXXXXX",
		 tmp ? tmp : P_tmpdir);
	assert_non_null(mkdtemp(local_folder));
	machine_reset();
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int local_tear_down(void **state)
{
	(void)state;
	machine.clock = MACHINE_OWN;
	return nftw(local_folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Of a file in the folder; two of them can be used at once. */
char *local_path(const char *name)
{
	static char paths[2][PATH_MAX + 64];
	static unsigned int turn;
	char *path = paths[turn++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", local_folder, name);
	return path;
}

uint64_t local_random(uint64_t limit)
{
	return test_random() % limit;
}

int try_open(struct engine **engine, const char *name)
{
	char full[PATH_MAX + 128];

	*engine = NULL;
	snprintf(full, sizeof(full), "local:%s,dir=%s", name, local_folder);
	return engine_local.open(engine, full);
}

struct engine *open_it(const char *name)
{
	struct engine *engine;

	assert_int_equal(try_open(&engine, name), 0);
	return engine;
}

ssize_t take(struct engine *engine, uint64_t *ids, size_t count,
	     int64_t deadline)
{
	return engine_local.read(engine, ids, count, deadline);
}

uint64_t take_one(struct engine *engine)
{
	uint64_t id;

	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), 1);
	return id;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The folder of the state files. Whoever begins to use a range locks the folder
 * for the time that takes, so one looks at the others while nothing changes.
 *
 * Two ranges that overlap cannot be in use at once: each has a word of its own.
 * One after the other they can: the later one begins where all others ended. They
 * are compared by time, since their layouts may differ.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <snowflake.h>

#include "local_folder.h"

#define FOLDER "snowflake"

/* Have the disk know what is in a folder. */
static int sync_folder(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	if (dir < 0)
		return -errno;
	if (fsync(dir))
		err = -errno;
	close(dir);
	return err;
}

/* Make a folder, unless there is one; the one that it is in has to be there. */
static int make_one(char *path)
{
	char *slash = strrchr(path, '/');
	int err;

	if (mkdir(path, 0700))
		return errno == EEXIST ? 0 : -errno;
	if (!slash)
		return sync_folder(".");
	*slash = '\0';
	err = sync_folder(slash == path ? "/" : path);
	*slash = '/';
	return err;
}

/* Make all the folders of a path, from the one at @from on. */
static int make_path(char *path, size_t from)
{
	char *slash = strchr(path + from, '/');
	int err;

	while (slash) {
		*slash = '\0';
		err = make_one(path);
		*slash = '/';
		if (err)
			return err;
		slash = strchr(slash + 1, '/');
	}
	return make_one(path);
}

/* Where the files are if nobody says; relative paths are not valid there. */
static int default_path(char **path, size_t *from)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	const char *home = secure_getenv("HOME");
	int length;

	if (state && *state == '/') {
		*from = 1;
		length = asprintf(path, "%s/" FOLDER, state);
	} else if (home && *home == '/') {
		*from = strlen(home) + 1;
		length = asprintf(path, "%s/.local/state/" FOLDER, home);
	} else {
		return -ENOTDIR;
	}
	return length < 0 ? -ENOMEM : 0;
}

static int open_made(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : dir;
}

/**
 * local_folder_open - open the folder, and make it if need be
 * @path: its path; the folder that it is in must be there. NULL for the user's
 *	own, with all that it is in
 *
 * Return: a descriptor; -ENOTDIR if there is no such place; or another negative
 * errno.
 */
int local_folder_open(const char *path)
{
	char *own = NULL;
	size_t from;
	int dir;

	if (path) {
		own = strdup(path);
		dir = own ? make_one(own) : -ENOMEM;
	} else {
		dir = default_path(&own, &from);
		if (!dir)
			dir = make_path(own, from);
	}
	if (!dir)
		dir = open_made(own);
	free(own);
	return dir == -ENOENT ? -ENOTDIR : dir;
}

/* Is it the name of a state file, and of which range? */
static bool parse_file_name(const char *name, u64 *first, u64 *count)
{
	char own[LOCAL_FILE_NAME_SIZE];
	char *hyphen;
	u64 last;

	if (strlen(name) >= sizeof(own))
		return false;
	strcpy(own, name);
	hyphen = strchr(own, '-');
	if (!hyphen)
		return false;
	*hyphen = '\0';
	if (snowflake_parse(SNOWFLAKE_DECIMAL, own, first) ||
	    snowflake_parse(SNOWFLAKE_DECIMAL, hyphen + 1, &last) ||
	    last < *first)
		return false;
	*count = last - *first + 1;
	local_file_name(own, *first, *count);
	return !strcmp(own, name);
}

/* Until when were ids handed out by a file that overlaps ours? */
static int look_at(int dir, const char *name, s64 *floor_ns)
{
	struct local_file other;
	int err;

	err = local_file_load(&other, dir, name);
	if (err)
		return err;
	err = local_file_unused(&other);
	if (!err)
		*floor_ns = max_t(s64, *floor_ns, local_file_end(&other));
	local_file_close(&other);
	return err;
}

static int look_at_all(int dir, DIR *list, const struct local_range *range,
		       s64 *floor_ns)
{
	u64 last = range->first + range->count - 1;
	struct dirent *entry;
	u64 first, count;
	int err;

	for (errno = 0; (entry = readdir(list)); errno = 0) {
		if (!parse_file_name(entry->d_name, &first, &count))
			continue;
		if (first > last || range->first > first + count - 1)
			continue;
		if (first == range->first && count == range->count)
			continue;
		err = look_at(dir, entry->d_name, floor_ns);
		if (err)
			return err;
	}
	return -errno;
}

/* Until when were ids handed out by all files that overlap ours? */
static int look_at_others(int dir, const struct local_range *range,
			  s64 *floor_ns)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list;
	int err;

	if (fd < 0)
		return -errno;
	list = fdopendir(fd);
	if (!list) {
		err = -errno;
		close(fd);
		return err;
	}
	err = look_at_all(dir, list, range, floor_ns);
	closedir(list);
	return err;
}

/* Nothing is handed out in the tick in which a range is started. */
static int start(int dir, const struct local_range *range, s64 floor_ns,
		 struct local_file *file)
{
	floor_ns = max_t(s64, floor_ns, ktime_get() + 1);
	return local_file_create(file, dir, range, floor_ns) ?:
	       local_file_use(file);
}

/* Go on with a file that there is, or start it anew. */
static int go_on(int dir, const struct local_range *range, s64 floor_ns,
		 struct local_file *file)
{
	bool usable = file->live && local_file_is(file, range);
	s64 end;
	int err;

	err = local_file_unused(file);
	if (err == -EADDRINUSE && usable)
		return local_file_use(file);
	if (err)
		return err;

	end = local_file_end(file);
	if (usable) {
		/* Others may have been in use since it was. */
		if (floor_ns > end)
			snowflake_config_start(&file->config, floor_ns);
		return local_file_use(file);
	}
	local_file_close(file);
	return start(dir, range, max_t(s64, floor_ns, end), file);
}

static int enter(int dir, const struct local_range *range,
		 struct local_file *file)
{
	char name[LOCAL_FILE_NAME_SIZE];
	s64 floor_ns = S64_MIN;
	int err;

	err = look_at_others(dir, range, &floor_ns);
	if (err)
		return err;
	local_file_name(name, range->first, range->count);
	err = local_file_load(file, dir, name);
	if (err == -ENOENT)
		err = start(dir, range, floor_ns, file);
	else if (!err)
		err = go_on(dir, range, floor_ns, file);
	else
		return err;
	/* Whoever made the file may have been killed before this. */
	if (!err && fsync(dir))
		err = -errno;
	if (err)
		local_file_close(file);
	return err;
}

/**
 * local_folder_enter - begin to use a range
 * @dir: the folder, which @file keeps in use
 * @range: the range and layout
 * @file: its file
 *
 * Return: 0; -EADDRINUSE if the range, or one that overlaps it, is in use
 * otherwise; -EBADMSG if its file, or one that overlaps it, is damaged; or
 * another negative errno.
 */
int local_folder_enter(int dir, const struct local_range *range,
		       struct local_file *file)
{
	int err;

	while (flock(dir, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	err = enter(dir, range, file);
	/* Not by closing it: a child forked just now has it open, too. */
	flock(dir, LOCK_UN);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The state file of a range, two pages of memory long.
 *
 * The first page is the durable part: the range, the layout, the boot in which
 * the live part is valid, and until when ids are reserved. It is made whole and
 * given its name when it is; after that only one word of it changes, the time
 * reserved, which carries its own check, only rises, and is written with one
 * store. So there is no instant at which a process that is killed, or a machine
 * that stops, leaves half of something behind.
 *
 * The second page is the live part: the word, from which all processes claim.
 * The kernel keeps it as long as the machine runs, whoever is killed, and
 * writes it to disk when it likes: after a reboot it is worth nothing.
 *
 * No id is handed out before it is certain that the disk knows of its time: an
 * id's tick ends no later than what is reserved, and that was written through
 * before it was published as covered. After a reboot the range starts anew at
 * what was reserved, in a new file that takes the place of the old.
 *
 * There are no locks in the file. Reserving is idempotent: any number of
 * processes, threads, forked children and signal handlers may do it at once.
 * Each does it through an open file of its own, since the kernel tells of a
 * failed write only once for each.
 *
 * Who uses a file holds a shared flock() on it, which ends with the last process
 * that has it, so forked children count.
 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local_file.h"
#include "now.h"

#define MAGIC "snowflk\n"
#define VERSION 1

/* The time reserved: seconds above, their check below. */
#define CHECK_BITS 24
#define CHECK_MASK ((1U << CHECK_BITS) - 1)
#define SECONDS_MAX (S64_MAX / NSEC_PER_SEC)

/* What a file is called until it is complete. */
#define NEW_SUFFIX ".new"

static_assert(sizeof(struct local_header) == 112, "it is a format");
static_assert(sizeof(((struct local_header *)0)->magic) == sizeof(MAGIC) - 1,
	      "it has no NUL");

/* CRC-32 as in Ethernet; headers are short and few. */
static u32 crc32(u32 crc, const void *data, size_t size)
{
	const u8 *byte = data;
	unsigned int bit;

	crc = ~crc;
	while (size--) {
		crc ^= *byte++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static u32 header_check(const struct local_header *header)
{
	return crc32(0, header, offsetof(struct local_header, check));
}

/* The time reserved, as it is in a header with the check @check. */
static u64 encode_reserved(u64 seconds, u32 check)
{
	return seconds << CHECK_BITS |
	       (crc32(check, &seconds, sizeof(seconds)) & CHECK_MASK);
}

static int decode_reserved(u64 reserved, u32 check, u64 *seconds)
{
	*seconds = reserved >> CHECK_BITS;
	if (*seconds > SECONDS_MAX ||
	    reserved != encode_reserved(*seconds, check))
		return -EBADMSG;
	return 0;
}

/* The first number of @config that is not covered by what is reserved. */
static u64 covered_by(const struct snowflake_config *config, u64 seconds)
{
	s64 since = (s64)seconds * NSEC_PER_SEC - config->epoch_ns;
	u64 tick = since < 0 ? 0 : div64_u64(since, config->tick_ns);

	return min_t(u64, tick, config->last_tick + 1) << config->shift;
}

/**
 * local_file_name - the name of the file of a range
 * @name: where it goes
 * @first: the first worker id
 * @count: how many worker ids there are
 */
void local_file_name(char name[LOCAL_FILE_NAME_SIZE], u64 first, u64 count)
{
	unsigned long long last = first + count - 1;

	snprintf(name, LOCAL_FILE_NAME_SIZE, "%llu-%llu",
		 (unsigned long long)first, last);
}

static void set_config(struct local_file *file, const struct local_range *range)
{
	file->config = (struct snowflake_config){
		.layout = range->layout,
		.worker_id = range->first,
		.worker_count = range->count,
		/* Blocks have none, so none is taken for one of ours. */
		.cookie = 1,
	};
	snowflake_config_derive(&file->config);
}

/**
 * local_file_is - whether a file is of this very range and layout
 * @file: the file
 * @range: the range
 *
 * Return: true if it is.
 */
bool local_file_is(const struct local_file *file,
		   const struct local_range *range)
{
	const struct snowflake_config *config = &file->config;
	const struct snowflake_layout *ours = &config->layout;
	const struct snowflake_layout *theirs = &range->layout;

	return config->worker_id == range->first &&
	       config->worker_count == range->count &&
	       ours->epoch_ms == theirs->epoch_ms &&
	       ours->tick_ms == theirs->tick_ms &&
	       ours->timestamp_bits == theirs->timestamp_bits &&
	       ours->worker_bits == theirs->worker_bits &&
	       ours->sequence_bits == theirs->sequence_bits &&
	       ours->order == theirs->order;
}

/* Is it one of ours, whole, and under its own name? */
static bool header_holds(const struct local_header *header, const char *name,
			 size_t size)
{
	char own[LOCAL_FILE_NAME_SIZE];

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) ||
	    header->version != VERSION || header->zero2 ||
	    header->check != header_check(header))
		return false;
	local_file_name(own, header->first, header->count);
	return !strcmp(own, name) && size == 2UL * header->page;
}

/* Nothing but zeros follows it on its page. */
static int check_rest(const struct local_file *file)
{
	u8 part[512];
	size_t at, i;
	ssize_t got;

	for (at = sizeof(struct local_header); at < file->page; at += got) {
		got = pread(file->fd, part,
			    min_t(size_t, file->page - at, sizeof(part)), at);
		if (got < 0)
			return -errno;
		if (!got)
			return -EBADMSG;
		for (i = 0; i < (size_t)got; i++)
			if (part[i])
				return -EBADMSG;
	}
	return 0;
}

static int read_header(struct local_file *file, struct local_header *header,
		       size_t size)
{
	ssize_t got = pread(file->fd, header, sizeof(*header), 0);

	if (got < 0)
		return -errno;
	if (got != sizeof(*header) || !header_holds(header, file->name, size))
		return -EBADMSG;
	file->check = header->check;
	file->page = header->page;
	return check_rest(file);
}

/* Nobody but us reads or writes a file of ours, and it is nothing else. */
static int check_kind(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return -EBADMSG;
	return st->st_uid == geteuid() ? 0 : -EACCES;
}

static int map_live(struct local_file *file)
{
	void *live = mmap(NULL, file->page, PROT_READ | PROT_WRITE, MAP_SHARED,
			  file->fd, file->page);

	if (live == MAP_FAILED)
		return -errno;
	/* A page that could not be written back must not be read back. */
	mlock(live, file->page);
	file->live = live;
	file->config.words = &file->live->word;
	return 0;
}

static struct local_header *map_header(const struct local_file *file, int fd)
{
	return mmap(NULL, file->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
}

/* In one load: it may rise just now. */
static int read_reserved(const struct local_file *file, u64 *seconds)
{
	struct local_header *header = map_header(file, file->fd);
	int err;

	if (header == MAP_FAILED)
		return -errno;
	err = decode_reserved(READ_ONCE(header->reserved), file->check,
			      seconds);
	munmap(header, file->page);
	return err;
}

/* What can be known to be wrong of a part that changes all the time. */
static int check_live(const struct local_file *file,
		      const struct local_header *header, u64 covered,
		      u64 seconds)
{
	const struct local_live *live = file->live;

	if ((u64)atomic64_read(&live->word.next) < header->start ||
	    atomic_read(&live->word.waiters) ||
	    covered > covered_by(&file->config, seconds) ||
	    !READ_ONCE(live->generation))
		return -EBADMSG;
	return 0;
}

static int load_live(struct local_file *file, const struct local_header *header)
{
	char boot_id[LOCAL_BOOT_ID_SIZE];
	u64 covered = 0, seconds = 0;
	int err;

	err = local_host_boot_id(boot_id);
	if (!err && !memcmp(header->boot_id, boot_id, sizeof(boot_id)))
		err = map_live(file);
	if (err)
		return err;
	if (file->live) {
		/* In this order: both rise, and what is reserved is ahead. */
		covered = smp_load_acquire(&file->live->covered);
	}
	err = read_reserved(file, &seconds);
	if (err)
		return err;
	file->reserved_ns = seconds * NSEC_PER_SEC;
	return file->live ? check_live(file, header, covered, seconds) : 0;
}

static int load(struct local_file *file)
{
	struct local_header header;
	struct local_range range;
	struct stat st;
	int err;

	if (fstat(file->fd, &st))
		return -errno;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	err = check_kind(&st) ?: read_header(file, &header, st.st_size);
	if (err)
		return err;

	range = (struct local_range){
		.layout = {
			.timestamp_bits = header.timestamp_bits,
			.worker_bits = header.worker_bits,
			.sequence_bits = header.sequence_bits,
			.order = header.order,
			.tick_ms = header.tick_ms,
			.epoch_ms = header.epoch_ms,
		},
		.first = header.first,
		.count = header.count,
	};
	set_config(file, &range);
	return load_live(file, &header);
}

/**
 * local_file_load - open a file that there is
 * @file: the file
 * @dir: its folder
 * @name: its name
 *
 * Context: the folder is locked.
 * Return: 0; -ENOENT if there is none; -EBADMSG if it is damaged; -EACCES if it
 * is another user's; or another negative errno.
 */
int local_file_load(struct local_file *file, int dir, const char *name)
{
	struct stat st;
	int err;

	*file = (struct local_file){ .dir = dir, .fd = -1 };
	strcpy(file->name, name);
	/* Before it is opened, which may do things to what is no file. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	err = check_kind(&st);
	if (err)
		return err;
	file->fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	err = load(file);
	if (err)
		local_file_close(file);
	return err;
}

/* Write both pages of a new file. */
static int write_new(struct local_file *file, s64 floor_ns)
{
	struct snowflake_config *config = &file->config;
	u64 seconds = floor_ns < 0 ? 0 : (floor_ns - 1) / NSEC_PER_SEC + 1;
	struct local_header header = {
		.version = VERSION,
		.page = file->page,
		.first = config->worker_id,
		.count = config->worker_count,
		.epoch_ms = config->layout.epoch_ms,
		.tick_ms = config->layout.tick_ms,
		.timestamp_bits = config->layout.timestamp_bits,
		.worker_bits = config->layout.worker_bits,
		.sequence_bits = config->layout.sequence_bits,
		.order = config->layout.order,
	};
	struct local_live *live;
	u8 *pages;
	int err;

	err = local_host_boot_id(header.boot_id);
	if (err)
		return err;
	pages = calloc(2, file->page);
	if (!pages)
		return -ENOMEM;

	live = (struct local_live *)(pages + file->page);
	live->generation = 1;
	config->words = &live->word;
	snowflake_config_start(config, floor_ns);

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.start = atomic64_read(&live->word.next);
	header.check = header_check(&header);
	header.reserved = encode_reserved(seconds, header.check);
	memcpy(pages, &header, sizeof(header));
	file->check = header.check;

	/* What a short write means, which sets none. */
	errno = ENOSPC;
	if (write(file->fd, pages, 2 * file->page) != 2 * (ssize_t)file->page ||
	    fsync(file->fd))
		err = -errno;
	config->words = NULL;
	free(pages);
	return err;
}

/**
 * local_file_create - make a file, in place of what there is
 * @file: the file
 * @dir: its folder
 * @range: the range and layout
 * @floor_ns: ids begin in the first tick that begins no earlier, in ns since the
 *	Unix epoch
 *
 * Context: the folder is locked, and nobody uses the range. The folder has to be
 * written through before ids are handed out.
 * Return: 0 or a negative errno.
 */
int local_file_create(struct local_file *file, int dir,
		      const struct local_range *range, s64 floor_ns)
{
	char new[LOCAL_FILE_NAME_SIZE + sizeof(NEW_SUFFIX)];
	struct stat st;
	int err;

	*file = (struct local_file){ .dir = dir, .fd = -1 };
	file->page = sysconf(_SC_PAGESIZE);
	set_config(file, range);
	local_file_name(file->name, range->first, range->count);
	snprintf(new, sizeof(new), "%s" NEW_SUFFIX, file->name);

	/* Somebody may have been killed while at it. */
	if (unlinkat(dir, new, 0) && errno != ENOENT)
		return -errno;
	file->fd = openat(dir, new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			  0600);
	if (file->fd < 0)
		return -errno;
	err = write_new(file, floor_ns) ?: map_live(file);
	if (!err && (fstat(file->fd, &st) ||
		     renameat(dir, new, dir, file->name)))
		err = -errno;
	if (err) {
		unlinkat(dir, new, 0);
		local_file_close(file);
		return err;
	}
	file->device = st.st_dev;
	file->inode = st.st_ino;
	return 0;
}

/**
 * local_file_unused - whether nobody uses a file
 * @file: the file
 *
 * Context: the folder is locked, so nobody begins to use it meanwhile.
 * Return: 0; -EADDRINUSE if somebody uses it; or another negative errno.
 */
int local_file_unused(struct local_file *file)
{
	if (flock(file->fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	/* Not by closing it: a child forked just now has it open, too. */
	flock(file->fd, LOCK_UN);
	return 0;
}

/**
 * local_file_use - begin to use a file, together with others
 * @file: the file
 *
 * Context: the folder is locked.
 * Return: 0 or a negative errno.
 */
int local_file_use(struct local_file *file)
{
	return flock(file->fd, LOCK_SH | LOCK_NB) ? -errno : 0;
}

/**
 * local_file_end - until when ids were handed out
 * @file: a file that nobody uses
 *
 * Return: the end of the last tick, in ns since the Unix epoch, or a later time
 * if it is not known exactly.
 */
s64 local_file_end(const struct local_file *file)
{
	return file->live ? snowflake_config_used(&file->config) :
			    file->reserved_ns;
}

static bool same_file(const struct local_file *file, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == file->device &&
	       st.st_ino == file->inode &&
	       (size_t)st.st_size == 2 * file->page;
}

/* Open it once more; not what has taken its name since. */
static int open_again(const struct local_file *file)
{
	int fd = openat(file->dir, file->name,
			O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (!same_file(file, fd)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/*
 * Raise the time reserved. The store is done even if it is as late already: it
 * makes the kernel write a page once more that it has failed to write.
 */
static int raise_reserved(u64 *reserved, u32 check, u64 *seconds)
{
	u64 old = __atomic_load_n(reserved, __ATOMIC_RELAXED);
	u64 there;

	do {
		if (decode_reserved(old, check, &there))
			return -EBADMSG;
		*seconds = max_t(u64, *seconds, there);
	} while (!__atomic_compare_exchange_n(reserved, &old,
					      encode_reserved(*seconds, check),
					      false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return 0;
}

/* Have the disk know that ids are reserved until @seconds or later. */
static int write_through(const struct local_file *file, u64 *seconds)
{
	struct local_header *header;
	int err, fd;

	fd = open_again(file);
	if (fd < 0)
		return fd;
	header = map_header(file, fd);
	if (header == MAP_FAILED) {
		err = -errno;
	} else {
		err = raise_reserved(&header->reserved, file->check, seconds);
		if (!err && msync(header, file->page, MS_SYNC))
			err = -errno;
		munmap(header, file->page);
	}
	close(fd);
	return err;
}

/**
 * local_file_reserve - reserve more time on disk
 * @file: the file
 * @now: the clock, in ns since the Unix epoch
 *
 * Context: any thread or signal handler of any process that has the file open.
 * Return: 0 once the time until one window from @now is covered, but for a
 * fraction of a second; -ESTALE if the file was removed or replaced; -EBADF if
 * it was closed behind our back, so others do not know that it is in use;
 * or another negative errno.
 */
int local_file_reserve(struct local_file *file, s64 now)
{
	u64 seconds = (now + LOCAL_WINDOW_NS) / NSEC_PER_SEC;
	u64 covered, old;
	int state, err;

	if (!same_file(file, file->fd))
		return -EBADF;
	/* A thread that is cancelled here would leave things open. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	err = write_through(file, &seconds);
	pthread_setcancelstate(state, NULL);
	if (err)
		return err;

	covered = covered_by(&file->config, seconds);
	old = READ_ONCE(file->live->covered);
	while (old < covered &&
	       !__atomic_compare_exchange_n(&file->live->covered, &old, covered,
					    false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return 0;
}

/**
 * local_file_close - stop using a file
 * @file: the file; its folder stays open
 */
void local_file_close(struct local_file *file)
{
	if (file->live)
		munmap(file->live, file->page);
	if (file->fd >= 0)
		close(file->fd);
	file->live = NULL;
	file->fd = -1;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Operations at random, by four processes: root and nobody, two of each. One
 * of them alone writes attributes, so that it can tell what a refused write has
 * changed. Whatever they do, no id comes twice, every file's ids rise, and no
 * call answers with what it must not.
 *
 *	SNOWFLAKE_OPS=500000	that many operations in all
 *	SNOWFLAKE_SEED=N	other ones
 */
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "layouts.h"
#include "kselftest_harness.h"
#include "../../kmod/uapi/snowflake.h"

#define OPS		40000		/* in all, unless told otherwise */
#define SEED		20101104
#define PROCESSES	4
#define ROOTS		2		/* the first of them writes attributes */
#define NOBODY		65534
#define FILES		8		/* that a process has open at once */
#define MAPS		4
#define LOG_RUNS	(1 << 21)
#define SIGNAL_MS	23		/* between two signals to each */
#define HOUR_MS		3600000LL
#define SOON_MS		3		/* for a window to begin or to end */
#define CURE_WRITES	12		/* until minting is made possible again */
#define WRITES_PERMILLE	20		/* of all operations, at the most */
#define PIECES		5		/* of readv */
#define MINTED		2		/* ids to an operation, at the least */

struct fuzzer;

struct open_file {
	int fd;
	uint64_t last;
};

struct fuzzer {
	struct fuzz *all;
	unsigned int nr;
	uint64_t random;
	struct open_file file[FILES];
	const struct snowflake_page *map[MAPS];
	uint32_t generation;
	uint8_t *memory;		/* and a page that is not there behind it */
	size_t size;
	uint8_t *read_only;
	struct id_log log;
	unsigned int ops;
	unsigned int done[16];		/* by kind */
	unsigned int written;
	unsigned int refused;
	unsigned int writes;
	char fault[256];
};

struct fuzz {
	unsigned int ops;		/* of each */
	struct fuzzer fuzzer[PROCESSES];
};

static uint64_t next_random(struct fuzzer *f)
{
	/* splitmix64 */
	uint64_t z = f->random += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t below(struct fuzzer *f, uint64_t limit)
{
	return next_random(f) % limit;
}

/* The first fault is the one that is told. */
static void __attribute__((format(printf, 2, 3)))
fault(struct fuzzer *f, const char *format, ...)
{
	va_list args;

	if (f->fault[0])
		return;
	va_start(args, format);
	vsnprintf(f->fault, sizeof(f->fault), format, args);
	va_end(args);
}

static struct open_file *any_file(struct fuzzer *f)
{
	return &f->file[below(f, FILES)];
}

static int any_size(struct fuzzer *f)
{
	static const int sizes[] = {
		0, 1, 7, 8, 8, 8, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 520,
		4095, 4096, 4097,
	};

	switch (below(f, 16)) {
	case 0:
		return 65536 - below(f, 9);
	case 1:
		return below(f, 70000);
	default:
		return sizes[below(f, ARRAY_SIZE(sizes))];
	}
}

/*
 * Where to: nearly always memory; else just short of what is not there, or what
 * nobody may write. *room is what can be written, -1 for nothing.
 */
static void *any_address(struct fuzzer *f, size_t size, ssize_t *room)
{
	size_t short_of;

	*room = -1;
	switch (below(f, 24)) {
	case 0:
		return NULL;
	case 1:
		return (void *)-4096UL;
	case 2:
		return (void *)(LONG_MAX - below(f, 4096));
	case 3:
		return f->read_only;
	case 4:
	case 5:
		short_of = below(f, 600);
		*room = short_of < size ? short_of : size;
		return f->memory + f->size - short_of;
	default:
		*room = size;
		return f->memory + below(f, 16);
	}
}

static bool may_fail_with(int error)
{
	switch (error) {
	case ENXIO:
	case EDESTADDRREQ:
	case EKEYEXPIRED:
	case ECANCELED:
	case EINTR:
		return true;
	default:
		return false;
	}
}

/* What a read of @want bytes to where @room of them fit may have given. */
static void check_read(struct fuzzer *f, struct open_file *file, const char *what,
		       const void *at, ssize_t got, size_t want, ssize_t room,
		       bool nonblock)
{
	static uint64_t ids[65536 / ID_SIZE + 1];
	int error = errno;
	ssize_t i;

	if (file->fd < 0) {
		if (got >= 0 || error != EBADF)
			fault(f, "%s of a closed file gave %zd, errno %d", what, got, error);
		return;
	}
	if (got < 0) {
		if (error == EINVAL ? want < ID_SIZE :
		    error == EFAULT ? room < (ssize_t)want :
		    error == EAGAIN ? nonblock : may_fail_with(error))
			return;
		fault(f, "%s of %zu bytes, room for %zd: errno %d", what, want, room, error);
		return;
	}
	if (!got || got % ID_SIZE || (size_t)got > want || got > room) {
		fault(f, "%s of %zu bytes, room for %zd, gave %zd", what, want, room, got);
		return;
	}
	memcpy(ids, at, got);
	got /= ID_SIZE;
	for (i = 0; i < got; i++) {
		if (ids[i] <= file->last)
			fault(f, "%s gave %ju after %ju of the same file", what,
			      (uintmax_t)ids[i], (uintmax_t)file->last);
		file->last = ids[i];
	}
	log_add(&f->log, ids, got);
}

static bool is_nonblocking(struct open_file *file)
{
	int flags = fcntl(file->fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK;
}

static void do_read(struct fuzzer *f)
{
	struct open_file *file = any_file(f);
	size_t want = any_size(f);
	ssize_t room, got;
	void *at = any_address(f, want, &room);

	got = read(file->fd, at, want);
	check_read(f, file, "read", at, got, want, room, is_nonblocking(file));
}

static void do_readv(struct fuzzer *f)
{
	static const int flags[] = { 0, RWF_NOWAIT, RWF_NOWAIT, RWF_HIPRI };
	struct open_file *file = any_file(f);
	int flag = flags[below(f, ARRAY_SIZE(flags))], i;
	struct iovec iov[PIECES];
	size_t want = 0;
	ssize_t got;

	/* Pieces that follow each other, so that the whole can be looked at. */
	for (i = 0; i < PIECES; i++) {
		size_t size = below(f, 3) ? below(f, 40) : (size_t)any_size(f) / PIECES;

		iov[i] = (struct iovec){ f->memory + want, size };
		want += size;
	}
	got = preadv2(file->fd, iov, PIECES, -1, flag);
	check_read(f, file, "preadv2", f->memory, got, want, want,
		   is_nonblocking(file) || flag & RWF_NOWAIT);
}

static void do_open(struct fuzzer *f)
{
	static const int flags[] = {
		O_RDONLY, O_RDONLY | O_NONBLOCK, O_RDONLY | O_CLOEXEC, O_RDWR, O_WRONLY,
	};
	struct open_file *file = any_file(f);
	int flag = flags[below(f, ARRAY_SIZE(flags))];

	if (file->fd >= 0)
		close(file->fd);
	file->last = 0;
	file->fd = open(DEVICE, flag);
	/* Only root gets past the mode, and cannot write for all that. */
	if (file->fd < 0 && !(flag & O_ACCMODE))
		fault(f, "open: errno %d", errno);
	if (flag & O_ACCMODE && file->fd >= 0) {
		if (f->nr >= ROOTS)
			fault(f, "nobody opened for writing");
		if (write(file->fd, f->memory, 8) >= 0)
			fault(f, "the device was written to");
		close(file->fd);
		file->fd = -1;
	}
}

static void do_close(struct fuzzer *f)
{
	struct open_file *file = any_file(f);

	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static void do_fcntl(struct fuzzer *f)
{
	struct open_file *file = any_file(f);
	static const int whence[] = { SEEK_SET, SEEK_CUR, SEEK_END };

	if (file->fd < 0)
		return;
	switch (below(f, 3)) {
	case 0:
		fcntl(file->fd, F_SETFL, O_RDONLY | (below(f, 2) ? O_NONBLOCK : 0));
		break;
	case 1:
		lseek(file->fd, next_random(f), whence[below(f, 3)]);
		break;
	default:
		/* A copy is the same file, with the same order and binding. */
		if (read_id(dup2(file->fd, file->fd), (uint64_t *)f->memory) == 0)
			check_read(f, file, "read", f->memory, ID_SIZE, ID_SIZE, ID_SIZE,
				   false);
	}
}

static void do_info(struct fuzzer *f)
{
	static const size_t sizes[] = { 1, 8, 48, 63, 64, 64, 64, 65, 200, 4096, 16383 };
	size_t size = sizes[below(f, ARRAY_SIZE(sizes))];
	struct open_file *file = any_file(f);
	struct snowflake_info *info;
	ssize_t room;
	void *at = any_address(f, size, &room);

	info = at;
	if (ioctl(file->fd, _IOC(_IOC_READ, 0xFC, 0, size), at)) {
		if (errno != (file->fd < 0 ? EBADF : EFAULT) ||
		    (file->fd >= 0 && room == (ssize_t)size))
			fault(f, "INFO of %zu bytes, room for %zd: errno %d", size, room,
			      errno);
		return;
	}
	if (file->fd < 0 || room < (ssize_t)size)
		fault(f, "INFO of %zu bytes, room for %zd", size, room);
	else if (size >= sizeof(*info) &&
		 (info->worker_id < -1 || info->worker_id >= WORKERS ||
		  info->bound_to < -1 || info->bound_to >= WORKERS ||
		  !info->generation))
		fault(f, "INFO: worker %jd bound to %jd", (intmax_t)info->worker_id,
		      (intmax_t)info->bound_to);
}

static void do_bind(struct fuzzer *f)
{
	struct open_file *file = any_file(f);
	struct snowflake_bind bind = {
		.worker_id = below(f, 8) ? below(f, WORKERS) : next_random(f),
		.reserved = below(f, 8) ? 0 : next_random(f),
	};
	int err;

	err = ioctl(file->fd, SNOWFLAKE_IOC_BIND, below(f, 16) ? &bind : NULL) ? errno : 0;
	if (!err && (file->fd < 0 || bind.reserved || bind.worker_id >= WORKERS))
		fault(f, "bound to %ju", (uintmax_t)bind.worker_id);
	if (err && err != EINVAL && err != EBUSY && err != ENXIO && err != EFAULT &&
	    err != EBADF && err != EINTR)
		fault(f, "BIND: errno %d", err);
}

static void do_ioctl(struct fuzzer *f)
{
	struct open_file *file = any_file(f);
	int available = -1, err;
	ssize_t room;

	if (below(f, 2)) {
		err = ioctl(file->fd, FIONREAD, &available);
		if (!err && (available < 0 || available % ID_SIZE))
			fault(f, "FIONREAD: %d", available);
		return;
	}
	/* Our own letter with any number, or a number that is nobody's. */
	err = ioctl(file->fd, below(f, 2) ?
		    _IOC(below(f, 4), 0xFC, 2 + below(f, 254), below(f, 16384)) :
		    0x80000000 | (next_random(f) & 0x3fffffff) >> 16 << 16 | 0xE700 |
		    below(f, 256),
		    any_address(f, 8, &room));
	if (!err || (errno != ENOTTY && errno != EBADF))
		fault(f, "an unknown ioctl: %d, errno %d", err, err ? errno : 0);
}

static void do_poll(struct fuzzer *f)
{
	struct open_file *file = any_file(f);
	struct pollfd poller = {
		.fd = file->fd,
		.events = below(f, 2) ? POLLIN : next_random(f),
	};
	const short known = POLLIN | POLLRDNORM | POLLERR;

	if (poll(&poller, 1, below(f, 16) ? 0 : 2) < 0 && errno != EINTR)
		fault(f, "poll: errno %d", errno);
	if (file->fd >= 0 && poller.revents & ~known)
		fault(f, "poll: %#x", poller.revents);
}

static void do_mmap(struct fuzzer *f)
{
	static const int prots[] = {
		PROT_READ, PROT_READ, PROT_NONE, PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_EXEC,
	};
	const struct snowflake_page **slot = &f->map[below(f, MAPS)];
	int prot = prots[below(f, ARRAY_SIZE(prots))];
	size_t page = sysconf(_SC_PAGESIZE);
	size_t length = below(f, 4) ? page : 1 + below(f, 3 * page);
	off_t offset = below(f, 4) ? 0 : below(f, 4) * page;
	struct open_file *file = any_file(f);
	void *map;

	if (*slot) {
		munmap((void *)*slot, page);
		*slot = NULL;
	}
	map = mmap(NULL, length, prot, below(f, 2) ? MAP_SHARED : MAP_PRIVATE, file->fd,
		   offset);
	if (map == MAP_FAILED)
		return;
	if (file->fd < 0 || prot & PROT_WRITE || offset || length > page) {
		fault(f, "mmap of %zu bytes at %jd, protection %d", length,
		      (intmax_t)offset, prot);
		return;
	}
	if (prot & PROT_READ)
		*slot = map;
	else
		munmap(map, length);
}

static void do_look_at_page(struct fuzzer *f)
{
	const struct snowflake_page *map = f->map[below(f, MAPS)];
	uint32_t generation;

	if (!map)
		return;
	generation = *(const volatile uint32_t *)&map->generation;
	if (generation < f->generation || !generation)
		fault(f, "generation %u after %u", generation, f->generation);
	f->generation = generation;
}

static const char *const read_attributes[] = {
	"worker_id", "worker_count", "sharing", "cpu_block", "sequence_start",
	"layout/preset", "layout/timestamp_bits", "layout/worker_bits",
	"layout/sequence_bits", "layout/order", "layout/tick_ms", "layout/epoch_ms",
	"rewind_policy", "rewind_wait_ms", "lead_limit_ms", "forward_limit_ms",
	"not_before_ms", "not_after_ms",
	/* Up to here what a write may change, and then what it may not. */
	"generation", "layout/ends_ms", "state", "clone_detection", "lead_ms",
	"last_timestamp_ms", "stats/ids", "stats/refused", "stats/exhausted",
	"stats/rewinds", "stats/rewind_last_ms", "stats/rewind_max_ms",
	"stats/rewind_total_ms", "stats/forward_steps", "stats/forward_max_ms",
	"stats/clones",
};

#define WRITABLE	18
#define COMPARED	20

static void do_write_attribute(struct fuzzer *f);

static void do_read_attribute(struct fuzzer *f)
{
	const char *name = read_attributes[below(f, ARRAY_SIZE(read_attributes))];
	char text[64], path[128];
	size_t length;
	int err;

	/* The others read while this one writes. */
	if (!f->nr && below(f, 2)) {
		do_write_attribute(f);
		return;
	}
	if (!below(f, 8)) {
		struct open_file *file = any_file(f);

		/* fdinfo belongs to the kernel's own files as much as to ours. */
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", file->fd);
		err = open(path, O_RDONLY);
		if (err >= 0) {
			if (read(err, f->memory, 4096) <= 0)
				fault(f, "fdinfo: errno %d", errno);
			close(err);
		}
		return;
	}
	err = attr_get(name, text, sizeof(text));
	length = strlen(text);
	if (err || !length || strpbrk(text, "\n "))
		fault(f, "%s: '%s', error %d", name, text, err);
}

/*
 * Writing attributes.
 */

struct snapshot {
	char value[COMPARED][64];
};

static void take(struct snapshot *s)
{
	unsigned int i;

	for (i = 0; i < COMPARED; i++)
		attr_get(read_attributes[i], s->value[i], sizeof(s->value[i]));
}

static long long number_of(const struct snapshot *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < COMPARED; i++)
		if (!strcmp(read_attributes[i], name))
			return atoll(s->value[i]);
	return LLONG_MIN;
}

static const char *garbage(struct fuzzer *f)
{
	static const char *const texts[] = {
		"-2", "x", "1.5", "1 2", "\n", "0x", "--1", "1e3", "18446744073709551616",
		"18446744073709551617", "-9223372036854775809", "4294967296x", " 1 ",
		"twitter instagram", "Bound", "sprea", "slew slew", "worker", "%s%n",
		"99999999999999999999999999999999999999999999999999999999999999999999",
	};
	static char random[64];
	unsigned int i;

	if (below(f, 2))
		return texts[below(f, ARRAY_SIZE(texts))];
	for (i = 0; i < 1 + f->random % 60; i++)
		random[i] = '!' + below(f, 14);	/* no digit is among these */
	random[i] = '\0';
	return random;
}

/* A value that the attribute can have, if it can be written now at all. */
static void valid(struct fuzzer *f, const char *name, char text[64])
{
	static const struct {
		const char *name;
		int from;
		int to;
		const char *words[6];
	} ranges[] = {
		{ "worker_id", -1, WORKERS - 1, {} },
		{ "worker_count", 1, 64, {} },
		{ "cpu_block", 1, CPU_BLOCK, {} },
		{ "rewind_wait_ms", 0, 5, {} },
		{ "lead_limit_ms", 0, 20000, {} },
		{ "forward_limit_ms", 1000, 2000, {} },
		{ "layout/timestamp_bits", 1, 62, {} },
		{ "layout/worker_bits", 1, 62, {} },
		{ "layout/sequence_bits", 1, 62, {} },
		{ "layout/tick_ms", 1, 1000, {} },
		{ "layout/epoch_ms", 0, 2000000000, {} },
		{ "sharing", 0, 1, { "pooled", "bound" } },
		{ "sequence_start", 0, 1, { "zero", "spread" } },
		{ "rewind_policy", 0, 1, { "refuse", "slew" } },
		{ "layout/order", 0, 1, { WORKER_SEQUENCE, SEQUENCE_WORKER } },
		{ "layout/preset", 0, 5, { "twitter", "instagram", "discord",
					   "sonyflake", "js53", CUSTOM } },
	};
	unsigned int i;
	int value;

	if (!strncmp(name, "not_", 4)) {
		const int64_t ahead[] = { -HOUR_MS, 0, SOON_MS, HOUR_MS };
		int64_t at = ahead[below(f, name[4] == 'b' ? 3 : 4)];

		/* 0 is open; nearly always so that minting goes on. */
		snprintf(text, 64, "%lld", below(f, 2) ? 0LL : (long long)(now_ms() + at));
		return;
	}
	for (i = 0; strcmp(ranges[i].name, name); i++)
		;
	value = ranges[i].from + below(f, ranges[i].to - ranges[i].from + 1);
	if (ranges[i].words[0])
		snprintf(text, 64, "%s", ranges[i].words[value]);
	else
		snprintf(text, 64, "%d", value);
}

/* Whether a valid value must be taken, may be, or must not. */
static bool allowed(const struct snapshot *s, unsigned int which, const char *text, int err)
{
	const char *name = read_attributes[which];
	bool running = number_of(s, "worker_id") >= 0;

	if (!strcmp(name, "worker_id")) {
		long long last = atoll(text) + number_of(s, "worker_count") - 1;

		return err == (last >= WORKERS && *text != '-' ? -EINVAL : 0);
	}
	/* The first of the list are what shapes ids. */
	if (which < 12)
		return err == (running ? -EBUSY : 0);
	/* While minting it only rises. */
	if (!strcmp(name, "not_before_ms") && running &&
	    atoll(text) < number_of(s, name))
		return err == -EBUSY || err == -EINVAL;
	return !err;
}

static void write_attribute(struct fuzzer *f, unsigned int which, const char *text,
			    bool is_valid)
{
	const char *name = read_attributes[which];
	struct snapshot before, after;
	unsigned int i;
	int err;

	f->writes++;
	take(&before);
	err = attr_put(name, text);
	take(&after);
	if (is_valid ? !allowed(&before, which, text, err) :
	    err != -EINVAL && err != -EBUSY) {
		fault(f, "%s '%s': error %d, worker_id %lld", name, text, err,
		      number_of(&before, "worker_id"));
		return;
	}
	if (err) {
		f->refused++;
		for (i = 0; i < COMPARED; i++)
			if (strcmp(before.value[i], after.value[i]))
				fault(f, "%s '%s' was refused and changed %s from %s to %s",
				      name, text, read_attributes[i], before.value[i],
				      after.value[i]);
		return;
	}
	f->written++;
	if (strcmp(after.value[which], text))
		fault(f, "%s '%s' was taken and shows %s", name, text, after.value[which]);
}

static unsigned int writable(const char *name)
{
	unsigned int i;

	for (i = 0; strcmp(read_attributes[i], name); i++)
		;
	return i;
}

static void do_write_attribute(struct fuzzer *f)
{
	unsigned int which = below(f, WRITABLE);
	char text[64];

	if (f->nr) {
		/* The others cannot, or do not. */
		if (f->nr >= ROOTS && attr_put(read_attributes[which], "1") != -EACCES)
			fault(f, "nobody wrote %s", read_attributes[which]);
		return;
	}
	/* Every so often all is well. */
	if (f->writes % CURE_WRITES == 0)
		write_attribute(f, writable("not_after_ms"), "0", true);
	if (f->writes % CURE_WRITES == 1 || !below(f, 4))
		which = writable("worker_id");
	if (f->writes % CURE_WRITES == 5) {
		attr_put(below(f, 2) ? "accept_jump" : "layout/ends_ms", garbage(f));
		write_attribute(f, writable("worker_id"), "-1", true);
	}

	if (below(f, 3)) {
		valid(f, read_attributes[which], text);
		write_attribute(f, which, text, true);
	} else {
		write_attribute(f, which, garbage(f), false);
	}
	/* Ids of two layouts could not be told apart: only one comes into force. */
	if (strcmp(attr_string("layout/preset"), "twitter"))
		write_attribute(f, writable("layout/preset"), "twitter", true);
}

static const struct {
	const char *name;
	unsigned int permille;
	void (*run)(struct fuzzer *f);
} kinds[] = {
	{ "read", 420, do_read },
	{ "readv", 150, do_readv },
	{ "open", 60, do_open },
	{ "close", 20, do_close },
	{ "fcntl", 40, do_fcntl },
	{ "info", 50, do_info },
	{ "bind", 50, do_bind },
	{ "ioctl", 40, do_ioctl },
	{ "poll", 40, do_poll },
	{ "mmap", 40, do_mmap },
	{ "look", 30, do_look_at_page },
	{ "attribute", 40, do_read_attribute },
	{ "write", 20, do_write_attribute },
};

static int prepare(struct fuzzer *f)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i;

	f->size = 32 * page;
	f->memory = mmap(NULL, f->size + page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	f->read_only = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((void *)f->memory == MAP_FAILED || (void *)f->read_only == MAP_FAILED)
		return -ENOMEM;
	for (i = 0; i < FILES; i++)
		f->file[i].fd = -1;
	if (munmap(f->memory + f->size, page))
		return -errno;
	if (f->nr >= ROOTS && (setresgid(NOBODY, NOBODY, NOBODY) ||
			       setresuid(NOBODY, NOBODY, NOBODY)))
		return -errno;
	interrupt_every(SIGNAL_MS + f->nr);
	return 0;
}

static void run(struct fuzzer *f)
{
	unsigned int at, i;

	if (prepare(f)) {
		fault(f, "could not begin");
		return;
	}
	for (f->ops = 0; f->ops < f->all->ops && !f->fault[0]; f->ops++) {
		at = below(f, 1000);
		for (i = 0; at >= kinds[i].permille; i++)
			at -= kinds[i].permille;
		f->done[i]++;
		kinds[i].run(f);
	}
}

static unsigned long from_environment(const char *name, unsigned long value)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 10) : value;
}

FIXTURE(fuzz) {
	struct fuzz *fuzz;
	unsigned long seed;
};

FIXTURE_SETUP(fuzz)
{
	const char *why = missing(NEED_ROOT);
	unsigned int i;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(1));
	self->seed = from_environment("SNOWFLAKE_SEED", SEED);
	self->fuzz = mmap(NULL, sizeof(*self->fuzz), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->fuzz);
	self->fuzz->ops = from_environment("SNOWFLAKE_OPS", OPS) / PROCESSES;
	for (i = 0; i < PROCESSES; i++) {
		struct fuzzer *f = &self->fuzz->fuzzer[i];

		f->all = self->fuzz;
		f->nr = i;
		f->random = self->seed * PROCESSES + i;
		ASSERT_EQ(0, log_init(&f->log, LOG_RUNS));
	}
}

FIXTURE_TEARDOWN(fuzz)
{
	EXPECT_EQ(0, reset());
}

TEST_F_TIMEOUT(fuzz, random_operations, 900)
{
	struct id_log *logs[PROCESSES];
	unsigned int i, k, writes = 0;
	uint64_t sample = 0, ids = 0;
	struct fuzzer *f;
	int status;

	ksft_print_msg("seed %lu, %u operations by each of %d processes\n", self->seed,
		       self->fuzz->ops, PROCESSES);
	for (i = 0; i < PROCESSES; i++) {
		pid_t pid = fork_tied();

		ASSERT_LE(0, pid);
		if (!pid) {
			run(&self->fuzz->fuzzer[i]);
			_exit(0);
		}
	}
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}

	for (i = 0; i < PROCESSES; i++) {
		f = &self->fuzz->fuzzer[i];
		logs[i] = &f->log;
		EXPECT_STREQ("", f->fault) TH_LOG("process %u, operation %u", i, f->ops);
		EXPECT_EQ(self->fuzz->ops, f->ops);
		EXPECT_EQ(0, f->log.negative);
		EXPECT_FALSE(f->log.full);
		/* Each file's ids were looked at by themselves. */
		log_sort(&f->log);
		ids += f->log.ids;
		writes += f->writes;
		for (k = 0; k < ARRAY_SIZE(kinds); k++)
			EXPECT_LT(0, f->done[k]) TH_LOG("process %u: no %s", i,
							kinds[k].name);
	}
	f = &self->fuzz->fuzzer[0];
	ksft_print_msg("%ju ids, %u writes taken, %u refused\n", (uintmax_t)ids,
		       f->written, f->refused);
	EXPECT_LE(10, f->written);
	EXPECT_LE(10, f->refused);
	EXPECT_GE(PROCESSES * self->fuzz->ops * WRITES_PERMILLE / 1000, writes);
	EXPECT_LE(MINTED * PROCESSES * self->fuzz->ops, ids);
	EXPECT_EQ(0, logs_duplicates(logs, PROCESSES, &sample)) {
		TH_LOG("such as %ju (tick %jd, worker %d, sequence %d)",
		       (uintmax_t)sample, (intmax_t)id_tick(sample), id_worker(sample),
		       id_sequence(sample));
	}
}

TEST_HARNESS_MAIN

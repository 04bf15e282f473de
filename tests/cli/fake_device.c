// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A device that does what the environment says, linked into the command in place
 * of a few functions of the C library. /dev/null stands for it.
 *
 *	FAKE_IDS=FILE		is the device: reads give the numbers of FILE,
 *	FAKE_ERRNO=N		and once it is at its end, fail
 *	FAKE_MOST=N		no read gives more than N numbers
 *	FAKE_OPEN=N		opening it fails
 *	FAKE_INFO_ERRNO=N	asking for its info fails
 *	FAKE_WORKER=N		the worker id in its info
 *	FAKE_BITS="T W S"	and the widths of its layout
 *
 * Writes to attributes are recorded and can fail:
 *
 *	FAKE_WRITES=FILE	"NAME=VALUE" a line, in order
 *	FAKE_REFUSE="NAME=VALUE N"	this one fails
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../kmod/uapi/snowflake.h"

#define DEVICE_NODE "/dev/null"

static int device_fd = -1;
static int ids_fd = -1;
static int attribute_fd = -1;
static char attribute[128];

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

static int fail(long err)
{
	errno = err;
	return -1;
}

static int real_open(const char *path, int flags, int mode)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void note_attribute(const char *path, int flags, int fd)
{
	size_t length = strlen(SYSFS);

	if (!(flags & O_WRONLY) || strncmp(path, SYSFS "/", length + 1))
		return;
	snprintf(attribute, sizeof(attribute), "%s", path + length + 1);
	attribute_fd = fd;
}

int open(const char *path, int flags, ...)
{
	int fd, mode = 0;
	va_list arguments;

	if (flags & O_CREAT) {
		va_start(arguments, flags);
		mode = va_arg(arguments, int);
		va_end(arguments);
	}
	if (!strcmp(path, DEVICE_NODE) && number("FAKE_OPEN", 0))
		return fail(number("FAKE_OPEN", 0));
	fd = real_open(path, flags, mode);
	if (fd < 0)
		return fd;
	if (!strcmp(path, DEVICE_NODE) && getenv("FAKE_IDS")) {
		device_fd = fd;
		if (ids_fd < 0)
			ids_fd = real_open(getenv("FAKE_IDS"), O_RDONLY, 0);
	}
	note_attribute(path, flags, fd);
	return fd;
}

/* Its number may be that of another file next. */
int close(int fd)
{
	if (fd == device_fd)
		device_fd = -1;
	return syscall(SYS_close, fd);
}

static ssize_t read_ids(void *to, size_t size)
{
	size_t most = number("FAKE_MOST", 1000000) * sizeof(__u64);
	ssize_t got;

	got = syscall(SYS_read, ids_fd, to, size < most ? size : most);
	return got > 0 ? got : fail(number("FAKE_ERRNO", EAGAIN));
}

ssize_t read(int fd, void *to, size_t size)
{
	if (fd >= 0 && fd == device_fd)
		return read_ids(to, size);
	return syscall(SYS_read, fd, to, size);
}

ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset,
		int flags)
{
	if (fd >= 0 && fd == device_fd)
		return read_ids(iov->iov_base, iov->iov_len);
	return syscall(SYS_preadv2, fd, iov, count, offset, 0L, flags);
}

static int refused(const char *line)
{
	const char *which = getenv("FAKE_REFUSE");
	size_t length = strlen(line);

	if (!which || strncmp(which, line, length) || which[length] != ' ')
		return 0;
	return atoi(which + length + 1);
}

ssize_t write(int fd, const void *from, size_t size)
{
	char line[256];
	FILE *record;
	int err;

	if (fd < 0 || fd != attribute_fd)
		return syscall(SYS_write, fd, from, size);
	attribute_fd = -1;
	snprintf(line, sizeof(line), "%s=%.*s", attribute,
		 (int)strcspn(from, "\n"), (const char *)from);
	err = refused(line);
	if (err)
		return fail(err);
	record = getenv("FAKE_WRITES") ? fopen(getenv("FAKE_WRITES"), "a") :
					 NULL;
	if (record) {
		fprintf(record, "%s\n", line);
		fclose(record);
	}
	return syscall(SYS_write, fd, from, size);
}

static int give_info(struct snowflake_info *info)
{
	unsigned int t = 41, w = 10, s = 12;

	if (number("FAKE_INFO_ERRNO", 0))
		return fail(number("FAKE_INFO_ERRNO", 0));
	if (getenv("FAKE_BITS"))
		sscanf(getenv("FAKE_BITS"), "%u %u %u", &t, &w, &s);
	*info = (struct snowflake_info) {
		.worker_id = number("FAKE_WORKER", 1),
		.worker_count = 1,
		.epoch_ms = 1288834974657,
		.bound_to = -1,
		.generation = 7,
		.tick_ms = 1,
		.timestamp_bits = t,
		.worker_bits = w,
		.sequence_bits = s,
	};
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (fd >= 0 && fd == device_fd && request == SNOWFLAKE_IOC_INFO)
		return give_info(argument);
	return syscall(SYS_ioctl, fd, request, argument);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec limit = { timeout / 1000, timeout % 1000 * 1000000 };

	if (count != 1 || fds->fd < 0 || fds->fd != device_fd)
		return syscall(SYS_ppoll, fds, count,
			       timeout < 0 ? NULL : &limit, NULL, 0);
	/* A read would fail. */
	fds->revents = POLLIN | (getenv("FAKE_ERRNO") ? POLLERR : 0);
	return 1;
}

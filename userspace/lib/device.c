// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine that is /dev/snowflake.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "now.h"

/**
 * struct device - the open device
 * @engine: what it is to handles
 * @page: the page with the generation, NULL if it cannot be had
 */
struct device {
	struct engine engine;
	void *page;
};

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static int device_info(struct engine *engine, struct snowflake_info *info)
{
	return ioctl(engine->fd, SNOWFLAKE_IOC_INFO, info) ? -errno : 0;
}

static int device_bind(struct engine *engine, uint64_t worker_id)
{
	struct snowflake_bind bind = { .worker_id = worker_id };

	return ioctl(engine->fd, SNOWFLAKE_IOC_BIND, &bind) ? -errno : 0;
}

/* Other files are not even opened: that alone can block, or do something. */
static int device_open_fd(const char *name)
{
	struct stat st;
	int fd;

	if (stat(name, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENOTTY;
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/*
 * Is it a device of ours, and can ids be kept? Where a sandbox forbids to ask,
 * it is taken at its word, and nothing is kept.
 */
static int device_examine(struct device *device)
{
	struct snowflake_info info;
	const struct snowflake_page *page;
	int err;

	err = device_info(&device->engine, &info);
	if (err == -EPERM || err == -EACCES)
		return 0;
	if (err)
		return err;

	page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED,
		    device->engine.fd, 0);
	if (page != MAP_FAILED) {
		device->page = (void *)page;
		device->engine.generation = &page->generation;
	}
	return 0;
}

static void device_close(struct engine *engine)
{
	struct device *device = (struct device *)engine;

	if (device->page)
		munmap(device->page, page_size());
	close(engine->fd);
	free(device);
}

static int device_open(struct engine **engine, const char *name)
{
	struct device *device = calloc(1, sizeof(*device));
	int err;

	if (!device)
		return -ENOMEM;
	device->engine.ops = &engine_device;
	device->engine.fd = device_open_fd(name);
	if (device->engine.fd < 0) {
		err = device->engine.fd;
		free(device);
		return err;
	}
	err = device_examine(device);
	if (err) {
		device_close(&device->engine);
		return err;
	}
	*engine = &device->engine;
	return 0;
}

/* Until an id is there, or a read would say why not. */
static int device_wait(int fd, int64_t deadline)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int64_t ns = deadline - now_ns(CLOCK_MONOTONIC);
	struct timespec left;

	if (ns <= 0)
		return -EAGAIN;
	left.tv_sec = ns / NSEC_PER_SEC;
	left.tv_nsec = ns % NSEC_PER_SEC;
	switch (ppoll(&pollfd, 1, &left, NULL)) {
	case -1:
		return -errno;
	case 0:
		return -EAGAIN;
	default:
		return 0;
	}
}

static ssize_t device_read(struct engine *engine, uint64_t *ids, size_t count,
			   int64_t deadline)
{
	struct iovec iov = { ids, count * sizeof(*ids) };
	ssize_t got;
	int err;

	for (;;) {
		/* read(2) costs less, but cannot be told not to wait. */
		if (deadline == DEADLINE_NEVER)
			got = read(engine->fd, ids, iov.iov_len);
		else
			got = preadv2(engine->fd, &iov, 1, -1, RWF_NOWAIT);
		if (got >= 0)
			return got / sizeof(*ids);
		err = -errno;
		if (err != -EAGAIN || deadline == DEADLINE_NEVER ||
		    deadline == DEADLINE_NOW)
			return err;
		err = device_wait(engine->fd, deadline);
		if (err)
			return err;
	}
}

const struct engine_ops engine_device = {
	.prefix = "",
	.open = device_open,
	.close = device_close,
	.read = device_read,
	.info = device_info,
	.bind = device_bind,
};

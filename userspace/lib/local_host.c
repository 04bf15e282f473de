// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The machine, as the local engine sees it. See local_host.h.
 *
 * The clock
 *	The core reads the clock as monotonic time plus the real-time offset,
 *	because the offset tells when the clock was set. The kernel does not
 *	tell user space that offset, and it cannot be worked out exactly: the
 *	two clocks are never read at the same instant, and an error in it moves
 *	ids from one tick to another. But only the counters, slewing and the
 *	forward limit are in need of it, and the local engine has none of them;
 *	that a clock is behind is known from the word. So here the core's one
 *	clock is CLOCK_REALTIME itself, and the offset is always 0.
 *
 *	It follows that the core's instants, the until of a run, are of
 *	CLOCK_REALTIME, too. Who sleeps for one has to do so by monotonic time.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <snowflake.h>

#include "../../kmod/uapi/snowflake.h"
#include "local_host.h"
#include "now.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* What the kernel writes there: a UUID. */
#define BOOT_ID_LENGTH 36

ktime_t ktime_get(void)
{
	return now_ns(CLOCK_REALTIME);
}

ktime_t ktime_mono_to_any(ktime_t mono, enum tk_offsets offset)
{
	(void)offset;
	return mono;
}

/**
 * local_host_monotonic - the time to sleep by
 *
 * Return: ns of CLOCK_MONOTONIC.
 */
s64 local_host_monotonic(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

/**
 * local_host_boot_id - which boot of the machine this is
 * @boot_id: where its name goes
 *
 * Return: 0, or a negative errno if that cannot be known.
 */
int local_host_boot_id(char boot_id[LOCAL_BOOT_ID_SIZE])
{
	char text[LOCAL_BOOT_ID_SIZE] = "";
	ssize_t length;
	int err = 0;
	int fd;

	fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, text, sizeof(text) - 1);
	if (length < 0)
		err = -errno;
	else if (length < BOOT_ID_LENGTH)
		err = -EIO;
	close(fd);
	if (err)
		return err;
	memset(text + BOOT_ID_LENGTH, 0, sizeof(text) - BOOT_ID_LENGTH);
	memcpy(boot_id, text, sizeof(text));
	return 0;
}

/**
 * local_host_device - the worker ids of the device
 * @first: where the first of them goes
 * @count: where their number goes, 0 if it has none or there is no device
 *
 * Return: 0, or a negative errno if that cannot be known.
 */
int local_host_device(u64 *first, u64 *count)
{
	struct snowflake_info info = { .worker_id = -1 };
	int err = 0;
	int fd;

	fd = open(SNOWFLAKE_DEVICE, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		/* A node without the module has no worker ids either. */
		if (errno != ENOENT && errno != ENXIO && errno != ENODEV)
			return -errno;
	} else {
		if (ioctl(fd, SNOWFLAKE_IOC_INFO, &info))
			err = -errno;
		close(fd);
	}
	if (err)
		return err;
	*first = info.worker_id < 0 ? 0 : info.worker_id;
	*count = info.worker_id < 0 ? 0 : info.worker_count;
	return 0;
}

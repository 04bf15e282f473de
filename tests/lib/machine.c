// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The calls of the C library by which the local engine knows the machine, as
 * the program's own: see machine.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct machine machine;

/* Not by a system call: what a clock costs is measured. */
static int (*own_gettime)(clockid_t id, struct timespec *now);

static __attribute__((__constructor__)) void find_own(void)
{
	own_gettime = (int (*)(clockid_t, struct timespec *))
		      dlsym(RTLD_NEXT, "clock_gettime");
}

int64_t machine_own_ns(clockid_t id)
{
	struct timespec now;

	own_gettime(id, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* A day like any other, on a machine without a device. */
void machine_reset(void)
{
	machine = (struct machine){
		.clock = MACHINE_DRIVEN,
		.real_ns = MACHINE_DAY_NS,
		.mono_ns = 5 * NS_PER_S,
		.device_open_errno = ENOENT,
	};
}

void machine_pass(int64_t ns)
{
	machine.real_ns += ns;
	machine.mono_ns += ns;
}

void machine_go_fast(void)
{
	machine.fast_from = machine_own_ns(CLOCK_MONOTONIC);
	machine.clock = MACHINE_FAST_CLOCK;
}

struct local_header *machine_disk(uint64_t first)
{
	return &machine.disk[first == 4];
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	int64_t ns;

	/* Others may ask before there are constructors. */
	if (!own_gettime)
		return syscall(SYS_clock_gettime, id, now);
	if (machine.clock == MACHINE_OWN)
		return own_gettime(id, now);
	if (id == CLOCK_REALTIME && machine.step_in && !--machine.step_in)
		machine.real_ns += machine.step_ns;
	ns = id == CLOCK_REALTIME ? machine.real_ns : machine.mono_ns;
	if (machine.clock == MACHINE_FAST_CLOCK) {
		if (id != CLOCK_REALTIME)
			return own_gettime(id, now);
		ns += (machine_own_ns(CLOCK_MONOTONIC) - machine.fast_from) *
		      MACHINE_FAST;
	}
	now->tv_sec = ns / NS_PER_S;
	now->tv_nsec = ns % NS_PER_S;
	return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *at,
		    struct timespec *left)
{
	int64_t until = at->tv_sec * NS_PER_S + at->tv_nsec;

	if (id != CLOCK_MONOTONIC || flags != TIMER_ABSTIME || left)
		abort();
	if (machine.clock == MACHINE_FAST_CLOCK)
		return 0;
	if (machine.clock == MACHINE_OWN)
		return syscall(SYS_clock_nanosleep, id, flags, at, left) ?
		       errno : 0;
	machine.sleeps++;
	if (until > machine.mono_ns)
		machine_pass(until - machine.mono_ns);
	if (machine.on_sleep)
		machine.on_sleep();
	return 0;
}

int msync(void *start, size_t size, int flags)
{
	const struct local_header *header = start;

	if (flags != MS_SYNC)
		abort();
	if (machine.sync_errno) {
		machine.failed_syncs++;
		errno = machine.sync_errno;
		return -1;
	}
	__atomic_fetch_add(&machine.syncs, 1, __ATOMIC_RELAXED);
	if (machine.clock != MACHINE_DRIVEN)
		return syscall(SYS_msync, start, size, flags);
	*machine_disk(header->first) = *header;
	return 0;
}

static int open_boot_id(void)
{
	char text[64];
	int fd, length;

	if (machine.boot_errno) {
		errno = machine.boot_errno;
		return -1;
	}
	fd = memfd_create("boot_id", MFD_CLOEXEC);
	length = snprintf(text, sizeof(text), "%036u\n", machine.boot);
	if (fd < 0 || pwrite(fd, text, length, 0) != length)
		abort();
	return fd;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (!strcmp(path, BOOT_ID))
		return open_boot_id();
	if (!strcmp(path, SNOWFLAKE_DEVICE)) {
		errno = machine.device_open_errno;
		if (errno)
			return -1;
		path = "/dev/null";
	}
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *to;

	va_start(args, request);
	to = va_arg(args, void *);
	va_end(args);
	if (request != SNOWFLAKE_IOC_INFO)
		return syscall(SYS_ioctl, fd, request, to);
	if (machine.device_errno) {
		errno = machine.device_errno;
		return -1;
	}
	memcpy(to, &machine.device, sizeof(machine.device));
	return 0;
}

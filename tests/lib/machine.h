/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A machine that is the test's: its clock, its boots, its disk, and whether there
 * is a device. It stands in for the C library's calls; see machine.c.
 */
#ifndef SNOWFLAKE_LIB_MACHINE_H
#define SNOWFLAKE_LIB_MACHINE_H

#include "../../userspace/lib/engine.h"
#include "../../userspace/lib/local_file.h"

#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

/* Where machines begin: 2025-06-01T00:00:00Z, and a quarter into a tick. */
#define MACHINE_DAY_NS (1748736000LL * NS_PER_S + 250000)

/* How much faster the fast clock goes. */
#define MACHINE_FAST 500

/**
 * enum machine_clock - which clock there is
 * @MACHINE_OWN: that of the machine that the test runs on
 * @MACHINE_DRIVEN: one that stands until it is moved or somebody sleeps
 * @MACHINE_FAST_CLOCK: wall clock that goes fast, and nobody sleeps
 */
enum machine_clock {
	MACHINE_OWN,
	MACHINE_DRIVEN,
	MACHINE_FAST_CLOCK,
};

/**
 * struct machine - what tests set and look at
 * @clock: the clock
 * @real_ns: the wall clock, driven
 * @mono_ns: the monotonic clock, driven
 * @fast_from: the instant at which the fast clock was at @real_ns
 * @step_in: so many readings of the driven wall clock later, it is set; 0: never
 * @step_ns: by so much
 * @sleeps: how often somebody slept by a driven clock
 * @on_sleep: called when somebody did; may be NULL
 * @boot: number of the boot
 * @boot_errno: why it cannot be known, 0 if it can
 * @device: what the device says
 * @device_open_errno: why the device cannot be opened, 0 if it can
 * @device_errno: why it says nothing, 0 if it does
 * @sync_errno: why nothing gets to the disk, 0 if it does
 * @syncs: how often something did
 * @failed_syncs: how often nothing did
 * @disk: what did last, of the file of worker 4 and of that of others
 */
struct machine {
	enum machine_clock clock;
	int64_t real_ns;
	int64_t mono_ns;
	int64_t fast_from;
	unsigned int step_in;
	int64_t step_ns;
	unsigned int sleeps;
	void (*on_sleep)(void);
	unsigned int boot;
	int boot_errno;
	struct snowflake_info device;
	int device_open_errno;
	int device_errno;
	int sync_errno;
	unsigned int syncs;
	unsigned int failed_syncs;
	struct local_header disk[2];
};

extern struct machine machine;

void machine_reset(void);
void machine_pass(int64_t ns);
void machine_go_fast(void);
int64_t machine_own_ns(clockid_t id);
struct local_header *machine_disk(uint64_t first);

#endif /* SNOWFLAKE_LIB_MACHINE_H */

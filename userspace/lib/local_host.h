/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the local engine asks the machine: the time, which boot this is, and
 * whether there is a device with worker ids of its own.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_HOST_H
#define SNOWFLAKE_LIB_LOCAL_HOST_H

#include "../../kmod/portable.h"

/* Room for the name of a boot, with the terminating NUL and zeros behind. */
#define LOCAL_BOOT_ID_SIZE 40

int local_host_boot_id(char boot_id[LOCAL_BOOT_ID_SIZE]);
int local_host_device(u64 *first, u64 *count);
s64 local_host_monotonic(void);

#endif /* SNOWFLAKE_LIB_LOCAL_HOST_H */

/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * What programs may know of /dev/snowflake beyond read(2), which is enough for
 * nearly all of them.
 *
 * Ids come in native byte order. All structures are the same for 32-bit and
 * 64-bit programs and may grow at their end: the size is part of the ioctl's
 * number, the kernel fills in or takes what both sides know, and what one side
 * does not know is zero.
 */
#ifndef _UAPI_SNOWFLAKE_H
#define _UAPI_SNOWFLAKE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * enum snowflake_info_order - what stands below the timestamp in an id
 * @SNOWFLAKE_INFO_WORKER_SEQUENCE: the worker id, and the sequence lowest
 * @SNOWFLAKE_INFO_SEQUENCE_WORKER: the sequence, and the worker id lowest
 */
enum snowflake_info_order {
	SNOWFLAKE_INFO_WORKER_SEQUENCE = 0,
	SNOWFLAKE_INFO_SEQUENCE_WORKER = 1,
};

/**
 * enum snowflake_info_sharing - how open files share the worker ids of the host
 * @SNOWFLAKE_INFO_POOLED: the range is one sequence space for all files
 * @SNOWFLAKE_INFO_BOUND: each file is bound to one worker id of the range
 */
enum snowflake_info_sharing {
	SNOWFLAKE_INFO_POOLED = 0,
	SNOWFLAKE_INFO_BOUND = 1,
};

/**
 * struct snowflake_info - what ids look like and whose they are
 * @worker_id: first worker id of this host, -1 if there is none
 * @worker_count: how many worker ids this host has
 * @epoch_ms: the instant of timestamp 0, in Unix milliseconds
 * @not_before_ms: no id has an earlier timestamp, Unix milliseconds, 0 if open
 * @not_after_ms: all ids have an earlier timestamp, Unix milliseconds, 0 if open
 * @bound_to: worker id that this file is bound to, -1 if it is not
 * @generation: the value of the shared page
 * @tick_ms: one unit of the timestamp, in milliseconds
 * @timestamp_bits: width of the timestamp field
 * @worker_bits: width of the worker id field
 * @sequence_bits: width of the sequence field
 * @order: an enum snowflake_info_order
 * @sharing: an enum snowflake_info_sharing
 * @reserved: zero
 */
struct snowflake_info {
	__s64 worker_id;
	__u64 worker_count;
	__u64 epoch_ms;
	__u64 not_before_ms;
	__u64 not_after_ms;
	__s64 bound_to;
	__u32 generation;
	__u16 tick_ms;
	__u8 timestamp_bits;
	__u8 worker_bits;
	__u8 sequence_bits;
	__u8 order;
	__u8 sharing;
	__u8 reserved[5];
};

/**
 * struct snowflake_bind - bind an open file to a worker id
 * @worker_id: the worker id, within the host's range
 * @reserved: zero
 */
struct snowflake_bind {
	__u64 worker_id;
	__u64 reserved;
};

/**
 * struct snowflake_page - the page that mmap(2) of the device gives
 * @generation: rises with every configuration put in force, every shrinking of
 *	the window, every VM clone and every step of the clock; never 0
 *
 * Read-only; the rest of the page is zero. A program that keeps ids for later
 * use looks at the generation before it fetches them and again before it uses
 * one, and drops what it has if the two differ.
 */
struct snowflake_page {
	__u32 generation;
};

/**
 * define SNOWFLAKE_IOC_INFO - what ids look like and whose they are
 *
 * Never fails on an open device but with EFAULT.
 */
#define SNOWFLAKE_IOC_INFO _IOR(0xFC, 0x00, struct snowflake_info)

/**
 * define SNOWFLAKE_IOC_BIND - bind this open file to a worker id, once
 *
 * ENXIO without a worker id, EINVAL if sharing is not bound or the worker id is
 * outside the host's range or a reserved field is not zero, EBUSY if the file is
 * bound already.
 */
#define SNOWFLAKE_IOC_BIND _IOW(0xFC, 0x01, struct snowflake_bind)

#endif /* _UAPI_SNOWFLAKE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The state file of a range of worker ids: what is on disk, what is shared in
 * memory, and how far ahead the first is of the second. See local_file.c.
 */
#ifndef SNOWFLAKE_LIB_LOCAL_FILE_H
#define SNOWFLAKE_LIB_LOCAL_FILE_H

#include <sys/types.h>

#include "../../kmod/generator.h"
#include "local_host.h"
#include "local_name.h"

/* Room for the name of a file in its folder: two numbers and a hyphen. */
#define LOCAL_FILE_NAME_SIZE 48

/* So far ahead of the clock ids are reserved, in ns. */
#define LOCAL_WINDOW_NS 10000000000L

/**
 * struct local_header - what a file begins with
 * @magic: says that it is one
 * @version: of this structure
 * @page: size of a page of memory: the live part begins there
 * @first: the first worker id
 * @count: how many worker ids there are
 * @epoch_ms: the layout's
 * @tick_ms: the layout's
 * @timestamp_bits: the layout's
 * @worker_bits: the layout's
 * @sequence_bits: the layout's
 * @order: the layout's
 * @zero: zero
 * @boot_id: the boot in which the live part is valid
 * @start: what its word began with
 * @check: CRC-32 of all before it
 * @zero2: zero
 * @reserved: no id of a tick that ends later than this was handed out: seconds
 *	since the Unix epoch, with a check of their own; rises, atomically
 *
 * In the byte order of the machine: files do not move to others.
 */
struct local_header {
	char magic[8];
	u32 version;
	u32 page;
	u64 first;
	u64 count;
	u64 epoch_ms;
	u16 tick_ms;
	u8 timestamp_bits;
	u8 worker_bits;
	u8 sequence_bits;
	u8 order;
	u8 zero[2];
	char boot_id[LOCAL_BOOT_ID_SIZE];
	u64 start;
	u32 check;
	u32 zero2;
	u64 reserved;
};

/**
 * struct local_live - what all processes share, valid until the machine stops
 * @word: the word; its waiters are not counted, they could be killed
 * @covered: the first number that is not reserved on disk
 * @tried: the number at which somebody last set about to reserve more, so that
 *	others need not; only a hint
 * @generation: changes when the clock was found to be behind; never 0
 */
struct local_live {
	struct snowflake_word word;
	u64 covered;
	u64 tried;
	u32 generation;
};

/**
 * struct local_file - an open state file
 * @config: the configuration that it stands for; its word is in @live
 * @live: the live part, mapped; NULL if it is of another boot
 * @reserved_ns: what was reserved when it was opened, in ns since the Unix epoch
 * @check: of its header
 * @page: size of a page of memory
 * @dir: its folder, open
 * @fd: the file, open and, once in use, locked
 * @name: its name in the folder
 * @device: with @inode, which file it is, whatever its name is
 * @inode: see @device
 */
struct local_file {
	struct snowflake_config config;
	struct local_live *live;
	s64 reserved_ns;
	u32 check;
	size_t page;
	int dir;
	int fd;
	char name[LOCAL_FILE_NAME_SIZE];
	dev_t device;
	ino_t inode;
};

void local_file_name(char name[LOCAL_FILE_NAME_SIZE], u64 first, u64 count);
int local_file_load(struct local_file *file, int dir, const char *name);
int local_file_create(struct local_file *file, int dir,
		      const struct local_range *range, s64 floor_ns);
int local_file_unused(struct local_file *file);
int local_file_use(struct local_file *file);
s64 local_file_end(const struct local_file *file);
bool local_file_is(const struct local_file *file,
		   const struct local_range *range);
int local_file_reserve(struct local_file *file, s64 now);
void local_file_close(struct local_file *file);

#endif /* SNOWFLAKE_LIB_LOCAL_FILE_H */

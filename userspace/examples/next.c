// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One id from /dev/snowflake, and what is in it: C, without a library.
 *
 *	cc FILE && ./a.out [DEVICE]
 *
 * Use read(2) rather than fread(3): stdio would take 512 ids to give one, and
 * hand out the others, by then old, for as long as the program runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The layout of the device, here Twitter's; see snowflake(4) for others. */
#define EPOCH_MS	1288834974657ULL
#define WORKER_BITS	10
#define SEQUENCE_BITS	12

/* Returns 0, or a negative errno; then there is no id. */
static int snowflake_read(int fd, uint64_t *id)
{
	ssize_t got;

	do {
		got = read(fd, id, sizeof(*id));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return got == sizeof(*id) ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "/dev/snowflake";
	/* Open it once and keep it: ids of one open file rise. */
	int fd = open(device, O_RDONLY | O_CLOEXEC);
	uint64_t id;
	int err;

	err = fd < 0 ? -errno : snowflake_read(fd, &id);
	if (err) {
		fprintf(stderr, "%s: %s\n", device, strerror(-err));
		return 1;
	}

	printf("id %llu unix_ms %llu worker %llu sequence %llu\n",
	       (unsigned long long)id,
	       (id >> (WORKER_BITS + SEQUENCE_BITS)) + EPOCH_MS,
	       id >> SEQUENCE_BITS & ((1ULL << WORKER_BITS) - 1),
	       id & ((1ULL << SEQUENCE_BITS) - 1));
	return 0;
}

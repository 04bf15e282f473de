// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Handles that do what a test tells them, in place of handle.c and what is
 * below it: "fake:STEP,STEP..." does a step in each call for ids.
 *
 *	N	N ids, or as many as were asked for if that is less
 *	-N	fails with errno N
 *	kN	signal N comes, and the call fails with EINTR
 *	sN	sleeps for N ms, then gives an id
 *
 * After the last step there are ids without end. "fail:N" cannot be opened.
 */
#include <errno.h>
#include <signal.h>
#include <snowflake.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct snowflake {
	char *steps;
	char *at;
	uint64_t id;
	uint64_t worker;
	bool closed;
};

/* For the tests to look at: handles that are open, the last time limit. */
int fake_handles;
int fake_timeout;

size_t fake_sizes[] = {
	sizeof(struct snowflake_id_layout),
	sizeof(struct snowflake_id_parts),
	sizeof(struct snowflake_limits),
};

int snowflake_open(struct snowflake **sf, const char *name, unsigned int flags)
{
	struct snowflake *fake;

	if (flags & ~SNOWFLAKE_DIRECT)
		return -EINVAL;
	if (!strncmp(name, "fail:", 5))
		return -atoi(name + 5);
	fake = calloc(1, sizeof(*fake));
	if (!fake)
		return -ENOMEM;
	fake->steps = strdup(name + strlen("fake:"));
	fake->at = fake->steps;
	fake->worker = flags & SNOWFLAKE_DIRECT ? 2 : 1;
	fake_handles++;
	*sf = fake;
	return 0;
}

void snowflake_close(struct snowflake *sf)
{
	/* It stays, so that who uses it yet can be told. */
	sf->closed = true;
	fake_handles--;
}

static ssize_t step(struct snowflake *sf, uint64_t *ids, size_t count,
		    int timeout_ms)
{
	char kind = *sf->at;
	long number = 0;
	size_t i;

	fake_timeout = timeout_ms;
	if (kind) {
		number = strtol(sf->at + (kind > '9'), &sf->at, 10);
		sf->at += *sf->at == ',';
	}
	if (number < 0)
		return number;
	if (kind == 'k') {
		raise(number);
		return -EINTR;
	}
	if (kind == 's') {
		usleep(number * 1000);
		number = 1;
	}
	if (kind && (size_t)number < count)
		count = number;
	if (sf->closed)
		return -EBADF;
	for (i = 0; i < count; i++)
		ids[i] = ++sf->id;
	return count;
}

int snowflake_next(struct snowflake *sf, uint64_t *id)
{
	return snowflake_next_timed(sf, id, -1);
}

int snowflake_next_timed(struct snowflake *sf, uint64_t *id, int timeout_ms)
{
	ssize_t got = step(sf, id, 1, timeout_ms);

	return got < 0 ? got : 0;
}

ssize_t snowflake_fill(struct snowflake *sf, uint64_t *ids, size_t count,
		       int timeout_ms)
{
	return step(sf, ids, count, timeout_ms);
}

int snowflake_bind(struct snowflake *sf, uint64_t worker_id)
{
	if (sf->worker != 1)
		return -EBUSY;
	sf->worker = worker_id;
	return 0;
}

int snowflake_get_layout(struct snowflake *sf,
			 struct snowflake_id_layout *layout)
{
	return sf->closed ? -EBADF : snowflake_preset("sonyflake", layout);
}

int snowflake_get_workers(struct snowflake *sf, uint64_t *first,
			  uint64_t *count)
{
	if (!sf->worker)
		return -ENXIO;
	*first = sf->worker;
	*count = 3;
	return 0;
}

int snowflake_fd(const struct snowflake *sf)
{
	return sf->worker == 1 ? STDERR_FILENO : -EOPNOTSUPP;
}

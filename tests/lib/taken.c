// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A log of ids, and the trial of a fork; see taken.h.
 */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "step.h"
#include "taken.h"

#define ROOM 0x100000

/**
 * struct taken - what all processes see
 * @child: what the child of a trial got from the call
 * @count: how many ids are in the log
 * @ids: the log; 0 where a handler that never returned came into taken_log()
 */
struct taken {
	uint64_t child[TRIAL_IDS];
	unsigned int count;
	uint64_t ids[ROOM];
};

static struct taken *taken;

static void __attribute__((constructor)) taken_begin(void)
{
	taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (taken == MAP_FAILED)
		abort();
}

void taken_reset(void)
{
	memset(taken, 0, offsetof(struct taken, ids) +
			 taken->count * sizeof(uint64_t));
}

unsigned int taken_count(void)
{
	return __atomic_load_n(&taken->count, __ATOMIC_RELAXED);
}

void taken_log(uint64_t id)
{
	unsigned int at = __atomic_fetch_add(&taken->count, 1, __ATOMIC_RELAXED);

	if (at >= ROOM)
		abort();
	taken->ids[at] = id;
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

unsigned int taken_twice(void)
{
	unsigned int i, twice = 0;

	qsort(taken->ids, taken->count, sizeof(uint64_t), compare);
	for (i = 1; i < taken->count; i++)
		if (taken->ids[i] && taken->ids[i] == taken->ids[i - 1])
			twice++;
	return twice;
}

uint64_t take(struct snowflake *sf)
{
	uint64_t id = NO_ID;

	if (snowflake_next(sf, &id) || id == NO_ID || !id)
		abort();
	return id;
}

void take_some(struct snowflake *sf, unsigned int count)
{
	while (count--)
		taken_log(take(sf));
}

bool children_well(void)
{
	bool well = true;
	int status;

	while (wait(&status) > 0)
		well = well && !status;
	return well;
}

void trial_call(void *arg)
{
	struct trial *trial = arg;

	if (trial->count == 1)
		trial->ids[0] = take(trial->sf);
	else if (snowflake_fill(trial->sf, trial->ids, trial->count, -1) !=
		 trial->count)
		abort();
}

/* In a signal handler. Return: we are the child. */
bool trial_fork(void *arg)
{
	struct trial *trial = arg;

	if (fork())
		return false;
	trial->is_child = true;
	/* So many that it has a block of its own when the call goes on. */
	take_some(trial->sf, 16);
	return true;
}

static void log_ids(const uint64_t *ids, unsigned int count)
{
	while (count--)
		taken_log(*ids++);
}

/* After the call: log what it got, in both processes; the child ends. */
void trial_end(struct trial *trial)
{
	log_ids(trial->ids, trial->count);
	if (!trial->is_child)
		return;
	take_some(trial->sf, 2);
	_exit(0);
}

long trial_run(struct trial *trial, long at)
{
	size_t size = trial->count * sizeof(uint64_t);
	long length;

	length = step_call(trial_call, trial_fork, trial, at);
	if (trial->is_child) {
		memcpy(taken->child, trial->ids, size);
		take_some(trial->sf, 2);
		_exit(0);
	}
	if (!children_well())
		abort();
	trial_end(trial);
	if (!step_done())
		return TRIAL_MISSED;
	take_some(trial->sf, 2);
	if (!memcmp(trial->ids, taken->child, size))
		return step_blocked() ? LONG_MAX : length - at;
	log_ids(taken->child, trial->count);
	return TRIAL_APART;
}

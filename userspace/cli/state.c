// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The states of the device in words.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

/* Of those with the same errno, the likely one is the first. */
static const struct state states[] = {
	{
		"running", 0,
		"ids are made", NULL
	}, {
		"no-worker", ENXIO,
		"this host has no worker id",
		"give it one that no other host has: snowflake set worker_id=N"
	}, {
		"cloned", ENXIO,
		"this machine is a clone, and its worker id was dropped",
		"give it one that no other host has: snowflake set worker_id=N"
	}, {
		"ended", EOVERFLOW,
		"the clock is past the last timestamp of the layout",
		"see whether the clock is right"
	}, {
		"jumped", ERANGE,
		"the clock jumped ahead by more than forward_limit_ms",
		"set it right; if it is right now: snowflake set accept_jump=1"
	}, {
		"expired", EKEYEXPIRED,
		"the window of the worker id has ended",
		"have it extended by whoever hands out worker ids"
	}, {
		"behind", ECANCELED,
		"the clock is behind the last id",
		"wait until it has caught up, or set it right"
	}, {
		"not-yet", ECANCELED,
		"the clock is before the window or the epoch",
		"wait until it is there, or set it right"
	},
};

/**
 * state_by_name - a state from the attribute
 * @name: what the attribute says
 *
 * Return: the state, NULL if it is one of a later module.
 */
const struct state *state_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (!strcmp(states[i].name, name))
			return &states[i];
	}
	return NULL;
}

/**
 * state_by_error - a state from what a read fails with
 * @err: a negative errno, or 0
 *
 * Return: the state, NULL if there is none of that error.
 */
const struct state *state_by_error(int err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (states[i].err == -err)
			return &states[i];
	}
	return NULL;
}

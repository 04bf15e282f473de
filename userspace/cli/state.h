/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The states of the device in words.
 */
#ifndef SNOWFLAKE_CLI_STATE_H
#define SNOWFLAKE_CLI_STATE_H

#include "cli.h"

/**
 * struct state - a state of the device
 * @name: as the attribute has it
 * @err: what reads fail with
 * @what: what it means
 * @cure: what to do about it, NULL if nothing is to be done
 */
struct state {
	const char *name;
	int err;
	const char *what;
	const char *cure;
};

const struct state *state_by_name(const char *name);
const struct state *state_by_error(int err);

#endif /* SNOWFLAKE_CLI_STATE_H */

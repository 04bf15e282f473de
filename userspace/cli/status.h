/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What is known of this host's device, and what follows from it.
 */
#ifndef SNOWFLAKE_CLI_STATUS_H
#define SNOWFLAKE_CLI_STATUS_H

#include "layouts.h"
#include "sysfs.h"

/**
 * struct host - this host's device
 * @now: its attributes
 * @layout_known: the next two are known
 * @layout: the layout of its ids
 * @ceiling: ids that it can make in a second at most
 * @over_ns: how long its rate was measured, 0 if it was not
 * @rate: ids in a second during that
 */
struct host {
	struct snapshot now;
	bool layout_known;
	struct snowflake_id_layout layout;
	uint64_t ceiling;
	uint64_t over_ns;
	uint64_t rate;
};

void host_derive(struct host *host);
void print_metrics(const struct host *host);

#endif /* SNOWFLAKE_CLI_STATUS_H */

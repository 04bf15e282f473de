/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The layout that a subcommand works with: the one its options describe, or
 * this host's.
 */
#ifndef SNOWFLAKE_CLI_LAYOUTS_H
#define SNOWFLAKE_CLI_LAYOUTS_H

#include <getopt.h>

#include "cli.h"

/* The fields that have an option each, which getopt returns for it. */
enum layout_option {
	OPT_LAYOUT = 256,
	OPT_TIMESTAMP_BITS,
	OPT_WORKER_BITS,
	OPT_SEQUENCE_BITS,
	OPT_ORDER,
	OPT_TICK_MS,
	OPT_EPOCH_MS,
	OPT_LAYOUT_END,
};

/* Room for the options of a subcommand with these. */
#define OPTIONS_MAX 16

/* What a subcommand's help says of them. */
#define LAYOUT_HELP \
"      --layout PRESET         twitter, instagram, discord, sonyflake or js53\n" \
"      --timestamp-bits N, --worker-bits N, --sequence-bits N, --tick-ms N,\n" \
"      --epoch-ms N, --order worker-sequence|sequence-worker\n" \
"                              a layout that differs from it in these\n"

/**
 * struct layout_request - the layout that options ask for
 * @preset: name of the one to begin with, NULL if none was given
 * @given: by enum layout_option from OPT_LAYOUT on, whether a field was given
 * @fields: the values of those
 */
struct layout_request {
	const char *preset;
	bool given[OPT_LAYOUT_END - OPT_LAYOUT];
	uint64_t fields[OPT_LAYOUT_END - OPT_LAYOUT];
};

const struct option *with_layout(const struct option *own,
				 struct option all[OPTIONS_MAX]);
const char *layout_option(struct layout_request *request, int option,
			  const char *text);
bool layout_wanted(const struct layout_request *request);
enum status layout_default(const struct layout_request *request,
			   struct snowflake_id_layout *layout,
			   const char *command);
enum status layout_of_host(const struct layout_request *request,
			   struct snowflake_id_layout *layout,
			   const char *command);
uint64_t layout_ceiling(const struct snowflake_id_layout *layout,
			uint64_t workers);
const char *layout_name(const struct snowflake_id_layout *layout);
const char *order_name(const struct snowflake_id_layout *layout);
void print_layout_json(const struct snowflake_id_layout *layout);

/* Room for a layout in words. */
#define LAYOUT_SIZE 128

const char *layout_text(const struct snowflake_id_layout *layout,
			char text[LAYOUT_SIZE]);

#endif /* SNOWFLAKE_CLI_LAYOUTS_H */

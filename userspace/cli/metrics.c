// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake status --metrics: the attributes as OpenMetrics text.
 */
#include <stdio.h>
#include <string.h>

#include "status.h"

/* Of the layout. */
#define LABELS "{preset=\"%s\",timestamp_bits=\"%u\",worker_bits=\"%u\",sequence_bits=\"%u\",order=\"%s\",tick_ms=\"%u\",epoch_ms=\"%ju\"}"

/**
 * struct metric - an attribute as a metric
 * @attribute: which
 * @name: of the metric family; one of seconds has that unit
 * @counter: it only rises; otherwise it is a gauge
 * @ms: the attribute is in milliseconds, the metric in seconds
 * @zero_is_none: 0 means that there is none
 * @help: what it is
 */
struct metric {
	enum attribute attribute;
	const char *name;
	bool counter;
	bool ms;
	bool zero_is_none;
	const char *help;
};

static const struct metric metrics[] = {
	{
		IDS, "snowflake_ids", .counter = true,
		.help = "Ids given to readers."
	}, {
		REFUSED, "snowflake_refused_reads", .counter = true,
		.help = "Reads that were refused."
	}, {
		EXHAUSTED, "snowflake_exhausted_waits", .counter = true,
		.help = "Times that a reader had to wait for the next tick."
	}, {
		REWINDS, "snowflake_rewinds", .counter = true,
		.help = "Steps of the clock back."
	}, {
		REWIND_TOTAL_MS, "snowflake_rewind_seconds", .counter = true,
		.ms = true, .help = "Sum of all steps of the clock back."
	}, {
		REWIND_LAST_MS, "snowflake_rewind_last_seconds", .ms = true,
		.help = "Size of the last step of the clock back."
	}, {
		REWIND_MAX_MS, "snowflake_rewind_max_seconds", .ms = true,
		.help = "Size of the largest step of the clock back."
	}, {
		FORWARD_STEPS, "snowflake_forward_steps", .counter = true,
		.help = "Steps of the clock ahead."
	}, {
		FORWARD_MAX_MS, "snowflake_forward_max_seconds", .ms = true,
		.help = "Size of the largest step of the clock ahead."
	}, {
		CLONES, "snowflake_clones", .counter = true,
		.help = "Times that this machine was reported to be a clone."
	}, {
		WORKER_ID, "snowflake_worker_id",
		.help = "First worker id of this host, -1 if there is none."
	}, {
		WORKER_COUNT, "snowflake_worker_count",
		.help = "How many worker ids this host has."
	}, {
		LEAD_MS, "snowflake_lead_seconds", .ms = true,
		.help = "How far ids are ahead of the clock while slewing."
	}, {
		LAST_TIMESTAMP_MS, "snowflake_last_timestamp_seconds",
		.ms = true, .zero_is_none = true,
		.help = "Unix time that no id is later than."
	}, {
		NOT_BEFORE_MS, "snowflake_not_before_timestamp_seconds",
		.ms = true, .zero_is_none = true,
		.help = "Unix time at which the window begins."
	}, {
		NOT_AFTER_MS, "snowflake_not_after_timestamp_seconds",
		.ms = true, .zero_is_none = true,
		.help = "Unix time at which the window ends."
	}, {
		ENDS_MS, "snowflake_layout_ends_timestamp_seconds",
		.ms = true, .zero_is_none = true,
		.help = "Unix time of the last timestamp of the layout."
	}, {
		GENERATION, "snowflake_generation",
		.help = "Number that changes when ids kept for later must be dropped."
	}, {
		CLONE_DETECTION, "snowflake_clone_detection",
		.help = "Whether this kernel can report clones, 1 or 0."
	},
};

static void describe(const char *name, const char *type, const char *unit,
		     const char *help)
{
	printf("# TYPE %s %s\n", name, type);
	if (unit)
		printf("# UNIT %s %s\n", name, unit);
	printf("# HELP %s %s\n", name, help);
}

static void print_metric(const struct metric *metric,
			 const struct value *value)
{
	if (!value->known || (metric->zero_is_none && !value->number))
		return;
	describe(metric->name, metric->counter ? "counter" : "gauge",
		 metric->ms ? "seconds" : NULL, metric->help);
	printf("%s%s ", metric->name, metric->counter ? "_total" : "");
	if (metric->ms)
		printf("%ju.%03ju\n", value->number / 1000,
		       value->number % 1000);
	else
		printf("%s\n", value->text);
}

/* One sample for each state that there is, 1 for the one that it is. */
static void print_state(const struct value *state)
{
	const char * const *name;

	if (!state->known)
		return;
	describe("snowflake_state", "stateset", NULL,
		 "Whether ids are made, and if not, why.");
	for (name = attributes[STATE].choices; *name; name++)
		printf("snowflake_state{snowflake_state=\"%s\"} %d\n", *name,
		       !strcmp(*name, state->text));
}

static void print_layout(const struct host *host)
{
	const struct snowflake_id_layout *layout = &host->layout;

	if (!host->layout_known)
		return;
	describe("snowflake_layout", "info", NULL, "The layout of ids.");
	printf("snowflake_layout_info" LABELS " 1\n",
	       layout_name(layout), layout->timestamp_bits,
	       layout->worker_bits, layout->sequence_bits, order_name(layout),
	       layout->tick_ms, layout->epoch_ms);
	describe("snowflake_ceiling_ids_per_second", "gauge", NULL,
		 "Ids that this host can make in a second at most.");
	printf("snowflake_ceiling_ids_per_second %ju\n", host->ceiling);
}

/**
 * print_metrics - what is known of the device as OpenMetrics text
 * @host: what is known
 */
void print_metrics(const struct host *host)
{
	size_t i;

	print_state(&host->now.values[STATE]);
	print_layout(host);
	for (i = 0; i < ARRAY_SIZE(metrics); i++)
		print_metric(&metrics[i],
			     &host->now.values[metrics[i].attribute]);
	puts("# EOF");
}

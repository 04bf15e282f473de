// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake capacity: what a layout has room for, before it is deployed.
 */
#include <getopt.h>
#include <stdio.h>

#include "layouts.h"

/* Numbers that JavaScript does not round. */
#define JS_BITS 53

static const char help[] =
"usage: snowflake capacity [OPTION...]\n"
"\n"
"Shows what a layout has room for: ids a second, worker ids, and until when.\n"
"It needs no device.\n"
"\n"
LAYOUT_HELP
"  -w, --workers N             also for a host of N worker ids\n"
"  -j, --json                  print a JSON object\n"
"  -h, --help                  this text\n"
"\n"
"The layout is 'twitter' where no other is given.\n";

/**
 * struct capacity - what is to be shown
 * @layout: the layout
 * @limits: what it has room for
 * @workers: how many worker ids a host is to have, 0 if that was not asked
 * @host_per_second: ids that it can make in a second
 * @bits: width of the largest id
 */
struct capacity {
	struct snowflake_id_layout layout;
	struct snowflake_limits limits;
	uint64_t workers;
	uint64_t host_per_second;
	unsigned int bits;
};

static void print_count(const char *name, uint64_t count, const char *what)
{
	char text[GROUPED_SIZE];

	/* What no number holds is no number that could be told. */
	if (count == UINT64_MAX)
		printf("%-14smore than 2^64%s\n", name, what);
	else
		printf("%-14s%s%s\n", name, grouped(count, text), what);
}

static void print_text(const struct capacity *capacity)
{
	const struct snowflake_limits *limits = &capacity->limits;
	char text[LAYOUT_SIZE], length[LENGTH_SIZE], what[64];

	printf("%-14s%s\n", "layout",
	       layout_text(&capacity->layout, text));
	print_count("per worker", limits->ids_per_second, " ids a second");
	print_count("workers", limits->workers, "");
	print_count("fleet", limits->fleet_per_second, " ids a second");
	if (capacity->workers) {
		snprintf(what, sizeof(what),
			 " ids a second with %ju worker id%s",
			 capacity->workers, capacity->workers == 1 ? "" : "s");
		print_count("host", capacity->host_per_second, what);
	}
	printf("%-14s%s\n", "begins",
	       time_text(capacity->layout.epoch_ms, text));
	printf("%-14s%s\n", "ends", time_text(limits->last_ms, text));
	printf("%-14s%s\n", "lasts", length_text(limits->span_ms, length));
	printf("%-14s%u bits%s\n", "ids", capacity->bits,
	       capacity->bits <= JS_BITS ?
	       ": exact as numbers in JavaScript" :
	       ": in JavaScript and JSON to be passed as strings");
}

static void print_json(const struct capacity *capacity)
{
	const struct snowflake_limits *limits = &capacity->limits;
	char text[SNOWFLAKE_TIME_SIZE];

	json_open(NULL);
	print_layout_json(&capacity->layout);
	json_number("ids_per_tick", limits->ids_per_tick);
	json_number("ids_per_second", limits->ids_per_second);
	json_number("workers", limits->workers);
	json_number("fleet_per_second", limits->fleet_per_second);
	if (capacity->workers) {
		json_number("host_workers", capacity->workers);
		json_number("host_per_second", capacity->host_per_second);
	}
	json_number("last_ms", limits->last_ms);
	json_text("ends", time_text(limits->last_ms, text));
	json_number("span_ms", limits->span_ms);
	json_number("id_bits", capacity->bits);
	json_bare("exact_in_javascript",
		  capacity->bits <= JS_BITS ? "true" : "false");
	json_close();
}

static unsigned int id_bits(const struct snowflake_id_layout *layout)
{
	unsigned int bits = layout->timestamp_bits + layout->worker_bits +
			    layout->sequence_bits;

	/* The sign is never used. */
	return bits < 63 ? bits : 63;
}

/**
 * capacity_main - the subcommand "capacity"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status capacity_main(int argc, char **argv)
{
	static const struct option own[] = {
		{ "workers", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	void (*print)(const struct capacity *capacity) = print_text;
	struct capacity capacity = { .workers = 0 };
	struct layout_request request = { 0 };
	struct option all[OPTIONS_MAX];
	const struct option *options = with_layout(own, all);
	enum status status;
	const char *wrong;
	int c;

	while ((c = getopt_long(argc, argv, "+w:jh", options,
				NULL)) != -1) {
		switch (c) {
		case 'w':
			wrong = parse_number(optarg, &capacity.workers);
			if (!wrong && !capacity.workers)
				wrong = "a host has at least one worker id";
			break;
		case 'j':
			print = print_json;
			continue;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		case '?':
			return wrong_usage("capacity ");
		default:
			wrong = layout_option(&request, c, optarg);
		}
		if (wrong) {
			complain("'%s': %s", optarg, wrong);
			return wrong_usage("capacity ");
		}
	}
	if (optind < argc)
		return wrong_operand("capacity ", argv[optind]);
	status = layout_default(&request, &capacity.layout, "capacity ");
	if (status)
		return status;
	snowflake_get_limits(&capacity.layout, &capacity.limits);
	if (capacity.workers > capacity.limits.workers) {
		complain("--workers: the layout has only %ju worker ids",
			 capacity.limits.workers);
		return wrong_usage("capacity ");
	}
	capacity.bits = id_bits(&capacity.layout);
	capacity.host_per_second = layout_ceiling(&capacity.layout,
						  capacity.workers);
	print(&capacity);
	return STATUS_OK;
}

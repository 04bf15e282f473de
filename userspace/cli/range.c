// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake range: the ids of a span of time.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "layouts.h"

static const char help[] =
"usage: snowflake range [OPTION...] FROM TO\n"
"\n"
"Prints the first and the last id that can have been made from FROM on and\n"
"before TO, for WHERE id BETWEEN first AND last.\n"
"\n"
"FROM and TO are as in 2026-12-01, 2026-12-01T12:30:00.5+01:00 (UTC without a\n"
"zone), @1796083200000 (Unix ms), now, or -90m, -1h, now+7d (units ms, s, m, h,\n"
"d, w).\n"
"\n"
"  -s, --sql                   print BETWEEN first AND last\n"
"  -j, --json                  print a JSON object; ids are strings\n"
LAYOUT_HELP
"  -h, --help                  this text\n"
"\n"
"The layout is that of this host's device or, without one, 'twitter'.\n";

/**
 * struct span - the ids of a span of time
 * @from_ms: its start, in Unix milliseconds
 * @until_ms: its end, which is not part of it
 * @first: its lowest id
 * @last: its highest
 */
struct span {
	int64_t from_ms;
	int64_t until_ms;
	uint64_t first;
	uint64_t last;
};

static void print_plain(const struct span *span,
			const struct snowflake_id_layout *layout)
{
	(void)layout;
	printf("%ju\n%ju\n", span->first, span->last);
}

static void print_sql(const struct span *span,
		      const struct snowflake_id_layout *layout)
{
	(void)layout;
	printf("BETWEEN %ju AND %ju\n", span->first,
	       span->last);
}

static void print_json(const struct span *span,
		       const struct snowflake_id_layout *layout)
{
	char text[SNOWFLAKE_TIME_SIZE];

	json_open(NULL);
	json_id("first", span->first);
	json_id("last", span->last);
	json_text("from", time_text(span->from_ms, text));
	json_text("until", time_text(span->until_ms, text));
	print_layout_json(layout);
	json_close();
}

static enum status parse_span(char **argv, struct span *span)
{
	int64_t now = now_unix_ms();
	int64_t *const instants[] = { &span->from_ms, &span->until_ms };
	const char *wrong;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(instants); i++) {
		wrong = parse_instant(argv[i], now, instants[i]);
		if (!wrong)
			continue;
		complain("'%s': %s", argv[i], wrong);
		return wrong_usage("range ");
	}
	if (span->from_ms < span->until_ms)
		return STATUS_OK;
	complain("'%s' is not before '%s'", argv[0], argv[1]);
	return wrong_usage("range ");
}

/**
 * range_main - the subcommand "range"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status range_main(int argc, char **argv)
{
	static const struct option own[] = {
		{ "sql", no_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	void (*print)(const struct span *span,
		      const struct snowflake_id_layout *layout) = print_plain;
	struct layout_request request = { 0 };
	struct option all[OPTIONS_MAX];
	const struct option *options = with_layout(own, all);
	struct snowflake_id_layout layout;
	enum status status;
	struct span span;
	const char *wrong;
	int c, err;

	while (is_option(argv[optind]) &&
	       (c = getopt_long(argc, argv, "+sjh", options,
				NULL)) != -1) {
		switch (c) {
		case 's':
			print = print_sql;
			break;
		case 'j':
			print = print_json;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		case '?':
			return wrong_usage("range ");
		default:
			wrong = layout_option(&request, c, optarg);
			if (wrong) {
				complain("'%s': %s", optarg, wrong);
				return wrong_usage("range ");
			}
		}
	}
	if (argc - optind != 2) {
		complain("range takes two instants, FROM and TO");
		return wrong_usage("range ");
	}
	status = parse_span(argv + optind, &span);
	if (!status)
		status = layout_of_host(&request, &layout, "range ");
	if (status)
		return status;

	err = snowflake_span(&layout, span.from_ms, span.until_ms, &span.first,
			     &span.last);
	if (err) {
		complain("no id is of this time: it is before or after layout %s, or within a tick",
			 layout_name(&layout));
		return STATUS_USAGE;
	}
	print(&span, &layout);
	return STATUS_OK;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The snowflake command: a table of subcommands.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct command {
	const char *name;
	enum status (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "next", next_main, "print new ids" },
	{ "decode", decode_main, "show when and by whom ids were made" },
	{ "range", range_main, "print the first and the last id of a time" },
	{ "status", status_main, "show how the device is doing" },
	{ "set", set_main, "change the device's configuration" },
	{ "capacity", capacity_main, "show what a layout has room for" },
	{ "watch", watch_main, "look on while ids are made" },
	{ "bench", bench_main, "measure how fast ids are made" },
};

static const char statuses[] =
"\n"
"  -h, --help      this text; after a COMMAND, that command's\n"
"  -V, --version   the version\n"
"\n"
"Exit status:\n"
"  0  done\n"
"  1  an error not listed here, such as output that cannot be written\n"
"  2  a wrong call, or a number that is no id\n"
"  3  refused: the clock is behind, or what may be minted has ended\n"
"  4  not configured: no worker id\n"
"  5  no device: the module is not loaded\n"
"  6  no permission to read or to configure the device\n";

static void print_help(void)
{
	const struct command *command;

	printf("usage: snowflake COMMAND [OPTION...]\n"
	       "\n"
	       "Unique 64-bit ids that sort by time, from " SNOWFLAKE_DEVICE
	       ".\n"
	       "\n");
	for (command = commands; command < commands + ARRAY_SIZE(commands);
	     command++)
		printf("  %-10s%s\n", command->name, command->summary);
	fputs(statuses, stdout);
}

static enum status run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	const struct command *command;
	int c;

	while ((c = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		switch (c) {
		case 'h':
			print_help();
			return STATUS_OK;
		case 'V':
			puts("snowflake " VERSION);
			return STATUS_OK;
		default:
			return wrong_usage("");
		}
	}
	if (optind == argc) {
		complain("a command is missing");
		return wrong_usage("");
	}

	argc -= optind;
	argv += optind;
	for (command = commands; command < commands + ARRAY_SIZE(commands);
	     command++) {
		if (strcmp(argv[0], command->name))
			continue;
		argv[0] = "snowflake";
		optind = 1;
		return command->run(argc, argv);
	}
	complain("'%s' is no command", argv[0]);
	return wrong_usage("");
}

int main(int argc, char **argv)
{
	enum status status;

	/* getopt begins its complaints with it, as complain() does. */
	if (argc)
		argv[0] = "snowflake";
	status = run(argc, argv);
	if (!status && !flushed())
		status = STATUS_ERROR;
	return status;
}

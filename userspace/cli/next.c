// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake next: print new ids.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli.h"

/* Ids of one call: two ticks of the default layout. */
#define CHUNK_IDS 8192

/* No limit to how long ids are waited for. */
#define FOR_EVER -1

static const char help[] =
"usage: snowflake next [-n N] [-f FORMAT] [-d DEVICE]\n"
"\n"
"Prints new ids, one a line, in rising order.\n"
"\n"
"  -n, --number N       how many, 1 to 2^63-1; 1 if not given\n"
"  -f, --format FORMAT  decimal (if not given), hex, base32, base58, base62\n"
"                       or json (strings, since numbers would be rounded)\n"
"  -d, --device DEVICE  the path of a device, " SNOWFLAKE_DEVICE " if not\n"
"                       given, or local:... as snowflake-local(7) has it\n"
"  -h, --help           this text\n"
"\n"
"On an error no further id is printed; 'snowflake --help' lists the exit\n"
"statuses.\n";

/* Lines of ids; false if one is none. */
static bool put_ids(const uint64_t *ids, size_t count,
		    enum snowflake_format format)
{
	char line[SNOWFLAKE_ID_SIZE + 1];
	int length;
	size_t i;

	for (i = 0; i < count; i++) {
		length = snowflake_print(format, ids[i], line,
					 SNOWFLAKE_ID_SIZE);
		if (length < 0)
			return false;
		line[length] = '\n';
		fwrite(line, 1, length + 1, stdout);
	}
	return true;
}

/*
 * Print one chunk of ids by one write, so that whatever ends the program, lines
 * are whole. Returns how many were printed, or 0 with what to exit with.
 */
static size_t print_chunk(struct snowflake *sf, const char *device,
			  uint64_t left, enum snowflake_format format,
			  enum status *status)
{
	static uint64_t ids[CHUNK_IDS];
	ssize_t got = snowflake_fill(sf, ids,
				     left < CHUNK_IDS ? left : CHUNK_IDS,
				     FOR_EVER);

	if (got < 0) {
		*status = explain(SNOWFLAKE_IN_NEXT, device, got);
		return 0;
	}
	*status = STATUS_ERROR;
	if (!put_ids(ids, got, format)) {
		complain("%s: gave a number that is no id", device);
		return 0;
	}
	return flushed() ? got : 0;
}

static enum status print_ids(struct snowflake *sf, const char *device,
			     uint64_t count, enum snowflake_format format)
{
	static char lines[CHUNK_IDS * SNOWFLAKE_ID_SIZE];
	char done_text[GROUPED_SIZE], count_text[GROUPED_SIZE];
	enum status status = STATUS_OK;
	struct progress progress;
	uint64_t done = 0;
	size_t got;

	setvbuf(stdout, lines, _IOFBF, sizeof(lines));
	progress_begin(&progress, "ids", count, true);
	while (done < count) {
		got = print_chunk(sf, device, count - done, format, &status);
		if (!got)
			break;
		done += got;
		progress_show(&progress, done);
	}
	progress_end(&progress);
	if (done == count)
		return STATUS_OK;
	/* Who closed the pipe has what was asked for, and no need of words. */
	if (done && !ferror(stdout))
		complain("%s of %s ids were printed", grouped(done, done_text),
			 grouped(count, count_text));
	return status;
}

/**
 * next_main - the subcommand "next"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status next_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "number", required_argument, NULL, 'n' },
		{ "format", required_argument, NULL, 'f' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	enum snowflake_format format = SNOWFLAKE_DECIMAL;
	const char *device = DEVICE, *wrong;
	struct snowflake *sf;
	enum status status;
	uint64_t count = 1;
	int c, err;

	while ((c = getopt_long(argc, argv, "+n:f:d:h", options, NULL)) != -1) {
		wrong = NULL;
		switch (c) {
		case 'n':
			wrong = parse_number(optarg, &count);
			if (!wrong && !count)
				wrong = "at least one id has to be asked for";
			break;
		case 'f':
			wrong = parse_format(optarg, &format);
			break;
		case 'd':
			device = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return wrong_usage("next ");
		}
		if (wrong) {
			complain("-%c '%s': %s", c, optarg, wrong);
			return wrong_usage("next ");
		}
	}
	if (optind < argc) {
		complain("'%s': next takes no operand; for a number of ids: -n N",
			 argv[optind]);
		return wrong_usage("next ");
	}

	/* Of this file ids strictly rise, and none is taken in advance. */
	err = snowflake_open(&sf, device, SNOWFLAKE_DIRECT);
	if (err)
		return explain(SNOWFLAKE_IN_OPEN, device, err);
	status = print_ids(sf, device, count, format);
	snowflake_close(sf);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake next: print new ids.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"

/* Ids of one read: two ticks of the default layout. */
#define CHUNK_IDS 8192

/* An id has at most 19 digits, and a newline. */
#define LINE_SIZE 20

static const char help[] =
"usage: snowflake next [-n N] [-d PATH]\n"
"\n"
"Prints new ids, in decimal, one a line, in rising order.\n"
"\n"
"  -n, --number N      how many, 1 to 2^63-1; 1 if not given\n"
"  -d, --device PATH   read them from PATH instead of " DEVICE "\n"
"  -h, --help          this text\n"
"\n"
"On an error no further id is printed; 'snowflake --help' lists the exit\n"
"statuses.\n";

/*
 * Ids of one open file rise and are positive; what does not comes from some
 * other file, and a number that is no id must never be taken for one.
 */
static bool are_ids(const u64 *ids, size_t count, u64 last)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (ids[i] <= last || ids[i] > S64_MAX)
			return false;
		last = ids[i];
	}
	return true;
}

/*
 * Read up to @count ids, of which all are above @last. Returns how many, or 0
 * after the complaint, with what to exit with in @status.
 */
static size_t read_ids(int fd, const char *device, u64 *ids, size_t count,
		       u64 last, enum status *status)
{
	size_t want = count * sizeof(*ids);
	ssize_t got;

	do {
		got = read(fd, ids, want);
	} while (got < 0 && errno == EINTR);

	if (got < 0) {
		*status = explain(CALL_READ, device, errno);
		return 0;
	}
	*status = STATUS_ERROR;
	if (!got || got % sizeof(*ids)) {
		complain("%s: a read of %zu bytes gave %zd: this is not the device",
			 device, want, got);
		return 0;
	}
	got /= sizeof(*ids);
	if (!are_ids(ids, got, last)) {
		complain("%s: gave a number that is no id: this is not the device",
			 device);
		return 0;
	}
	return got;
}

/*
 * Print @count ids, each chunk of them by one write, so that whatever ends the
 * program, lines are whole.
 */
static enum status print_ids(int fd, const char *device, u64 count)
{
	static char lines[CHUNK_IDS * LINE_SIZE + 1];
	static u64 ids[CHUNK_IDS];
	u64 done = 0, last = 0;
	enum status status;
	size_t got, i;

	setvbuf(stdout, lines, _IOFBF, sizeof(lines));
	for (; done < count; done += got) {
		got = read_ids(fd, device, ids,
			       min_t(u64, count - done, CHUNK_IDS), last,
			       &status);
		if (!got) {
			if (done)
				complain("%llu of %llu ids were printed",
					 (unsigned long long)done,
					 (unsigned long long)count);
			return status;
		}
		for (i = 0; i < got; i++)
			printf("%llu\n", (unsigned long long)ids[i]);
		if (!flushed())
			return STATUS_ERROR;
		last = ids[got - 1];
	}
	return STATUS_OK;
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
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *device = DEVICE, *wrong;
	enum status status;
	u64 count = 1;
	int c, fd;

	while ((c = getopt_long(argc, argv, "+n:d:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			wrong = parse_decimal(optarg, &count);
			if (!wrong && !count)
				wrong = "at least one id has to be asked for";
			if (wrong) {
				complain("-n '%s': %s", optarg, wrong);
				return wrong_usage("next ");
			}
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
	}
	if (optind < argc) {
		complain("'%s': next takes no operand; for a number of ids: -n N",
			 argv[optind]);
		return wrong_usage("next ");
	}

	fd = open(device, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return explain(CALL_OPEN, device, errno);
	status = print_ids(fd, device, count);
	close(fd);
	return status;
}

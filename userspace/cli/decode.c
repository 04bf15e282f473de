// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake decode: take ids apart.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

/* The sign is a field too, and so are bits that a narrow layout leaves. */
#define FIELDS_MAX 5

#define BAR_INDENT 2
#define BAR_BETWEEN " | "

static const char help[] =
"usage: snowflake decode [ID...]\n"
"\n"
"Shows when an id was made, by which worker, and its 64 bits. An ID is\n"
"decimal, or hexadecimal after 0x. Without an ID, or for '-', ids are read\n"
"from standard input, one a line.\n"
"\n"
"  -h, --help   this text\n"
"\n"
"The layout is that of this host's device or, without one, 'twitter'. What\n"
"is no id is told of and passed over, and the exit status is then 2.\n";

/**
 * struct decoder - what lasts from id to id
 * @layout: under which they are decoded
 * @status: what to exit with
 * @any: one was printed
 */
struct decoder {
	struct named_layout layout;
	enum status status;
	bool any;
};

/**
 * struct field - a part of the bar
 * @label: what it is called
 * @bits: its width
 * @column: where it begins
 */
struct field {
	const char *label;
	unsigned int bits;
	unsigned int column;
};

/* Fills in the columns and leaves out the fields that are not there. */
static size_t bar_fields(const struct snowflake_layout *layout,
			 struct field *fields)
{
	unsigned int shift = snowflake_layout_shift(layout);
	/* Of 64 bits in use, the highest is no timestamp but the sign. */
	unsigned int timestamp = min_t(unsigned int, layout->timestamp_bits,
				       63 - shift);
	const struct field worker = {
		.label = "worker", .bits = layout->worker_bits
	};
	const struct field sequence = {
		.label = "sequence", .bits = layout->sequence_bits
	};
	bool worker_first = layout->order == SNOWFLAKE_WORKER_SEQUENCE;
	const struct field all[FIELDS_MAX] = {
		{ .label = "sign", .bits = 1 },
		{ .label = "unused", .bits = 63 - shift - timestamp },
		{ .label = "timestamp", .bits = timestamp },
		worker_first ? worker : sequence,
		worker_first ? sequence : worker,
	};
	unsigned int column = BAR_INDENT;
	size_t count = 0, i;

	for (i = 0; i < FIELDS_MAX; i++) {
		if (!all[i].bits)
			continue;
		fields[count] = all[i];
		fields[count].column = column;
		column += all[i].bits + strlen(BAR_BETWEEN);
		count++;
	}
	return count;
}

/* Whether a label ends before the next one begins. */
static bool label_fits(const struct field *fields, size_t count, size_t i)
{
	return i + 1 == count ||
	       fields[i].column + strlen(fields[i].label) <
	       fields[i + 1].column;
}

static void print_at(const char *text, unsigned int column, unsigned int *at)
{
	*at += printf("%*s%s", (int)(column - *at), "", text);
}

/*
 * The 64 bits with a bar between the fields, and the labels below. A label
 * that is too long for its field hangs on a line of its own.
 */
static void print_bar(const struct snowflake_layout *layout, u64 id)
{
	struct field fields[FIELDS_MAX];
	size_t count = bar_fields(layout, fields), i;
	unsigned int bit = 64, b, at = 0;

	for (i = 0; i < count; i++) {
		printf(i ? BAR_BETWEEN : "%*s", BAR_INDENT, "");
		for (b = 0; b < fields[i].bits; b++)
			putchar('0' + (id >> --bit & 1));
	}
	putchar('\n');
	for (i = 0; i < count; i++)
		print_at(label_fits(fields, count, i) ? fields[i].label : "|",
			 fields[i].column, &at);
	putchar('\n');
	for (i = 0; i < count; i++) {
		if (label_fits(fields, count, i))
			continue;
		at = 0;
		print_at(fields[i].label, fields[i].column, &at);
		putchar('\n');
	}
}

static void print_id(const struct named_layout *named, u64 id)
{
	const struct snowflake_layout *layout = &named->layout;
	bool twitter = !strcmp(named->preset, "twitter");
	struct snowflake_fields fields;
	unsigned long long ms;
	char text[TIME_SIZE];

	snowflake_layout_decode(layout, id, &fields);
	ms = snowflake_layout_tick_to_ms(layout, fields.tick);

	printf("id            %llu\n", (unsigned long long)id);
	if (!twitter)
		printf("layout        %s: %u / %u / %u bits, %u ms a tick, epoch %llu\n",
		       named->preset, layout->timestamp_bits,
		       layout->worker_bits, layout->sequence_bits,
		       layout->tick_ms,
		       (unsigned long long)layout->epoch_ms);
	printf("time          %s\n", time_text(ms, text));
	printf("unix ms       %llu\n", ms);
	printf("tick          %llu\n", (unsigned long long)fields.tick);
	printf("worker id     %llu\n", (unsigned long long)fields.worker);
	/* Its makers split the field in two: 5 bits and 5 bits. */
	if (twitter)
		printf("  datacenter  %u\n  worker      %u\n",
		       (unsigned int)fields.worker >> 5,
		       (unsigned int)fields.worker & 0x1f);
	printf("sequence      %llu\n\n", (unsigned long long)fields.sequence);
	print_bar(layout, id);
}

/* What is wrong with an id, under this layout; NULL if nothing is. */
static const char *check_id(const struct snowflake_layout *layout, u64 id)
{
	u64 tick = id >> snowflake_layout_shift(layout);
	u64 ms;

	if (tick > snowflake_layout_last_tick(layout))
		return "it is past the last timestamp of the layout";
	/* A custom layout may reach further than 64 bits of milliseconds. */
	if (__builtin_mul_overflow(tick, (u64)layout->tick_ms, &ms) ||
	    ms > S64_MAX - layout->epoch_ms)
		return "its time is beyond all clocks";
	return NULL;
}

/*
 * Decode one id. @line is its line of standard input, 0 for an operand.
 * False when output cannot be written, and there is no use in going on.
 */
static bool decode(struct decoder *decoder, const char *text,
		   unsigned long long line)
{
	const char *wrong;
	u64 id;

	wrong = parse_id(text, &id);
	if (!wrong)
		wrong = check_id(&decoder->layout.layout, id);
	if (wrong) {
		if (line)
			complain("line %llu: '%.64s' is no id: %s", line, text,
				 wrong);
		else
			complain("'%.64s' is no id: %s", text, wrong);
		decoder->status = STATUS_USAGE;
		return true;
	}

	if (decoder->any)
		putchar('\n');
	decoder->any = true;
	print_id(&decoder->layout, id);
	/* Standard input may go on for ever: do not keep anyone waiting. */
	if (flushed())
		return true;
	decoder->status = STATUS_ERROR;
	return false;
}

/* Without the blanks around it: od, for one, puts some before a number. */
static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

static bool decode_stdin(struct decoder *decoder)
{
	char *text = NULL;
	size_t size = 0, i;
	bool go_on = true;
	unsigned long long line = 0;
	ssize_t length;

	while (go_on && (length = getline(&text, &size, stdin)) != -1) {
		/* A NUL must not hide what follows, nor a terminal obey. */
		for (i = 0; i < (size_t)length; i++) {
			if (!isprint((unsigned char)text[i]) &&
			    !isspace((unsigned char)text[i]))
				text[i] = '?';
		}
		go_on = decode(decoder, trim(text), ++line);
	}
	if (go_on && ferror(stdin)) {
		complain("standard input: %s", strerror(errno));
		decoder->status = STATUS_ERROR;
		go_on = false;
	}
	clearerr(stdin);
	free(text);
	return go_on;
}

/* A negative number is no option. */
static bool is_option(const char *argument)
{
	return argument && !(argument[0] == '-' &&
			     isdigit((unsigned char)argument[1]));
}

/**
 * decode_main - the subcommand "decode"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status decode_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct decoder decoder = { .status = STATUS_OK };
	enum status status;
	int c, i;

	while (is_option(argv[optind]) &&
	       (c = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		if (c != 'h')
			return wrong_usage("decode ");
		fputs(help, stdout);
		return STATUS_OK;
	}

	status = sysfs_layout(&decoder.layout);
	if (status)
		return status;
	if (optind == argc)
		decode_stdin(&decoder);
	for (i = optind; i < argc; i++) {
		if (strcmp(argv[i], "-") ? !decode(&decoder, argv[i], 0) :
					   !decode_stdin(&decoder))
			break;
	}
	return decoder.status;
}

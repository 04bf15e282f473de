// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake decode: take ids apart.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layouts.h"

/* No line with an id, and blanks around it, is nearly as long. */
#define INPUT_SIZE 65536
#define OUTPUT_SIZE 262144

/* Room for what is printed of an id on one line. */
#define LINE_SIZE 256

static const char help[] =
"usage: snowflake decode [OPTION...] [ID...]\n"
"\n"
"Shows when an id was made, by which worker, and its 64 bits. Without an ID,\n"
"or for '-', ids are read from standard input, one a line; each then makes one\n"
"line: id, time, worker id and sequence, with tabs between.\n"
"\n"
"  -l, --long                  show all of each id, however many they are\n"
"  -j, --json                  print a JSON object a line; ids are strings\n"
"  -f, --format FORMAT         how ids are written: decimal, hex, base32,\n"
"                              base58, base62 or json; decimal, or hexadecimal\n"
"                              after 0x, if not given\n"
LAYOUT_HELP
"  -h, --help                  this text\n"
"\n"
"The layout is that of this host's device or, without one, 'twitter'. What\n"
"is no id is told of and passed over, and the exit status is then 2.\n";

/**
 * struct decoder - what lasts from id to id
 * @layout: under which they are decoded
 * @twitter: it is the one whose worker ids have halves
 * @format: how they are written
 * @any_format: decimal or hexadecimal
 * @print: how they are shown
 * @status: what to exit with
 * @any: one was printed
 */
struct decoder {
	struct snowflake_id_layout layout;
	bool twitter;
	enum snowflake_format format;
	bool any_format;
	void (*print)(const struct decoder *decoder, uint64_t id,
		      const struct snowflake_id_parts *parts);
	enum status status;
	bool any;
};

static void print_long(const struct decoder *decoder, uint64_t id,
		       const struct snowflake_id_parts *parts)
{
	char text[LAYOUT_SIZE];

	if (decoder->any)
		putchar('\n');
	printf("id            %ju\n", id);
	if (!decoder->twitter)
		printf("layout        %s\n",
		       layout_text(&decoder->layout, text));
	printf("time          %s\n", time_text(parts->time_ms, text));
	printf("unix ms       %ju\n", parts->time_ms);
	printf("tick          %ju\n", parts->tick);
	printf("worker id     %ju\n", parts->worker);
	/* Its makers split the field in two: 5 bits and 5 bits. */
	if (decoder->twitter)
		printf("  datacenter  %u\n  worker      %u\n",
		       (unsigned int)parts->worker >> 5,
		       (unsigned int)parts->worker & 0x1f);
	printf("sequence      %ju\n\n", parts->sequence);
	print_bar(&decoder->layout, id);
}

/* A line is put together by hand: a million of them a second are wanted. */

static char *put_text(char *at, const char *text)
{
	return stpcpy(at, text);
}

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = '0' + number % 10;
		number /= 10;
	} while (number);
	return mempcpy(at, digits + i, sizeof(digits) - i);
}

/* False if it is beyond the calendar, and nothing was put there. */
static bool put_time(char **at, uint64_t unix_ms)
{
	int length = snowflake_print_time(unix_ms, *at, SNOWFLAKE_TIME_SIZE);

	if (length > 0)
		*at += length;
	return length > 0;
}

static void put_line(const char *line, const char *end)
{
	fwrite_unlocked(line, 1, end - line, stdout);
}

static void print_tabs(const struct decoder *decoder, uint64_t id,
		       const struct snowflake_id_parts *parts)
{
	char line[LINE_SIZE], *at = line;

	(void)decoder;
	at = put_number(at, id);
	*at++ = '\t';
	if (!put_time(&at, parts->time_ms))
		*at++ = '-';
	*at++ = '\t';
	at = put_number(at, parts->worker);
	*at++ = '\t';
	at = put_number(at, parts->sequence);
	*at++ = '\n';
	put_line(line, at);
}

static void print_json(const struct decoder *decoder, uint64_t id,
		       const struct snowflake_id_parts *parts)
{
	char line[LINE_SIZE], *at = line;

	(void)decoder;
	at = put_text(at, "{\"id\":\"");
	at = put_number(at, id);
	at = put_text(at, "\",\"time\":\"");
	if (put_time(&at, parts->time_ms))
		*at++ = '"';
	else
		at = put_text(at - 1, "null");
	at = put_text(at, ",\"unix_ms\":");
	at = put_number(at, parts->time_ms);
	at = put_text(at, ",\"tick\":");
	at = put_number(at, parts->tick);
	at = put_text(at, ",\"worker_id\":");
	at = put_number(at, parts->worker);
	at = put_text(at, ",\"sequence\":");
	at = put_number(at, parts->sequence);
	at = put_text(at, "}\n");
	put_line(line, at);
}

/* NULL, or what is wrong with the text. */
static const char *parse(const struct decoder *decoder, const char *text,
			 uint64_t *id)
{
	if (decoder->any_format)
		return parse_id(text, id);
	switch (snowflake_parse(decoder->format, text, id)) {
	case 0:
		return NULL;
	case -ERANGE:
		return "it is above 2^63-1, or longer than any id";
	}
	return "it is not of this format";
}

static const char *take_apart(const struct decoder *decoder, uint64_t id,
			      struct snowflake_id_parts *parts)
{
	if (snowflake_decode(&decoder->layout, id, parts))
		return "it is past the last timestamp of the layout";
	/* A custom layout may reach further than 64 bits of milliseconds. */
	return parts->time_ms == INT64_MAX ? "its time is beyond all clocks" :
					     NULL;
}

/* Neither may a terminal obey what was typed, nor a NUL hide what follows. */
static void make_printable(char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (!isprint((unsigned char)text[i]))
			text[i] = '?';
	}
}

/* Tell of what is no id. @line is its line of input, 0 for an operand. */
static void no_id(struct decoder *decoder, char *text, uint64_t line,
		  const char *wrong)
{
	make_printable(text, strlen(text));
	if (line)
		complain("line %ju: '%.64s' is no id: %s", line, text,
			 wrong);
	else
		complain("'%.64s' is no id: %s", text, wrong);
	decoder->status = STATUS_USAGE;
}

static void decode(struct decoder *decoder, char *text, uint64_t line)
{
	struct snowflake_id_parts parts;
	const char *wrong;
	uint64_t id;

	wrong = parse(decoder, text, &id);
	if (!wrong)
		wrong = take_apart(decoder, id, &parts);
	if (wrong) {
		no_id(decoder, text, line, wrong);
		return;
	}
	decoder->print(decoder, id, &parts);
	decoder->any = true;
}

/* One line of input, without the blanks around: od, for one, has some. */
static void decode_line(struct decoder *decoder, char *text, size_t length,
			uint64_t line)
{
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	while (isspace((unsigned char)*text)) {
		text++;
		length--;
	}
	if (strlen(text) != length)
		make_printable(text, length);
	decode(decoder, text, line);
}

/**
 * struct input - standard input, by the line
 * @buffer: what was read and is not decoded yet, and room for a NUL
 * @length: how much that is
 * @line: number of the line that begins there
 * @long_line: the begin of that line was passed over
 * @end: there is no more
 */
struct input {
	char buffer[INPUT_SIZE + 1];
	size_t length;
	uint64_t line;
	bool long_line;
	bool end;
};

static bool read_more(struct input *input)
{
	ssize_t got;

	do {
		got = read(STDIN_FILENO, input->buffer + input->length,
			   INPUT_SIZE - input->length);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		complain("standard input: %s", strerror(errno));
		return false;
	}
	input->length += got;
	input->end = !got;
	return true;
}

/* A line that does not fit is told of once, and passed over to its end. */
static void pass_long_line(struct decoder *decoder, struct input *input)
{
	if (!input->long_line) {
		input->buffer[64] = '\0';
		no_id(decoder, input->buffer, input->line,
		      "the line is too long");
	}
	input->long_line = true;
	input->length = 0;
}

static void decode_lines(struct decoder *decoder, struct input *input)
{
	char *text = input->buffer, *end = text + input->length, *newline;

	while ((newline = memchr(text, '\n', end - text)) ||
	       (input->end && text < end)) {
		if (!newline)
			newline = end;
		if (!input->long_line)
			decode_line(decoder, text, newline - text, input->line);
		input->long_line = false;
		input->line++;
		text = newline < end ? newline + 1 : end;
	}
	input->length = end - text;
	memmove(input->buffer, text, input->length);
	if (input->length == INPUT_SIZE)
		pass_long_line(decoder, input);
}

/*
 * All of standard input. What came by one read is answered by one write, so
 * that nobody waits where lines come one by one. False if output or input
 * fails, and there is no use in going on.
 */
static bool decode_stdin(struct decoder *decoder)
{
	static struct input input;
	struct progress progress;
	bool go_on;

	input = (struct input) { .line = 1 };
	progress_begin(&progress, "lines", 0, true);
	do {
		go_on = read_more(&input);
		if (!go_on)
			break;
		decode_lines(decoder, &input);
		go_on = flushed();
		progress_show(&progress, input.line - 1);
	} while (go_on && !input.end);
	progress_end(&progress);
	if (!go_on)
		decoder->status = STATUS_ERROR;
	return go_on;
}

static void decode_all(struct decoder *decoder, char **ids)
{
	static char buffer[OUTPUT_SIZE];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (!*ids)
		decode_stdin(decoder);
	for (; *ids; ids++) {
		if (strcmp(*ids, "-"))
			decode(decoder, *ids, 0);
		else if (!decode_stdin(decoder))
			return;
	}
	if (!flushed())
		decoder->status = STATUS_ERROR;
}

static bool reads_stdin(char **ids)
{
	if (!*ids)
		return true;
	while (*ids && strcmp(*ids, "-"))
		ids++;
	return *ids;
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
	static const struct option own[] = {
		{ "long", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ "format", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct decoder decoder = { .any_format = true };
	struct layout_request request = { 0 };
	struct option all[OPTIONS_MAX];
	const struct option *options = with_layout(own, all);
	enum status status;
	const char *wrong;
	int c;

	while (is_option(argv[optind]) &&
	       (c = getopt_long(argc, argv, "+ljf:h", options,
				NULL)) != -1) {
		wrong = NULL;
		switch (c) {
		case 'l':
			decoder.print = print_long;
			break;
		case 'j':
			decoder.print = print_json;
			break;
		case 'f':
			decoder.any_format = false;
			wrong = parse_format(optarg, &decoder.format);
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		case '?':
			return wrong_usage("decode ");
		default:
			wrong = layout_option(&request, c, optarg);
		}
		if (wrong) {
			complain("'%s': %s", optarg, wrong);
			return wrong_usage("decode ");
		}
	}

	status = layout_of_host(&request, &decoder.layout, "decode ");
	if (status)
		return status;
	decoder.twitter = !strcmp(layout_name(&decoder.layout), "twitter");
	if (!decoder.print)
		decoder.print = reads_stdin(argv + optind) ? print_tabs :
							     print_long;
	decode_all(&decoder, argv + optind);
	return decoder.status;
}

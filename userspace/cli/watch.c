// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake watch: look on while ids are made.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"
#include "status.h"
#include "terminal.h"

#define INTERVAL_MS 1000
#define INTERVAL_MIN_MS 100

/* As many rates as the widest chart has columns. */
#define HISTORY 512

/* Lines that are no chart. */
#define OTHER_LINES 15

#define BOLD "1"
#define REVERSE "7"
#define ALARM "1;31"

static const char help[] =
"usage: snowflake watch [-i SECONDS]\n"
"\n"
"Shows, until 'q' is pressed, how many ids are made a second, what part that\n"
"is of what this host can make, the clock, and the state of the device.\n"
"\n"
"  -i, --interval SECONDS  look so often, 0.1 to 3600; 1 if not given\n"
"  -h, --help              this text\n";

/**
 * struct watch - what lasts from look to look
 * @host: what is known of the device
 * @rates: ids a second, of the last looks, the newest at @count - 1
 * @count: how many there are
 * @peak: the highest ever
 * @chart: how many rows the chart has
 * @interval_ms: how often to look
 * @state_fd: the attribute that says when it changes, -1 if there is none
 */
struct watch {
	struct host host;
	uint64_t rates[HISTORY];
	size_t count;
	uint64_t peak;
	unsigned int chart;
	unsigned int interval_ms;
	int state_fd;
};

/* Looking. */

static void remember(struct watch *watch, uint64_t rate)
{
	if (watch->count == HISTORY) {
		watch->count--;
		memmove(watch->rates, watch->rates + 1,
			watch->count * sizeof(rate));
	}
	watch->rates[watch->count++] = rate;
	if (rate > watch->peak)
		watch->peak = rate;
}

/* Look at the device; false if it is gone. */
static bool look(struct watch *watch)
{
	struct host *host = &watch->host;
	const struct snapshot before = host->now;
	const struct value *ids = &host->now.values[IDS];

	if (!sysfs_there())
		return false;
	sysfs_snapshot(&host->now);
	host_derive(host);
	/* A module that was loaded anew counts from 0. */
	if (!before.at_ns || ids->number < before.values[IDS].number)
		return true;
	host->over_ns = host->now.at_ns - before.at_ns;
	host->rate = per_second(ids->number - before.values[IDS].number,
				host->over_ns);
	remember(watch, host->rate);
	return true;
}

/* It reports a change of what was read from this open file. */
static void look_at_state(struct watch *watch)
{
	char path[256], text[VALUE_SIZE];
	struct value *state = &watch->host.now.values[STATE];
	ssize_t length;

	if (watch->state_fd >= 0)
		close(watch->state_fd);
	sysfs_path(STATE, path, sizeof(path));
	watch->state_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (watch->state_fd < 0)
		return;
	length = read(watch->state_fd, text, sizeof(text) - 1);
	if (length <= 0) {
		/* It goes on reporting once its device is gone. */
		close(watch->state_fd);
		watch->state_fd = -1;
		return;
	}
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	value_set(state, text);
}

/* Drawing. */

static void draw_title(struct terminal *terminal, const struct watch *watch)
{
	const struct value *values = watch->host.now.values;
	char now[SNOWFLAKE_TIME_SIZE], worker[96];
	uint64_t first = values[WORKER_ID].number;
	uint64_t count = values[WORKER_COUNT].number;
	int room;

	if (first == UINT64_MAX)
		strcpy(worker, "no worker id");
	else if (count <= 1)
		snprintf(worker, sizeof(worker), "worker id %ju", first);
	else
		snprintf(worker, sizeof(worker),
			 "worker ids %ju to %ju, %s", first,
			 first + count - 1, values[SHARING].text);
	time_text(now_unix_ms(), now);
	room = (int)terminal->columns - (int)strlen(now) - 13;
	terminal_line(terminal, REVERSE, " snowflake  %-*s%s ",
		      room > 0 ? room : 0, worker, now);
}

static void draw_state(struct terminal *terminal, const struct watch *watch)
{
	const struct value *value = &watch->host.now.values[STATE];
	const struct state *state = state_by_name(value->text);
	const char *style = state && !state->err ? BOLD : ALARM;

	if (getenv("NO_COLOR"))
		style = BOLD;
	terminal_line(terminal, style, "%s%s%s",
		      value->known ? value->text : "?", state ? ": " : "",
		      state ? state->what : "");
	terminal_line(terminal, NULL, "%s",
		      state && state->cure ? state->cure : "");
}

/* So many eighths of a cell, from below. */
static const char *block(const struct terminal *terminal, unsigned int eighths)
{
	static const char * const utf8[] = {
		" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588",
	};
	static const char * const ascii[] = {
		" ", ".", ".", ".", ":", ":", ":", "#", "#",
	};

	return (terminal->utf8 ? utf8 : ascii)[eighths];
}

/* A rate as a length in units, of which @top has @units. */
static unsigned int scaled(uint64_t rate, uint64_t top, unsigned int units)
{
	unsigned int length;

	if (!rate || !top)
		return 0;
	if (rate >= top)
		return units;
	length = (double)rate / (double)top * units + 0.5;
	/* A little is more than nothing. */
	return length ?: 1;
}

static size_t chart_width(const struct terminal *terminal)
{
	return terminal->columns < HISTORY ? terminal->columns : HISTORY;
}

/* What part of the ceiling the rate is, as a bar. */
static void draw_meter(struct terminal *terminal, const struct host *host)
{
	size_t width = chart_width(terminal), length, i;
	char line[4 * HISTORY], *at = line;

	width -= width > 2 ? 2 : width;
	length = scaled(host->rate, host->ceiling, width);
	for (i = 0; i < width; i++)
		at = stpcpy(at, block(terminal, i < length ? 8 : 0));
	terminal_line(terminal, NULL, "[%s]", line);
}

/* One row of the chart, counted from below; the newest rate is on the right. */
static void draw_row(struct terminal *terminal, const struct watch *watch,
		     unsigned int row, unsigned int height, uint64_t top)
{
	size_t width = chart_width(terminal), i;
	char line[4 * HISTORY], *at = line;
	unsigned int eighths;

	for (i = 0; i < width; i++) {
		eighths = 0;
		if (i + watch->count >= width)
			eighths = scaled(watch->rates[i + watch->count - width],
					 top, height * 8);
		eighths = eighths > row * 8 ? eighths - row * 8 : 0;
		at = stpcpy(at, block(terminal, eighths < 8 ? eighths : 8));
	}
	terminal_line(terminal, NULL, "%s", line);
}

static uint64_t highest_shown(const struct terminal *terminal,
			      const struct watch *watch)
{
	size_t width = chart_width(terminal), i;
	uint64_t top = 0;

	i = watch->count > width ? watch->count - width : 0;
	for (; i < watch->count; i++)
		top = watch->rates[i] > top ? watch->rates[i] : top;
	return top;
}

static void draw_rate(struct terminal *terminal, const struct watch *watch,
		      unsigned int height)
{
	char rate[GROUPED_SIZE], ceiling[GROUPED_SIZE], share[SHARE_SIZE];
	uint64_t top = highest_shown(terminal, watch);
	const struct host *host = &watch->host;

	terminal_line(terminal, BOLD, "%s ids/s   %s of the ceiling, %s",
		      grouped(host->rate, rate),
		      share_text(host->rate, host->ceiling, share),
		      host->layout_known ? grouped(host->ceiling, ceiling) :
					   "?");
	draw_meter(terminal, host);
	terminal_line(terminal, NULL, "highest below %s, since the start %s",
		      grouped(top, rate), grouped(watch->peak, ceiling));
	while (height--)
		draw_row(terminal, watch, height, watch->chart, top);
}

static void draw_counters(struct terminal *terminal, const struct value *values)
{
	char ids[GROUPED_SIZE], refused[GROUPED_SIZE], waits[GROUPED_SIZE];

	terminal_line(terminal, NULL,
		      "ids       %s   refused reads %s   waits for a tick %s",
		      grouped(values[IDS].number, ids),
		      grouped(values[REFUSED].number, refused),
		      grouped(values[EXHAUSTED].number, waits));
}

static void draw_clock(struct terminal *terminal, const struct value *values)
{
	char lead[LENGTH_SIZE], last[LENGTH_SIZE], most[LENGTH_SIZE];

	terminal_line(terminal, values[LEAD_MS].number ? BOLD : NULL,
		      "lead      %s (%s)",
		      length_text(values[LEAD_MS].number, lead),
		      values[REWIND_POLICY].text);
	terminal_line(terminal, NULL, "rewinds   %s   last %s   largest %s",
		      values[REWINDS].text,
		      length_text(values[REWIND_LAST_MS].number, last),
		      length_text(values[REWIND_MAX_MS].number, most));
	terminal_line(terminal, NULL, "ahead     %s   largest %s",
		      values[FORWARD_STEPS].text,
		      length_text(values[FORWARD_MAX_MS].number, most));
}

static void draw_window(struct terminal *terminal, const struct value *values)
{
	char from[SNOWFLAKE_TIME_SIZE], until[SNOWFLAKE_TIME_SIZE];
	int64_t not_after = values[NOT_AFTER_MS].number, now = now_unix_ms();
	int64_t not_before = values[NOT_BEFORE_MS].number;
	char left[LENGTH_SIZE];

	if (not_after)
		terminal_line(terminal, NULL, "window    %s to %s, %s left",
			      not_before ? time_text(not_before, from) : "open",
			      time_text(not_after, until),
			      length_text(not_after > now ? not_after - now : 0,
					  left));
	else if (not_before)
		terminal_line(terminal, NULL, "window    %s to open",
			      time_text(not_before, from));
	else
		terminal_line(terminal, NULL, "window    open");
}

static void draw_rest(struct terminal *terminal, const struct watch *watch)
{
	const struct value *values = watch->host.now.values;
	char time[SNOWFLAKE_TIME_SIZE], every[LENGTH_SIZE];

	terminal_line(terminal, NULL, "%s", "");
	draw_counters(terminal, values);
	draw_clock(terminal, values);
	draw_window(terminal, values);
	terminal_line(terminal, NULL, "layout    %s, ends %s",
		      watch->host.layout_known ?
		      layout_name(&watch->host.layout) : "?",
		      time_text(values[ENDS_MS].number & INT64_MAX, time));
	terminal_line(terminal, NULL,
		      "clones    %s   generation %s   last id of %s",
		      values[CLONES].text, values[GENERATION].text,
		      values[LAST_TIMESTAMP_MS].number ?
		      time_text(values[LAST_TIMESTAMP_MS].number, time) : "-");
	terminal_line(terminal, REVERSE, " q quits; every %s ",
		      length_text(watch->interval_ms, every));
}

static bool draw(struct terminal *terminal, struct watch *watch)
{
	watch->chart = terminal->rows > OTHER_LINES + 1 ?
		       terminal->rows - OTHER_LINES : 1;
	terminal_begin(terminal);
	draw_title(terminal, watch);
	draw_state(terminal, watch);
	draw_rate(terminal, watch, watch->chart);
	draw_rest(terminal, watch);
	return terminal_end(terminal);
}

/* Until the user or the device has gone, or the terminal. */
static enum status look_on(struct terminal *terminal, struct watch *watch)
{
	uint64_t every = watch->interval_ms * UINT64_C(1000000);
	uint64_t next = now_ns();

	for (;;) {
		if (now_ns() >= next) {
			if (!look(watch))
				return STATUS_NO_DEVICE;
			look_at_state(watch);
			next = now_ns() + every;
		}
		if (!draw(terminal, watch))
			return STATUS_ERROR;
		switch (terminal_wait(terminal, watch->state_fd, next)) {
		case EVENT_QUIT:
			return STATUS_OK;
		case EVENT_FILE:
			look_at_state(watch);
			break;
		default:
			break;
		}
	}
}

static enum status watch_device(unsigned int interval_ms)
{
	static struct watch watch;
	struct terminal terminal;
	enum status status;
	int err;

	watch.interval_ms = interval_ms;
	watch.state_fd = -1;
	if (!sysfs_there())
		return explain(SNOWFLAKE_IN_OPEN, SYSFS, -ENOENT);
	err = terminal_open(&terminal);
	if (err) {
		complain("standard output is no terminal; scripts have: snowflake status --json");
		return STATUS_ERROR;
	}
	status = look_on(&terminal, &watch);
	terminal_close(&terminal);
	if (status == STATUS_NO_DEVICE)
		return explain(SNOWFLAKE_IN_OPEN, SYSFS, -ENOENT);
	return status;
}

/**
 * watch_main - the subcommand "watch"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status watch_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	unsigned int interval = INTERVAL_MS;
	const char *wrong;
	int c;

	while ((c = getopt_long(argc, argv, "+i:h", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			wrong = parse_seconds(optarg, INTERVAL_MIN_MS,
					      &interval);
			if (!wrong)
				break;
			complain("--interval '%s': %s", optarg, wrong);
			return wrong_usage("watch ");
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return wrong_usage("watch ");
		}
	}
	if (optind < argc)
		return wrong_operand("watch ", argv[optind]);
	return watch_device(interval);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake status: how the device is doing.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "../../kmod/uapi/snowflake.h"
#include "state.h"
#include "status.h"

/* How long the rate is measured where nothing else is asked for. */
#define INTERVAL_MS 200

static const char help[] =
"usage: snowflake status [-j|-m|-c] [-i SECONDS]\n"
"\n"
"Shows whether ids are made and by whom, how many, and until when.\n"
"\n"
"  -j, --json              print a JSON object\n"
"  -m, --metrics           print OpenMetrics text, for a Prometheus\n"
"  -c, --check             print nothing: the exit status is 0 if ids are made,\n"
"                          3 if they are refused, 4 without a worker id\n"
"  -i, --interval SECONDS  measure the rate for so long; 0 is not at all, 0.2\n"
"                          if nothing is given and text is printed\n"
"  -h, --help              this text\n"
"\n"
"The values come from " SYSFS ". Where that is not to be\n"
"had, the device itself is asked, which knows less.\n";

/**
 * host_derive - what follows from the attributes
 * @host: its attributes are there, the rest is filled in
 */
void host_derive(struct host *host)
{
	const struct value *count = &host->now.values[WORKER_COUNT];

	host->layout_known = count->known &&
			     snapshot_layout(&host->now, &host->layout);
	if (host->layout_known)
		host->ceiling = layout_ceiling(&host->layout, count->number);
}

/* Without a folder of attributes: what a program can learn from the device. */
static void from_info(struct snapshot *snapshot,
		      const struct snowflake_info *info)
{
	struct value *values = snapshot->values;
	struct snowflake_id_layout layout;
	struct snowflake_limits limits;

	value_number(&values[WORKER_ID], info->worker_id);
	value_number(&values[WORKER_COUNT], info->worker_count);
	value_number(&values[TIMESTAMP_BITS], info->timestamp_bits);
	value_number(&values[WORKER_BITS], info->worker_bits);
	value_number(&values[SEQUENCE_BITS], info->sequence_bits);
	value_number(&values[TICK_MS], info->tick_ms);
	value_number(&values[EPOCH_MS], info->epoch_ms);
	value_number(&values[NOT_BEFORE_MS], info->not_before_ms);
	value_number(&values[NOT_AFTER_MS], info->not_after_ms);
	value_number(&values[GENERATION], info->generation);
	value_set(&values[ORDER], attributes[ORDER].choices[info->order & 1]);
	value_set(&values[SHARING],
		  attributes[SHARING].choices[info->sharing & 1]);
	if (!snapshot_layout(snapshot, &layout))
		return;
	value_set(&values[PRESET], layout_name(&layout));
	snowflake_get_limits(&layout, &limits);
	value_number(&values[ENDS_MS], limits.last_ms);
}

/* A read that fails takes no id. */
static void probe_state(struct snowflake *sf, struct value *state)
{
	struct pollfd pollfd = { .fd = snowflake_fd(sf), .events = POLLIN };
	const struct state *found;
	uint64_t id;
	int err = 0;

	if (poll(&pollfd, 1, 0) > 0 && pollfd.revents & POLLERR)
		err = snowflake_next_timed(sf, &id, 0);
	found = state_by_error(err == -EAGAIN ? 0 : err);
	if (found)
		value_set(state, found->name);
}

static enum status ask_device(struct snapshot *snapshot)
{
	struct snowflake_info info = { 0 };
	struct snowflake *sf;
	enum status status = STATUS_OK;
	int err;

	err = snowflake_open(&sf, DEVICE, SNOWFLAKE_DIRECT);
	if (err)
		return explain(SNOWFLAKE_IN_OPEN, DEVICE, err);
	if (ioctl(snowflake_fd(sf), SNOWFLAKE_IOC_INFO, &info)) {
		status = explain(SNOWFLAKE_IN_INFO, DEVICE, -errno);
	} else {
		from_info(snapshot, &info);
		probe_state(sf, &snapshot->values[STATE]);
	}
	snowflake_close(sf);
	return status;
}

static void wait_ms(unsigned int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static void measure(struct host *host, unsigned int ms)
{
	struct snapshot before = host->now;

	if (!ms || !before.values[IDS].known)
		return;
	wait_ms(ms);
	sysfs_snapshot(&host->now);
	host->over_ns = host->now.at_ns - before.at_ns;
	host->rate = per_second(host->now.values[IDS].number -
				before.values[IDS].number, host->over_ns);
}

/* Text. */

#define NAME "%-14s"

static void print_state(const struct value *value)
{
	const struct state *state = state_by_name(value->text);

	if (!value->known)
		return;
	if (!state) {
		printf(NAME "%s\n", "state", value->text);
		return;
	}
	printf(NAME "%s: %s\n", "state", value->text, state->what);
	if (state->cure)
		printf(NAME "%s\n", "", state->cure);
}

static void print_worker(const struct value *values)
{
	const struct value *id = &values[WORKER_ID];
	uint64_t count = values[WORKER_COUNT].number;

	if (!id->known)
		return;
	if (id->number == UINT64_MAX)
		printf(NAME "none\n", "worker id");
	else if (count == 1)
		printf(NAME "%ju, %s\n", "worker id", id->number,
		       values[SHARING].text);
	else
		printf(NAME "%ju to %ju, %s\n", "worker ids",
		       id->number, id->number + count - 1,
		       values[SHARING].text);
}

static void print_rate(const struct host *host)
{
	char text[GROUPED_SIZE], share[SHARE_SIZE], length[LENGTH_SIZE];

	if (host->layout_known)
		printf(NAME "%s ids/s\n", "ceiling",
		       grouped(host->ceiling, text));
	if (host->over_ns)
		printf(NAME "%s ids/s, %s of it, over %s\n", "rate",
		       grouped(host->rate, text),
		       share_text(host->rate, host->ceiling, share),
		       length_text(host->over_ns / 1000000, length));
}

static void print_counter(const struct value *value, const char *name,
			  const char *unit)
{
	char text[GROUPED_SIZE];

	if (value->known)
		printf(NAME "%s%s\n", name, grouped(value->number, text), unit);
}

static void print_instant(const struct value *value, const char *name)
{
	char text[SNOWFLAKE_TIME_SIZE], length[LENGTH_SIZE];
	int64_t now = now_unix_ms(), then = value->number;

	if (!value->known || !then)
		return;
	/* Beyond this it is no time, but the most that a number holds. */
	if (then < 0)
		then = INT64_MAX;
	if (then < now)
		printf(NAME "%s, %s ago\n", name, time_text(then, text),
		       length_text(now - then, length));
	else
		printf(NAME "%s, in %s\n", name, time_text(then, text),
		       length_text(then - now, length));
}

static void print_window(const struct value *values)
{
	if (!values[NOT_BEFORE_MS].known || !values[NOT_AFTER_MS].known)
		return;
	if (!values[NOT_BEFORE_MS].number && !values[NOT_AFTER_MS].number)
		printf(NAME "open\n", "window");
	print_instant(&values[NOT_BEFORE_MS], "window from");
	print_instant(&values[NOT_AFTER_MS], "window until");
}

static void print_clock(const struct value *values)
{
	char a[LENGTH_SIZE], b[LENGTH_SIZE], c[LENGTH_SIZE];

	if (values[REWINDS].known)
		printf(NAME "%s steps back (last %s, largest %s, in all %s)\n",
		       "clock", values[REWINDS].text,
		       length_text(values[REWIND_LAST_MS].number, a),
		       length_text(values[REWIND_MAX_MS].number, b),
		       length_text(values[REWIND_TOTAL_MS].number, c));
	if (values[FORWARD_STEPS].known)
		printf(NAME "%s steps ahead (largest %s)\n", "",
		       values[FORWARD_STEPS].text,
		       length_text(values[FORWARD_MAX_MS].number, a));
	if (values[LEAD_MS].known && values[REWIND_POLICY].known)
		printf(NAME "after a step back: %s; ids are %s ahead\n", "",
		       values[REWIND_POLICY].text,
		       length_text(values[LEAD_MS].number, a));
}

static void print_clones(const struct value *values)
{
	if (!values[CLONES].known || !values[CLONE_DETECTION].known)
		return;
	printf(NAME "%s reported%s\n", "clones", values[CLONES].text,
	       values[CLONE_DETECTION].number ? "" :
	       "; this kernel cannot report any");
}

static void print_text(const struct host *host)
{
	const struct value *values = host->now.values;
	char text[LAYOUT_SIZE];

	print_state(&values[STATE]);
	print_worker(values);
	print_rate(host);
	print_counter(&values[IDS], "ids", "");
	print_counter(&values[REFUSED], "refused", " reads");
	print_counter(&values[EXHAUSTED], "exhausted",
		      " waits for the next tick");
	print_instant(&values[LAST_TIMESTAMP_MS], "last id");
	print_window(values);
	if (host->layout_known)
		printf(NAME "%s\n", "layout",
		       layout_text(&host->layout, text));
	print_instant(&values[ENDS_MS], "layout ends");
	print_clock(values);
	print_clones(values);
	if (values[GENERATION].known)
		printf(NAME "%s\n", "generation", values[GENERATION].text);
}

/* JSON: the attributes by their names, those in a folder as an object. */

static void json_value(enum attribute attribute, const struct value *value,
		       const char *name)
{
	if (!value->known)
		return;
	if (attributes[attribute].choices)
		json_text(name, value->text);
	else
		json_bare(name, value->text);
}

static void json_folder(const struct value *values, const char *folder)
{
	size_t length = strlen(folder);
	unsigned int i;

	for (i = 0; i < ATTRIBUTES; i++) {
		const char *path = attributes[i].path;

		if (!strncmp(path, folder, length) &&
		    !strchr(path + length, '/'))
			json_value(i, &values[i], path + length);
	}
}

static void print_json(const struct host *host)
{
	json_open(NULL);
	json_folder(host->now.values, "");
	json_open("layout");
	json_folder(host->now.values, "layout/");
	json_close();
	json_open("stats");
	json_folder(host->now.values, "stats/");
	json_close();
	if (host->layout_known)
		json_number("ceiling_per_second", host->ceiling);
	if (host->over_ns)
		json_number("rate_per_second", host->rate);
	json_close();
}

/* Silent, but for the complaint. */
static enum status check(const struct host *host)
{
	const struct value *value = &host->now.values[STATE];
	const struct state *state = state_by_name(value->text);

	if (!value->known || !state) {
		complain("%s: its state is not known to this version of the command",
			 DEVICE);
		return STATUS_ERROR;
	}
	return state->err ? explain(SNOWFLAKE_IN_NEXT, DEVICE, -state->err) :
			    STATUS_OK;
}

/**
 * status_main - the subcommand "status"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status status_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "metrics", no_argument, NULL, 'm' },
		{ "check", no_argument, NULL, 'c' },
		{ "interval", required_argument, NULL, 'i' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	void (*print)(const struct host *host) = print_text;
	unsigned int interval = 0;
	struct host host = { 0 };
	bool measured = false;
	enum status status;
	const char *wrong;
	int c;

	while ((c = getopt_long(argc, argv, "+jmci:h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			print = print_json;
			break;
		case 'm':
			print = print_metrics;
			break;
		case 'c':
			print = NULL;
			break;
		case 'i':
			measured = true;
			wrong = parse_seconds(optarg, 0, &interval);
			if (!wrong)
				break;
			complain("--interval '%s': %s", optarg, wrong);
			return wrong_usage("status ");
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return wrong_usage("status ");
		}
	}
	if (optind < argc)
		return wrong_operand("status ", argv[optind]);

	if (sysfs_there()) {
		sysfs_snapshot(&host.now);
		if (print == print_text && !measured)
			interval = INTERVAL_MS;
		measure(&host, interval);
	} else {
		status = ask_device(&host.now);
		if (status)
			return status;
	}
	if (!print)
		return check(&host);
	host_derive(&host);
	print(&host);
	return STATUS_OK;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake set: change the configuration.
 *
 * Everything is checked before anything is written. What is written goes in the
 * order of enum attribute: with the worker id the whole is put in force, and an
 * open window with a worker id mints without bound, so it is the last. Where
 * the worker id in force must not see what is written, -1 goes first.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layouts.h"
#include "sysfs.h"

/* As the module has it: each worker id has memory of its own then. */
#define BOUND_MAX 8192

#define NONE "-1"

/* Room for all choices of an attribute. */
#define CHOICES_SIZE 128

static const char help[] =
"usage: snowflake set [-n] NAME=VALUE...\n"
"\n"
"Changes the configuration, all of it or, if any name or value is wrong, none.\n"
"\n"
"  worker_id=N                 this host's worker id, the first of its range;\n"
"                              -1 stops\n"
"  not_before_ms=N not_after_ms=N\n"
"                              the window, in Unix ms; 0 is open\n"
"  rewind_policy=refuse|slew rewind_wait_ms=N lead_limit_ms=N\n"
"                              what happens after the clock was set back\n"
"  forward_limit_ms=N accept_jump=1\n"
"                              how far it may be set ahead; to go on after that\n"
"What shapes ids changes only together with worker_id: ids stop meanwhile.\n"
"  worker_count=N sharing=pooled|bound cpu_block=N sequence_start=zero|spread\n"
"  layout/preset=NAME layout/timestamp_bits=N layout/worker_bits=N\n"
"  layout/sequence_bits=N layout/order=worker-sequence|sequence-worker\n"
"  layout/tick_ms=N layout/epoch_ms=N\n"
"\n"
"  -n, --dry-run               print what would be written, in order\n"
"  -h, --help                  this text\n";

/**
 * struct request - what is asked for
 * @given: whether a value was given
 * @values: the values
 */
struct request {
	bool given[WRITABLE];
	struct value values[WRITABLE];
};

/**
 * struct step - one write
 * @attribute: where to
 * @text: the value
 */
struct step {
	enum attribute attribute;
	const char *text;
};

/**
 * struct plan - the writes, in order
 * @steps: each of them
 * @count: how many
 * @stops: the first one ends the minting
 */
struct plan {
	struct step steps[WRITABLE + 1];
	size_t count;
	bool stops;
};

/* The operands. */

static enum status unknown_name(const char *operand, int length)
{
	complain("'%.*s' is nothing that can be set; 'snowflake set --help' lists what can",
		 length, operand);
	return wrong_usage("set ");
}

static enum status wrong_value(const struct attribute_info *info,
			       const char *text)
{
	char all[CHOICES_SIZE] = "";
	const char * const *choice;

	if (!info->choices) {
		complain("%s='%.64s': it has to be from %jd to %jd",
			 info->path, text, info->min, info->max);
		return wrong_usage("set ");
	}
	for (choice = info->choices; *choice; choice++) {
		strcat(all, " ");
		strcat(all, *choice);
	}
	complain("%s='%.64s': it has to be one of%s", info->path, text, all);
	return wrong_usage("set ");
}

static bool is_choice(const struct attribute_info *info, const char *text)
{
	const char * const *choice = info->choices;

	while (*choice && strcmp(*choice, text))
		choice++;
	return *choice;
}

/* A number is given on as it is written in sysfs: without zeros in front. */
static bool parse_value(const struct attribute_info *info, const char *text,
			struct value *value)
{
	uint64_t number;

	if (info->choices) {
		value_set(value, text);
		return value->known && is_choice(info, text);
	}
	if (info->min < 0 && !strcmp(text, NONE)) {
		value_number(value, UINT64_MAX);
		return true;
	}
	if (parse_number(text, &number) || (int64_t)number < info->min ||
	    (int64_t)number > info->max)
		return false;
	value_number(value, number);
	return true;
}

static enum status parse_operand(const char *operand, struct request *request)
{
	size_t length = strcspn(operand, "=");
	unsigned int i;

	for (i = 0; i < WRITABLE; i++) {
		if (strlen(attributes[i].path) == length &&
		    !memcmp(attributes[i].path, operand, length))
			break;
	}
	if (i == WRITABLE)
		return unknown_name(operand, length);
	if (!operand[length]) {
		complain("'%s': a value is missing, as in %s=VALUE", operand,
			 operand);
		return wrong_usage("set ");
	}
	if (request->given[i]) {
		complain("%s is given twice", attributes[i].path);
		return wrong_usage("set ");
	}
	request->given[i] = true;
	if (!parse_value(&attributes[i], operand + length + 1,
			 &request->values[i]))
		return wrong_value(&attributes[i], operand + length + 1);
	return STATUS_OK;
}

/* The whole, as it would be. */

/* A preset sets the parts of the layout. */
static void merge_preset(struct value *values)
{
	struct snowflake_id_layout layout;

	if (snowflake_preset(values[PRESET].text, &layout))
		return;
	value_number(&values[TIMESTAMP_BITS], layout.timestamp_bits);
	value_number(&values[WORKER_BITS], layout.worker_bits);
	value_number(&values[SEQUENCE_BITS], layout.sequence_bits);
	value_set(&values[ORDER], order_name(&layout));
	value_number(&values[TICK_MS], layout.tick_ms);
	value_number(&values[EPOCH_MS], layout.epoch_ms);
}

static void merge(struct snapshot *snapshot, const struct request *request)
{
	unsigned int i;

	for (i = 0; i < WRITABLE; i++) {
		if (!request->given[i])
			continue;
		snapshot->values[i] = request->values[i];
		if (i == PRESET)
			merge_preset(snapshot->values);
	}
}

/* As the module does it, but before anything has changed. */
static const char *check_whole(const struct snapshot *whole, bool cpu_block)
{
	const struct value *values = whole->values;
	uint64_t id = values[WORKER_ID].number, most;
	uint64_t count = values[WORKER_COUNT].number;
	struct snowflake_id_layout layout;
	struct snowflake_limits limits;
	const char *why;

	if (id == UINT64_MAX)
		return NULL;
	if (!snapshot_layout(whole, &layout))
		return "the three widths of the layout are more than 64 bits together";
	/* A clock before the epoch of a preset is wrong, not the epoch. */
	if (!strcmp(layout_name(&layout), "custom") &&
	    snowflake_check_layout(&layout, &why))
		return why;
	snowflake_get_limits(&layout, &limits);
	if (id >= limits.workers)
		return "the worker id does not fit into the layout's worker bits";
	if (count > limits.workers - id)
		return "worker_count: the range ends past the last worker id";
	if (!strcmp(values[SHARING].text, "bound") && count > BOUND_MAX)
		return "worker_count is more than 8192, the most for bound sharing";
	if (__builtin_mul_overflow(count, limits.ids_per_tick, &most))
		return NULL;
	/* Unless given, it may be the default, which follows the layout. */
	if (cpu_block && values[CPU_BLOCK].number > most)
		return "cpu_block is more than the ids of a tick";
	return NULL;
}

/* The plan. */

static bool differs(const struct request *request, const struct snapshot *now,
		    unsigned int i)
{
	return request->given[i] &&
	       (!now->values[i].known ||
		strcmp(request->values[i].text, now->values[i].text));
}

static void add(struct plan *plan, enum attribute attribute, const char *text)
{
	plan->steps[plan->count++] = (struct step) { attribute, text };
}

/*
 * What is so already is left alone, so that the same call may be made again.
 * But of what shapes ids all is written or none: a preset undoes its parts.
 */
static void make_plan(struct plan *plan, const struct request *request,
		      const struct snapshot *now, bool shapes)
{
	bool running = now->values[WORKER_ID].known &&
		       now->values[WORKER_ID].number != UINT64_MAX;
	bool moves = differs(request, now, WORKER_ID);
	bool starts = request->given[WORKER_ID] &&
		      request->values[WORKER_ID].number != UINT64_MAX;
	bool others = false;
	unsigned int i;

	for (i = 0; i < WORKER_ID; i++)
		others |= differs(request, now, i);
	plan->count = 0;
	plan->stops = running && request->given[WORKER_ID] &&
		      (!starts || shapes || (moves && others));
	if (plan->stops)
		add(plan, WORKER_ID, NONE);
	for (i = 0; i < WORKER_ID; i++) {
		if (attributes[i].shapes ? shapes && request->given[i] :
					   differs(request, now, i))
			add(plan, i, request->values[i].text);
	}
	if (starts && (plan->stops || moves))
		add(plan, WORKER_ID, request->values[WORKER_ID].text);
}

static bool changes_shape(const struct request *request,
			  const struct snapshot *now)
{
	unsigned int i;

	for (i = 0; i < WORKER_ID; i++) {
		if (attributes[i].shapes && differs(request, now, i))
			return true;
	}
	return false;
}

/* The writes. */

/**
 * struct trouble - why an attribute cannot be written
 * @err: the errno
 * @status: what to exit with
 * @what: in words
 */
struct trouble {
	int err;
	enum status status;
	const char *what;
};

static const struct trouble troubles[] = {
	{
		EACCES, STATUS_NO_PERMISSION,
		"only root may write it (EACCES)"
	}, {
		EPERM, STATUS_NO_PERMISSION,
		"it may not be written here (EPERM)"
	}, {
		EROFS, STATUS_NO_PERMISSION,
		"/sys is read-only here, as in a container (EROFS): write it on the host"
	}, {
		EINVAL, STATUS_ERROR,
		"the module refuses the value (EINVAL); the kernel log says why: dmesg"
	}, {
		EBUSY, STATUS_REFUSED,
		"not while there is a worker id (EBUSY): not_before_ms can only be raised then, and what shapes ids stays; give worker_id=-1 first"
	}, {
		ECANCELED, STATUS_REFUSED,
		"this machine was found to be a clone meanwhile (ECANCELED): see whether the worker id is its own"
	}, {
		ENOENT, STATUS_ERROR,
		"this module has no such attribute (ENOENT)"
	},
};

static enum status explain_write(enum attribute attribute, int err)
{
	char path[256];
	size_t i;

	sysfs_path(attribute, path, sizeof(path));
	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (troubles[i].err != -err)
			continue;
		complain("%s: %s", path, troubles[i].what);
		return troubles[i].status;
	}
	complain("%s: %s", path, strerror(-err));
	return STATUS_ERROR;
}

static void tell_steps(const char *what, const struct step *from,
		       const struct step *to)
{
	if (from == to)
		return;
	fprintf(stderr, "snowflake: %s:", what);
	for (; from < to; from++)
		fprintf(stderr, " %s=%s", attributes[from->attribute].path,
			from->text);
	fputc('\n', stderr);
}

/* What can be seen of the rights beforehand, so that all is written or none. */
static enum status check_rights(const struct plan *plan)
{
	char path[256];
	size_t i;

	for (i = 0; i < plan->count; i++) {
		sysfs_path(plan->steps[i].attribute, path, sizeof(path));
		if (access(path, W_OK))
			return explain_write(plan->steps[i].attribute, -errno);
	}
	return STATUS_OK;
}

static enum status write_plan(const struct plan *plan)
{
	const struct step *step, *end = plan->steps + plan->count;
	enum status status = check_rights(plan);
	int err;

	if (status)
		return status;
	for (step = plan->steps; step < end; step++) {
		err = sysfs_write(step->attribute, step->text);
		if (!err)
			continue;
		status = explain_write(step->attribute, err);
		tell_steps("written before that", plan->steps, step);
		tell_steps("not written", step, end);
		if (plan->stops && step > plan->steps)
			complain("no id is made until a worker id is set again");
		return status;
	}
	return STATUS_OK;
}

static void print_plan(const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		printf("%s=%s\n", attributes[plan->steps[i].attribute].path,
		       plan->steps[i].text);
}

static enum status carry_out(const struct request *request, bool dry)
{
	struct snapshot now, whole;
	struct plan plan;
	const char *why;
	bool shapes;

	if (!sysfs_there())
		return explain(SNOWFLAKE_IN_OPEN, SYSFS, -ENOENT);
	sysfs_snapshot(&now);
	whole = now;
	merge(&whole, request);
	/* Without a worker id nothing comes into force. */
	why = request->given[WORKER_ID] ?
	      check_whole(&whole, request->given[CPU_BLOCK]) : NULL;
	if (why) {
		complain("nothing was changed: %s", why);
		return wrong_usage("set ");
	}
	shapes = changes_shape(request, &now);
	if (shapes && !request->given[WORKER_ID] &&
	    now.values[WORKER_ID].number != UINT64_MAX) {
		complain("nothing was changed: what shapes ids stays while there is a worker id");
		complain("add worker_id=%s to stop, change and start again, or -1 to stop",
			 now.values[WORKER_ID].text);
		return STATUS_USAGE;
	}
	make_plan(&plan, request, &now, shapes);
	if (!dry)
		return write_plan(&plan);
	print_plan(&plan);
	return STATUS_OK;
}

/**
 * set_main - the subcommand "set"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status set_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dry-run", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct request request = { 0 };
	enum status status;
	bool dry = false;
	int c;

	while ((c = getopt_long(argc, argv, "+nh", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			dry = true;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return wrong_usage("set ");
		}
	}
	if (optind == argc) {
		complain("nothing to set is given, as in worker_id=N");
		return wrong_usage("set ");
	}
	for (; optind < argc; optind++) {
		status = parse_operand(argv[optind], &request);
		if (status)
			return status;
	}
	return carry_out(&request, dry);
}

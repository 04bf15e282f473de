// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * snowflake bench: how fast ids are made.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "layouts.h"

#define DURATION_MS 1000
#define THREADS_MAX 1024

/* Ids between two looks at the clock, which they would else be slowed by. */
#define BATCH 64

/* Between two looks at how far it has come. */
#define NAP_NS 50000000

static const char help[] =
"usage: snowflake bench [OPTION...]\n"
"\n"
"Measures how fast one program gets ids one by one: cached, as the library does\n"
"it, then direct, with a system call for each. All threads share one handle.\n"
"The ids are real ones, and lacking to other readers of the same ticks.\n"
"\n"
"  -t, --time SECONDS    how long to measure each, 0.01 to 3600; 1 if not given\n"
"  -T, --threads N       threads, 1 to 1024; 1 if not given\n"
"  -d, --device DEVICE   the path of a device, or local:...\n"
"      --direct          only direct\n"
"  -j, --json            print a JSON object\n"
"  -h, --help            this text\n";

/**
 * struct plan - what is to be measured
 * @device: which device or engine
 * @duration_ms: how long
 * @threads: by how many threads
 * @direct: not by the cache
 */
struct plan {
	const char *device;
	unsigned int duration_ms;
	uint64_t threads;
	bool direct;
};

/**
 * struct run - one measurement
 * @sf: the handle
 * @until_ns: its end
 * @ids: how many there were
 * @wall_ns: how long it took
 * @cpu_ns: how long processors worked for it, in the kernel too
 * @err: what made it end before its time, 0 if nothing did
 */
struct run {
	struct snowflake *sf;
	uint64_t until_ns;
	uint64_t ids;
	uint64_t wall_ns;
	uint64_t cpu_ns;
	int err;
};

/**
 * struct results - all that was measured
 * @ceiling: ids that the host can make in a second, 0 if that is not known
 * @cached: by the cache; not if the plan says direct
 * @direct: without it
 */
struct results {
	uint64_t ceiling;
	struct run cached;
	struct run direct;
};

static uint64_t cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
	       UINT64_C(1000000000) +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
	       UINT64_C(1000);
}

static void *take_ids(void *argument)
{
	struct run *run = argument;
	uint64_t id, count = 0;
	int err = 0;

	while (!err &&
	       now_ns() < __atomic_load_n(&run->until_ns, __ATOMIC_RELAXED)) {
		unsigned int i;

		for (i = 0; i < BATCH && !err; i++)
			err = snowflake_next(run->sf, &id);
		count += err ? i - 1 : i;
	}
	__atomic_fetch_add(&run->ids, count, __ATOMIC_RELAXED);
	if (err)
		__atomic_store_n(&run->err, err, __ATOMIC_RELAXED);
	return NULL;
}

/* Tell how far it has come, if anybody looks. */
static void wait_for(struct run *run, unsigned int duration_ms)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t begin = now_ns(), now = begin;
	struct progress progress;

	progress_begin(&progress, "ms measured", duration_ms, false);
	while (progress.terminal && now < run->until_ns &&
	       !__atomic_load_n(&run->err, __ATOMIC_RELAXED)) {
		progress_show(&progress, (now - begin) / 1000000);
		nanosleep(&nap, NULL);
		now = now_ns();
	}
	progress_end(&progress);
}

/* Threads that cannot be had are an error too, once the others have ended. */
static void run_threads(struct run *run, const struct plan *plan)
{
	pthread_t threads[THREADS_MAX];
	uint64_t started, i;
	int err = 0;

	for (started = 0; started < plan->threads && !err; started++)
		err = pthread_create(&threads[started], NULL, take_ids, run);
	if (err) {
		started--;
		__atomic_store_n(&run->until_ns, 0, __ATOMIC_RELAXED);
	} else {
		wait_for(run, plan->duration_ms);
	}
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (err)
		run->err = -err;
}

static enum status measure(const struct plan *plan, unsigned int flags,
			   struct run *run)
{
	uint64_t wall, cpu;
	int err;

	*run = (struct run) { 0 };
	err = snowflake_open(&run->sf, plan->device, flags);
	if (err)
		return explain(SNOWFLAKE_IN_OPEN, plan->device, err);
	cpu = cpu_ns();
	wall = now_ns();
	run->until_ns = wall + plan->duration_ms * UINT64_C(1000000);
	run_threads(run, plan);
	run->wall_ns = now_ns() - wall;
	run->cpu_ns = cpu_ns() - cpu;
	snowflake_close(run->sf);
	if (run->err)
		return explain(SNOWFLAKE_IN_NEXT, plan->device, run->err);
	return STATUS_OK;
}

static uint64_t find_ceiling(const char *device)
{
	struct snowflake_id_layout layout;
	uint64_t first, count, ceiling = 0;
	struct snowflake *sf;

	if (snowflake_open(&sf, device, 0))
		return 0;
	if (!snowflake_get_layout(sf, &layout) &&
	    !snowflake_get_workers(sf, &first, &count))
		ceiling = layout_ceiling(&layout, count);
	snowflake_close(sf);
	return ceiling;
}

static uint64_t cpu_per_id(const struct run *run)
{
	return run->ids ? run->cpu_ns / run->ids : 0;
}

static void print_run(const char *name, const struct run *run, uint64_t ceiling)
{
	char text[GROUPED_SIZE], share[SHARE_SIZE], cpus[SHARE_SIZE];
	uint64_t rate = per_second(run->ids, run->wall_ns);

	printf("%-9s %14s %11s %12ju %13s\n", name,
	       grouped(rate, text), share_text(rate, ceiling, share),
	       cpu_per_id(run),
	       share_text(run->cpu_ns, run->wall_ns, cpus));
}

static void print_text(const struct plan *plan, const struct results *results)
{
	char text[GROUPED_SIZE];

	printf("%s, by %ju thread%s, for %u.%03u s each\n\n",
	       plan->device, plan->threads, plan->threads == 1 ? "" : "s",
	       plan->duration_ms / 1000, plan->duration_ms % 1000);
	printf("%-9s %14s %11s %12s %13s\n", "", "ids/s", "of ceiling",
	       "CPU ns/id", "CPUs in use");
	if (!plan->direct)
		print_run("cached", &results->cached, results->ceiling);
	print_run("direct", &results->direct, results->ceiling);
	if (results->ceiling)
		printf("%-9s %14s\n", "ceiling",
		       grouped(results->ceiling, text));
}

static void run_json(const char *name, const struct run *run)
{
	json_open(name);
	json_number("ids", run->ids);
	json_number("ids_per_second", per_second(run->ids, run->wall_ns));
	json_number("wall_ns", run->wall_ns);
	json_number("cpu_ns", run->cpu_ns);
	json_number("cpu_ns_per_id", cpu_per_id(run));
	json_close();
}

static void print_json(const struct plan *plan, const struct results *results)
{
	json_open(NULL);
	json_text("device", plan->device);
	json_number("threads", plan->threads);
	if (results->ceiling)
		json_number("ceiling_per_second", results->ceiling);
	if (!plan->direct)
		run_json("cached", &results->cached);
	run_json("direct", &results->direct);
	json_close();
}

static enum status measure_all(const struct plan *plan, struct results *results)
{
	enum status status = STATUS_OK;

	results->ceiling = find_ceiling(plan->device);
	if (!plan->direct)
		status = measure(plan, 0, &results->cached);
	if (!status)
		status = measure(plan, SNOWFLAKE_DIRECT, &results->direct);
	return status;
}

/**
 * bench_main - the subcommand "bench"
 * @argc: number of arguments
 * @argv: the program's name and the subcommand's arguments
 *
 * Return: what to exit with.
 */
enum status bench_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "time", required_argument, NULL, 't' },
		{ "threads", required_argument, NULL, 'T' },
		{ "device", required_argument, NULL, 'd' },
		{ "direct", no_argument, NULL, 'D' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	void (*print)(const struct plan *plan,
		      const struct results *results) = print_text;
	struct plan plan = {
		.device = DEVICE, .duration_ms = DURATION_MS, .threads = 1,
	};
	struct results results = { 0 };
	enum status status;
	const char *wrong;
	int c;

	while ((c = getopt_long(argc, argv, "+t:T:d:jh", options,
				NULL)) != -1) {
		wrong = NULL;
		switch (c) {
		case 't':
			wrong = parse_seconds(optarg, 10, &plan.duration_ms);
			break;
		case 'T':
			wrong = parse_number(optarg, &plan.threads);
			if (!wrong && (!plan.threads ||
				       plan.threads > THREADS_MAX))
				wrong = "it has to be from 1 to 1024";
			break;
		case 'd':
			plan.device = optarg;
			break;
		case 'D':
			plan.direct = true;
			break;
		case 'j':
			print = print_json;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return wrong_usage("bench ");
		}
		if (wrong) {
			complain("-%c '%s': %s", c, optarg, wrong);
			return wrong_usage("bench ");
		}
	}
	if (optind < argc)
		return wrong_operand("bench ", argv[optind]);

	status = measure_all(&plan, &results);
	if (!status)
		print(&plan, &results);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The local engine, on a machine whose clock, boots and disk are the test's.
 *
 * SEED=N repeats a run of what is random, TRIALS=N makes it longer or shorter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local_common.h"

#define TWITTER_EPOCH_MS 1288834974657LL
#define TWITTER_CAPACITY 4096

static int64_t tick_now(void)
{
	return machine.real_ns / NS_PER_MS - TWITTER_EPOCH_MS;
}

static int64_t tick_of(uint64_t id)
{
	return id >> 22;
}

/* The whole of a small file. */
struct content {
	unsigned char bytes[20000];
	size_t size;
};

static void load(const char *name, struct content *content)
{
	int fd = open(local_path(name), O_RDONLY);

	assert_true(fd >= 0);
	memset(content, 0, sizeof(*content));
	content->size = read(fd, content->bytes, sizeof(content->bytes));
	assert_in_range(content->size, 0, sizeof(content->bytes) - 1);
	close(fd);
}

static void store(const char *name, const struct content *content)
{
	int fd = open(local_path(name), O_WRONLY | O_TRUNC | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content->bytes, content->size),
			 content->size);
	close(fd);
}

/* Names. */

static void names(void **state)
{
	static const char * const bad[] = {
		"", "local", "local:", "local:x", "local:-1", "local:1 ",
		"local: 1", "local:+1", "local:1,", "local:,count=1",
		"local:1,count", "local:1,count=", "local:1,count=0",
		"local:1,count=-1", "local:1,count=1,count=1",
		"local:1,layout=", "local:1,layout=none",
		"local:1,layout=twitter,layout=twitter", "local:1,dir=",
		"local:1,dir=/a,dir=/a", "local:1,size=1", "local:1,Count=1",
		"local:1024", "local:1023,count=2", "local:0,count=1025",
		"local:16,layout=js53", "local:18446744073709551616",
		"local:1,count=18446744073709551615", "LOCAL:1", "xlocal:1",
		"local:dir=/a", "local:1;count=1", "local:0x1", "local:1e1",
	};
	static const char long_name[] =
		"local:65000,dir=/x=y z,layout=sonyflake,count=536";
	struct local_name name;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (local_name_parse(&name, bad[i]) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);

	assert_int_equal(local_name_parse(&name, "local:7"), 0);
	assert_int_equal(name.range.first, 7);
	assert_int_equal(name.range.count, 1);
	assert_int_equal(name.range.layout.worker_bits, 10);
	assert_null(name.dir);
	local_name_free(&name);

	assert_int_equal(local_name_parse(&name, long_name), 0);
	assert_int_equal(name.range.first, 65000);
	assert_int_equal(name.range.count, 536);
	assert_int_equal(name.range.layout.tick_ms, 10);
	assert_int_equal(name.range.layout.order, SNOWFLAKE_SEQUENCE_WORKER);
	assert_string_equal(name.dir, "/x=y z");
	local_name_free(&name);
}

static int open_default(void)
{
	struct engine *engine;
	int err = engine_local.open(&engine, "local:1");

	if (!err)
		engine_local.close(engine);
	return err;
}

static void assert_mode(const char *name, mode_t is)
{
	struct stat st;

	assert_int_equal(stat(local_path(name), &st), 0);
	assert_int_equal(st.st_mode & 07777, is);
}

static void default_folder(void **state)
{
	struct engine *engine;

	(void)state;
	setenv("HOME", local_folder, 1);
	unsetenv("XDG_STATE_HOME");
	assert_int_equal(open_default(), 0);
	assert_mode(".local/state/snowflake", 0700);
	assert_mode(".local/state/snowflake/1-1", 0600);

	setenv("XDG_STATE_HOME", local_path("a/b"), 1);
	assert_int_equal(open_default(), 0);
	assert_mode("a", 0700);
	assert_mode("a/b/snowflake/1-1", 0600);

	/* A relative path is not valid there, nor is none at all. */
	setenv("XDG_STATE_HOME", "c", 1);
	unsetenv("HOME");
	assert_int_equal(open_default(), -ENOTDIR);
	setenv("HOME", "", 1);
	assert_int_equal(open_default(), -ENOTDIR);

	assert_int_equal(engine_local.open(&engine, "local:1,dir=/no/such/dir"),
			 -ENOTDIR);
	assert_int_equal(engine_local.open(&engine, "local:1,dir=/dev/null"),
			 -ENOTDIR);
}

static void information(void **state)
{
	struct engine *engine = open_it("40,count=2,layout=sonyflake");
	struct snowflake_info info;

	(void)state;
	assert_int_equal(engine_local.info(engine, &info), 0);
	assert_int_equal(info.worker_id, 40);
	assert_int_equal(info.worker_count, 2);
	assert_int_equal(info.epoch_ms, 1409529600000LL);
	assert_int_equal(info.tick_ms, 10);
	assert_int_equal(info.timestamp_bits, 39);
	assert_int_equal(info.worker_bits, 16);
	assert_int_equal(info.sequence_bits, 8);
	assert_int_equal(info.order, SNOWFLAKE_INFO_SEQUENCE_WORKER);
	assert_int_equal(info.sharing, SNOWFLAKE_INFO_POOLED);
	assert_int_equal(info.bound_to, -1);
	assert_int_equal(info.not_before_ms, 0);
	assert_int_equal(info.not_after_ms, 0);
	assert_int_equal(info.generation, *engine->generation);
	assert_int_equal(engine->fd, -1);
	assert_int_equal(engine_local.bind(engine, 40), -EINVAL);
	engine_local.close(engine);
}

/* Ticks. */

static void nothing_in_the_tick_of_a_start(void **state)
{
	struct engine *engine = open_it("1");
	int64_t tick = tick_now();
	uint64_t id;

	(void)state;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NOW), -EAGAIN);
	id = take_one(engine);
	assert_int_equal(tick_of(id), tick + 1);
	assert_int_equal(id >> 12 & 1023, 1);
	assert_int_equal(machine.sleeps, 1);
	engine_local.close(engine);
}

static void ceiling(void **state)
{
	static uint64_t ids[10 * TWITTER_CAPACITY];
	struct engine *engine = open_it("1");
	int64_t tick;
	size_t i;

	(void)state;
	machine_pass(NS_PER_MS);
	tick = tick_now();
	/* At once: what the tick has, and no more. */
	assert_int_equal(take(engine, ids, 5000, DEADLINE_NOW), 4096);
	assert_int_equal(take(engine, ids, 1, DEADLINE_NOW), -EAGAIN);
	assert_int_equal(machine.sleeps, 0);

	/* A tick's worth in each tick, asleep between them. */
	assert_int_equal(take(engine, ids, ARRAY_SIZE(ids), DEADLINE_NEVER),
			 ARRAY_SIZE(ids));
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(ids[i], (uint64_t)(tick + 1 + i / 4096) << 22 |
				 1 << 12 | i % 4096);
	assert_int_equal(machine.sleeps, 10);

	/* Though the next tick begins meanwhile. */
	machine_pass(NS_PER_MS);
	machine.step_in = 2;
	machine.step_ns = NS_PER_MS;
	assert_int_equal(take(engine, ids, 5000, DEADLINE_NOW), 4096);
	assert_int_equal(machine.step_in, 0);
	engine_local.close(engine);
}

static void deadlines(void **state)
{
	static uint64_t ids[TWITTER_CAPACITY + 1];
	struct engine *engine = open_it("1");
	int64_t start;

	(void)state;
	machine_pass(NS_PER_MS);
	start = machine.mono_ns;
	/* The tick ends 750 us later. */
	assert_int_equal(take(engine, ids, 4097, start + 100000), 4096);
	assert_int_equal(machine.mono_ns, start + 100000);
	assert_int_equal(take(engine, ids, 1, start + 300000), -EAGAIN);
	assert_int_equal(machine.mono_ns, start + 300000);
	assert_int_equal(take(engine, ids, 1, start + 200000), -EAGAIN);
	assert_int_equal(machine.mono_ns, start + 300000);
	assert_int_equal(take(engine, ids, 1, start + 750000), 1);
	assert_int_equal(machine.mono_ns, start + 750000);
	engine_local.close(engine);
}

static void rows_of_sonyflake(void **state)
{
	uint64_t ids[3 * 256 * 3], seen = 0;
	struct engine *engine = open_it("8,count=3,layout=sonyflake");
	size_t i;

	(void)state;
	machine_pass(10 * NS_PER_MS);
	assert_int_equal(take(engine, ids, 4, DEADLINE_NEVER), 4);
	assert_int_equal(take(engine, ids + 4, ARRAY_SIZE(ids) - 4,
			      DEADLINE_NEVER), ARRAY_SIZE(ids) - 4);
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_true(ids[i] > seen);
		seen = ids[i];
		assert_int_equal(seen & 65535, 8 + i % 3);
		assert_int_equal(seen >> 16 & 255, i % 768 / 3);
	}
	assert_int_equal(machine.sleeps, 2);
	engine_local.close(engine);
}

static void ends(void **state)
{
	struct engine *engine = open_it("1,layout=js53");
	uint64_t id;

	(void)state;
	/* 2^41 ms after the epoch. */
	machine.real_ns = (1577836800000LL + (1LL << 41) - 1) * NS_PER_MS;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), 1);
	assert_true(id < 1ULL << 53);
	machine_pass(NS_PER_MS);
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -EOVERFLOW);
	engine_local.close(engine);

	machine.real_ns = 1577836800000LL * NS_PER_MS - 20 * NS_PER_MS;
	engine = open_it("2,layout=js53");
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	machine_pass(20 * NS_PER_MS);
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), 1);
	engine_local.close(engine);
}

/* The clock. */

static void step_back(void **state)
{
	struct engine *engine = open_it("1");
	uint32_t generation;
	uint64_t last, id = 5;
	int64_t start;

	(void)state;
	machine_pass(NS_PER_MS);
	last = take_one(engine);
	generation = *engine->generation;
	assert_int_not_equal(generation, 0);

	/* A little: it waits until the tick comes again. */
	machine.real_ns -= 5 * NS_PER_MS;
	start = machine.mono_ns;
	id = take_one(engine);
	assert_true(id > last);
	assert_int_equal(tick_of(id), tick_of(last));
	assert_in_range(machine.mono_ns - start, 4 * NS_PER_MS, 5 * NS_PER_MS);
	assert_int_not_equal(*engine->generation, generation);
	last = id;

	/* More than it waits for, at once or with a deadline that is nearer. */
	machine.real_ns -= 5 * NS_PER_MS;
	generation = *engine->generation;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NOW), -ECANCELED);
	assert_int_equal(take(engine, &id, 1, machine.mono_ns + 2000000), -ECANCELED);
	machine.real_ns -= 8 * 3600 * NS_PER_S;
	start = machine.mono_ns;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	assert_int_equal(machine.mono_ns, start);
	assert_int_equal(id, last);
	assert_int_not_equal(*engine->generation, generation);

	machine_pass(8 * 3600 * NS_PER_S);
	id = take_one(engine);
	assert_true(id > last);
	last = id;

	/* Ahead: ids go with the clock. */
	machine.real_ns += 3600 * NS_PER_S;
	id = take_one(engine);
	assert_int_equal(tick_of(id), tick_now());
	engine_local.close(engine);
}

/* Back for a second and ahead again, 200 times, with ids in between. */
static void steps(void **state)
{
	struct engine *engine = open_it("1");
	uint64_t ids[64], last = 0;
	unsigned int round;
	ssize_t n, i;

	(void)state;
	for (round = 0; round < 200; round++) {
		machine_pass(local_random(3 * NS_PER_MS));
		n = take(engine, ids, 1 + local_random(64), DEADLINE_NOW);
		for (i = 0; i < n; i++, last = ids[i - 1])
			assert_true(ids[i] > last);
		machine.real_ns += round % 2 ? NS_PER_S : -NS_PER_S;
	}
	engine_local.close(engine);
}

static void step_again(void)
{
	/* Whoever waits for the clock finds it back once more. */
	machine.real_ns -= 3 * NS_PER_MS;
}

static void steps_while_it_waits(void **state)
{
	struct engine *engine = open_it("1");
	uint64_t id;
	int64_t start;

	(void)state;
	machine_pass(NS_PER_MS);
	take_one(engine);
	machine.real_ns -= 5 * NS_PER_MS;
	machine.on_sleep = step_again;
	start = machine.mono_ns;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	assert_in_range(machine.mono_ns - start, 5 * NS_PER_MS, 10 * NS_PER_MS);
	engine_local.close(engine);
}

/* What is on disk. */

static int64_t reserved_s(uint64_t first)
{
	return machine_disk(first)->reserved >> 24;
}

/* All that is handed out is of earlier ticks than the disk knows. */
static void assert_covered(uint64_t first, uint64_t id)
{
	int64_t end = (tick_of(id) + 1 + TWITTER_EPOCH_MS) * NS_PER_MS;

	if (end > reserved_s(first) * NS_PER_S)
		fail_msg("an id of a time that is not reserved");
	if (reserved_s(first) * NS_PER_S > machine.real_ns + LOCAL_WINDOW_NS)
		fail_msg("more than a window is reserved");
}

static void reservation(void **state)
{
	struct engine *engine = open_it("1");
	unsigned int i, quiet = 0;
	uint64_t id, last = 0;
	ssize_t n;

	(void)state;
	for (i = 0; i < 20000; i++) {
		machine_pass(local_random(10 * NS_PER_MS));
		machine.sync_errno = local_random(100) < 5 ? EIO : 0;
		n = take(engine, &id, 1, DEADLINE_NEVER);
		if (n < 0) {
			assert_int_equal(n, -EIO);
			quiet++;
			continue;
		}
		assert_true(id > last);
		last = id;
		assert_covered(1, id);
	}
	/* 100 s of ids: one write in each 4 to 5 s, and one at the beginning. */
	assert_in_range(machine.syncs, 19, 27);
	assert_in_range(quiet, 0, 2);
	engine_local.close(engine);
}

static void disk_full(void **state)
{
	struct engine *engine = open_it("1");
	uint64_t ids[3] = { 5, 5, 5 };
	uint64_t last;
	int i;

	(void)state;
	machine_pass(NS_PER_MS);
	machine.sync_errno = ENOSPC;
	assert_int_equal(take(engine, ids, 3, DEADLINE_NEVER), -ENOSPC);
	assert_int_equal(take(engine, ids, 3, DEADLINE_NOW), -ENOSPC);
	assert_int_equal(ids[0], 5);
	machine.sync_errno = 0;
	last = take_one(engine);

	/* What is reserved is handed out; now and then one tries for more. */
	machine.sync_errno = EROFS;
	machine.failed_syncs = 0;
	for (i = 0; i < 9000; i++) {
		assert_true(take_one(engine) > last);
		machine_pass(NS_PER_MS);
	}
	assert_in_range(machine.failed_syncs, 30, 60);
	machine_pass(2 * NS_PER_S);
	assert_int_equal(take(engine, ids, 3, DEADLINE_NEVER), -EROFS);
	assert_int_equal(ids[0], 5);
	machine.sync_errno = 0;
	assert_covered(1, take_one(engine));
	engine_local.close(engine);
}

/* A clock that is set back between the claim and the reservation. */
static void step_before_the_reservation(void **state)
{
	struct engine *engine = open_it("1");
	uint64_t id, last;

	(void)state;
	machine_pass(NS_PER_MS);
	last = take_one(engine);
	machine.real_ns += 3600 * NS_PER_S;
	machine.sync_errno = EIO;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -EIO);
	machine.sync_errno = 0;
	machine.real_ns -= 3600 * NS_PER_S;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	assert_true(reserved_s(1) * NS_PER_S < machine.real_ns + LOCAL_WINDOW_NS);
	machine_pass(3600 * NS_PER_S);
	id = take_one(engine);
	assert_true(id > last);
	assert_covered(1, id);

	/* Within one call: the engine reads the clock to claim, then to reserve. */
	last = id;
	machine_pass(11 * NS_PER_S);
	machine.step_in = 2;
	machine.step_ns = -20 * NS_PER_S;
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	assert_int_equal(machine.step_in, 0);
	machine_pass(20 * NS_PER_S);
	id = take_one(engine);
	assert_true(id > last);
	assert_covered(1, id);
	engine_local.close(engine);
}

/* Crashes. */

/*
 * The machine stops: of the file there is what got to the disk, and the live part
 * as it was at any time before.
 */
static void crash(const char *name, uint64_t first, const struct content *old)
{
	struct content content = *old;

	memcpy(content.bytes, machine_disk(first), sizeof(struct local_header));
	store(name, &content);
	machine.boot++;
}

static void crash_and_clock_back(void **state)
{
	static const int64_t back[] = { 0, 2 * NS_PER_S, 3600 * NS_PER_S };
	struct engine *engine;
	struct content old;
	uint64_t id, last;
	size_t i, wait;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(back); i++) {
		engine = open_it("1");
		machine_pass(11 * NS_PER_S);
		take_one(engine);
		load("1-1", &old);
		machine_pass(3 * NS_PER_S);
		last = take_one(engine);
		engine_local.close(engine);
		crash("1-1", 1, &old);

		machine.real_ns -= back[i];
		engine = open_it("1");
		assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER),
				 -ECANCELED);
		/* Not longer than the window and what the clock is back. */
		machine_pass(back[i]);
		for (wait = 0; take(engine, &id, 1, DEADLINE_NEVER) < 0; wait++)
			machine_pass(NS_PER_S);
		assert_in_range(wait, 1, 10);
		assert_true(id > last);
		engine_local.close(engine);
	}
}

/* Within a boot nothing is lost, so there is nothing to wait for. */
static void restart(void **state)
{
	struct engine *engine = open_it("1");
	struct content content;
	uint64_t last, id;

	(void)state;
	machine_pass(NS_PER_MS);
	last = take_one(engine);
	engine_local.close(engine);
	engine = open_it("1");
	assert_int_equal(take(engine, &id, 1, DEADLINE_NOW), 1);
	assert_int_equal(id, last + 1);
	engine_local.close(engine);

	/* A file that never was completed is in nobody's way. */
	load("1-1", &content);
	content.size = 100;
	store("1-1.new", &content);
	machine.boot++;
	engine = open_it("1");
	machine_pass(11 * NS_PER_S);
	assert_true(take_one(engine) > id);
	assert_int_equal(access(local_path("1-1.new"), F_OK), -1);
	engine_local.close(engine);
}

/* Anything, in any order; all ids rise, whichever range they are of. */
static void any_order(void **state)
{
	static const char * const names[] = { "1,count=9", "4", "4,layout=discord" };
	static const char * const files[] = { "1-9", "4-4", "4-4" };
	static const uint64_t firsts[] = { 1, 4, 4 };
	static struct content old[2];
	uint64_t ids[32], last[2] = { 0, 0 }, given = 0, ops, k;
	struct engine *engine = NULL;
	unsigned int now = 0, layout, i;
	ssize_t n = 0, j;

	(void)state;
	memset(old, 0, sizeof(old));
	ops = test_trials(10000);
	for (k = 0; k < ops; k++) {
		machine.sync_errno = local_random(20) ? 0 : EIO;
		if (!engine) {
			now = local_random(ARRAY_SIZE(names));
			engine = open_it(names[now]);
			load(files[now], &old[now > 0]);
			memcpy(machine_disk(firsts[now]), old[now > 0].bytes,
			       sizeof(struct local_header));
		}
		layout = now == 2;
		switch (local_random(40)) {
		case 0:
			engine_local.close(engine);
			engine = NULL;
			break;
		case 1:
			engine_local.close(engine);
			engine = NULL;
			for (i = 0; i < 2; i++)
				if (old[i].size)
					crash(files[i], firsts[i], &old[i]);
			machine.boot++;
			machine.mono_ns = 5 * NS_PER_S;
			machine.real_ns += local_random(20) * NS_PER_S;
			machine.real_ns -= local_random(6) ? 0 : local_random(3600) *
							 NS_PER_S;
			break;
		case 2:
			machine.real_ns -= local_random(3000) * NS_PER_MS;
			break;
		case 3:
			machine.real_ns += local_random(20000) * NS_PER_MS;
			break;
		case 4:
			if (engine && local_random(2))
				load(files[now], &old[now > 0]);
			break;
		default:
			/* Who is behind gets there some day. */
			machine_pass(local_random(n < 0 ? 600000 : 300) * NS_PER_MS);
			n = take(engine, ids, 1 + local_random(32),
				 local_random(2) ? DEADLINE_NOW :
						   machine.mono_ns + NS_PER_MS);
			for (j = 0; j < n; j++, given++) {
				assert_true(ids[j] > last[layout]);
				last[layout] = ids[j];
			}
		}
	}
	if (engine)
		engine_local.close(engine);
	assert_true(given > ops / 2);
}

/* Ranges. */

static void overlaps(void **state)
{
	struct engine *one = open_it("10,count=5"), *other;
	uint64_t last, id;

	(void)state;
	machine_pass(NS_PER_MS);
	last = take_one(one);
	assert_int_equal(try_open(&other, "10"), -EADDRINUSE);
	assert_int_equal(try_open(&other, "14"), -EADDRINUSE);
	assert_int_equal(try_open(&other, "9,count=2"), -EADDRINUSE);
	assert_int_equal(try_open(&other, "0,count=100"), -EADDRINUSE);
	assert_int_equal(try_open(&other, "12,layout=discord"), -EADDRINUSE);
	assert_int_equal(try_open(&other, "10,count=5,layout=discord"),
			 -EADDRINUSE);
	assert_null(other);

	/* Next to it, and the same. */
	engine_local.close(open_it("9"));
	engine_local.close(open_it("15"));
	other = open_it("10,count=5");
	assert_int_equal(take_one(other), last + 1);
	engine_local.close(one);
	assert_int_equal(try_open(&one, "10"), -EADDRINUSE);
	last = take_one(other);
	engine_local.close(other);

	/* One after the other: in later ticks, and no later than that. */
	one = open_it("14");
	assert_int_equal(take(one, &id, 1, DEADLINE_NOW), -EAGAIN);
	id = take_one(one);
	assert_int_equal(tick_of(id), tick_of(last) + 1);
	last = id;
	engine_local.close(one);
	one = open_it("10,count=5");
	assert_int_equal(take(one, &id, 1, DEADLINE_NOW), -EAGAIN);
	id = take_one(one);
	assert_int_equal(tick_of(id), tick_of(last) + 1);
	engine_local.close(one);

	/* Ticks of 10 ms after ticks of 1 ms. */
	one = open_it("12,layout=sonyflake");
	id = take_one(one);
	assert_true((int64_t)(id >> 24) * 10 + 1409529600000LL >
		    tick_of(last) + 1 + TWITTER_EPOCH_MS);
	engine_local.close(one);
}

static void overlap_after_a_reboot(void **state)
{
	struct engine *engine = open_it("10,count=5");
	struct content old;
	uint64_t last, id;
	int64_t end_ms;

	(void)state;
	machine_pass(NS_PER_MS);
	last = take_one(engine);
	end_ms = reserved_s(10) * 1000;
	engine_local.close(engine);
	load("10-14", &old);
	crash("10-14", 10, &old);
	machine.real_ns -= 3600 * NS_PER_S;
	engine = open_it("12");
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ECANCELED);
	machine_pass(3609 * NS_PER_S);
	while (take(engine, &id, 1, DEADLINE_NEVER) < 0)
		machine_pass(NS_PER_S);
	assert_true(id > last);
	assert_true(tick_of(id) + TWITTER_EPOCH_MS >= end_ms);
	engine_local.close(engine);
}

/* A file that processes of another boot use: another machine's kernel. */
static void used_elsewhere(void **state)
{
	struct engine *engine = open_it("1"), *other;

	(void)state;
	machine.boot++;
	assert_int_equal(try_open(&other, "1"), -EADDRINUSE);
	engine_local.close(engine);
	engine_local.close(open_it("1"));
}

static void device_range(void **state)
{
	struct engine *engine;

	(void)state;
	machine.device_open_errno = 0;
	machine.device = (struct snowflake_info){ .worker_id = 10, .worker_count = 5 };
	assert_int_equal(try_open(&engine, "10"), -EADDRINUSE);
	assert_int_equal(try_open(&engine, "14"), -EADDRINUSE);
	assert_int_equal(try_open(&engine, "0,count=11"), -EADDRINUSE);
	assert_int_equal(try_open(&engine, "12,layout=js53"), -EADDRINUSE);
	engine_local.close(open_it("9"));
	engine_local.close(open_it("15,count=8"));
	machine.device.worker_id = -1;
	engine_local.close(open_it("10"));

	machine.device_errno = ENOTTY;
	assert_int_equal(try_open(&engine, "10"), -ENOTTY);
	machine.device_open_errno = EACCES;
	assert_int_equal(try_open(&engine, "10"), -EACCES);
	machine.device_open_errno = ENXIO;
	engine_local.close(open_it("10"));
	machine.boot_errno = ENOENT;
	assert_int_equal(try_open(&engine, "11"), -ENOENT);
}

/* Files. */

static void assert_refused(const struct content *content, int err)
{
	struct content after;
	struct engine *engine;

	store("4-5", content);
	assert_int_equal(try_open(&engine, "4,count=2"), err);
	assert_int_equal(try_open(&engine, "5"), err);
	load("4-5", &after);
	assert_int_equal(after.size, content->size);
	assert_memory_equal(after.bytes, content->bytes, after.size);
	assert_int_equal(access(local_path("5-5"), F_OK), -1);
}

static void damage(void **state)
{
	static const size_t sizes[] = { 0, 1, 111, 112, 4095, 4096, 4097 };
	struct engine *engine = open_it("4,count=2");
	struct content good, bad;
	size_t i, page;
	int change;

	(void)state;
	machine_pass(NS_PER_MS);
	take_one(engine);
	engine_local.close(engine);
	load("4-5", &good);
	page = sysconf(_SC_PAGESIZE);
	assert_int_equal(good.size, 2 * page);

	/* In this boot and in another one. */
	for (machine.boot = 0; machine.boot < 2; machine.boot++) {
		for (i = 0; i < sizeof(struct local_header); i++)
			for (change = 1; change < 256; change += change) {
				bad = good;
				bad.bytes[i] ^= change;
				assert_refused(&bad, -EBADMSG);
				bad.bytes[i] = good.bytes[i] ^ (255 - change);
				assert_refused(&bad, -EBADMSG);
			}
		bad = good;
		bad.bytes[page - 1] = 1;
		assert_refused(&bad, -EBADMSG);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			bad = good;
			bad.size = sizes[i];
			assert_refused(&bad, -EBADMSG);
		}
		bad = good;
		bad.size++;
		assert_refused(&bad, -EBADMSG);
	}

	/* What can be seen of the live part: a word of before the start. */
	machine.boot = 0;
	bad = good;
	memset(bad.bytes + page, 0, 8);
	assert_refused(&bad, -EBADMSG);
	bad = good;
	bad.bytes[page + 8] = 1;
	assert_refused(&bad, -EBADMSG);
	bad = good;
	bad.bytes[page + offsetof(struct local_live, covered) + 6] = 0xff;
	assert_refused(&bad, -EBADMSG);

	store("4-5", &good);
	engine_local.close(open_it("4,count=2"));
}

static void no_file(void **state)
{
	struct engine *engine;
	struct content content;

	(void)state;
	assert_int_equal(mkdir(local_path("4-4"), 0700), 0);
	assert_int_equal(try_open(&engine, "4"), -EBADMSG);
	assert_int_equal(mkfifo(local_path("5-5"), 0600), 0);
	assert_int_equal(try_open(&engine, "5"), -EBADMSG);
	engine_local.close(open_it("6"));
	assert_int_equal(symlink("6-6", local_path("7-7")), 0);
	assert_int_equal(try_open(&engine, "7"), -EBADMSG);
	assert_int_equal(try_open(&engine, "0,count=100"), -EBADMSG);

	/* Another range's file under this name. */
	load("6-6", &content);
	store("8-8", &content);
	assert_int_equal(try_open(&engine, "8"), -EBADMSG);

	/* Names that are none of ours are let be. */
	store("9-09", &content);
	store("9", &content);
	store("9-9.new.txt", &content);
	store("-9", &content);
	store("9-8", &content);
	engine_local.close(open_it("9"));
}

static void other_user(void **state)
{
	struct engine *engine;

	(void)state;
	if (geteuid())
		skip();
	engine_local.close(open_it("4"));
	assert_int_equal(chown(local_path("4-4"), 65534, 65534), 0);
	assert_int_equal(try_open(&engine, "4"), -EACCES);
	assert_int_equal(try_open(&engine, "3,count=2"), -EACCES);
	assert_int_equal(chown(local_path("4-4"), 0, 0), 0);

	/* A user who may not come into the folder. */
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(try_open(&engine, "4"), -EACCES);
	assert_int_equal(seteuid(0), 0);
	engine_local.close(open_it("4"));
}

/* What is done to the file while it is in use. */
static void removed(void **state)
{
	struct engine *engine = open_it("1"), *again;
	struct content content;
	uint64_t id;

	(void)state;
	machine_pass(NS_PER_MS);
	take_one(engine);
	load("1-1", &content);
	assert_int_equal(unlink(local_path("1-1")), 0);
	machine_pass(11 * NS_PER_S);
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ESTALE);
	store("1-1", &content);
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -ESTALE);
	engine_local.close(engine);

	again = open_it("1");
	assert_int_equal(rename(local_path("1-1"), local_path("x")), 0);
	machine_pass(11 * NS_PER_S);
	assert_int_equal(take(again, &id, 1, DEADLINE_NEVER), -ESTALE);
	assert_int_equal(rename(local_path("x"), local_path("1-1")), 0);
	take_one(again);
	engine_local.close(again);
}

/* A program that closes what it does not know. */
static void closed_behind_our_back(void **state)
{
	struct engine *engine = open_it("1");
	uint64_t id;
	int fd;

	(void)state;
	machine_pass(NS_PER_MS);
	take_one(engine);
	for (fd = 3; fd < 256; fd++)
		close(fd);
	machine_pass(11 * NS_PER_S);
	assert_int_equal(take(engine, &id, 1, DEADLINE_NEVER), -EBADF);
	engine_local.close(engine);
}

/* Nothing is left open or mapped by opening that fails, or by closing. */
static void leaves_nothing(void **state)
{
	struct engine *engine, *other;
	int before, after, i;

	(void)state;
	engine = open_it("1");
	before = dup(0);
	close(before);
	for (i = 0; i < 20; i++) {
		assert_int_equal(try_open(&other, "0,count=4"), -EADDRINUSE);
		engine_local.close(open_it("5"));
		machine.boot++;
		assert_int_equal(try_open(&other, "1"), -EADDRINUSE);
		engine_local.close(open_it("5"));
		machine.boot--;
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
	engine_local.close(engine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		LOCAL_TEST(names),
		LOCAL_TEST(default_folder),
		LOCAL_TEST(information),
		LOCAL_TEST(nothing_in_the_tick_of_a_start),
		LOCAL_TEST(ceiling),
		LOCAL_TEST(deadlines),
		LOCAL_TEST(rows_of_sonyflake),
		LOCAL_TEST(ends),
		LOCAL_TEST(step_back),
		LOCAL_TEST(steps),
		LOCAL_TEST(steps_while_it_waits),
		LOCAL_TEST(reservation),
		LOCAL_TEST(disk_full),
		LOCAL_TEST(step_before_the_reservation),
		LOCAL_TEST(crash_and_clock_back),
		LOCAL_TEST(restart),
		LOCAL_TEST(any_order),
		LOCAL_TEST(overlaps),
		LOCAL_TEST(overlap_after_a_reboot),
		LOCAL_TEST(used_elsewhere),
		LOCAL_TEST(device_range),
		LOCAL_TEST(damage),
		LOCAL_TEST(no_file),
		LOCAL_TEST(other_user),
		LOCAL_TEST(removed),
		LOCAL_TEST(closed_behind_our_back),
		LOCAL_TEST(leaves_nothing),
	};

	return test_run("local_test", tests);
}

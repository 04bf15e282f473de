// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module's parameters for layout, epoch and window: boot values with the
 * same checks as the attributes; and the default block where ticks are small.
 */
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		11
#define SOON_MS		1500		/* for a window to end, or to begin */
#define HOUR_MS		3600000LL
#define BLOCKS_PER_CPU	4		/* a tick has at least so many */
#define POLLED_LOADS	3
#define POLLED_NS	(300 * NSEC_PER_MSEC)
#define UNLOAD_NS	(3 * NSEC_PER_SEC)	/* an unload takes no longer */

FIXTURE(param) {
	int kmsg;
};

FIXTURE_SETUP(param)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
	ASSERT_EQ(0, module_unload());
}

FIXTURE_TEARDOWN(param)
{
	close_all();
	EXPECT_EQ(0, module_reload(""));
	EXPECT_EQ(0, reset());
}

TEST_F(param, defaults)
{
	static const struct {
		const char *name;
		const char *value;
	} cases[] = {
		{ "layout/preset", "twitter" }, { "layout/order", WORKER_SEQUENCE },
		{ "sharing", "pooled" }, { "sequence_start", "zero" },
		{ "not_before_ms", "0" }, { "not_after_ms", "0" },
		{ "state", "no-worker" },
	};
	unsigned int i;
	int all;

	ASSERT_EQ(0, module_load(""));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		EXPECT_STREQ(cases[i].value, attr_string(cases[i].name)) {
			TH_LOG("%s", cases[i].name);
		}
	EXPECT_STREQ("", layout_differs(&presets[TWITTER]));
	EXPECT_EQ(0, kmsg_lines(self->kmsg, "", &all));
}

TEST_F(param, each_preset)
{
	const struct layout *l;
	char parameters[128];
	uint64_t worker;
	int fd;

	for (l = presets; l < presets + PRESETS; l++) {
		worker = layout_workers(l) - 1;
		snprintf(parameters, sizeof(parameters), "worker_id=%ju layout=%s",
			 (uintmax_t)worker, l->preset);
		ASSERT_EQ(0, module_reload(parameters)) TH_LOG("%s", parameters);
		EXPECT_STREQ("", layout_differs(l)) TH_LOG("%s", parameters);
		EXPECT_EQ(worker, attr_number("worker_id"));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		EXPECT_STREQ("", layout_fault_now(l, fd, worker)) {
			TH_LOG("%s", parameters);
		}
		close(fd);
	}
	/* Boot values only: they are not shown where they would go stale. */
	EXPECT_NE(0, access("/sys/module/" MODULE "/parameters", F_OK));
}

/* An epoch of one's own, whatever the order of the parameters. */
TEST_F(param, epoch)
{
	static const char *const orders[] = {
		"layout=sonyflake epoch_ms=%lld worker_id=11",
		"worker_id=11 epoch_ms=%lld layout=sonyflake",
	};
	struct layout l = presets[SONYFLAKE];
	char parameters[128];
	unsigned int i;
	int fd;

	l.preset = CUSTOM;
	l.epoch_ms = now_ms() - HOUR_MS - 3;
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		snprintf(parameters, sizeof(parameters), orders[i],
			 (long long)l.epoch_ms);
		ASSERT_EQ(0, module_reload(parameters)) TH_LOG("%s", parameters);
		EXPECT_STREQ("", layout_differs(&l)) TH_LOG("%s", parameters);
		EXPECT_EQ(layout_ends_ms(&l), attr_number("layout/ends_ms"));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		EXPECT_STREQ("", layout_fault_now(&l, fd, WORKER));
		close(fd);
	}

	/* Of the default's layout. */
	l = presets[TWITTER];
	l.preset = CUSTOM;
	l.epoch_ms = 1577836800000LL;
	ASSERT_EQ(0, module_reload("epoch_ms=1577836800000"));
	EXPECT_STREQ("", layout_differs(&l));
	EXPECT_STREQ("no-worker", attr_string("state"));
	ASSERT_EQ(0, start(WORKER));
}

TEST_F(param, fault15_window_that_ends)
{
	const struct layout *l = &presets[TWITTER];
	int64_t end = now_ms() + SOON_MS;
	char parameters[128];
	uint64_t id, last = 0;
	int fd, err;

	snprintf(parameters, sizeof(parameters), "not_after_ms=%lld worker_id=11",
		 (long long)end);
	ASSERT_EQ(0, module_load(parameters));
	EXPECT_EQ(end, attr_number("not_after_ms"));
	EXPECT_EQ(0, attr_number("not_before_ms"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	while (!(err = read_id(fd, &id))) {
		last = id;
		sleep_ns(100 * NSEC_PER_USEC);
	}
	EXPECT_EQ(-EKEYEXPIRED, err);
	EXPECT_LE(end, now_ms());
	EXPECT_LT(0, last);
	EXPECT_GT(end, layout_begin_ms(l, last));
	EXPECT_STREQ("expired", attr_string("state"));
	close(fd);
}

TEST_F(param, fault15_window_that_begins)
{
	const struct layout *l = &presets[INSTAGRAM];
	int64_t begin = now_ms() + SOON_MS;
	char parameters[128];
	uint64_t id;
	int fd, err;

	snprintf(parameters, sizeof(parameters),
		 "worker_id=11 layout=instagram not_before_ms=%lld not_after_ms=%lld",
		 (long long)begin, (long long)(begin + HOUR_MS));
	ASSERT_EQ(0, module_load(parameters));
	EXPECT_EQ(begin, attr_number("not_before_ms"));
	EXPECT_EQ(begin + HOUR_MS, attr_number("not_after_ms"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECANCELED, read_id(fd, &id));
	EXPECT_STREQ("not-yet", attr_string("state"));
	EXPECT_EQ(0, attr_number("stats/rewinds"));
	do {
		sleep_ns(NSEC_PER_MSEC);
		err = read_id(fd, &id);
	} while (err == -ECANCELED && now_ms() < begin + SOON_MS);
	EXPECT_EQ(0, err);
	EXPECT_LE(begin, layout_begin_ms(l, id));
	EXPECT_EQ(WORKER, layout_worker(l, id));
	close(fd);
}

TEST_F(param, fault14_window_that_has_ended)
{
	uint64_t id;
	int fd;

	ASSERT_EQ(0, module_load("worker_id=11 not_after_ms=1700000000000"));
	EXPECT_STREQ("expired", attr_string("state"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EKEYEXPIRED, read_id(fd, &id));
	EXPECT_EQ(0, attr_number("stats/ids"));
	close(fd);
}

TEST_F_TIMEOUT(param, fault15_refused, 60)
{
	static const struct {
		const char *parameters;
		const char *names;
	} cases[] = {
		{ "layout=x", "layout" },
		{ "layout=Twitter", "layout" },
		{ "layout=twitte", "layout" },
		{ "layout=twitterx", "layout" },
		{ "layout=0", "layout" },
		{ "layout=", "layout" },
		{ "layout=\"sonyflake js53\"", "layout" },
		{ "worker_id=5 layout=x", "layout" },
		{ "epoch_ms=-1", "epoch_ms" },
		{ "epoch_ms=", "epoch_ms" },
		{ "epoch_ms=x", "epoch_ms" },
		{ "epoch_ms=1.5", "epoch_ms" },
		{ "epoch_ms=2010-11-04", "epoch_ms" },
		{ "epoch_ms=18446744073709551616", "epoch_ms" },
		{ "epoch_ms=18446744073709551617", "epoch_ms" },
		{ "worker_id=5 epoch_ms=1577836800000x", "epoch_ms" },
		/* Past its own bounds only once there is a worker id. */
		{ "worker_id=5 epoch_ms=4102444800000", "epoch_ms" },
		{ "layout=sonyflake epoch_ms=4102444800000 worker_id=5", "epoch_ms" },
		{ "layout=js53 worker_id=16", "worker_id" },
		{ "worker_id=1024 layout=twitter", "worker_id" },
		{ "worker_id=65536 layout=sonyflake", "worker_id" },
		{ "layout=js53 worker_id=15 worker_count=2", "worker_" },
		{ "layout=js53 worker_id=0 worker_count=17", "worker_count" },
		{ "not_before_ms=-1", "not_before_ms" },
		{ "not_before_ms=x", "not_before_ms" },
		{ "not_before_ms=", "not_before_ms" },
		{ "not_before_ms=18446744073709551617", "not_before_ms" },
		{ "not_after_ms=-1", "not_after_ms" },
		{ "not_after_ms=x", "not_after_ms" },
		{ "not_after_ms=", "not_after_ms" },
		{ "not_after_ms=18446744073709551617", "not_after_ms" },
		{ "worker_id=5 not_after_ms=1e12", "not_after_ms" },
	};
	unsigned int i;
	int all;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(-EINVAL, module_load(cases[i].parameters)) {
			TH_LOG("load with %s", cases[i].parameters);
		}
		EXPECT_EQ(1, kmsg_lines(self->kmsg, cases[i].names, &all)) {
			TH_LOG("%d lines, none about %s for %s", all,
			       cases[i].names, cases[i].parameters);
		}
		EXPECT_EQ(1, all) TH_LOG("for %s", cases[i].parameters);
		EXPECT_FALSE(module_loaded());
		EXPECT_EQ(-ENOENT, device_open(0));
		EXPECT_EQ(0, module_unload());
	}
}

/* Nothing of a refused load is left behind, and time goes on. */
TEST_F(param, no_duplicate_over_loads)
{
	static const char *const loads[] = {
		"worker_id=11", "worker_id=11 layout=x",
		"worker_id=11 layout=twitter", "worker_id=11 epoch_ms=x",
	};
	static uint64_t ids[MAX_READ_IDS];
	struct id_log log;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, log_init(&log, 1 << 16));
	for (i = 0; i < 3 * ARRAY_SIZE(loads); i++) {
		ASSERT_EQ(i % 2 ? -EINVAL : 0, module_load(loads[i % ARRAY_SIZE(loads)]));
		if (i % 2)
			continue;
		fd = device_open(0);
		ASSERT_LE(0, fd);
		ASSERT_EQ((ssize_t)sizeof(ids), read(fd, ids, sizeof(ids)));
		close(fd);
		log_add(&log, ids, MAX_READ_IDS);
		ASSERT_EQ(0, module_unload());
	}
	EXPECT_EQ(0, log.falls);
	EXPECT_FALSE(log.full);
}

static int possible_cpus(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "r");
	int last = 0;

	if (file) {
		if (fscanf(file, "0-%d", &last) != 1)
			last = 0;
		fclose(file);
	}
	return last + 1;
}

/*
 * 64, but less where that leaves fewer than four blocks for a CPU: else idle
 * CPUs would hold the whole of a small tick.
 */
TEST_F(param, default_block_of_a_small_tick)
{
	const struct layout *l;
	char parameters[64];
	int64_t fits;

	for (l = presets; l < presets + PRESETS; l++) {
		snprintf(parameters, sizeof(parameters), "layout=%s", l->preset);
		ASSERT_EQ(0, module_reload(parameters));
		fits = layout_sequences(l) / BLOCKS_PER_CPU / possible_cpus();
		if (fits >= CPU_BLOCK) {
			EXPECT_EQ(CPU_BLOCK, attr_number("cpu_block"));
		} else {
			EXPECT_GE(fits ?: 1, attr_number("cpu_block"));
			EXPECT_LE(1, attr_number("cpu_block"));
		}
	}

	/* A range has more numbers in a tick. */
	ASSERT_EQ(0, module_reload("layout=js53 worker_count=16"));
	fits = 16 * layout_sequences(&presets[JS53]) / BLOCKS_PER_CPU / possible_cpus();
	EXPECT_EQ(fits < CPU_BLOCK ? fits : CPU_BLOCK, attr_number("cpu_block"));
}

/* What is good enough as a default is so when it is asked for. */
TEST_F(param, default_block_can_be_asked_for)
{
	const struct layout small = { CUSTOM, 41, 10, 2, WORKER_SEQUENCE, 1, EPOCH_MS };

	ASSERT_EQ(0, module_load(""));
	ASSERT_EQ(0, layout_put(&small));
	ASSERT_EQ(0, attr_put_number("worker_count", layout_workers(&small)));
	ASSERT_EQ(0, attr_put_number("worker_id", 0));
	ASSERT_EQ(0, attr_put_number("worker_id", -1));
	EXPECT_EQ(0, attr_put("cpu_block", attr_string("cpu_block"))) {
		TH_LOG("cpu_block is %s", attr_string("cpu_block"));
	}
	EXPECT_EQ(0, attr_put_number("worker_id", 0));
}

/*
 * Pollers that have come and gone leave nothing that an unload would wait for:
 * what watches the clock for them must have an end.
 */
static void *poll_and_drain(void *arg)
{
	struct reader *r = arg;
	struct pollfd poller = { .fd = r->fd, .events = POLLIN };

	while (!atomic_load(&r->all->stop)) {
		drain_tick(r->fd, NULL);
		poll(&poller, 1, 10);
	}
	return NULL;
}

TEST_F(param, unload_after_pollers)
{
	struct readers *rs = readers_new(2, 1);
	struct reader *r;
	int64_t begin;
	int i;

	ASSERT_NE(NULL, rs);
	for (i = 0; i < POLLED_LOADS; i++) {
		ASSERT_EQ(0, module_load("worker_id=11"));
		atomic_store(&rs->stop, false);
		for_each_reader(r, rs) {
			r->fd = device_open(O_NONBLOCK);
			ASSERT_LE(0, r->fd);
			ASSERT_EQ(0, pthread_create(&r->thread, NULL, poll_and_drain, r));
		}
		sleep_ns(POLLED_NS);
		readers_stop(rs);
		for_each_reader(r, rs)
			close(r->fd);
		begin = monotonic_ns();
		ASSERT_EQ(0, module_unload());
		EXPECT_GT(UNLOAD_NS, monotonic_ns() - begin);
	}
}

TEST_HARNESS_MAIN

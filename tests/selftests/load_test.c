// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Loading and unloading the module, its parameters, and CPUs that come and go.
 */
#include <poll.h>
#include <sys/mman.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		11
#define LOADS		100
#define VISITORS	3		/* processes that open, read and close */
#define VISIT_NS	(300 * NSEC_PER_USEC)	/* with the device left alone */
#define FLIPS		20		/* of CPU 1 */
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"

FIXTURE(load) {
	int log;		/* the kernel's */
};

FIXTURE_SETUP(load)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->log);
	ASSERT_LE(0, lseek(self->log, 0, SEEK_END));
	ASSERT_EQ(0, module_unload());
}

FIXTURE_TEARDOWN(load)
{
	close_all();
	EXPECT_EQ(0, module_unload());
	EXPECT_EQ(0, module_load(""));
	EXPECT_EQ(0, reset());
}

/* Whether the kernel said something new that has both words in one line. */
static bool kernel_said(int log, const char *word, const char *other)
{
	char line[8192];
	bool said = false;
	ssize_t got;

	for (;;) {
		got = read(log, line, sizeof(line) - 1);
		if (got < 0 && errno == EPIPE)	/* overwritten: go on */
			continue;
		if (got <= 0)
			return said;
		line[got] = '\0';
		if (strstr(line, word) && strstr(line, other))
			said = true;
	}
}

TEST_F(load, defaults)
{
	static const struct {
		const char *name;
		const char *value;
	} cases[] = {
		{ "worker_id", "-1" }, { "worker_count", "1" },
		{ "cpu_block", "64" }, { "rewind_wait_ms", "10" },
		{ "state", "no-worker" }, { "stats/ids", "0" },
		{ "stats/refused", "0" }, { "stats/exhausted", "0" },
		{ "stats/rewinds", "0" }, { "stats/rewind_last_ms", "0" },
		{ "stats/rewind_max_ms", "0" }, { "stats/rewind_total_ms", "0" },
	};
	unsigned int i;

	ASSERT_EQ(0, module_load(""));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_STREQ(cases[i].value, attr_string(cases[i].name)) {
			TH_LOG("%s", cases[i].name);
		}
	}
	/* Boot values only: they are not shown where they would go stale. */
	EXPECT_NE(0, access("/sys/module/" MODULE "/parameters", F_OK));
	/* No banner. */
	EXPECT_FALSE(kernel_said(self->log, MODULE ":", ""));
}

TEST_F(load, parameters)
{
	static const struct {
		const char *parameters;
		const char *worker_id;
		const char *worker_count;
	} cases[] = {
		{ "worker_id=5 worker_count=3", "5", "3" },
		{ "worker_count=2 worker_id=1022", "1022", "2" },
		{ "worker_id=0", "0", "1" },
		{ "worker_id=1023", "1023", "1" },
		{ "worker_id=0 worker_count=1024", "0", "1024" },
		{ "worker_id=-1", "-1", "1" },
		{ "worker_count=7", "-1", "7" },
	};
	unsigned int i;
	uint64_t id;
	int fd, first;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, module_load(cases[i].parameters)) {
			TH_LOG("%s", cases[i].parameters);
		}
		EXPECT_STREQ(cases[i].worker_id, attr_string("worker_id"));
		EXPECT_STREQ(cases[i].worker_count, attr_string("worker_count"));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		first = atoi(cases[i].worker_id);
		if (first < 0) {
			EXPECT_EQ(-ENXIO, read_id(fd, &id));
		} else {
			EXPECT_EQ(0, read_id(fd, &id));
			EXPECT_LE(first, id_worker(id));
			EXPECT_GT(first + atoi(cases[i].worker_count), id_worker(id));
		}
		close(fd);
		ASSERT_EQ(0, module_unload());
	}
}

TEST_F(load, fault15_parameters)
{
	static const struct {
		const char *parameters;
		const char *names;
	} cases[] = {
		{ "worker_id=-2", "worker_id" },
		{ "worker_id=1024", "worker_id" },
		{ "worker_id=4294967296", "worker_id" },
		{ "worker_id=4294967301", "worker_id" },
		{ "worker_id=18446744073709551616", "worker_id" },
		{ "worker_id=18446744073709551621", "worker_id" },
		{ "worker_id=7x", "worker_id" },
		{ "worker_id=", "worker_id" },
		{ "worker_id", "worker_id" },
		{ "worker_id=\"1 2\"", "worker_id" },
		{ "worker_id=1.0", "worker_id" },
		{ "worker_count=0", "worker_count" },
		{ "worker_count=-1", "worker_count" },
		{ "worker_count=1025", "worker_count" },
		{ "worker_count=4294967297", "worker_count" },
		{ "worker_count=18446744073709551617", "worker_count" },
		{ "worker_count=7x", "worker_count" },
		{ "worker_id=5 worker_count=0", "worker_count" },
		{ "worker_id=1024 worker_count=2", "worker_id" },
		/* Each within its own bounds, the range beyond the field. */
		{ "worker_id=1023 worker_count=2", "worker_" },
		{ "worker_count=1024 worker_id=1", "worker_" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(-EINVAL, module_load(cases[i].parameters)) {
			TH_LOG("load with %s", cases[i].parameters);
		}
		EXPECT_TRUE(kernel_said(self->log, MODULE, cases[i].names)) {
			TH_LOG("no line about %s for %s", cases[i].names,
			       cases[i].parameters);
		}
		EXPECT_FALSE(module_loaded());
		EXPECT_EQ(-ENOENT, device_open(0));
		if (module_loaded())
			module_unload();
	}
}

TEST_F(load, unload_while_open_is_refused)
{
	uint64_t id;
	int fd;

	ASSERT_EQ(0, module_load("worker_id=11"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, module_unload_once());
	EXPECT_TRUE(module_loaded());
	EXPECT_EQ(0, read_id(fd, &id));
	close(fd);
	EXPECT_EQ(0, module_unload());
	EXPECT_FALSE(module_loaded());
	EXPECT_EQ(-ENOENT, device_open(0));
}

/* A reader asleep in the kernel holds the module as well. */
TEST_F(load, unload_while_a_reader_waits_is_refused)
{
	uint64_t id;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, module_load("worker_id=11"));
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "10000"));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, read_id(fd, &id));
	ASSERT_EQ(0, clock_step(-5 * NSEC_PER_SEC));
	pid = fork_tied();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-read_id(fd, &id));
	close(fd);
	sleep_ns(50 * NSEC_PER_MSEC);
	EXPECT_EQ(-EWOULDBLOCK, module_unload_once());
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, module_unload());
	EXPECT_EQ(0, clock_restore());
}

/* Opens, reads and closes, whether the device is there or not. */
static void visit(struct reader *r)
{
	uint64_t ids[16];
	ssize_t got;
	int fd;

	while (!atomic_load(&r->all->stop)) {
		sleep_ns(VISIT_NS);
		fd = device_open(r->flags);
		if (fd < 0) {
			r->failed[-fd]++;
			continue;
		}
		got = read(fd, ids, sizeof(ids));
		if (got < 0)
			r->failed[errno]++;
		else
			log_add(&r->log, ids, got / ID_SIZE);
		close(fd);
	}
}

/*
 * No id twice over all the loads, since time went on between them. Which of
 * ENOENT, ENODEV and ENXIO says that the driver is not there is the kernel's.
 */
TEST_F_TIMEOUT(load, load_and_unload_100_times, 120)
{
	struct readers *rs = readers_new(VISITORS, 1);
	struct id_log *logs[VISITORS];
	uint64_t sample = 0;
	struct reader *r;
	unsigned int i;
	int error;
	pid_t pid;

	ASSERT_NE(NULL, rs);
	rcu_expedite(true);
	for_each_reader(r, rs) {
		r->flags = r == rs->each ? O_NONBLOCK : 0;
		logs[r - rs->each] = &r->log;
		pid = fork_tied();
		ASSERT_LE(0, pid);
		if (!pid) {
			visit(r);
			_exit(0);
		}
	}
	for (i = 0; i < LOADS; i++) {
		/* Every other time without a worker id at first. */
		ASSERT_EQ(0, module_load(i % 2 ? "worker_id=11" : ""));
		if (i % 2 == 0) {
			ASSERT_EQ(0, attr_put_number("worker_id", WORKER));
		}
		sleep_ns(2 * NSEC_PER_MSEC);
		ASSERT_EQ(0, module_unload());
	}
	atomic_store(&rs->stop, true);
	for (i = 0; i < VISITORS; i++) {
		ASSERT_LT(0, wait(&error));
		EXPECT_EQ(0, error);
	}

	for_each_reader(r, rs) {
		for (error = 0; error < ERRNOS; error++) {
			if (error == ENOENT || error == ENODEV || error == ENXIO ||
			    error == EAGAIN)
				continue;
			EXPECT_EQ(0, r->failed[error]) {
				TH_LOG("%s", strerror(error));
			}
		}
		/* Files of one process are not ordered among each other. */
		log_sort(&r->log);
		EXPECT_EQ(0, r->log.negative);
		EXPECT_LT(0, r->log.ids);
	}
	EXPECT_EQ(0, logs_duplicates(logs, VISITORS, &sample)) {
		TH_LOG("such as %ju", (uintmax_t)sample);
	}
}

/*
 * A poll that finds an id and one that does not ask for looks at different
 * instants; whatever is still to be looked at must not hold up the unloading.
 */
TEST_F_TIMEOUT(load, unload_after_polling, 30)
{
	struct pollfd pfd = { .events = POLLPRI };
	static uint64_t ids[8192];
	int i;

	ASSERT_EQ(0, module_load("worker_id=11"));
	pfd.fd = device_open(O_NONBLOCK);
	ASSERT_LE(0, pfd.fd);
	for (i = 0; i < 20; i++) {
		/* POLLPRI never comes: asks for a look within a second. */
		pfd.events = POLLPRI;
		EXPECT_EQ(0, poll(&pfd, 1, 2));
		while (read(pfd.fd, ids, sizeof(ids)) > 0)
			;
		/* The next tick: asks for one sooner. */
		pfd.events = POLLIN;
		EXPECT_EQ(1, poll(&pfd, 1, 1000));
	}
	pfd.events = POLLPRI;
	EXPECT_EQ(0, poll(&pfd, 1, 2));
	while (read(pfd.fd, ids, sizeof(ids)) > 0)
		;
	pfd.events = POLLIN;
	EXPECT_EQ(1, poll(&pfd, 1, 1000));
	close(pfd.fd);
	EXPECT_EQ(0, module_unload());
}

FIXTURE(hotplug) {
	struct stats before;
};

FIXTURE_SETUP(hotplug)
{
	const char *why = missing(NEED_ROOT | NEED_CPUS | NEED_MACHINE);

	if (!why && access(CPU1_ONLINE, W_OK))
		why = "CPU 1 cannot be taken offline";
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	self->before = stats_now();
}

FIXTURE_TEARDOWN(hotplug)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

static int put_cpu1(const char *value)
{
	int fd = open(CPU1_ONLINE, O_WRONLY), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

TEST_F_TIMEOUT(hotplug, cpu1_goes_and_comes, 60)
{
	struct readers *rs = readers_new(4, 16);
	int i;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, readers_start(rs));
	for (i = 0; i < FLIPS; i++) {
		ASSERT_EQ(0, put_cpu1("0"));
		sleep_ns(5 * NSEC_PER_MSEC);
		ASSERT_EQ(0, put_cpu1("1"));
		sleep_ns(5 * NSEC_PER_MSEC);
	}
	readers_stop(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
	EXPECT_LT(FLIPS * 100, readers_ids(rs));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the selftests of /dev/snowflake share; see snowflake_test.h.
 */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/wait.h>

#include "snowflake_test.h"
#include "kselftest.h"

#define SETTLE_NS	(10 * NSEC_PER_SEC)	/* for a clock to be caught up with */
#define UNLOAD_NS	(10 * NSEC_PER_SEC)	/* for other users to let go */
#define DRAIN_READS	100000
#define LOG_ROOM	(1 << 21)		/* runs; memory is used as it fills */
#define PAUSE_NS	(200 * NSEC_PER_USEC)	/* of a reader that was refused */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

void sleep_ns(int64_t ns)
{
	struct timespec ts;

	ns += monotonic_ns();
	ts.tv_sec = ns / NSEC_PER_SEC;
	ts.tv_nsec = ns % NSEC_PER_SEC;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

/**
 * rising - do ids rise?
 * @ids: the ids, at any address
 * @count: how many
 * @last: what they have to lie above; the last of them when true is returned
 *
 * Return: whether they do.
 */
bool rising(const void *ids, size_t count, uint64_t *last)
{
	const uint8_t *at = ids;
	uint64_t id;

	for (; count--; at += ID_SIZE) {
		memcpy(&id, at, ID_SIZE);
		if (id <= *last)
			return false;
		*last = id;
	}
	return true;
}

static void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The sum of all steps, shared by all tests of the program. */
static int64_t *clock_sum;

static void __attribute__((constructor)) clock_begin(void)
{
	clock_sum = shared_memory(sizeof(*clock_sum));
	if (!clock_sum)
		abort();
}

int clock_step(int64_t ns)
{
	/* The fraction must not be negative, whatever the sign of the step. */
	int64_t fraction = (ns % NSEC_PER_SEC + NSEC_PER_SEC) % NSEC_PER_SEC;
	struct timex tx = {
		.modes = ADJ_SETOFFSET | ADJ_NANO,
		.time.tv_sec = (ns - fraction) / NSEC_PER_SEC,
		.time.tv_usec = fraction,
	};

	if (clock_adjtime(CLOCK_REALTIME, &tx) < 0)
		return -errno;
	*clock_sum += ns;
	return 0;
}

void clock_moved(int64_t ns)
{
	*clock_sum += ns;
}

int clock_restore(void)
{
	return *clock_sum ? clock_step(-*clock_sum) : 0;
}

int cpu_nth(int nth)
{
	cpu_set_t set;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	nth %= CPU_COUNT(&set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && !nth--)
			return cpu;
	return -ENOENT;
}

int cpu_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

int pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int file_put(const char *path, const char *value)
{
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void attr_path(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, SYSFS "%s", name);
}

int attr_get(const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t got;
	int fd, err = 0;

	attr_path(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = read(fd, buf, size - 1);
	if (got < 0) {
		err = -errno;
		got = 0;
	}
	close(fd);
	if (got && buf[got - 1] == '\n')
		got--;
	buf[got] = '\0';
	return err;
}

int attr_put(const char *name, const char *value)
{
	char path[PATH_MAX];

	attr_path(path, name);
	return file_put(path, value);
}

int attr_put_number(const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld\n", value);
	return attr_put(name, text);
}

const char *attr_string(const char *name)
{
	static char text[4096];

	if (attr_get(name, text, sizeof(text)))
		text[0] = '\0';
	return text;
}

long long attr_number(const char *name)
{
	const char *text = attr_string(name);
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	return errno || end == text || *end ? LLONG_MIN : value;
}

struct stats stats_now(void)
{
	return (struct stats){
		.ids = attr_number("stats/ids"),
		.refused = attr_number("stats/refused"),
		.exhausted = attr_number("stats/exhausted"),
		.rewinds = attr_number("stats/rewinds"),
		.rewind_last_ms = attr_number("stats/rewind_last_ms"),
		.rewind_max_ms = attr_number("stats/rewind_max_ms"),
		.rewind_total_ms = attr_number("stats/rewind_total_ms"),
		.forward_steps = attr_number("stats/forward_steps"),
		.forward_max_ms = attr_number("stats/forward_max_ms"),
	};
}

const char *module_file(void)
{
	const char *path = getenv("SNOWFLAKE_KO");

	return path && *path ? path : "/lib/snowflake.ko";
}

int module_load(const char *parameters)
{
	int fd, err = 0;

	fd = open(module_file(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		err = -errno;
	close(fd);
	return err;
}

int module_unload_once(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

int module_unload(void)
{
	int64_t end = monotonic_ns() + UNLOAD_NS;
	int err;

	do {
		err = module_unload_once();
		if (err != -EWOULDBLOCK && err != -EBUSY)
			break;
		sleep_ns(PAUSE_NS);
	} while (monotonic_ns() < end);
	return err == -ENOENT ? 0 : err;
}

int module_reload(const char *parameters)
{
	return module_unload() ?: module_load(parameters);
}

bool module_loaded(void)
{
	return !access("/sys/module/" MODULE, F_OK);
}

int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		return -errno;
	return fd;
}

int kmsg_lines(int kmsg, const char *word, int *all)
{
	char line[8192];
	int with = 0;
	ssize_t got;

	*all = 0;
	for (;;) {
		got = read(kmsg, line, sizeof(line) - 1);
		if (got < 0 && errno == EPIPE)	/* overwritten: go on */
			continue;
		if (got <= 0)
			return with;
		line[got] = '\0';
		if (!strstr(line, ";" MODULE ":"))
			continue;
		++*all;
		if (strstr(line, word))
			with++;
	}
}

const char *missing(unsigned int needs)
{
	const char *icount = getenv("SNOWFLAKE_ICOUNT");

	if (needs & NEED_ROOT && geteuid())
		return "not root: cannot write the attributes";
	if (needs & NEED_CPUS && cpu_count() < 2)
		return "one CPU only: needs two";
	if (needs & NEED_MACHINE && access(module_file(), R_OK))
		return "sets the clock or unloads the module: SNOWFLAKE_KO allows it";
	if (needs & NEED_ICOUNT && (!icount || strcmp(icount, "1")))
		return "time does not follow instructions: SNOWFLAKE_ICOUNT=1 says it does";
	return NULL;
}

/* What the kernel had in these before; "" until it was changed. */
struct rcu_knob {
	const char *path;
	const char *hurried;
	char before[2];
};

static struct rcu_knob rcu_knobs[] = {
	/* A preemptible kernel insists on normal ones otherwise. */
	{ .path = "/sys/kernel/rcu_normal", .hurried = "0" },
	{ .path = "/sys/kernel/rcu_expedited", .hurried = "1" },
};

void rcu_expedite(bool on)
{
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(rcu_knobs); i++) {
		struct rcu_knob *knob = &rcu_knobs[i];

		if (!on) {
			if (knob->before[0])
				file_put(knob->path, knob->before);
			continue;
		}
		fd = open(knob->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, knob->before, 1) == 1)
			file_put(knob->path, knob->hurried);
		close(fd);
	}
}

int reset(void)
{
	int err;

	/* A test that was killed may have left these behind. */
	file_put("/sys/devices/system/cpu/cpu1/online", "1");
	if (!module_loaded() && module_load(""))
		fprintf(stderr, "# no %s: load the module or name it in SNOWFLAKE_KO\n",
			DEVICE);

	rcu_expedite(false);
	err = clock_restore();
	if (!err)
		err = attr_put("worker_id", "-1\n");
	if (!err)
		err = attr_put("layout/preset", "twitter\n");
	if (!err)
		err = attr_put("sharing", "pooled\n");
	if (!err)
		err = attr_put("sequence_start", "zero\n");
	if (!err)
		err = attr_put("worker_count", "1\n");
	if (!err)
		err = attr_put_number("cpu_block", CPU_BLOCK);
	if (!err)
		err = attr_put_number("rewind_wait_ms", REWIND_WAIT_MS);
	if (!err)
		err = attr_put("rewind_policy", "refuse\n");
	if (!err)
		err = attr_put_number("lead_limit_ms", LEAD_LIMIT_MS);
	if (!err)
		err = attr_put("forward_limit_ms", "0\n");
	if (!err)
		err = attr_put("not_before_ms", "0\n");
	if (!err)
		err = attr_put("not_after_ms", "0\n");
	return err;
}

int device_open(int flags)
{
	int fd = open(DEVICE, O_RDONLY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

int devices_open(int *fd, int *nonblock)
{
	*fd = device_open(0);
	if (*fd < 0)
		return *fd;
	*nonblock = device_open(O_NONBLOCK);
	return *nonblock < 0 ? *nonblock : 0;
}

void close_all(void)
{
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
}

int read_id(int fd, uint64_t *id)
{
	ssize_t got = read(fd, id, ID_SIZE);

	if (got < 0)
		return -errno;
	return got == ID_SIZE ? 0 : -EIO;
}

int start(int64_t worker_id)
{
	int64_t end = monotonic_ns() + SETTLE_NS;
	uint64_t id;
	int fd, err;

	err = attr_put_number("worker_id", worker_id);
	if (err)
		return err;

	/* The test before may have left a clock that is yet to be caught up with. */
	fd = device_open(O_NONBLOCK);
	if (fd < 0)
		return fd;
	do {
		err = read_id(fd, &id);
		if (err != -EAGAIN && err != -ECANCELED)
			break;
		sleep_ns(PAUSE_NS);
	} while (monotonic_ns() < end);
	close(fd);
	return err;
}

int start_afresh(int64_t worker_id, int *fd, int *nonblock)
{
	int err = reset();

	if (!err)
		err = start(worker_id);
	return err ?: devices_open(fd, nonblock);
}

int drain_tick(int fd, uint64_t *last)
{
	static __thread uint64_t ids[MAX_READ_IDS];
	ssize_t got;
	int i;

	for (i = 0; i < DRAIN_READS; i++) {
		got = read(fd, ids, sizeof(ids));
		if (got < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (got < (ssize_t)ID_SIZE)
			return -EIO;
		if (last)
			*last = ids[got / ID_SIZE - 1];
	}
	return -ETIME;
}

static void on_alarm(int signal)
{
	(void)signal;
}

void interrupt_every(int ms)
{
	/* No SA_RESTART: the signal has to be seen. */
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = {
		.it_interval.tv_sec = ms / 1000,
		.it_interval.tv_usec = ms % 1000 * 1000,
	};

	timer.it_value = timer.it_interval;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

int log_init(struct id_log *log, size_t room)
{
	*log = (struct id_log){ .room = room };
	log->run = shared_memory(room * sizeof(*log->run));
	return log->run ? 0 : -ENOMEM;
}

void log_add(struct id_log *log, const uint64_t *ids, size_t count)
{
	struct run *run = log->count ? &log->run[log->count - 1] : NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t id = ids[i];

		if (id <= log->last)
			log->falls++;
		if ((int64_t)id <= 0)
			log->negative++;
		if (run && id == run->end) {
			run->end++;
		} else if (log->count < log->room) {
			run = &log->run[log->count++];
			run->first = id;
			run->end = id + 1;
		} else {
			log->full = true;
		}
		log->last = id;
	}
	log->ids += count;
}

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

void log_sort(struct id_log *log)
{
	qsort(log->run, log->count, sizeof(*log->run), compare_runs);
	log->falls = 0;
}

/* One log's place in the merge. */
struct head {
	const struct run *run;
	const struct run *end;
};

static void sift_down(struct head *heap, unsigned int count, unsigned int at)
{
	struct head moving = heap[at];
	unsigned int child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count &&
		    heap[child + 1].run->first < heap[child].run->first)
			child++;
		if (moving.run->first <= heap[child].run->first)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

/*
 * Each log strictly rises (log->falls is 0, or it was sorted), so a k-way
 * merge meets all the runs by their first id. A run that starts below the
 * furthest end met so far repeats ids, and no repeated id can escape: the
 * check is exact, however many ids there are.
 */
uint64_t logs_duplicates(struct id_log *const logs[], unsigned int count,
			 uint64_t *sample)
{
	struct head *heap = calloc(count ?: 1, sizeof(*heap));
	uint64_t duplicates = 0, edge = 0;
	unsigned int i, live = 0;

	if (!heap)
		return UINT64_MAX;

	for (i = 0; i < count; i++)
		if (logs[i]->count)
			heap[live++] = (struct head){ logs[i]->run,
				logs[i]->run + logs[i]->count };
	for (i = live / 2; i--; )
		sift_down(heap, live, i);

	while (live) {
		const struct run *run = heap[0].run++;

		if (run->first < edge) {
			duplicates += (run->end < edge ? run->end : edge) - run->first;
			if (sample)
				*sample = run->first;
		}
		if (run->end > edge)
			edge = run->end;
		if (heap[0].run == heap[0].end)
			heap[0] = heap[--live];
		if (live)
			sift_down(heap, live, 0);
	}
	free(heap);
	return duplicates;
}

struct readers *readers_new(unsigned int count, unsigned int max_ids)
{
	struct readers *rs;
	struct reader *r;

	rs = shared_memory(sizeof(*rs) + count * sizeof(*r));
	if (!rs)
		return NULL;
	rs->count = count;
	for_each_reader(r, rs) {
		r->all = rs;
		r->fd = -1;
		r->cpu = -1;
		r->max_ids = max_ids;
		r->random = 2463534242u + (r - rs->each) * 97;
		if (log_init(&r->log, LOG_ROOM))
			return NULL;
	}
	return rs;
}

static uint32_t next_random(struct reader *r)
{
	r->random ^= r->random << 13;
	r->random ^= r->random >> 17;
	r->random ^= r->random << 5;
	return r->random;
}

/* One id half of the time; else evenly by magnitude, up to max_ids. */
static size_t reader_size(struct reader *r)
{
	uint32_t random = next_random(r);
	unsigned int ids;

	if (r->always_max)
		return r->max_ids;
	if (r->max_ids == 1 || random & 1)
		return 1;
	ids = r->max_ids >> (random >> 1) % (32 - __builtin_clz(r->max_ids));
	return 1 + (random >> 8) % ids;
}

void reader_run(struct reader *r)
{
	static __thread uint64_t ids[MAX_READ_IDS];
	bool own = r->fd < 0;

	if (r->cpu >= 0)
		pin_to_cpu(r->cpu);
	if (own) {
		r->fd = device_open(r->flags);
		if (r->fd < 0) {
			r->failed[-r->fd]++;
			return;
		}
	}

	while (!atomic_load_explicit(&r->all->stop, memory_order_relaxed) &&
	       (!r->target || r->log.ids < r->target)) {
		size_t want = reader_size(r) * ID_SIZE;
		ssize_t got;

		got = read(r->fd, ids, want);
		if (got < 0) {
			r->failed[errno % ERRNOS]++;
			/* A reader with a target must not fail for ever. */
			if (r->target && errno != EAGAIN)
				break;
			sleep_ns(PAUSE_NS);
			continue;
		}
		if (!got || got % ID_SIZE || (size_t)got > want) {
			r->odd++;
			break;
		}
		if ((size_t)got < want)
			r->shorts++;
		log_add(&r->log, ids, got / ID_SIZE);
	}

	if (own) {
		close(r->fd);
		r->fd = -1;
	}
}

static void *reader_thread(void *arg)
{
	reader_run(arg);
	return NULL;
}

int reader_start(struct reader *r)
{
	return -pthread_create(&r->thread, NULL, reader_thread, r);
}

int readers_start(struct readers *rs)
{
	struct reader *r;
	int err;

	for_each_reader(r, rs) {
		err = reader_start(r);
		if (err)
			return err;
	}
	return 0;
}

void readers_wait(struct readers *rs)
{
	struct reader *r;

	for_each_reader(r, rs)
		pthread_join(r->thread, NULL);
}

void readers_stop(struct readers *rs)
{
	atomic_store(&rs->stop, true);
	readers_wait(rs);
}

uint64_t readers_ids(const struct readers *rs)
{
	const struct reader *r;
	uint64_t ids = 0;

	for_each_reader(r, rs)
		ids += r->log.ids;
	return ids;
}

uint64_t readers_failed(const struct readers *rs, int error)
{
	const struct reader *r;
	uint64_t failed = 0;

	for_each_reader(r, rs)
		failed += r->failed[error];
	return failed;
}

pid_t fork_tied(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

const char *readers_fault(struct readers *rs, int allowed)
{
	struct id_log **logs = calloc(rs->count, sizeof(*logs));
	uint64_t duplicates, sample = 0;
	struct reader *r;
	int error;

	rs->fault[0] = '\0';
	if (!logs)
		return "no memory for the check";

	for_each_reader(r, rs) {
		unsigned int nr = r - rs->each;

		logs[nr] = &r->log;
		if (r->log.full)
			snprintf(rs->fault, sizeof(rs->fault),
				 "reader %u: the log is full", nr);
		if (r->log.negative)
			snprintf(rs->fault, sizeof(rs->fault),
				 "reader %u: %ju ids not above 0",
				 nr, (uintmax_t)r->log.negative);
		if (r->odd || (r->shorts && !allowed))
			snprintf(rs->fault, sizeof(rs->fault),
				 "reader %u: %ju odd and %ju short reads",
				 nr, (uintmax_t)r->odd, (uintmax_t)r->shorts);
		for (error = 0; error < ERRNOS; error++)
			if (r->failed[error] && error != allowed)
				snprintf(rs->fault, sizeof(rs->fault),
					 "reader %u: %ju reads failed with %s",
					 nr, (uintmax_t)r->failed[error],
					 strerrorname_np(error) ?: "?");
		if (r->log.falls)
			snprintf(rs->fault, sizeof(rs->fault),
				 "reader %u: %ju of %ju ids not above the one before",
				 nr, (uintmax_t)r->log.falls, (uintmax_t)r->log.ids);
	}

	/* Worst last: it is the one that is told. */
	duplicates = logs_duplicates(logs, rs->count, &sample);
	if (duplicates)
		snprintf(rs->fault, sizeof(rs->fault),
			 "%ju of %ju ids twice, such as %ju (tick %jd, sequence %d)",
			 (uintmax_t)duplicates, (uintmax_t)readers_ids(rs),
			 (uintmax_t)sample, (intmax_t)id_tick(sample),
			 id_sequence(sample));
	free(logs);
	return rs->fault;
}

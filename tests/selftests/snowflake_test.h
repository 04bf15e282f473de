/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the selftests of /dev/snowflake share: the device and its attributes,
 * exact clock steps, readers that log what they read, and the check that no
 * id came twice.
 *
 * Functions return 0 or a negative errno unless they say otherwise. None of
 * them uses the harness, so that readers may run in threads and in processes.
 */
#ifndef SNOWFLAKE_TEST_H
#define SNOWFLAKE_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/types.h>

#define DEVICE		"/dev/snowflake"
#define SYSFS		"/sys/class/misc/snowflake/"
#define MODULE		"snowflake"

#define NSEC_PER_USEC	1000LL
#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_SEC	1000000000LL

/* The `twitter` layout. */
#define EPOCH_MS	1288834974657LL
#define TIMESTAMP_BITS	41
#define WORKER_BITS	10
#define SEQUENCE_BITS	12
#define WORKERS		(1 << WORKER_BITS)
#define IDS_PER_TICK	(1 << SEQUENCE_BITS)
#define IDS_PER_SEC	(IDS_PER_TICK * 1000LL)
#define ENDS_MS		(EPOCH_MS + (1LL << TIMESTAMP_BITS) - 1)

#define ID_SIZE		sizeof(uint64_t)
#define MAX_READ_IDS	(64 * 1024 / ID_SIZE)

/* Defaults of the attributes. */
#define CPU_BLOCK	64
#define REWIND_WAIT_MS	10
#define LEAD_LIMIT_MS	10000

static inline int64_t id_tick(uint64_t id)
{
	return id >> (WORKER_BITS + SEQUENCE_BITS);
}

static inline int64_t id_ms(uint64_t id)
{
	return EPOCH_MS + id_tick(id);
}

static inline int id_worker(uint64_t id)
{
	return id >> SEQUENCE_BITS & (WORKERS - 1);
}

static inline int id_sequence(uint64_t id)
{
	return id & (IDS_PER_TICK - 1);
}

/* Time, in nanoseconds. */
int64_t monotonic_ns(void);
int64_t realtime_ns(void);
void sleep_ns(int64_t ns);

/* The wall clock in Unix milliseconds, as attributes have it. */
static inline int64_t now_ms(void)
{
	return realtime_ns() / NSEC_PER_MSEC;
}

/* Do ids rise, from above @last on? That becomes the last of them. */
bool rising(const void *ids, size_t count, uint64_t *last);

/*
 * clock_step() moves the wall clock by exactly @ns. Steps are summed up where
 * the next test finds them even if this one is killed; clock_restore() takes
 * the sum back. clock_moved() enters a step that somebody else made.
 */
int clock_step(int64_t ns);
int clock_restore(void);
void clock_moved(int64_t ns);

/* What is left of a lead of @ns after slewing gave it back for @since ns. */
static inline int64_t lead_left(int64_t ns, int64_t since)
{
	return ns > since / 16 ? ns - since / 16 : 0;
}

/* CPUs this process may run on, and the nth of them. */
int cpu_count(void);
int cpu_nth(int nth);
int pin_to_cpu(int cpu);

/* Attributes, by their name below SYSFS; attr_get() drops the newline. */
int attr_get(const char *name, char *buf, size_t size);
int attr_put(const char *name, const char *value);
int attr_put_number(const char *name, long long value);
const char *attr_string(const char *name);	/* "" when it cannot be read */
long long attr_number(const char *name);	/* LLONG_MIN likewise */

/* Counters at one moment; stats_now() fills it in. */
struct stats {
	long long ids, refused, exhausted;
	long long rewinds, rewind_last_ms, rewind_max_ms, rewind_total_ms;
	long long forward_steps, forward_max_ms;
};

struct stats stats_now(void);

/* The module's file, loading and unloading; unloading retries while in use. */
const char *module_file(void);
int module_load(const char *parameters);
int module_unload_once(void);
int module_unload(void);
int module_reload(const char *parameters);
bool module_loaded(void);

/*
 * The kernel's log from now on: kmsg_lines() counts the module's new lines that
 * have the word, and all that are new.
 */
int kmsg_open(void);
int kmsg_lines(int kmsg, const char *word, int *all);

/* What a test needs; missing() gives the reason to skip it, or NULL. */
enum need {
	NEED_ROOT	= 1 << 0,
	NEED_CPUS	= 1 << 1,	/* at least two */
	NEED_MACHINE	= 1 << 2,	/* to set the clock, to unload the module */
	NEED_ICOUNT	= 1 << 3,	/* time that follows instructions */
};

const char *missing(unsigned int needs);

/* Grace periods in microseconds instead of ticks; reset() takes it back. */
void rcu_expedite(bool on);

/*
 * reset() brings clock, CPUs and attributes back to their defaults, with no
 * worker id. start() sets the worker id and returns once an id was read.
 */
int reset(void);
int start(int64_t worker_id);

/*
 * device_open() opens the device; a negative errno when it cannot. devices_open()
 * opens it twice, to wait and not to. start_afresh() does that after a reset()
 * and a start().
 */
int device_open(int flags);
int devices_open(int *fd, int *nonblock);
int start_afresh(int64_t worker_id, int *fd, int *nonblock);

/* Closes all that a test has opened, to let go of the module. */
void close_all(void);

/* read(2) of one id: 0 or the negative errno; -EIO for an odd count. */
int read_id(int fd, uint64_t *id);

/* Uses up the current tick with an O_NONBLOCK file: 0 once it says EAGAIN. */
int drain_tick(int fd, uint64_t *last);

/* A signal every @ms that only interrupts; 0 stops it. */
void interrupt_every(int ms);

/*
 * A log of ids as runs of consecutive ones. It may live in shared memory.
 */
struct run {
	uint64_t first;
	uint64_t end;		/* one past the last */
};

struct id_log {
	struct run *run;
	size_t count;
	size_t room;
	uint64_t ids;
	uint64_t last;
	uint64_t falls;		/* ids not above the one before */
	uint64_t negative;	/* ids with the sign bit, and 0 */
	bool full;		/* ids were left out: the log proves nothing */
};

int log_init(struct id_log *log, size_t room);
void log_add(struct id_log *log, const uint64_t *ids, size_t count);
void log_sort(struct id_log *log);

/* How many ids came more than once in all the logs; *sample is one of them. */
uint64_t logs_duplicates(struct id_log *const logs[], unsigned int count,
			 uint64_t *sample);

#define ERRNOS		256

/* One reader: a thread, or the whole of a forked process. */
struct reader {
	/* For the test to set before the start. */
	int flags;		/* of open(2) */
	int fd;			/* -1: open one of its own */
	int cpu;		/* to stay on; -1: any */
	unsigned int max_ids;	/* of one read; 1 is as likely as all others */
	bool always_max;	/* all reads are of max_ids */
	uint64_t target;	/* ends after so many ids; 0: when told to stop */

	/* Kept by the reader. */
	struct id_log log;
	uint64_t shorts;	/* reads that gave less than they were asked for */
	uint64_t odd;		/* reads that gave a part of an id, or nothing */
	uint64_t failed[ERRNOS];

	struct readers *all;
	pthread_t thread;
	uint32_t random;
};

struct readers {
	atomic_bool stop;
	unsigned int count;
	char fault[256];
	struct reader each[];
};

#define for_each_reader(r, rs) \
	for (r = (rs)->each; r < (rs)->each + (rs)->count; r++)

/* Readers in shared memory, blocking, with files of their own; NULL: no memory */
struct readers *readers_new(unsigned int count, unsigned int max_ids);
void reader_run(struct reader *r);
int reader_start(struct reader *r);
int readers_start(struct readers *rs);
void readers_wait(struct readers *rs);
void readers_stop(struct readers *rs);
uint64_t readers_ids(const struct readers *rs);
uint64_t readers_failed(const struct readers *rs, int error);

/* A child that dies with its parent: 0 in the child, like fork(2). */
pid_t fork_tied(void);

/*
 * What is wrong with what the readers saw, in words, or "": an id twice, a
 * file whose ids do not strictly rise, a negative id, a part of an id, a read
 * that failed with anything but @allowed. With @allowed 0 short reads are
 * wrong too.
 */
const char *readers_fault(struct readers *rs, int allowed);

#endif /* SNOWFLAKE_TEST_H */

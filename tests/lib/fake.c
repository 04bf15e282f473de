// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An engine that does what a test says; see fake.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../userspace/lib/engine.h"
#include "fake.h"

#define NSEC_PER_SEC 1000000000LL
#define NSEC_PER_MSEC 1000000LL
#define PAUSE_NS 20000

#define ADD(counter, n) \
	((void)__atomic_fetch_add(&(counter), (n), __ATOMIC_RELAXED))

struct fake *fake;

static void __attribute__((constructor)) fake_begin(void)
{
	fake = mmap(NULL, sizeof(*fake), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fake == MAP_FAILED)
		abort();
}

/* In place of the C library's: the wall clock is the test's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t ns = 0;

	if (clock == CLOCK_REALTIME && fake)
		ns = __atomic_load_n(&fake->clock_ns, __ATOMIC_RELAXED);
	if (!ns)
		return syscall(SYS_clock_gettime, clock, now);
	now->tv_sec = ns / NSEC_PER_SEC;
	now->tv_nsec = ns % NSEC_PER_SEC;
	return 0;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int64_t fake_now(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* Everything to its default; ids come again. */
void fake_reset(void)
{
	fake->word = 0;
	fake->clock_ns = 0;
	fake->lead_ns = 0;
	fake->error = 0;
	fake->signal = 0;
	fake->sequence_bits = FAKE_WORKER_SHIFT;
	fake->generation++;
	fake->reads = 0;
	fake->infos = 0;
	fake->most = 0;
	fake->given = 0;
}

/* Up to @count ids of this tick. */
static size_t claim(uint64_t *ids, size_t count)
{
	int64_t ns = fake_now() + fake->lead_ns - FAKE_EPOCH_MS * NSEC_PER_MSEC;
	uint64_t floor = (uint64_t)(ns / FAKE_TICK_NS) * FAKE_IDS_PER_TICK;
	uint64_t ceiling = floor + FAKE_IDS_PER_TICK;
	uint64_t old = __atomic_load_n(&fake->word, __ATOMIC_RELAXED);
	uint64_t start, end;
	size_t i;

	do {
		start = old > floor ? old : floor;
		if (start >= ceiling)
			return 0;
		end = ceiling - start < count ? ceiling : start + count;
	} while (!__atomic_compare_exchange_n(&fake->word, &old, end, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	for (i = 0; i < end - start; i++)
		ids[i] = (start + i) / FAKE_IDS_PER_TICK << FAKE_SHIFT |
			 FAKE_WORKER << FAKE_WORKER_SHIFT |
			 (start + i) % FAKE_IDS_PER_TICK;
	ADD(fake->given, i);
	return i;
}

static ssize_t fake_read(struct engine *engine, uint64_t *ids, size_t count,
			 int64_t deadline)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	size_t done = 0;
	int error, signal;

	(void)engine;
	ADD(fake->reads, 1);
	if (count > __atomic_load_n(&fake->most, __ATOMIC_RELAXED))
		__atomic_store_n(&fake->most, count, __ATOMIC_RELAXED);
	for (;;) {
		error = __atomic_load_n(&fake->error, __ATOMIC_RELAXED);
		if (error)
			return done ? (ssize_t)done : -error;
		done += claim(ids + done, count - done);
		signal = done ? __atomic_exchange_n(&fake->signal, 0,
						    __ATOMIC_RELAXED) : 0;
		if (signal)
			raise(signal);
		if (done == count || (done && deadline != DEADLINE_NEVER))
			return done;
		if (deadline <= clock_ns(CLOCK_MONOTONIC))
			return -EAGAIN;
		if (nanosleep(&pause, NULL))
			return done ? (ssize_t)done : -EINTR;
	}
}

static int fake_info(struct engine *engine, struct snowflake_info *info)
{
	(void)engine;
	ADD(fake->infos, 1);
	*info = (struct snowflake_info){
		.worker_id = FAKE_WORKER,
		.worker_count = 1,
		.epoch_ms = FAKE_EPOCH_MS,
		.bound_to = -1,
		.generation = fake->generation,
		.tick_ms = FAKE_TICK_NS / NSEC_PER_MSEC,
		.timestamp_bits = 64 - FAKE_SHIFT - 1,
		.worker_bits = FAKE_SHIFT - fake->sequence_bits,
		.sequence_bits = fake->sequence_bits,
	};
	return 0;
}

static int fake_bind(struct engine *engine, uint64_t worker_id)
{
	(void)engine;
	return worker_id == FAKE_WORKER ? 0 : -EINVAL;
}

static void fake_close(struct engine *engine)
{
	free(engine);
}

static int fake_open(struct engine **engine, const char *name)
{
	struct engine *mine;

	if (name[0] != '/')
		return -ENOENT;
	mine = calloc(1, sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	mine->ops = &engine_device;
	mine->generation = &fake->generation;
	mine->fd = -1;
	*engine = mine;
	return 0;
}

#define FAKE_OPS {			\
	.prefix = "",			\
	.open = fake_open,		\
	.close = fake_close,		\
	.read = fake_read,		\
	.info = fake_info,		\
	.bind = fake_bind,		\
}

const struct engine_ops engine_device = FAKE_OPS;
const struct engine_ops engine_local = FAKE_OPS;

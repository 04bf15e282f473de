// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where in its numbers a tick starts, and blocks of one number, with which ids
 * rise across the host.
 */
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define WORKER		5
#define QUIET_IDS	10000		/* one in each tick */
#define QUIET_NS	(10 * NSEC_PER_MSEC)
#define WAITED_IDS	150		/* without setting the clock */
#define SPREAD_PARTS	4		/* a start is in the first of them */
#define FULL_TICKS	10
#define HANDOVERS	20000
#define HANDOVERS_LEAST	20		/* where waking up takes long */
#define HANDOVERS_NS	(4 * NSEC_PER_SEC)	/* for all of them */
#define SPINS		1000		/* before a futex is waited for */

/*
 * The value that chi-square exceeds once in a million times (p = 1e-6) if all
 * remainders are equally likely, by degrees of freedom.
 */
static const struct {
	unsigned int modulus;
	double critical;
} moduli[] = {
	{ 16, 56.49 },		/* 15 degrees of freedom */
	{ 64, 131.37 },
	{ 256, 377.08 },
	{ 1024, 1252.58 },
};

static double chi_square(const uint64_t *ids, size_t count, unsigned int modulus)
{
	double expected = (double)count / modulus, sum = 0;
	static unsigned int seen[1024];
	size_t i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < count; i++)
		seen[ids[i] % modulus]++;
	for (i = 0; i < modulus; i++)
		sum += (seen[i] - expected) * (seen[i] - expected) / expected;
	return sum;
}

FIXTURE(start) {
	uint64_t ids[QUIET_IDS];
	uint64_t tick_ids;	/* numbers of a tick */
};

FIXTURE_VARIANT(start) {
	enum preset preset;
	int workers;
	bool spread;
};

FIXTURE_VARIANT_ADD(start, spread) {
	.preset = TWITTER,
	.workers = 1,
	.spread = true,
};

FIXTURE_VARIANT_ADD(start, spread_4_workers) {
	.preset = INSTAGRAM,
	.workers = 4,
	.spread = true,
};

FIXTURE_VARIANT_ADD(start, spread_js53) {
	.preset = JS53,
	.workers = 1,
	.spread = true,
};

FIXTURE_VARIANT_ADD(start, zero) {
	.preset = TWITTER,
	.workers = 1,
};

FIXTURE_VARIANT_ADD(start, zero_sonyflake) {
	.preset = SONYFLAKE,
	.workers = 1,
};

FIXTURE_SETUP(start)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);
	const struct layout *l = &presets[variant->preset];

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, module_reload(""));
	ASSERT_EQ(0, layout_put(l));
	ASSERT_EQ(0, attr_put_number("worker_count", variant->workers));
	ASSERT_EQ(0, attr_put("sequence_start", variant->spread ? "spread" : "zero"));
	ASSERT_EQ(0, start(WORKER));
	self->tick_ids = layout_sequences(l) * variant->workers;
}

FIXTURE_TEARDOWN(start)
{
	close_all();
	EXPECT_EQ(0, clock_restore());
	EXPECT_EQ(0, module_reload(""));
	EXPECT_EQ(0, reset());
}

/* The numbers that quiet ticks begin with, and what their remainders show. */
static void check_starts(struct __test_metadata *_metadata, const struct layout *l,
			 bool spread, uint64_t tick_ids, const uint64_t *ids,
			 size_t count)
{
	uint64_t part = tick_ids / SPREAD_PARTS, index, high = 0;
	unsigned int i;
	double chi;
	size_t k;

	for (k = 0; k < count; k++) {
		index = (layout_worker(l, ids[k]) - WORKER) * layout_sequences(l) +
			layout_sequence(l, ids[k]);
		if (!spread) {
			ASSERT_EQ(0, index) TH_LOG("id %zu", k);
			continue;
		}
		ASSERT_GT(part, index) TH_LOG("id %zu", k);
		if (index > high)
			high = index;
	}
	/* The whole of the first quarter, or nearly. */
	EXPECT_TRUE(!spread || high > part * 9 / 10);

	for (i = 0; i < ARRAY_SIZE(moduli) && moduli[i].modulus <= part; i++) {
		if (count < moduli[i].modulus * 8)
			break;
		chi = chi_square(ids, count, moduli[i].modulus);
		ksft_print_msg("%s, %zu ids by %u: chi-square %.1f, critical %.1f\n",
			       spread ? "spread" : "zero", count,
			       moduli[i].modulus, chi, moduli[i].critical);
		if (spread) {
			EXPECT_GT(moduli[i].critical, chi);
		} else {
			/* The test would see it. */
			EXPECT_LT(10 * moduli[i].critical, chi);
		}
	}
	EXPECT_LT(0, i);
}

/*
 * One id in 10 ms, 10,000 times: the clock is set ahead by as much instead of
 * waiting for it, which is the same for whoever looks at ticks.
 */
TEST_F_TIMEOUT(start, fault16_one_id_per_10_ms, 60)
{
	const struct layout *l = &presets[variant->preset];
	int fd = device_open(0);
	unsigned int i;

	ASSERT_LE(0, fd);
	for (i = 0; i < QUIET_IDS; i++) {
		/* Two ticks of any layout, lest the one before be not quiet. */
		ASSERT_EQ(0, clock_step(l->tick_ms > 1 ? 2 * QUIET_NS : QUIET_NS));
		ASSERT_EQ(0, read_id(fd, &self->ids[i]));
		ASSERT_TRUE(!i || self->ids[i] > self->ids[i - 1]);
	}
	check_starts(_metadata, l, variant->spread, self->tick_ids, self->ids, i);
}

TEST_F(start, fault16_one_id_in_two_ticks)
{
	const struct layout *l = &presets[variant->preset];
	int cpu[2] = { cpu_nth(0), cpu_nth(1) };
	int fd = device_open(0);
	unsigned int i;

	ASSERT_LE(0, fd);
	for (i = 0; i < WAITED_IDS; i++) {
		sleep_ns(2 * l->tick_ms * NSEC_PER_MSEC);
		/* Each on another CPU: whose block it is must not matter. */
		ASSERT_EQ(0, pin_to_cpu(cpu[i % 2]));
		ASSERT_EQ(0, read_id(fd, &self->ids[i]));
	}
	check_starts(_metadata, l, variant->spread, self->tick_ids, self->ids, i);
}

/* A tick that follows one used up starts at 0: none of its numbers is lost. */
TEST_F(start, each_number_of_a_busy_tick)
{
	struct fill fill = {
		.layout = &presets[variant->preset],
		.fd = device_open(0),
		.worker = WORKER,
		.workers = variant->workers,
	};

	ASSERT_LE(0, fill.fd);
	EXPECT_STREQ("", fill_ticks(&fill, FULL_TICKS));
}

/*
 * Blocks of one number. Whoever was handed an id reads a larger one: two
 * processes on two CPUs hand theirs to each other.
 */
struct hands {
	_Atomic uint32_t turn;		/* a futex */
	uint64_t id;			/* of who had the turn before */
	uint32_t falls;
	uint32_t reads;
	uint32_t handovers;
	int error;
	int64_t end;
	atomic_bool late;		/* who has seen it takes one more turn */
};

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
	struct timespec second = { .tv_sec = 1 };

	return syscall(SYS_futex, word, operation, value, &second, NULL, 0);
}

static void hand_over_by_futex(struct hands *hands, uint32_t nr)
{
	int fd = device_open(0);
	uint32_t turn, seen, spins;
	uint64_t id = 0;
	int err;

	pin_to_cpu(cpu_nth(nr));
	for (turn = nr; turn < hands->handovers && !hands->late; turn += 2) {
		for (spins = 0; (seen = atomic_load(&hands->turn)) != turn; spins++)
			if (spins > SPINS)
				futex(&hands->turn, FUTEX_WAIT, seen);
		if (hands->late)
			return;
		hands->late = monotonic_ns() > hands->end;
		err = fd < 0 ? fd : read_id(fd, &id);
		if (err)
			hands->error = err;
		if (id <= hands->id)
			hands->falls++;
		hands->reads++;
		hands->id = id;
		atomic_store(&hands->turn, turn + 1);
		futex(&hands->turn, FUTEX_WAKE, 1);
	}
}

static void hand_over_by_pipe(struct hands *hands, uint32_t nr, int in, int out)
{
	int fd = device_open(0), err;
	uint64_t before = 0, id = 0;
	uint32_t turn;

	pin_to_cpu(cpu_nth(nr));
	for (turn = nr; turn < hands->handovers && !hands->late; turn += 2) {
		if (turn && read(in, &before, sizeof(before)) != sizeof(before) && !hands->late)
			hands->error = -EPIPE;
		err = fd < 0 ? fd : read_id(fd, &id);
		if (err)
			hands->error = err;
		if (id <= before)
			hands->falls++;
		hands->reads++;
		hands->late = monotonic_ns() > hands->end;
		/* When it is late, the other one may have ended. */
		if (write(out, &id, sizeof(id)) != sizeof(id) && !hands->late)
			hands->error = -EPIPE;
		/* The other one has ended: it would not be seen in the pipe. */
		if (hands->error)
			return;
	}
}

FIXTURE(host_order) {
	struct hands *hands;
	struct stats before;
};

FIXTURE_VARIANT(host_order) {
	enum preset preset;
	int worker_count;
	bool spread;
	uint32_t handovers;
};

FIXTURE_VARIANT_ADD(host_order, twitter) {
	.preset = TWITTER,
	.worker_count = 1,
	.handovers = HANDOVERS,
};

FIXTURE_VARIANT_ADD(host_order, twitter_3_workers_spread) {
	.preset = TWITTER,
	.worker_count = 3,
	.spread = true,
	.handovers = HANDOVERS / 8,
};

FIXTURE_VARIANT_ADD(host_order, sonyflake_3_workers) {
	.preset = SONYFLAKE,
	.worker_count = 3,
	.handovers = HANDOVERS / 8,
};

FIXTURE_SETUP(host_order)
{
	const char *why = missing(NEED_ROOT | NEED_CPUS);

	if (why)
		SKIP(return, "%s", why);
	self->hands = mmap(NULL, sizeof(*self->hands), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->hands);
	self->hands->end = monotonic_ns() + (variant->handovers == HANDOVERS ?
					     HANDOVERS_NS : HANDOVERS_NS / 4);
	self->hands->handovers = variant->handovers;
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, layout_put(&presets[variant->preset]));
	ASSERT_EQ(0, attr_put("cpu_block", "1"));
	ASSERT_EQ(0, attr_put_number("worker_count", variant->worker_count));
	ASSERT_EQ(0, attr_put("sequence_start", variant->spread ? "spread" : "zero"));
	ASSERT_EQ(0, start(WORKER));
	self->before = stats_now();
}

FIXTURE_TEARDOWN(host_order)
{
	EXPECT_EQ(self->before.refused, attr_number("stats/refused"));
	EXPECT_EQ(0, reset());
}

/*
 * A process that keeps a CPU busy with nothing: an idle one is slow to wake,
 * most of all an emulated one.
 */
static pid_t keep_awake(int cpu)
{
	struct sched_param none = {};
	pid_t pid = fork_tied();

	if (pid)
		return pid;
	pin_to_cpu(cpu);
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		_exit(1);
	for (;;)
		;
}

static void check_hands(struct __test_metadata *_metadata, const struct hands *hands,
			pid_t pid)
{
	int status = -1;

	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, hands->error);
	ksft_print_msg("%u handovers\n", hands->reads);
	EXPECT_TRUE(hands->reads == hands->handovers || hands->late);
	EXPECT_LE(HANDOVERS_LEAST, hands->reads);
	EXPECT_EQ(0, hands->falls) {
		TH_LOG("%u of %u ids not above the one handed over", hands->falls,
		       hands->reads);
	}
}

TEST_F_TIMEOUT(host_order, handed_over_by_futex, 60)
{
	pid_t pid = fork_tied();

	ASSERT_LE(0, pid);
	if (!pid) {
		hand_over_by_futex(self->hands, 1);
		_exit(0);
	}
	hand_over_by_futex(self->hands, 0);
	check_hands(_metadata, self->hands, pid);
}

TEST_F_TIMEOUT(host_order, handed_over_by_pipe, 60)
{
	pid_t pid, awake[2];
	int there[2], back[2], k;

	for (k = 0; k < 2; k++) {
		awake[k] = keep_awake(cpu_nth(k));
		ASSERT_LE(0, awake[k]);
	}
	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	pid = fork_tied();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(there[1]);
		close(back[0]);
		hand_over_by_pipe(self->hands, 1, there[0], back[1]);
		_exit(0);
	}
	/* So that either sees it when the other has died. */
	close(there[0]);
	close(back[1]);
	hand_over_by_pipe(self->hands, 0, back[0], there[1]);
	check_hands(_metadata, self->hands, pid);
	for (k = 0; k < 2; k++)
		kill(awake[k], SIGKILL);
}

TEST_HARNESS_MAIN

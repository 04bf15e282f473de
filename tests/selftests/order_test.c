// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ids of one open file strictly rise, whatever CPU its readers run on.
 */
#include <sys/mman.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		6
#define HOP_IDS		100000		/* by all hoppers, in each of two variants */
#define HOPPERS		32		/* so many that no CPU is ever idle */
#define SHARERS		4
#define HANDOVERS	20000
#define SHARED_IDS	100000		/* of each thread on the shared file */

/*
 * Threads that hop to another CPU before every single read. A block left on
 * one CPU and a fresher one on the other are the trap: after the hop the old
 * block's numbers lie below what the file has returned.
 */
struct hopper {
	pthread_t thread;
	unsigned int nr;
	unsigned int reads;
	int own_fd;
	int error;
	struct id_log *log;
	struct hop *hop;
};

struct hop {
	atomic_flag turn;		/* to read the shared file and log it */
	int shared_fd;			/* -1: each has its own */
	int cpus;
	int cpu[CPU_SETSIZE];
	struct hopper hopper[HOPPERS];
};

static void *hop_and_read(void *arg)
{
	struct hopper *h = arg;
	struct hop *hop = h->hop;
	bool shared = hop->shared_fd >= 0;
	int fd = shared ? hop->shared_fd : h->own_fd;
	unsigned int i;
	uint64_t id;

	for (i = 0; i < h->reads && !h->error; i++) {
		h->error = pin_to_cpu(hop->cpu[(h->nr + i) % hop->cpus]);
		if (h->error)
			break;
		while (shared && atomic_flag_test_and_set(&hop->turn))
			sched_yield();
		h->error = read_id(fd, &id);
		if (!h->error)
			log_add(h->log, &id, 1);
		if (shared)
			atomic_flag_clear(&hop->turn);
	}
	return NULL;
}

FIXTURE(order) {
	struct stats before;
};

FIXTURE_VARIANT(order) {
	int cpu_block;
	bool shared;
};

FIXTURE_VARIANT_ADD(order, own_files) {
	.cpu_block = CPU_BLOCK,
};

FIXTURE_VARIANT_ADD(order, one_file_handed_over) {
	.cpu_block = CPU_BLOCK,
	.shared = true,
};

FIXTURE_SETUP(order)
{
	const char *why = missing(NEED_ROOT | NEED_CPUS);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, attr_put_number("cpu_block", variant->cpu_block));
	ASSERT_EQ(0, start(WORKER));
	self->before = stats_now();
}

FIXTURE_TEARDOWN(order)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

TEST_F_TIMEOUT(order, hop_before_every_read, 120)
{
	static struct hop hop = {
		.turn = ATOMIC_FLAG_INIT,
		.shared_fd = -1,
	};
	struct id_log *logs[HOPPERS], log[HOPPERS];
	unsigned int files = variant->shared ? 1 : HOPPERS;
	uint64_t sample = 0, ids = 0;
	struct hopper *h;
	unsigned int i;

	hop.cpus = cpu_count();
	for (i = 0; i < (unsigned int)hop.cpus; i++)
		hop.cpu[i] = cpu_nth(i);
	if (variant->shared) {
		hop.shared_fd = device_open(0);
		ASSERT_LE(0, hop.shared_fd);
	}
	for (i = 0; i < files; i++) {
		logs[i] = &log[i];
		ASSERT_EQ(0, log_init(&log[i], HOP_IDS));
	}

	for (i = 0; i < HOPPERS; i++) {
		h = &hop.hopper[i];
		h->hop = &hop;
		h->nr = i;
		h->reads = HOP_IDS / HOPPERS;
		h->log = &log[variant->shared ? 0 : i];
		if (!variant->shared) {
			h->own_fd = device_open(0);
			ASSERT_LE(0, h->own_fd);
		}
		ASSERT_EQ(0, pthread_create(&h->thread, NULL, hop_and_read, h));
	}
	for (i = 0; i < HOPPERS; i++) {
		h = &hop.hopper[i];
		pthread_join(h->thread, NULL);
		EXPECT_EQ(0, h->error);
	}

	for (i = 0; i < files; i++) {
		EXPECT_EQ(0, log[i].falls) {
			TH_LOG("%ju of %ju ids of one file not above the one before",
			       (uintmax_t)log[i].falls, (uintmax_t)log[i].ids);
		}
		EXPECT_EQ(0, log[i].negative);
		EXPECT_FALSE(log[i].full);
		ids += log[i].ids;
	}
	EXPECT_EQ(HOP_IDS, ids);
	EXPECT_EQ(0, logs_duplicates(logs, files, &sample)) {
		TH_LOG("such as %ju", (uintmax_t)sample);
	}
}

/*
 * Two threads on two CPUs that pass the turn without a system call, so that
 * both CPUs hold live blocks of the same tick: the tightest handover there is.
 */
struct handover {
	atomic_uint turn;
	int cpu[2];
	int fd[2];
	struct id_log log;	/* of whoever's turn it is */
	atomic_int error;
};

struct hand {
	struct handover *over;
	unsigned int nr;
};

static void *take_turns(void *arg)
{
	struct hand *hand = arg;
	struct handover *over = hand->over;
	unsigned int turn;
	uint64_t id;
	int error;

	error = pin_to_cpu(over->cpu[hand->nr]);
	for (turn = hand->nr; turn < HANDOVERS; turn += 2) {
		while (atomic_load(&over->turn) != turn)
			;
		if (!error)
			error = read_id(over->fd[hand->nr], &id);
		if (!error)
			log_add(&over->log, &id, 1);
		else
			atomic_store(&over->error, error);
		atomic_store(&over->turn, turn + 1);
	}
	return NULL;
}

static void check_handover(struct __test_metadata *_metadata, bool shared)
{
	static struct handover over;
	struct hand hand[2] = { { &over, 0 }, { &over, 1 } };
	pthread_t thread[2];
	int i;

	ASSERT_EQ(0, log_init(&over.log, HANDOVERS));
	for (i = 0; i < 2; i++) {
		over.cpu[i] = cpu_nth(i);
		over.fd[i] = i && shared ? over.fd[0] : device_open(0);
		ASSERT_LE(0, over.fd[i]);
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, take_turns, &hand[i]));
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);

	EXPECT_EQ(0, over.error);
	EXPECT_EQ(HANDOVERS, over.log.ids);
	EXPECT_EQ(0, over.log.falls) {
		TH_LOG("%ju of %ju ids not above the one before",
		       (uintmax_t)over.log.falls, (uintmax_t)over.log.ids);
	}
}

FIXTURE(handover) {
	struct stats before;
};

FIXTURE_SETUP(handover)
{
	const char *why = missing(NEED_ROOT | NEED_CPUS);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	self->before = stats_now();
}

FIXTURE_TEARDOWN(handover)
{
	struct stats after = stats_now();

	EXPECT_EQ(self->before.refused, after.refused);
	EXPECT_EQ(self->before.rewinds, after.rewinds);
	EXPECT_EQ(0, reset());
}

TEST_F(handover, one_file)
{
	ASSERT_EQ(0, start(WORKER));
	check_handover(_metadata, true);
}

/* With blocks of one number the order holds across files: across the host. */
TEST_F(handover, own_files_and_cpu_block_1)
{
	ASSERT_EQ(0, attr_put("cpu_block", "1"));
	ASSERT_EQ(0, start(WORKER));
	check_handover(_metadata, false);
}

/*
 * Threads that read one file at once, unordered among each other: what each
 * gets still rises, since its read began when the one before had ended.
 */
TEST_F(handover, one_file_read_at_once)
{
	struct readers *rs = readers_new(SHARERS, 16);
	struct reader *r;
	int fd;

	ASSERT_EQ(0, start(WORKER));
	ASSERT_NE(NULL, rs);
	fd = device_open(0);
	ASSERT_LE(0, fd);
	for_each_reader(r, rs) {
		r->fd = fd;
		r->target = SHARED_IDS;
	}
	ASSERT_EQ(0, readers_start(rs));
	readers_wait(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
	EXPECT_LE(SHARERS * SHARED_IDS, readers_ids(rs));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * read(2) and its relatives: sizes, bad addresses, signals, O_NONBLOCK.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "snowflake_test.h"
#include "kselftest_harness.h"

#define WORKER		5
#define CANARY		0xa5
#define HUGE_BYTES	(1UL << 31)
#define HUGE_MS		100		/* how long the huge read may go on */
#define LOOPS		3		/* ticks' worth of ids, fault 17 */
#define TRIES		100		/* to use ticks up on a host that stops us */
#define ROUNDS		200
#define SPLICE_IDS	4096
#define DRAINS		50

FIXTURE(read) {
	int fd;
	int nonblock;
	int cpu[2];
	long page;
	uint8_t *mapping;	/* two pages, of which the second is not there */
	uint8_t *end;		/* of the first */
};

FIXTURE_SETUP(read)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
	self->cpu[0] = cpu_nth(0);
	self->cpu[1] = cpu_nth(1);

	self->page = sysconf(_SC_PAGESIZE);
	self->mapping = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->mapping);
	self->end = self->mapping + self->page;
	ASSERT_EQ(0, munmap(self->end, self->page));
}

FIXTURE_TEARDOWN(read)
{
	EXPECT_EQ(0, reset());
}

static uint64_t load_id(const void *p)
{
	uint64_t id;

	memcpy(&id, p, sizeof(id));
	return id;
}

static bool all_canary(const uint8_t *from, const uint8_t *to)
{
	while (from < to)
		if (*from++ != CANARY)
			return false;
	return true;
}

TEST_F(read, one_id_decodes_to_now_and_worker)
{
	int64_t before, after;
	uint64_t id;

	before = realtime_ns() / NSEC_PER_MSEC;
	ASSERT_EQ(0, read_id(self->fd, &id));
	after = realtime_ns() / NSEC_PER_MSEC;

	EXPECT_LE(before, id_ms(id));
	EXPECT_GE(after, id_ms(id));
	EXPECT_EQ(WORKER, id_worker(id));
	EXPECT_GT((int64_t)id, 0);
}

/* Numbers that a CPU kept for itself are not handed out when they are stale. */
TEST_F(read, an_id_is_of_the_moment)
{
	int64_t before, after;
	uint64_t id;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, pin_to_cpu(self->cpu[i / 2 % 2]));
		sleep_ns(i % 4 * NSEC_PER_MSEC);
		before = realtime_ns() / NSEC_PER_MSEC;
		ASSERT_EQ(0, read_id(self->fd, &id));
		after = realtime_ns() / NSEC_PER_MSEC;
		EXPECT_LE(before, id_ms(id));
		EXPECT_GE(after, id_ms(id));
	}
}

TEST_F(read, fault22_native_order)
{
	int64_t now = realtime_ns() / NSEC_PER_MSEC;
	uint64_t id;

	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_GT(10, id_ms(id) / 1000 - now / 1000);
	EXPECT_LT(-10, id_ms(id) / 1000 - now / 1000);
	id = __builtin_bswap64(id);
	EXPECT_NE(WORKER, id_worker(id));
}

TEST_F(read, fault24_sizes)
{
	static const struct {
		size_t size;
		ssize_t gives;
	} cases[] = {
		{ 0, -EINVAL }, { 1, -EINVAL }, { 7, -EINVAL },
		{ 8, 8 }, { 9, 8 }, { 15, 8 }, { 16, 16 }, { 17, 16 },
		{ 4095, 4088 }, { 4096, 4096 }, { 65543, 65536 },
	};
	static uint8_t buf[65543 + 64];
	uint64_t last = 0;
	unsigned int i, shift;
	ssize_t got;

	for (shift = 0; shift < ID_SIZE; shift++) {
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			uint8_t *at = buf + ID_SIZE + shift;

			memset(buf, CANARY, sizeof(buf));
			got = read(self->fd, at, cases[i].size);
			if (got < 0)
				got = -errno;
			EXPECT_EQ(cases[i].gives, got) {
				TH_LOG("read of %zu bytes at %u", cases[i].size, shift);
			}
			if (got < 0)
				got = 0;
			EXPECT_TRUE(rising(at, got / ID_SIZE, &last));
			EXPECT_TRUE(all_canary(buf, at));
			EXPECT_TRUE(all_canary(at + got, buf + sizeof(buf))) {
				TH_LOG("written past the end: %zu bytes at %u",
				       cases[i].size, shift);
			}
		}
	}
}

TEST_F(read, fault24_2_to_the_31_bytes_interrupted)
{
	struct id_log log;
	int64_t begin, took;
	uint8_t *huge;
	ssize_t got;

	huge = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)huge);
	ASSERT_EQ(0, log_init(&log, 1 << 16));

	begin = monotonic_ns();
	interrupt_every(HUGE_MS);
	got = read(self->fd, huge, HUGE_BYTES);
	interrupt_every(0);
	took = monotonic_ns() - begin;

	ASSERT_LT(0, got) TH_LOG("read: %s", strerror(errno));
	EXPECT_EQ(0, got % ID_SIZE);
	EXPECT_GE(1000 * NSEC_PER_MSEC, took);
	/* What could be had in that time, and no more. */
	EXPECT_GE((took / NSEC_PER_MSEC + 2) * IDS_PER_TICK, got / (ssize_t)ID_SIZE);

	log_add(&log, (uint64_t *)huge, got / ID_SIZE);
	log_add(&log, (uint64_t[]){ 0 }, 0);
	EXPECT_EQ(0, log.falls);
	EXPECT_EQ(0, log.negative);
	EXPECT_FALSE(log.full);
	EXPECT_EQ(0, load_id(huge + got));
	EXPECT_EQ(0, load_id(huge + got + self->page));
	munmap(huge, HUGE_BYTES);
}

/*
 * A buffer that begins @before bytes ahead of a page that is not there: whole
 * ids up to it, or EFAULT; not a byte of a further id; none minted twice.
 */
static void read_into_the_edge(struct __test_metadata *_metadata, int fd,
			       uint8_t *page, uint8_t *end, size_t before,
			       size_t size, uint64_t *last)
{
	uint8_t *at = end - before;
	ssize_t want, got;
	uint64_t id;

	want = before < size ? before : size;
	want -= want % ID_SIZE;

	memset(page, CANARY, end - page);
	got = read(fd, at, size);
	if (got < 0)
		got = -errno;
	EXPECT_EQ(want ?: -EFAULT, got) {
		TH_LOG("read of %zu bytes, %zu before the page", size, before);
	}
	if (got < 0)
		got = 0;
	EXPECT_TRUE(rising(at, got / ID_SIZE, last));
	EXPECT_TRUE(all_canary(page, at));
	EXPECT_TRUE(all_canary(at + got, end)) {
		TH_LOG("a part of an id: %zu bytes, %zu before the page", size, before);
	}

	ASSERT_EQ(0, read_id(fd, &id));
	EXPECT_TRUE(rising(&id, 1, last));
}

TEST_F(read, fault24_across_an_unmapped_page)
{
	static const size_t before[] = {
		0, 1, 4, 7, 8, 9, 12, 15, 16, 20, 24, 63, 64, 65, 511, 512, 513,
		4088, 4091, 4095, 4096,
	};
	static const size_t sizes[] = { 8, 16, 64, 4096, 65536 };
	uint64_t last = 0;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(before); i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++)
			read_into_the_edge(_metadata, self->fd, self->mapping,
					   self->end, before[i], sizes[k], &last);
}

TEST_F(read, fault24_addresses_that_are_never_good)
{
	uint64_t id, last = 0;
	void *constant;
	unsigned int i;

	constant = mmap(NULL, self->page, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, constant);

	for (i = 0; i < ROUNDS; i++) {
		static const size_t sizes[] = { 8, 24, 1024, 32768 };
		size_t size = sizes[i % ARRAY_SIZE(sizes)];

		EXPECT_EQ(-1, read(self->fd, NULL, size));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(-1, read(self->fd, constant, size));
		EXPECT_EQ(EFAULT, errno);
		/* The kernel's own half of the addresses. */
		EXPECT_EQ(-1, read(self->fd, (void *)(-1UL << 47), size));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(-1, read(self->fd, (void *)-8UL, size));
		EXPECT_EQ(EFAULT, errno);

		ASSERT_EQ(0, read_id(self->fd, &id));
		EXPECT_TRUE(rising(&id, 1, &last));
	}
}

TEST_F(read, pages_not_yet_touched_are_filled)
{
	const size_t size = 64 * 1024;
	uint64_t last = 0;
	unsigned int i;
	void *fresh;

	for (i = 0; i < 4; i++) {
		fresh = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, fresh);
		ASSERT_EQ((ssize_t)size, read(self->fd, fresh, size));
		EXPECT_TRUE(rising(fresh, size / ID_SIZE, &last));
		munmap(fresh, size);
	}
}

/* The id after sequence 4095 has a later tick; within a tick sequences rise. */
static void check_ticks(struct __test_metadata *_metadata,
			const uint64_t *ids, size_t count, unsigned int *full)
{
	size_t i;

	for (i = 1; i < count; i++) {
		if (id_sequence(ids[i - 1]) == IDS_PER_TICK - 1)
			++*full;
		ASSERT_LE(id_tick(ids[i - 1]), id_tick(ids[i]));
		if (id_tick(ids[i]) == id_tick(ids[i - 1])) {
			ASSERT_LT(id_sequence(ids[i - 1]), id_sequence(ids[i]));
		}
		ASSERT_EQ(WORKER, id_worker(ids[i]));
	}
}

TEST_F(read, fault17_more_than_a_tick_in_one_read)
{
	static uint64_t ids[LOOPS * IDS_PER_TICK];
	unsigned int try, full = 0;

	/* So many ids meet the end of a tick twice, unless the host stops us. */
	for (try = 0; try < TRIES && full < LOOPS - 1; try++) {
		full = 0;
		ASSERT_EQ((ssize_t)sizeof(ids), read(self->fd, ids, sizeof(ids)));
		check_ticks(_metadata, ids, ARRAY_SIZE(ids), &full);
		EXPECT_LE(LOOPS - 1,
			  id_tick(ids[ARRAY_SIZE(ids) - 1]) - id_tick(ids[0]));
	}
	EXPECT_LE(LOOPS - 1, full);
}

TEST_F(read, fault17_more_than_a_tick_in_a_loop)
{
	static const unsigned int steps[] = { 1, 7, 64, 1000, IDS_PER_TICK };
	static uint64_t ids[LOOPS * IDS_PER_TICK];
	unsigned int i, try, full = 0;
	size_t done, want;

	for (try = 0; try < TRIES * ARRAY_SIZE(steps); try++) {
		i = try % ARRAY_SIZE(steps);
		if (!i && full)
			break;
		for (done = 0; done < ARRAY_SIZE(ids); done += want) {
			want = ARRAY_SIZE(ids) - done;
			if (want > steps[i])
				want = steps[i];
			ASSERT_EQ((ssize_t)(want * ID_SIZE),
				  read(self->fd, ids + done, want * ID_SIZE));
		}
		check_ticks(_metadata, ids, ARRAY_SIZE(ids), &full);
	}
	EXPECT_LT(0, full);
}

TEST_F(read, readv_of_odd_pieces)
{
	static const size_t pieces[][8] = {
		{ 1, 7, 3, 13, 8, 5, 27, 0 },	/* 8 ids, hardly one in one piece */
		{ 0, 8, 0, 16, 0, 0, 0, 8 },
		{ 3, 10 },			/* one id and 5 bytes too many */
		{ 4096, 4, 8, 4 },
	};
	static uint8_t memory[8][4096 + 16];
	static uint8_t flat[sizeof(memory)];
	uint64_t last = 0;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct iovec iov[8];
		size_t total = 0, at = 0;
		ssize_t got;

		memset(memory, CANARY, sizeof(memory));
		for (k = 0; k < 8; k++) {
			iov[k].iov_base = memory[k] + 1;
			iov[k].iov_len = pieces[i][k];
			total += pieces[i][k];
		}
		got = readv(self->fd, iov, 8);
		EXPECT_EQ((ssize_t)(total - total % ID_SIZE), got) {
			TH_LOG("case %u: %s", i, got < 0 ? strerror(errno) : "");
		}
		for (k = 0; k < 8; k++) {
			memcpy(flat + at, memory[k] + 1, pieces[i][k]);
			at += pieces[i][k];
			EXPECT_TRUE(all_canary(memory[k] + 1 + pieces[i][k],
					       memory[k] + sizeof(memory[k])));
			EXPECT_EQ(CANARY, memory[k][0]);
		}
		if (got < 0)
			got = 0;
		EXPECT_TRUE(rising(flat, got / ID_SIZE, &last));
		EXPECT_TRUE(all_canary(flat + got, flat + total));
	}
}

TEST_F(read, readv_too_short)
{
	uint8_t buf[8];
	struct iovec iov[2] = { { buf, 3 }, { buf + 3, 2 } };

	EXPECT_EQ(-1, readv(self->fd, iov, 2));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(read, splice_to_a_pipe)
{
	static uint64_t ids[SPLICE_IDS];
	size_t done = 0, have = 0;
	uint64_t last = 0, id;
	int pipes[2];
	ssize_t got;

	ASSERT_EQ(0, pipe(pipes));
	while (done < sizeof(ids)) {
		got = splice(self->fd, NULL, pipes[1], NULL, sizeof(ids) - done, 0);
		ASSERT_LT(0, got) TH_LOG("splice: %s", strerror(errno));
		EXPECT_EQ(0, got % ID_SIZE);
		for (done += got; have < done; have += got) {
			got = read(pipes[0], (char *)ids + have, done - have);
			ASSERT_LT(0, got);
		}
	}
	EXPECT_TRUE(rising(ids, SPLICE_IDS, &last));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_TRUE(rising(&id, 1, &last));

	EXPECT_EQ(-1, splice(self->fd, NULL, pipes[1], NULL, 7, 0));
	EXPECT_EQ(EINVAL, errno);
}

/* What the tick still has, at once, and all of it; then EAGAIN. */
static void check_nonblocking(struct __test_metadata *_metadata, int fd, int flags)
{
	static uint64_t ids[MAX_READ_IDS];
	struct iovec iov = { ids, sizeof(ids) };
	unsigned int refusals = 0, i;
	int64_t begin;
	ssize_t got;
	uint64_t last = 0;

	for (i = 0; i < DRAINS * 100 && refusals < DRAINS; i++) {
		begin = monotonic_ns();
		got = preadv2(fd, &iov, 1, -1, flags);
		EXPECT_GE(50 * NSEC_PER_MSEC, monotonic_ns() - begin);
		if (got < 0) {
			ASSERT_EQ(EAGAIN, errno) TH_LOG("%s", strerror(errno));
			/* Only once the tick's last id is gone. */
			EXPECT_EQ(IDS_PER_TICK - 1, id_sequence(last));
			refusals++;
			sleep_ns(NSEC_PER_MSEC);
			continue;
		}
		ASSERT_LT(0, got);
		ASSERT_EQ(0, got % ID_SIZE);
		got /= ID_SIZE;
		ASSERT_GE(IDS_PER_TICK, got);
		EXPECT_EQ(id_tick(ids[0]), id_tick(ids[got - 1]));
		EXPECT_TRUE(rising(ids, got, &last));
	}
	EXPECT_EQ(DRAINS, refusals) TH_LOG("the tick was hardly ever used up");
}

TEST_F(read, o_nonblock)
{
	check_nonblocking(_metadata, self->nonblock, 0);
}

TEST_F(read, preadv2_nowait)
{
	check_nonblocking(_metadata, self->fd, RWF_NOWAIT);
}

TEST_F(read, nonblocking_one_id_when_idle)
{
	struct iovec iov;
	uint64_t id, last = 0;
	int i;

	iov = (struct iovec){ &id, sizeof(id) };
	for (i = 0; i < 100; i++) {
		sleep_ns(NSEC_PER_MSEC);
		EXPECT_EQ(0, read_id(self->nonblock, &id));
		EXPECT_EQ((ssize_t)ID_SIZE, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
		EXPECT_TRUE(rising(&id, 1, &last));
	}
}

TEST_F(read, no_position)
{
	uint64_t id, last = 0;
	off_t at;

	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_TRUE(rising(&id, 1, &last));

	/* ESPIPE, or a stream that takes no notice. */
	errno = 0;
	at = lseek(self->fd, 4096, SEEK_SET);
	EXPECT_TRUE(at >= 0 || errno == ESPIPE);
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_TRUE(rising(&id, 1, &last));

	errno = 0;
	if (pread(self->fd, &id, sizeof(id), 0) == ID_SIZE) {
		EXPECT_TRUE(rising(&id, 1, &last));
	} else {
		EXPECT_EQ(ESPIPE, errno);
	}
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_TRUE(rising(&id, 1, &last));
}

TEST_F(read, read_only)
{
	uint64_t id = 0;
	struct stat st;
	int fd;

	ASSERT_EQ(0, stat(DEVICE, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0444, st.st_mode & 07777);

	EXPECT_EQ(-1, write(self->fd, &id, sizeof(id)));
	EXPECT_EQ(EBADF, errno);

	/* Root passes the mode by, and still cannot write. */
	fd = open(DEVICE, O_WRONLY);
	if (fd >= 0) {
		EXPECT_EQ(-1, write(fd, &id, sizeof(id)));
		close(fd);
	}
}

TEST_F(read, anybody_reads_nobody_writes)
{
	uint64_t id;
	int fd;

	/* The fixture's own user is needed again: do it in a child. */
	if (!fork_tied()) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(1);
		fd = device_open(0);
		if (fd < 0 || read_id(fd, &id))
			_exit(2);
		if (open(DEVICE, O_WRONLY) != -1 || errno != EACCES)
			_exit(3);
		if (open(DEVICE, O_RDWR) != -1 || errno != EACCES)
			_exit(4);
		_exit(0);
	} else {
		int status = -1;

		wait(&status);
		EXPECT_EQ(0, status) {
			TH_LOG("the unprivileged child ended at %d",
			       WEXITSTATUS(status));
		}
	}
}

/* stats/refused counts none of EAGAIN, EINVAL, EFAULT and signals. */
TEST_F(read, what_is_not_a_refusal)
{
	struct stats before = stats_now(), after;
	uint64_t ids[4];

	EXPECT_EQ(-1, read(self->fd, ids, 7));
	EXPECT_EQ(-1, read(self->fd, self->end, 8));
	EXPECT_EQ(0, drain_tick(self->nonblock, NULL));
	after = stats_now();
	EXPECT_EQ(before.refused, after.refused);
	EXPECT_EQ(before.rewinds, after.rewinds);

	attr_put("worker_id", "-1");
	EXPECT_EQ(-ENXIO, read_id(self->fd, ids));
	EXPECT_EQ(-ENXIO, read_id(self->nonblock, ids));
	after = stats_now();
	EXPECT_EQ(before.refused + 2, after.refused);
}

TEST_F(read, ids_and_waits_are_counted)
{
	static uint64_t ids[MAX_READ_IDS];
	struct stats before, after;
	unsigned int try;

	before = stats_now();
	after = stats_now();
	EXPECT_EQ(before.ids, after.ids);

	/* Two ticks' worth waits for a tick once, unless the host stops us. */
	for (try = 1; try <= TRIES && before.exhausted == after.exhausted; try++) {
		ASSERT_EQ((ssize_t)sizeof(ids), read(self->fd, ids, sizeof(ids)));
		after = stats_now();
		EXPECT_LE(before.ids + try * (long long)MAX_READ_IDS, after.ids);
	}
	EXPECT_LT(before.exhausted, after.exhausted);
	EXPECT_EQ(before.refused, after.refused);
}

/* The last tick handed out from, also when it was handed out to its end. */
TEST_F(read, last_timestamp)
{
	uint64_t ids[512], last = 0;
	int i;

	for (i = 0; i < DRAINS; i++) {
		ASSERT_EQ((ssize_t)sizeof(ids), read(self->fd, ids, sizeof(ids)));
		EXPECT_EQ(id_ms(ids[511]), attr_number("last_timestamp_ms"));
		ASSERT_EQ(0, drain_tick(self->nonblock, &last));
		EXPECT_EQ(id_ms(last), attr_number("last_timestamp_ms"));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the device offers beyond read(2): ioctls, fdinfo, the shared page,
 * sendfile, and the same for a 32-bit program. io_uring is in uring_test.c.
 */
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "layouts.h"
#include "kselftest_harness.h"
#include "../../kmod/uapi/snowflake.h"

#define WORKER		5
#define CANARY		0xa5
#define MAGIC		0xFC
#define HOUR_MS		3600000LL
#define POLL_MS		1000		/* no poller sleeps longer past a change */
#define SETTLE_NS	(500 * NSEC_PER_MSEC)	/* for a step to be noticed */
#define TRIES		2000		/* to stay within one tick */
#define WANTED		20		/* of these, successful */
#define ROUNDS		50
#define CHANGES		1000		/* of the configuration */
#define WATCHERS	3

/* The same for 32-bit and 64-bit programs. */
_Static_assert(sizeof(struct snowflake_info) == 64, "struct snowflake_info");
_Static_assert(offsetof(struct snowflake_info, generation) == 48, "generation");
_Static_assert(offsetof(struct snowflake_info, sharing) == 58, "sharing");
_Static_assert(sizeof(struct snowflake_bind) == 16, "struct snowflake_bind");

static bool all_are(const void *from, size_t size, uint8_t value)
{
	const uint8_t *p = from;

	while (size--)
		if (*p++ != value)
			return false;
	return true;
}

FIXTURE(iface) {
	int fd;
	int nonblock;
	long page;
};

FIXTURE_SETUP(iface)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, start_afresh(WORKER, &self->fd, &self->nonblock));
	self->page = sysconf(_SC_PAGESIZE);
}

FIXTURE_TEARDOWN(iface)
{
	EXPECT_EQ(0, reset());
}

/*
 * INFO
 */

static void check_info(struct __test_metadata *_metadata, int fd,
		       const struct layout *l, int64_t worker, uint64_t count,
		       bool bound, int64_t bound_to)
{
	struct snowflake_info info;

	memset(&info, CANARY, sizeof(info));
	ASSERT_EQ(0, ioctl(fd, SNOWFLAKE_IOC_INFO, &info));
	EXPECT_EQ(worker, info.worker_id);
	EXPECT_EQ(count, info.worker_count);
	EXPECT_EQ(l->epoch_ms, (int64_t)info.epoch_ms);
	EXPECT_EQ(attr_number("not_before_ms"), (int64_t)info.not_before_ms);
	EXPECT_EQ(attr_number("not_after_ms"), (int64_t)info.not_after_ms);
	EXPECT_EQ(bound_to, info.bound_to);
	EXPECT_EQ(attr_number("generation"), info.generation);
	EXPECT_EQ(l->tick_ms, info.tick_ms);
	EXPECT_EQ(l->timestamp_bits, info.timestamp_bits);
	EXPECT_EQ(l->worker_bits, info.worker_bits);
	EXPECT_EQ(l->sequence_bits, info.sequence_bits);
	EXPECT_EQ(layout_worker_low(l) ? SNOWFLAKE_INFO_SEQUENCE_WORKER :
		  SNOWFLAKE_INFO_WORKER_SEQUENCE, info.order);
	EXPECT_EQ(bound ? SNOWFLAKE_INFO_BOUND : SNOWFLAKE_INFO_POOLED, info.sharing);
	EXPECT_TRUE(all_are(info.reserved, sizeof(info.reserved), 0));
}

TEST_F(iface, info_of_each_preset)
{
	enum preset p;

	for (p = 0; p < PRESETS; p++) {
		ASSERT_EQ(0, layout_start(&presets[p], 1));
		check_info(_metadata, self->fd, &presets[p], 1, 1, false, -1);
	}
}

TEST_F(iface, info_of_range_window_and_binding)
{
	const struct layout *l = &presets[SONYFLAKE];
	int64_t now = now_ms();

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, layout_put(l));
	ASSERT_EQ(0, attr_put_number("worker_count", 1000));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put_number("not_before_ms", now - HOUR_MS));
	ASSERT_EQ(0, attr_put_number("not_after_ms", now + HOUR_MS));
	check_info(_metadata, self->fd, l, -1, 1000, true, -1);
	ASSERT_EQ(0, attr_put_number("worker_id", 64000));
	check_info(_metadata, self->fd, l, 64000, 1000, true, -1);
	ASSERT_EQ(0, device_bind(self->fd, 64999));
	check_info(_metadata, self->fd, l, 64000, 1000, true, 64999);
	check_info(_metadata, self->nonblock, l, 64000, 1000, true, -1);
	/* A window that is extended shows at once. */
	ASSERT_EQ(0, attr_put_number("not_after_ms", now + 2 * HOUR_MS));
	check_info(_metadata, self->fd, l, 64000, 1000, true, 64999);
}

/* Programs older and newer than the kernel: by the size in the number. */
TEST_F(iface, info_of_another_size)
{
	static const size_t sizes[] = {
		1, 4, 8, 12, 16, 40, 48, 52, 56, 63, 64, 65, 72, 128, 1000, 4096, 16383,
	};
	static uint8_t whole[sizeof(struct snowflake_info)], buf[16384 + 64];
	unsigned int i;

	ASSERT_EQ(0, ioctl(self->fd, SNOWFLAKE_IOC_INFO, whole));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i];
		size_t both = size < sizeof(whole) ? size : sizeof(whole);

		memset(buf, CANARY, sizeof(buf));
		EXPECT_EQ(0, ioctl(self->fd, _IOC(_IOC_READ, MAGIC, 0, size), buf)) {
			TH_LOG("size %zu: %s", size, strerror(errno));
		}
		EXPECT_EQ(0, memcmp(buf, whole, both)) TH_LOG("size %zu", size);
		EXPECT_TRUE(all_are(buf + both, size - both, 0)) TH_LOG("size %zu", size);
		EXPECT_TRUE(all_are(buf + size, sizeof(buf) - size, CANARY)) {
			TH_LOG("written past the end of size %zu", size);
		}
	}
}

TEST_F(iface, info_at_a_bad_address)
{
	uint8_t *pages = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end = pages + self->page;
	const size_t size = sizeof(struct snowflake_info);

	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_EQ(0, munmap(end, self->page));
	EXPECT_EQ(0, ioctl(self->fd, SNOWFLAKE_IOC_INFO, end - size));
	EXPECT_EQ(-1, ioctl(self->fd, SNOWFLAKE_IOC_INFO, end - size + 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->fd, SNOWFLAKE_IOC_INFO, NULL));
	EXPECT_EQ(EFAULT, errno);
	/* The kernel's own memory is no address of ours. */
	EXPECT_EQ(-1, ioctl(self->fd, SNOWFLAKE_IOC_INFO, -4096UL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOC(_IOC_READ, MAGIC, 0, 128), end - size));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(iface, unknown_ioctls)
{
	static uint8_t buf[256];
	unsigned int nr, dir;

	memset(buf, CANARY, sizeof(buf));
	for (nr = 2; nr < 256; nr++) {
		for (dir = 0; dir < 4; dir++) {
			EXPECT_EQ(-1, ioctl(self->fd, _IOC(dir, MAGIC, nr, 8), buf));
			EXPECT_EQ(ENOTTY, errno) TH_LOG("nr %u, direction %u", nr, dir);
		}
	}
	/* The direction is a part of the number as well. */
	EXPECT_EQ(-1, ioctl(self->fd, _IOC(_IOC_WRITE, MAGIC, 0, 64), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOC(_IOC_READ, MAGIC, 1, 16), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOC(_IOC_READ, MAGIC + 1, 0, 64), buf));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, isatty(self->fd));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_TRUE(all_are(buf, sizeof(buf), CANARY));
}

/*
 * FIONREAD. Reads of more than a block claim what they need, so there is no
 * rest of a block to reckon with.
 */
TEST_F(iface, fionread)
{
	uint64_t ids[256], first;
	unsigned int found = 0, i;
	int before, after, none;

	for (i = 0; i < TRIES && found < WANTED; i++) {
		sleep_ns(i % 2 * NSEC_PER_MSEC);
		if (read(self->nonblock, ids, sizeof(ids)) != sizeof(ids))
			continue;
		first = ids[0];
		ASSERT_EQ(0, ioctl(self->nonblock, FIONREAD, &before));
		if (read(self->nonblock, ids, sizeof(ids)) != sizeof(ids))
			continue;
		ASSERT_EQ(0, ioctl(self->fd, FIONREAD, &after));
		ASSERT_EQ(0, before % (int)ID_SIZE);
		ASSERT_EQ(0, after % (int)ID_SIZE);
		ASSERT_LE(0, before);
		ASSERT_GE(IDS_PER_TICK * (int)ID_SIZE, before);
		ASSERT_GE(IDS_PER_TICK * (int)ID_SIZE, after);
		if (read(self->nonblock, ids, sizeof(ids)) != sizeof(ids) ||
		    id_tick(ids[0]) != id_tick(first))
			continue;
		/* All in one tick, with nobody else about. */
		EXPECT_EQ(before - (int)sizeof(ids), after);
		found++;
	}
	EXPECT_EQ(WANTED, found) TH_LOG("hardly ever within one tick");

	/* As much as it says can be had. */
	for (i = found = 0; i < TRIES && found < WANTED; i++) {
		static uint64_t all[MAX_READ_IDS];
		ssize_t got;

		sleep_ns(NSEC_PER_MSEC);
		if (read(self->nonblock, ids, sizeof(ids)) != sizeof(ids))
			continue;
		ASSERT_EQ(0, ioctl(self->nonblock, FIONREAD, &before));
		got = read(self->nonblock, all, sizeof(all));
		/* Nor has the tick ended meanwhile. */
		if (got <= 0 || id_tick(all[0]) != id_tick(ids[255]) ||
		    id_tick(all[got / ID_SIZE - 1]) != id_tick(ids[255]) ||
		    now_ms() > id_ms(all[0]))
			continue;
		EXPECT_EQ(before, got);
		found++;
	}
	EXPECT_EQ(WANTED, found) TH_LOG("hardly ever within one tick");

	/* And nothing when it is used up. */
	for (i = found = 0; i < TRIES && found < WANTED; i++) {
		ASSERT_EQ(0, drain_tick(self->nonblock, &first));
		ASSERT_EQ(0, ioctl(self->nonblock, FIONREAD, &none));
		if (realtime_ns() / NSEC_PER_MSEC > id_ms(first))
			continue;
		EXPECT_EQ(0, none);
		found++;
	}
	EXPECT_EQ(WANTED, found) TH_LOG("hardly ever within one tick");
}

/* More than fits into an int, and none at all. */
TEST_F(iface, fionread_of_a_huge_tick_and_of_none)
{
	struct layout l = { CUSTOM, 22, 1, 40, WORKER_SEQUENCE, 1, now_ms() - 100000 };
	int available = -1;

	ASSERT_EQ(0, layout_start(&l, 0));
	ASSERT_EQ(0, ioctl(self->fd, FIONREAD, &available));
	EXPECT_EQ(INT_MAX & ~7, available);
	EXPECT_EQ(-1, ioctl(self->fd, FIONREAD, NULL));
	EXPECT_EQ(EFAULT, errno);

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	available = -1;
	if (!ioctl(self->fd, FIONREAD, &available)) {
		EXPECT_EQ(0, available);
	} else {
		EXPECT_EQ(ENXIO, errno);
	}
}

/*
 * fdinfo
 */

static bool fdinfo_has(int fd, uint64_t number)
{
	char path[64], text[4096], word[32], *at;
	ssize_t got;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	got = read(info, text, sizeof(text) - 1);
	close(info);
	if (got < 0)
		return false;
	text[got] = '\0';
	snprintf(word, sizeof(word), "%ju\n", (uintmax_t)number);
	at = strstr(text, word);
	return at && at != text && (at[-1] == '\t' || at[-1] == ' ');
}

TEST_F(iface, fdinfo)
{
	uint64_t ids[100], id;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, read_id(self->fd, &id));
		EXPECT_TRUE(fdinfo_has(self->fd, id));
		EXPECT_FALSE(fdinfo_has(self->nonblock, id));
		ASSERT_EQ((ssize_t)sizeof(ids), read(self->fd, ids, sizeof(ids)));
		EXPECT_TRUE(fdinfo_has(self->fd, ids[99]));
	}

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("worker_count", "900"));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put("worker_id", "100"));
	EXPECT_FALSE(fdinfo_has(self->fd, 987));
	ASSERT_EQ(0, device_bind(self->fd, 987));
	EXPECT_TRUE(fdinfo_has(self->fd, 987));
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_EQ(987, id_worker(id));
	EXPECT_TRUE(fdinfo_has(self->fd, id));
}

/* Reads on while another looks at the file. */
struct watched {
	int fd;
	atomic_bool stop;
	uint64_t given[CHANGES];
	unsigned int count;
	int err;
};

/* One id of each new configuration. */
static void change_and_read(struct watched *w)
{
	while (w->count < CHANGES && !w->err) {
		w->err = attr_put_number("worker_id", WORKER + w->count % 2) ?:
			 read_id(w->fd, &w->given[w->count]);
		w->count += !w->err;
	}
	w->stop = true;
}

/* Looks at the file all the time, and keeps what it is shown. */
struct watcher {
	struct watched *watched;
	pthread_t thread;
	uint64_t shown[CHANGES];
	unsigned int count;
};

static void *watch_fdinfo(void *data)
{
	struct watcher *watcher = data;
	char path[64], text[512];
	const char *found;
	uint64_t id, before = 0;
	ssize_t got;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", watcher->watched->fd);
	info = open(path, O_RDONLY);
	while (!watcher->watched->stop && watcher->count < CHANGES) {
		got = pread(info, text, sizeof(text) - 1, 0);
		text[got < 0 ? 0 : got] = '\0';
		found = strstr(text, "snowflake-last-id:\t");
		id = found ? strtoull(strchr(found, '\t') + 1, NULL, 10) : 0;
		if (id && id != before)
			watcher->shown[watcher->count++] = id;
		before = id;
	}
	close(info);
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* A number of the old lineage is not shown as an id of the new one. */
TEST_F_TIMEOUT(iface, fdinfo_while_the_worker_id_changes, 60)
{
	static struct watcher watchers[WATCHERS];
	static struct watched w;
	struct watcher *watcher;
	uint64_t *id;

	w.fd = self->fd;
	rcu_expedite(true);
	for (watcher = watchers; watcher < watchers + WATCHERS; watcher++) {
		watcher->watched = &w;
		ASSERT_EQ(0, pthread_create(&watcher->thread, NULL, watch_fdinfo,
					    watcher));
	}
	change_and_read(&w);
	for (watcher = watchers; watcher < watchers + WATCHERS; watcher++)
		pthread_join(watcher->thread, NULL);
	rcu_expedite(false);
	ASSERT_EQ(0, w.err) TH_LOG("%s", strerror(-w.err));
	for (watcher = watchers; watcher < watchers + WATCHERS; watcher++) {
		EXPECT_LT(0, watcher->count);
		for (id = watcher->shown; id < watcher->shown + watcher->count; id++) {
			ASSERT_NE(NULL, bsearch(id, w.given, w.count, ID_SIZE, by_id))
				TH_LOG("%ju was never given", (uintmax_t)*id);
		}
	}
}

/*
 * The page
 */

TEST_F(iface, page_is_read_only)
{
	static const int flags[] = { MAP_SHARED, MAP_PRIVATE };
	const struct snowflake_page *page;
	unsigned int i;
	void *map;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		map = mmap(NULL, self->page, PROT_READ | PROT_WRITE, flags[i], self->fd, 0);
		EXPECT_EQ(MAP_FAILED, map);
		EXPECT_TRUE(errno == EACCES || errno == EPERM);
		map = mmap(NULL, self->page, PROT_WRITE, flags[i], self->fd, 0);
		EXPECT_EQ(MAP_FAILED, map);
		EXPECT_TRUE(errno == EACCES || errno == EPERM);

		map = mmap(NULL, self->page, PROT_READ, flags[i], self->fd, self->page);
		EXPECT_EQ(MAP_FAILED, map);
		EXPECT_EQ(EINVAL, errno);
		map = mmap(NULL, 2 * self->page, PROT_READ, flags[i], self->fd, 0);
		EXPECT_EQ(MAP_FAILED, map);
		EXPECT_EQ(EINVAL, errno);
	}

	map = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	page = map;
	EXPECT_EQ(-1, mprotect(map, self->page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(attr_number("generation"), page->generation);
	EXPECT_NE(0, page->generation);
	EXPECT_TRUE(all_are((uint8_t *)map + sizeof(*page), self->page - sizeof(*page), 0));
}

/* It is the same page for all, outlives the file, and goes on in a child. */
TEST_F(iface, page_is_shared)
{
	const struct snowflake_page *page, *other;
	uint32_t before;
	int status;

	page = mmap(NULL, 1, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	other = mmap(NULL, self->page, PROT_READ, MAP_PRIVATE, self->nonblock, 0);
	ASSERT_NE(MAP_FAILED, (void *)other);
	close(self->fd);
	close(self->nonblock);
	before = page->generation;
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER + 1));
	EXPECT_LT(before, page->generation);
	EXPECT_EQ(page->generation, other->generation);
	if (!fork_tied()) {
		before = page->generation;
		if (attr_put_number("worker_id", WORKER + 2) || page->generation <= before)
			_exit(1);
		_exit(0);
	}
	wait(&status);
	EXPECT_EQ(0, status);
	EXPECT_EQ(attr_number("generation"), page->generation);
}

/* What the generation has come to, once it is above @before or has not. */
static uint32_t generation_after(const struct snowflake_page *page, uint32_t before)
{
	const volatile uint32_t *generation = &page->generation;
	int64_t end = monotonic_ns() + SETTLE_NS;

	while (*generation == before && monotonic_ns() < end)
		sleep_ns(NSEC_PER_MSEC);
	return *generation;
}

TEST_F(iface, generation_of_configurations_and_windows)
{
	static const struct {
		const char *name;
		int64_t hours;		/* from now on; 0 is open */
		bool rises;
	} steps[] = {
		{ "not_after_ms", 5, true },	/* shrinks what was open */
		{ "not_after_ms", 6, false },
		{ "not_after_ms", 4, true },
		{ "not_after_ms", 7, false },
		{ "not_before_ms", -3, true },	/* shrinks it from below */
		{ "not_before_ms", -2, true },
		{ "not_after_ms", 0, false },
		{ "not_after_ms", 9, true },
	};
	const struct snowflake_page *page;
	int64_t now = now_ms();
	uint32_t before;
	unsigned int i;
	uint64_t id;

	page = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	for (i = 0; i < 5; i++) {
		before = page->generation;
		ASSERT_EQ(0, attr_put_number("worker_id", WORKER + i % 2));
		EXPECT_LT(before, page->generation);
		EXPECT_EQ(page->generation, attr_number("generation"));
	}
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		before = page->generation;
		ASSERT_EQ(0, attr_put_number(steps[i].name, steps[i].hours ?
					     now + steps[i].hours * HOUR_MS : 0));
		/* In force when the write returns, so no waiting for it. */
		if (steps[i].rises) {
			EXPECT_LT(before, page->generation) TH_LOG("step %u", i);
		} else {
			EXPECT_EQ(before, page->generation) TH_LOG("step %u", i);
		}
		EXPECT_EQ(page->generation, attr_number("generation"));
	}

	/* Nothing else moves it. */
	before = page->generation;
	for (i = 0; i < ROUNDS; i++)
		ASSERT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "20"));
	ASSERT_EQ(0, attr_put("forward_limit_ms", "1000"));
	EXPECT_EQ(-EINVAL, attr_put("worker_id", "1024"));
	EXPECT_EQ(-EBUSY, attr_put("worker_count", "2"));
	sleep_ns(20 * NSEC_PER_MSEC);
	EXPECT_EQ(before, page->generation);
	EXPECT_EQ(before, attr_number("generation"));
}

/* Steps either way, with nobody reading, however small. */
TEST_F(iface, generation_of_clock_steps)
{
	static const int64_t steps[] = {
		NSEC_PER_SEC, -NSEC_PER_SEC, 3600 * NSEC_PER_SEC, -3600 * NSEC_PER_SEC,
		NSEC_PER_MSEC, -NSEC_PER_MSEC, 1000, -1000,
	};
	const struct snowflake_page *page;
	const char *why = missing(NEED_MACHINE);
	uint32_t before, after;
	unsigned int i;

	if (why)
		SKIP(return, "%s", why);
	page = mmap(NULL, self->page, PROT_READ, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		before = page->generation;
		ASSERT_EQ(0, clock_step(steps[i]));
		after = generation_after(page, before);
		EXPECT_LT(before, after) TH_LOG("step of %jd ns", (intmax_t)steps[i]);
		EXPECT_EQ(after, attr_number("generation"));
	}
}

/*
 * Ways to read
 */

/* Ids that do not follow each other, to pieces that do not hold whole ids. */
TEST_F(iface, readv_of_a_range_with_the_worker_lowest)
{
	static const size_t pieces[] = { 3, 13, 1, 7, 8, 100, 5, 119 };
	static uint8_t memory[ARRAY_SIZE(pieces)][128], flat[256];
	const struct layout *l = &presets[SONYFLAKE];
	struct iovec iov[ARRAY_SIZE(pieces)];
	uint64_t id, last = 0;
	unsigned int round, i, k;
	size_t at;

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, layout_put(l));
	ASSERT_EQ(0, attr_put_number("worker_count", 3));
	ASSERT_EQ(0, start(WORKER));
	close(self->fd);
	self->fd = device_open(0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < ARRAY_SIZE(pieces); i++)
			iov[i] = (struct iovec){ memory[i], pieces[i] };
		ASSERT_EQ((ssize_t)sizeof(flat), readv(self->fd, iov, ARRAY_SIZE(pieces)));
		for (i = at = 0; i < ARRAY_SIZE(pieces); at += pieces[i++])
			memcpy(flat + at, memory[i], pieces[i]);
		ASSERT_EQ(sizeof(flat), at);
		for (k = 0; k < sizeof(flat); k += ID_SIZE) {
			memcpy(&id, flat + k, ID_SIZE);
			ASSERT_LT(last, id);
			ASSERT_GT(3, layout_worker(l, id) - WORKER);
			last = id;
		}
	}
}

TEST_F(iface, o_nonblock_set_later)
{
	int flags = fcntl(self->fd, F_GETFL), one = 1, zero = 0;
	uint64_t id;

	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, flags | O_NONBLOCK));
	EXPECT_EQ(0, drain_tick(self->fd, NULL));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, flags));
	EXPECT_EQ(0, drain_tick(self->nonblock, NULL));
	EXPECT_EQ(0, read_id(self->fd, &id));
	ASSERT_EQ(0, ioctl(self->fd, FIONBIO, &one));
	EXPECT_EQ(0, drain_tick(self->fd, NULL));
	ASSERT_EQ(0, ioctl(self->fd, FIONBIO, &zero));
	EXPECT_EQ(0, read_id(self->fd, &id));
}

/* Kernels that want a seekable file say EINVAL; none gives a part of an id. */
TEST_F(iface, sendfile)
{
	static uint64_t ids[4096];
	uint64_t last = 0, id;
	int to = memfd_create("ids", MFD_CLOEXEC);
	ssize_t got;

	ASSERT_LE(0, to);
	ASSERT_EQ(0, read_id(self->fd, &last));
	got = sendfile(to, self->fd, NULL, sizeof(ids));
	if (got < 0) {
		EXPECT_EQ(EINVAL, errno);
	} else {
		EXPECT_LT(0, got);
		EXPECT_EQ(0, got % (ssize_t)ID_SIZE);
		ASSERT_EQ(got, pread(to, ids, sizeof(ids), 0));
		EXPECT_TRUE(rising(ids, got / ID_SIZE, &last));
	}
	ASSERT_EQ(0, read_id(self->fd, &id));
	EXPECT_TRUE(rising(&id, 1, &last));
}

TEST_F(iface, splice_of_odd_sizes)
{
	static const size_t sizes[] = { 8, 9, 15, 16, 17, 4095, 4096, 4097, 65535 };
	static uint64_t ids[65536 / ID_SIZE];
	uint64_t last = 0;
	unsigned int i;
	int pipes[2];
	ssize_t got;

	ASSERT_EQ(0, pipe(pipes));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		got = splice(self->fd, NULL, pipes[1], NULL, sizes[i], 0);
		ASSERT_LT(0, got) TH_LOG("splice of %zu: %s", sizes[i], strerror(errno));
		EXPECT_GE(sizes[i], (size_t)got);
		EXPECT_EQ(0, got % (ssize_t)ID_SIZE);
		ASSERT_EQ(got, read(pipes[0], ids, sizeof(ids)));
		EXPECT_TRUE(rising(ids, got / ID_SIZE, &last));
	}
	/* Without waiting: what there is, or EAGAIN; whole ids in any case. */
	ASSERT_EQ(0, drain_tick(self->nonblock, &last));
	got = splice(self->nonblock, NULL, pipes[1], NULL, sizeof(ids), SPLICE_F_NONBLOCK);
	if (got < 0) {
		EXPECT_EQ(EAGAIN, errno);
	} else {
		EXPECT_LT(0, got);
		EXPECT_EQ(0, got % (ssize_t)ID_SIZE);
	}
}

#ifdef __x86_64__
/*
 * A 32-bit program, as far as the kernel can tell: the calls enter by the gate
 * of such programs and have their numbers and structures. All memory that is
 * handed over has to lie in the first 4 GiB.
 */
#define COMPAT_READ	3
#define COMPAT_OPEN	5
#define COMPAT_CLOSE	6
#define COMPAT_GETPID	20
#define COMPAT_IOCTL	54
#define COMPAT_READV	145
#define COMPAT_PREADV2	378

static int compat5(uint32_t nr, uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e)
{
	uint64_t result = nr;

	asm volatile("int $0x80"
		     : "+a"(result)
		     : "b"((uint64_t)a), "c"((uint64_t)b), "d"((uint64_t)c),
		       "S"((uint64_t)d), "D"((uint64_t)e)
		     : "memory", "cc", "r8", "r9", "r10", "r11");
	return (int)result;
}

static int compat(uint32_t nr, uint32_t a, uint32_t b, uint32_t c)
{
	return compat5(nr, a, b, c, 0, 0);
}

struct low {
	char path[32];
	uint64_t ids[512];
	struct snowflake_info info;
	struct snowflake_bind bind;
	int available;
	struct {
		uint32_t base;
		uint32_t size;
	} iov[3];
};

FIXTURE(compat) {
	struct low *low;
	int fd;
};

static uint32_t address(const void *p)
{
	return (uintptr_t)p;
}

FIXTURE_SETUP(compat)
{
	const char *why = missing(NEED_ROOT);
	int status;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(WORKER));
	/* A kernel without such programs kills for it. */
	if (!fork_tied())
		_exit(compat(COMPAT_GETPID, 0, 0, 0) == getpid() ? 0 : 1);
	wait(&status);
	if (status)
		SKIP(return, "this kernel runs no 32-bit programs");
	self->low = mmap(NULL, sizeof(*self->low), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->low);
	strcpy(self->low->path, DEVICE);
	self->fd = compat(COMPAT_OPEN, address(self->low->path), O_RDONLY, 0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(compat)
{
	EXPECT_EQ(0, reset());
}

TEST_F(compat, reads)
{
	struct low *low = self->low;
	uint64_t last = 0;
	int i, got;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ((int)ID_SIZE, compat(COMPAT_READ, self->fd, address(low->ids), 8));
		ASSERT_EQ(WORKER, id_worker(low->ids[0]));
		ASSERT_TRUE(rising(low->ids, 1, &last));
		got = compat(COMPAT_READ, self->fd, address(low->ids), sizeof(low->ids));
		ASSERT_EQ((int)sizeof(low->ids), got);
		ASSERT_TRUE(rising(low->ids, 512, &last));
		low->iov[0].base = address(low->ids);
		low->iov[0].size = 12;
		low->iov[1].base = address(low->ids) + 12;
		low->iov[1].size = 5;
		low->iov[2].base = address(low->ids) + 17;
		low->iov[2].size = 23;
		ASSERT_EQ(40, compat(COMPAT_READV, self->fd, address(low->iov), 3));
		ASSERT_TRUE(rising(low->ids, 5, &last));
	}
	EXPECT_GE(now_ms(), id_ms(last));
	EXPECT_LE(now_ms() - 1000, id_ms(last));
	EXPECT_EQ(-EINVAL, compat(COMPAT_READ, self->fd, address(low->ids), 7));
	EXPECT_EQ(-EFAULT, compat(COMPAT_READ, self->fd, 0, 8));
	EXPECT_EQ(-EFAULT, compat(COMPAT_READ, self->fd, -8U, 8));
}

TEST_F(compat, ioctls)
{
	struct low *low = self->low;
	struct snowflake_info info;

	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, attr_put("worker_count", "7"));
	ASSERT_EQ(0, attr_put("sharing", "bound"));
	ASSERT_EQ(0, attr_put_number("worker_id", WORKER));

	low->bind.worker_id = WORKER + 7;
	EXPECT_EQ(-EINVAL, compat(COMPAT_IOCTL, self->fd, SNOWFLAKE_IOC_BIND,
				  address(&low->bind)));
	EXPECT_EQ(-EDESTADDRREQ, compat(COMPAT_READ, self->fd, address(low->ids), 8));
	low->bind.worker_id = WORKER + 6;
	EXPECT_EQ(0, compat(COMPAT_IOCTL, self->fd, SNOWFLAKE_IOC_BIND,
			    address(&low->bind)));
	EXPECT_EQ(-EBUSY, compat(COMPAT_IOCTL, self->fd, SNOWFLAKE_IOC_BIND,
				 address(&low->bind)));
	EXPECT_EQ((int)ID_SIZE, compat(COMPAT_READ, self->fd, address(low->ids), 8));
	EXPECT_EQ(WORKER + 6, id_worker(low->ids[0]));

	memset(&low->info, CANARY, sizeof(low->info));
	EXPECT_EQ(0, compat(COMPAT_IOCTL, self->fd, SNOWFLAKE_IOC_INFO,
			    address(&low->info)));
	ASSERT_EQ(0, ioctl(self->fd, SNOWFLAKE_IOC_INFO, &info));
	EXPECT_EQ(0, memcmp(&info, &low->info, sizeof(info)));
	EXPECT_EQ(WORKER + 6, low->info.bound_to);
	EXPECT_EQ(7, low->info.worker_count);

	low->available = -1;
	EXPECT_EQ(0, compat(COMPAT_IOCTL, self->fd, FIONREAD, address(&low->available)));
	EXPECT_LE(0, low->available);
	EXPECT_GE(IDS_PER_TICK * (int)ID_SIZE, low->available);
	EXPECT_EQ(0, low->available % (int)ID_SIZE);
	EXPECT_EQ(-ENOTTY, compat(COMPAT_IOCTL, self->fd, _IO(MAGIC, 77), 0));
	EXPECT_EQ(-EFAULT, compat(COMPAT_IOCTL, self->fd, SNOWFLAKE_IOC_INFO, 0));
}

/* The position is in two halves, and -1 says that there is none. */
TEST_F(compat, nowait)
{
	int nonblock = device_open(O_NONBLOCK), i, got = 0;
	struct low *low = self->low;
	unsigned int refused = 0;

	ASSERT_LE(0, nonblock);
	/* More than a block, lest one be left on this CPU. */
	low->iov[0].base = address(low->ids);
	low->iov[0].size = 2 * CPU_BLOCK * ID_SIZE;
	for (i = 0; i < ROUNDS; i++) {
		uint64_t result = COMPAT_PREADV2;

		ASSERT_EQ(0, drain_tick(nonblock, NULL));
		/* The sixth argument is in the frame pointer, which is saved. */
		asm volatile("push %%rbp\n\tmov %[flags], %%ebp\n\tint $0x80\n\tpop %%rbp"
			     : "+a"(result)
			     : "b"((uint64_t)self->fd), "c"((uint64_t)address(low->iov)),
			       "d"(1UL), "S"(0xffffffffUL), "D"(0xffffffffUL),
			       [flags] "i"(RWF_NOWAIT)
			     : "memory", "cc", "r8", "r9", "r10", "r11");
		got = (int)result;
		ASSERT_TRUE(got > 0 || got == -EAGAIN) TH_LOG("%d", got);
		refused += got == -EAGAIN;
	}
	EXPECT_LT(0, refused);
}
#endif

TEST_HARNESS_MAIN

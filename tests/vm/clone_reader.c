// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What runs in the machine that "clone" resumes twice. It reads ids, with a
 * write of the worker id waiting in a queue nearly all of the time, until the
 * kernel reports that this machine is a clone. Then it tells what it sees, asks
 * for a new worker id on the third serial port and reads ids with that.
 *
 * It prints lines of a word and values:
 *
 *	b ID		an id that was read before the report
 *	lost ERROR	how the first read after it failed
 *	NAME VALUE	an attribute then
 *	rose 0|1	the generation has risen since an id was read last: the
 *			attribute and the page
 *	again ERROR	how a later read failed
 *	poll REVENTS	of the device, in hexadecimal
 *	told 0|1	whoever polls the state heard of it in time
 *	queued ERROR	what came of the write that was waiting; 0: it was not
 *	ask		for a worker id
 *	write ERROR	what came of it; 0 is success
 *	a ID		an id that was read after it
 *	end
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE		"/dev/snowflake"
#define SYSFS		"/sys/class/misc/snowflake/"
#define PORT		"/dev/ttyS2"

#define EXTENDERS	8	/* so that there is a queue */
#define BEHIND_US	2000	/* for them to be there first */
#define NOT_AFTER_MS	4102444800000LL
#define IDS_AFTER	2000
#define PAUSE_US	1000	/* between ids, which have to be printed */
#define AGAIN		5
#define NEWS_MS		1200	/* in which pollers hear of a change */

static void die(const char *what)
{
	printf("died %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *get(const char *name)
{
	static char text[64];
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), SYSFS "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	got = read(fd, text, sizeof(text) - 1);
	if (got < 0)
		die(path);
	close(fd);
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static int put(const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, err = 0;

	snprintf(path, sizeof(path), SYSFS "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

static void show(const char *name)
{
	printf("%s %s\n", name, get(name));
}

/*
 * Rounds of writes, each of which waits for a grace period and holds up the
 * others: first those that extend the window, then one of the worker id that is
 * in force anyway. It is decided before the others are through.
 */
static pthread_barrier_t round_begin, round_end;
static atomic_bool over;
static atomic_llong not_after = NOT_AFTER_MS;

static void *extend_window(void *arg)
{
	char text[32];

	(void)arg;
	while (true) {
		pthread_barrier_wait(&round_begin);
		if (atomic_load(&over))
			return NULL;
		snprintf(text, sizeof(text), "%lld",
			 (long long)atomic_fetch_add(&not_after, 1));
		put("not_after_ms", text);
		pthread_barrier_wait(&round_end);
	}
}

static bool cloned(void)
{
	return strcmp(get("stats/clones"), "0");
}

static void *write_worker_id(void *arg)
{
	int *err = arg;
	char text[64];

	snprintf(text, sizeof(text), "%s", get("worker_id"));
	do {
		*err = 0;
		pthread_barrier_wait(&round_begin);
		usleep(BEHIND_US);
		if (!cloned())
			*err = put("worker_id", text);
		pthread_barrier_wait(&round_end);
	} while (!cloned());
	atomic_store(&over, true);
	pthread_barrier_wait(&round_begin);
	return NULL;
}

static pthread_t writers_start(int *err)
{
	pthread_t thread;
	int i;

	pthread_barrier_init(&round_begin, NULL, EXTENDERS + 1);
	pthread_barrier_init(&round_end, NULL, EXTENDERS + 1);
	for (i = 0; i < EXTENDERS; i++)
		if (pthread_create(&thread, NULL, extend_window, NULL))
			die("thread");
	if (pthread_create(&thread, NULL, write_worker_id, err))
		die("thread");
	return thread;
}

static int read_id(int fd, uint64_t *id)
{
	ssize_t got = read(fd, id, sizeof(*id));

	return got == sizeof(*id) ? 0 : got < 0 ? errno : EIO;
}

int main(void)
{
	struct pollfd pfd = { .events = POLLPRI };
	uint32_t before = UINT32_MAX, after;
	const uint32_t *page;
	char text[64];
	pthread_t writers;
	int fd, err, queued, i;
	bool rose, told;
	uint64_t id;
	FILE *port;

	setlinebuf(stdout);
	port = fopen(PORT, "re");
	fd = open(DEVICE, O_RDONLY | O_CLOEXEC);
	pfd.fd = open(SYSFS "state", O_RDONLY | O_CLOEXEC);
	if (!port || fd < 0 || pfd.fd < 0)
		die("open");
	page = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap");
	writers = writers_start(&queued);

	do {
		if (pread(pfd.fd, text, sizeof(text), 0) <= 0)
			die("state");
		after = *(const volatile uint32_t *)page;
		err = read_id(fd, &id);
		if (!err) {
			before = after;
			printf("b %ju\n", (uintmax_t)id);
		}
		usleep(PAUSE_US);
	} while (!err);

	printf("lost %s\n", strerrorname_np(err));
	pthread_join(writers, NULL);
	show("state");
	show("worker_id");
	show("stats/clones");
	after = *(const volatile uint32_t *)page;
	rose = (int32_t)(after - before) > 0;
	printf("rose %d\n", rose && strtoul(get("generation"), NULL, 10) == after);
	for (i = 0; i < AGAIN; i++) {
		printf("again %s\n", strerrorname_np(read_id(fd, &id)) ?: "0");
		usleep(PAUSE_US);
	}
	/* Unless it was seen when the state was read last. */
	told = !strncmp(text, "cloned", strlen("cloned")) ||
	       poll(&pfd, 1, NEWS_MS) == 1;
	printf("told %d\n", told);
	pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	poll(&pfd, 1, NEWS_MS);
	printf("poll %x\n", (unsigned int)pfd.revents);
	printf("queued %s\n", queued ? strerrorname_np(queued) : "0");

	puts("ask");
	if (!fgets(text, sizeof(text), port))
		die(PORT);
	printf("write %d\n", put("worker_id", text));
	show("state");
	show("worker_id");
	for (i = 0; i < IDS_AFTER; i++) {
		err = read_id(fd, &id);
		if (err)
			break;
		printf("a %ju\n", (uintmax_t)id);
	}
	if (err)
		printf("failed %s\n", strerrorname_np(err));
	puts("end");
	/* Without us the machine would power off, and be taken for a failed boot. */
	pause();
	return 0;
}

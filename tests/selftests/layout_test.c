// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Layouts: those with a name and those of one's own, what is refused and when,
 * the end of the timestamp field, and that no two layouts share a tick.
 */
#include <poll.h>
#include <sys/mman.h>

#include "layouts.h"
#include "kselftest_harness.h"

#define FULL_TICKS	8		/* to see used up */
#define READERS		3
#define READER_IDS	20000
#define READ_MAX_IDS	200
#define WAIT_MS		2000		/* longer than the longest tick */
#define CHANGES		42		/* of the layout */
#define ROUND_TRIPS	2
#define BACK_NS		(300 * NSEC_PER_MSEC)
#define END_MS		1200		/* to the end of the timestamp field */
#define END_LATE_MS	100		/* between the last of all ids and the end */
#define POLL_MS		1000		/* no poller sleeps longer past a change */
#define DAY_MS		86400000LL
#define YEAR_MS		(365 * DAY_MS)
#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define LINES_LIMIT	6		/* of log, before it may be rate-limited */

FIXTURE(preset) {
	const struct layout *layout;
};

FIXTURE_VARIANT(preset) {
	enum preset preset;
};

FIXTURE_VARIANT_ADD(preset, twitter) {
	.preset = TWITTER,
};

FIXTURE_VARIANT_ADD(preset, instagram) {
	.preset = INSTAGRAM,
};

FIXTURE_VARIANT_ADD(preset, discord) {
	.preset = DISCORD,
};

FIXTURE_VARIANT_ADD(preset, sonyflake) {
	.preset = SONYFLAKE,
};

FIXTURE_VARIANT_ADD(preset, js53) {
	.preset = JS53,
};

FIXTURE_SETUP(preset)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	self->layout = &presets[variant->preset];
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, layout_put(self->layout));
}

FIXTURE_TEARDOWN(preset)
{
	EXPECT_EQ(0, reset());
}

TEST_F(preset, its_values)
{
	EXPECT_STREQ("", layout_differs(self->layout));
	EXPECT_EQ(layout_ends_ms(self->layout), attr_number("layout/ends_ms"));

	/* The dates that their users know them by. */
	switch (variant->preset) {
	case TWITTER:	/* 2080-07 */
		EXPECT_LE(3487190400000LL, attr_number("layout/ends_ms"));
		EXPECT_GT(3489868800000LL, attr_number("layout/ends_ms"));
		break;
	case INSTAGRAM:	/* 2046-06, at the sign bit */
		EXPECT_LE(2411424000000LL, attr_number("layout/ends_ms"));
		EXPECT_GT(2414016000000LL, attr_number("layout/ends_ms"));
		break;
	case DISCORD:	/* 2084, at the sign bit */
		EXPECT_LE(3597523200000LL, attr_number("layout/ends_ms"));
		EXPECT_GT(3629145600000LL, attr_number("layout/ends_ms"));
		break;
	default:
		break;
	}
}

TEST_F(preset, ids_decode_to_now_and_worker)
{
	const struct layout *l = self->layout;
	const uint64_t top = layout_workers(l) - 1;
	const uint64_t workers[] = { 0, 1, top / 2 + 1, top - 1, top };
	unsigned int i, k;
	int fd;

	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		ASSERT_EQ(0, start(workers[i]));
		fd = device_open(0);
		ASSERT_LE(0, fd);
		for (k = 0; k < 20; k++) {
			EXPECT_STREQ("", layout_fault_now(l, fd, workers[i]));
			sleep_ns(NSEC_PER_MSEC);
		}
	}
}

/* By the formulas in their users' own programs. */
TEST_F(preset, ids_decode_by_the_published_formula)
{
	const uint64_t worker = layout_workers(self->layout) - 3;
	int64_t ms = 0, before;
	uint64_t id, found = 0;
	int fd;

	ASSERT_EQ(0, start(worker));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	before = now_ms();
	ASSERT_EQ(0, read_id(fd, &id));
	switch (variant->preset) {
	case TWITTER:	/* datacenter and worker, five bits each */
		ms = (id >> 22) + 1288834974657;
		found = (id >> 17 & 31) << 5 | (id >> 12 & 31);
		break;
	case INSTAGRAM:
		ms = (id >> 23) + 1314220021721;
		found = id >> 10 & 0x1fff;
		break;
	case DISCORD:	/* internal worker and process */
		ms = (id >> 22) + 1420070400000;
		found = (id & 0x3e0000) >> 17 << 5 | (id & 0x1f000) >> 12;
		break;
	case SONYFLAKE:
		ms = (id >> 24) * 10 + 1409529600000;
		found = id & 0xffff;
		break;
	case JS53:
		ms = id / 4096 + 1577836800000;
		found = id / 256 % 16;
		/* As a program without integers would see it. */
		EXPECT_EQ(id, (uint64_t)(double)id);
		break;
	default:
		break;
	}
	EXPECT_EQ(worker, found);
	EXPECT_LE(-2 * self->layout->tick_ms, ms - before);
	EXPECT_GE(20 + 2 * self->layout->tick_ms, ms - before);
}

TEST_F(preset, fault17_each_number_of_a_tick_once)
{
	struct fill fill = {
		.layout = self->layout,
		.worker = layout_workers(self->layout) / 2,
		.workers = 1,
	};

	ASSERT_EQ(0, start(fill.worker));
	fill.fd = device_open(0);
	ASSERT_LE(0, fill.fd);
	EXPECT_STREQ("", fill_ticks(&fill, FULL_TICKS));
	EXPECT_LE(FULL_TICKS, fill.full);
	EXPECT_TRUE(variant->preset != JS53 || fill.last < 1ULL << 53);
}

TEST_F(preset, no_duplicate_among_readers)
{
	struct readers *rs = readers_new(READERS, READ_MAX_IDS);
	struct reader *r;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, start(1));
	for_each_reader(r, rs)
		r->target = layout_sequences(self->layout) * 20 / self->layout->tick_ms;
	ASSERT_EQ(0, readers_start(rs));
	readers_wait(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
	for_each_reader(r, rs) {
		EXPECT_LE(r->target, r->log.ids);
		EXPECT_EQ(1, layout_worker(self->layout, r->log.last));
	}
}

/*
 * Layouts of one's own. An epoch of 0 stands for one so long ago that a tenth
 * of the timestamp field is used.
 */
static const struct layout customs[] = {
	{ CUSTOM, 41, 10, 13, WORKER_SEQUENCE, 1, 1577836800000LL },
	{ CUSTOM, 41, 13, 10, SEQUENCE_WORKER, 1, 1577836800000LL },
	{ CUSTOM, 42, 10, 12, SEQUENCE_WORKER, 10, 1 },
	{ CUSTOM, 43, 5, 10, WORKER_SEQUENCE, 1, 0 },
	{ CUSTOM, 31, 20, 12, WORKER_SEQUENCE, 1, 0 },
	{ CUSTOM, 31, 20, 10, SEQUENCE_WORKER, 1, 0 },
	{ CUSTOM, 22, 40, 1, WORKER_SEQUENCE, 1, 0 },
	{ CUSTOM, 22, 40, 2, SEQUENCE_WORKER, 1, 0 },
	{ CUSTOM, 62, 1, 1, WORKER_SEQUENCE, 1, 1577836800000LL },
	{ CUSTOM, 60, 2, 2, SEQUENCE_WORKER, 2, 1577836800000LL },
	{ CUSTOM, 39, 16, 9, WORKER_SEQUENCE, 10, 1409529600000LL },
	{ CUSTOM, 38, 4, 13, WORKER_SEQUENCE, 7, 1500000000123LL },
	{ CUSTOM, 33, 8, 14, SEQUENCE_WORKER, 100, 1500000000123LL },
	{ CUSTOM, 31, 15, 15, WORKER_SEQUENCE, 1000, 1577836800000LL },
	{ CUSTOM, 33, 15, 16, SEQUENCE_WORKER, 300, 1234567890123LL },
};

static struct layout custom(unsigned int nr)
{
	struct layout l = customs[nr];

	if (!l.epoch_ms)
		l.epoch_ms = now_ms() - layout_last_tick(&l) / 10 * l.tick_ms;
	if (l.epoch_ms < 0)
		l.epoch_ms = 0;
	return l;
}

FIXTURE(layout) {
};

FIXTURE_SETUP(layout)
{
	const char *why = missing(NEED_ROOT);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
}

FIXTURE_TEARDOWN(layout)
{
	EXPECT_EQ(0, reset());
}

/* As wide as a block may be where the tick has so few numbers. */
static int small_block(const struct layout *l)
{
	uint64_t sequences = layout_sequences(l);

	return attr_put_number("cpu_block", sequences < 256 ? 1 : CPU_BLOCK);
}

TEST_F_TIMEOUT(layout, custom, 60)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(customs); i++) {
		struct layout l = custom(i);
		const uint64_t workers[] = { 0, layout_workers(&l) - 1 };
		struct fill fill = { .layout = &l, .workers = 1 };
		unsigned int full = l.tick_ms < 100 ? 4 : l.tick_ms < 1000;

		ASSERT_EQ(0, layout_put(&l)) TH_LOG("custom layout %u", i);
		ASSERT_EQ(0, small_block(&l));
		EXPECT_STREQ("", layout_differs(&l)) TH_LOG("custom layout %u", i);
		EXPECT_EQ(layout_ends_ms(&l), attr_number("layout/ends_ms"));
		for (k = 0; k < ARRAY_SIZE(workers); k++) {
			ASSERT_EQ(0, start(workers[k])) TH_LOG("custom layout %u", i);
			fill.fd = device_open(0);
			ASSERT_LE(0, fill.fd);
			EXPECT_STREQ("", layout_fault_now(&l, fill.fd, workers[k])) {
				TH_LOG("custom layout %u", i);
			}
			fill.worker = workers[k];
			EXPECT_STREQ("", fill_ticks(&fill, full)) {
				TH_LOG("custom layout %u", i);
			}
			close(fill.fd);
		}
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
	}
}

/* A tick of 2^40 numbers, which no word of 32 bits could count. */
TEST_F(layout, custom_wide_sequence)
{
	static uint64_t ids[MAX_READ_IDS];
	struct layout l = {
		CUSTOM, 22, 1, 40, WORKER_SEQUENCE, 1,
		now_ms() - (1 << 22) / 10,
	};
	struct readers *rs = readers_new(READERS, MAX_READ_IDS);
	struct reader *r;
	int nonblock, i, whole = 0;
	ssize_t got;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, layout_start(&l, 1));
	nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, nonblock);
	EXPECT_STREQ("", layout_fault_now(&l, nonblock, 1));
	/* It is never used up; only the clock may end it. */
	for (i = 0; i < 20; i++) {
		got = read(nonblock, ids, sizeof(ids));
		ASSERT_LT(0, got) TH_LOG("%s", strerror(errno));
		EXPECT_TRUE(got == sizeof(ids) || layout_end_ms(&l, ids[0]) <= now_ms());
		EXPECT_EQ(1, layout_worker(&l, ids[0]));
		EXPECT_EQ(layout_tick(&l, ids[0]), layout_tick(&l, ids[got / ID_SIZE - 1]));
		whole += got == sizeof(ids);
	}
	EXPECT_LT(0, whole);

	for_each_reader(r, rs)
		r->target = READER_IDS;
	ASSERT_EQ(0, readers_start(rs));
	readers_wait(rs);
	EXPECT_STREQ("", readers_fault(rs, 0));
}

/* Each part with a value other than the default's, that fits. */
static const struct {
	const char *name;
	const char *value;
	bool part;		/* of the layout, so that it is custom */
} shapes[] = {
	{ "layout/timestamp_bits", "40", true },
	{ "layout/worker_bits", "9", true },
	{ "layout/sequence_bits", "11", true },
	{ "layout/order", SEQUENCE_WORKER, true },
	{ "layout/tick_ms", "2", true },
	{ "layout/epoch_ms", "1288834974656", true },
	{ "layout/preset", "instagram", false },
	{ "layout/preset", CUSTOM, false },
	{ "worker_count", "2", false },
	{ "sharing", "bound", false },
	{ "cpu_block", "32", false },
	{ "sequence_start", "spread", false },
};

TEST_F(layout, a_part_makes_it_custom)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (!shapes[i].part)
			continue;
		ASSERT_EQ(0, attr_put("layout/preset", "twitter"));
		ASSERT_EQ(0, attr_put(shapes[i].name, shapes[i].value));
		EXPECT_STREQ(shapes[i].value, attr_string(shapes[i].name));
		EXPECT_STREQ(CUSTOM, attr_string("layout/preset")) {
			TH_LOG("%s", shapes[i].name);
		}
		/* A preset takes all of it back. */
		ASSERT_EQ(0, attr_put("layout/preset", "twitter\n"));
		EXPECT_STREQ("", layout_differs(&presets[TWITTER])) {
			TH_LOG("%s", shapes[i].name);
		}
	}
}

TEST_F(layout, custom_keeps_the_parts)
{
	struct layout l = presets[SONYFLAKE];
	int fd;

	ASSERT_EQ(0, attr_put("layout/preset", l.preset));
	ASSERT_EQ(0, attr_put("layout/preset", CUSTOM));
	l.preset = CUSTOM;
	EXPECT_STREQ("", layout_differs(&l));
	ASSERT_EQ(0, start(3));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	EXPECT_STREQ("", layout_fault_now(&l, fd, 3));
}

TEST_F(layout, all_that_shapes_ids_is_fixed_while_running)
{
	char before[64];
	unsigned int i;
	int fd;

	ASSERT_EQ(0, start(5));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		ASSERT_EQ(0, attr_get(shapes[i].name, before, sizeof(before)));
		EXPECT_STRNE(shapes[i].value, before);
		EXPECT_EQ(-EBUSY, attr_put(shapes[i].name, shapes[i].value)) {
			TH_LOG("%s", shapes[i].name);
		}
		EXPECT_STREQ(before, attr_string(shapes[i].name));
		EXPECT_STREQ("", layout_differs(&presets[TWITTER]));
		EXPECT_STREQ("", layout_fault_now(&presets[TWITTER], fd, 5));
	}
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		EXPECT_EQ(0, attr_put(shapes[i].name, shapes[i].value)) {
			TH_LOG("%s", shapes[i].name);
		}
		EXPECT_STREQ(shapes[i].value, attr_string(shapes[i].name));
	}
}

#define BAD_NUMBERS							\
	"-1", "x", "1.0", "1 2", "7x", "\n", "0x", "--1", "1e1",	\
	"4294967297", "18446744073709551617", "-18446744073709551615",	\
	"99999999999999999999999999999999999999999999999999"

static const struct {
	const char *name;
	const char *values[24];
} bad[] = {
	{ "layout/timestamp_bits", { BAD_NUMBERS, "0", "65", "257" } },
	{ "layout/worker_bits", { BAD_NUMBERS, "0", "65", "257" } },
	{ "layout/sequence_bits", { BAD_NUMBERS, "0", "65", "257" } },
	{ "layout/tick_ms", { BAD_NUMBERS, "0", "1001", "65537" } },
	{ "layout/epoch_ms", { "-1", "x", "1.0", "1 2", "7x", "\n", "--1",
			       "18446744073709551616", "18446744073709551617",
			       "-1288834974657", "2010-11-04" } },
	{ "layout/order", { "x", "\n", "sequence", "worker", "0", "1",
			    "Worker-Sequence", "worker-sequence x",
			    "worker-sequenc", "worker-sequences",
			    "sequence-worker\n\n", "worker_sequence" } },
	{ "layout/preset", { "x", "\n", "Twitter", "twitte", "twitters",
			     "twitter instagram", "0", "1", "js54",
			     "js53\n\n", " js53", "(null)" } },
	{ "sharing", { "x", "\n", "0", "1", "Bound", "boun", "bounds",
		       "pooled bound", "bound\n\n" } },
	{ "sequence_start", { "x", "\n", "0", "1", "Spread", "sprea", "spreads",
			      "zero spread", "spread\n\n" } },
	{ "worker_count", { BAD_NUMBERS, "0" } },
	{ "cpu_block", { BAD_NUMBERS } },
};

TEST_F(layout, fault15_malformed_and_out_of_range)
{
	char before[64], preset[64];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_EQ(0, attr_get("layout/preset", preset, sizeof(preset)));
		ASSERT_EQ(0, attr_get(bad[i].name, before, sizeof(before))) {
			TH_LOG("%s", bad[i].name);
		}
		for (k = 0; k < ARRAY_SIZE(bad[i].values) && bad[i].values[k]; k++) {
			const char *value = bad[i].values[k];

			EXPECT_EQ(-EINVAL, attr_put(bad[i].name, value)) {
				TH_LOG("%s took '%s'", bad[i].name, value);
			}
			EXPECT_STREQ(before, attr_string(bad[i].name)) {
				TH_LOG("%s changed by '%s'", bad[i].name, value);
			}
			EXPECT_STREQ(preset, attr_string("layout/preset")) {
				TH_LOG("preset changed by %s '%s'", bad[i].name, value);
			}
		}
	}
	EXPECT_STREQ("", layout_differs(&presets[TWITTER]));
	EXPECT_EQ(0, start(5));
}

TEST_F(layout, ends_ms_is_read_only)
{
	EXPECT_NE(0, attr_put("layout/ends_ms", "1"));
	EXPECT_EQ(ENDS_MS, attr_number("layout/ends_ms"));
}

/*
 * What fits part by part and not as a whole is told when the worker id is
 * written. The log is rate-limited, so few cases share one load of the module.
 */
FIXTURE(whole) {
	int kmsg;
};

FIXTURE_SETUP(whole)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, module_reload(""));
	self->kmsg = kmsg_open();
	ASSERT_LE(0, self->kmsg);
}

FIXTURE_TEARDOWN(whole)
{
	close_all();
	EXPECT_EQ(0, module_reload(""));
	EXPECT_EQ(0, reset());
}

static const char *const shaping[] = {
	"layout/preset", "layout/timestamp_bits", "layout/worker_bits",
	"layout/sequence_bits", "layout/order", "layout/tick_ms",
	"layout/epoch_ms", "layout/ends_ms", "worker_count", "sharing",
	"cpu_block", "sequence_start", "worker_id", "state", "generation",
	"last_timestamp_ms",
};

struct shape {
	char value[ARRAY_SIZE(shaping)][64];
};

static struct shape shape_now(void)
{
	struct shape shape = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shaping); i++)
		attr_get(shaping[i], shape.value[i], sizeof(shape.value[i]));
	return shape;
}

static const struct whole_case {
	const char *names;	/* in the log */
	struct {
		const char *name;
		const char *value;
	} put[5];
	const char *worker;
	const char *cure;	/* a worker id, or a part that makes it fit */
	const char *cured;
} wholes[] = {
	{ "_bits", { { "layout/sequence_bits", "14" } }, "5",
	  "layout/sequence_bits", "13" },
	{ "_bits", { { "layout/timestamp_bits", "62" } }, "5",
	  "layout/timestamp_bits", "42" },
	{ "_bits", { { "layout/worker_bits", "40" }, { "layout/sequence_bits", "13" } },
	  "5", "layout/worker_bits", "10" },
	{ "worker_id", { { "layout/preset", "js53" } }, "16", NULL, "15" },
	{ "worker_id", { { "layout/worker_bits", "4" } }, "1023", NULL, "15" },
	{ "worker_id", { { "layout/preset", "sonyflake" } }, "65536", NULL, "65535" },
	{ "worker_id", {}, "4294967301", NULL, "5" },
	{ "worker_", { { "layout/preset", "js53" }, { "worker_count", "2" } }, "15",
	  NULL, "14" },
	{ "worker_", { { "layout/preset", "instagram" }, { "worker_count", "8192" } },
	  "1", NULL, "0" },
	/* It was in range for the layout under which it was written. */
	{ "worker_count", { { "worker_count", "17" }, { "layout/preset", "js53" } },
	  "0", "worker_count", "16" },
	{ "worker_count", { { "layout/preset", "sonyflake" },
			    { "worker_count", "8193" }, { "sharing", "bound" } }, "0",
	  "worker_count", "8192" },
};

static void check_whole(struct __test_metadata *_metadata, int kmsg,
			const struct whole_case *c)
{
	struct shape before, after;
	int fd = device_open(0), all, with;
	unsigned int k;
	uint64_t id;

	ASSERT_LE(0, fd);
	for (k = 0; k < ARRAY_SIZE(c->put) && c->put[k].name; k++)
		ASSERT_EQ(0, attr_put(c->put[k].name, c->put[k].value)) {
			TH_LOG("%s", c->put[k].name);
		}
	kmsg_lines(kmsg, "", &all);

	before = shape_now();
	EXPECT_EQ(-EINVAL, attr_put("worker_id", c->worker));
	after = shape_now();
	for (k = 0; k < ARRAY_SIZE(shaping); k++) {
		EXPECT_STREQ(before.value[k], after.value[k]) {
			TH_LOG("%s changed", shaping[k]);
		}
	}
	with = kmsg_lines(kmsg, c->names, &all);
	EXPECT_EQ(1, with) TH_LOG("no line names %s", c->names);
	EXPECT_EQ(1, all) TH_LOG("%d lines of log", all);
	EXPECT_STREQ("no-worker", attr_string("state"));
	EXPECT_EQ(-ENXIO, read_id(fd, &id));

	/* It was that alone which was wrong. */
	if (c->cure) {
		ASSERT_EQ(0, attr_put(c->cure, c->cured));
		EXPECT_EQ(0, attr_put("worker_id", c->worker));
	} else {
		EXPECT_EQ(0, attr_put("worker_id", c->cured));
	}
	kmsg_lines(kmsg, "", &all);
	EXPECT_EQ(0, all) TH_LOG("%d lines of log", all);
	close(fd);
	EXPECT_EQ(0, attr_put("worker_id", "-1"));
}

TEST_F_TIMEOUT(whole, fault15_told_when_the_worker_id_is_written, 60)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wholes); i++) {
		ASSERT_EQ(0, i % LINES_LIMIT ? reset() : module_reload(""));
		TH_LOG("case %u: worker_id %s", i, wholes[i].worker);
		check_whole(_metadata, self->kmsg, &wholes[i]);
	}
}

TEST_F(whole, an_epoch_that_is_not_past)
{
	const struct whole_case future = {
		.names = "epoch_ms", .worker = "5",
		.cure = "layout/epoch_ms", .cured = "1577836800000",
	};

	ASSERT_EQ(0, attr_put_number("layout/epoch_ms", now_ms() + DAY_MS));
	check_whole(_metadata, self->kmsg, &future);
}

TEST_F(whole, a_clock_before_the_epoch)
{
	const struct whole_case past = {
		.names = "epoch_ms", .worker = "5",
		.cure = "layout/preset", .cured = "twitter",
	};

	/* Past it is, but not for a clock that was never set. */
	ASSERT_EQ(0, attr_put_number("layout/epoch_ms", now_ms() - 1000));
	ASSERT_EQ(0, clock_step(-HOUR_NS));
	/* That the clock was set is a line of its own. */
	sleep_ns(50 * NSEC_PER_MSEC);
	check_whole(_metadata, self->kmsg, &past);
}

/* While one is in force, a worker id that does not fit changes nothing. */
TEST_F(whole, refused_while_running)
{
	struct shape before, after;
	unsigned int k;
	int fd, all;

	ASSERT_EQ(0, layout_start(&presets[JS53], 3));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kmsg_lines(self->kmsg, "worker_id", &all));
	before = shape_now();
	EXPECT_EQ(-EINVAL, attr_put("worker_id", "16"));
	EXPECT_EQ(1, kmsg_lines(self->kmsg, "worker_id", &all));
	after = shape_now();
	for (k = 0; k < ARRAY_SIZE(shaping); k++) {
		EXPECT_STREQ(before.value[k], after.value[k]) {
			TH_LOG("%s changed", shaping[k]);
		}
	}
	EXPECT_STREQ("", layout_fault_now(&presets[JS53], fd, 3));
}

/* A warning once, not with each worker id, and none when there is time left. */
TEST_F(whole, fault20_a_warning_in_the_last_year)
{
	struct layout l = { CUSTOM, 40, 10, 12, WORKER_SEQUENCE, 1, 0 };
	int64_t last = layout_last_tick(&l);
	int all, i;

	l.epoch_ms = now_ms() - last + YEAR_MS + 30 * DAY_MS;
	ASSERT_EQ(0, layout_start(&l, 5));
	sleep_ns(NSEC_PER_SEC / 2);
	kmsg_lines(self->kmsg, "", &all);
	EXPECT_EQ(0, all) TH_LOG("warned too early");
	ASSERT_EQ(0, attr_put("worker_id", "-1"));

	l.epoch_ms = now_ms() - last + YEAR_MS - 30 * DAY_MS;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, layout_start(&l, 5));
	sleep_ns(NSEC_PER_SEC);
	EXPECT_EQ(1, kmsg_lines(self->kmsg, "end", &all));
	EXPECT_EQ(1, all) TH_LOG("%d lines of log", all);
}

/*
 * The end of the timestamp field, a second or two away: EOVERFLOW, and never a
 * negative id.
 */
FIXTURE(end) {
	struct layout layout;
};

FIXTURE_VARIANT(end) {
	struct layout layout;
};

FIXTURE_VARIANT_ADD(end, of_the_field) {
	.layout = { CUSTOM, 31, 10, 12, WORKER_SEQUENCE, 1, 0 },
};

FIXTURE_VARIANT_ADD(end, at_bit_63_of_64) {
	.layout = { CUSTOM, 41, 11, 12, WORKER_SEQUENCE, 1, 0 },
};

FIXTURE_VARIANT_ADD(end, of_10_ms_ticks) {
	.layout = { CUSTOM, 36, 16, 8, SEQUENCE_WORKER, 10, 0 },
};

FIXTURE_VARIANT_ADD(end, at_bit_63_wide_worker) {
	.layout = { CUSTOM, 23, 39, 2, SEQUENCE_WORKER, 1, 0 },
};

FIXTURE_SETUP(end)
{
	const char *why = missing(NEED_ROOT);
	struct layout *l = &self->layout;

	if (why)
		SKIP(return, "%s", why);
	*l = variant->layout;
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, small_block(l));
	l->epoch_ms = now_ms() - layout_last_tick(l) * l->tick_ms + END_MS;
	ASSERT_LT(0, l->epoch_ms);
}

FIXTURE_TEARDOWN(end)
{
	EXPECT_EQ(0, reset());
}

TEST_F(end, fault20_eoverflow_and_no_negative_id)
{
	const struct layout *l = &self->layout;
	const uint64_t worker = layout_workers(l) - 1;
	struct readers *rs = readers_new(READERS, READ_MAX_IDS);
	const int64_t ends = layout_ends_ms(l);
	struct pollfd poller = { .events = POLLIN };
	int64_t last_ms = 0;
	int nonblock, before;
	struct reader *r;
	uint64_t id;

	ASSERT_NE(NULL, rs);
	ASSERT_EQ(0, layout_start(l, worker));
	EXPECT_EQ(ends, attr_number("layout/ends_ms"));
	/* What was opened before the end and has a block of it. */
	before = device_open(0);
	ASSERT_LE(0, before);
	nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, nonblock);
	ASSERT_EQ(0, read_id(before, &id));

	rs->each[0].flags = O_NONBLOCK;
	rs->each[1].max_ids = MAX_READ_IDS;
	ASSERT_EQ(0, readers_start(rs));
	while (now_ms() <= ends + l->tick_ms)
		sleep_ns(20 * NSEC_PER_MSEC);
	EXPECT_STREQ("ended", attr_string("state"));
	EXPECT_EQ(-EOVERFLOW, read_id(before, &id));
	EXPECT_EQ(-EOVERFLOW, read_id(nonblock, &id));
	poller.fd = before;
	EXPECT_EQ(1, poll(&poller, 1, POLL_MS));
	EXPECT_EQ(POLLIN | POLLERR, poller.revents);
	sleep_ns(100 * NSEC_PER_MSEC);
	readers_stop(rs);

	rs->each[0].failed[EAGAIN] = 0;
	EXPECT_STREQ("", readers_fault(rs, EOVERFLOW));
	for_each_reader(r, rs) {
		EXPECT_LT(0, r->failed[EOVERFLOW]);
		EXPECT_LT(0, (int64_t)r->log.last);
		EXPECT_EQ(worker, layout_worker(l, r->log.last));
		EXPECT_GE(layout_last_tick(l), layout_tick(l, r->log.last));
		if (last_ms < layout_begin_ms(l, r->log.last))
			last_ms = layout_begin_ms(l, r->log.last);
	}
	EXPECT_LE(ends - END_LATE_MS, last_ms);

	/* It has not ended with another layout. */
	ASSERT_EQ(0, attr_put("worker_id", "-1"));
	ASSERT_EQ(0, layout_put(&presets[TWITTER]));
	ASSERT_EQ(0, attr_put("cpu_block", "64"));
	ASSERT_EQ(0, start(5));
}

/* A field that ended long ago: nothing is minted at all. */
TEST_F(layout, fault20_ended_from_the_start)
{
	struct layout l = { CUSTOM, 20, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS };
	long long minted = attr_number("stats/ids");
	int fd = device_open(0);
	uint64_t id;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, layout_put(&l));
	ASSERT_EQ(0, attr_put("worker_id", "5"));
	EXPECT_EQ(-EOVERFLOW, read_id(fd, &id));
	EXPECT_STREQ("ended", attr_string("state"));
	EXPECT_EQ(minted, attr_number("stats/ids"));
}

/*
 * No two configurations share a tick, whatever their ticks and epochs: every id
 * of a configuration begins at or after the end of the last of the one before.
 */
TEST_F_TIMEOUT(layout, no_two_layouts_share_a_tick, 60)
{
	static const struct layout chain[] = {
		{ "twitter", 41, 10, 12, WORKER_SEQUENCE, 1, EPOCH_MS },
		{ "sonyflake", 39, 16, 8, SEQUENCE_WORKER, 10, 1409529600000LL },
		{ "discord", 42, 10, 12, WORKER_SEQUENCE, 1, 1420070400000LL },
		{ CUSTOM, 38, 8, 12, WORKER_SEQUENCE, 7, 1500000000123LL },
		{ "instagram", 41, 13, 10, WORKER_SEQUENCE, 1, 1314220021721LL },
		{ CUSTOM, 34, 8, 12, SEQUENCE_WORKER, 100, 1577836799999LL },
		{ "js53", 41, 4, 8, WORKER_SEQUENCE, 1, 1577836800000LL },
	};
	int64_t edge = 0, begin;
	int fd, nonblock, i, k;
	uint64_t first, last;

	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	ASSERT_EQ(0, start(3));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	nonblock = device_open(O_NONBLOCK);
	ASSERT_LE(0, nonblock);
	for (i = 0; i < CHANGES; i++) {
		/* 7 is prime: each comes after each, in time. */
		const struct layout *l = &chain[i * (1 + i / 7) % ARRAY_SIZE(chain)];

		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(0, layout_put(l));
		ASSERT_EQ(0, attr_put("worker_id", "3"));
		for (k = 0; k < 3; k++) {
			ASSERT_EQ(0, read_id(fd, &first));
			last = first;
			/* Where a tick is used up, the next one begins. */
			ASSERT_EQ(0, i % 3 ? drain_tick(nonblock, &last) : 0);
			begin = layout_begin_ms(l, first);
			EXPECT_LE(edge, begin) {
				TH_LOG("change %d: %s begins %jd ms before the other's end",
				       i, l->preset, (intmax_t)(edge - begin));
			}
			EXPECT_EQ(3, layout_worker(l, first));
		}
		edge = layout_end_ms(l, last);
	}
}

/*
 * From one layout to another and back, with the clock set back in between: the
 * floor has to survive the other layout, minted from or not.
 */
static void round_trip(struct __test_metadata *_metadata, enum preset other,
		       bool mint)
{
	static uint64_t ids[MAX_READ_IDS];
	const struct layout *home = &presets[TWITTER];
	struct id_log log, away;
	int fd, i;

	ASSERT_EQ(0, log_init(&log, 1 << 16));
	ASSERT_EQ(0, log_init(&away, 1 << 16));
	for (i = 0; i < ROUND_TRIPS; i++) {
		fd = device_open(0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(0, layout_put(home));
		ASSERT_EQ(0, attr_put("worker_id", "5"));
		ASSERT_EQ((ssize_t)sizeof(ids), read(fd, ids, sizeof(ids)));
		log_add(&log, ids, MAX_READ_IDS);
		ASSERT_EQ(0, attr_put("worker_id", "-1"));
		ASSERT_EQ(0, clock_step(-BACK_NS));

		ASSERT_EQ(0, layout_put(&presets[other]));
		ASSERT_EQ(0, attr_put("worker_id", "5"));
		if (mint) {
			/* 5 ids of the other: it waits for the clock. */
			ASSERT_EQ((ssize_t)(5 * ID_SIZE), read(fd, ids, 5 * ID_SIZE));
			log_add(&away, ids, 5);
			EXPECT_LT(layout_begin_ms(home, log.last),
				  layout_begin_ms(&presets[other], ids[0]));
			ASSERT_EQ(0, attr_put("worker_id", "-1"));
			ASSERT_EQ(0, clock_step(-BACK_NS));
		}
		close(fd);
	}
	EXPECT_EQ(0, log.falls);
	EXPECT_EQ(0, log.negative);
	EXPECT_FALSE(log.full);
	EXPECT_EQ(0, away.falls);
}

FIXTURE(trip) {
};

FIXTURE_VARIANT(trip) {
	enum preset other;
	bool mint;
};

FIXTURE_VARIANT_ADD(trip, sonyflake) {
	.other = SONYFLAKE,
	.mint = true,
};

FIXTURE_VARIANT_ADD(trip, sonyflake_unused) {
	.other = SONYFLAKE,
};

FIXTURE_VARIANT_ADD(trip, discord) {
	.other = DISCORD,
	.mint = true,
};

FIXTURE_VARIANT_ADD(trip, js53_unused) {
	.other = JS53,
};

FIXTURE_SETUP(trip)
{
	const char *why = missing(NEED_ROOT | NEED_MACHINE);

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, reset());
	ASSERT_EQ(0, start(5));
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", 2 * WAIT_MS));
}

FIXTURE_TEARDOWN(trip)
{
	EXPECT_EQ(0, reset());
}

TEST_F(trip, there_and_back_with_the_clock_set_back)
{
	round_trip(_metadata, variant->other, variant->mint);
}

/* Behind the epoch there is no timestamp: nothing is minted, nothing wraps. */
TEST_F(trip, clock_set_before_the_epoch)
{
	struct layout l = presets[variant->other];
	uint64_t id;
	int fd;

	l.preset = CUSTOM;
	l.epoch_ms = now_ms() - 10000;
	ASSERT_EQ(0, layout_start(&l, 5));
	fd = device_open(0);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, attr_put("rewind_wait_ms", "0"));
	ASSERT_EQ(0, clock_step(-HOUR_NS));
	EXPECT_EQ(-ECANCELED, read_id(fd, &id));
	ASSERT_EQ(0, clock_restore());
	ASSERT_EQ(0, attr_put_number("rewind_wait_ms", WAIT_MS));
	EXPECT_STREQ("", layout_fault_now(&l, fd, 5));
}

TEST_HARNESS_MAIN

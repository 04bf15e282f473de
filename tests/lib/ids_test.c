// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Layouts and ids: presets, checks, limits, fields and spans of time. What is
 * expected was worked out on paper from the formulas, not with the library.
 */
#include "lib_test.h"

/**
 * struct paper - what a preset is, and has room for
 * @name: its name
 * @layout: its fields
 * @limits: its limits
 * @years: tenths of a year (of 365.25 days) from the epoch to the end
 * @bits: bits that an id can use
 */
struct paper {
	const char *name;
	struct snowflake_id_layout layout;
	struct snowflake_limits limits;
	unsigned int years;
	unsigned int bits;
};

static const struct paper papers[] = {
	{
		"twitter",
		{ 1288834974657, 1, 41, 10, 12, SNOWFLAKE_SEQUENCE_LOWEST },
		{ 4096, 4096000, 1024, 4194304000, 3487858230208, 2199023255552 },
		697, 63
	}, {
		"instagram",
		{ 1314220021721, 1, 41, 13, 10, SNOWFLAKE_SEQUENCE_LOWEST },
		{ 1024, 1024000, 8192, 8388608000, 2413731649496, 1099511627776 },
		348, 63
	}, {
		"discord",
		{ 1420070400000, 1, 42, 10, 12, SNOWFLAKE_SEQUENCE_LOWEST },
		{ 4096, 4096000, 1024, 4194304000, 3619093655551, 2199023255552 },
		697, 63
	}, {
		"sonyflake",
		{ 1409529600000, 10, 39, 16, 8, SNOWFLAKE_WORKER_LOWEST },
		{ 256, 25600, 65536, 1677721600, 6907087738870, 5497558138880 },
		1742, 63
	}, {
		"js53",
		{ 1577836800000, 1, 41, 4, 8, SNOWFLAKE_SEQUENCE_LOWEST },
		{ 256, 256000, 16, 4096000, 3776860055551, 2199023255552 },
		697, 53
	},
};

#define NO_ID UINT64_C(0xdeadbeefdeadbeef)

static uint64_t below(uint64_t limit)
{
	return test_random() % limit;
}

/* A layout of any widths, ticks and order in which ids can be made. */
static struct snowflake_id_layout any_layout(void)
{
	struct snowflake_id_layout layout = {
		.epoch_ms = below(UINT64_C(1) << 41),
		.tick_ms = 1 + below(1000),
		.timestamp_bits = 1 + below(62),
		.order = below(2),
	};

	layout.worker_bits = 1 + below(63 - layout.timestamp_bits);
	layout.sequence_bits = 1 + below(64 - layout.timestamp_bits -
					 layout.worker_bits);
	if (!below(2))
		layout = papers[below(ARRAY_SIZE(papers))].layout;
	return layout;
}

/* How many ticks ids can carry: bit 63 is never set. */
static uint64_t ticks_of(const struct snowflake_id_layout *layout)
{
	unsigned int bits = 63 - layout->worker_bits - layout->sequence_bits;

	if (bits > layout->timestamp_bits)
		bits = layout->timestamp_bits;
	return UINT64_C(1) << bits;
}

static void presets_are_as_on_paper(void **state)
{
	struct snowflake_id_layout layout;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(papers); i++) {
		assert_string_equal(snowflake_preset_name(i), papers[i].name);
		assert_int_equal(snowflake_preset(papers[i].name, &layout), 0);
		assert_memory_equal(&layout, &papers[i].layout, sizeof(layout));
		assert_int_equal(snowflake_check_layout(&layout, NULL), 0);
	}
	assert_null(snowflake_preset_name(i));
	assert_null(snowflake_preset_name(UINT32_MAX));
}

static void presets_have_no_other_names(void **state)
{
	static const char * const wrong[] = {
		"", "custom", "Twitter", "twitter ", " twitter", "twitte",
		"twitterx", "0",
	};
	struct snowflake_id_layout layout, before;
	unsigned int i;

	(void)state;
	memset(&layout, 0xa5, sizeof(layout));
	before = layout;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(snowflake_preset(wrong[i], &layout), -EINVAL);
		assert_memory_equal(&layout, &before, sizeof(layout));
	}
}

/**
 * struct mistake - a layout in which no ids can be made
 * @layout: the layout
 * @why: what the reason must name
 */
struct mistake {
	struct snowflake_id_layout layout;
	const char *why;
};

static const struct mistake mistakes[] = {
	{ { 1, 1, 0, 10, 12, 0 }, "timestamp_bits" },
	{ { 1, 1, 41, 0, 12, 0 }, "worker_bits" },
	{ { 1, 1, 41, 10, 0, 0 }, "sequence_bits" },
	{ { 1, 1, 42, 11, 12, 0 }, "64" },
	{ { 1, 1, 255, 255, 255, 0 }, "64" },
	{ { 1, 1, 41, 10, 12, 2 }, "order" },
	{ { 1, 0, 41, 10, 12, 0 }, "tick_ms" },
	{ { 1, 1001, 41, 10, 12, 0 }, "tick_ms" },
	{ { UINT64_MAX, 1, 41, 10, 12, 0 }, "epoch_ms" },
	{ { 1, 1, 41, 10, 12, 0, { 1, 0 } }, "reserved" },
	{ { 1, 1, 41, 10, 12, 0, { 0, 1 } }, "reserved" },
};

static void wrong_layouts_are_told(void **state)
{
	const struct snowflake_id_parts parts = { .tick = 1 };
	struct snowflake_id_parts decoded, no_parts;
	struct snowflake_limits limits, no_limits;
	uint64_t id = NO_ID, last = NO_ID;
	const struct mistake *m;
	const char *why;

	(void)state;
	memset(&limits, 0xa5, sizeof(limits));
	memset(&decoded, 0xa5, sizeof(decoded));
	no_limits = limits;
	no_parts = decoded;
	for (m = mistakes; m < mistakes + ARRAY_SIZE(mistakes); m++) {
		why = NULL;
		assert_int_equal(snowflake_check_layout(&m->layout, &why),
				 -EINVAL);
		assert_non_null(why);
		assert_non_null(strstr(why, m->why));
		assert_int_equal(snowflake_check_layout(&m->layout, NULL),
				 -EINVAL);
		assert_int_equal(snowflake_get_limits(&m->layout, &limits),
				 -EINVAL);
		assert_int_equal(snowflake_compose(&m->layout, &parts, &id),
				 -EINVAL);
		assert_int_equal(snowflake_decode(&m->layout, 1, &decoded),
				 -EINVAL);
		assert_int_equal(snowflake_span(&m->layout, 0, INT64_MAX, &id,
						&last), -EINVAL);
		assert_memory_equal(&limits, &no_limits, sizeof(limits));
		assert_memory_equal(&decoded, &no_parts, sizeof(decoded));
		assert_int_equal(id, NO_ID);
		assert_int_equal(last, NO_ID);
	}
}

static void an_epoch_must_be_past(void **state)
{
	struct snowflake_id_layout layout = papers[0].layout;
	struct snowflake_id_parts parts;
	const char *why = "untouched";
	uint64_t now = time(NULL) * UINT64_C(1000);

	(void)state;
	layout.epoch_ms = now - 1000;
	assert_int_equal(snowflake_check_layout(&layout, &why), 0);
	assert_string_equal(why, "untouched");
	layout.epoch_ms = now + 3600000;
	assert_int_equal(snowflake_check_layout(&layout, &why), -EINVAL);
	assert_non_null(strstr(why, "epoch_ms"));
	/* What an id means does not depend on the time of day. */
	assert_int_equal(snowflake_decode(&layout, 0, &parts), 0);
	assert_int_equal(parts.time_ms, layout.epoch_ms);
}

static void limits_are_as_on_paper(void **state)
{
	const uint64_t year_ms = 31557600000;
	struct snowflake_limits limits;
	const struct paper *p;

	(void)state;
	for (p = papers; p < papers + ARRAY_SIZE(papers); p++) {
		assert_int_equal(snowflake_get_limits(&p->layout, &limits), 0);
		assert_int_equal(limits.ids_per_tick, p->limits.ids_per_tick);
		assert_int_equal(limits.ids_per_second,
				 p->limits.ids_per_second);
		assert_int_equal(limits.workers, p->limits.workers);
		assert_int_equal(limits.fleet_per_second,
				 p->limits.fleet_per_second);
		assert_int_equal(limits.last_ms, p->limits.last_ms);
		assert_int_equal(limits.span_ms, p->limits.span_ms);
		assert_int_equal((limits.span_ms * 10 + year_ms / 2) / year_ms,
				 p->years);
	}
}

/* What does not go into a number, and what does only just. */
static void limits_of_odd_layouts(void **state)
{
	static const struct paper odd[] = {
		/* 256 ids in 7 ms; the fleet is not 16 times 36571 */
		{ "7 ms", { 0, 7, 41, 4, 8, 0 },
		  { 256, 36571, 16, 585142, 15393162788857, 15393162788864 } },
		{ "2^62 a second", { 5, 1000, 1, 1, 62, 0 },
		  { UINT64_C(1) << 62, UINT64_C(1) << 62, 2, UINT64_C(1) << 63,
		    5, 1000 } },
		{ "2^62 a tick", { 5, 1, 1, 1, 62, 0 },
		  { UINT64_C(1) << 62, UINT64_MAX, 2, UINT64_MAX, 5, 1 } },
		{ "2^62 workers", { 5, 1, 1, 62, 1, 1 },
		  { 2, 2000, UINT64_C(1) << 62, UINT64_MAX, 5, 1 } },
		/* 1000 * 2^54 goes into 64 bits, 1000 * 2^55 does not */
		{ "just a fleet", { 0, 1, 9, 27, 27, 0 },
		  { 1 << 27, 134217728000, 1 << 27, UINT64_C(1000) << 54,
		    511, 512 } },
		{ "no fleet", { 0, 1, 8, 28, 27, 0 },
		  { 1 << 27, 134217728000, 1 << 28, UINT64_MAX, 255, 256 } },
		{ "no end", { 0, 1000, 62, 1, 1, 0 },
		  { 2, 2, 2, 4, INT64_MAX, UINT64_MAX } },
		{ "late", { UINT64_MAX - 1, 1, 41, 10, 12, 0 },
		  { 4096, 4096000, 1024, 4194304000, INT64_MAX,
		    2199023255552 } },
	};
	struct snowflake_limits limits;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		assert_int_equal(snowflake_get_limits(&odd[i].layout, &limits),
				 0);
		if (memcmp(&limits, &odd[i].limits, sizeof(limits)))
			fail_msg("%s: %" PRIu64 " %" PRIu64 " %" PRIu64
				 " %" PRIu64 " %" PRIu64 " %" PRIu64,
				 odd[i].name, limits.ids_per_tick,
				 limits.ids_per_second, limits.workers,
				 limits.fleet_per_second, limits.last_ms,
				 limits.span_ms);
	}
}

/**
 * struct known - an id that was taken apart elsewhere
 * @paper: index of its layout
 * @id: the id
 * @parts: its parts
 */
struct known {
	unsigned int paper;
	uint64_t id;
	struct snowflake_id_parts parts;
};

static const struct known knowns[] = {
	{ 0, 2127481729571622912,
	  { 507231171029, 1796066145686, 1, 0 } },
	/* the id of a Discord message that its documentation takes apart */
	{ 2, 175928847299117063, { 41944705796, 1462015105796, 32, 7 } },
	/* 1387263000 s, shard 1341, 5001 % 1024, after Instagram's article */
	{ 1, UINT64_C(73042978279) << 23 | 1341 << 10 | 905,
	  { 73042978279, 1387263000000, 1341, 905 } },
	{ 3, UINT64_C(1) << 24 | 2 << 16 | 3, { 1, 1409529600010, 3, 2 } },
	{ 4, (UINT64_C(1) << 53) - 1,
	  { 2199023255551, 3776860055551, 15, 255 } },
	{ 0, INT64_MAX, { 2199023255551, 3487858230208, 1023, 4095 } },
	{ 1, INT64_MAX, { 1099511627775, 2413731649496, 8191, 1023 } },
	{ 2, INT64_MAX, { 2199023255551, 3619093655551, 1023, 4095 } },
	{ 3, INT64_MAX, { 549755813887, 6907087738870, 65535, 255 } },
	{ 0, 0, { 0, 1288834974657, 0, 0 } },
	{ 3, 0, { 0, 1409529600000, 0, 0 } },
};

static void known_ids(void **state)
{
	struct snowflake_id_parts parts;
	const struct known *k;
	uint64_t id;

	(void)state;
	for (k = knowns; k < knowns + ARRAY_SIZE(knowns); k++) {
		const struct snowflake_id_layout *l = &papers[k->paper].layout;

		assert_int_equal(snowflake_decode(l, k->id, &parts), 0);
		assert_memory_equal(&parts, &k->parts, sizeof(parts));
		/* The time is for the reader alone. */
		parts.time_ms = NO_ID;
		assert_int_equal(snowflake_compose(l, &parts, &id), 0);
		assert_int_equal(id, k->id);
	}
}

static void times_end_where_the_api_does(void **state)
{
	const struct snowflake_id_layout late = { UINT64_MAX - 1, 1, 41, 10, 12 };
	const struct snowflake_id_layout endless = { 0, 1000, 62, 1, 1 };
	char text[SNOWFLAKE_TIME_SIZE];
	struct snowflake_id_parts parts;

	(void)state;
	assert_int_equal(snowflake_decode(&late, 0, &parts), 0);
	assert_int_equal(parts.time_ms, INT64_MAX);
	assert_int_equal(snowflake_decode(&endless, INT64_MAX, &parts), 0);
	assert_int_equal(parts.time_ms, INT64_MAX);
	assert_int_equal(snowflake_print_time(parts.time_ms, text,
					      sizeof(text)), -EOVERFLOW);
}

static void ids_outside_the_layout(void **state)
{
	struct snowflake_id_parts parts, no_parts;
	const struct paper *p;
	uint64_t id;

	(void)state;
	memset(&parts, 0xa5, sizeof(parts));
	no_parts = parts;
	for (p = papers; p < papers + ARRAY_SIZE(papers); p++) {
		const uint64_t wrong[] = {
			UINT64_C(1) << 63, UINT64_MAX,
			UINT64_C(1) << p->bits, (UINT64_C(1) << 63) + 1,
		};
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			assert_int_equal(snowflake_decode(&p->layout, wrong[i],
							  &parts), -ERANGE);
			assert_memory_equal(&parts, &no_parts, sizeof(parts));
		}
		id = (UINT64_C(1) << p->bits) - 1;
		assert_int_equal(snowflake_decode(&p->layout, id, &parts), 0);
		parts = no_parts;
	}
}

static void parts_outside_their_fields(void **state)
{
	const struct paper *p;

	(void)state;
	for (p = papers; p < papers + ARRAY_SIZE(papers); p++) {
		const struct snowflake_id_parts top = {
			.tick = ticks_of(&p->layout) - 1,
			.worker = p->limits.workers - 1,
			.sequence = p->limits.ids_per_tick - 1,
		};
		const struct snowflake_id_parts wrong[] = {
			{ .tick = top.tick + 1 },
			{ .worker = top.worker + 1 },
			{ .sequence = top.sequence + 1 },
			{ .tick = UINT64_MAX },
			{ .worker = UINT64_MAX },
			{ .sequence = UINT64_MAX },
		};
		uint64_t id = NO_ID;
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			assert_int_equal(snowflake_compose(&p->layout,
							   &wrong[i], &id),
					 -ERANGE);
			assert_int_equal(id, NO_ID);
		}
		assert_int_equal(snowflake_compose(&p->layout, &top, &id), 0);
		assert_int_equal(id, (UINT64_C(1) << p->bits) - 1);
	}
}

/* Against the formula of the design, in any layout. */
static void compose_and_decode_are_inverse(void **state)
{
	uint64_t i, trials = test_trials(1000000);

	(void)state;
	for (i = 0; i < trials; i++) {
		struct snowflake_id_layout l = any_layout();
		unsigned int shift = l.worker_bits + l.sequence_bits;
		struct snowflake_id_parts parts = {
			.tick = below(ticks_of(&l)),
			.worker = below(UINT64_C(1) << l.worker_bits),
			.sequence = below(UINT64_C(1) << l.sequence_bits),
		}, decoded;
		uint64_t id, expected = parts.tick << shift;

		if (l.order == SNOWFLAKE_WORKER_LOWEST)
			expected += (parts.sequence << l.worker_bits) +
				    parts.worker;
		else
			expected += (parts.worker << l.sequence_bits) +
				    parts.sequence;
		assert_int_equal(snowflake_compose(&l, &parts, &id), 0);
		assert_true(id == expected);
		assert_true(id <= INT64_MAX);
		assert_int_equal(snowflake_decode(&l, id, &decoded), 0);
		assert_true(decoded.tick == parts.tick);
		assert_true(decoded.worker == parts.worker);
		assert_true(decoded.sequence == parts.sequence);
		if (parts.tick < UINT64_C(1) << 50)
			assert_true(decoded.time_ms ==
				    l.epoch_ms + parts.tick * l.tick_ms);
	}
}

/* One tick, by its edges: what is expected is whole ids, put together here. */
static void assert_ticks(const struct paper *p, int64_t from, int64_t until,
			 uint64_t first_tick, uint64_t last_tick)
{
	unsigned int shift = p->layout.worker_bits + p->layout.sequence_bits;
	uint64_t first, last;

	assert_int_equal(snowflake_span(&p->layout, from, until, &first, &last),
			 0);
	assert_int_equal(first, first_tick << shift);
	assert_int_equal(last, ((last_tick + 1) << shift) - 1);
}

static void assert_no_ticks(const struct paper *p, int64_t from, int64_t until,
			    int err)
{
	uint64_t first = NO_ID, last = NO_ID;

	assert_int_equal(snowflake_span(&p->layout, from, until, &first, &last),
			 err);
	assert_int_equal(first, NO_ID);
	assert_int_equal(last, NO_ID);
}

static void span_edges(void **state)
{
	const struct paper *p;

	(void)state;
	for (p = papers; p < papers + ARRAY_SIZE(papers); p++) {
		int64_t epoch = p->layout.epoch_ms, tick = p->layout.tick_ms;
		int64_t last = p->limits.last_ms, at = epoch + 1000 * tick;
		uint64_t end = ticks_of(&p->layout) - 1;

		/* One tick, and its start alone. */
		assert_ticks(p, at, at + tick, 1000, 1000);
		assert_ticks(p, at, at + 1, 1000, 1000);
		assert_ticks(p, at - tick + 1, at + 1, 1000, 1000);
		/* Its end is not part of the span. */
		assert_ticks(p, at - tick, at, 999, 999);
		assert_ticks(p, at - tick, at + 1, 999, 1000);
		/* Before the epoch there is nothing. */
		assert_ticks(p, epoch, epoch + 1, 0, 0);
		assert_ticks(p, 0, epoch + 1, 0, 0);
		assert_ticks(p, INT64_MIN, epoch + 1, 0, 0);
		assert_no_ticks(p, epoch - 1, epoch, -ERANGE);
		assert_no_ticks(p, INT64_MIN, epoch, -ERANGE);
		assert_no_ticks(p, INT64_MIN, -1, -ERANGE);
		/* Nor after the last tick. */
		assert_ticks(p, last, last + 1, end, end);
		assert_ticks(p, last, INT64_MAX, end, end);
		assert_ticks(p, last - tick, last, end - 1, end - 1);
		assert_no_ticks(p, last + 1, INT64_MAX, -ERANGE);
		assert_no_ticks(p, last + tick, last + 2 * tick, -ERANGE);
		assert_ticks(p, INT64_MIN, INT64_MAX, 0, end);
		/* No span, and one the wrong way round. */
		assert_no_ticks(p, at, at, -ERANGE);
		assert_no_ticks(p, at, at - 1, -EINVAL);
		assert_no_ticks(p, INT64_MAX, INT64_MIN, -EINVAL);
	}
}

static void a_span_within_a_tick_is_empty(void **state)
{
	const struct paper *p = &papers[3];
	int64_t epoch = p->layout.epoch_ms;

	(void)state;
	assert_int_equal(p->layout.tick_ms, 10);
	assert_no_ticks(p, epoch + 1, epoch + 10, -ERANGE);
	assert_no_ticks(p, epoch + 5, epoch + 6, -ERANGE);
	assert_ticks(p, epoch + 1, epoch + 11, 1, 1);
	assert_ticks(p, epoch, epoch + 10, 0, 0);
	assert_ticks(p, epoch, epoch + 11, 0, 1);
	assert_ticks(p, epoch + 10, epoch + 20, 1, 1);
	assert_ticks(p, epoch + 9, epoch + 21, 1, 2);
}

/* An id is in the span if and only if its time is. */
static void spans_agree_with_decode(void **state)
{
	uint64_t i, trials = test_trials(1000000);

	(void)state;
	for (i = 0; i < trials; i++) {
		struct snowflake_id_layout l = any_layout();
		unsigned int shift = l.worker_bits + l.sequence_bits;
		uint64_t id = below(ticks_of(&l)) << shift |
			      below(UINT64_C(1) << shift);
		uint64_t first = 1, last = 0;
		struct snowflake_id_parts parts;
		int64_t from, until;
		int err;

		assert_int_equal(snowflake_decode(&l, id, &parts), 0);
		if (parts.time_ms > INT64_MAX / 2)
			continue;
		from = parts.time_ms + below(4 * l.tick_ms) - 3 * l.tick_ms;
		until = from + below(4 * l.tick_ms);
		err = snowflake_span(&l, from, until, &first, &last);
		assert_true(!err || err == -ERANGE);
		assert_int_equal(first <= id && id <= last,
				 from <= (int64_t)parts.time_ms &&
				 (int64_t)parts.time_ms < until);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_are_as_on_paper),
		cmocka_unit_test(presets_have_no_other_names),
		cmocka_unit_test(wrong_layouts_are_told),
		cmocka_unit_test(an_epoch_must_be_past),
		cmocka_unit_test(limits_are_as_on_paper),
		cmocka_unit_test(limits_of_odd_layouts),
		cmocka_unit_test(known_ids),
		cmocka_unit_test(times_end_where_the_api_does),
		cmocka_unit_test(ids_outside_the_layout),
		cmocka_unit_test(parts_outside_their_fields),
		cmocka_unit_test(compose_and_decode_are_inverse),
		cmocka_unit_test(span_edges),
		cmocka_unit_test(a_span_within_a_tick_is_empty),
		cmocka_unit_test(spans_agree_with_decode),
	};

	return test_run("ids", tests);
}

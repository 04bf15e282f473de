// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The numbers that users compute before they deploy, and ids taken apart.
 */
#include <time.h>

#include "unit.h"

/* By hand, so that it does not depend on what is tested. */
static u64 put_together(const struct snowflake_layout *layout, u64 tick,
			u64 worker, u64 sequence)
{
	u64 id = tick << (layout->worker_bits + layout->sequence_bits);

	if (layout->order == SNOWFLAKE_SEQUENCE_WORKER)
		return id | sequence << layout->worker_bits | worker;
	return id | worker << layout->sequence_bits | sequence;
}

/* Every part at its ends and in between, in every combination. */
static void take_apart_all(const struct snowflake_layout *layout)
{
	u64 last_tick = snowflake_layout_last_tick(layout);
	u64 ticks[] = { 0, min_t(u64, 1, last_tick), last_tick / 2, last_tick };
	u64 workers[] = { 0, 1, snowflake_layout_workers(layout) / 2,
			  snowflake_layout_workers(layout) - 1 };
	u64 sequences[] = { 0, 1, snowflake_layout_sequences(layout) / 2,
			    snowflake_layout_sequences(layout) - 1 };
	struct snowflake_fields fields;
	size_t t, w, s;
	u64 id;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		for (w = 0; w < ARRAY_SIZE(workers); w++) {
			for (s = 0; s < ARRAY_SIZE(sequences); s++) {
				id = put_together(layout, ticks[t], workers[w],
						  sequences[s]);
				assert_true((s64)id >= 0);
				snowflake_layout_decode(layout, id, &fields);
				assert_int_equal(fields.tick, ticks[t]);
				assert_int_equal(fields.worker, workers[w]);
				assert_int_equal(fields.sequence, sequences[s]);
				assert_true(snowflake_layout_encode(layout,
								    &fields) ==
					    id);
			}
		}
	}
}

/**
 * struct published - what a preset is known for
 * @epoch_ms: its epoch
 * @workers: how many worker ids
 * @sequences: ids of one worker in a tick
 * @tick_ms: length of a tick
 * @last_tick: the last timestamp
 * @ends_ms: its instant
 * @ends: the same as users know it
 */
static const struct published {
	u64 epoch_ms;
	u64 workers;
	u64 sequences;
	u64 tick_ms;
	u64 last_tick;
	u64 ends_ms;
	const char *ends;
} published[] = {
	[SNOWFLAKE_TWITTER] = {
		1288834974657, 1024, 4096, 1, 2199023255551,
		3487858230208, "2080-07-10"
	},
	[SNOWFLAKE_INSTAGRAM] = {
		1314220021721, 8192, 1024, 1, 1099511627775,
		2413731649496, "2046-06-27"
	},
	[SNOWFLAKE_DISCORD] = {
		1420070400000, 1024, 4096, 1, 2199023255551,
		3619093655551, "2084-09-06"
	},
	[SNOWFLAKE_SONYFLAKE] = {
		1409529600000, 65536, 256, 10, 549755813887,
		6907087738870, "2188-11-16"
	},
	[SNOWFLAKE_JS53] = {
		1577836800000, 16, 256, 1, 2199023255551,
		3776860055551, "2089-09-06"
	},
};

static void presets_have_their_published_numbers(void **state)
{
	char day[11];
	struct tm tm;
	time_t end;
	size_t i;

	(void)state;
	assert_int_equal(ARRAY_SIZE(published), ARRAY_SIZE(snowflake_layouts));
	for (i = 0; i < ARRAY_SIZE(published); i++) {
		const struct snowflake_layout *layout = &snowflake_layouts[i];
		const struct published *known = &published[i];

		assert_int_equal(layout->epoch_ms, known->epoch_ms);
		assert_int_equal(layout->tick_ms, known->tick_ms);
		assert_int_equal(snowflake_layout_workers(layout),
				 known->workers);
		assert_int_equal(snowflake_layout_sequences(layout),
				 known->sequences);
		assert_int_equal(snowflake_layout_last_tick(layout),
				 known->last_tick);
		assert_int_equal(snowflake_layout_ends_ms(layout),
				 known->ends_ms);
		end = known->ends_ms / 1000;
		assert_non_null(gmtime_r(&end, &tm));
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
		assert_string_equal(day, known->ends);
		assert_int_equal(layout->order, i == SNOWFLAKE_SONYFLAKE);
		take_apart_all(layout);
	}
}

/* What the preset promises: every id is a whole number in JavaScript. */
static void js53_ids_are_below_2_to_the_53(void **state)
{
	const struct snowflake_layout *js53 = &snowflake_layouts[SNOWFLAKE_JS53];
	struct snowflake_fields top = {
		.tick = snowflake_layout_last_tick(js53),
		.worker = snowflake_layout_workers(js53) - 1,
		.sequence = snowflake_layout_sequences(js53) - 1,
	};

	(void)state;
	assert_int_equal(snowflake_layout_encode(js53, &top), (1LL << 53) - 1);
}

static void twitter_has_its_published_numbers(void **state)
{
	const struct snowflake_layout *twitter = &snowflake_layouts[SNOWFLAKE_TWITTER];

	(void)state;
	assert_int_equal(twitter->epoch_ms, 1288834974657);
	assert_int_equal(twitter->tick_ms, 1);
	assert_int_equal(snowflake_layout_shift(twitter), 22);
	assert_int_equal(snowflake_layout_workers(twitter), 1024);
	assert_int_equal(snowflake_layout_sequences(twitter), 4096);
	assert_int_equal(snowflake_layout_last_tick(twitter), 2199023255551);
}

static void twitter_ends_in_july_2080(void **state)
{
	const struct snowflake_layout *twitter = &snowflake_layouts[SNOWFLAKE_TWITTER];
	u64 last = snowflake_layout_last_tick(twitter);
	u64 end_ms = snowflake_layout_tick_to_ms(twitter, last);
	time_t end = end_ms / 1000;
	struct tm tm;

	(void)state;
	assert_int_equal(end_ms, 3487858230208);
	assert_non_null(gmtime_r(&end, &tm));
	assert_int_equal(tm.tm_year + 1900, 2080);
	assert_int_equal(tm.tm_mon + 1, 7);
	assert_int_equal(tm.tm_mday, 10);
}

static void a_published_id_is_taken_apart(void **state)
{
	struct snowflake_fields fields;

	(void)state;
	/* Wikipedia's example: 2022-06-28T16:07:40.105Z, machine 378. */
	snowflake_layout_decode(&snowflake_layouts[SNOWFLAKE_TWITTER],
				1541815603606036480ULL, &fields);
	assert_int_equal(fields.tick, 367597485448);
	assert_int_equal(snowflake_layout_tick_to_ms(&snowflake_layouts[SNOWFLAKE_TWITTER],
						     fields.tick),
			 1656432460105);
	assert_int_equal(fields.worker, 378);
	assert_int_equal(fields.sequence, 0);
}

static void twitter_ids_are_taken_apart_at_the_edges(void **state)
{
	(void)state;
	take_apart_all(&snowflake_layouts[SNOWFLAKE_TWITTER]);
}

/* Fault 20: a timestamp that reaches the sign bit makes negative ids. */
static void the_sign_bit_is_never_used(void **state)
{
	static const struct snowflake_layout discord = {
		.timestamp_bits = 42,
		.worker_bits = 10,
		.sequence_bits = 12,
		.tick_ms = 1,
		.epoch_ms = 1420070400000ULL,
	};

	(void)state;
	assert_int_equal(snowflake_layout_last_tick(&discord), (1ULL << 41) - 1);
	take_apart_all(&discord);
}

static void a_narrow_timestamp_ends_early(void **state)
{
	static const struct snowflake_layout narrow = {
		.timestamp_bits = 4,
		.worker_bits = 1,
		.sequence_bits = 1,
		.tick_ms = 1000,
		.epoch_ms = 5,
	};

	(void)state;
	assert_int_equal(snowflake_layout_last_tick(&narrow), 15);
	assert_int_equal(snowflake_layout_tick_to_ms(&narrow, 15), 15005);
	take_apart_all(&narrow);
}

static void sums_of_64_lose_the_sign_bit(void **state)
{
	/* However the 64 bits are divided: at the ends, and all equal. */
	static const struct snowflake_layout full[] = {
		{ 62, 1, 1, SNOWFLAKE_WORKER_SEQUENCE, 1, 0 },
		{ 2, 1, 61, SNOWFLAKE_WORKER_SEQUENCE, 1, 0 },
		{ 2, 61, 1, SNOWFLAKE_SEQUENCE_WORKER, 1, 0 },
		{ 1, 31, 32, SNOWFLAKE_SEQUENCE_WORKER, 1, 0 },
		{ 22, 21, 21, SNOWFLAKE_WORKER_SEQUENCE, 1, 0 },
	};
	static const struct snowflake_layout almost = {
		61, 1, 1, SNOWFLAKE_WORKER_SEQUENCE, 1, 0
	};
	static const u64 last[] = {
		(1ULL << 61) - 1, 1, 1, 0, (1ULL << 21) - 1
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(full); i++) {
		assert_null(snowflake_layout_check(&full[i], 1));
		assert_int_equal(snowflake_layout_last_tick(&full[i]), last[i]);
		take_apart_all(&full[i]);
	}
	assert_int_equal(snowflake_layout_last_tick(&almost), last[0]);
}

static void an_end_that_does_not_fit_is_the_greatest(void **state)
{
	struct snowflake_layout wide = {
		.timestamp_bits = 61,
		.worker_bits = 1,
		.sequence_bits = 1,
		.tick_ms = 8,
	};

	(void)state;
	/* 8 * (2^61 - 1) is 2^64 - 8: up to an epoch of 7 it fits. */
	assert_true(snowflake_layout_ends_ms(&wide) == U64_MAX - 7);
	wide.epoch_ms = 7;
	assert_true(snowflake_layout_ends_ms(&wide) == U64_MAX);
	wide.epoch_ms = 8;
	assert_true(snowflake_layout_ends_ms(&wide) == U64_MAX);
	wide.tick_ms = 1000;
	assert_true(snowflake_layout_ends_ms(&wide) == U64_MAX);
	wide.tick_ms = 7;
	assert_true(snowflake_layout_ends_ms(&wide) ==
		    8 + 7 * ((1ULL << 61) - 1));
}

#define NOW_MS 1796066145000ULL

/* The one who wrote it is told which attribute is wrong. */
static void assert_refused(struct snowflake_layout layout, const char *field)
{
	const char *why = snowflake_layout_check(&layout, NOW_MS);

	assert_non_null(why);
	assert_memory_equal(why, field, strlen(field));
}

static void a_layout_is_refused_for_the_field_that_is_wrong(void **state)
{
	const struct snowflake_layout good = {
		41, 10, 12, SNOWFLAKE_WORKER_SEQUENCE, 1, 1288834974657ULL
	};
	struct snowflake_layout bad;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(snowflake_layouts); i++) {
		assert_null(snowflake_layout_check(&snowflake_layouts[i],
						   NOW_MS));
		assert_null(snowflake_layout_check(&snowflake_layouts[i],
						   U64_MAX));
	}

#define refused(field, value)						\
	do {								\
		bad = good;						\
		bad.field = (value);					\
		assert_refused(bad, #field);				\
	} while (0)
#define accepted(field, value)						\
	do {								\
		bad = good;						\
		bad.field = (value);					\
		assert_null(snowflake_layout_check(&bad, NOW_MS));	\
	} while (0)
	refused(timestamp_bits, 0);
	refused(worker_bits, 0);
	refused(sequence_bits, 0);
	accepted(timestamp_bits, 1);
	accepted(worker_bits, 1);
	accepted(sequence_bits, 1);
	accepted(timestamp_bits, 42);
	refused(timestamp_bits, 43);
	refused(timestamp_bits, 255);
	accepted(order, SNOWFLAKE_SEQUENCE_WORKER);
	refused(order, 2);
	refused(tick_ms, 0);
	accepted(tick_ms, 1000);
	refused(tick_ms, 1001);
	accepted(epoch_ms, 0);
	accepted(epoch_ms, NOW_MS - 1);
	refused(epoch_ms, NOW_MS);
	refused(epoch_ms, NOW_MS + 1);
	refused(epoch_ms, U64_MAX);
#undef accepted
#undef refused
	/* Widths that would be 64 again if they were added up in a byte. */
	assert_refused((struct snowflake_layout) { 255, 255, 66, 0, 1, 0 },
		       "timestamp_bits, worker_bits and sequence_bits");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(twitter_has_its_published_numbers),
		cmocka_unit_test(twitter_ends_in_july_2080),
		cmocka_unit_test(a_published_id_is_taken_apart),
		cmocka_unit_test(twitter_ids_are_taken_apart_at_the_edges),
		cmocka_unit_test(the_sign_bit_is_never_used),
		cmocka_unit_test(a_narrow_timestamp_ends_early),
		cmocka_unit_test(presets_have_their_published_numbers),
		cmocka_unit_test(js53_ids_are_below_2_to_the_53),
		cmocka_unit_test(sums_of_64_lose_the_sign_bit),
		cmocka_unit_test(an_end_that_does_not_fit_is_the_greatest),
		cmocka_unit_test(a_layout_is_refused_for_the_field_that_is_wrong),
	};

	return unit_run("layout", tests);
}

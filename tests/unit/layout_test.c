// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The numbers that users compute before they deploy, and ids taken apart.
 */
#include <time.h>

#include "unit.h"

/* Every part at its ends and in between, in every combination. */
static void take_apart_all(const struct snowflake_layout *layout)
{
	u64 ticks[] = { 0, 1, snowflake_layout_last_tick(layout) / 2,
			snowflake_layout_last_tick(layout) };
	u32 workers[] = { 0, 1, snowflake_layout_workers(layout) / 2,
			  snowflake_layout_workers(layout) - 1 };
	u32 sequences[] = { 0, 1, snowflake_layout_sequences(layout) / 2,
			    snowflake_layout_sequences(layout) - 1 };
	struct snowflake_fields fields;
	size_t t, w, s;
	u64 id;

	for (t = 0; t < ARRAY_SIZE(ticks); t++) {
		for (w = 0; w < ARRAY_SIZE(workers); w++) {
			for (s = 0; s < ARRAY_SIZE(sequences); s++) {
				id = ticks[t] << snowflake_layout_shift(layout) |
				     (u64)workers[w] << layout->sequence_bits |
				     sequences[s];
				assert_true((s64)id >= 0);
				snowflake_layout_decode(layout, id, &fields);
				assert_int_equal(fields.tick, ticks[t]);
				assert_int_equal(fields.worker, workers[w]);
				assert_int_equal(fields.sequence, sequences[s]);
			}
		}
	}
}

static void twitter_has_its_published_numbers(void **state)
{
	const struct snowflake_layout *twitter = &snowflake_layout_twitter;

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
	const struct snowflake_layout *twitter = &snowflake_layout_twitter;
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
	snowflake_layout_decode(&snowflake_layout_twitter,
				1541815603606036480ULL, &fields);
	assert_int_equal(fields.tick, 367597485448);
	assert_int_equal(snowflake_layout_tick_to_ms(&snowflake_layout_twitter,
						     fields.tick),
			 1656432460105);
	assert_int_equal(fields.worker, 378);
	assert_int_equal(fields.sequence, 0);
}

static void twitter_ids_are_taken_apart_at_the_edges(void **state)
{
	(void)state;
	take_apart_all(&snowflake_layout_twitter);
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(twitter_has_its_published_numbers),
		cmocka_unit_test(twitter_ends_in_july_2080),
		cmocka_unit_test(a_published_id_is_taken_apart),
		cmocka_unit_test(twitter_ids_are_taken_apart_at_the_edges),
		cmocka_unit_test(the_sign_bit_is_never_used),
		cmocka_unit_test(a_narrow_timestamp_ends_early),
	};

	return unit_run("layout", tests);
}

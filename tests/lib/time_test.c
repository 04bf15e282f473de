// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Instants as text. The C library's calendar is the other opinion.
 */
#include <stdio.h>

#include "lib_test.h"

#define NO_TIME INT64_C(-0x2152411021524111)

/* 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z */
#define FIRST_MS INT64_C(-62135596800000)
#define LAST_MS INT64_C(253402300799999)
#define DAY_MS INT64_C(86400000)

/**
 * struct instant - an instant and its text
 * @ms: Unix milliseconds
 * @text: the text
 */
struct instant {
	int64_t ms;
	const char *text;
};

static const struct instant written[] = {
	{ 0, "1970-01-01T00:00:00.000Z" },
	{ 1, "1970-01-01T00:00:00.001Z" },
	{ -1, "1969-12-31T23:59:59.999Z" },
	{ -86400000, "1969-12-31T00:00:00.000Z" },
	{ -86400001, "1969-12-30T23:59:59.999Z" },
	{ 1288834974657, "2010-11-04T01:42:54.657Z" },
	{ 1314220021721, "2011-08-24T21:07:01.721Z" },
	{ 1796066145686, "2026-11-30T19:15:45.686Z" },
	{ 951782400000, "2000-02-29T00:00:00.000Z" },
	{ 1709164800000, "2024-02-29T00:00:00.000Z" },
	{ 4107542400000, "2100-03-01T00:00:00.000Z" },
	{ 2147483648000, "2038-01-19T03:14:08.000Z" },
	{ 3487858230208, "2080-07-10T17:30:30.208Z" },
	{ FIRST_MS, "0001-01-01T00:00:00.000Z" },
	{ LAST_MS, "9999-12-31T23:59:59.999Z" },
};

static const struct instant read[] = {
	{ 1796083200000, "2026-12-01" },
	{ 1796085360000, "2026-12-01T00:36" },
	{ 1796085360000, "2026-12-01T00:36Z" },
	{ 1796085391000, "2026-12-01T00:36:31" },
	{ 1796085391000, "2026-12-01 00:36:31" },
	{ 1796085391000, "2026-12-01T00:36:31Z" },
	{ 1796085391100, "2026-12-01T00:36:31.1Z" },
	{ 1796085391120, "2026-12-01T00:36:31.12Z" },
	{ 1796085391123, "2026-12-01T00:36:31.123Z" },
	{ 1796085391123, "2026-12-01T00:36:31,123Z" },
	{ 1796085391123, "2026-12-01T00:36:31.1239" },
	{ 1796085391123, "2026-12-01T00:36:31.123999999Z" },
	{ 1796085391000, "2026-12-01T00:36:31.0000000000000000000001" },
	{ 1796085391999, "2026-12-01T00:36:31.9999999999999999999999" },
	{ 1796085391003, "2026-12-01T00:36:31.003+00:00" },
	{ 1796085391000, "2026-12-01T00:36:31+00:00" },
	{ 1796085391000, "2026-12-01T00:36:31-00:00" },
	{ 1796085391000, "2026-12-01T06:06:31+05:30" },
	{ 1796085391000, "2026-12-01T06:06:31+0530" },
	{ 1796085391000, "2026-12-01 01:36:31+01" },
	{ 1796085391000, "2026-11-30T16:36:31-08:00" },
	{ 1796085391000, "2026-11-30T21:06:31-0330" },
	{ 1796085360000, "2026-12-01T14:36+14:00" },
	/* as psql and date(1) print it */
	{ 1796085391123, "2026-12-01 00:36:31.123456+00" },
	{ 1796085391123, "2026-12-01T00:36:31,123456789+00:00" },
	/* before 1970, too, what is cut off leads to the earlier */
	{ -1, "1969-12-31T23:59:59.9999Z" },
	{ -62135596800000, "0001-01-01" },
	{ -62135596800000, "0001-01-01T23:59+23:59" },
	{ 253402300799999, "9999-12-31T00:00:59.999-23:59" },
	{ 951782400000, "2000-02-29" },
	{ 1709164800000, "2024-02-29" },
};

/**
 * struct refused - what is no instant
 * @err: what is returned
 * @text: the text
 */
struct refused {
	int err;
	const char *text;
};

static const struct refused refused[] = {
	/* dates that there are not */
	{ -EINVAL, "2026-02-29" },
	{ -EINVAL, "2026-02-30" },
	{ -EINVAL, "2026-02-31" },
	{ -EINVAL, "2024-02-30" },
	{ -EINVAL, "1900-02-29" },
	{ -EINVAL, "2100-02-29" },
	{ -EINVAL, "2026-04-31" },
	{ -EINVAL, "2026-06-31" },
	{ -EINVAL, "2026-09-31" },
	{ -EINVAL, "2026-11-31" },
	{ -EINVAL, "2026-01-32" },
	{ -EINVAL, "2026-12-32" },
	{ -EINVAL, "2026-00-01" },
	{ -EINVAL, "2026-13-01" },
	{ -EINVAL, "2026-01-00" },
	{ -EINVAL, "0000-12-31" },
	/* times of day that there are not */
	{ -EINVAL, "2026-12-01T24:00" },
	{ -EINVAL, "2026-12-01T24:00:00Z" },
	{ -EINVAL, "2026-12-01T00:60" },
	{ -EINVAL, "2026-12-01T23:59:60Z" },
	{ -EINVAL, "2026-12-01T00:00+24:00" },
	{ -EINVAL, "2026-12-01T00:00+00:60" },
	/* other notations, and what is missing */
	{ -EINVAL, "" },
	{ -EINVAL, "now" },
	{ -EINVAL, "2026" },
	{ -EINVAL, "2026-12" },
	{ -EINVAL, "20261201" },
	{ -EINVAL, "2026-12-1" },
	{ -EINVAL, "2026-1-01" },
	{ -EINVAL, "26-12-01" },
	{ -EINVAL, "02026-12-01" },
	{ -EINVAL, "+2026-12-01" },
	{ -EINVAL, "-2026-12-01" },
	{ -EINVAL, "2026/12/01" },
	{ -EINVAL, "01.12.2026" },
	{ -EINVAL, "2026-W49-2" },
	{ -EINVAL, "2026-335" },
	{ -EINVAL, "1796085391123" },
	{ -EINVAL, "@1796085391" },
	{ -EINVAL, "2026-12-01T" },
	{ -EINVAL, "2026-12-01Z" },
	{ -EINVAL, "2026-12-01 " },
	{ -EINVAL, "2026-12-01+01:00" },
	{ -EINVAL, "2026-12-01T0" },
	{ -EINVAL, "2026-12-01T00" },
	{ -EINVAL, "2026-12-01T00Z" },
	{ -EINVAL, "2026-12-01T00:" },
	{ -EINVAL, "2026-12-01T00:3" },
	{ -EINVAL, "2026-12-01T0036" },
	{ -EINVAL, "2026-12-01T00:36:" },
	{ -EINVAL, "2026-12-01T00:36:3" },
	{ -EINVAL, "2026-12-01T00:36:31." },
	{ -EINVAL, "2026-12-01T00:36:31.Z" },
	{ -EINVAL, "2026-12-01T00:36:31.-1" },
	{ -EINVAL, "2026-12-01T00:36.5" },
	{ -EINVAL, "2026-12-01T00:36:31.123.4" },
	{ -EINVAL, "2026-12-01T00:36:31ZZ" },
	{ -EINVAL, "2026-12-01T00:36:31 Z" },
	{ -EINVAL, "2026-12-01T00:36:31z" },
	{ -EINVAL, "2026-12-01t00:36:31Z" },
	{ -EINVAL, "2026-12-01  00:36:31" },
	{ -EINVAL, "2026-12-01\t00:36:31" },
	{ -EINVAL, "2026-12-01T00:36:31Z " },
	{ -EINVAL, " 2026-12-01T00:36:31Z" },
	{ -EINVAL, "2026-12-01T00:36:31+" },
	{ -EINVAL, "2026-12-01T00:36:31+1" },
	{ -EINVAL, "2026-12-01T00:36:31+01:" },
	{ -EINVAL, "2026-12-01T00:36:31+01:0" },
	{ -EINVAL, "2026-12-01T00:36:31+010" },
	{ -EINVAL, "2026-12-01T00:36:31+01:000" },
	{ -EINVAL, "2026-12-01T00:36:31+01 00" },
	{ -EINVAL, "2026-12-01T00:36:31Z+01" },
	{ -EINVAL, "2026-12-01T00:36:31 CET" },
	{ -EINVAL, "2026-12-01T-1:36:31" },
	{ -EINVAL, "2026-12--1" },
	{ -EINVAL, "2026-12-+1" },
	{ -EINVAL, "2026-12- 1" },
	/* dates that there are, but in no year that can be written */
	{ -EOVERFLOW, "0001-01-01T00:00+00:01" },
	{ -EOVERFLOW, "0001-01-01T23:58+23:59" },
	{ -EOVERFLOW, "9999-12-31T23:59:00-00:01" },
	{ -EOVERFLOW, "9999-12-31T00:01-23:59" },
};

static void written_as_in_the_table(void **state)
{
	char text[SNOWFLAKE_TIME_SIZE];
	const struct instant *w;
	int64_t ms;
	int length;

	(void)state;
	for (w = written; w < written + ARRAY_SIZE(written); w++) {
		length = snowflake_print_time(w->ms, text, sizeof(text));
		assert_int_equal(length, strlen(w->text));
		assert_string_equal(text, w->text);
		assert_int_equal(snowflake_parse_time(w->text, &ms), 0);
		assert_true(ms == w->ms);
	}
}

static int parse(const char *text, int64_t *ms)
{
	/* Its last byte is the last that may be looked at. */
	char *copy = strdup(text);
	int err;

	assert_non_null(copy);
	err = snowflake_parse_time(copy, ms);
	free(copy);
	return err;
}

static void read_as_in_the_table(void **state)
{
	const struct instant *r;
	int64_t ms;
	int err;

	(void)state;
	for (r = read; r < read + ARRAY_SIZE(read); r++) {
		err = parse(r->text, &ms);
		if (err || ms != r->ms)
			fail_msg("'%s': error %d, %" PRId64, r->text, err, ms);
	}
}

static void refused_as_in_the_table(void **state)
{
	const struct refused *r;
	int64_t ms = NO_TIME;
	int err;

	(void)state;
	for (r = refused; r < refused + ARRAY_SIZE(refused); r++) {
		err = parse(r->text, &ms);
		if (err != r->err || ms != NO_TIME)
			fail_msg("'%s': error %d, %" PRId64, r->text, err, ms);
	}
}

static void nothing_is_written_beyond_the_calendar(void **state)
{
	static const int64_t wrong[] = {
		FIRST_MS - 1, LAST_MS + 1, INT64_MIN, INT64_MIN + 1, INT64_MAX,
		INT64_MAX - 1,
	};
	char text[SNOWFLAKE_TIME_SIZE] = "untouched";
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(snowflake_print_time(wrong[i], text,
						      sizeof(text)),
				 -EOVERFLOW);
		assert_string_equal(text, "untouched");
	}
}

static void room_is_kept_to(void **state)
{
	const size_t need = strlen(written[0].text) + 1;
	size_t size;

	(void)state;
	assert_true(need <= SNOWFLAKE_TIME_SIZE);
	for (size = 0; size <= need; size++) {
		char *text = malloc(size);
		int got;

		assert_true(text || !size);
		if (size)
			memset(text, '#', size);
		got = snowflake_print_time(LAST_MS, text, size);
		assert_int_equal(got, size == need ? (int)need - 1 : -ENOBUFS);
		assert_true(size == need || !size || text[0] == '#');
		free(text);
	}
}

/* What gmtime_r() and printf() make of it. */
static void assert_as_libc(int64_t ms)
{
	char expected[64], text[SNOWFLAKE_TIME_SIZE];
	int64_t below = (ms % 1000 + 1000) % 1000, back;
	time_t seconds = (ms - below) / 1000;
	struct tm tm;

	assert_non_null(gmtime_r(&seconds, &tm));
	snprintf(expected, sizeof(expected),
		 "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (int)below);
	assert_int_equal(snowflake_print_time(ms, text, sizeof(text)), 24);
	assert_string_equal(text, expected);
	assert_int_equal(snowflake_parse_time(text, &back), 0);
	assert_true(back == ms);
}

static void round_trips(void **state)
{
	uint64_t i, trials = test_trials(100000);

	(void)state;
	for (i = 0; i < trials; i++)
		assert_as_libc(FIRST_MS + (int64_t)(test_random() %
						    (LAST_MS - FIRST_MS + 1)));
}

/* Where few trials are asked for, only some of all years or days. */
static int stride(void)
{
	return test_trials(100000) < 100000 ? 37 : 1;
}

/* Of each day of the calendar the first millisecond, or the last before it. */
static void each_day(void **state)
{
	int64_t day, last = (LAST_MS - FIRST_MS) / DAY_MS;

	(void)state;
	for (day = 1; day <= last; day += stride())
		assert_as_libc(FIRST_MS + day * DAY_MS - day % 2);
}

/* Each month's length, from each day number that might be in it. */
static void lengths_of_months(void **state)
{
	int year, month, day;
	int64_t ms;

	(void)state;
	for (year = 1; year <= 9999; year += stride()) {
		for (month = 1; month <= 12; month++) {
			for (day = 28; day <= 32; day++) {
				struct tm tm = {
					.tm_year = year - 1900,
					.tm_mon = month - 1,
					.tm_mday = day,
				};
				int64_t expected = timegm(&tm) * INT64_C(1000);
				char text[40];
				int err;

				/* It has moved a day that there is not. */
				snprintf(text, sizeof(text), "%04d-%02d-%02d",
					 year, month, day);
				err = snowflake_parse_time(text, &ms);
				if (tm.tm_mday != day)
					assert_int_equal(err, -EINVAL);
				else
					assert_true(!err && ms == expected);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_as_in_the_table),
		cmocka_unit_test(read_as_in_the_table),
		cmocka_unit_test(refused_as_in_the_table),
		cmocka_unit_test(nothing_is_written_beyond_the_calendar),
		cmocka_unit_test(room_is_kept_to),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(each_day),
		cmocka_unit_test(lengths_of_months),
	};

	return test_run("time", tests);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Instants as text: ISO 8601 in the years 1 to 9999, to the millisecond.
 *
 * The calendar is worked out here, since gmtime_r() takes a lock that a forked
 * child may never get, and 32-bit programs may have a short time_t.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <snowflake.h>

#define DAY_MS 86400000

/**
 * struct fields - an instant taken apart
 * @year: 1 to 9999
 * @month: 1 to 12
 * @day: 1 to 31
 * @hour: 0 to 23
 * @minute: 0 to 59
 * @second: 0 to 59
 * @ms: 0 to 999
 * @offset: minutes that its clock is ahead of UTC
 */
struct fields {
	int year;
	int month;
	int day;
	int hour;
	int minute;
	int second;
	int ms;
	int offset;
};

/*
 * The number of a day, 0 for 1970-01-01; month 13 is January of the next year.
 * Years are taken to begin in March, so that a leap day is the last of its
 * year; the months from there on have 153 days in each five.
 */
static int day_number(int year, int month, int day)
{
	int years = year - (month < 3);
	int months = (month + 9) % 12;

	return 365 * years + years / 4 - years / 100 + years / 400 +
	       (153 * months + 2) / 5 + day - 719469;
}

/* The date of a day's number. */
static void date_of(int number, struct fields *fields)
{
	int year = (number - day_number(1, 1, 1)) / 366 + 1;
	int month = 12;

	/* Never too late; in 2026 four years too early, in 9999 twenty. */
	while (day_number(year + 1, 1, 1) <= number)
		year++;
	while (day_number(year, month, 1) > number)
		month--;
	fields->year = year;
	fields->month = month;
	fields->day = number - day_number(year, month, 1) + 1;
}

static bool in_calendar(int64_t unix_ms)
{
	return unix_ms >= day_number(1, 1, 1) * (int64_t)DAY_MS &&
	       unix_ms < day_number(10000, 1, 1) * (int64_t)DAY_MS;
}

/* Write a number of a fixed width, and what follows it. */
static char *put(char *text, int number, int width, char then)
{
	int i;

	for (i = width - 1; i >= 0; i--) {
		text[i] = '0' + number % 10;
		number /= 10;
	}
	text[width] = then;
	return text + width + 1;
}

/**
 * snowflake_print_time - write an instant, as 2026-12-01T00:36:31.123Z
 * @unix_ms: the instant, in Unix milliseconds
 * @text: where it goes, in UTC, with a NUL at its end
 * @size: room for that; %SNOWFLAKE_TIME_SIZE is enough
 *
 * Context: any; async-signal-safe.
 * Return: the length of the text without the NUL. If -EOVERFLOW (the instant is
 * not in the years 1 to 9999) or -ENOBUFS (@size is too small), nothing is
 * written.
 */
int snowflake_print_time(int64_t unix_ms, char *text, size_t size)
{
	struct fields fields;
	char *at = text;
	int days, ms;

	if (!in_calendar(unix_ms))
		return -EOVERFLOW;
	if (size < sizeof("YYYY-MM-DDThh:mm:ss.mmmZ"))
		return -ENOBUFS;
	days = unix_ms / DAY_MS;
	ms = unix_ms % DAY_MS;
	if (ms < 0) {
		days--;
		ms += DAY_MS;
	}
	date_of(days, &fields);
	at = put(at, fields.year, 4, '-');
	at = put(at, fields.month, 2, '-');
	at = put(at, fields.day, 2, 'T');
	at = put(at, ms / 3600000, 2, ':');
	at = put(at, ms / 60000 % 60, 2, ':');
	at = put(at, ms / 1000 % 60, 2, '.');
	at = put(at, ms % 1000, 3, 'Z');
	*at = '\0';
	return at - text;
}

/* Go past one of some characters, if it is there. */
static bool skip(const char **text, const char *characters)
{
	if (!**text || !strchr(characters, **text))
		return false;
	(*text)++;
	return true;
}

static bool digit(const char **text, int *value)
{
	if (**text < '0' || **text > '9')
		return false;
	*value = *(*text)++ - '0';
	return true;
}

/* Take a number of a fixed width. */
static bool take(const char **text, int width, int least, int most, int *number)
{
	int value;

	*number = 0;
	while (width--) {
		if (!digit(text, &value))
			return false;
		*number = *number * 10 + value;
	}
	return *number >= least && *number <= most;
}

static bool take_date(const char **text, struct fields *fields)
{
	return take(text, 4, 1, 9999, &fields->year) && skip(text, "-") &&
	       take(text, 2, 1, 12, &fields->month) && skip(text, "-") &&
	       take(text, 2, 1, 31, &fields->day) &&
	       day_number(fields->year, fields->month, fields->day) <
	       day_number(fields->year, fields->month + 1, 1);
}

/* Digits after the third are cut off: ids, too, have the ms that they are in. */
static bool take_fraction(const char **text, struct fields *fields)
{
	int value, weight = 100;

	if (!digit(text, &value))
		return false;
	do {
		fields->ms += value * weight;
		weight /= 10;
	} while (digit(text, &value));
	return true;
}

static bool take_clock(const char **text, struct fields *fields)
{
	if (!take(text, 2, 0, 23, &fields->hour) || !skip(text, ":") ||
	    !take(text, 2, 0, 59, &fields->minute))
		return false;
	if (!skip(text, ":"))
		return true;
	if (!take(text, 2, 0, 59, &fields->second))
		return false;
	return !skip(text, ".,") || take_fraction(text, fields);
}

/* A time without a zone is UTC. */
static bool take_zone(const char **text, struct fields *fields)
{
	int hours, minutes = 0, sign = **text == '-' ? -1 : 1;

	if (skip(text, "Z") || !skip(text, "+-"))
		return true;
	if (!take(text, 2, 0, 23, &hours))
		return false;
	if ((skip(text, ":") || **text) && !take(text, 2, 0, 59, &minutes))
		return false;
	fields->offset = sign * (hours * 60 + minutes);
	return true;
}

/**
 * snowflake_parse_time - read an instant
 * @text: a date, YYYY-MM-DD, which is its first instant; or with a time of day
 *	after a T or a blank: hh:mm, hh:mm:ss or hh:mm:ss.f, with any number of
 *	digits after the point or comma, of which those after the third are cut
 *	off; and with a zone after that, Z, +hh:mm, +hhmm or +hh (or minus), or
 *	UTC if there is none
 * @unix_ms: where it goes, in Unix milliseconds
 *
 * Context: any; async-signal-safe.
 * Return: 0, -EINVAL if @text is none of these or there is no such date or time
 * of day (a second 60, which Unix time does not have, included), or -EOVERFLOW
 * if the instant, in UTC, is not in the years 1 to 9999.
 */
int snowflake_parse_time(const char *text, int64_t *unix_ms)
{
	struct fields f = { 0 };
	int64_t minutes, ms;

	if (!take_date(&text, &f))
		return -EINVAL;
	if (skip(&text, "T ") &&
	    !(take_clock(&text, &f) && take_zone(&text, &f)))
		return -EINVAL;
	if (*text)
		return -EINVAL;
	minutes = day_number(f.year, f.month, f.day) * INT64_C(1440) +
		  f.hour * 60 + f.minute - f.offset;
	ms = minutes * 60000 + f.second * 1000 + f.ms;
	if (!in_calendar(ms))
		return -EOVERFLOW;
	*unix_ms = ms;
	return 0;
}

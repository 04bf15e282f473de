// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What people write and read: numbers, instants, lengths of time.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define SECOND_MS UINT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
/* Of the Gregorian calendar: 365.2425 days. */
#define YEAR_MS UINT64_C(31556952000)

/* A number from digits at @text, which moves past them. */
static const char *take_number(const char **text, uint64_t *value)
{
	bool large = false;
	uint64_t sum = 0;

	if (!isdigit((unsigned char)**text))
		return **text ? "it is not a whole number" : "it is empty";
	for (; isdigit((unsigned char)**text); (*text)++) {
		large |= __builtin_mul_overflow(sum, 10, &sum) ||
			 __builtin_add_overflow(sum, **text - '0', &sum) ||
			 sum > INT64_MAX;
	}
	*value = sum;
	return large ? "it is above 2^63-1" : NULL;
}

/**
 * parse_number - a number from text
 * @text: digits alone
 * @value: where it goes, at most 2^63-1
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_number(const char *text, uint64_t *value)
{
	const char *wrong = take_number(&text, value);

	/* A letter further on is the more useful thing to hear of. */
	return *text ? "it is not a whole number" : wrong;
}

/**
 * parse_id - an id as people write it
 * @text: digits, or 0x and hexadecimal digits
 * @id: where it goes; never with the sign bit
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_id(const char *text, uint64_t *id)
{
	bool hex = text[0] == '0' && (text[1] | ' ') == 'x';
	uint64_t ignored;

	switch (snowflake_parse(hex ? SNOWFLAKE_HEX : SNOWFLAKE_DECIMAL, text,
				id)) {
	case 0:
		return NULL;
	case -ERANGE:
		return "it is above 2^63-1, or longer than any id";
	}
	if (!*text)
		return "it is empty";
	if (text[0] == '-' && !parse_number(text + 1, &ignored))
		return "it is negative, which an id never is";
	return "it is not a whole number";
}

/**
 * parse_format - a format from its name
 * @text: the name
 * @format: where it goes
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_format(const char *text, enum snowflake_format *format)
{
	static const char * const names[] = {
		[SNOWFLAKE_DECIMAL] = "decimal",
		[SNOWFLAKE_HEX] = "hex",
		[SNOWFLAKE_BASE32] = "base32",
		[SNOWFLAKE_BASE58] = "base58",
		[SNOWFLAKE_BASE62] = "base62",
		[SNOWFLAKE_JSON] = "json",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(text, names[i])) {
			*format = i;
			return NULL;
		}
	}
	return "formats are decimal, hex, base32, base58, base62 and json";
}

/**
 * is_option - whether getopt is to look at an argument
 * @argument: the argument, NULL after the last
 *
 * Return: false after the last one, and for a negative number or an offset back
 * in time, which are operands.
 */
bool is_option(const char *argument)
{
	return argument && !(argument[0] == '-' &&
			     isdigit((unsigned char)argument[1]));
}

/* An offset from now: a sign, a number and its unit. */
static const char *parse_offset(const char *text, int64_t now_ms,
				int64_t *unix_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{ "ms", 1 }, { "s", SECOND_MS }, { "m", MINUTE_MS },
		{ "h", HOUR_MS }, { "d", DAY_MS }, { "w", 7 * DAY_MS },
	};
	bool back = *text++ == '-';
	const char *wrong;
	uint64_t number;
	int64_t offset;
	size_t i;

	wrong = take_number(&text, &number);
	if (wrong)
		return wrong;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].name))
			continue;
		if (__builtin_mul_overflow(number, units[i].ms, &offset) ||
		    __builtin_add_overflow(now_ms, back ? -offset : offset,
					   unix_ms))
			return "it is beyond all clocks";
		return NULL;
	}
	return "units of time are ms, s, m, h, d and w";
}

/**
 * parse_instant - an instant from text
 * @text: "now", an offset from it such as -1h or now+30m, @ and Unix
 *	milliseconds, or what snowflake_parse_time() takes
 * @now_ms: what now is
 * @unix_ms: where it goes, in Unix milliseconds
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_instant(const char *text, int64_t now_ms, int64_t *unix_ms)
{
	const char *wrong;
	uint64_t ms;

	if (text[0] == '@') {
		wrong = parse_number(text + 1, &ms);
		*unix_ms = ms;
		return wrong;
	}
	if (!strncmp(text, "now", 3)) {
		*unix_ms = now_ms;
		text += 3;
		if (!*text)
			return NULL;
	}
	if (*text == '-' || *text == '+')
		return parse_offset(text, now_ms, unix_ms);
	switch (snowflake_parse_time(text, unix_ms)) {
	case 0:
		return NULL;
	case -EOVERFLOW:
		return "it is not in the years 1 to 9999";
	}
	return "instants are as in 2026-12-01, 2026-12-01T12:30:00Z, now, -1h or @UNIXMS";
}

/**
 * parse_seconds - a short time from text
 * @text: seconds, with up to three digits after a point
 * @min_ms: the least that is taken, in milliseconds
 * @ms: where it goes, at most an hour
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_seconds(const char *text, unsigned int min_ms,
			  unsigned int *ms)
{
	unsigned int weight = 100, fraction = 0;
	uint64_t seconds;

	if (take_number(&text, &seconds))
		return "it is not a number of seconds";
	if (*text == '.' && isdigit((unsigned char)text[1])) {
		for (text++; isdigit((unsigned char)*text) && weight; text++) {
			fraction += (*text - '0') * weight;
			weight /= 10;
		}
	}
	if (*text)
		return "it is not a number of seconds, to the millisecond";
	if (seconds > 3600 || seconds * 1000 + fraction > 3600000)
		return "it is more than an hour";
	if (seconds * 1000 + fraction < min_ms)
		return "it is too short";
	*ms = seconds * 1000 + fraction;
	return NULL;
}

/**
 * grouped - a number with a comma after each three digits
 * @number: the number
 * @text: where it goes
 *
 * Return: @text.
 */
const char *grouped(uint64_t number, char text[GROUPED_SIZE])
{
	char digits[GROUPED_SIZE];
	int length = sprintf(digits, "%ju", number), i;
	char *at = text;

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return text;
}

/**
 * time_text - an instant in ISO 8601, UTC, to the millisecond
 * @unix_ms: Unix milliseconds
 * @text: where it goes
 *
 * Return: @text.
 */
const char *time_text(int64_t unix_ms, char text[SNOWFLAKE_TIME_SIZE])
{
	/* A custom layout may outlive the calendar. */
	if (snowflake_print_time(unix_ms, text, SNOWFLAKE_TIME_SIZE) < 0)
		strcpy(text, "beyond the calendar");
	return text;
}

/**
 * length_text - a length of time in words
 * @ms: milliseconds
 * @text: where it goes
 *
 * Return: @text.
 */
const char *length_text(uint64_t ms, char text[LENGTH_SIZE])
{
	uint64_t tenths = (ms + YEAR_MS / 20) / (YEAR_MS / 10);

	if (ms < SECOND_MS)
		snprintf(text, LENGTH_SIZE, "%ju ms", ms);
	else if (ms < 2 * MINUTE_MS)
		snprintf(text, LENGTH_SIZE, "%ju.%03ju s",
			 ms / SECOND_MS, ms % SECOND_MS);
	else if (ms < HOUR_MS)
		snprintf(text, LENGTH_SIZE, "%ju min %ju s",
			 ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS);
	else if (ms < 2 * DAY_MS)
		snprintf(text, LENGTH_SIZE, "%ju h %ju min",
			 ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS);
	else if (ms < YEAR_MS)
		snprintf(text, LENGTH_SIZE, "%ju days", ms / DAY_MS);
	else
		snprintf(text, LENGTH_SIZE, "%ju.%ju years",
			 tenths / 10, tenths % 10);
	return text;
}

/**
 * share_text - what part of a whole something is
 * @part: the part
 * @whole: the whole, "?" if it is 0
 * @text: where it goes, in percent
 *
 * Return: @text.
 */
const char *share_text(uint64_t part, uint64_t whole, char text[SHARE_SIZE])
{
	if (whole)
		snprintf(text, SHARE_SIZE, "%.1f %%",
			 100.0 * (double)part / (double)whole);
	else
		strcpy(text, "?");
	return text;
}

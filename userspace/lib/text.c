// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ids as text. Unlike strtoull(), nothing but digits is taken: a sign, a blank
 * or a second word is a mistake that must not turn into another id.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <snowflake.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define DECIMAL "0123456789"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"

/**
 * struct format - how ids are written
 * @base: how many digits there are
 * @width: how many are written at least
 * @most: how many are read at most
 * @prefix: the second character of what may stand before them, after a 0
 * @quote: what must stand around them
 * @digits: the digits, each at the place of its value: first those that are
 *	written, which rise in ASCII, then others that are read as the same
 */
struct format {
	unsigned char base;
	unsigned char width;
	unsigned char most;
	char prefix;
	char quote;
	const char *digits[6];
};

static const struct format formats[] = {
	[SNOWFLAKE_DECIMAL] = {
		/* Some databases pad what may be unsigned to 20. */
		.base = 10, .width = 1, .most = 20,
		.digits = { DECIMAL },
	},
	[SNOWFLAKE_HEX] = {
		.base = 16, .width = 16, .most = 16, .prefix = 'x',
		.digits = { DECIMAL "abcdef", DECIMAL "ABCDEF" },
	},
	[SNOWFLAKE_BASE32] = {
		.base = 32, .width = 13, .most = 13,
		.digits = {
			DECIMAL "ABCDEFGHJKMNPQRSTVWXYZ",
			DECIMAL "abcdefghjkmnpqrstvwxyz",
			"OI", "oi", "OL", "ol",
		},
	},
	[SNOWFLAKE_BASE58] = {
		.base = 58, .width = 11, .most = 11,
		.digits = {
			"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
		},
	},
	[SNOWFLAKE_BASE62] = {
		.base = 62, .width = 11, .most = 11,
		.digits = { DECIMAL UPPER LOWER },
	},
	[SNOWFLAKE_JSON] = {
		.base = 10, .width = 1, .most = 20, .quote = '"',
		.digits = { DECIMAL },
	},
};

static const struct format *find(enum snowflake_format format)
{
	/* Who has a newer header may ask for what is not here. */
	return (unsigned int)format < ARRAY_SIZE(formats) ? &formats[format] :
							    NULL;
}

/* The value of a digit, -1 if it is none. */
static int value(const struct format *format, char c)
{
	const char *at;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(format->digits); i++) {
		if (!c || !format->digits[i])
			break;
		at = strchr(format->digits[i], c);
		if (at)
			return at - format->digits[i];
	}
	return -1;
}

/**
 * snowflake_print - write an id
 * @format: how
 * @id: the id
 * @text: where it goes, with a NUL at its end
 * @size: room for that; %SNOWFLAKE_ID_SIZE is enough for any format
 *
 * Context: any; async-signal-safe.
 * Return: the length of the text without the NUL. If -EINVAL (there is no such
 * format), -ERANGE (@id has the sign bit: it is none) or -ENOBUFS (@size is too
 * small), nothing is written.
 */
int snowflake_print(enum snowflake_format format, uint64_t id, char *text,
		    size_t size)
{
	const struct format *f = find(format);
	char buffer[SNOWFLAKE_ID_SIZE];
	char *end = buffer + sizeof(buffer), *at = end;
	unsigned int written;

	if (!f)
		return -EINVAL;
	if (id > INT64_MAX)
		return -ERANGE;
	*--at = '\0';
	if (f->quote)
		*--at = f->quote;
	for (written = 0; id || written < f->width; written++) {
		*--at = f->digits[0][id % f->base];
		id /= f->base;
	}
	if (f->quote)
		*--at = f->quote;
	if (size < (size_t)(end - at))
		return -ENOBUFS;
	memcpy(text, at, end - at);
	return end - at - 1;
}

/**
 * snowflake_parse - read an id
 * @format: how it is written. Zeros at its begin may be missing, and there may
 *	be more up to the format's width, or up to 20 digits of decimal and JSON.
 *	Hexadecimal digits may be of either case and have 0x before them; digits
 *	of base 32 may be of either case, I and L stand for 1 and O for 0, and
 *	hyphens are not taken. JSON must have its quotation marks, and no escapes
 * @text: the text, which must be the id and nothing else
 * @id: where it goes
 *
 * Context: any; async-signal-safe.
 * Return: 0, -EINVAL if there is no such format or @text is not of it, or
 * -ERANGE if it is above 2^63-1 or has too many digits.
 */
int snowflake_parse(enum snowflake_format format, const char *text,
		    uint64_t *id)
{
	const struct format *f = find(format);
	bool large = false;
	size_t count = 0;
	uint64_t sum = 0;
	int digit;

	if (!f || (f->quote && *text++ != f->quote))
		return -EINVAL;
	if (f->prefix && text[0] == '0' && (text[1] | ' ') == f->prefix)
		text += 2;
	for (; (digit = value(f, *text)) >= 0; text++) {
		/* A wrong character further on is the worse mistake. */
		large |= ++count > f->most ||
			 __builtin_mul_overflow(sum, f->base, &sum) ||
			 __builtin_add_overflow(sum, digit, &sum) ||
			 sum > INT64_MAX;
	}
	if (!count || (f->quote && *text++ != f->quote) || *text)
		return -EINVAL;
	if (large)
		return -ERANGE;
	*id = sum;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Numbers from text. Unlike strtoull, nothing but digits is taken: a sign, a
 * blank or a second word is a mistake that must not turn into another id.
 */
#include "cli.h"

/* The value of a digit, or more than any base. */
static unsigned int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static const char *parse(const char *text, unsigned int base, u64 *value)
{
	bool large = false;
	u64 sum = 0;

	if (!*text)
		return "it is empty";
	for (; *text; text++) {
		if (digit(*text) >= base)
			return "it is not a whole number";
		/* A letter further on is the more useful thing to hear of. */
		if (sum > ((u64)S64_MAX - digit(*text)) / base)
			large = true;
		else
			sum = sum * base + digit(*text);
	}
	if (large)
		return "it is above 2^63-1";
	*value = sum;
	return NULL;
}

/**
 * parse_decimal - a number from text
 * @text: digits alone
 * @value: where it goes, at most 2^63-1
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_decimal(const char *text, u64 *value)
{
	return parse(text, 10, value);
}

/**
 * parse_id - an id from text
 * @text: digits, or 0x and hexadecimal digits
 * @id: where it goes; never with the sign bit
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *parse_id(const char *text, u64 *id)
{
	u64 ignored;

	if (text[0] == '-' && !parse(text + 1, 10, &ignored))
		return "it is negative, which an id never is";
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return parse(text + 2, 16, id);
	return parse(text, 10, id);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Any text as an instant: what is read must be what is written of it, and any
 * number as an instant, the other way round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <snowflake.h>

#define NO_TIME INT64_C(-0x2152411021524111)

static void check(int held)
{
	if (!held)
		abort();
}

static void write_and_read(int64_t ms, int must)
{
	char text[SNOWFLAKE_TIME_SIZE];
	int length = snowflake_print_time(ms, text, sizeof(text));
	int64_t back;

	if (length < 0) {
		check(length == -EOVERFLOW && !must);
		return;
	}
	check((size_t)length == strlen(text));
	check(!snowflake_parse_time(text, &back) && back == ms);
}

static void read_and_write(const char *text)
{
	char again[SNOWFLAKE_TIME_SIZE];
	int64_t ms = NO_TIME;
	int err = snowflake_parse_time(text, &ms);

	if (err) {
		check(err == -EINVAL || err == -EOVERFLOW);
		check(ms == NO_TIME);
		return;
	}
	write_and_read(ms, 1);
	/* Only a zone leads to another date. */
	check(snowflake_print_time(ms, again, sizeof(again)) > 0);
	check(strpbrk(text + 10, "+-") || !strncmp(text, again, 10));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of its own, so that a step beyond its end is seen. */
	char *text = malloc(size + 1);
	int64_t ms;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	read_and_write(text);
	free(text);
	if (size >= sizeof(ms)) {
		memcpy(&ms, data, sizeof(ms));
		write_and_read(ms, 0);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Any text as an id in any format: whatever is read must be the id that is
 * written of it, and what is not read must leave no trace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <snowflake.h>

#define NO_ID UINT64_C(0xdeadbeefdeadbeef)

static void check(int held)
{
	if (!held)
		abort();
}

/* Where every digit has one sign, they are the same but for zeros at the begin. */
static void same_digits(enum snowflake_format format, const char *a,
			const char *b)
{
	const char *zero = format == SNOWFLAKE_BASE58 ? "1" : "0";

	if (format == SNOWFLAKE_DECIMAL || format == SNOWFLAKE_BASE58 ||
	    format == SNOWFLAKE_BASE62)
		check(!strcmp(a + strspn(a, zero), b + strspn(b, zero)));
}

static void read_and_write(enum snowflake_format format, const char *text)
{
	char again[SNOWFLAKE_ID_SIZE];
	uint64_t id = NO_ID, back;
	int err = snowflake_parse(format, text, &id);

	if (err) {
		check(err == -EINVAL || err == -ERANGE);
		check(id == NO_ID);
		return;
	}
	check(id <= INT64_MAX);
	check(snowflake_print(format, id, again, sizeof(again)) ==
	      (int)strlen(again));
	same_digits(format, text, again);
	check(!snowflake_parse(format, again, &back) && back == id);
}

/* Eight bytes are an id as well. */
static void write_and_read(enum snowflake_format format, uint64_t id,
			   size_t size)
{
	char text[SNOWFLAKE_ID_SIZE];
	uint64_t back;
	int length;

	if (size > sizeof(text))
		size = sizeof(text);
	length = snowflake_print(format, id, text, size);
	if (length < 0) {
		check(length == -EINVAL || length == -ERANGE ||
		      length == -ENOBUFS);
		return;
	}
	check((size_t)length < size && (size_t)length == strlen(text));
	check(!snowflake_parse(format, text, &back) && back == id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum snowflake_format format;
	uint64_t id;
	char *text;

	if (!size)
		return 0;
	format = *data++ % (SNOWFLAKE_JSON + 2);
	size--;
	/* Of its own, so that a step beyond its end is seen. */
	text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	read_and_write(format, text);
	free(text);
	if (size >= sizeof(id)) {
		memcpy(&id, data, sizeof(id));
		write_and_read(format, id, size);
	}
	return 0;
}

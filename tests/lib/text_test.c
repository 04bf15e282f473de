// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Ids as text: what is written, what is read, and what is not.
 */
#include "lib_test.h"

#define MAX INT64_MAX
#define NO_ID UINT64_C(0xdeadbeefdeadbeef)
#define FORMATS (SNOWFLAKE_JSON + 1)

/**
 * struct written - an id in a format
 * @format: the format
 * @id: the id
 * @text: what is written of it
 */
struct written {
	enum snowflake_format format;
	uint64_t id;
	const char *text;
};

static const struct written writtens[] = {
	{ SNOWFLAKE_DECIMAL, 0, "0" },
	{ SNOWFLAKE_DECIMAL, 10, "10" },
	{ SNOWFLAKE_DECIMAL, 2127481729571622912, "2127481729571622912" },
	{ SNOWFLAKE_DECIMAL, MAX, "9223372036854775807" },
	{ SNOWFLAKE_HEX, 0, "0000000000000000" },
	{ SNOWFLAKE_HEX, 0xabcdef, "0000000000abcdef" },
	{ SNOWFLAKE_HEX, 2127481729571622912, "1d86555c75401000" },
	{ SNOWFLAKE_HEX, MAX, "7fffffffffffffff" },
	{ SNOWFLAKE_BASE32, 0, "0000000000000" },
	{ SNOWFLAKE_BASE32, 31, "000000000000Z" },
	{ SNOWFLAKE_BASE32, 32, "0000000000010" },
	{ SNOWFLAKE_BASE32, 1234, "000000000016J" },
	{ SNOWFLAKE_BASE32, MAX, "7ZZZZZZZZZZZZ" },
	{ SNOWFLAKE_BASE58, 0, "11111111111" },
	{ SNOWFLAKE_BASE58, 57, "1111111111z" },
	{ SNOWFLAKE_BASE58, 58, "11111111121" },
	{ SNOWFLAKE_BASE58, 0x287fb4cd, "11111233QC4" },
	{ SNOWFLAKE_BASE58, MAX, "NQm6nKp8qFC" },
	{ SNOWFLAKE_BASE62, 0, "00000000000" },
	{ SNOWFLAKE_BASE62, 61, "0000000000z" },
	{ SNOWFLAKE_BASE62, 62, "00000000010" },
	{ SNOWFLAKE_BASE62, MAX, "AzL8n0Y58m7" },
	{ SNOWFLAKE_JSON, 0, "\"0\"" },
	{ SNOWFLAKE_JSON, MAX, "\"9223372036854775807\"" },
};

/**
 * struct read - text that is read, or not
 * @format: the format
 * @text: the text
 * @err: 0 if it is read
 * @id: as what
 */
struct read {
	enum snowflake_format format;
	const char *text;
	int err;
	uint64_t id;
};

static const struct read reads[] = {
	{ SNOWFLAKE_DECIMAL, "0", 0, 0 },
	{ SNOWFLAKE_DECIMAL, "007", 0, 7 },
	{ SNOWFLAKE_DECIMAL, "9223372036854775807", 0, MAX },
	{ SNOWFLAKE_DECIMAL, "09223372036854775807", 0, MAX },
	{ SNOWFLAKE_DECIMAL, "00000000000000000000", 0, 0 },
	{ SNOWFLAKE_DECIMAL, "9223372036854775808", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "18446744073709551615", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "18446744073709551616", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "18446744073709551617", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "99999999999999999999", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "100000000000000000000", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "999999999999999999999", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "000000000000000000001", -ERANGE },
	{ SNOWFLAKE_DECIMAL, "184467440737095516160000000000000000", -ERANGE },
	/* The letter is the worse mistake. */
	{ SNOWFLAKE_DECIMAL, "999999999999999999999x", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "-1", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "-0", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "+1", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1e3", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1.0", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1,000", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1_000", -EINVAL },
	{ SNOWFLAKE_DECIMAL, " 1", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1 ", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1\n", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "1 2", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "\t1", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "0x10", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "12a", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "a", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "\"1\"", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "\xd9\xa1", -EINVAL },
	{ SNOWFLAKE_DECIMAL, "NaN", -EINVAL },

	{ SNOWFLAKE_HEX, "0", 0, 0 },
	{ SNOWFLAKE_HEX, "ff", 0, 255 },
	{ SNOWFLAKE_HEX, "FF", 0, 255 },
	{ SNOWFLAKE_HEX, "fF", 0, 255 },
	{ SNOWFLAKE_HEX, "0xff", 0, 255 },
	{ SNOWFLAKE_HEX, "0XFF", 0, 255 },
	{ SNOWFLAKE_HEX, "0x00000000000000ff", 0, 255 },
	{ SNOWFLAKE_HEX, "0x7fffffffffffffff", 0, MAX },
	{ SNOWFLAKE_HEX, "0x8000000000000000", -ERANGE },
	{ SNOWFLAKE_HEX, "ffffffffffffffff", -ERANGE },
	{ SNOWFLAKE_HEX, "00000000000000001", -ERANGE },
	{ SNOWFLAKE_HEX, "10000000000000000", -ERANGE },
	{ SNOWFLAKE_HEX, "", -EINVAL },
	{ SNOWFLAKE_HEX, "0x", -EINVAL },
	{ SNOWFLAKE_HEX, "x1", -EINVAL },
	{ SNOWFLAKE_HEX, "0x0x1", -EINVAL },
	{ SNOWFLAKE_HEX, "00x1", -EINVAL },
	{ SNOWFLAKE_HEX, "-0x1", -EINVAL },
	{ SNOWFLAKE_HEX, "0x-1", -EINVAL },
	{ SNOWFLAKE_HEX, "0x 1", -EINVAL },
	{ SNOWFLAKE_HEX, "fg", -EINVAL },
	{ SNOWFLAKE_HEX, "ffh", -EINVAL },
	{ SNOWFLAKE_HEX, "1d86555c-75401000", -EINVAL },

	{ SNOWFLAKE_BASE32, "16J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "16j", 0, 1234 },
	{ SNOWFLAKE_BASE32, "i6J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "I6J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "l6J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "L6J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "oO16J", 0, 1234 },
	{ SNOWFLAKE_BASE32, "zz", 0, 1023 },
	{ SNOWFLAKE_BASE32, "7zzzzzzzzzzzz", 0, MAX },
	{ SNOWFLAKE_BASE32, "8000000000000", -ERANGE },
	{ SNOWFLAKE_BASE32, "FZZZZZZZZZZZZ", -ERANGE },
	{ SNOWFLAKE_BASE32, "G000000000000", -ERANGE },
	{ SNOWFLAKE_BASE32, "ZZZZZZZZZZZZZ", -ERANGE },
	{ SNOWFLAKE_BASE32, "00000000000001", -ERANGE },
	{ SNOWFLAKE_BASE32, "", -EINVAL },
	{ SNOWFLAKE_BASE32, "U", -EINVAL },
	{ SNOWFLAKE_BASE32, "u", -EINVAL },
	{ SNOWFLAKE_BASE32, "1-6J", -EINVAL },
	{ SNOWFLAKE_BASE32, "0x1", 0, 29 * 32 + 1 },
	{ SNOWFLAKE_BASE32, "16J*", -EINVAL },

	{ SNOWFLAKE_BASE58, "233QC4", 0, 0x287fb4cd },
	{ SNOWFLAKE_BASE58, "11233QC4", 0, 0x287fb4cd },
	{ SNOWFLAKE_BASE58, "1", 0, 0 },
	{ SNOWFLAKE_BASE58, "NQm6nKp8qFC", 0, MAX },
	{ SNOWFLAKE_BASE58, "NQm6nKp8qFD", -ERANGE },
	{ SNOWFLAKE_BASE58, "zzzzzzzzzzz", -ERANGE },
	{ SNOWFLAKE_BASE58, "111111111112", -ERANGE },
	{ SNOWFLAKE_BASE58, "", -EINVAL },
	{ SNOWFLAKE_BASE58, "0", -EINVAL },
	{ SNOWFLAKE_BASE58, "I", -EINVAL },
	{ SNOWFLAKE_BASE58, "O", -EINVAL },
	{ SNOWFLAKE_BASE58, "l", -EINVAL },

	{ SNOWFLAKE_BASE62, "z", 0, 61 },
	{ SNOWFLAKE_BASE62, "Z", 0, 35 },
	{ SNOWFLAKE_BASE62, "10", 0, 62 },
	{ SNOWFLAKE_BASE62, "AzL8n0Y58m7", 0, MAX },
	{ SNOWFLAKE_BASE62, "AzL8n0Y58m8", -ERANGE },
	{ SNOWFLAKE_BASE62, "LygHa16AHYF", -ERANGE },
	{ SNOWFLAKE_BASE62, "zzzzzzzzzzz", -ERANGE },
	{ SNOWFLAKE_BASE62, "000000000001", -ERANGE },
	{ SNOWFLAKE_BASE62, "", -EINVAL },
	{ SNOWFLAKE_BASE62, "a-b", -EINVAL },
	{ SNOWFLAKE_BASE62, "a_b", -EINVAL },

	{ SNOWFLAKE_JSON, "\"0\"", 0, 0 },
	{ SNOWFLAKE_JSON, "\"007\"", 0, 7 },
	{ SNOWFLAKE_JSON, "\"9223372036854775807\"", 0, MAX },
	{ SNOWFLAKE_JSON, "\"9223372036854775808\"", -ERANGE },
	{ SNOWFLAKE_JSON, "\"18446744073709551615\"", -ERANGE },
	{ SNOWFLAKE_JSON, "\"100000000000000000000\"", -ERANGE },
	{ SNOWFLAKE_JSON, "", -EINVAL },
	{ SNOWFLAKE_JSON, "\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"\"", -EINVAL },
	{ SNOWFLAKE_JSON, "1", -EINVAL },
	{ SNOWFLAKE_JSON, "1\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"1", -EINVAL },
	{ SNOWFLAKE_JSON, "'1'", -EINVAL },
	{ SNOWFLAKE_JSON, "\"1\" ", -EINVAL },
	{ SNOWFLAKE_JSON, " \"1\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\" 1\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"1\"\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"-1\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"1e3\"", -EINVAL },
	{ SNOWFLAKE_JSON, "\"\\u0031\"", -EINVAL },
	{ SNOWFLAKE_JSON, "null", -EINVAL },
};

static void written_as_on_paper(void **state)
{
	char text[SNOWFLAKE_ID_SIZE];
	const struct written *w;
	uint64_t id;

	(void)state;
	for (w = writtens; w < writtens + ARRAY_SIZE(writtens); w++) {
		assert_int_equal(snowflake_print(w->format, w->id, text,
						 sizeof(text)),
				 strlen(w->text));
		assert_string_equal(text, w->text);
		assert_int_equal(snowflake_parse(w->format, w->text, &id), 0);
		assert_int_equal(id, w->id);
	}
}

static void read_as_on_paper(void **state)
{
	const struct read *r;

	(void)state;
	for (r = reads; r < reads + ARRAY_SIZE(reads); r++) {
		/* Its last byte is the last that may be looked at. */
		char *text = strdup(r->text);
		uint64_t id = NO_ID;
		int err;

		assert_non_null(text);
		err = snowflake_parse(r->format, text, &id);
		free(text);
		if (err != r->err || id != (r->err ? NO_ID : r->id))
			fail_msg("format %d, '%s': error %d, id %" PRIu64,
				 (int)r->format, r->text, err, id);
	}
}

/* What stands next to an id in a file must not get into it. */
static void no_other_byte_is_a_digit(void **state)
{
	static const unsigned int expected[FORMATS] = {
		[SNOWFLAKE_DECIMAL] = 10,
		[SNOWFLAKE_HEX] = 22,
		[SNOWFLAKE_BASE32] = 10 + 2 * 25,
		[SNOWFLAKE_BASE58] = 58,
		[SNOWFLAKE_BASE62] = 62,
	};
	unsigned int format, digits;
	uint64_t id;
	int c;

	(void)state;
	for (format = 0; format < FORMATS; format++) {
		digits = 0;
		for (c = 1; c < 256; c++) {
			char text[] = { c, '\0' };

			if (!snowflake_parse(format, text, &id))
				digits++;
		}
		assert_int_equal(digits, expected[format]);
	}
}

static void no_id_is_written(void **state)
{
	static const uint64_t wrong[] = {
		UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX,
	};
	unsigned int format, i;
	char text[] = "untouched untouched untouched";

	(void)state;
	for (format = 0; format < FORMATS; format++) {
		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			assert_int_equal(snowflake_print(format, wrong[i], text,
							 sizeof(text)),
					 -ERANGE);
			assert_string_equal(text,
					    "untouched untouched untouched");
		}
	}
}

static void other_formats_are_none(void **state)
{
	static const int wrong[] = { FORMATS, 99, INT32_MAX, -1 };
	char text[] = "untouched untouched untouched";
	uint64_t id = NO_ID;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		enum snowflake_format format = wrong[i];

		assert_int_equal(snowflake_print(format, 1, text, sizeof(text)),
				 -EINVAL);
		assert_string_equal(text, "untouched untouched untouched");
		assert_int_equal(snowflake_parse(format, "1", &id), -EINVAL);
		assert_int_equal(id, NO_ID);
	}
}

/* Exactly as many bytes as it takes, and not one more is written. */
static void room_is_kept_to(void **state)
{
	const struct written *w;
	size_t size;

	(void)state;
	for (w = writtens; w < writtens + ARRAY_SIZE(writtens); w++) {
		size_t need = strlen(w->text) + 1;

		assert_true(need <= SNOWFLAKE_ID_SIZE);
		for (size = 0; size <= need; size++) {
			char *text = malloc(size);
			int got;

			assert_true(text || !size);
			if (size)
				memset(text, '#', size);
			got = snowflake_print(w->format, w->id, text, size);
			if (size == need) {
				assert_int_equal(got, need - 1);
				assert_string_equal(text, w->text);
			} else {
				assert_int_equal(got, -ENOBUFS);
				assert_true(!size || text[0] == '#');
			}
			free(text);
		}
	}
}

static void round_trips(void **state)
{
	uint64_t i, trials = test_trials(1000000);
	char text[SNOWFLAKE_ID_SIZE];

	(void)state;
	for (i = 0; i < trials; i++) {
		enum snowflake_format format = i % FORMATS;
		/* Short ones as often as long ones. */
		uint64_t id = test_random() >> (1 + test_random() % 63), read;
		int length = snowflake_print(format, id, text, sizeof(text));

		assert_int_equal(length, strlen(text));
		assert_int_equal(snowflake_parse(format, text, &read), 0);
		assert_true(read == id);
		if (format == SNOWFLAKE_DECIMAL)
			assert_true(strtoull(text, NULL, 10) == id);
		if (format == SNOWFLAKE_HEX)
			assert_true(strtoull(text, NULL, 16) == id);
	}
}

/* Text of a fixed width sorts as ids do. */
static void text_sorts_as_ids_do(void **state)
{
	char text[2][SNOWFLAKE_ID_SIZE];
	unsigned int format;
	uint64_t i, id[2];

	(void)state;
	for (format = SNOWFLAKE_HEX; format <= SNOWFLAKE_BASE62; format++) {
		for (i = 0; i < 10000; i++) {
			id[0] = test_random() >> (1 + test_random() % 63);
			id[1] = i % 2 ? id[0] + 1 : test_random() >> 1;
			if (id[1] > MAX || id[0] == id[1])
				continue;
			snowflake_print(format, id[0], text[0],
					sizeof(text[0]));
			snowflake_print(format, id[1], text[1],
					sizeof(text[1]));
			assert_int_equal(strlen(text[0]), strlen(text[1]));
			assert_int_equal(strcmp(text[0], text[1]) < 0,
					 id[0] < id[1]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_as_on_paper),
		cmocka_unit_test(read_as_on_paper),
		cmocka_unit_test(no_other_byte_is_a_digit),
		cmocka_unit_test(no_id_is_written),
		cmocka_unit_test(other_formats_are_none),
		cmocka_unit_test(room_is_kept_to),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(text_sorts_as_ids_do),
	};

	return test_run("text", tests);
}

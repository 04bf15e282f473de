// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Errors in words.
 */
#include <limits.h>
#include <locale.h>

#include "lib_test.h"

/**
 * struct said - what must be said of an error
 * @call: what returned it
 * @err: the errno
 * @what: a part of what happened
 * @cure: a part of what to do
 */
struct said {
	enum snowflake_call call;
	int err;
	const char *what;
	const char *cure;
};

static const struct said saids[] = {
	{ SNOWFLAKE_IN_OPEN, ENOENT, "not loaded", "modprobe" },
	{ SNOWFLAKE_IN_OPEN, ENXIO, "no driver", "modprobe" },
	{ SNOWFLAKE_IN_OPEN, ENODEV, "no driver", "modprobe" },
	{ SNOWFLAKE_IN_OPEN, EACCES, "may not", "group" },
	{ SNOWFLAKE_IN_OPEN, EPERM, "device rules", "container" },
	{ SNOWFLAKE_IN_OPEN, ENOTTY, "not a snowflake", "/dev/snowflake" },
	{ SNOWFLAKE_IN_OPEN, EINVAL, "malformed", "snowflake-local(7)" },
	{ SNOWFLAKE_IN_OPEN, ENOTDIR, "folder", "HOME" },
	{ SNOWFLAKE_IN_OPEN, EMFILE, "open files", "ulimit" },
	{ SNOWFLAKE_IN_OPEN, ENFILE, "open files", "close" },
	{ SNOWFLAKE_IN_OPEN, EADDRINUSE, "overlap", "nothing else has" },
	{ SNOWFLAKE_IN_OPEN, EBADMSG, "damaged", "worker id" },
	{ SNOWFLAKE_IN_OPEN, ENOSPC, "state", "room" },
	{ SNOWFLAKE_IN_OPEN, EDQUOT, "state", "room" },
	{ SNOWFLAKE_IN_OPEN, EROFS, "read-only", "room" },
	{ SNOWFLAKE_IN_OPEN, EIO, "failing", "room" },
	{ SNOWFLAKE_IN_NEXT, ENXIO, "no worker id", "worker_id" },
	{ SNOWFLAKE_IN_NEXT, EDESTADDRREQ, "bound", "sharing" },
	{ SNOWFLAKE_IN_NEXT, EOVERFLOW, "last timestamp", "ends_ms" },
	{ SNOWFLAKE_IN_NEXT, ERANGE, "jumped", "accept_jump" },
	{ SNOWFLAKE_IN_NEXT, EKEYEXPIRED, "window", "not_after_ms" },
	{ SNOWFLAKE_IN_NEXT, ECANCELED, "behind", "wait" },
	{ SNOWFLAKE_IN_NEXT, EAGAIN, "used up", "again" },
	{ SNOWFLAKE_IN_NEXT, EINTR, "signal", "again" },
	{ SNOWFLAKE_IN_NEXT, EINVAL, "room", "8 bytes" },
	{ SNOWFLAKE_IN_NEXT, ENOSPC, "state", "room" },
	{ SNOWFLAKE_IN_NEXT, ESTALE, "removed", "again" },
	{ SNOWFLAKE_IN_NEXT, EBADF, "closed", "again" },
	{ SNOWFLAKE_IN_BIND, ENXIO, "no worker id", "worker_id" },
	{ SNOWFLAKE_IN_BIND, EBUSY, "already", "another" },
	{ SNOWFLAKE_IN_BIND, EINVAL, "sharing", "range" },
	{ SNOWFLAKE_IN_INFO, ENXIO, "no worker id", "worker_id" },
	{ SNOWFLAKE_IN_INFO, EOPNOTSUPP, "poll", "timed" },
	{ SNOWFLAKE_IN_TEXT, EINVAL, "malformed", "correct" },
	{ SNOWFLAKE_IN_TEXT, ERANGE, "range", "layout" },
	{ SNOWFLAKE_IN_TEXT, EOVERFLOW, "9999", "give" },
	{ SNOWFLAKE_IN_TEXT, ENOBUFS, "no room", "SNOWFLAKE_ID_SIZE" },
};

static void says_what_and_what_to_do(void **state)
{
	const struct said *s;

	(void)state;
	for (s = saids; s < saids + ARRAY_SIZE(saids); s++) {
		const char *text = snowflake_strerror(s->call, s->err);
		const char *cure = strstr(text, "; ");
		const char *what = strstr(text, s->what);

		if (!cure || !what || what > cure || !strstr(cure, s->cure))
			fail_msg("%d %d: '%s'", (int)s->call, s->err, text);
		/* One, so that it can be parted, and on one line. */
		assert_null(strchr(cure + 1, ';'));
		assert_ptr_equal(strchr(text, ';'), cure);
		assert_null(strchr(text, '\n'));
		assert_true(cure[2] && text[strlen(text) - 1] != '.');
	}
}

static void sign_does_not_matter(void **state)
{
	unsigned int call;
	int err;

	(void)state;
	for (call = 0; call <= SNOWFLAKE_IN_TEXT + 1; call++) {
		for (err = 0; err < 5000; err++)
			assert_ptr_equal(snowflake_strerror(call, err),
					 snowflake_strerror(call, -err));
	}
}

/* The same errno means different things from different calls. */
static void calls_differ(void **state)
{
	const struct said *s;
	unsigned int call;

	(void)state;
	for (s = saids; s < saids + ARRAY_SIZE(saids); s++) {
		const char *text = snowflake_strerror(s->call, s->err);

		for (call = 0; call <= SNOWFLAKE_IN_TEXT; call++) {
			const struct said *other = saids;

			while (other < saids + ARRAY_SIZE(saids) &&
			       (other->call != call || other->err != s->err))
				other++;
			if (other < saids + ARRAY_SIZE(saids) &&
			    strcmp(other->what, s->what))
				assert_string_not_equal(text,
							snowflake_strerror(call,
									   s->err));
		}
	}
}

static void other_errors_have_the_systems_words(void **state)
{
	static const int odd[] = { 0, 4000, INT_MAX, INT_MIN, INT_MIN + 1 };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		assert_non_null(snowflake_strerror(SNOWFLAKE_IN_NEXT, odd[i]));
		assert_true(*snowflake_strerror(SNOWFLAKE_IN_NEXT, odd[i]));
	}
	assert_string_equal(snowflake_strerror(SNOWFLAKE_IN_NEXT, -ENOMEM),
			    "Cannot allocate memory");
	/* A call of a later header. */
	assert_string_equal(snowflake_strerror(99, EINVAL), "Invalid argument");
	assert_string_equal(snowflake_strerror(-1, EINVAL), "Invalid argument");
	assert_string_equal(snowflake_strerror(32, EINVAL), "Invalid argument");
}

/* It may be kept, and be asked for by any number of threads. */
static void texts_are_constant(void **state)
{
	const char *texts[ARRAY_SIZE(saids)], *other;
	unsigned int i;

	(void)state;
	other = snowflake_strerror(SNOWFLAKE_IN_NEXT, ENOMEM);
	for (i = 0; i < ARRAY_SIZE(saids); i++)
		texts[i] = snowflake_strerror(saids[i].call, saids[i].err);
	setlocale(LC_ALL, "");
	for (i = 0; i < ARRAY_SIZE(saids); i++)
		assert_ptr_equal(texts[i], snowflake_strerror(saids[i].call,
							      saids[i].err));
	assert_ptr_equal(other, snowflake_strerror(SNOWFLAKE_IN_NEXT, ENOMEM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_and_what_to_do),
		cmocka_unit_test(sign_does_not_matter),
		cmocka_unit_test(calls_differ),
		cmocka_unit_test(other_errors_have_the_systems_words),
		cmocka_unit_test(texts_are_constant),
	};

	return test_run("errors", tests);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Any layout, id and span: no call may go wrong, and what one says must agree
 * with what the others say.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <snowflake.h>

static void check(int held)
{
	if (!held)
		abort();
}

/**
 * struct input - what the fuzzer's bytes are taken for
 * @layout: a layout, often none
 * @id: an id, often none
 * @parts: its parts, often none
 * @from_ms: start of a span
 * @until_ms: its end
 */
struct input {
	struct snowflake_id_layout layout;
	uint64_t id;
	struct snowflake_id_parts parts;
	int64_t from_ms;
	int64_t until_ms;
};

static void decode_and_compose(const struct input *in)
{
	struct snowflake_id_parts parts;
	uint64_t id;
	int err = snowflake_decode(&in->layout, in->id, &parts);

	if (err) {
		check(err == -ERANGE);
		return;
	}
	check(in->id <= INT64_MAX);
	check(parts.time_ms <= INT64_MAX);
	check(!snowflake_compose(&in->layout, &parts, &id));
	check(id == in->id);
}

static void compose_and_decode(const struct input *in)
{
	struct snowflake_id_parts parts;
	uint64_t id;
	int err = snowflake_compose(&in->layout, &in->parts, &id);

	if (err) {
		check(err == -ERANGE);
		return;
	}
	check(id <= INT64_MAX);
	check(!snowflake_decode(&in->layout, id, &parts));
	check(parts.tick == in->parts.tick);
	check(parts.worker == in->parts.worker);
	check(parts.sequence == in->parts.sequence);
}

static void span(const struct input *in)
{
	struct snowflake_id_parts first_parts, last_parts;
	uint64_t first, last;
	int err = snowflake_span(&in->layout, in->from_ms, in->until_ms, &first,
				 &last);

	if (err) {
		check(err == (in->until_ms < in->from_ms ? -EINVAL : -ERANGE));
		return;
	}
	check(first < last && last <= INT64_MAX);
	check(!snowflake_decode(&in->layout, first, &first_parts));
	check(!snowflake_decode(&in->layout, last, &last_parts));
	check((int64_t)first_parts.time_ms >= in->from_ms);
	check((int64_t)last_parts.time_ms < in->until_ms);
	check(!first_parts.worker && !first_parts.sequence);
}

static void limits(const struct input *in)
{
	struct snowflake_limits limits;

	check(!snowflake_get_limits(&in->layout, &limits));
	check(limits.ids_per_tick >= 2 && limits.workers >= 2);
	check(limits.fleet_per_second >= limits.ids_per_second);
	check(limits.span_ms && limits.last_ms <= INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snowflake_limits untouched;
	struct input in;
	const char *name, *why = NULL;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	/* Half of them in a layout that has a name. */
	name = snowflake_preset_name(in.layout.reserved[1] / 8);
	if (name)
		check(!snowflake_preset(name, &in.layout));
	if (snowflake_get_limits(&in.layout, &untouched)) {
		check(snowflake_check_layout(&in.layout, &why) == -EINVAL);
		check(why && *why);
		check(snowflake_decode(&in.layout, in.id, &in.parts) == -EINVAL);
		check(snowflake_compose(&in.layout, &in.parts, &in.id) ==
		      -EINVAL);
		return 0;
	}
	limits(&in);
	decode_and_compose(&in);
	compose_and_decode(&in);
	span(&in);
	return 0;
}

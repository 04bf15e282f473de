// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The bits of an id as a picture.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* The sign is a field too, and so are bits that a narrow layout leaves. */
#define FIELDS_MAX 5

#define BAR_INDENT 2
#define BAR_BETWEEN " | "

/**
 * struct field - a part of the bar
 * @label: what it is called
 * @bits: its width
 * @column: where it begins
 */
struct field {
	const char *label;
	unsigned int bits;
	unsigned int column;
};

/* Fills in the columns and leaves out the fields that are not there. */
static size_t bar_fields(const struct snowflake_id_layout *layout,
			 struct field *fields)
{
	unsigned int shift = layout->worker_bits + layout->sequence_bits;
	/* Of 64 bits in use, the highest is no timestamp but the sign. */
	unsigned int timestamp = layout->timestamp_bits < 63 - shift ?
				 layout->timestamp_bits : 63 - shift;
	const struct field worker = {
		.label = "worker", .bits = layout->worker_bits
	};
	const struct field sequence = {
		.label = "sequence", .bits = layout->sequence_bits
	};
	bool worker_first = layout->order == SNOWFLAKE_SEQUENCE_LOWEST;
	const struct field all[FIELDS_MAX] = {
		{ .label = "sign", .bits = 1 },
		{ .label = "unused", .bits = 63 - shift - timestamp },
		{ .label = "timestamp", .bits = timestamp },
		worker_first ? worker : sequence,
		worker_first ? sequence : worker,
	};
	unsigned int column = BAR_INDENT;
	size_t count = 0, i;

	for (i = 0; i < FIELDS_MAX; i++) {
		if (!all[i].bits)
			continue;
		fields[count] = all[i];
		fields[count].column = column;
		column += all[i].bits + strlen(BAR_BETWEEN);
		count++;
	}
	return count;
}

/* Whether a label ends before the next one begins. */
static bool label_fits(const struct field *fields, size_t count, size_t i)
{
	return i + 1 == count ||
	       fields[i].column + strlen(fields[i].label) <
	       fields[i + 1].column;
}

static void print_at(const char *text, unsigned int column, unsigned int *at)
{
	*at += printf("%*s%s", (int)(column - *at), "", text);
}

/**
 * print_bar - the 64 bits with a bar between the fields, and the labels below
 * @layout: the layout
 * @id: the id
 *
 * A label that is too long for its field hangs on a line of its own.
 */
void print_bar(const struct snowflake_id_layout *layout, uint64_t id)
{
	struct field fields[FIELDS_MAX];
	size_t count = bar_fields(layout, fields), i;
	unsigned int bit = 64, b, at = 0;

	for (i = 0; i < count; i++) {
		printf(i ? BAR_BETWEEN : "%*s", BAR_INDENT, "");
		for (b = 0; b < fields[i].bits; b++)
			putchar('0' + (id >> --bit & 1));
	}
	putchar('\n');
	for (i = 0; i < count; i++)
		print_at(label_fits(fields, count, i) ? fields[i].label : "|",
			 fields[i].column, &at);
	putchar('\n');
	for (i = 0; i < count; i++) {
		if (label_fits(fields, count, i))
			continue;
		at = 0;
		print_at(fields[i].label, fields[i].column, &at);
		putchar('\n');
	}
}

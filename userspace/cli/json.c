// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One JSON object on standard output, on one line. Ids are strings, since many
 * a reader of JSON rounds numbers above 2^53.
 */
#include <stdio.h>

#include "cli.h"

#define DEPTH_MAX 4

/* How many members the objects have that are open. */
static unsigned int members[DEPTH_MAX];
static unsigned int depth;

static void put_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void put_name(const char *name)
{
	if (!depth)
		return;
	if (members[depth - 1]++)
		putchar(',');
	put_string(name);
	putchar(':');
}

/**
 * json_open - begin an object
 * @name: of the member that it is; not looked at for the outermost
 */
void json_open(const char *name)
{
	put_name(name);
	putchar('{');
	members[depth++] = 0;
}

/**
 * json_close - end the object; the outermost one ends its line
 */
void json_close(void)
{
	putchar('}');
	if (!--depth)
		putchar('\n');
}

/**
 * json_text - a member that is text
 * @name: its name
 * @text: the text
 */
void json_text(const char *name, const char *text)
{
	put_name(name);
	put_string(text);
}

/**
 * json_number - a member that is a number
 * @name: its name
 * @number: the number
 */
void json_number(const char *name, uint64_t number)
{
	put_name(name);
	printf("%ju", number);
}

/**
 * json_id - a member that is an id
 * @name: its name
 * @id: the id
 */
void json_id(const char *name, uint64_t id)
{
	put_name(name);
	printf("\"%ju\"", id);
}

/**
 * json_bare - a member whose value is JSON already
 * @name: its name
 * @value: a number, true, false or null
 */
void json_bare(const char *name, const char *value)
{
	put_name(name);
	fputs(value, stdout);
}

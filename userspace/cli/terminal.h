/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The whole terminal for a view that is drawn again and again, and how to give
 * it back whatever happens.
 */
#ifndef SNOWFLAKE_CLI_TERMINAL_H
#define SNOWFLAKE_CLI_TERMINAL_H

#include <termios.h>

#include "cli.h"

/**
 * struct terminal - the terminal
 * @rows: its height
 * @columns: its width
 * @utf8: it shows more than ASCII
 * @signals: where signals are read from
 * @keyboard: where keys are read from, -1 if there is no such thing
 * @saved: how it was
 * @row: the row that is drawn next
 */
struct terminal {
	unsigned int rows;
	unsigned int columns;
	bool utf8;
	int signals;
	int keyboard;
	struct termios saved;
	unsigned int row;
};

/**
 * enum event - what a wait has ended with
 * @EVENT_TIME: the time is over
 * @EVENT_DRAW: the size has changed, or somebody else drew
 * @EVENT_FILE: the file reports something
 * @EVENT_QUIT: the user wants to go
 */
enum event {
	EVENT_TIME,
	EVENT_DRAW,
	EVENT_FILE,
	EVENT_QUIT,
};

int terminal_open(struct terminal *terminal);
void terminal_close(struct terminal *terminal);
enum event terminal_wait(struct terminal *terminal, int fd, uint64_t until_ns);
void terminal_begin(struct terminal *terminal);
void terminal_line(struct terminal *terminal, const char *style,
		   const char *format, ...) __printf(3, 4);
bool terminal_end(struct terminal *terminal);

#endif /* SNOWFLAKE_CLI_TERMINAL_H */

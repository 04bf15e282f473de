// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The whole terminal. What every terminal of the last decades understands is
 * enough here, so no library is needed, which a static command would lack data
 * for.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "terminal.h"

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define HOME "\033[H"
#define REST_OF_LINE "\033[K"
#define REST_OF_SCREEN "\033[J"

/* More than any terminal is wide, in bytes of UTF-8. */
#define LINE_MAX_BYTES 2048

static bool speaks_utf8(void)
{
	static const char * const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value;
	size_t i;

	/* The first that is set counts. */
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		value = getenv(names[i]);
		if (value && *value)
			return strcasestr(value, "utf-8") ||
			       strcasestr(value, "utf8");
	}
	return false;
}

static void find_size(struct terminal *terminal)
{
	struct winsize size;

	terminal->rows = 24;
	terminal->columns = 80;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row &&
	    size.ws_col) {
		terminal->rows = size.ws_row;
		terminal->columns = size.ws_col;
	}
}

/* Keys come one by one and are not shown; Ctrl-C and Ctrl-Z stay signals. */
static void enter(struct terminal *terminal)
{
	struct termios keys = terminal->saved;

	keys.c_lflag &= ~(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	if (terminal->keyboard >= 0)
		tcsetattr(terminal->keyboard, TCSADRAIN, &keys);
	fputs(ENTER, stdout);
	fflush(stdout);
	find_size(terminal);
}

static void leave(struct terminal *terminal)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	if (terminal->keyboard >= 0)
		tcsetattr(terminal->keyboard, TCSADRAIN, &terminal->saved);
}

/**
 * terminal_open - take the terminal
 * @terminal: what is kept for it
 *
 * Signals are blocked from now on, so that each finds the terminal in order.
 *
 * Return: 0, or a negative errno: -ENOTTY if standard output is none.
 */
int terminal_open(struct terminal *terminal)
{
	sigset_t signals;

	if (!isatty(STDOUT_FILENO))
		return -ENOTTY;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	sigaddset(&signals, SIGTSTP);
	sigaddset(&signals, SIGCONT);
	sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	terminal->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (terminal->signals < 0)
		return -errno;
	terminal->keyboard = tcgetattr(STDIN_FILENO, &terminal->saved) ?
			     -1 : STDIN_FILENO;
	terminal->utf8 = speaks_utf8();
	enter(terminal);
	return 0;
}

/**
 * terminal_close - give the terminal back as it was
 * @terminal: what is kept for it
 */
void terminal_close(struct terminal *terminal)
{
	leave(terminal);
	close(terminal->signals);
}

/* Go the way that the signal would have gone, but from a terminal in order. */
static void die_by(struct terminal *terminal, int signal_number)
{
	sigset_t one;

	terminal_close(terminal);
	signal(signal_number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, signal_number);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void take_signal(struct terminal *terminal)
{
	struct signalfd_siginfo info;

	if (read(terminal->signals, &info, sizeof(info)) != sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH:
		find_size(terminal);
		break;
	case SIGTSTP:
		leave(terminal);
		raise(SIGSTOP);
		enter(terminal);
		break;
	case SIGCONT:
		/* Somebody else had the terminal meanwhile. */
		enter(terminal);
		break;
	default:
		die_by(terminal, info.ssi_signo);
	}
}

static enum event take_key(struct terminal *terminal)
{
	char key;

	if (read(terminal->keyboard, &key, 1) != 1) {
		terminal->keyboard = -1;
		return EVENT_DRAW;
	}
	return key == 'q' || key == 'Q' ? EVENT_QUIT : EVENT_DRAW;
}

/**
 * terminal_wait - wait for something to do
 * @terminal: what is kept for it
 * @fd: a file that may report something, as attributes do; -1 for none
 * @until_ns: how long, in ns of CLOCK_MONOTONIC
 *
 * Return: what there is to do.
 */
enum event terminal_wait(struct terminal *terminal, int fd, uint64_t until_ns)
{
	struct pollfd fds[] = {
		{ .fd = terminal->signals, .events = POLLIN },
		{ .fd = terminal->keyboard, .events = POLLIN },
		{ .fd = fd, .events = POLLPRI },
	};
	uint64_t now = now_ns();
	uint64_t left = until_ns > now ? until_ns - now : 0;
	struct timespec timeout = { left / 1000000000, left % 1000000000 };

	if (ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL) <= 0)
		return EVENT_TIME;
	if (fds[0].revents) {
		take_signal(terminal);
		return EVENT_DRAW;
	}
	return fds[1].revents ? take_key(terminal) : EVENT_FILE;
}

/**
 * terminal_begin - begin to draw
 * @terminal: what is kept for it
 */
void terminal_begin(struct terminal *terminal)
{
	terminal->row = 0;
	fputs(HOME, stdout);
}

/* How many bytes of a text are in so many columns, of one character each. */
static size_t clip(const char *text, unsigned int columns)
{
	size_t length = 0;

	for (; text[length]; length++) {
		/* All but the first byte of a character are 10xxxxxx. */
		if ((text[length] & 0xc0) != 0x80 && !columns--)
			break;
	}
	return length;
}

/**
 * terminal_line - draw a line, as far as there is room
 * @terminal: what is kept for it
 * @style: how: numbers of SGR, or NULL
 * @format: as for printf, without a newline
 */
void terminal_line(struct terminal *terminal, const char *style,
		   const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list arguments;

	if (terminal->row == terminal->rows)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);

	/* A newline after the last line would scroll. */
	if (terminal->row++)
		fputs("\r\n", stdout);
	if (style)
		printf("\033[%sm", style);
	fwrite(text, 1, clip(text, terminal->columns), stdout);
	/* In the last column it would take away what stands there. */
	if (clip(text, terminal->columns - 1) == strlen(text))
		fputs(REST_OF_LINE, stdout);
	if (style)
		fputs("\033[m", stdout);
}

/**
 * terminal_end - end to draw
 * @terminal: what is kept for it
 *
 * Return: whether it could be written.
 */
bool terminal_end(struct terminal *terminal)
{
	if (terminal->row < terminal->rows)
		fputs("\r\n" REST_OF_SCREEN, stdout);
	return !fflush(stdout) && !ferror(stdout);
}

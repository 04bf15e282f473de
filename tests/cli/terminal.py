# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""A program in a terminal of a given size: what it shows, and how it leaves."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ESCAPE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """What the sequences that the command uses make of the screen."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.faults = []
        self.alternate = False
        self.cursor_shown = True
        self.styles = set()

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text):
        while text:
            match = ESCAPE.match(text)
            if match:
                self.control(*match.groups())
                text = text[match.end():]
                continue
            if text[0] == "\x1b" and len(text) < 16:
                return text
            self.put(text[0])
            text = text[1:]
        return ""

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row >= self.rows:
                self.faults.append("it scrolled")
                self.row = self.rows - 1
        elif character < " " or character == "\x1b":
            self.faults.append(f"unknown {character!r}")
        elif self.column >= self.columns:
            self.faults.append("a line is too long")
        else:
            self.cells[self.row][self.column] = character
            self.column += 1

    def control(self, private, number, what):
        if what == "H":
            self.row = self.column = 0
        elif what == "K":
            # In the last column it would take away what stands there.
            if self.column >= self.columns:
                self.faults.append("the end of a full line was cleared")
            for i in range(self.column, self.columns):
                self.cells[self.row][i] = " "
        elif what == "J":
            for i in range(self.row, self.rows):
                start = self.column if i == self.row else 0
                self.cells[i][start:] = [" "] * (self.columns - start)
        elif what == "m":
            self.styles.add(number)
        elif private and number == "1049":
            self.alternate = what == "h"
        elif private and number == "25":
            self.cursor_shown = what == "h"
        else:
            self.faults.append(f"unknown sequence {private}{number}{what}")

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines()) + "\n"


class Program:
    """A program whose terminal is ours."""

    def __init__(self, command, rows=24, columns=80, environment=None,
                 redirect=None):
        self.screen = Screen(rows, columns)
        self.rest = ""
        self.raw = ""
        self.status = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            # The size is there before the program looks.
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            for fd, path in (redirect or {}).items():
                os.dup2(os.open(path, os.O_RDWR), fd)
            # The terminal is to be found as it was left.
            os.kill(os.getpid(), signal.SIGSTOP)
            os.execve(command[0], command, {**os.environ,
                                            **(environment or {})})
        os.waitpid(self.pid, os.WUNTRACED)
        self.settings = termios.tcgetattr(self.fd)
        os.kill(self.pid, signal.SIGCONT)

    def pump(self, seconds, until=None):
        """Show what comes, for a time or until a condition holds."""
        end = time.monotonic() + seconds
        while not (until and until()):
            left = end - time.monotonic()
            if left <= 0:
                return not until
            if not select.select([self.fd], [], [], min(left, 0.05))[0]:
                continue
            try:
                data = os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return bool(until and until())
            self.raw += data
            self.rest = self.screen.feed(self.rest + data)
        return True

    def shows(self, pattern, seconds=5):
        return self.pump(seconds, lambda: re.search(
            pattern, self.screen.text(), re.MULTILINE))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def kill(self, number):
        os.kill(self.pid, number)

    def wait(self, seconds=5, options=os.WNOHANG):
        """Its status; what it writes meanwhile is shown."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(0.05)
            pid, status = os.waitpid(self.pid, options | os.WNOHANG)
            if pid:
                self.pump(0.05)
                self.status = status
                return status
        return None

    def in_order(self):
        """The terminal is as it was before."""
        return (not self.screen.alternate and self.screen.cursor_shown and
                termios.tcgetattr(self.fd) == self.settings)

    def end(self):
        if self.status is None or os.WIFSTOPPED(self.status):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

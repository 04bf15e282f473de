#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Tests of "snowflake watch" and of progress, in a terminal.

    watch.py SNOWFLAKE SYSFS

SYSFS is the folder that SNOWFLAKE takes for the device's. Prints "ok NAME" or
"not ok NAME" a line; what the terminal showed then follows after a "#".
"""

import os
import re
import shutil
import signal
import sys
import threading
import time

from terminal import Program

SNOWFLAKE, SYSFS = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
UTF8 = {"LC_ALL": "", "LC_CTYPE": "", "LANG": "C.UTF-8"}
ASCII = {"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", re.MULTILINE)


def check(name, good, program=None):
    print("ok" if good else "not ok", name)
    if good or not program:
        return
    for line in program.screen.lines() + program.screen.faults[:5]:
        print("#", line)


def attribute(name, value):
    # All at once, as sysfs does it.
    with open(SYSFS + ".new", "w", encoding="ascii") as file:
        file.write(f"{value}\n")
    os.rename(SYSFS + ".new", os.path.join(SYSFS, name))


def watch(*arguments, **options):
    options.setdefault("environment", UTF8)
    return Program([SNOWFLAKE, "watch", *arguments], **options)


def test_view():
    """A device that does nothing is the same on every screen."""
    with open(os.path.join(HERE, "watch.txt"), encoding="utf-8") as file:
        expected = file.read()
    program = watch()
    program.shows("q quits")
    shown = program.screen.text()
    first, rest = shown.split("\n", 1)
    check("the view at 80x24 is the one that was looked at",
          f"{TIME.sub('TIME', first)}\n{rest}" == expected, program)
    check("with the clock at its upper right", TIME.search(first), program)
    program.end()


class Minting(threading.Thread):
    """Makes ids meanwhile: so many in each 20 ms."""

    def __init__(self, count):
        super().__init__(daemon=True)
        self.count, self.going = count, True

    def run(self):
        ids = 123456
        while self.going:
            ids += self.count
            attribute("stats/ids", ids)
            time.sleep(0.02)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.going = False
        self.join()
        attribute("stats/ids", 123456)


def rate_of(program):
    match = re.match(r"([\d,]+) ids/s   ([\d.]+) % of the ceiling, 4,096,000$",
                     program.screen.lines()[3])
    return (int(match[1].replace(",", "")), float(match[2])) if match else (0, 0)


def test_rate():
    with Minting(20000):
        program = watch("-i", "0.2")
        program.pump(3)
        rate, share = rate_of(program)
        lines = program.screen.lines()
        # A busy host may let the minting thread wait.
        check("the rate", 200000 <= rate <= 1010000, program)
        check("its share of the ceiling",
              abs(share - rate / 40960) <= 0.1, program)
        meter = lines[4].count("\u2588")
        check("its bar", abs(meter - rate / 4096000 * 78) <= 1, program)
        chart = lines[6:15]
        check("a chart of it, the newest on the right",
              chart[-1][-1:] not in ("", " ") and not chart[-1][:40].strip(),
              program)
        check("which fills its height", any(line.strip() for line in chart[:2]),
              program)
        columns = len(chart[-1].strip())
        check("one column for each look", 8 <= columns <= 15, program)
        check("nothing was drawn where nothing is", not program.screen.faults,
              program)
        program.end()

        program = watch("-i", "0.1", environment=ASCII)
        program.pump(1.5)
        check("in ASCII where nothing else is spoken",
              program.raw.isascii() and "#" in program.screen.lines()[14],
              program)
        program.end()


def test_changes():
    program = watch("-i", "0.1")
    program.shows("^running: ids are made")
    attribute("state", "expired")
    check("the state changes on the screen",
          program.shows("^expired: the window of the worker id has ended"),
          program)
    check("and stands out", "1;31" in program.screen.styles, program)
    check("with what to do", program.shows("^have it extended"), program)
    attribute("stats/rewinds", 4)
    check("rewinds too", program.shows("^rewinds   4 "), program)
    attribute("lead_ms", 2500)
    check("and the lead", program.shows(r"^lead      2\.500 s"), program)
    attribute("worker_id", -1)
    check("and the worker id", program.shows("no worker id"), program)
    program.end()
    for name, value in (("state", "running"), ("stats/rewinds", 3),
                        ("lead_ms", 0), ("worker_id", 77)):
        attribute(name, value)


def test_sizes():
    program = watch("-i", "0.1")
    program.shows("q quits")
    for rows, columns in ((40, 120), (14, 60), (24, 600), (3, 10), (2, 2),
                          (1, 1), (24, 80)):
        program.resize(rows, columns)
        # What was on its way is for the size before.
        program.pump(0.3)
        program.screen.faults.clear()
        program.pump(0.3)
        check(f"it follows to {columns}x{rows}",
              program.screen.lines()[0].startswith(" snowflake"[:columns]
                                                   .rstrip())
              and not program.screen.faults, program)
        if (rows, columns) == (40, 120):
            check("and uses the height", "q quits" in program.screen.lines()[39],
                  program)
    check("and is whole again", program.shows("^ q quits"), program)
    program.end()


def test_leaving():
    program = watch()
    program.shows("q quits")
    check("it takes the other screen", program.screen.alternate and
          not program.screen.cursor_shown, program)
    program.type("x")
    program.pump(0.2)
    program.type("q")
    check("q ends it", program.wait() == 0, program)
    check("and the terminal is in order", program.in_order(), program)
    program.end()

    for key, number in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT),
                        (None, signal.SIGTERM), (None, signal.SIGHUP)):
        program = watch()
        program.shows("q quits")
        if key:
            program.type(key)
        else:
            program.kill(number)
        status = program.wait()
        check(f"{number.name} ends it", status is not None and
              os.WIFSIGNALED(status) and os.WTERMSIG(status) == number, program)
        check(f"{number.name}: the terminal is in order", program.in_order(),
              program)
        program.end()


def test_stopping():
    program = watch("-i", "0.1")
    program.shows("q quits")
    program.type("\x1a")
    status = program.wait(options=os.WUNTRACED)
    check("Ctrl-Z stops it", status is not None and os.WIFSTOPPED(status),
          program)
    check("and the terminal is in order meanwhile", program.in_order(), program)
    program.screen.resize(24, 80)
    program.kill(signal.SIGCONT)
    check("it comes back", program.shows("q quits") and
          program.screen.alternate and not program.screen.cursor_shown, program)
    program.type("q")
    check("and still ends", program.wait() == 0 and program.in_order(), program)
    program.end()


def test_refusals():
    program = watch(redirect={1: "/dev/null"})
    check("no terminal: it is refused", program.wait() == 1 << 8 and
          "standard output is no terminal" in program.raw, program)
    program.end()

    program = watch("-i", "0.1")
    program.shows("q quits")
    shutil.move(SYSFS, SYSFS + ".gone")
    check("the device goes: it says so and ends with 5",
          program.wait() == 5 << 8 and "ENOENT" in program.raw, program)
    check("in an orderly terminal", program.in_order(), program)
    program.end()
    program = watch()
    check("no device: 5", program.wait() == 5 << 8 and
          "1049" not in program.raw, program)
    program.end()
    shutil.move(SYSFS + ".gone", SYSFS)


def test_progress():
    command = [SNOWFLAKE, "next", "-n", "10000000", "-d", "local:8"]
    program = Program(command, redirect={1: "/dev/null"})
    program.pump(1.8)
    check("next tells how far it is, on a terminal",
          re.search(r"\r[\d,]+ ids, [\d.]+ %", program.raw), program)
    program.wait(30)
    check("and takes that away", not program.screen.text().strip(), program)
    program.end()
    program = Program(command, redirect={2: "/dev/null"})
    program.pump(1.5)
    check("not between ids on the terminal", "%" not in program.raw)
    program.end()
    program = Program([SNOWFLAKE, "bench", "-t", "1.5", "--direct", "-d",
                       "local:8"])
    program.wait(20)
    check("bench does so, too", re.search(r"\r[\d,]+ ms measured", program.raw)
          and re.search("^direct", program.screen.text(), re.MULTILINE),
          program)
    program.end()


for test in (test_view, test_rate, test_changes, test_sizes, test_leaving,
             test_stopping, test_refusals, test_progress):
    test()

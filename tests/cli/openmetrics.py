#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Is a file OpenMetrics 1.0 text? Checks what of the format is in use here.

    openmetrics.py FILE

Says what is wrong on standard error, and then exits with 1.
"""

import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? "
                    r"(-?[0-9]+(?:\.[0-9]+)?)")
META = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.+)")
# What the name of a sample has after the family's.
SUFFIX = {"counter": "_total", "gauge": "", "info": "_info", "stateset": ""}


def check_sample(family, line):
    match = SAMPLE.fullmatch(line)
    if not match:
        return "no sample"
    name, labels, value = match.groups()
    if family is None:
        return "before any family"
    if name != family["name"] + SUFFIX[family["type"]]:
        return "not of its family"
    if labels in family["seen"]:
        return "twice"
    family["seen"].add(labels)
    if family["type"] == "counter" and value.startswith("-"):
        return "a counter below 0"
    if family["type"] == "info" and value != "1":
        return "info is 1"
    if family["type"] == "stateset":
        if value not in ("0", "1"):
            return "states are 0 or 1"
        if not (labels or "").startswith(family["name"] + "="):
            return "a state has the label of its family's name"
    return None


def check_meta(family, families, line):
    match = META.fullmatch(line)
    if not match:
        return family, "no line of this kind"
    what, name, value = match.groups()
    if what == "TYPE":
        if name in families:
            return family, "a family twice, or not in one piece"
        if value not in SUFFIX:
            return family, "no such type"
        families.add(name)
        return {"name": name, "type": value, "seen": set(), "meta": set()}, None
    if family is None or name != family["name"] or family["seen"]:
        return family, "not at the head of its family"
    if what in family["meta"]:
        return family, "twice"
    family["meta"].add(what)
    if what == "UNIT" and not name.endswith("_" + value):
        return family, "the unit is not the end of the name"
    return family, None


def check(text):
    if not text.endswith("# EOF\n"):
        return ["the end: no EOF"]
    wrong = []
    family, families = None, set()
    for number, line in enumerate(text.split("\n")[:-2], 1):
        if line.startswith("#"):
            family, error = check_meta(family, families, line)
        else:
            error = check_sample(family, line)
        if error:
            wrong.append(f"line {number}: {line}: {error}")
    if not families:
        wrong.append("there are no metrics")
    return wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        wrong = check(file.read())
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

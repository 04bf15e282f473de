# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Reads ids in a manner of Python, as reader.c does in one of C.

    reader.py {example|package|fill} COUNT DEVICE
"""

import array
import importlib.util
import pathlib
import sys


def example(device):
    """The example, which needs no library."""
    top = pathlib.Path(__file__).resolve().parents[2]
    path = top / "userspace/examples/next.py"
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    snowflake = module.Snowflake(device)
    return lambda count: array.array("Q", (snowflake.next() for _ in range(count)))


def package(device):
    import devsnowflake

    snowflake = devsnowflake.Snowflake(device)
    return lambda count: array.array("Q", (next(snowflake) for _ in range(count)))


def fill(device):
    import devsnowflake

    return devsnowflake.Snowflake(device).fill


if __name__ == "__main__":
    manner, number, path = sys.argv[1:]
    take = {"example": example, "package": package, "fill": fill}[manner](path)
    print("ready", file=sys.stderr, flush=True)
    sys.stdin.read()
    sys.stdout.buffer.write(take(int(number)))

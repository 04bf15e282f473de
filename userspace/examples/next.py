# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""One id from /dev/snowflake, and what is in it: Python, without a library.

    python3 next.py [DEVICE]

buffering=0 is what matters: a buffered file would take 512 ids to give one, and
hand out the others, by then old, for as long as the program runs.
"""

import sys

# The layout of the device, here Twitter's; see snowflake(4) for others.
EPOCH_MS = 1288834974657
WORKER_BITS = 10
SEQUENCE_BITS = 12


class Snowflake:
    """Open it once and keep it: ids of one open file rise."""

    def __init__(self, device="/dev/snowflake"):
        self._file = open(device, "rb", buffering=0)

    def next(self):
        """The next id; OSError if there is none."""
        data = self._file.read(8)
        if len(data) != 8:
            raise OSError(f"{self._file.name}: no id")
        return int.from_bytes(data, sys.byteorder)


def decode(snowflake):
    """Unix time in milliseconds, worker id and sequence of an id."""
    return (
        (snowflake >> WORKER_BITS + SEQUENCE_BITS) + EPOCH_MS,
        snowflake >> SEQUENCE_BITS & (1 << WORKER_BITS) - 1,
        snowflake & (1 << SEQUENCE_BITS) - 1,
    )


if __name__ == "__main__":
    ID = Snowflake(*sys.argv[1:2]).next()
    print("id %d unix_ms %d worker %d sequence %d" % (ID, *decode(ID)))

# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Unique, time-sortable 64-bit ids from /dev/snowflake.

    >>> import devsnowflake
    >>> with devsnowflake.Snowflake() as sf:
    ...     id = next(sf)
    ...     sf.decode(id).time
    datetime.datetime(2026, 11, 30, 19, 15, 45, 686000, tzinfo=datetime.timezone.utc)

Open one Snowflake for the program and keep it. Threads share it; so do forked
workers, whether it was used before the fork or not. What fails raises
SnowflakeError, an OSError whose text says what to do.

The library libsnowflake.so.0 does the work. The environment variable
DEVSNOWFLAKE_LIBRARY names another file, for tests.
"""

from ._handle import Snowflake
from ._ids import Decoded, Layout, Limits, Order, presets
from ._library import SnowflakeError
from ._text import Format, format_id, parse_id

__version__ = "0.1.0"

__all__ = [
    "Decoded",
    "Format",
    "Layout",
    "Limits",
    "Order",
    "Snowflake",
    "SnowflakeError",
    "format_id",
    "parse_id",
    "presets",
]

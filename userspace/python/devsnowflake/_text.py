# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Ids as text."""

from __future__ import annotations

import enum
import errno
from ctypes import byref, c_uint64, create_string_buffer

from ._library import ID_SIZE, IN_TEXT, check, failure, library, unsigned


class Format(enum.IntEnum):
    """How an id is written.

    All but DECIMAL and JSON are of fixed width, so that text sorts as ids do.
    """

    DECIMAL = 0
    """Digits, without leading zeros."""
    HEX = 1
    """16 hexadecimal digits, in lower case."""
    BASE32 = 2
    """13 digits of Crockford's base 32."""
    BASE58 = 3
    """11 digits of base 58, in Bitcoin's alphabet."""
    BASE62 = 4
    """11 digits of base 62: 0-9, A-Z, a-z."""
    JSON = 5
    """Decimal digits in quotation marks: JavaScript rounds above 2^53."""


def format_id(id: int, format: Format = Format.DECIMAL) -> str:
    """Writes an id."""
    text = create_string_buffer(ID_SIZE)
    value = unsigned(id, 64, "id")
    check(IN_TEXT, library.snowflake_print(Format(format), value, text, ID_SIZE))
    return text.value.decode()


def parse_id(text: str, format: Format = Format.DECIMAL) -> int:
    """Reads an id; the text has to be the id and nothing else."""
    # C would take a NUL for the end.
    if "\0" in text:
        raise failure(IN_TEXT, -errno.EINVAL)
    id = c_uint64()
    data = text.encode(errors="replace")
    check(IN_TEXT, library.snowflake_parse(Format(format), data, byref(id)))
    return id.value

# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""libsnowflake as ctypes sees it; snowflake.h says what each function does."""

from __future__ import annotations

import ctypes
import operator
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_ssize_t
from ctypes import c_uint, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Final, Optional, SupportsIndex

SONAME: Final = "libsnowflake.so.0"

# enum snowflake_call
IN_OPEN: Final = 0
IN_NEXT: Final = 1
IN_BIND: Final = 2
IN_INFO: Final = 3
IN_TEXT: Final = 4

DIRECT: Final = 1
ID_SIZE: Final = 24


class SnowflakeError(OSError):
    """What failed: errno, and in strerror the library's words for it.

    The words say what happened and what to do about it. There is no id.
    """


class LayoutStruct(ctypes.Structure):
    """struct snowflake_id_layout"""

    _fields_ = [
        ("epoch_ms", c_uint64),
        ("tick_ms", c_uint16),
        ("timestamp_bits", c_uint8),
        ("worker_bits", c_uint8),
        ("sequence_bits", c_uint8),
        ("order", c_uint8),
        ("reserved", c_uint8 * 2),
    ]


class PartsStruct(ctypes.Structure):
    """struct snowflake_id_parts"""

    _fields_ = [
        ("tick", c_uint64),
        ("time_ms", c_uint64),
        ("worker", c_uint64),
        ("sequence", c_uint64),
    ]


class LimitsStruct(ctypes.Structure):
    """struct snowflake_limits"""

    _fields_ = [
        ("ids_per_tick", c_uint64),
        ("ids_per_second", c_uint64),
        ("workers", c_uint64),
        ("fleet_per_second", c_uint64),
        ("last_ms", c_uint64),
        ("span_ms", c_uint64),
    ]


_layout_p = POINTER(LayoutStruct)
_uint64_p = POINTER(c_uint64)

_PROTOTYPES: Final[dict[str, tuple[Any, ...]]] = {
    # name: what it returns, what it takes
    "snowflake_open": (c_int, POINTER(c_void_p), c_char_p, c_uint),
    "snowflake_close": (None, c_void_p),
    "snowflake_next": (c_int, c_void_p, _uint64_p),
    "snowflake_next_timed": (c_int, c_void_p, _uint64_p, c_int),
    "snowflake_fill": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_int),
    "snowflake_bind": (c_int, c_void_p, c_uint64),
    "snowflake_get_layout": (c_int, c_void_p, _layout_p),
    "snowflake_get_workers": (c_int, c_void_p, _uint64_p, _uint64_p),
    "snowflake_fd": (c_int, c_void_p),
    "snowflake_strerror": (c_char_p, c_int, c_int),
    "snowflake_preset": (c_int, c_char_p, _layout_p),
    "snowflake_preset_name": (c_char_p, c_uint),
    "snowflake_check_layout": (c_int, _layout_p, POINTER(c_char_p)),
    "snowflake_get_limits": (c_int, _layout_p, POINTER(LimitsStruct)),
    "snowflake_compose": (c_int, _layout_p, POINTER(PartsStruct), _uint64_p),
    "snowflake_decode": (c_int, _layout_p, c_uint64, POINTER(PartsStruct)),
    "snowflake_span": (c_int, _layout_p, c_int64, c_int64, _uint64_p, _uint64_p),
    "snowflake_print": (c_int, c_int, c_uint64, c_char_p, c_size_t),
    "snowflake_parse": (c_int, c_int, c_char_p, _uint64_p),
}


def _load() -> ctypes.CDLL:
    name = os.environ.get("DEVSNOWFLAKE_LIBRARY") or SONAME
    try:
        # Calls let other threads run: they may sleep.
        loaded = ctypes.CDLL(name)
        for function, (result, *arguments) in _PROTOTYPES.items():
            getattr(loaded, function).restype = result
            getattr(loaded, function).argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"devsnowflake needs the library {name}, which cannot be loaded"
            f" ({error}); install it with make install-userspace, and run"
            " ldconfig if its folder is new"
        ) from error
    return loaded


library: Final = _load()


def failure(call: int, err: int, name: Optional[str] = None) -> SnowflakeError:
    """The exception for a negative errno; name is what was to be opened."""
    words = library.snowflake_strerror(call, err).decode()
    return SnowflakeError(-err, words, *() if name is None else (name,))


def check(call: int, err: int) -> None:
    """Raises what a function returned, if that is an error."""
    if err < 0:
        raise failure(call, err)


def unsigned(value: SupportsIndex, bits: int, what: str) -> int:
    """The value as a number that C can hold; ctypes would cut it off."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{what} {number} is not in 0 to 2^{bits}-1")
    return number

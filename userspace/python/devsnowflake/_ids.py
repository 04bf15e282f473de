# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Layouts, and ids put together and taken apart; no device is needed."""

from __future__ import annotations

import enum
from ctypes import byref, c_char_p, c_uint64
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Optional

from ._library import IN_TEXT, LayoutStruct, LimitsStruct, PartsStruct
from ._library import SnowflakeError, check, library, unsigned

_UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = timedelta(milliseconds=1)


def _to_datetime(unix_ms: int) -> datetime:
    # A timedelta counts in whole microseconds: nothing is rounded.
    return _UNIX + unix_ms * _MS


def _check_aware(when: datetime) -> datetime:
    if when.utcoffset() is None:
        raise ValueError(f"{when!r} has no time zone, so it is no instant")
    return when


class Order(enum.IntEnum):
    """What stands below the timestamp in an id."""

    SEQUENCE_LOWEST = 0
    """The worker id, and the sequence lowest."""
    WORKER_LOWEST = 1
    """The sequence, and the worker id lowest."""


@dataclass(frozen=True)
class Decoded:
    """An id taken apart."""

    id: int
    """The id itself."""
    tick: int
    """The timestamp field: ticks since the epoch."""
    time_ms: int
    """The start of that tick, in Unix milliseconds."""
    worker: int
    """Worker id."""
    sequence: int
    """Number within the tick."""

    @property
    def time(self) -> datetime:
        """The start of the tick, in UTC, exact.

        OverflowError after the year 9999, which custom layouts can reach.
        """
        return _to_datetime(self.time_ms)


@dataclass(frozen=True)
class Limits:
    """What a layout has room for; 2^64-1 where there is more."""

    ids_per_tick: int
    """Ids of one worker id in one tick."""
    ids_per_second: int
    """Ids of one worker id in one second, rounded down."""
    workers: int
    """How many worker ids there are."""
    fleet_per_second: int
    """Ids of all worker ids in one second."""
    last_ms: int
    """The start of the last tick, in Unix milliseconds."""
    span_ms: int
    """From the epoch to the end of the last tick, in milliseconds."""

    @property
    def last_time(self) -> datetime:
        """The start of the last tick, in UTC; OverflowError after 9999."""
        return _to_datetime(self.last_ms)


@dataclass(frozen=True)
class Layout:
    """The fields of an id.

    Anything that C can hold can be written down here; check() says whether ids
    can be made of it.
    """

    epoch_ms: int
    """The instant of tick 0, in Unix milliseconds."""
    tick_ms: int
    """One unit of the timestamp, in milliseconds, 1 to 1000."""
    timestamp_bits: int
    """Width of the timestamp field."""
    worker_bits: int
    """Width of the worker id field."""
    sequence_bits: int
    """Width of the sequence field."""
    order: Order = Order.SEQUENCE_LOWEST
    """What stands below the timestamp."""

    def __post_init__(self) -> None:
        unsigned(self.epoch_ms, 64, "epoch_ms")
        unsigned(self.tick_ms, 16, "tick_ms")
        unsigned(self.timestamp_bits, 8, "timestamp_bits")
        unsigned(self.worker_bits, 8, "worker_bits")
        unsigned(self.sequence_bits, 8, "sequence_bits")
        Order(self.order)

    @classmethod
    def preset(cls, name: str) -> Layout:
        """A layout by name, one of presets()."""
        struct = LayoutStruct()
        found = "\0" not in name
        if not found or library.snowflake_preset(name.encode(), byref(struct)):
            raise ValueError(f"no layout {name!r}; there are {', '.join(presets())}")
        return cls._from_struct(struct)

    @classmethod
    def _from_struct(cls, struct: LayoutStruct) -> Layout:
        values = {field.name: getattr(struct, field.name) for field in fields(cls)}
        values["order"] = Order(values["order"])
        return cls(**values)

    @cached_property
    def _struct(self) -> LayoutStruct:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return LayoutStruct(**values)

    def check(self) -> None:
        """Raises SnowflakeError, whose strerror says why, if it is not sound."""
        why = c_char_p()
        err = library.snowflake_check_layout(byref(self._struct), byref(why))
        if err:
            raise SnowflakeError(-err, (why.value or b"").decode())

    @property
    def limits(self) -> Limits:
        """Rates, worker ids and the end of it."""
        struct = LimitsStruct()
        check(IN_TEXT, library.snowflake_get_limits(byref(self._struct), byref(struct)))
        return Limits(*(getattr(struct, field.name) for field in fields(Limits)))

    def decode(self, id: int) -> Decoded:
        """Takes an id of this layout apart."""
        parts = PartsStruct()
        err = library.snowflake_decode(
            byref(self._struct), unsigned(id, 64, "id"), byref(parts)
        )
        check(IN_TEXT, err)
        return Decoded(id, parts.tick, parts.time_ms, parts.worker, parts.sequence)

    def compose(
        self,
        *,
        worker: int,
        sequence: int,
        time: Optional[datetime] = None,
        tick: Optional[int] = None,
    ) -> int:
        """Puts an id together, of a time or a tick.

        It names nothing: nobody knows that it was made. It is to compare with.
        """
        if (time is None) == (tick is None):
            raise TypeError("compose() takes one of time and tick")
        if time is not None:
            since = _check_aware(time) - _to_datetime(self.epoch_ms)
            tick = since // (self.tick_ms * _MS)
        parts = PartsStruct(
            tick=unsigned(tick or 0, 64, "tick"),
            worker=unsigned(worker, 64, "worker"),
            sequence=unsigned(sequence, 64, "sequence"),
        )
        id = c_uint64()
        err = library.snowflake_compose(byref(self._struct), byref(parts), byref(id))
        check(IN_TEXT, err)
        return id.value

    def span(self, start: datetime, end: datetime) -> tuple[int, int]:
        """The first and the last id with start <= time < end.

        Both are of the span, as BETWEEN of SQL has it. SnowflakeError with
        ERANGE if there are none.
        """
        # Times between two milliseconds: the comparison above is exact.
        start_ms, end_ms = (
            -((_UNIX - _check_aware(when)) // _MS) for when in (start, end)
        )
        first = c_uint64()
        last = c_uint64()
        err = library.snowflake_span(
            byref(self._struct), start_ms, end_ms, byref(first), byref(last)
        )
        check(IN_TEXT, err)
        return first.value, last.value


def presets() -> tuple[str, ...]:
    """The names of the layouts that have one; the first is the default."""
    names: list[str] = []
    while name := library.snowflake_preset_name(len(names)):
        names.append(name.decode())
    return tuple(names)

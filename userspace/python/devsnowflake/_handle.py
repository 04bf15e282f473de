# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The device, opened."""

from __future__ import annotations

import array
import ctypes
import errno
import math
import operator
import os
import time
from ctypes import byref, c_uint64, c_void_p
from functools import partial
from typing import Any, Callable, Iterator, NoReturn, Optional, Union

from ._ids import Decoded, Layout
from ._library import DIRECT, IN_BIND, IN_INFO, IN_NEXT, IN_OPEN
from ._library import LayoutStruct, check, failure, library, unsigned

_INT_MAX = (1 << 31) - 1

# Looked up once, since ids are taken often.
_next = library.snowflake_next


class _Handle:
    """A handle of the library, closed when nobody uses it any more.

    Each call has a reference of its own, so that a thread that closes does not
    take the handle away from one that waits for an id. Unlike a lock, that
    leaves nothing behind that a forked child would wait for.
    """

    __slots__ = ("pointer",)

    def __init__(self, name: Optional[str], flags: int) -> None:
        pointer = c_void_p()
        self.pointer: Optional[int] = None
        path = None if name is None else os.fsencode(name)
        if path is not None and b"\0" in path:
            raise ValueError("embedded null character in the name")
        err = library.snowflake_open(byref(pointer), path, flags)
        if err:
            raise failure(IN_OPEN, err, name)
        self.pointer = pointer.value

    # Bound here: at the end of the interpreter, globals go first.
    def __del__(self, _close: Callable[[int], None] = library.snowflake_close) -> None:
        if self.pointer is not None:
            _close(self.pointer)


def _wait(attempt: Callable[[int], int], timeout: Optional[float]) -> int:
    """Calls attempt with milliseconds until it succeeds or time is up.

    It goes on after signals, whose handlers have run by then and may raise.
    """
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"a timeout of {timeout} s")
    deadline = time.monotonic() + (timeout or 0)
    ms = -1
    while True:
        if timeout is not None:
            left = max(deadline - time.monotonic(), 0) if timeout else 0
            ms = math.ceil(min(left * 1000, _INT_MAX))
        result = attempt(ms)
        if result >= 0:
            return result
        if result == -errno.EAGAIN and ms == _INT_MAX:
            continue
        if result != -errno.EINTR:
            raise failure(IN_NEXT, result)


class Snowflake:
    """The source of ids: the device, or an engine that is named.

    name is the device's, /dev/snowflake by default, or one of the library's
    engines; see snowflake_open(3). With direct, each id is read from the device
    when it is asked for, rather than within a tick of it.

    It may be used by any number of threads, and goes on to be of use in a forked
    child. It cannot be pickled: open one in each process that is not a fork.
    """

    def __init__(
        self,
        name: Union[None, str, os.PathLike[str]] = None,
        *,
        direct: bool = False,
    ) -> None:
        self._name = None if name is None else os.fsdecode(name)
        self._handle: Optional[_Handle] = None
        self._handle = _Handle(self._name, DIRECT if direct else 0)

    def _opened(self) -> _Handle:
        handle = self._handle
        if handle is None:
            raise ValueError("this Snowflake is closed")
        return handle

    def close(self) -> None:
        """Gives it up; calls that are under way still get what they wait for."""
        self._handle = None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._handle is None

    def __enter__(self) -> Snowflake:
        self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self.closed else ""
        return f"<devsnowflake.Snowflake {self._name or '/dev/snowflake'}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Snowflake cannot be pickled or copied: open another")

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        """The next id, waiting for it as long as that takes."""
        handle = self._opened()
        # One for each call: a signal handler may take an id in between.
        id = c_uint64()
        while True:
            err = _next(handle.pointer, byref(id))
            if not err:
                return id.value
            if err != -errno.EINTR:
                raise failure(IN_NEXT, err)

    def next(self, timeout: Optional[float] = None) -> int:
        """The next id.

        timeout is how long to wait for it, in seconds: 0 not at all, None as
        long as it takes. SnowflakeError with EAGAIN if there was none by then.
        """
        handle = self._opened()
        id = c_uint64()
        attempt = partial(library.snowflake_next_timed, handle.pointer, byref(id))
        _wait(attempt, timeout)
        return id.value

    def fill(self, count: int, timeout: Optional[float] = None) -> array.array[int]:
        """So many ids, rising; never fewer.

        If they cannot all be had, or not in time, SnowflakeError says why, and
        those that were taken are lost. fill_into() gives what there is.
        """
        count = operator.index(count)
        if count < 0:
            raise ValueError(f"{count} ids")
        deadline = time.monotonic() + (timeout or 0)
        ids = array.array("Q", bytes(8 * count))
        with memoryview(ids) as view:
            done = self.fill_into(view, timeout)
            while done < count:
                left = None if timeout is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise failure(IN_NEXT, -errno.EAGAIN)
                done += self.fill_into(view[done:], left)
        return ids

    def fill_into(self, buffer: Any, timeout: Optional[float] = None) -> int:
        """Ids into a writable buffer, such as an array("Q") or a numpy array.

        Returns how many: fewer than fit if some were there, but then time was
        up, a signal came or they were refused, which the next call tells.
        """
        handle = self._opened()
        with memoryview(buffer) as items, items.cast("B") as view:
            count, rest = divmod(view.nbytes, 8)
            if rest:
                raise ValueError(f"{view.nbytes} bytes are no whole number of ids")
            if not count:
                return 0
            address = ctypes.addressof((c_uint64 * count).from_buffer(view))
            if address % ctypes.alignment(c_uint64):
                raise ValueError("the buffer is not aligned to 8 bytes")
            fill = library.snowflake_fill
            return _wait(partial(fill, handle.pointer, address, count), timeout)

    def bind(self, worker: int) -> None:
        """Binds it to one worker id, once, where sharing is "bound"."""
        handle = self._opened()
        err = library.snowflake_bind(handle.pointer, unsigned(worker, 64, "worker"))
        check(IN_BIND, err)

    @property
    def layout(self) -> Layout:
        """The layout of ids, asked for anew each time."""
        handle = self._opened()
        struct = LayoutStruct()
        check(IN_INFO, library.snowflake_get_layout(handle.pointer, byref(struct)))
        return Layout._from_struct(struct)

    @property
    def workers(self) -> range:
        """The worker ids of this host; SnowflakeError with ENXIO if none."""
        handle = self._opened()
        first = c_uint64()
        count = c_uint64()
        err = library.snowflake_get_workers(handle.pointer, byref(first), byref(count))
        check(IN_INFO, err)
        return range(first.value, first.value + count.value)

    def decode(self, id: int) -> Decoded:
        """Takes an id apart by the layout of now; for many, keep the layout."""
        return self.layout.decode(id)

    def fileno(self) -> int:
        """What to poll for ids; do not read from it.

        SnowflakeError with EOPNOTSUPP if the engine has no such thing.
        """
        handle = self._opened()
        fd: int = library.snowflake_fd(handle.pointer)
        check(IN_INFO, fd)
        return fd

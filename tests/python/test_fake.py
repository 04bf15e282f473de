# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""What handles do about signals, time limits and refusals; see fake.c."""

import array
import copy
import ctypes
import errno
import gc
import os
import pickle
import signal
import threading
import time

import pytest

from devsnowflake import Layout, Snowflake, SnowflakeError
from devsnowflake import _library

pytestmark = pytest.mark.fake

USR1 = int(signal.SIGUSR1)
INT_MAX = 2**31 - 1


def fake(name):
    return ctypes.c_int.in_dll(_library.library, f"fake_{name}").value


@pytest.fixture(autouse=True)
def all_are_closed():
    before = fake("handles")
    yield
    gc.collect()
    assert fake("handles") == before


@pytest.fixture
def signals():
    """How many came."""
    seen = []
    old = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    yield seen
    signal.signal(signal.SIGUSR1, old)


def refused(call, number):
    with pytest.raises(SnowflakeError) as caught:
        call()
    assert caught.value.errno == number
    return caught.value


def test_structures_are_as_in_c():
    sizes = (ctypes.c_size_t * 3).in_dll(_library.library, "fake_sizes")
    assert list(sizes) == [
        ctypes.sizeof(_library.LayoutStruct),
        ctypes.sizeof(_library.PartsStruct),
        ctypes.sizeof(_library.LimitsStruct),
    ]


def test_iterates():
    with Snowflake("fake:") as sf:
        assert next(sf) == 1
        assert [id for id, _ in zip(sf, range(3))] == [2, 3, 4]
        assert sf.next() == 6


def test_errors():
    error = refused(lambda: Snowflake(f"fail:{errno.EACCES}"), errno.EACCES)
    assert error.filename == f"fail:{errno.EACCES}"
    assert "administrator" in error.strerror
    assert isinstance(error, OSError) and type(error) is SnowflakeError
    words = set()
    for number in (errno.ENXIO, errno.ECANCELED, errno.EKEYEXPIRED, errno.ERANGE):
        with Snowflake(f"fake:-{number},-{number},-{number}") as sf:
            words.add(refused(lambda: next(sf), number).strerror)
            refused(sf.next, number)
            refused(lambda: sf.fill(2), number)
            assert next(sf) == 1
    assert len(words) == 4


def test_errors_do_not_end_an_iteration():
    with Snowflake(f"fake:1,-{errno.ECANCELED},1") as sf:
        ids = iter(sf)
        next(ids)
        refused(lambda: next(ids), errno.ECANCELED)
        assert next(ids) == 2


def test_signals_are_waited_out(signals):
    with Snowflake(f"fake:k{USR1},k{USR1}") as sf:
        assert next(sf) == 1
        assert len(signals) == 2
    with Snowflake(f"fake:k{USR1}") as sf:
        assert sf.next(5) == 1
        assert len(signals) == 3
    with Snowflake(f"fake:3,k{USR1}") as sf:
        assert list(sf.fill(5)) == [1, 2, 3, 4, 5]
        assert len(signals) == 4


@pytest.mark.parametrize("use", [next, Snowflake.next, lambda sf: sf.fill(3)])
def test_a_handler_may_raise(use):
    def handler(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        with Snowflake(f"fake:k{USR1}") as sf:
            with pytest.raises(KeyboardInterrupt):
                use(sf)
            assert next(sf) == 1
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_a_handler_may_take_ids():
    taken = []
    with Snowflake(f"fake:k{USR1},1") as sf:
        old = signal.signal(signal.SIGUSR1, lambda *_: taken.append(next(sf)))
        try:
            taken.append(next(sf))
        finally:
            signal.signal(signal.SIGUSR1, old)
    assert taken == [1, 2]


@pytest.mark.parametrize(
    "timeout, ms",
    [(None, -1), (0, 0), (0.0001, 1), (1, 1000), (1e9, INT_MAX)]
    + [(float("inf"), INT_MAX), (False, 0)],
)
def test_time_limits(timeout, ms):
    with Snowflake("fake:") as sf:
        sf.next(timeout)
        assert fake("timeout") == ms
        sf.fill(1, timeout)
        assert fake("timeout") == ms
        sf.fill_into(array.array("Q", [0]), timeout)
        assert fake("timeout") == ms


@pytest.mark.parametrize("timeout", [-1, -0.001, float("nan"), float("-inf")])
def test_no_time_limits(timeout):
    with Snowflake("fake:") as sf:
        for use in sf.next, lambda timeout: sf.fill(1, timeout):
            with pytest.raises(ValueError):
                use(timeout)
        assert next(sf) == 1


def test_time_is_up():
    again = errno.EAGAIN
    with Snowflake(f"fake:-{again},-{again}") as sf:
        refused(lambda: sf.next(0), again)
        refused(lambda: sf.fill(1, 2.5), again)
        assert next(sf) == 1


def test_longer_than_the_library_counts():
    with Snowflake(f"fake:-{errno.EAGAIN},-{errno.EAGAIN}") as sf:
        assert sf.next(1e8) == 1


def test_signals_do_not_lengthen_a_time_limit(signals):
    with Snowflake(f"fake:s80,k{USR1}") as sf:
        sf.fill(1)
        start = time.monotonic()
        sf.next(1)
        assert fake("timeout") <= 1000
        assert time.monotonic() - start < 1
    with Snowflake(f"fake:2,s100,k{USR1}") as sf:
        sf.fill(4, 1)
        assert 0 < fake("timeout") <= 900


def test_fill_gives_all_or_nothing():
    with Snowflake("fake:3,1,2") as sf:
        ids = sf.fill(10)
        assert isinstance(ids, array.array) and ids.typecode == "Q"
        assert list(ids) == list(range(1, 11))
    with Snowflake(f"fake:3,-{errno.EKEYEXPIRED}") as sf:
        refused(lambda: sf.fill(10), errno.EKEYEXPIRED)
    # Not for ever, either, if each call has some.
    with Snowflake("fake:3,3,3,3") as sf:
        refused(lambda: sf.fill(10, timeout=0), errno.EAGAIN)
        assert fake("timeout") == 0
    with Snowflake("fake:s60,s60,s60,s60") as sf:
        refused(lambda: sf.fill(4, timeout=0.1), errno.EAGAIN)


def test_fill_counts():
    with Snowflake("fake:") as sf:
        assert len(sf.fill(0)) == 0
        for count in -1, -(2**70):
            with pytest.raises(ValueError):
                sf.fill(count)
        for count in 1.0, "1", None:
            with pytest.raises(TypeError):
                sf.fill(count)
        with pytest.raises((OverflowError, MemoryError)):
            sf.fill(2**70)
        assert next(sf) == 1


def test_fill_into_gives_what_there_is():
    ids = array.array("Q", [0] * 5)
    with Snowflake(f"fake:3,-{errno.EKEYEXPIRED}") as sf:
        assert sf.fill_into(ids) == 3
        assert list(ids) == [1, 2, 3, 0, 0]
        refused(lambda: sf.fill_into(ids), errno.EKEYEXPIRED)
        assert list(ids) == [1, 2, 3, 0, 0]
        assert sf.fill_into(memoryview(ids)[3:]) == 2
        assert list(ids) == [1, 2, 3, 4, 5]
    # Nothing holds on to it.
    ids.append(6)


def test_fill_into_buffers():
    with Snowflake("fake:") as sf:
        data = bytearray(16)
        assert sf.fill_into(data) == 2
        assert data == b"".join(n.to_bytes(8, os.sys.byteorder) for n in (1, 2))
        assert sf.fill_into((ctypes.c_uint64 * 3)()) == 3
        assert sf.fill_into(bytearray()) == 0
        for wrong in bytearray(15), memoryview(bytearray(24))[1:17]:
            with pytest.raises(ValueError):
                sf.fill_into(wrong)
        with pytest.raises((TypeError, BufferError)):
            sf.fill_into(bytes(16))
        with pytest.raises(TypeError):
            sf.fill_into(memoryview(bytearray(32))[::2])
        with pytest.raises(TypeError):
            sf.fill_into([0, 0])
        assert next(sf) == 6


def test_bind_and_workers():
    with Snowflake("fake:") as sf:
        assert sf.workers == range(1, 4)
        for worker in -1, 2**64, 2**64 + 7:
            with pytest.raises(OverflowError):
                sf.bind(worker)
        sf.bind(7)
        assert sf.workers[0] == 7
        refused(lambda: sf.bind(8), errno.EBUSY)
        sf2 = Snowflake("fake:")
        sf2.bind(0)
        refused(lambda: sf2.workers, errno.ENXIO)


def test_direct_is_a_flag():
    with Snowflake("fake:", direct=True) as sf:
        assert sf.workers[0] == 2


def test_layout_and_decode():
    with Snowflake("fake:") as sf:
        assert sf.layout == Layout.preset("sonyflake")
        assert sf.decode(2**40).tick == 2**16


def test_fileno():
    with Snowflake("fake:") as sf:
        assert sf.fileno() == 2
    with Snowflake("fake:", direct=True) as sf:
        refused(sf.fileno, errno.EOPNOTSUPP)


def test_closed():
    sf = Snowflake("fake:")
    assert not sf.closed and fake("handles") == 1
    with sf:
        pass
    assert sf.closed and fake("handles") == 0
    sf.close()
    for use in (
        lambda: next(sf),
        sf.next,
        lambda: sf.fill(1),
        lambda: sf.fill_into(bytearray(8)),
        lambda: sf.bind(1),
        lambda: sf.layout,
        lambda: sf.workers,
        sf.fileno,
        lambda: sf.decode(1),
        sf.__enter__,
    ):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(sf)


def test_closed_by_the_collector():
    Snowflake("fake:")
    gc.collect()
    assert fake("handles") == 0


@pytest.mark.parametrize("use", [next, Snowflake.next, lambda sf: sf.fill(1)[0]])
def test_closed_while_a_thread_waits(use):
    """It still gets its id, and then the handle goes."""
    sf = Snowflake("fake:s300")
    got = []
    thread = threading.Thread(target=lambda: got.append(use(sf)))
    thread.start()
    time.sleep(0.1)
    sf.close()
    assert fake("handles") == 1
    with pytest.raises(ValueError):
        next(sf)
    thread.join()
    gc.collect()
    assert got == [1]
    assert fake("handles") == 0


def test_other_threads_run_while_one_waits():
    with Snowflake("fake:s500") as sf:
        thread = threading.Thread(target=lambda: next(sf))
        thread.start()
        time.sleep(0.1)
        start = time.monotonic()
        assert next(sf) and time.monotonic() - start < 0.3
        thread.join()


def test_not_to_be_copied():
    with Snowflake("fake:") as sf:
        for copies in copy.copy, copy.deepcopy, pickle.dumps:
            with pytest.raises(TypeError):
                copies(sf)


@pytest.mark.parametrize("name", ["fake:\0", "\0"])
def test_names_that_c_would_cut_off(name):
    with pytest.raises(ValueError):
        Snowflake(name)


def test_no_names():
    for name in 1, 1.5, []:
        with pytest.raises(TypeError):
            Snowflake(name)


def test_repr():
    with Snowflake("fake:") as sf:
        assert repr(sf) == "<devsnowflake.Snowflake fake:>"

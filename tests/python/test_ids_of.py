# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Ids of a local engine and, where there is one, of the device."""

import errno
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from devsnowflake import Layout, Snowflake, SnowflakeError
from conftest import DEVICE


def all_differ(parts):
    ids = [id for part in parts for id in part]
    assert len(set(ids)) == len(ids)
    assert all(0 < id < 2**63 for id in ids)
    return len(ids)


def rise(ids):
    return all(one < other for one, other in zip(ids, ids[1:]))


def test_next(source):
    with Snowflake(source) as sf:
        ids = [next(sf) for _ in range(20000)]
        ids += [id for id, _ in zip(sf, range(1000))]
        ids += [sf.next(1) for _ in range(1000)]
        assert rise(ids)
        assert all_differ([ids]) == 22000


def test_fill(source):
    with Snowflake(source) as sf:
        ids = [next(sf)]
        for count in 1, 7, 4096, 3 * 4096, 50000:
            ids += sf.fill(count)
        ids.append(next(sf))
        assert rise(ids)
        assert all_differ([ids]) == 2 + 8 + 4 * 4096 + 50000


def test_direct(source):
    with Snowflake(source, direct=True) as one, Snowflake(source) as other:
        ids = [[next(one), next(other)] for _ in range(5000)]
        assert all_differ(ids) == 10000


def test_decode(source):
    with Snowflake(source) as sf:
        before = datetime.now(timezone.utc) - timedelta(milliseconds=1)
        decoded = sf.decode(next(sf))
        after = datetime.now(timezone.utc)
        assert before < decoded.time <= after
        assert decoded.worker in sf.workers
        assert sf.layout == Layout.preset("twitter")


def unix_ms():
    return time.time_ns() // 1000000


def test_an_id_is_as_old_as_its_call(source):
    """However long ago the one before it was, and however many there were."""
    with Snowflake(source) as sf:
        layout = sf.layout
        for count, pause in ((300, 0), (30, 0.01), (300, 0), (1, 1.5)):
            for _ in range(count):
                time.sleep(pause)
                before = unix_ms()
                id = next(sf)
                assert before <= layout.decode(id).time_ms <= unix_ms()


def test_time_limits(source):
    with Snowflake(source) as sf:
        got = refusals = 0
        for _ in range(50):
            try:
                got += len(sf.fill(4096, timeout=0))
            except SnowflakeError as error:
                assert error.errno == errno.EAGAIN
                refusals += 1
        # Nobody can take that many at once.
        with pytest.raises(SnowflakeError) as caught:
            sf.fill(100 * 4096, timeout=0)
        assert caught.value.errno == errno.EAGAIN
        assert len(sf.fill(3 * 4096, timeout=5)) == 3 * 4096
        start = time.monotonic()
        with pytest.raises(SnowflakeError) as caught:
            sf.fill(10**6, timeout=0.05)
        assert caught.value.errno == errno.EAGAIN
        assert 0.04 < time.monotonic() - start < 1


def test_threads(source):
    with Snowflake(source) as sf:
        barrier = threading.Barrier(8)

        def take(number):
            barrier.wait()
            if number % 2:
                return [next(sf) for _ in range(5000)]
            return list(sf.fill(2500)) + list(sf.fill(2500))

        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(take, range(8)))
        assert all_differ(parts) == 40000
        assert all(map(rise, parts))


# What a forked worker takes its ids from.
shared = None


def take_shared(count):
    return [next(shared) for _ in range(count)]


@pytest.fixture(params=["short", "long"])
def preloaded(request, source):
    """A handle that was used before any fork, so that something is cached.

    What is cached is gone with its tick, which may be sooner than Python forks:
    there are long ticks, too.
    """
    global shared
    if request.param == "long":
        if source == DEVICE:
            pytest.skip("the device has the ticks that it has")
        source += ",layout=sonyflake,count=64"
    shared = Snowflake(source)
    take_shared(1000)
    yield shared
    shared.close()
    shared = None


def test_multiprocessing(preloaded):
    fork = multiprocessing.get_context("fork")
    with fork.Pool(8) as pool:
        pending = pool.map_async(take_shared, [1000] * 32, chunksize=1)
        mine = take_shared(1000)
        assert all_differ([mine, *pending.get(60)]) == 33000


def test_executor(preloaded):
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(4, mp_context=fork) as pool:
        parts = list(pool.map(take_shared, [1000] * 8))
    assert all_differ([take_shared(1000), *parts]) == 9000


def fork_worker(take, mine=None):
    """Forks a child that sends the ids that take() returns; what to read.

    If it is given a list, the parent takes ids just before, and puts them there.
    """
    reader, writer = os.pipe()
    if mine is not None:
        mine += take_shared(300)
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:
        data = b"".join(id.to_bytes(8, sys.byteorder) for id in take())
        with open(writer, "wb") as pipe:
            pipe.write(data)
        status = 0
    finally:
        os._exit(status)


def collect(workers):
    parts = []
    for pid, reader in workers:
        with open(reader, "rb") as pipe:
            data = pipe.read()
        assert os.waitpid(pid, 0)[1] == 0
        parts.append(
            [
                int.from_bytes(data[at : at + 8], sys.byteorder)
                for at in range(0, len(data), 8)
            ]
        )
    return parts


def test_64_children(preloaded):
    mine = []
    children = [fork_worker(lambda: take_shared(1000), mine) for _ in range(64)]
    mine += take_shared(1000)
    assert all_differ([mine, *collect(children)]) == 64 * 1300 + 1000


def test_prefork_server(preloaded):
    """As gunicorn with preload_app: workers are killed and forked anew."""
    served = []
    for _ in range(10):
        mine = []
        workers = [fork_worker(lambda: take_shared(300), mine) for _ in range(4)]
        # One of them forks, too, and one is replaced at once.
        workers.append(
            fork_worker(
                lambda: take_shared(100)
                + collect([fork_worker(lambda: take_shared(100))])[0]
                + take_shared(100),
                mine,
            )
        )
        doomed = fork_worker(lambda: iter(lambda: next(shared), None))
        time.sleep(0.02)
        os.kill(doomed[0], signal.SIGKILL)
        os.waitpid(doomed[0], 0)
        os.close(doomed[1])
        served += collect(workers)
        served.append(mine + take_shared(50))
    assert all_differ(served) == 10 * (5 * 300 + 5 * 300 + 50)


def test_threads_fork(preloaded):
    """Threads take ids without a pause while others fork."""
    stop = threading.Event()
    busy = [[] for _ in range(2)]

    def take(ids):
        while not stop.is_set():
            ids.append(next(preloaded))

    threads = [threading.Thread(target=take, args=(ids,)) for ids in busy]
    for thread in threads:
        thread.start()

    def fork_many(_):
        mine = []
        workers = [fork_worker(lambda: take_shared(20), mine) for _ in range(15)]
        return [mine, *collect(workers)]

    with ThreadPoolExecutor(2) as pool:
        parts = [part for many in pool.map(fork_many, range(2)) for part in many]
    stop.set()
    for thread in threads:
        thread.join()
    assert all(map(rise, busy))
    assert all_differ(parts + busy) >= 30 * 320


def test_fork_in_a_signal_handler(preloaded):
    children = []
    mine = []

    def handler(*_):
        mine.append(next(preloaded))
        children.append(fork_worker(lambda: take_shared(5), mine))
        mine.append(next(preloaded))

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for count in range(1, 101):
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            while len(children) < count:
                mine.append(next(preloaded))
    finally:
        signal.signal(signal.SIGALRM, old)
    assert all_differ([mine, *collect(children)]) >= 30700


def test_subprocesses(source):
    """Programs that know nothing of one another."""
    program = (
        "import sys, devsnowflake\n"
        "with devsnowflake.Snowflake(sys.argv[1]) as sf:\n"
        "    sys.stdout.buffer.write(sf.fill(1000))\n"
        "    for _ in range(1000):\n"
        "        sys.stdout.buffer.write(next(sf).to_bytes(8, sys.byteorder))\n"
    )
    programs = [
        subprocess.Popen([sys.executable, "-c", program, source], stdout=-1)
        for _ in range(4)
    ]
    ids = memoryview(b"".join(one.communicate()[0] for one in programs)).cast("Q")
    assert all(one.returncode == 0 for one in programs)
    assert all_differ([ids]) == 8000


def test_signals_end_no_wait(source):
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        with Snowflake(source) as sf:
            ids = list(sf.fill(200 * 4096)) + [next(sf) for _ in range(10000)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert rise(ids) and len(seen) > 10


def test_interrupted(source):
    """Ctrl-C is heard while ids are waited for."""
    program = (
        "import sys, devsnowflake\n"
        "sf = devsnowflake.Snowflake(sys.argv[1])\n"
        "sys.stdout.write('up')\n"
        "sys.stdout.flush()\n"
        "while True:\n"
        "    sf.fill(10**6)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, source], stdout=-1, stderr=-1
    )
    assert process.stdout.read(2) == b"up"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in words


def test_poll(source):
    with Snowflake(source) as sf:
        try:
            readable, _, _ = select.select([sf], [], [], 5)
        except SnowflakeError as error:
            assert source.startswith("local:")
            assert error.errno == errno.EOPNOTSUPP
        else:
            assert readable == [sf]
            assert sf.next(timeout=1)


def test_bind_where_it_is_not_shared_so(source):
    with Snowflake(source) as sf:
        with pytest.raises(SnowflakeError) as caught:
            sf.bind(5)
        assert caught.value.errno == errno.EINVAL
        next(sf)


def test_bytes_and_paths(source):
    with Snowflake(os.fsencode(source)) as sf:
        next(sf)

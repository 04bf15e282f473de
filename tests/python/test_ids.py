# SPDX-License-Identifier: GPL-2.0-only OR MIT

import dataclasses
import errno
import pickle
import random
from datetime import datetime, timedelta, timezone

import pytest

import devsnowflake
from devsnowflake import Layout, Order, SnowflakeError

UTC = timezone.utc
TWITTER = Layout.preset("twitter")
ID = 2127481729571627013


def at(*fields):
    return datetime(*fields, tzinfo=UTC)


def test_presets():
    assert devsnowflake.presets() == (
        "twitter",
        "instagram",
        "discord",
        "sonyflake",
        "js53",
    )
    assert TWITTER == Layout(1288834974657, 1, 41, 10, 12)
    assert Layout.preset("sonyflake").order is Order.WORKER_LOWEST


@pytest.mark.parametrize("name", ["", "Twitter", "twitter\0", "zwölf", "custom"])
def test_no_preset(name):
    with pytest.raises(ValueError, match="twitter, instagram"):
        Layout.preset(name)


@pytest.mark.parametrize(
    "name, second, workers, fleet, last",
    [
        ("twitter", 4096000, 1024, 4194304000, at(2080, 7, 10, 17, 30, 30, 208000)),
        ("instagram", 1024000, 8192, 8388608000, at(2046, 6, 27, 17, 0, 49, 496000)),
        ("discord", 4096000, 1024, 4194304000, at(2084, 9, 6, 15, 47, 35, 551000)),
        ("sonyflake", 25600, 65536, 1677721600, at(2188, 11, 16, 3, 28, 58, 870000)),
        ("js53", 256000, 16, 4096000, at(2089, 9, 6, 15, 47, 35, 551000)),
    ],
)
def test_limits(name, second, workers, fleet, last):
    limits = Layout.preset(name).limits
    assert limits.ids_per_second == second
    assert limits.workers == workers
    assert limits.fleet_per_second == fleet
    assert limits.last_time == last


def test_decode():
    decoded = TWITTER.decode(ID)
    assert decoded.id == ID
    assert decoded.worker == 2
    assert decoded.sequence == 5
    assert decoded.tick == 507231171029
    assert decoded.time_ms == 1796066145686
    assert decoded.time == at(2026, 11, 30, 19, 15, 45, 686000)
    assert decoded.time.utcoffset() == timedelta(0)


def test_decode_the_largest():
    decoded = TWITTER.decode(2**63 - 1)
    assert (decoded.worker, decoded.sequence) == (1023, 4095)
    assert decoded.time == at(2080, 7, 10, 17, 30, 30, 208000)


@pytest.mark.parametrize("id", [2**63, 2**64 - 1])
def test_decode_sign_bit(id):
    with pytest.raises(SnowflakeError) as caught:
        TWITTER.decode(id)
    assert caught.value.errno == errno.ERANGE


@pytest.mark.parametrize("id", [-1, 2**64, ID - 2**64, ID + 2**64, 10**21])
def test_what_c_would_cut_off(id):
    with pytest.raises(OverflowError):
        TWITTER.decode(id)


@pytest.mark.parametrize("id", [1.0, "1", None, 2.5e18])
def test_no_number(id):
    with pytest.raises(TypeError):
        TWITTER.decode(id)


@pytest.mark.parametrize("name", devsnowflake.presets())
def test_round_trips(name):
    layout = Layout.preset(name)
    chance = random.Random(name)
    last = layout.compose(
        time=layout.limits.last_time,
        worker=layout.limits.workers - 1,
        sequence=layout.limits.ids_per_tick - 1,
    )
    for _ in range(5000):
        id = chance.randint(0, last)
        parts = layout.decode(id)
        fields = {"worker": parts.worker, "sequence": parts.sequence}
        assert layout.compose(tick=parts.tick, **fields) == id
        assert layout.compose(time=parts.time, **fields) == id
        # Exact to the millisecond, which floating point would not be.
        assert parts.time.microsecond % 1000 == 0
        unix = (parts.time - at(1970, 1, 1)) // timedelta(milliseconds=1)
        assert unix == parts.time_ms == layout.epoch_ms + parts.tick * layout.tick_ms


@pytest.mark.parametrize(
    "fields",
    [
        {"worker": 1024, "sequence": 0},
        {"worker": 0, "sequence": 4096},
        {"worker": 0, "sequence": 0, "tick": 2**41},
    ],
)
def test_compose_what_does_not_fit(fields):
    with pytest.raises(SnowflakeError) as caught:
        TWITTER.compose(**{"tick": 0, **fields})
    assert caught.value.errno == errno.ERANGE


@pytest.mark.parametrize("name", ["worker", "sequence", "tick"])
@pytest.mark.parametrize("value", [-1, 2**64, 2**64 + 1])
def test_compose_what_c_would_cut_off(name, value):
    fields = {"worker": 0, "sequence": 0, "tick": 0, name: value}
    with pytest.raises(OverflowError, match=name):
        TWITTER.compose(**fields)


def test_compose_before_the_epoch():
    with pytest.raises(OverflowError):
        TWITTER.compose(time=at(2010, 11, 4), worker=0, sequence=0)


def test_compose_takes_one_time():
    with pytest.raises(TypeError):
        TWITTER.compose(worker=0, sequence=0)
    with pytest.raises(TypeError):
        TWITTER.compose(worker=0, sequence=0, tick=1, time=at(2020, 1, 1))


def test_span():
    first, last = TWITTER.span(at(2026, 11, 30), at(2026, 12, 1))
    assert TWITTER.decode(first).time == at(2026, 11, 30)
    assert TWITTER.decode(first - 1).time < at(2026, 11, 30)
    assert TWITTER.decode(last + 1).time == at(2026, 12, 1)
    assert TWITTER.decode(last).time == at(2026, 11, 30, 23, 59, 59, 999000)
    days = TWITTER.span(at(2026, 12, 1), at(2026, 12, 2))
    assert days[0] == last + 1


@pytest.mark.parametrize("name", ["twitter", "sonyflake"])
def test_span_is_what_comparing_times_gives(name):
    """Also where times are no whole milliseconds, and ticks longer than one."""
    layout = Layout.preset(name)
    chance = random.Random(1)
    for _ in range(2000):
        start = at(2026, 1, 1) + timedelta(microseconds=chance.randrange(10**14))
        end = start + timedelta(microseconds=chance.randrange(50000))
        try:
            first, last = layout.span(start, end)
        except SnowflakeError as error:
            assert error.errno == errno.ERANGE
            tick = layout.decode(layout.compose(time=end, worker=0, sequence=0))
            assert not start <= tick.time < end
            continue
        assert layout.decode(first).time >= start > layout.decode(first - 1).time
        assert layout.decode(last).time < end <= layout.decode(last + 1).time


def test_times_of_other_zones():
    east = timezone(timedelta(hours=5, minutes=45))
    here = at(2026, 11, 30, 12)
    assert TWITTER.span(here.astimezone(east), at(2027, 1, 1)) == TWITTER.span(
        here, at(2027, 1, 1)
    )


def test_times_without_a_zone_are_none():
    naive = datetime(2026, 11, 30)
    with pytest.raises(ValueError, match="time zone"):
        TWITTER.span(naive, at(2027, 1, 1))
    with pytest.raises(ValueError, match="time zone"):
        TWITTER.span(at(2020, 1, 1), naive)
    with pytest.raises(ValueError, match="time zone"):
        TWITTER.compose(time=naive, worker=0, sequence=0)


def test_span_backwards():
    with pytest.raises(SnowflakeError) as caught:
        TWITTER.span(at(2027, 1, 1), at(2026, 1, 1))
    assert caught.value.errno == errno.EINVAL


def test_later_than_a_datetime():
    layout = Layout(0, 1000, 60, 1, 1)
    parts = layout.decode(2**47)
    assert parts.time_ms == 2**45 * 1000
    with pytest.raises(OverflowError):
        parts.time  # noqa: B018


def test_check():
    TWITTER.check()
    with pytest.raises(SnowflakeError) as caught:
        dataclasses.replace(TWITTER, tick_ms=1001).check()
    assert caught.value.errno == errno.EINVAL
    assert caught.value.strerror


@pytest.mark.parametrize(
    "name, value",
    [
        ("epoch_ms", -1),
        ("epoch_ms", 2**64),
        ("tick_ms", 65537),
        ("timestamp_bits", 256 + 41),
        ("worker_bits", 256 + 10),
        ("sequence_bits", -244),
    ],
)
def test_layouts_that_c_would_cut_off(name, value):
    with pytest.raises(OverflowError, match=name):
        dataclasses.replace(TWITTER, **{name: value})


def test_layouts_of_no_order():
    with pytest.raises(ValueError):
        dataclasses.replace(TWITTER, order=2)


def test_unsound_layouts_give_no_ids():
    unsound = dataclasses.replace(TWITTER, timestamp_bits=60)
    for use in (
        lambda: unsound.decode(1),
        lambda: unsound.compose(tick=1, worker=0, sequence=0),
        lambda: unsound.span(at(2026, 1, 1), at(2027, 1, 1)),
        lambda: unsound.limits,
    ):
        with pytest.raises(SnowflakeError) as caught:
            use()
        assert caught.value.errno == errno.EINVAL


def test_layouts_are_values():
    TWITTER.decode(1)
    again = pickle.loads(pickle.dumps(TWITTER))
    assert again == TWITTER and hash(again) == hash(TWITTER)
    assert again.decode(ID) == TWITTER.decode(ID)

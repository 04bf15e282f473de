# SPDX-License-Identifier: GPL-2.0-only OR MIT

import errno
import json
import random

import pytest

from devsnowflake import Format, SnowflakeError, format_id, parse_id

ID = 2127481729571622912
TEXTS = {
    Format.DECIMAL: "2127481729571622912",
    Format.HEX: "1d86555c75401000",
    Format.BASE32: "1V1JNBHTM0400",
    Format.JSON: '"2127481729571622912"',
}


@pytest.mark.parametrize("format", TEXTS)
def test_known(format):
    assert format_id(ID, format) == TEXTS[format]
    assert parse_id(TEXTS[format], format) == ID


@pytest.mark.parametrize("format", [Format.BASE58, Format.BASE62])
def test_by_its_digits(format):
    digits = {
        Format.BASE58: "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        Format.BASE62: "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        "abcdefghijklmnopqrstuvwxyz",
    }[format]
    text = format_id(ID, format)
    value = 0
    for character in text:
        value = value * len(digits) + digits.index(character)
    assert value == ID
    assert len(text) == 11


def test_decimal_is_the_default():
    assert format_id(ID) == str(ID)
    assert parse_id(str(ID)) == ID


@pytest.mark.parametrize("format", Format)
def test_round_trips(format):
    chance = random.Random(format)
    ids = [0, 1, 2**53, 2**53 + 1, 2**63 - 1]
    ids += [chance.randrange(2 ** chance.randint(1, 63)) for _ in range(20000)]
    texts = [format_id(id, format) for id in ids]
    assert [parse_id(text, format) for text in texts] == ids
    if format not in (Format.DECIMAL, Format.JSON):
        assert sorted(texts) == [format_id(id, format) for id in sorted(ids)]


def test_json_is_a_string():
    assert json.loads(format_id(2**63 - 1, Format.JSON)) == "9223372036854775807"


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize(
    "text",
    ["", " ", " 1", "1 ", "1\n", "-1", "+1", "1.0", "1_0", "1,2", "'1'", '"', '""']
    + ["1\0", "\0", "\0001", '"1\0"', '"1"\0', "1\0002"]
    + ["\u0661", "\uff11", "\ud800", "\U0001d7d9", "é"],
)
def test_no_id(format, text):
    with pytest.raises(SnowflakeError) as caught:
        parse_id(text, format)
    assert caught.value.errno == errno.EINVAL
    assert caught.value.strerror


@pytest.mark.parametrize("text", ["1e3", "0x10", "0x", "0b1", "1k", "l"])
def test_no_decimal(text):
    with pytest.raises(SnowflakeError):
        parse_id(text)
    with pytest.raises(SnowflakeError):
        parse_id(f'"{text}"', Format.JSON)


@pytest.mark.parametrize("text", ["9223372036854775808", "18446744073709551616"])
def test_too_large(text):
    with pytest.raises(SnowflakeError) as caught:
        parse_id(text)
    assert caught.value.errno == errno.ERANGE


def test_21_digits():
    with pytest.raises(SnowflakeError):
        parse_id("1" * 21)
    with pytest.raises(SnowflakeError):
        parse_id("0" * 10000 + "1")


@pytest.mark.parametrize("id", [-1, 2**64, 2**64 + ID])
def test_what_c_would_cut_off(id):
    with pytest.raises(OverflowError):
        format_id(id)


def test_sign_bit():
    with pytest.raises(SnowflakeError) as caught:
        format_id(2**63)
    assert caught.value.errno == errno.ERANGE


def test_no_format():
    with pytest.raises(ValueError):
        format_id(1, 6)
    with pytest.raises(ValueError):
        parse_id("1", -1)


@pytest.mark.parametrize("text", [1, b"1", None])
def test_no_text(text):
    with pytest.raises((TypeError, AttributeError)):
        parse_id(text)

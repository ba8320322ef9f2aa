"""Keys of labels: what is one person, whatever type or text says so."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._base.labels import NO_LABEL, key_of

ALIKE = {
    "7": [
        *(7, 7.0, "7", "7.0", " 007 ", "7.000000e+00", "+7", "7.", Decimal("7.00"), b"7"),
        *(np.int8(7), np.float32(7), np.longdouble(7), Fraction(7), "\ufeff7"),
    ],
    "1": [1, True, np.bool_(True), "1"],
    "0": [0, -0.0, "-0", "-0.0", False, Decimal("-0")],
    "0.1": [0.1, "0.1", ".1", Decimal("0.1"), "1e-01"],
    str(2**60 + 1): [2**60 + 1, np.int64(2**60 + 1), str(2**60 + 1), Decimal(2**60 + 1)],
    NO_LABEL: [
        *(None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")),
        *("", " ", "NA", "n/a", "NaN", "null", "None", "NaT", "<NA>", "#N/A", b"", b"null"),
        *(float("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), "1e+400"),
        # Floating point beyond 2^53 is no exact id, and neither is what it is written as.
        *(2.0**60, "1.152921504606847e+18", "9007199254740994.0", [1], {}, np.zeros(3)),
    ],
    "2024-01-01": [
        *("2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00", "2024-01-01 00:00:00.000"),
        *(date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),
        *(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin")),
        *(np.datetime64("2024-01-01"), np.datetime64("2024-01-01", "ns"), np.datetime64("2024-01")),
    ],
    "2024-01-01T05:06:07.5": [
        "2024-01-01 05:06:07.500000",
        datetime(2024, 1, 1, 5, 6, 7, 500_000),
        np.datetime64("2024-01-01T05:06:07.5"),
    ],
    "2024-01-01T05:06:00": ["2024-01-01 05:06", datetime(2024, 1, 1, 5, 6)],
    "1 m": [np.timedelta64(60, "s"), timedelta(minutes=1), pd.Timedelta("1min")],
    "0 W": [np.timedelta64(0, "ns"), timedelta(0), np.timedelta64(0, "h")],
    "05:06:00": [time(5, 6)],
    "ann": ["ann", " ann\t", np.str_("ann"), b"ann"],
    "12e5": ["12e5"],
    "9" * 2000: ["9" * 2000],
    "x\\udcff": ["x\udcff", b"x\xff"],
    str(UUID(int=7)): [UUID(int=7), str(UUID(int=7))],
}


@pytest.mark.parametrize(("key", "labels"), ALIKE.items(), ids=[k[:20] or "none" for k in ALIKE])
def test_labels_that_mean_one_person_have_one_key(key, labels):
    assert {key_of(label) for label in labels} == {key}


def test_nanoseconds_are_kept_apart():
    one, other = (pd.Timestamp("2024-01-01") + pd.Timedelta(n, "ns") for n in (1, 2))
    assert key_of(one) != key_of(other)
    assert key_of(one) == key_of(one.to_datetime64())
    assert key_of(pd.Timedelta(1, "ns")) == key_of(np.timedelta64(1, "ns")) == "1 ns"


def test_other_objects_are_their_own_keys():
    assert key_of((1, "a")) == (1, "a")
    assert key_of(1j) == 1j


labels = st.one_of(
    *(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.binary(), st.decimals()),
    *(st.datetimes(), st.dates(), st.timedeltas(), st.fractions()),
)


@given(labels)
@example("x\udcff")
@example(" 7.50 ")
@example(-0.0)
@example(2.0**60)
@example(b"\xff")
@example(Decimal("1e-7"))
@example(datetime(2024, 1, 1, 5, 6, 7, 8))
@example(timedelta(microseconds=-1))
@example(Fraction(1, 3))
def test_a_key_is_its_own_key_and_can_be_sent_anywhere(label):
    key = key_of(label)
    assert isinstance(key, str)
    assert key_of(key) == key
    assert key.encode().decode() == key


@given(st.integers(-(2**53), 2**53))
@example(0)
@example(-7)
@example(2**53)
@example(-(2**53))
@example(10**15)
def test_whole_numbers_have_one_key_in_every_type(number):
    spelled = [number, float(number), str(number), str(float(number)), repr(number), b"%d" % number]
    assert {key_of(label) for label in spelled} == {str(number)}


@given(st.floats(-1e15, 1e15))
@example(-0.0)
@example(0.1)
@example(1e15)
@example(-1e-300)
@example(123456.789)
def test_a_number_and_its_text_have_one_key(number):
    assert key_of(number) == key_of(repr(number)) == key_of(f"{number:.17e}")

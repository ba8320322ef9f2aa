"""Cells as numbers: every type and text that means the same is the same, and nothing raises."""

import warnings
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._base.labels import key_of
from sfumato._schema import cells as read

NAN = float("nan")
NUMBERS = [
    *(("1", 1), (" 2.5 ", 2.5), ("1e3", 1000), ("+4", 4), ("-0", 0), (b"7", 7), ("\ufeff8", 8)),
    *((3, 3), (True, 1), (np.float32(0.5), 0.5), (Decimal("1.5"), 1.5), (Fraction(1, 4), 0.25)),
    *(("", NAN), ("NA", NAN), ("1,5", NAN), ("1_000", NAN), ("٣", NAN), ("x", NAN), ("0x10", NAN)),
    *((None, NAN), (pd.NA, NAN), (pd.NaT, NAN), (NAN, NAN), ("inf", NAN), (np.inf, NAN)),
    *((date(2024, 1, 1), NAN), (datetime(2024, 1, 1), NAN), (np.datetime64("2024"), NAN)),
    *((np.timedelta64(5, "s"), NAN), (timedelta(1), NAN), ([1], NAN), ({}, NAN), (10**400, NAN)),
    *((b"\xff", NAN), ("\udcff", NAN), (object(), NAN), (1j, NAN)),
]
DAY = 19782.0
"""29 February 2024."""
DAYS = [
    *(
        ("2024-02-29", DAY),
        (" 2024-02-29 ", DAY),
        ("2024-02-29T12:00", DAY + 0.5),
        (b"2024-02-29", DAY),
    ),
    *(
        (date(2024, 2, 29), DAY),
        (datetime(2024, 2, 29, 6), DAY + 0.25),
        (pd.Timestamp("2024-02-29"), DAY),
    ),
    *((np.datetime64("2024-02-29"), DAY), (np.datetime64("2024-02-29", "ns"), DAY)),
    ("2024-02-29T02:00+02:00", DAY),
    (datetime(2024, 2, 29, 2, tzinfo=timezone(timedelta(hours=2))), DAY),
    (pd.Timestamp("2024-02-29 09:00", tz="Asia/Tokyo"), DAY),
    *(("1969-12-31", -1), ("0001-01-01", -719162), (datetime.max.replace(tzinfo=UTC), None)),
    *(
        ("2024-02-30", NAN),
        ("20240229", NAN),
        ("2024", NAN),
        (20240229, NAN),
        (1.5, NAN),
        ("", NAN),
    ),
    *(
        (None, NAN),
        (pd.NaT, NAN),
        (pd.NA, NAN),
        (np.datetime64("NaT"), NAN),
        ("x", NAN),
        (True, NAN),
    ),
    *((time(1), NAN), (timedelta(1), NAN), ([], NAN), (b"\xff", NAN), ("\x00", NAN)),
]
FLAGS = [
    *((True, 1), ("yes", 1), (" Y ", 1), ("TRUE", 1), ("t", 1), (1, 1), (1.0, 1), ("1.0", 1)),
    *((False, 0), ("no", 0), ("N", 0), ("false", 0), ("F", 0), (0, 0), ("0", 0), (np.bool_(0), 0)),
    *(("", NAN), ("maybe", NAN), (2, NAN), (0.5, NAN), (None, NAN), (pd.NA, NAN), (NAN, NAN)),
]
CASES = [(read.numbers, NUMBERS), (read.days, DAYS), (read.flags, FLAGS)]


def objects(cells):
    """Cells of any type as an array."""
    found = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        found[i] = cell
    return found


@pytest.mark.parametrize(("function", "cases"), CASES)
def test_each_cell_by_itself_and_beside_others(function, cases):
    cells = [cell for cell, expected in cases if expected is not None]
    expected = [expected for _, expected in cases if expected is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = [function([cell])[0] for cell in cells]
        np.testing.assert_array_equal(alone, expected)
        np.testing.assert_array_equal(function(cells), expected)
        np.testing.assert_array_equal(function(objects(cells)), expected)


@given(st.permutations(range(len(NUMBERS))), st.integers(0, len(NUMBERS)))
@example(list(range(len(NUMBERS))), 7)
def test_order_and_cuts_change_nothing(order, cut):
    cells = [NUMBERS[i][0] for i in order]
    whole = read.numbers(cells)
    parts = np.concatenate([read.numbers(cells[:cut]), read.numbers(cells[cut:])])
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_array_equal(whole, [NUMBERS[i][1] for i in order])


@given(st.lists(st.text(max_size=8), max_size=8))
@example(["1", "2.5", ""])
@example(["1", "1_0"])
@example(["1", "\xa02", "٣"])
@example(["1", " "])
def test_a_column_of_text_is_read_as_its_cells_are(cells):
    alone = np.array([read.number(cell) for cell in cells])
    np.testing.assert_array_equal(read.parsed(cells), alone)
    np.testing.assert_array_equal(read.flags(cells), [read.flags([cell])[0] for cell in cells])


@pytest.mark.parametrize("kind", ["?", "i1", "u8", "i8", "f2", "f4", "f8", "O"])
def test_arrays_of_numbers_are_levels(kind):
    array = np.array([1, 0, 1], dtype=kind)
    np.testing.assert_array_equal(read.places(array, {"0": 4, "1": 7}), [7, 4, 7])
    np.testing.assert_array_equal(read.flags(array), [1, 0, 1])
    np.testing.assert_array_equal(read.numbers(array), [1, 0, 1])


def test_equal_numbers_with_other_keys_stay_apart():
    """Floating point beyond 2^53 is no label; beside the whole number it is none either."""
    big = 2**60
    assert key_of(big) != key_of(float(big))
    levels = {str(big): 1}
    for cells in ([big, float(big)], [float(big), big]):
        expected = [1 if type(cell) is int else np.nan for cell in cells]
        np.testing.assert_array_equal(read.places(cells, levels), expected)


def test_levels_that_are_not_listed_are_missing():
    cells = ["a", " b ", "c", "", None, 1.0, "1", "A"]
    found = read.places(cells, {"a": 0, "b": 1, "1": 2})
    np.testing.assert_array_equal(found, [0, 1, NAN, NAN, NAN, 2, 2, NAN])


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_arrays_of_times(unit):
    array = np.array(["2024-02-29", "NaT", "1969-12-31"], dtype=f"datetime64[{unit}]")
    np.testing.assert_array_equal(read.days(array), [DAY, NAN, -1])


def test_patterns():
    cells = ["29/02/2024", "2024-02-29", "31/02/2024", "", date(2024, 2, 29)]
    np.testing.assert_array_equal(read.days(cells, "%d/%m/%Y"), [DAY, NAN, NAN, NAN, DAY])
    # A year first: digits are read as text is, whatever type they have become.
    for cells in ([20240229, 20240230], np.array([20240229, 20240230]), [20240229.0, NAN]):
        np.testing.assert_array_equal(read.days(cells, "%Y%m%d"), [DAY, NAN])
        np.testing.assert_array_equal(read.days(cells), [NAN, NAN])
    # A day first: the zero in front of it is lost, so numbers are none.
    np.testing.assert_array_equal(read.days([1022024, 29022024], "%d%m%Y"), [NAN, NAN])
    assert read.digits_are_dates("%Y%m%d")
    assert not read.digits_are_dates("%d%m%Y")
    assert not read.digits_are_dates(None)


@given(st.lists(st.datetimes(), min_size=1, max_size=5))
@example([datetime(1969, 12, 31, 23, 59, 59, 999_999)])
@example([datetime.max, datetime.min])
def test_times_are_the_same_from_every_type(times):
    from_text = read.days([time.isoformat() for time in times])
    np.testing.assert_array_equal(read.days(times), from_text)
    np.testing.assert_array_equal(read.days(np.array(times, dtype="datetime64[us]")), from_text)
    expected = [(time - datetime(1970, 1, 1)) / timedelta(1) for time in times]
    np.testing.assert_allclose(from_text, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    "cell",
    [
        *(np.complex64(1), np.array([1.0]), np.array(1j), np.ma.masked, np.timedelta64(1, "s")),
        *(pd.Series([1.0]), np.longdouble("1e4000"), Decimal("sNaN")),
    ],
    ids=lambda cell: type(cell).__name__,
)
def test_no_cell_warns(cell):
    """A warning would tell of a row, and a caller could turn it into an exception."""
    with warnings.catch_warnings(record=True, action="always") as warned:
        assert not np.isfinite(read.number(cell))
    assert not warned

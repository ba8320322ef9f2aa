"""Ranges from noisy counts of slices: legal bounds, and what luck can do."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from sfumato._lattice.box import Box
from sfumato._private_bounds.ranges import Span, legal, locate, trim

MAX = sys.float_info.max


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, 1.0),
        (1.0, math.nextafter(1.0, 2)),
        (-5e-324, 5e-324),
        (0.0, 0.0),
        (MAX, MAX),
        (-MAX, -MAX),
        (-math.inf, math.inf),
        (1e300, math.inf),
        (2.0**52 - 1e-3, 2.0**52),
        (-1.0, 1.0),
    ],
)
def test_bounds_are_as_far_apart_as_a_box_needs(low, high):
    lower, upper = legal(low, high)
    Box((lower,), (upper,))
    assert lower <= max(low, -MAX)
    assert upper >= min(high, MAX)
    if (low, high) == (-1, 1):
        assert (lower, upper) == (low, high)


def test_a_crowded_column_is_located_and_a_spread_one_is_not():
    span = Span(0.0, 4096.0, 10_000.0, (4096.0, 0.0))
    counts = np.zeros(4096)
    counts[100:104] = 2500
    found = locate(span, counts, 10.0)
    assert (found.lower, found.upper) == (96, 108)
    assert locate(span, np.full(4096, 10_000 / 4096), 10.0) == span
    assert locate(span, counts, 2000.0) == span, "luck could do that"
    torn = Span(0.0, 4096.0, 10_000.0, (64.0, 2048.0))
    assert locate(torn, counts, 10.0) == torn, "rows stood out elsewhere"


def test_ends_are_trimmed_but_not_what_stood_out():
    span = Span(0.0, 32.0, 10_000.0, (32.0, 0.0))
    counts = np.zeros(32)
    counts[10:20] = 1000
    assert trim(span, counts, 1.0) == (9, 21)
    counts[25] = 80
    assert trim(span, counts, 1.0) == (9, 21)
    tied = Span(0.0, 32.0, 10_000.0, (4.0, 25.0))
    low, high = trim(tied, counts, 1.0)
    assert low < 4
    assert high > 25
    low, high = trim(span, np.zeros(32), 1.0)
    assert low < high, "noise can say anything"


def test_a_slice_that_stands_out_is_not_left_outside():
    """Short runs are added up inside: what they leave out must not go by luck."""
    span = Span(0.0, 32.0, 10_000.0, (32.0, 0.0))
    counts = np.zeros(32)
    counts[10:20] = 1000
    counts[28] = 800
    assert trim(span, counts, 100.0)[1] >= 29
    counts[28] = 90
    assert trim(span, counts, 10.0)[1] < 25, "fewer rows than may be cut"


def test_a_wide_range_is_kept_where_noise_could_hide_rows():
    span = Span(0.0, 32.0, 1000.0, (32.0, 0.0))
    counts = np.zeros(32)
    counts[10:20] = 100
    low, high = trim(span, counts, 1.0)
    assert (low, high) == (9, 21)
    low, high = trim(span, counts, 200.0)
    assert high - low > 20


def test_thin_ends_get_more_back():
    span = Span(0.0, 32.0, 10_000.0, (32.0, 0.0))
    counts = np.zeros(32)
    counts[16:20] = 2400
    counts[10:16] = 400 / 6
    low, high = trim(span, counts, 1.0)
    assert 20 < high <= 21
    assert low <= 11 - 3 + 1


def test_bounds_stay_on_the_side_of_0_on_which_rows_stood_out():
    counts = np.zeros(32)
    counts[:4] = 2500
    span = Span(0.0, 32.0, 10_000.0, (32.0, 0.0))
    assert trim(span, counts, 1.0)[0] == 0
    assert trim(replace(span, lower=-1.0, upper=31.0), counts, 1.0)[0] == -1, "nor past the span"
    mirrored = Span(-32.0, 0.0, 10_000.0, (0.0, -32.0))
    assert trim(mirrored, counts[::-1], 1.0)[1] == 0
    fine = np.zeros(4096)
    fine[:2] = 5000
    assert locate(span, fine, 1.0).lower == 0
    assert locate(mirrored, fine[::-1], 1.0).upper == 0


def test_the_end_to_which_a_column_is_skewed_gets_more_back():
    span = Span(-16.0, 48.0, 10_000.0, (48.0, -16.0))
    counts = np.zeros(64)
    counts[16:40] = 10_000 * 0.75 ** np.arange(24) / 4
    low, high = trim(span, counts, 1.0)
    assert -1.5 < low < 0
    assert 24 < high < 40
    counts = np.zeros(64)
    counts[16:32] = 625
    low, high = trim(span, counts, 1.0)
    assert (low, high) == (pytest.approx(-1.6), pytest.approx(17.6)), "rows end all at once"

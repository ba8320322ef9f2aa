"""How far a column reaches by noisy counts of half octaves: what stands out, joins or is cut."""

import numpy as np
import pytest
from scipy.signal import fftconvolve

from sfumato._core.queries.histograms import LogBins
from sfumato._private_bounds.ranges import find_support, tail

BINS = LogBins(1)
ONES = BINS.zero + 2045
"""The bin of 1 < x ≤ 3/2."""


@pytest.mark.parametrize("windows", [1, 2, 4, 8])
def test_the_tail_of_a_sum_is_that_of_the_convolved_density(windows):
    step = 1e-3
    grid = np.arange(-40, 40, step)
    density = np.exp(-np.abs(grid)) / 2
    total = density
    for _ in range(windows - 1):
        total = fftconvolve(total, density, "same") * step
    for t in (0.0, 0.5, 3.0, 11.0):
        expected = total[grid >= t].sum() * step
        assert tail(windows, np.array([t]))[0] == pytest.approx(expected, rel=2e-2)


def halves(rows, *, zeros=0):
    """Counts by the bins from 1 < x ≤ 3/2 on."""
    counts = np.zeros(BINS.bins)
    for place, n in rows.items():
        counts[ONES + place] = n
    counts[BINS.zero] = zeros
    return counts


def test_a_size_stands_out_by_the_scale_of_the_noise_and_the_likelier_sooner():
    assert find_support(halves({6: 7}), 1.0, 1) is None
    assert find_support(halves({6: 17}), 1.0, 1) is not None
    assert find_support(halves({6: 17}), 10.0, 1) is None
    assert find_support(halves({1800: 17}), 1.0, 1) is None
    assert find_support(halves({6: 17}), 1.0, 10**6) is None
    spread = dict.fromkeys(range(6, 14), 6)
    assert find_support(halves(spread), 1.0, 1) is not None
    found = find_support(halves({6: 1000, 8: 20, 10: 900}), 1.0, 1)
    assert (found.first, found.last) == (ONES + 6, ONES + 10)
    assert found.rows == 1920


def test_few_rows_beside_what_stands_out_join_it_and_more_are_needed_farther_away():
    def farthest(place, n):
        return find_support(halves({6: 1000, place: n}), 1.0, 1).highest - ONES

    assert farthest(7, 6) == 6
    assert farthest(7, 7) == 7
    assert farthest(14, 7) == 6
    assert farthest(14, 9) == 14
    assert farthest(19, 12) == 6, "that is more than six octaves away"
    two = find_support(halves({6: 1000, 8: 5, 9: 5}), 1.0, 1)
    assert two.highest - ONES == 9
    below = find_support(halves({6: 1000, -2: 9}), 1.0, 1)
    assert below.lowest - ONES == -2


def test_a_column_of_few_half_octaves_on_one_side_of_0_is_narrow():
    assert find_support(halves({6: 1000}), 1.0, 1).is_narrow
    assert find_support(halves({6: 1000, 9: 1000}), 1.0, 1).is_narrow
    assert not find_support(halves({6: 1000, 10: 1000}), 1.0, 1).is_narrow
    assert not find_support(halves({6: 1000}, zeros=1000), 1.0, 1).is_narrow
    span = find_support(halves({6: 1000, 9: 900, 10: 8}), 1.0, 1).span()
    assert (span.lower, span.upper, span.touch) == (8, 48, (12, 24))
    assert span.rows == 1908


def test_zeros_alone_have_no_size():
    assert find_support(halves({}, zeros=1000), 1.0, 1) is None
    found = find_support(halves({6: 1000}, zeros=1000), 1.0, 1)
    assert found.ends() == (0, 12)
    beside = np.zeros(BINS.bins)
    beside[BINS.zero : BINS.zero + 2] = 10**5, 20
    beside[ONES + 6] = 10**5
    assert find_support(beside, 1.0, 1).ends() == (0, 12)
    beside[ONES + 6] = 0
    assert find_support(beside, 1.0, 10**6) is None, "what lies beside 0 is 0"
    rare = find_support(halves({-1: 20}, zeros=10**5), 1.0, 1)
    assert rare.ends() == (0, 1), "a width is needed, however few rows have it"


def test_ends_are_edges_beyond_which_next_to_nothing_was_found():
    body = dict.fromkeys(range(-6, 4), 1000)
    assert find_support(halves(body), 1.0, 1).ends() == (0.125, 4)
    assert find_support(halves({**body, 4: 5}), 1.0, 1).ends() == (0.125, 4)
    assert find_support(halves({**body, 8: 200}), 1.0, 1).ends() == (0.125, 24), "its own group"
    low, high = find_support(halves({**body, 8: 200}), 100.0, 1).ends()
    assert (low, high) == (0.125, 4), "it could be noise"


def test_tails_get_something_back_but_no_more_than_was_found_there():
    thin = {place: 4000 * 0.5 ** (place + 6) for place in range(-6, 5)}
    found = find_support(halves(thin), 0.01, 1)
    _, high = found.ends()
    assert BINS.edges(found.last)[1] == 2
    assert BINS.edges(found.highest)[1] == 8
    assert 3 < high < 8, "more than the run that holds enough"


def test_zeros_join_whatever_stands_out():
    assert find_support(halves({6: 1000}, zeros=7), 1.0, 1).ends()[0] == 8
    assert find_support(halves({6: 1000}, zeros=9), 1.0, 1).ends()[0] == 0


def test_the_many_bins_beside_0_do_not_count():
    """Their noise alone would pass for most of the rows."""
    counts = halves(dict.fromkeys(range(-6, 6), 1000), zeros=1000)
    counts[BINS.zero + 1 : ONES - 100] += 50
    found = find_support(counts, 20.0, 1)
    assert found.rows == 13_000
    assert found.ends() == (0, 8)


def test_reaches_as_wide_as_float64_have_finite_ends():
    counts = np.zeros(BINS.bins)
    counts[[0, -1]] = 1000
    low, high = find_support(counts, 1.0, 1).ends()
    assert -low == high == BINS.edges(BINS.bins - 1)[1]

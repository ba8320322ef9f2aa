"""Distributions from noisy counts: exact without noise, consistent, and error bars that hold."""

import numpy as np
import pytest

from sfumato import Category, Number
from sfumato._explaining.columns import binned
from sfumato._explaining.explanation import Sizes, differences, explained, shares_of, sizes_of

EXACT = np.array([[100.0, 300, 0, 600], [500, 500, 500, 500], [10, 20, 30, 940]])


def test_without_noise_sizes_and_shares_are_exact():
    sizes = sizes_of([EXACT, EXACT.sum(axis=1, keepdims=True) * [0.5, 0.5]], 0.0)
    np.testing.assert_allclose(sizes.values, [1000, 2000, 1000])
    shares = shares_of(EXACT, 0.0, sizes)
    np.testing.assert_allclose(shares.values, EXACT / EXACT.sum(axis=1, keepdims=True), atol=1e-12)
    rest = EXACT.sum(axis=0) - EXACT
    np.testing.assert_allclose(shares.rest, rest / rest.sum(axis=1, keepdims=True), atol=1e-12)
    apart, noise = differences(shares)
    np.testing.assert_allclose(apart, 0.5 * np.abs(shares.values - shares.rest).sum(axis=1))
    assert (noise == 0).all()


def test_sizes_weigh_columns_by_the_inverse_of_their_variance():
    """2 bins have half the variance of 4: the totals count 2 to 1."""
    sizes = sizes_of([np.full((1, 2), 50.0), np.full((1, 4), 40.0)], 3.0)
    assert sizes.values[0] == pytest.approx((2 * 100 + 160) / 3)
    assert sizes.std == pytest.approx(3.0 / np.sqrt(1 / 2 + 1 / 4))


def test_counts_add_up_to_one_size_in_every_column():
    rng = np.random.default_rng(0)
    tables = [EXACT + rng.normal(0, 9, EXACT.shape), EXACT[:, :2] + rng.normal(0, 9, (3, 2))]
    sizes = sizes_of(tables, 9.0)
    bins = [binned("a", Number(0, 1), 0, gaps=False, slices=4)]
    bins.append(binned("b", Category("u", "v"), 0, gaps=False, slices=4))
    for one, table in zip(bins, tables, strict=True):
        column = explained(one, table, 9.0, sizes)
        np.testing.assert_allclose(column.counts.sum(axis=1), sizes.values)
        np.testing.assert_allclose(column.shares.sum(axis=1), 1)
        assert (column.shares >= 0).all()


def test_the_stated_deviations_are_those_of_many_runs():
    """3,000 runs of known noise, large clusters: stated and seen agree within 6 %."""
    rng = np.random.default_rng(1)
    exact = 100 * EXACT + 4000
    other = exact.sum(axis=1, keepdims=True) * np.array([[0.7, 0.3]])
    seen, seen_sizes, stated = [], [], None
    for _ in range(3000):
        tables = [t + rng.laplace(0, 50, t.shape) for t in (exact, other)]
        sizes = sizes_of(tables, 50 * np.sqrt(2))
        shares = shares_of(tables[0], 50 * np.sqrt(2), sizes)
        seen.append(shares.values)
        seen_sizes.append(sizes.values)
        stated = shares.std, sizes.std
    np.testing.assert_allclose(np.std(seen, axis=0), stated[0], rtol=0.06)
    np.testing.assert_allclose(np.std(seen_sizes, axis=0), stated[1], rtol=0.06)


def test_where_noise_dominates_a_cluster_is_like_the_whole():
    rng = np.random.default_rng(2)
    whole = np.array([0.1, 0.2, 0.3, 0.4])
    exact = np.array([[20_000.0], [20_000], [60]]) * whole
    apart = []
    for _ in range(200):
        noisy = exact + rng.laplace(0, 30, exact.shape)
        sizes = Sizes(exact.sum(axis=1), 60.0)
        shares = shares_of(noisy, 30 * np.sqrt(2), sizes)
        apart.append(0.5 * np.abs(shares.values[2] - whole).sum())
    assert np.median(apart) < 0.1
    assert np.mean(apart) < 0.25


def test_a_cluster_that_differs_is_not_drawn_to_the_whole():
    exact = np.array([[1000.0, 0, 0, 0], [0, 0, 0, 9000]])
    shares = shares_of(exact + 5.0, 20.0, Sizes(np.array([1020.0, 9020]), 20.0))
    assert shares.values[0, 0] > 0.98


@pytest.mark.parametrize("counts", [-50 * np.ones((2, 4)), np.zeros((2, 4)), EXACT[:2] * -1])
def test_sizes_below_zero_still_give_distributions(counts):
    sizes = sizes_of([counts], 30.0)
    shares = shares_of(counts, 30.0, sizes)
    assert (shares.values >= 0).all()
    np.testing.assert_allclose(shares.values.sum(axis=1), 1)
    assert np.isfinite(shares.std).all()
    column = explained(binned("a", Number(0, 1), 0, gaps=False, slices=4), counts, 30.0, sizes)
    assert (column.counts >= 0).all()
    assert np.isfinite(column.median_std).all()


def test_shares_are_of_rows_with_a_value_and_missing_ones_are_told_apart():
    one = binned("a", Category("u", "v"), 0, gaps=True, slices=4)
    counts = np.array([[300.0, 100, 600], [500, 500, 0], [0, 0, 800]])
    column = explained(one, counts, 0.0, sizes_of([counts], 0.0))
    np.testing.assert_allclose(column.shares, [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(column.missing, [0.6, 0, 1])
    np.testing.assert_allclose(column.rest_missing, [800 / 1800, 1400 / 1800, 600 / 2000])
    assert column.median is None
    assert column.median_std is None


def test_medians_and_their_deviations():
    one = binned("a", Number(0, 40), 0, gaps=False, slices=4)
    counts = np.array([[250.0, 500, 250, 0], [0, 0, 500, 500]])
    exact = explained(one, counts, 0.0, sizes_of([counts], 0.0))
    np.testing.assert_allclose(exact.median, [15, 30])
    np.testing.assert_allclose(exact.rest_median, [30, 15])
    np.testing.assert_allclose(exact.median_std, [10 / 8, 10 / 8])
    noisy = explained(one, counts, 100.0, sizes_of([counts], 100.0))
    assert (noisy.median_std > 1.5 * exact.median_std).all()
    assert (noisy.median_low < noisy.median).all()
    assert (noisy.median < noisy.median_high).all()


def test_a_cluster_alone_is_compared_with_itself():
    one = binned("a", Number(0, 40), 0, gaps=False, slices=4)
    column = explained(one, EXACT[:1], 5.0, sizes_of([EXACT[:1]], 5.0))
    assert column.score[0] == 0

"""Distances over the cells that a row has."""

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from sfumato._base.distances import squared_distances, unmasked

POINTS = np.array([[0.0, 1.0, 5.0], [2.0, -3.0, 0.5]])


def test_distances_are_over_the_columns_that_a_row_has():
    rows = np.array([[1.0, np.nan, 2.0], [np.inf, 4.0, -np.inf], [np.nan] * 3, [3.0, 2.0, 1.0]])
    expected = [
        [
            sum((x - c) ** 2 for x, c in zip(row, point, strict=True) if np.isfinite(x))
            for point in POINTS
        ]
        for row in rows
    ]
    np.testing.assert_allclose(squared_distances(rows, POINTS), expected, rtol=1e-12)
    assert squared_distances(rows * [[1e8]], rows[3:] * 1e8).min() == 0


def test_without_gaps_they_are_scikit_learns_to_the_last_bit():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    expected = euclidean_distances(rows, POINTS, squared=True)
    np.testing.assert_array_equal(squared_distances(rows, POINTS), expected)


def test_masked_cells_are_missing():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(unmasked(masked), [[1, np.nan], [3, 4]])
    rows = [[1, 2]]
    assert unmasked(rows) is rows

"""Means and steps of mixed rows."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._accounting.budget import Caps
from sfumato._core.curator import Answer
from sfumato.methods import Task
from sfumato.methods._auto import mixed as steps
from sfumato.methods._auto.budget import RowCount
from sfumato.methods._auto.refine import Clusters
from tests.laws.mixed_rows import levels_of, mixed, open_mixed
from tests.no_noise import NoNoise

F = Fraction
WIDTHS = (4, 9)
ROWS = mixed(900, 2, WIDTHS)
TASK = Task(3, 15, F(1), F(1, 10**6), levels=levels_of(2, WIDTHS))


def share_of(curator, kind):
    caps = {"pure": {"pure": F(5)}, "gdp": {"gaussian": (F(5), F(1, 100))}}[kind]
    return curator.reserve("test", Caps(**caps)).rest(kind)


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("numbers", [2, 0])
def test_without_noise_the_mean_is_the_mean(kind, numbers):
    rows = ROWS[:, 2 - numbers :]
    task = Task(3, rows.shape[1], F(1), F(0), levels=levels_of(numbers, WIDTHS))
    curator = open_mixed(rows, noise=NoNoise())
    counted = RowCount(900.0, 0.0)
    found, n, _ = steps.mean(curator, share_of(curator, kind), counted, task)
    np.testing.assert_allclose(found, rows.mean(axis=0), atol=200)
    assert n == counted


@pytest.mark.parametrize("kind", ["pure", "gdp"])
def test_without_noise_a_step_goes_to_the_means(kind):
    curator = open_mixed(ROWS, noise=NoNoise())
    start = Clusters(ROWS[:3] * 0.5, np.ones(3), np.full(3, 90_000.0))
    own = np.square(ROWS[:, None] - np.rint(start.centers)).sum(axis=2).argmin(axis=1)
    moved = steps.refine_counts(curator, start, share_of(curator, kind), TASK, RowCount(900.0, 0.0))
    np.testing.assert_allclose(moved.sizes, np.bincount(own, minlength=3), atol=1e-6)
    means = np.array([ROWS[own == j].mean(axis=0) for j in range(3)])
    # Stated deviations are those of the noise that was left out: what is near them is shrunk.
    np.testing.assert_allclose(moved.centers, means, atol=1500)


def test_a_category_that_many_rows_lack_is_told_from_noise():
    rows = RowCount(1000.0, 0.0)
    counts = [
        Answer(np.array([[300.0, 300.0], [200.0, 190.0]]), 5.0),
        Answer(np.array([[50.0, 150.0, 100.0]] * 2), 5.0),
    ]
    np.testing.assert_allclose(steps._present(counts, rows), [1, 0.6])
    sizes = steps._sizes(counts, steps._present(counts, rows))
    assert sizes.values[0] == pytest.approx((600 / 2 + 500 * 0.36 / 3) / (1 / 2 + 0.36 / 3))
    assert sizes.noise_std == pytest.approx(5 / np.sqrt(1 / 2 + 0.36 / 3))
    shares = steps._shrunk(counts, np.array([500.0, 500.0]), np.array([1, 0.6]), np.zeros((2, 5)))
    assert shares[0, 2:] == pytest.approx([1 / 6, 1 / 2, 1 / 3], rel=0.01)


def test_shares_below_their_noise_stay_where_they_were():
    counts = [Answer(np.array([[260.0, 240.0]]), 1e4)]
    before = np.array([[0.9, 0.1]])
    found = steps._shrunk(counts, np.array([500.0]), np.ones(1), before)
    np.testing.assert_array_equal(found, before)

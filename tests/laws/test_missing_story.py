"""Missing cells make no cluster and pull no centre: the story of age and income."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.curator import Curator
from sfumato._core.testing import ReplayedNoise
from sfumato.methods import METHODS, Task
from tests.no_noise import NoNoise

BOUNDS = ([0, 0], [100, 100_000])
WIDTHS = np.array([100, 100_000])
TRUE = np.array([[25, 20_000], [30, 75_000], [60, 30_000], [65, 85_000]])
# A missing income would be put here.
MIDDLE = 50_000


def people(n=8000):
    """Four clusters of age and income, and which incomes are missing: 15 % of them."""
    rng = np.random.default_rng(0)
    rows = TRUE[rng.integers(4, size=n)] + rng.normal(0, [2.5, 4000], (n, 2))
    return rows, rng.random(n) < 0.15


ROWS, MISSING = people()
GAPS = np.where(np.column_stack([np.zeros(len(ROWS), bool), MISSING]), np.nan, ROWS)


def centers_of(rows, method, noise, k=4, **settings):
    curator = Curator(rows, bounds=BOUNDS, epsilon=1.0, noise=noise, **settings)
    task, chosen = Task(k, 2, Fraction(1), Fraction(0)), METHODS[method]()
    account = curator.reserve("story", chosen.caps(task))
    found = chosen(curator, task, account=account, rng=np.random.default_rng(1))
    points = curator.box.from_lattice(found.points)
    return points[points[:, 0].argsort()], found.sizes


@pytest.mark.parametrize("method", ["auto", "dplloyd", "eugkm", "balcan"])
def test_centres_are_those_of_the_complete_rows(method):
    found, sizes = centers_of(GAPS, method, NoNoise())
    expected, _ = centers_of(ROWS, method, NoNoise())
    np.testing.assert_allclose(found / WIDTHS, expected / WIDTHS, atol=0.004)
    np.testing.assert_allclose(found / WIDTHS, TRUE / WIDTHS, atol=0.006)
    # Of rows with a gap, grids count none, and steps all.
    least = len(ROWS) if method in ("auto", "dplloyd") else len(ROWS) - MISSING.sum()
    assert least <= sizes.sum() <= len(ROWS)


@pytest.mark.parametrize("key", range(5))
@pytest.mark.parametrize("method", ["auto", "dplloyd"])
def test_with_noise_they_are_as_near_as_those_of_the_complete_rows(method, key):
    found, expected = (centers_of(X, method, ReplayedNoise(key))[0] for X in (GAPS, ROWS))
    np.testing.assert_allclose(found / WIDTHS, TRUE / WIDTHS, atol=0.03)
    np.testing.assert_allclose(found / WIDTHS, expected / WIDTHS, atol=0.03)


@pytest.mark.parametrize("noise", [NoNoise, lambda: ReplayedNoise(3)], ids=["exact", "noisy"])
@pytest.mark.parametrize("method", ["auto", "dplloyd"])
def test_no_centre_is_where_missing_cells_would_be(method, noise):
    found, _ = centers_of(GAPS, method, noise(), k=5)
    assert np.abs(found[:, 1] - MIDDLE).min() > 15_000
    # Put at the centre of the column they are a cluster of their own, which one centre finds.
    ghost, _ = centers_of(GAPS, method, noise(), k=5, nan="center")
    assert np.abs(ghost[:, 1] - MIDDLE).min() < 1500


@pytest.mark.parametrize("method", ["auto", "dplloyd"])
def test_more_than_half_of_a_column_may_be_missing(method):
    rng = np.random.default_rng(5)
    rows = ROWS.copy()
    rows[rng.random(len(rows)) < 0.6, 1] = np.nan
    found, _ = centers_of(rows, method, NoNoise())
    # Steps begin at a distance and go 0.4 of the way each; trees begin where the clusters are.
    np.testing.assert_allclose(found / WIDTHS, TRUE / WIDTHS, atol=0.05)


def test_blocks_of_rows_are_not_pulled_either():
    found, _ = centers_of(GAPS, "gkm", NoNoise())
    expected, _ = centers_of(ROWS, "gkm", NoNoise())
    np.testing.assert_allclose(found / WIDTHS, expected / WIDTHS, atol=0.02)

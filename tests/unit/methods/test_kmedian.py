"""The method of k-median: steps of the median are clipped steps with a small radius."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Curator
from sfumato._accounting.budget import Caps
from sfumato._core.queries.breakdown import Levels
from sfumato._core.queries.counts import Nearest
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH, Box
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells
from sfumato.methods import Auto, Task
from sfumato.methods._auto.refine import MEANS, MEDIANS, Clusters, Counted, centers_of, refine
from sfumato.methods._base import nearest_to
from sfumato.methods._kmedian import KMedian
from tests.no_noise import NoNoise

RNG = np.random.default_rng(0)


def curator_of(rows):
    curator = Curator(rows, bounds=(-1, 1), epsilon=100, noise=NoNoise())
    return curator, curator.reserve("test", Caps(pure=Fraction(10))).rest("pure")


def test_clipped_differences_are_unit_vectors_times_the_radius():
    rows, radius = RNG.uniform(-1, 1, (500, 2)), 300
    curator, share = curator_of(rows)
    cells = nearest_to(np.array([[3000.0, -2000.0]]))
    sums = curator.sums(cells, share=share, radius=radius, joint=True).sums.values[0]
    arms = rows * REACH - cells.centers
    units = arms / np.maximum(np.sqrt((arms**2).sum(axis=1, keepdims=True)), radius)
    # Each of the rows is rounded by less than a step.
    np.testing.assert_allclose(sums, radius * units.sum(axis=0), atol=2 * len(rows))


def test_a_step_divides_by_the_pull_of_the_rows():
    rows = RNG.normal(0.2, 0.1, (4000, 2))
    curator, share = curator_of(rows)
    start, radius, rate = np.array([[0.15, 0.22]]) * REACH, 1000.0, 3.0
    found = Clusters(start, np.ones(1), np.array([radius]), np.array([rate]))
    moved = refine(curator, found, share)
    arms = rows * REACH - np.rint(start)
    clipped = arms * np.minimum(1, radius / np.sqrt((arms**2).sum(axis=1, keepdims=True)))
    shift = rate * clipped.mean(axis=0)
    np.testing.assert_allclose(moved.centers[0], np.rint(start)[0] + shift, atol=12)
    np.testing.assert_array_equal(moved.rates, found.rates)


def counted_of(weights):
    side = int(np.sqrt(len(weights)))
    box = Box((-1.0, -1.0), (1.0, 1.0), "ignore")
    return Counted(Synopsis(box, GridCells((side, side)), weights, 1.0), weights)


def test_rates_are_rows_over_their_pull():
    weights = np.random.default_rng(3).exponential(size=400) ** 3
    found = centers_of(counted_of(weights), 3, 0.15, np.random.default_rng(0), MEDIANS)
    middles = counted_of(weights).synopsis.layout[:]
    gaps = np.square(middles[:, None] - found.centers / REACH).sum(axis=2)
    own, reach = gaps.argmin(axis=1), np.sqrt(gaps.min(axis=1) + 2 * 0.05**2 / 3)
    for j in range(3):
        mine = own == j
        pull = weights[mine] @ np.minimum(1, found.radii[j] / REACH / reach[mine])
        assert found.rates[j] == pytest.approx(weights[mine].sum() / pull)
        assert found.rates[j] > 1


def test_means_have_no_rates():
    found = centers_of(counted_of(RNG.exponential(size=400)), 3, 0.9, RNG, MEANS)
    assert found.rates == 1


def test_centres_in_any_order_of_memory_are_the_same_cells():
    rows = RNG.uniform(-1, 1, (1000, 4))
    points = RNG.integers(-REACH, REACH, (5, 4))
    cells = Nearest(np.asfortranarray(points))
    assert cells.centers.flags.c_contiguous
    assert cells == Nearest(points)
    curator, share = curator_of(rows)
    first, second = share.evenly(2)
    plain = curator.sums(Nearest(points), share=first, radius=99, joint=True)
    again = curator.sums(cells, share=second, radius=99, joint=True)
    np.testing.assert_array_equal(plain.sums.values, again.sums.values)


def found_by(rows, k, levels=(), epsilon=Fraction(1)):
    curator = Curator(rows, bounds=(-1, 1), epsilon=100, noise=NoNoise())
    task = Task(k, rows.shape[1], epsilon, Fraction(0), levels=levels)
    account = curator.reserve("test", KMedian().caps(task))
    return KMedian()(curator, task, account=account, rng=np.random.default_rng(0))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_without_noise_centres_are_medians_though_rows_lie_in_a_corner(d):
    rng = np.random.default_rng(d)
    rows = np.array([-0.5, 0.3])[rng.integers(2, size=20_000)][:, None] + rng.normal(
        0, 0.05, (20_000, d)
    )
    rows[:1500] = rng.uniform(0.9, 1, (1500, d))
    centers = found_by(rows, 2).points / REACH
    np.testing.assert_allclose(np.sort(centers[:, 0]), [-0.5, 0.3], atol=0.02)


def test_levels_of_medians_are_not_counted():
    """Shares of levels are means: a step of the median sums all coordinates."""
    levels = (Levels(1, 10, REACH // 2), Levels(11, 10, REACH // 2))
    rng = np.random.default_rng(1)
    rows = np.full((6000, 21), -0.5)
    rows[:, 0] = rng.normal(0, 0.1, 6000)
    for one in levels:
        rows[np.arange(6000), one.start + rng.integers(one.width, size=6000)] = 0.5
    task = Task(2, 21, Fraction(1), Fraction(0), levels=levels)
    curator = Curator(rows, bounds=(-1, 1), epsilon=2, noise=ReplayedNoise(1))
    for method, counted in ((Auto(), True), (KMedian(), False)):
        account = curator.reserve("test", method.caps(task))
        found = method(curator, task, account=account, rng=np.random.default_rng(0))
        assert ("by counts of levels" in " ".join(found.notes)) == counted

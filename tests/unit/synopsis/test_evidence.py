"""Valleys between centres: densities by hand, one clump and two, chances against exact ones."""

import math

import numpy as np
import pytest

from sfumato._synopsis.cells import GridCells, LooseCells
from sfumato._synopsis.evidence import _shares, _tail, evidence_of, neighbours

GRID = GridCells((24, 24))


def counts(points, rng, noise):
    """Counts of points (n, 2) in the grid, with Laplace noise of this deviation."""
    exact, _, _ = np.histogram2d(*points.T, 24, [(-1, 1), (-1, 1)])
    return exact.ravel() + rng.laplace(0, noise / math.sqrt(2), 24 * 24)


def evidence(points, centers, noise=3.0, seed=0):
    rng = np.random.default_rng(seed)
    weights = counts(points, rng, noise)
    return evidence_of(GRID, weights, noise, np.array(centers), np.random.default_rng(1))


TWO = [[-0.5, 0.0], [0.5, 0.0]]


@pytest.mark.parametrize("seed", range(5))
def test_two_clumps_are_two_clusters(seed):
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.normal(m, 0.1, (2000, 2)) for m in TWO])
    assert (evidence(points, TWO, seed=seed) > 0.99).all()


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_one_clump_are_none(seed):
    rng = np.random.default_rng(seed)
    one = rng.normal(0, 0.25, (4000, 2))
    assert (evidence(one, [[-0.2, 0.0], [0.2, 0.0]], seed=seed) < 0.95).all()
    assert (evidence(rng.uniform(-1, 1, (4000, 2)), TWO, seed=seed) < 0.95).all()
    three = [[-0.2, -0.1], [0.2, -0.1], [0.0, 0.25]]
    assert (evidence(one, three, seed=seed) < 0.95).all()


def test_a_centre_where_nothing_is_says_nothing_against_a_clump():
    rng = np.random.default_rng(3)
    points = np.vstack([rng.normal(m, 0.1, (2000, 2)) for m in TWO])
    found = evidence(points, [*TWO, [0.0, 0.9]])
    assert (found[:2] > 0.99).all()
    assert found[2] < 0.95


def test_centres_at_one_place_are_no_two_clusters():
    points = np.random.default_rng(4).normal(0, 0.1, (2000, 2))
    assert evidence(points, [[0.0, 0.0], [0.0, 0.0]]).tolist() == [0.0, 0.0]


def test_one_centre_is_real_if_there_are_rows():
    rng = np.random.default_rng(5)
    assert evidence(rng.uniform(-1, 1, (4000, 2)), [[0.0, 0.0]])[0] > 0.99
    assert evidence(np.empty((0, 2)), [[0.0, 0.0]], seed=1)[0] < 0.95


def test_neighbours_have_no_third_between_them():
    line = np.array([[0.0, 0.0], [1.0, 0.2], [2.0, 0.0], [1.0, 3.0]])
    assert neighbours(line) == [(0, 1), (1, 2), (1, 3)]


def test_densities_are_weights_over_volumes_in_grids_and_loose_cells():
    weights = np.random.default_rng(6).uniform(0, 9, 576)
    loose = LooseCells(GRID[:], GRID.widths)
    place = np.tile([[1 / 24, 1 / 24]], (9, 1))
    for cells in (GRID, loose):
        # The cube is as wide as a cell and has its middle: it is that cell.
        found = _shares(cells, place, 1 / 24)
        density = (found.table @ weights[found.cells])[0]
        assert density == pytest.approx(weights[12 * 24 + 12] / (1 / 12) ** 2)


def test_the_tail_is_no_lighter_than_that_of_the_noise():
    for z in (1.0, 3.0, 6.0, 10.0):
        exact = math.exp(-math.sqrt(2) * z) / 2
        assert exact <= _tail(z, np.ones(1), 0.0) <= 4 * exact
        many = _tail(z, np.full(400, 0.05), 0.0)
        gauss = math.erfc(z / math.sqrt(2)) / 2
        assert 0.98 * gauss <= many
        assert many < (8 if z < 7 else 1e6) * gauss
    assert _tail(-1.0, np.ones(3), 1.0) == 1.0
    assert _tail(1.0, np.zeros(3), 0.0) == 0.0

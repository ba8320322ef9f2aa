"""Error bars of means of cells, against their definition."""

import numpy as np
import pytest

from sfumato._lattice.box import REACH, Box
from sfumato._synopsis import Synopsis
from sfumato._synopsis.cells import GridCells
from sfumato._synopsis.spread import synopsis_errors

BOX = Box((-1.0, -1.0), (1.0, 1.0))


def test_cells_belong_to_the_nearest_centre_and_carry_their_noise():
    rng = np.random.default_rng(0)
    cells, weights = GridCells((6, 6)), rng.uniform(50, 100, 36)
    centers = np.array([[-0.5, 0.1], [0.6, 0.0]])
    bars = synopsis_errors(Synopsis(BOX, cells, weights, 3.0), centers * REACH)
    own = np.square(cells[:][:, None] - centers).sum(axis=2).argmin(axis=1)
    for j in range(2):
        middles, held = cells[:][own == j], weights[own == j]
        mean = np.average(middles, axis=0, weights=held)
        spread = 3.0 * np.sqrt(np.square(middles - mean).sum(axis=0)) / held.sum()
        assert bars.centers.values[j] / REACH == pytest.approx(mean)
        assert bars.centers.stds[j] / REACH == pytest.approx(spread)
        assert bars.sizes.values[j] == pytest.approx(held.sum())
        assert bars.sizes.stds[j] == pytest.approx(3.0 * len(held) ** 0.5)


def test_cells_within_their_noise_say_nothing_about_a_centre():
    weights = np.ones(36)
    centers = np.array([[-0.5, 0.1], [0.6, 0.0]]) * REACH
    bars = synopsis_errors(Synopsis(BOX, GridCells((6, 6)), weights, 3.0), centers)
    assert np.array_equal(bars.centers.values, centers)
    assert (bars.centers.stds == 2 * REACH).all()

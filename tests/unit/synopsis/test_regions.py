"""Connected dense cells of a grid."""

import numpy as np
import pytest

from sfumato._synopsis.regions import dense_regions

QUIET = 1e-6


def rings(size=60, rows=20.0):
    """A ring around a disc, both of the same density."""
    x, y = np.meshgrid(*[np.linspace(-1, 1, size)] * 2, indexing="ij")
    radius = np.hypot(x, y)
    return rows * ((radius < 0.25) | (np.abs(radius - 0.7) < 0.12)), radius


def test_regions_of_any_shape_are_numbered_by_falling_weight():
    grid, radius = rings()
    labels = dense_regions(grid, QUIET, 0.0)
    assert labels[0, 0] == -1
    assert set(labels[np.abs(radius - 0.7) < 0.1]) == {0}, "the ring is heavier"
    assert set(labels[radius < 0.2]) == {1}


def test_what_touches_by_a_corner_is_one_region():
    grid = np.zeros((12, 12))
    grid[2:6, 2:6] = grid[6:10, 6:10] = 500.0
    assert dense_regions(grid, QUIET, 0.0).max() == 0


@pytest.mark.parametrize(("gap", "regions"), [(10, 2), (7, 1)])
def test_two_peaks_are_apart_where_the_density_falls_to_half(gap, regions):
    x = np.arange(40)
    peaks = np.exp(-(((x - 10) / 4.0) ** 2)) + np.exp(-(((x - 10 - gap) / 4.0) ** 2))
    grid = 1000 * np.outer(peaks, np.exp(-(((x - 20) / 4.0) ** 2)))
    assert dense_regions(grid, 1.0, 0.0).max() == regions - 1


@pytest.mark.parametrize("seed", range(3))
def test_noise_does_not_cut_a_ring(seed):
    rng = np.random.default_rng(seed)
    _, radius = rings(70)
    grid = rng.poisson(8 * np.exp(-(((radius - 0.7) / 0.04) ** 2))) + rng.laplace(0, 1, (70, 70))
    assert dense_regions(grid, np.sqrt(2), 0.0).max() == 0


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_region(seed):
    rng = np.random.default_rng(seed)
    noise = rng.laplace(0, 1, (50, 50))
    assert dense_regions(noise, np.sqrt(2), 0.0).max() == -1
    even = 10 + rng.laplace(0, 1, (50, 50)) + rng.normal(0, np.sqrt(10), (50, 50))
    assert dense_regions(even, np.sqrt(2), 0.0).max() == -1


def test_regions_that_weigh_less_than_asked_for_are_left_out():
    grid, radius = rings()
    disc = grid[radius < 0.3].sum()
    assert dense_regions(grid, QUIET, disc * 1.1).max() == 0
    assert dense_regions(grid, QUIET, disc * 0.9).max() == 1
    assert dense_regions(grid, QUIET, grid.sum()).max() == -1


@pytest.mark.parametrize("shape", [(64,), (9, 9), (8, 8, 8), (4, 4, 4, 4), (2,) * 9])
def test_grids_of_any_number_of_axes(shape):
    grid = np.zeros(shape)
    grid[(0,) * len(shape)] = 900.0
    labels = dense_regions(grid, 1.0, 0.0)
    assert labels.shape == shape
    assert labels[(0,) * len(shape)] == 0


def test_a_region_grows_over_cells_above_the_background_alone():
    grid = np.full((31, 31), 5.0)
    grid[10:20, 10:20] = 400.0
    grid[20, 10:20] = 40.0
    labels = dense_regions(grid, 0.5, 0.0)
    assert (labels[20, 11:19] == 0).all()
    assert (labels[25:] == -1).all()

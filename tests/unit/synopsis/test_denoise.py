"""Noisy counts of cells made counts of at least 0."""

import numpy as np
import pytest
from scipy.ndimage import maximum_filter

from sfumato._synopsis import denoise
from sfumato._synopsis.denoise import denoise_grid, denoise_leaves


def clump(per_axis, n_features=2, weight=3000.0, width=0.12):
    axis = (2 * np.arange(per_axis) + 1) / per_axis - 1
    places = np.stack(np.meshgrid(*[axis] * n_features, indexing="ij"), axis=-1)
    shape = np.exp(-np.square(places - 0.3).sum(axis=-1) / (2 * width**2))
    return np.rint(weight * shape / shape.sum()).ravel()


@pytest.mark.parametrize(("per_axis", "n_features"), [(200, 1), (24, 2), (12, 3)])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_empty_cells_become_empty_and_the_weight_is_kept(per_axis, n_features, scale):
    rng = np.random.default_rng(0)
    truth = clump(per_axis, n_features)
    noisy = truth + rng.laplace(0, scale, len(truth))
    found = denoise_grid(noisy, per_axis, n_features, scale)
    assert found.min() >= 0
    assert np.count_nonzero(found[truth == 0]) <= 0.05 * len(truth)
    assert found.sum() == pytest.approx(truth.sum(), rel=0.1)
    assert np.mean((found - truth) ** 2) < 0.5 * np.mean((noisy - truth) ** 2)


def test_a_clump_is_kept_where_an_isolated_maximum_is_not():
    rng = np.random.default_rng(1)
    noisy = rng.laplace(0, 1, (30, 30)).clip(-3, 3)
    noisy[4:9, 4:9] = 7
    noisy[20, 20] = 7
    found = denoise_grid(noisy.ravel(), 30, 2, 1.0).reshape(30, 30)
    assert (found[5:8, 5:8] > 5).all()
    assert found[20, 20] < 2


def test_hardly_any_weight_is_found_far_from_all_rows():
    """A little of it far away draws a centre there, and two clusters share another."""
    far, kept = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = np.zeros((21, 21))
        for x, y in rng.integers(2, 12, (12, 2)):
            truth[x - 1 : x + 2, y - 1 : y + 2] += rng.multinomial(150, [1 / 9] * 9).reshape(3, 3)
        noisy = truth + rng.laplace(0, 1.8, truth.shape)
        found = denoise_grid(noisy.ravel(), 21, 2, 1.8).reshape(truth.shape)
        far.append(found[maximum_filter(truth, 7) == 0].sum())
        kept.append(found.sum() / truth.sum())
    assert np.count_nonzero(far) <= 6
    assert min(kept) > 0.95


def test_thin_weight_is_found_in_boxes():
    rng = np.random.default_rng(2)
    truth = np.zeros((40, 40))
    truth[:20] = 0.8
    noisy = rng.poisson(truth) + rng.laplace(0, 1, truth.shape)
    found = denoise_grid(noisy.ravel(), 40, 2, 1.0).reshape(truth.shape)
    assert found[:18].sum() == pytest.approx(truth[:18].sum(), rel=0.35)
    assert found[24:].sum() < 0.15 * found[:18].sum()


@pytest.mark.parametrize("per_axis", [1, 2, 3, 7, 8])
def test_small_grids(per_axis):
    rng = np.random.default_rng(3)
    weights = rng.laplace(20, 1, per_axis**2)
    found = denoise_grid(weights, per_axis, 2, 1.0)
    np.testing.assert_allclose(found, weights, atol=3)
    assert not denoise_grid(np.zeros(per_axis**2), per_axis, 2, 1.0).any()


def test_leaves_are_told_apart_by_their_volume():
    rng = np.random.default_rng(4)
    volumes = np.repeat([1.0, 2.0**-8], [300, 100])
    truth = np.repeat([0.0, 15.0], [300, 100])
    noisy = truth + rng.laplace(0, 3, 400)
    found, together = (denoise_leaves(noisy, v, 3.0) for v in (volumes, np.ones(400)))
    assert found[:300].max() < 3
    assert np.count_nonzero(found[300:]) >= 95
    assert found.sum() == pytest.approx(1500, rel=0.1)
    assert np.abs(found - truth).sum() < np.abs(together - truth).sum()


def test_rare_kinds_join_their_neighbours():
    kinds = np.repeat([0, 3, 4, 7, 9], [100, 10, 35, 50, 20])
    groups = [kinds[group].tolist() for group in denoise._groups(kinds)]
    assert [sorted(set(group)) for group in groups] == [[0], [3, 4], [7, 9]]
    assert sum(map(len, groups)) == len(kinds)


@pytest.mark.parametrize("n", [1, 39, 40, 41, 90])
def test_every_cell_is_in_one_group(n):
    kinds = np.arange(n) % 7
    together = np.concatenate(denoise._groups(kinds))
    np.testing.assert_array_equal(np.sort(together), np.arange(n))
    assert all(len(group) >= min(n, 40) for group in denoise._groups(kinds))

"""k-means on cells with signed weights, its coarser and finer masses, and its starts."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from sfumato._lattice.box import REACH
from sfumato._synopsis import cells as cells_module
from sfumato._synopsis.cells import (
    GridCells,
    LooseCells,
    WeightedCells,
    coarser,
    cut,
    finer,
    whole,
)
from sfumato._synopsis.signed_kmeans import (
    SignedKMeans,
    best_swaps,
    signed_lloyd,
    sphere_packings,
    totals,
)

RNG = np.random.default_rng(0)


def loose(points):
    points = np.asarray(points, dtype=float)
    return LooseCells(points, np.full((1, points.shape[1]), 0.1))


def mass_of(points, weights, noise_std=0.0):
    return whole(loose(points), np.asarray(weights, dtype=float), noise_std)


def blobs(grid, centers, weight=1000.0, width=0.1):
    """Weights of Gaussian clumps on the cells of a grid."""
    gaps = ((grid[:][:, None] - np.asarray(centers)[None]) ** 2).sum(axis=2)
    shape = np.exp(-gaps / (2 * width**2))
    return (weight * shape / shape.sum(axis=0)).sum(axis=1)


def cost_of(points, weights, centers):
    return weights @ ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1)


def matched(found, expected, atol):
    gaps = np.sqrt(((found[:, None] - np.asarray(expected)[None]) ** 2).sum(axis=2))
    return gaps.min(axis=0).max() <= atol and gaps.min(axis=1).max() <= atol


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_with_positive_weights_it_is_lloyd():
    points, weights = RNG.uniform(-1, 1, (300, 3)), RNG.uniform(0.5, 2, 300)
    starts = RNG.uniform(-1, 1, (5, 4, 3))
    ends, costs = signed_lloyd(mass_of(points, weights), starts, steps=200)
    for start, end, cost in zip(starts, ends, costs, strict=True):
        twin = KMeans(4, init=start, n_init=1, max_iter=200, tol=0, algorithm="lloyd")
        twin.fit(points, sample_weight=weights)
        np.testing.assert_allclose(end, twin.cluster_centers_, atol=1e-3)
        assert cost == pytest.approx(cost_of(points, weights, end))
        assert cost == pytest.approx(twin.inertia_, rel=1e-4)


def test_negative_weights_cancel_positive_ones():
    points, weights = RNG.uniform(-1, 1, (50, 2)), RNG.uniform(1, 2, 50)
    noisy = np.vstack([points, points[:20], points[:20]])
    signed = np.concatenate([weights, np.full(20, 7.0), np.full(20, -7.0)])
    start = RNG.uniform(-1, 1, (1, 3, 2))
    plain, cost = signed_lloyd(mass_of(points, weights), start)
    same, other = signed_lloyd(mass_of(noisy, signed), start)
    np.testing.assert_allclose(plain, same, atol=1e-12)
    assert cost == pytest.approx(other)


def test_a_centre_is_the_signed_mean_of_its_cells():
    mass = mass_of([[0.1, 0.0], [0.3, 0.2], [0.5, 0.1]], [4.0, 8.0, -2.0])
    expected = (4 * 0.1 + 8 * 0.3 - 2 * 0.5) / 10, (8 * 0.2 - 2 * 0.1) / 10
    ends, _ = signed_lloyd(mass, np.zeros((1, 1, 2)))
    np.testing.assert_allclose(ends[0, 0], expected)


def test_a_cluster_without_clear_weight_keeps_its_centre():
    points, start = [[-0.5], [-0.6], [0.5], [0.6]], np.array([[[-0.9], [0.9]]])
    for weights, noise, kept in (
        ([5, 5, 3, -4], 0.0, True),
        ([5, 5, 1, 1], 2.0, True),
        ([5, 5, 2, 2], 2.0, False),
        ([5, 5, 0, 0], 0.0, True),
    ):
        ends, _ = signed_lloyd(mass_of(points, weights, noise), start, steps=2)
        assert (ends[0, 1, 0] == 0.9) == kept, weights
        assert ends[0, 0, 0] == pytest.approx(-0.55)


def test_centres_stay_in_the_cube():
    mass = mass_of([[0.9, -0.9], [0.1, 0.1]], [5.0, -4.0])
    ends, _ = signed_lloyd(mass, np.full((1, 1, 2), 0.2))
    # The signed mean is (4.1, −4.9).
    assert np.abs(ends).max() <= 1


def test_the_best_step_of_a_start_is_kept():
    """Signed weights can make a step worse than the last."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mass = mass_of(rng.uniform(-1, 1, (40, 2)), rng.normal(0.3, 1, 40))
        starts = rng.uniform(-1, 1, (4, 5, 2))
        costs = [signed_lloyd(mass, starts, steps=s)[1] for s in (1, 3, 10, 50)]
        assert (np.diff(costs, axis=0) <= 1e-12).all()


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_totals_do_not_depend_on_blocks(n_features, monkeypatch):
    points, weights = RNG.uniform(-1, 1, (500, n_features)), RNG.normal(size=500)
    centers = RNG.uniform(-1, 1, (3, 4, n_features))
    mass = mass_of(points, weights)
    once = totals(mass, centers)
    monkeypatch.setattr("sfumato._synopsis.signed_kmeans.BLOCK", 100)
    np.testing.assert_allclose(totals(mass, centers), once, atol=1e-9)
    own = ((points[:, None] - centers[1][None]) ** 2).sum(axis=2).argmin(axis=1)
    for j in range(4):
        assert once[1, j, 0] == pytest.approx(weights[own == j].sum())
        assert once[1, j, 1] == (own == j).sum()
        np.testing.assert_allclose(once[1, j, 2:], weights[own == j] @ points[own == j])


@pytest.mark.parametrize(("shape", "most"), [((60, 60), 100), ((9, 9, 9), 64), ((3,) * 8, 300)])
def test_coarser_masses_lose_nothing(shape, most):
    grid = GridCells(shape)
    mass = whole(grid, RNG.normal(1, 3, len(grid)), 2.0)
    coarse = coarser(mass, most)
    assert len(coarse.weights) <= most
    assert coarse.n_cells.sum() == len(grid)
    centers = np.zeros((1, 1, len(shape)))
    np.testing.assert_allclose(totals(coarse, centers), totals(mass, centers), atol=1e-6)
    assert coarse.squares == mass.squares


def test_where_no_axis_can_be_cut_the_heaviest_cells_stay():
    grid = GridCells((2,) * 12)
    weights = RNG.permutation(len(grid)).astype(float)
    coarse = coarser(whole(grid, weights, 1.0), 100)
    assert sorted(coarse.weights) == list(range(len(grid) - 100, len(grid)))
    np.testing.assert_array_equal(coarse.points, grid[:][weights >= len(grid) - 100])


@pytest.mark.parametrize("widths", ["alike", "each"])
def test_finer_masses_cut_cells_evenly(widths):
    middles = np.array([[-0.5, 0.0], [0.5, 0.2]])
    shape = np.array([[0.2, 0.4]]) if widths == "alike" else np.array([[0.2, 0.4], [0.1, 0.1]])
    cells = LooseCells(middles, shape)
    mass = finer(cells, np.array([8.0, -4.0]), 1.0, 30)
    assert len(mass.weights) == 32
    np.testing.assert_allclose(mass.weights[:16], 0.5)
    np.testing.assert_allclose(mass.points[:16].mean(axis=0), middles[0])
    spread = mass.points[16:].max(axis=0) - mass.points[16:].min(axis=0)
    np.testing.assert_allclose(spread, shape[-1] * 0.75)
    assert mass.n_cells.sum() == pytest.approx(2)


def test_cells_stay_whole_where_pieces_would_be_far_too_many():
    cells = loose(RNG.uniform(-1, 1, (50, 10)))
    assert len(cut(cells, 60)) == 50
    assert len(cut(cells, 20)) == 50


def test_large_grids_work_out_their_cells_block_by_block(monkeypatch):
    grid = GridCells((5, 4, 3))
    kept = grid[:]
    monkeypatch.setattr(cells_module, "_KEPT", 10)
    np.testing.assert_array_equal(GridCells((5, 4, 3))[7:30], kept[7:30])
    np.testing.assert_array_equal(GridCells((5, 4, 3)).take(np.array([59, 0])).middles[0], kept[-1])
    np.testing.assert_allclose(kept[0], [-0.8, -0.75, -2 / 3])


CENTERS = [[-0.6, -0.6], [0.6, -0.5], [0.0, 0.6], [0.7, 0.7], [-0.7, 0.4]]


@pytest.mark.parametrize("per_axis", [5, 12, 25, 80, 300])
def test_finds_clear_clusters_on_coarse_and_fine_grids(per_axis):
    grid = GridCells((per_axis, per_axis))
    weights = blobs(grid, CENTERS) + RNG.normal(0, 1 if per_axis < 50 else 0.05, len(grid))
    found = SignedKMeans(grid, weights, 1.0).solve(5, n_starts=30, rng=np.random.default_rng(1))
    assert matched(found.centers, CENTERS, 0.25 if per_axis == 5 else 0.06)
    assert found.sizes.sum() == pytest.approx(weights.sum())
    if per_axis >= 25:
        assert found.cost == pytest.approx(cost_of(grid[:], weights, found.centers))


def test_swaps_lead_out_of_a_local_optimum():
    grid = GridCells((30, 30))
    mass = whole(grid, blobs(grid, CENTERS), 0.0)
    # Two centres share a clump and one sits between two others.
    stuck = np.array([[-0.65, -0.6], [-0.55, -0.6], [0.65, 0.1], [0.0, 0.6], [-0.7, 0.4]])
    ends, costs = signed_lloyd(mass, stuck[None])
    assert not matched(ends[0], CENTERS, 0.1)
    better, lower = signed_lloyd(mass, best_swaps(mass, ends[0]))
    assert matched(better[lower.argmin()], CENTERS, 0.05)
    assert lower.min() < costs[0] / 2


@pytest.mark.parametrize("weights", [np.zeros(49), -np.ones(49), np.ones(49), np.eye(7).ravel()])
@pytest.mark.parametrize("k", [1, 3, 30])
def test_weights_without_clusters_give_k_centres_all_the_same(weights, k):
    found = SignedKMeans(GridCells((7, 7)), weights, 1.0).solve(k, n_starts=5, rng=RNG)
    assert found.centers.shape == (k, 2)
    assert found.sizes.shape == (k,)
    assert np.abs(found.centers).max() <= 1
    assert np.isfinite([found.cost, *found.sizes]).all()


def test_one_cluster_is_the_mean():
    grid = GridCells((20, 20))
    weights = blobs(grid, CENTERS)
    mean = weights @ grid[:] / weights.sum()
    found = SignedKMeans(grid, weights, 0.0).solve(1, n_starts=3, rng=RNG)
    np.testing.assert_allclose(found.centers[0], mean, atol=1e-9)


def test_many_columns_and_many_cells():
    grid = GridCells((2,) * 16)
    corners = np.array([[-0.5] * 16, [0.5] * 16, [0.5] * 8 + [-0.5] * 8])
    weights = RNG.normal(0, 1, len(grid))
    for corner in corners:
        weights[np.flatnonzero((grid[:] == corner).all(axis=1))] += 5000
    found = SignedKMeans(grid, weights, 1.0).solve(3, n_starts=10, rng=np.random.default_rng(2))
    assert matched(found.centers, corners, 0.5)


@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 2), (15, 2), (10, 8), (5, 24), (100, 2)])
def test_sphere_packings_keep_their_distances(k, d):
    sets = sphere_packings(6, k, d, np.random.default_rng(0)) / REACH
    assert sets.shape == (6, k, d)
    assert len(np.unique(sets[:, 0, 0])) == 6
    for points in sets:
        gap = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
        nearest = (gap + np.eye(k) * 9e9).min()
        border = (1 - np.abs(points)).min()
        assert min(border, nearest / 2) > 0.4 * (1 if k == 1 else min(1, k ** (-1 / d) / 2))


def test_sphere_packings_are_public_randomness():
    one, same, other = (sphere_packings(3, 5, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_too_many_centres_to_pack_start_anywhere():
    sets = sphere_packings(2, 6000, 1, np.random.default_rng(0))
    assert sets.shape == (2, 6000, 1)
    assert np.abs(sets).max() <= REACH


def test_a_mass_knows_its_columns():
    assert WeightedCells(np.zeros((4, 3)), np.ones(4), 0.0).n_features == 3
    assert WeightedCells(GridCells((3, 3)), np.ones(9), 0.0).n_features == 2

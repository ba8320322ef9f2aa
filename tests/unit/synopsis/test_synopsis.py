"""Synopsis: what was released, and what can be made of it for free."""

import json

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import sfumato
from sfumato import Box, Curator, Synopsis
from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Grid
from sfumato._synopsis.cells import GridCells, LooseCells
from sfumato._synopsis.curve import agreement
from tests.no_noise import NoNoise

BOX = Box((0.0, -3.0), (1.0, 3.0))
CENTERS = np.array([[0.2, -2.0], [0.5, 2.0], [0.8, -1.0]])


def clumps(n=4000, noise_std=1.4, per_axis=20, seed=0, centers=CENTERS, box=BOX):
    """A noisy synopsis of clumps, made without a curator."""
    rng = np.random.default_rng(seed)
    wide = np.subtract(box.upper, box.lower)
    rows = centers[rng.integers(len(centers), size=n)] + rng.normal(0, 0.04, (n, 2)) * wide
    counts = np.histogram2d(*rows.T, bins=per_axis, range=np.transpose([box.lower, box.upper]))[0]
    weights = counts.ravel() + rng.laplace(0, noise_std / np.sqrt(2), per_axis**2).round()
    return Synopsis(box, GridCells((per_axis, per_axis)), weights, noise_std)


def loose():
    cells = LooseCells([[-0.5, 0.0], [0.5, 0.5], [0.5, -0.5]], [[1, 2], [1, 1], [1, 1]])
    return Synopsis(BOX, cells, [5.5, -1.25, 3.0], 0.5)


def test_cells_are_those_that_the_curator_counted():
    rows = np.array([[0.05, 2.9]] * 3 + [[0.95, -2.9]] * 2 + [[0.55, 0.1]])
    curator = Curator(rows, bounds=(BOX.lower, BOX.upper), epsilon=1.0, noise=NoNoise())
    share = curator.reserve("test", Caps(pure=curator.ledger.total[0])).rest("pure")
    answer = curator.counts(Grid(10, 2), share=share)
    synopsis = Synopsis(curator.box, GridCells((10, 10)), answer.values, answer.noise_std)
    step = np.max(curator.box.step)
    np.testing.assert_allclose(synopsis.cells, BOX.from_lattice(Grid(10, 2).centers()), atol=step)
    for row in rows:
        inside = (np.abs(synopsis.cells - row) <= synopsis.widths / 2).all(axis=1)
        assert synopsis.weights[inside] == (rows == row).all(axis=1).sum()
    np.testing.assert_allclose(synopsis.widths, [[0.1, 0.6]])
    assert len(synopsis) == 100
    assert repr(synopsis) == "Synopsis(100 cells, 2 columns, ± 1.41 rows each)"


def test_kmeans_finds_centres_in_the_users_units():
    centers, sizes, cost = clumps().kmeans(3, random_state=0)
    order = np.argsort(centers[:, 0])
    np.testing.assert_allclose(centers[order], CENTERS, atol=0.1)
    np.testing.assert_allclose(sizes, 4000 / 3, atol=120)
    assert cost > 0
    again = clumps().kmeans(3, random_state=0)
    np.testing.assert_array_equal(again.centers, centers)
    assert clumps().kmeans(1, n_starts=1).centers.shape == (1, 2)
    assert loose().kmeans(2, random_state=1).centers.shape == (2, 2)


@pytest.mark.parametrize("make", [clumps, loose])
def test_samples_come_from_cells_with_positive_weight(make):
    synopsis = make()
    rows = synopsis.sample(3000, random_state=1)
    assert rows.shape == (3000, 2)
    gaps = np.abs(rows[:, None] - synopsis.cells[None])
    inside = (gaps <= np.broadcast_to(synopsis.widths, synopsis.cells.shape) / 2 + 1e-9).all(axis=2)
    assert inside.any(axis=1).all()
    assert (synopsis.weights[inside.argmax(axis=1)] > 0).all()
    np.testing.assert_array_equal(rows, synopsis.sample(3000, random_state=1))


def test_samples_look_like_the_rows():
    rows = clumps(noise_std=0.3).sample(20_000, random_state=0)
    near = np.abs((rows[:, None] - CENTERS[None]) / [1, 6]).max(axis=2) < 0.15
    np.testing.assert_allclose(near.mean(axis=0), 1 / 3, atol=0.03)


def test_without_positive_weights_samples_are_uniform():
    synopsis = Synopsis(BOX, GridCells((4, 4)), -np.ones(16), 1.0)
    rows = synopsis.sample(4000, random_state=0)
    np.testing.assert_allclose(rows.mean(axis=0), [0.5, 0.0], atol=0.15)
    assert synopsis.sample(1).shape == (1, 2)


@pytest.mark.parametrize("by", ["elbow", "silhouette", "gap", "stability"])
def test_chooses_three_for_three_clumps(by):
    synopsis = clumps()
    assert synopsis.choose_k((2, 8), by=by, random_state=0) == 3
    curve = synopsis.k_curve((2, 8), by, random_state=0)
    assert curve.best == curve.ks[curve.scores.argmax()] == 3
    assert list(curve.ks) == list(range(2, 9))
    assert curve.scores.shape == curve.costs.shape == (7,)
    assert (np.diff(curve.costs) <= 1e-3).all()
    assert curve.criterion == by


def test_of_stable_numbers_the_largest_is_taken():
    """Two pairs of clumps far apart are as stable as the four clumps."""
    four = np.array([[0.1, -2.4], [0.3, -2.4], [0.7, 2.4], [0.9, 2.4]])
    curve = clumps(centers=four, n=6000).k_curve((1, 6), "stability", random_state=0)
    assert curve.scores[0] == 0
    assert min(curve.scores[[1, 3]]) > 0.97 > max(curve.scores[[2, 4, 5]])
    assert curve.best == 4


def test_agreement_is_the_adjusted_rand_index_of_weighted_points():
    rng = np.random.default_rng(0)
    one, other, times = rng.integers(3, size=40), rng.integers(4, size=40), rng.integers(1, 5, 40)
    other[:20] = one[:20]
    shared = agreement(one, other, times * 100.0)
    rows = [np.repeat(labels, times * 100) for labels in (one, other)]
    assert shared == pytest.approx(adjusted_rand_score(*rows), abs=1e-3)
    assert agreement(one, one, times) == pytest.approx(1)
    assert agreement(np.zeros(40, int), np.zeros(40, int), times) == 0


@pytest.mark.parametrize("k", [2, 5, 9])
def test_the_elbow_finds_what_is_there(k):
    for seed in range(2):
        rng = np.random.default_rng(100 * k + seed)
        slots = np.stack(np.meshgrid([0.15, 0.5, 0.85], [-2.1, 0, 2.1]), axis=-1).reshape(-1, 2)
        synopsis = clumps(seed=seed, centers=rng.permutation(slots)[:k], n=1500 * k)
        assert synopsis.choose_k((2, 12), random_state=seed) == k


def test_one_cluster_has_no_silhouette():
    curve = clumps().k_curve((1, 3), "silhouette", random_state=0)
    assert curve.scores[0] == 0
    assert clumps().choose_k((4, 4), random_state=0) == 4


def test_where_nothing_stands_out_the_least_k_is_taken():
    noise = np.random.default_rng(0).laplace(0, 1, 400).round()
    synopsis = Synopsis(BOX, GridCells((20, 20)), np.minimum(noise, 5), 2**0.5)
    curve = synopsis.k_curve((3, 9))
    assert curve.best == 3
    assert (curve.scores == 0).all()


def test_pictures_in_two_dimensions():
    weights = np.zeros((4, 3))
    weights[0, 2], weights[3, 0] = 7, -2
    values, extent = Synopsis(BOX, GridCells((4, 3)), weights.ravel(), 1.0).plot_data()
    assert extent == (0.0, 1.0, -3.0, 3.0)
    assert values.shape == (3, 4)
    # Low in the first column is left, high in the second is the last row: at the top.
    assert values[2, 0] == 7
    assert values[0, 3] == -2


def test_pictures_in_three_dimensions():
    box = Box((0.0,) * 3, (1.0, 2.0, 3.0))
    values, extent = Synopsis(box, GridCells((2, 3, 4)), np.arange(24), 1.0).plot_data()
    assert values.shape == (2, 3, 4)
    assert values[1, 2, 3] == 23
    assert extent == (0.0, 1.0, 0.0, 2.0, 0.0, 3.0)


def test_there_are_no_other_pictures():
    flat = Synopsis(Box((0.0,), (1.0,)), GridCells((4,)), np.ones(4), 1.0)
    for synopsis, message in ((loose(), "loose cells in 2"), (flat, "a grid in 1")):
        with pytest.raises(ValueError, match=f"{message}; plot `sample"):
            synopsis.plot_data()


@pytest.mark.parametrize("make", [clumps, loose])
def test_save_and_load(make, tmp_path):
    synopsis = make()
    synopsis.save(tmp_path / "synopsis.json")
    loaded = Synopsis.load(tmp_path / "synopsis.json")
    assert loaded.box == synopsis.box
    assert loaded.noise_std == synopsis.noise_std
    for name in ("weights", "cells", "widths"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(synopsis, name))
    for one, other in ((loaded, synopsis), (Synopsis.from_dict(synopsis.to_dict()), synopsis)):
        np.testing.assert_array_equal(
            one.kmeans(2, random_state=3).centers, other.kmeans(2, random_state=3).centers
        )


def test_whole_counts_are_saved_as_whole_numbers():
    assert all(type(w) is int for w in clumps().to_dict()["weights"])
    assert loose().to_dict()["weights"] == [5.5, -1.25, 3.0]
    large = Synopsis(BOX, GridCells((1, 1)), [1e300], 1.0)
    assert Synopsis.from_dict(json.loads(json.dumps(large.to_dict()))).weights[0] == 1e300


def test_only_synopses_are_loaded(tmp_path):
    path = tmp_path / "other.json"
    for text in ("[]", "{}", "not json", '{"synopsis_format": 99}', '{"format": 1}'):
        path.write_text(text)
        with pytest.raises(ValueError, match="not a sfumato synopsis"):
            Synopsis.load(path)
    with pytest.raises(FileNotFoundError):
        Synopsis.load(tmp_path / "missing.json")
    clumps().save(path)
    with pytest.raises(ValueError, match="not a sfumato model"):
        sfumato.load(path)


def test_a_synopsis_cannot_be_changed():
    synopsis = loose()
    for array in (synopsis.weights, synopsis.layout.middles, synopsis.layout.widths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    with pytest.raises(AttributeError):
        synopsis.weights = np.ones(3)


BAD = [
    (lambda: Synopsis(BOX, GridCells((3,)), np.ones(3), 1.0), "1 columns, the bounds 2"),
    (lambda: Synopsis(BOX, GridCells((3, 3)), np.ones(8), 1.0), "9 cells need as many"),
    (lambda: Synopsis(BOX, GridCells((1, 1)), [np.nan], 1.0), "finite weights"),
    (lambda: Synopsis(BOX, GridCells((1, 1)), [1.0], -1.0), "noise_std"),
    (lambda: GridCells(()), "at least one slice"),
    (lambda: GridCells((3, 0)), "at least one slice"),
    (lambda: LooseCells(np.zeros(3), np.ones((1, 1))), r"got shape \(3,\)"),
    (lambda: LooseCells(np.zeros((3, 2)), np.ones((2, 2))), r"\(3, 2\) or \(1, 2\)"),
    (lambda: LooseCells(np.zeros((3, 2)), np.zeros((1, 2))), "above 0"),
    (lambda: clumps().kmeans(0), "k must be"),
    (lambda: clumps().kmeans(2, n_starts=0), "n_starts"),
    (lambda: clumps().sample(0), "n must be"),
    (lambda: clumps().choose_k((2, 4), "magic"), "elbow, silhouette, gap, stability, got 'magic'"),
    (lambda: clumps().choose_k(5), r"pair \(least, most\)"),
    (lambda: clumps().choose_k((4, 2)), "second number of k_range"),
    (lambda: clumps().choose_k((0, 2)), "first number of k_range"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_mistakes_are_told(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_medians_of_cells_are_those_of_the_clumps():
    synopsis = clumps()
    found = synopsis.kmedian(3, random_state=1)
    gaps = np.abs(found.centers[:, None] - CENTERS) / np.subtract(BOX.upper, BOX.lower)
    assert (gaps.max(axis=2).min(axis=0) < 0.02).all()
    assert found.sizes.sum() == pytest.approx(synopsis.denoised().sum())
    assert found.cost > 0
    again = synopsis.kmedian(3, random_state=1)
    np.testing.assert_array_equal(found.centers, again.centers)


def test_a_median_of_cells_is_pulled_less_by_a_far_clump_than_a_mean():
    weights = np.zeros(20)
    weights[[2, 19]] = 90, 10
    synopsis = Synopsis(Box((0.0,), (20.0,)), GridCells((20,)), weights, 0.0)
    assert synopsis.kmedian(1, random_state=0).centers[0, 0] == pytest.approx(2.5, abs=0.1)
    assert synopsis.kmeans(1, random_state=0).centers[0, 0] == pytest.approx(4.2)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_a_mixture_of_cells_has_the_moments_of_the_clumps(kind):
    found = clumps(n=20_000).mixture(3, kind, random_state=1)
    order = [np.abs(found.means - center).sum(axis=1).argmin() for center in CENTERS]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(found.means[order], CENTERS, atol=0.05)
    np.testing.assert_allclose(found.weights, 1 / 3, atol=0.03)
    if kind != "spherical":  # whose spread is one in the cube, not in these units
        spread = np.sqrt(found.covariances[:, [0, 1], [0, 1]])
        np.testing.assert_allclose(spread, np.tile([0.04, 0.24], (3, 1)), rtol=0.2)


def test_one_normal_distribution_has_the_moments_of_all_cells():
    """Rows lie anywhere in their cells: 2² / 12 on one axis, ½² + 1 / 12 on the other."""
    found = loose_alone().mixture(1)
    np.testing.assert_allclose(found.means, [[0.5, 1.0]])
    np.testing.assert_allclose(found.covariances[0], np.eye(2) / 3, rtol=1e-4, atol=1e-9)


def loose_alone():
    cells = LooseCells([[0.5, 0.5], [0.5, 1.5]], [[2.0, 1.0]])
    return Synopsis(Box((-1.0, -1.0), (1.0, 1.0)), cells, [5.0, 5.0], 0.0)


def test_a_synopsis_without_weight_still_has_medians_and_a_mixture():
    empty = Synopsis(BOX, GridCells((4, 4)), np.full(16, -3.0), 2.0)
    assert empty.kmedian(2, random_state=0).centers.shape == (2, 2)
    assert np.isfinite(empty.mixture(2, random_state=0).covariances).all()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3"])
def test_medians_and_mixtures_need_a_number_of_clusters(wrong):
    for call in (loose_alone().kmedian, loose_alone().mixture):
        with pytest.raises((TypeError, ValueError), match="k"):
            call(wrong)
    with pytest.raises(ValueError, match="covariance_type must be one of full, diag, spherical"):
        loose_alone().mixture(2, "tied")

"""Private bounds: every shape of column, legal for every Box, and what becomes of them in a fit."""

import json
import math
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato
from sfumato import Box, Curator, Overspent, PrivateKMeans, TableFile, estimate_bounds
from sfumato._accounting.budget import Caps, Ledger
from sfumato._core.queries.histograms import MISSING, MOST_SLICES, EqualBins, LogBins
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._private_bounds.estimate import DEFAULT, SLICE, release_bounds
from sfumato.engines._memory import ArrayRows
from sfumato.methods import DPLloyd
from tests.no_noise import NoNoise

F = Fraction
ONE = F(1)
MAX = sys.float_info.max
N = 20_000


def released(column, *, epsilon=ONE, seed=5, noise=None):
    """Bounds of one column under noise that can be replayed."""
    rows = np.asarray(column, dtype=np.float64)
    rows = rows.reshape(-1, 1) if rows.ndim == 1 else rows
    curator = HistogramCurator(rows, ledger=Ledger(epsilon), noise=noise or ReplayedNoise(seed))
    result = release_bounds(curator, epsilon)
    Box(result.lower, result.upper)
    return result


def pair(column, **settings):
    result = released(column, **settings)
    return result.lower[0], result.upper[0]


def rng(seed=0):
    return np.random.default_rng(seed)


# Name: (column, width allowed over the width of the column, part of the rows that may be cut)
COLUMNS = {
    "uniform": (rng().uniform(-1, 1, N), 1.25, 0.01),
    "normal": (rng().normal(100, 15, N), 1.2, 0.03),
    "all negative": (-rng().uniform(3, 4, N), 1.25, 0.01),
    "coordinates": (rng().normal(40.7, 0.05, N), 1.5, 0.01),
    "straddles 0": (rng().normal(0.01, 3, N), 1.2, 0.03),
    "ages": (rng().integers(17, 91, N), 1.4, 0.02),
    "huge": (rng().uniform(1e300, 2e300, N), 1.5, 0.01),
    "huge, of both signs": (1.7e308 * rng().uniform(-1, 1, N), 1.2, 0.01),
    "tiny": (rng().uniform(1e-300, 2e-300, N), 1.4, 0.01),
    "beside a power of two": (rng().uniform(63.9, 64.1, N), 1.8, 0.01),
    "waiting times": (rng().exponential(3, N), 1.3, 0.01),
    "zero or one": (rng().integers(0, 2, N), 1.25, 0),
    "a few far from the others": (
        np.where(rng(1).random(N) < 0.005, 99_999, rng().exponential(2000, N)),
        1.4,
        0.003,
    ),
    "counts up to 16": (rng().integers(1, 17, N), 1.05, 0.0),
    "mostly zeros": (rng().uniform(0, 50, N) * (rng(1).random(N) < 0.3), 1.4, 0.02),
    "zeros and negative numbers": (-rng().uniform(0, 50, N) * (rng(1).random(N) < 0.3), 1.4, 0.02),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("seed", range(5))
def test_bounds_hold_nearly_all_rows_and_little_else(name, seed):
    column, wide, cut = COLUMNS[name]
    low, high = pair(column, seed=seed)
    assert np.mean((column < low) | (column > high)) <= cut
    width = column.max() / 4 - column.min() / 4
    assert high / 4 - low / 4 <= wide * width


@pytest.mark.parametrize("seed", range(5))
def test_heavy_tails_are_cut_where_rows_are_rare(seed):
    for column in (rng().standard_cauchy(N), rng().lognormal(0, 2, N)):
        low, high = pair(column, seed=seed)
        assert np.mean((column < low) | (column > high)) < 0.05
        assert high - low < np.ptp(column) / 3


@pytest.mark.parametrize("value", [3.25, -40.7, 1e300, -1e-300, 2.0**70, MAX, -MAX, 2.0**-1021])
def test_a_constant_column_gets_narrow_bounds_around_it(value):
    low, high = pair(np.full(N, value))
    assert low <= value <= high
    assert high / 2 - low / 2 < abs(value) / 2000


def test_a_column_of_zeros_gets_the_default():
    assert pair(np.zeros(N)) == DEFAULT
    assert pair(np.full(N, -0.0)) == DEFAULT
    assert pair(np.full(N, 1e-310)) == DEFAULT


@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.full((50, 2), np.nan), np.array([[5.0, 7]])])
def test_where_nothing_stands_out_the_bounds_are_the_default(rows):
    result = released(rows, epsilon=F(1, 10), noise=NoNoise())
    assert list(zip(result.lower, result.upper, strict=True)) == [DEFAULT] * 2
    assert "no rows found in columns 0, 1 (from 0): bounds (-1, 1)" in result.notes
    assert [entry.query for entry in result.account.entries] == [
        "histograms of columns by half octaves"
    ] * 2, "charged and asked all the same"


def test_one_row_is_found_when_privacy_costs_nothing():
    low, high = pair([3.0], epsilon=F(10**6))
    assert low < 3 < high < 3.1


@pytest.mark.parametrize("epsilon", [F(1, 10**6), F(1, 100), F(1), F(10**9), F(10**300)])
def test_bounds_are_legal_whatever_the_noise(epsilon):
    wild = np.array([[MAX, -MAX, 1e-320, 0.0], [-MAX, 1.0, 2e-308, 5.0]] * 20)
    for seed in range(20):
        result = released(wild, epsilon=epsilon, seed=seed)
        for low, high in zip(result.lower, result.upper, strict=True):
            assert -MAX <= low < high <= MAX


def test_missing_cells_are_counted_nowhere_and_spoil_no_other_cell():
    column = COLUMNS["ages"][0].astype(float)
    clean = np.column_stack([column, -column])
    dirty = np.vstack([clean, [[np.nan, np.inf]] * 500])
    ours, theirs = released(dirty), released(clean)
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    half = clean.copy()
    half[::2, 0] = np.nan
    low, high = released(half).lower, released(half).upper
    assert low[0] < 20
    assert 85 < high[0] < 110
    assert low[1] < -85


def test_mixed_columns_are_found_each_on_its_own_scale():
    table = np.column_stack([COLUMNS[name][0] for name in ("ages", "tiny", "huge", "coordinates")])
    result = released(table, epsilon=F(4))
    assert result.lower[0] == pytest.approx(17, abs=10)
    assert result.upper[1] == pytest.approx(2e-300, rel=0.2)
    assert result.lower[2] == pytest.approx(1e300, rel=0.2)
    assert result.upper[3] == pytest.approx(40.9, abs=0.1)


@pytest.mark.parametrize("value", [1.0, 1.49, 1.5, 1.51, 2.0, 3.0, 99.0, 1e-307, MAX, 2.0**-1021])
def test_half_octaves_are_the_definition(value):
    binning = LogBins(2)
    bins = np.empty((1, 2), dtype=np.int16)
    binning.write_lattice(np.array([[value, -value]]), bins)
    place = int(bins[0, 0])
    assert bins[0, 1] == 2 * binning.zero - place
    exponent = math.frexp(value)[1] - 1
    edges = [k * 2.0**e for e in (exponent - 1, exponent) for k in (1.0, 1.5)]
    low = max(edge for edge in edges if edge < value)
    assert binning.edges(place)[0] == low
    assert binning.edges(place - 1)[1] == low
    assert value <= binning.edges(place)[1] <= low * 1.5
    assert binning.edges(int(bins[0, 1])) == tuple(-edge for edge in reversed(binning.edges(place)))


def test_half_octaves_have_a_bin_for_nothing_and_none_for_what_is_no_number():
    binning = LogBins(1)
    values = [0.0, -0.0, 5e-324, -(2.0**-1022), math.nan, math.inf, -math.inf, MAX, -MAX]
    bins = np.empty((len(values), 1), dtype=np.int16)
    binning.write_lattice(np.array(values).reshape(-1, 1), bins)
    assert bins[:, 0].tolist() == [binning.zero] * 4 + [MISSING] * 3 + [binning.bins - 1, 0]
    assert binning.edges(binning.zero) == (0, 0)
    assert binning.edges(0)[0] == -MAX
    assert binning.edges(binning.bins - 1)[1] == MAX
    edges = [binning.edges(bin_) for bin_ in range(binning.bins)]
    assert all(one[1] <= other[0] for one, other in pairwise(edges))


def test_slices_are_equal_and_closed_at_both_ends():
    binning = EqualBins((0.0, -4.0), (8.0, 0.0), 4)
    rows = np.array([[0, -4], [1.99, -3.01], [2, 0], [8, -0.0], [8.001, 0.001], [np.nan, -np.inf]])
    bins = np.empty(rows.shape, dtype=np.int16)
    binning.write_lattice(rows, bins)
    expected = [[0, 0], [0, 0], [1, 3], [3, 3], [MISSING, MISSING], [MISSING, MISSING]]
    assert bins.tolist() == expected
    whole = np.array([[7]], dtype=np.int64)
    binning = EqualBins((0.0,), (8.0,), 4)
    binning.write_lattice(whole, out := np.empty((1, 1), dtype=np.int16))
    assert out[0, 0] == 3


def test_columns_without_a_range_are_not_looked_at():
    binning = EqualBins((None, -4.0), (None, 0.0), 4)
    bins = np.empty((2, 2), dtype=np.int16)
    binning.write_lattice(np.array([[1.0, -1.0], [np.nan, 1.0]]), bins)
    assert bins.tolist() == [[MISSING, 3], [MISSING, MISSING]]
    assert binning.n_looked_at == 1


@pytest.mark.parametrize(
    ("lower", "upper", "bins"),
    [
        ((None,), (None,), 4),
        ((None,), (1.0,), 4),
        ((0.0,), (None,), 4),
        ((0.0,), (0.0,), 4),
        ((0.0,), (math.inf,), 4),
        ((0.0,), (1.0,), 0),
        ((0.0,), (1.0,), MOST_SLICES + 1),
        ((0.0,), (1.0,), True),
    ],
)
def test_slices_of_nothing_are_refused(lower, upper, bins):
    with pytest.raises(ValueError):
        EqualBins(lower, upper, bins)


def test_a_binning_leaves_no_lattice_behind():
    rows = ArrayRows(np.ones((10, 1)))
    release_bounds(HistogramCurator(rows, ledger=Ledger(F(1))), F(1))
    assert rows._lattices == {}


# In a fit.

X = rng(3).normal([[25.0, -400.0]] * 3000 + [[60.0, -700.0]] * 3000, [4, 30])


def model(**settings):
    # So large a budget that the noise cannot matter.
    defaults = {"bounds": "private", "random_state": 0, "epsilon": 1e4, "method": "dplloyd"}
    return PrivateKMeans(2, **{**defaults, **settings})


def centers(fitted):
    return fitted.cluster_centers_[fitted.cluster_centers_[:, 0].argsort()]


def test_a_fit_releases_its_bounds_first():
    fitted = model().fit(X)
    np.testing.assert_allclose(centers(fitted), [[25, -400], [60, -700]], rtol=0.05)
    lower, upper = fitted.bounds_
    assert (lower < X.min(axis=0) + 5).all()
    assert (upper > X.max(axis=0) - [5, 50]).all()
    assert (upper - lower < 1.5 * np.ptp(X, axis=0)).all()
    assert (fitted.box_.lower, fitted.box_.upper) == (tuple(lower), tuple(upper))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_receipt_shows_both_parts_and_their_exact_sum(delta):
    noise = "gaussian" if delta else "cube"
    fitted = model(epsilon=0.7, delta=delta, method=DPLloyd(noise=noise)).fit(X)
    receipt, total = fitted.receipt_, F(7, 10)
    assert receipt.guarantee.amount == total
    assert float(receipt.guarantee.delta) == delta
    costs = [F(line.cost) for line in receipt.lines if line.query.startswith("histograms")]
    assert sum(costs) == total * SLICE
    assert len(costs) == 3
    assert [line.query.split(" by ")[0] for line in receipt.lines[:3]] == [
        "histograms of columns"
    ] * 3
    if not delta:
        assert receipt.spent("pure") == (total, 0)
    assert f"bounds estimated with ε {float(SLICE * F(7, 10)):.4g}" in receipt.notes


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet", "npy"])
def test_frames_and_files(kind, tmp_path):
    frame = pd.DataFrame(X, columns=["age", "balance"])
    data = {"pandas": frame, "polars": pl.DataFrame(frame.to_dict("list"))}.get(kind)
    if data is None:
        data = tmp_path / f"rows.{kind}"
        write = {"csv": lambda p: frame.to_csv(p, index=False), "parquet": frame.to_parquet}
        write.get(kind, lambda p: np.save(p, X))(data)
        data = TableFile(data, header=True)
    fitted = model().fit(data)
    np.testing.assert_allclose(centers(fitted), [[25, -400], [60, -700]], rtol=0.05)
    if kind != "npy":
        assert fitted.feature_names_in_.tolist() == ["age", "balance"]
    lower, upper = estimate_bounds(data, epsilon=1e4)
    assert lower.shape == upper.shape == (2,)
    assert (lower < upper).all()


def test_groups_are_protected_in_both_parts():
    groups = np.arange(len(X)) // 3
    fitted = model().fit(X, groups=groups)
    scales = [F(line.scale) for line in fitted.receipt_.lines[:3]]
    fitted = model(max_rows_per_group=3).fit(X, groups=groups)
    assert [F(line.scale) for line in fitted.receipt_.lines[:3]] == [3 * s for s in scales]
    assert fitted.receipt_.guarantee.neighbours == "one group of at most 3 rows"
    frame = pd.DataFrame(X, columns=["age", "balance"]).assign(owner=groups)
    fitted = model().fit(frame, groups="owner")
    assert fitted.feature_names_in_.tolist() == ["age", "balance"]
    lower, _ = estimate_bounds(frame, epsilon=4.0, groups="owner", max_rows_per_group=3)
    assert lower.shape == (2,)


def test_the_nan_policy_holds_afterwards():
    holes = X.copy()
    holes[::3, 0] = np.nan
    dropped = model(nan="drop").fit(holes)
    assert dropped.box_.nan == "drop"
    assert dropped.cluster_sizes_.sum() == pytest.approx(4000, abs=100)
    assert model().fit(holes).box_.nan == "ignore"


def test_saved_models_keep_the_bounds(tmp_path):
    fitted = model().fit(X)
    fitted.save(tmp_path / "model.json")
    loaded = sfumato.load(tmp_path / "model.json")
    for ours, theirs in zip(fitted.bounds_, loaded.bounds_, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.receipt_ == fitted.receipt_
    np.testing.assert_array_equal(loaded.predict(X[:50]), fitted.predict(X[:50]))
    assert "private" not in json.loads((tmp_path / "model.json").read_text())["bounds"]


class Unread:
    """Rows that must not be read."""

    n_features, max_rows_per_group = 2, None

    def fold(self, box, kernel):
        raise AssertionError("a row was read")

    split = fold


@pytest.mark.parametrize(
    "settings",
    [
        {"nan": "zero"},
        {"epsilon": 0},
        {"n_clusters": 0},
        {"max_rows_per_group": 0},
        {"bounds": "public"},
        {"method": "magic"},
        {"n_rows": -1},
        {"n_clusters": 10**9},
        {"method": DPLloyd(noise="gaussian")},
    ],
)
def test_what_can_be_refused_is_refused_before_the_bounds_are_released(settings, monkeypatch):
    monkeypatch.setattr("sfumato._private_bounds.estimate.rows_of", lambda *_, **__: Unread())
    fitted = model().set_params(**settings)
    with pytest.raises((ValueError, TypeError)):
        fitted.fit(X)


def test_a_curator_has_its_bounds_already():
    curator = Curator(X, bounds=(-1000, 1000), epsilon=1.0)
    with pytest.raises(ValueError, match="has its bounds already"):
        model(epsilon=0.5).fit(curator)
    with pytest.raises(TypeError, match="has its bounds already"):
        estimate_bounds(curator, epsilon=0.5)
    assert curator.ledger.spent == (0, 0)


def test_one_ledger_for_bounds_and_fits():
    ledger = Ledger(F(1))
    bounds = estimate_bounds(X, epsilon=0.2, ledger=ledger)
    curator = Curator(X, bounds=bounds, ledger=ledger)
    model(bounds=None, epsilon=0.8).fit(curator)
    assert ledger.left == (0, 0)
    with pytest.raises(Overspent):
        estimate_bounds(X, epsilon=0.1, ledger=ledger)
    with pytest.raises(Overspent):
        curator.reserve("more", Caps(pure=F(1, 100)))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300, 1.7e308])
@pytest.mark.parametrize("method", ["auto", "dplloyd", "eugkm"])
def test_fits_on_every_scale_end_without_a_warning(scale, method):
    fitted = model(method=method, epsilon=5.0).fit(scale * rng().uniform(-1, 1, (2000, 2)))
    assert np.isfinite(fitted.cluster_centers_).all()
    assert str(fitted.receipt_)

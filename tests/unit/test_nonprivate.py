"""The owner's tools against slow definitions and scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from sfumato import Category, Number, Schema, Weight, nonprivate

X, Y = make_blobs(300, centers=4, n_features=3, random_state=0)
CENTERS = np.array([X[Y == j].mean(axis=0) for j in range(4)])


def test_labels_and_inertia_match_scikit_learn():
    model = KMeans(4, n_init=1, random_state=0).fit(X)
    assert nonprivate.inertia(X, model.cluster_centers_) == pytest.approx(model.inertia_)
    assert nonprivate.nicv(X, model.cluster_centers_) == pytest.approx(model.inertia_ / len(X))
    np.testing.assert_array_equal(nonprivate.labels(X, model.cluster_centers_), model.labels_)


def test_bounds_scale_every_column_to_the_cube():
    wide = X * [1, 10, 100]
    bounds = (np.array([-15, -150, -1500.0]), np.array([15, 150, 1500.0]))
    scaled = nonprivate.nicv(wide, CENTERS * [1, 10, 100], bounds=bounds)
    assert scaled == pytest.approx(nonprivate.nicv(X / 15, CENTERS / 15))


def test_blocks_do_not_show(monkeypatch):
    whole = nonprivate.inertia(X, CENTERS)
    monkeypatch.setattr(nonprivate, "_BLOCK", 7)
    assert nonprivate.inertia(X, CENTERS) == pytest.approx(whole)


@pytest.mark.parametrize(
    "score",
    [
        nonprivate.adjusted_rand,
        nonprivate.adjusted_mutual_information,
        nonprivate.normalized_mutual_information,
    ],
)
def test_agreement_is_one_for_renamed_labels_and_low_for_noise(score):
    assert score(Y, (Y + 1) % 4) == pytest.approx(1)
    assert score(Y, np.random.default_rng(0).integers(4, size=len(Y))) < 0.1


def test_internal_scores_prefer_the_truth():
    wrong = np.random.default_rng(0).integers(4, size=len(Y))
    assert nonprivate.silhouette(X, Y) > nonprivate.silhouette(X, wrong)
    assert nonprivate.calinski_harabasz(X, Y) > nonprivate.calinski_harabasz(X, wrong)
    assert nonprivate.davies_bouldin(X, Y) < nonprivate.davies_bouldin(X, wrong)


def test_clusters_with_members_counts_populated_centres_only():
    far = np.vstack([CENTERS, [[1e3, 1e3, 1e3]]])
    assert nonprivate.clusters_with_members(X, CENTERS) == 4
    assert nonprivate.clusters_with_members(X, far) == 4


def test_centroid_index():
    assert nonprivate.centroid_index(CENTERS, CENTERS[::-1]) == 0
    doubled = CENTERS.copy()
    doubled[0] = doubled[1] + 0.01
    assert nonprivate.centroid_index(doubled, CENTERS) == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="same number of columns"):
        nonprivate.labels(X, CENTERS[:, :2])


HOLES = X.copy()
HOLES[::5, 1], HOLES[3::7, 0], HOLES[9] = np.nan, np.inf, -np.inf


def nearest(row, scale=1.0):
    """The nearest centre over what a row has, and its squared distance there, in plain Python."""
    own = [i for i, x in enumerate(row) if np.isfinite(x)]
    squares = [sum((row[i] - c[i]) ** 2 for i in own) / scale**2 for c in CENTERS]
    return squares.index(min(squares)), min(squares)


def test_distances_are_over_the_columns_that_a_row_has():
    expected, squares = zip(*map(nearest, HOLES), strict=True)
    bounds = (-15, 15)
    for scale, given in ((1.0, {}), (15.0, {"bounds": bounds})):
        np.testing.assert_array_equal(nonprivate.labels(HOLES, CENTERS, **given), expected)
        total = sum(squares) / scale**2
        assert nonprivate.inertia(HOLES, CENTERS, **given) == pytest.approx(total)
        # Row 9 has no cell at all.
        assert nonprivate.nicv(HOLES, CENTERS, **given) == pytest.approx(total / (len(X) - 1))
    nothing = np.full((3, 3), np.nan)
    assert nonprivate.clusters_with_members(np.vstack([nothing, CENTERS[2:]]), CENTERS) == 2


def test_rows_are_whatever_fit_takes():
    masked = np.ma.array(np.nan_to_num(HOLES, posinf=0, neginf=0), mask=~np.isfinite(HOLES))
    frame = pd.DataFrame(np.where(np.isfinite(HOLES), HOLES, np.nan))
    tables = [masked, frame, frame.convert_dtypes(), pl.from_pandas(frame.rename(columns=str))]
    for table in tables:
        np.testing.assert_array_equal(
            nonprivate.labels(table, CENTERS), nonprivate.labels(HOLES, CENTERS)
        )
        assert nonprivate.inertia(table, CENTERS) == nonprivate.inertia(HOLES, CENTERS)
    plain = np.where(np.isfinite(HOLES), HOLES, None)
    assert nonprivate.nicv(plain, CENTERS) == nonprivate.nicv(HOLES, CENTERS)


def test_a_centre_without_a_value_is_refused():
    with pytest.raises(ValueError, match="centres must be finite"):
        nonprivate.labels(X, np.where(CENTERS == CENTERS[0, 0], np.nan, CENTERS), bounds=(-15, 15))


MIXED = Schema(
    a=Number(0, 10), c=Category("x", "y"), b=Number(0, 1, missing="drop"), w=Weight(0, 3)
)
TABLE = pd.DataFrame(
    {"c": ["x", "y", "?", "x"], "w": [1, 2, 3, 0], "a": [0, 10, 5, None], "b": [0, 1, 0.5, None]}
)


def test_rows_of_a_schema_are_points_of_its_cube(tmp_path):
    points = nonprivate.encoded(TABLE, MIXED)
    level = np.sqrt(0.5)
    expected = [
        [-1, -1, level, -level],
        [1, 1, -level, level],
        [0, 0, np.nan, np.nan],
        [np.nan] * 4,
    ]
    # Numbers come first, categories last; weights are no coordinate, and leave no row out.
    np.testing.assert_allclose(points, expected)
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    np.testing.assert_allclose(nonprivate.encoded(tmp_path / "rows.csv", MIXED), expected)
    array = TABLE[["a", "c", "b", "w"]].to_numpy()
    for rows in (array, array[:, :-1]):
        np.testing.assert_allclose(nonprivate.encoded(rows, MIXED), expected)


def test_measures_with_a_schema_are_those_of_its_points(tmp_path):
    points, centers = nonprivate.encoded(TABLE, MIXED), np.array([[-1.0, -1, 0, 0], [1, 1, 0, 0]])
    for measure in (nonprivate.labels, nonprivate.inertia, nonprivate.nicv):
        np.testing.assert_allclose(
            measure(TABLE, centers, schema=MIXED), measure(points, centers), err_msg=str(measure)
        )
    assert nonprivate.clusters_with_members(TABLE, centers, schema=MIXED) == 2
    assert nonprivate.nicv(TABLE[3:].assign(b=1), centers, schema=MIXED) == pytest.approx(1)
    with pytest.raises(ValueError, match="leave bounds out"):
        nonprivate.labels(TABLE, centers, bounds=(0, 1), schema=MIXED)
    with pytest.raises(ValueError, match="same number of columns"):
        nonprivate.labels(TABLE, centers[:, :2], schema=MIXED)


def test_the_cost_of_medians_is_the_sum_of_distances():
    slow = np.sqrt(((X[:, None] - CENTERS) ** 2).sum(axis=2)).min(axis=1).sum()
    assert nonprivate.kmedian_cost(X, CENTERS) == pytest.approx(slow)


def test_medians_cost_less_than_means_and_bounds_are_those_of_the_cube():
    wide, bounds = X * [1, 10, 100], (np.array([-15, -150, -1500.0]), np.array([15, 150, 1500.0]))
    found = nonprivate.kmedian(X, 4, random_state=0)
    assert nonprivate.kmedian_cost(X, found) <= nonprivate.kmedian_cost(X, CENTERS)
    scaled = nonprivate.kmedian(wide, 4, bounds=bounds, random_state=0) / [1, 10, 100]
    assert nonprivate.kmedian_cost(X, scaled) == pytest.approx(nonprivate.kmedian_cost(X, found))
    with pytest.raises(ValueError, match="finite numbers"):
        nonprivate.kmedian([[np.nan]], 1)


def cost_of(rows, own):
    """The least cost of clusters given: means over the cells that are there."""
    parts = [rows[own == k] for k in set(own.tolist())]
    return sum(float(np.nansum(np.square(p - np.nanmean(p, axis=0)))) for p in parts)


def test_means_of_rows_with_gaps_are_the_best_of_all_partitions():
    rows = np.random.default_rng(3).normal([[0, 0]] * 5 + [[2, 3]] * 5, 0.7)
    rows[[0, 3, 6], [1, 0, 1]] = np.nan
    splits = (np.array([0, *[i >> j & 1 for j in range(9)]]) for i in range(1, 2**9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of no cells
        best = min(cost_of(rows, own) for own in splits)
    found = nonprivate.kmeans(rows, 2, n_starts=20, random_state=0)
    assert nonprivate.inertia(rows, found) == pytest.approx(best)


def test_means_are_in_the_units_of_the_rows_and_without_gaps_those_of_scikit_learn():
    wide, bounds = X * [1, 10, 100], (np.array([-15, -150, -1500.0]), np.array([15, 150, 1500.0]))
    found = nonprivate.kmeans(wide, 4, bounds=bounds, random_state=0) / [1, 10, 100]
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    assert nonprivate.inertia(X, found) == pytest.approx(theirs.inertia_)
    gaps = wide.copy()
    gaps[::9, 1] = np.nan
    close = nonprivate.kmeans(gaps, 4, bounds=bounds, random_state=0) / [1, 10, 100]
    assert nonprivate.inertia(X, close) == pytest.approx(theirs.inertia_, rel=0.02)


def test_means_of_a_table_are_points_of_the_cube_of_its_schema():
    found = nonprivate.kmeans(TABLE, 2, schema=MIXED, random_state=0)
    assert found.shape == (2, MIXED.dimensions)
    assert np.abs(found).max() <= 1
    with pytest.raises(ValueError, match="at least 40 rows"):
        nonprivate.kmeans(TABLE, 40, schema=MIXED)
    with pytest.raises(ValueError, match="one of them"):
        nonprivate.encoded(X)

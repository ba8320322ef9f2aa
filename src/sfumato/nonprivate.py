"""The owner's tools: they read rows and promise nothing.

Everything here computes exact numbers from raw rows, for the person who holds them: to judge a
private model, to compare methods, to write a paper. None of it may be published about data that
must stay private. The scores of labellings are scikit-learn's.

Rows are what `fit` takes: arrays, masked or not, data frames and files, with a schema also mixed
tables. Cells that are masked, or not finite numbers, are missing: distances are over the columns
that a row has.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score as adjusted_mutual_information
from sklearn.metrics import adjusted_rand_score as adjusted_rand
from sklearn.metrics import calinski_harabasz_score as calinski_harabasz
from sklearn.metrics import davies_bouldin_score as davies_bouldin
from sklearn.metrics import normalized_mutual_info_score as normalized_mutual_information
from sklearn.metrics import silhouette_score as silhouette

from sfumato._base.distances import squared_distances, unmasked
from sfumato._base.types import Floats, Ints, Mask, Rng
from sfumato._base.validation import check_whole
from sfumato._lattice.box import REACH, Box
from sfumato._schema.schema import Schema
from sfumato._synopsis.kmeans import sums_by_center
from sfumato._synopsis.kmedian import weighted_kmedian
from sfumato.engines._cells import without_weights
from sfumato.engines._files import layout_of
from sfumato.engines._frames import LIBRARIES
from sfumato.engines._memory import frame_of
from sfumato.engines._open import is_path
from sfumato.engines._partitions import Piece

__all__ = [
    "adjusted_mutual_information",
    "adjusted_rand",
    "calinski_harabasz",
    "centroid_index",
    "clusters_with_members",
    "davies_bouldin",
    "encoded",
    "inertia",
    "kmeans",
    "kmedian",
    "kmedian_cost",
    "labels",
    "nicv",
    "normalized_mutual_information",
    "silhouette",
]

_BLOCK = 65_536

_MOST_STEPS = 300
_SAME = 1e-9


def labels(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> Ints:
    """Return the nearest centre of every row: (n,), indices.

    X: (n, d), centers: (k, d), in the same units; with `bounds`, distances are those of the cube
    [−1, 1]^d that the bounds span. With `schema`, X is a table and centers are points of its cube,
    such as `model.encoded_centers_`. A row without any cell is nearest to the first centre.
    """
    return _nearest(X, centers, bounds, schema)[0]


def inertia(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> float:
    """Return the sum of squared distances to the nearest centre; arguments as in `labels`."""
    return float(_nearest(X, centers, bounds, schema)[1].sum())


def kmedian_cost(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> float:
    """Return the sum of distances to the nearest centre, not squared; arguments as in `labels`."""
    return float(np.sqrt(_nearest(X, centers, bounds, schema)[1]).sum())


def kmeans(
    X: Any,  # noqa: ANN401
    n_clusters: int,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
    n_starts: int = 10,
    random_state: Any = None,  # noqa: ANN401
) -> Floats:
    """Return k-means centres without privacy, (k, d): the reference for `PrivateKMeans`.

    Arguments as in `labels`; centres are in the units of the rows, with `schema` points of its
    cube. Missing cells add no distance, and a centre is the mean of the cells that its rows have.
    The best of `n_starts` starts by k-means++.
    """
    k, starts = check_whole(n_clusters, "n_clusters"), check_whole(n_starts, "n_starts")
    points = _table(X, None) if bounds is None and schema is None else encoded(X, schema, bounds)
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or len(points) < k:
        raise ValueError(f"k-means needs at least {k} rows of shape (n, d), got {points.shape}")
    centers = _means_of(points, k, starts, np.random.default_rng(random_state))
    box = None if bounds is None else Box.of(bounds, points.shape[1])
    return centers if box is None else box.from_lattice(centers * REACH)


def _means_of(points: Floats, k: int, n_starts: int, rng: Rng) -> Floats:
    """k-means centres (k, d) of points (n, d), the best of so many starts."""
    known, seeds = np.isfinite(points), rng.integers(2**31, size=n_starts).tolist()
    if known.all():
        with warnings.catch_warnings():
            # Of fewer different rows than centres: two centres are the same then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = KMeans(k, n_init=n_starts, random_state=seeds[0]).fit(points)
        return np.asarray(fit.cluster_centers_, dtype=np.float64)
    means = np.where(known, points, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    filled = np.where(known, points, means)
    starts = (kmeans_plusplus(filled, k, random_state=seed)[0] for seed in seeds)
    return min((_alternating(points, start) for start in starts), key=lambda found: found[0])[1]


def _alternating(points: Floats, centers: Floats) -> tuple[float, Floats]:
    """Nearest centres and means in turn, over the cells (n, d) that are there; and the cost.

    Neither raises the cost. A centre keeps its place in a column that no row of it has.
    """
    known, last = np.isfinite(points), np.inf
    values, known = np.where(known, points, 0.0), known.astype(np.float64)
    for _ in range(_MOST_STEPS):
        squared = squared_distances(points, centers)
        cost = float(squared.min(axis=1).sum())
        if cost >= last * (1 - _SAME):
            break
        last, own = cost, squared.argmin(axis=1)
        sums, counts = (sums_by_center(own, cells.T, len(centers)).T for cells in (values, known))
        centers = np.where(counts > 0, sums / np.maximum(counts, 1), centers)
    return cost, centers


def kmedian(
    X: Any,  # noqa: ANN401
    n_clusters: int,
    *,
    bounds: Any = None,  # noqa: ANN401
    n_starts: int = 8,
    random_state: Any = None,  # noqa: ANN401
) -> Floats:
    """Return k-median centres without privacy, (k, d): the reference for `PrivateKMedian`.

    X: (n, d), every cell a finite number. With `bounds`, distances are those of the cube
    [−1, 1]^d that the bounds span, and centres are in the units of the rows. The best of
    `n_starts` greedy starts with Weiszfeld steps and swaps.
    """
    rows = np.asarray(_table(X, None), dtype=np.float64)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise ValueError(f"k-median needs finite numbers of shape (n, d), got shape {rows.shape}")
    box = None if bounds is None else Box.of(bounds, rows.shape[1])
    centers, _ = weighted_kmedian(
        rows if box is None else box.to_cube(rows),
        np.ones(len(rows)),
        check_whole(n_clusters, "n_clusters"),
        np.random.default_rng(random_state),
        n_starts=check_whole(n_starts, "n_starts"),
    )
    return centers if box is None else box.from_lattice(centers * REACH)


def nicv(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> float:
    """Return the normalised intra-cluster variance: the inertia per row (Su et al. 2015, §3).

    Rows without any cell do not count.
    """
    _, squared, known = _nearest(X, centers, bounds, schema)
    return float(squared[known].mean())


def clusters_with_members(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    *,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
) -> int:
    """Return NCM, the number of centres that some row is nearest to (Sukpisit et al. 2019)."""
    nearest, _, known = _nearest(X, centers, bounds, schema)
    return len(np.unique(nearest[known]))


def centroid_index(centers: ArrayLike, reference: ArrayLike) -> int:
    """Return how many clusters are misplaced (Fränti, Rezaei, Zhao 2014): 0 is a perfect match.

    centers: (k, d), reference: (m, d). Every centre points to its nearest reference centre; the
    references that none points to are counted, in both directions, and the larger count is
    returned.
    """
    ours, theirs = np.asarray(centers, dtype=float), np.asarray(reference, dtype=float)
    return max(
        len(to) - len(np.unique(labels(of, to))) for of, to in ((ours, theirs), (theirs, ours))
    )


def encoded(X: Any, schema: Schema | None = None, bounds: Any = None) -> Floats:  # noqa: ANN401
    """Return the rows of a table as points of the cube of a schema: (n, schema.dimensions).

    Or of the cube [−1, 1]^d that bounds span. NaN where a cell is missing: what another clustering
    of the same encoding begins with.
    """
    if (bounds is None) == (schema is None):
        raise ValueError("rows are encoded by a schema, or by bounds: give one of them")
    if schema is not None:
        return np.asarray(_table(*without_weights(X, schema)), dtype=np.float64)
    rows = np.asarray(_table(X, None), dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"rows must be a table of shape (n, d), got shape {rows.shape}")
    return Box.of(bounds, rows.shape[1]).to_cube(rows)


def _table(X: Any, schema: Schema | None) -> NDArray[Any]:  # noqa: ANN401
    """Rows as an array, (n, d); missing cells of a masked array or a data frame are NaN."""
    if is_path(X):
        layout = layout_of(X, schema=schema)
        return np.concatenate(list(Piece.whole(layout).blocks()))
    if schema is not None:
        frame = frame_of(X, schema)
        return frame.read(0, frame.n_rows)
    rows = np.asarray(unmasked(X))
    if rows.dtype.kind == "O" and type(X).__module__.partition(".")[0] in LIBRARIES:
        # Missing cells are objects there; columns that are objects themselves are refused.
        with suppress(TypeError, ValueError):
            frame = frame_of(X)
            return frame.read(0, frame.n_rows)
    return rows


def _nearest(
    X: Any,  # noqa: ANN401
    centers: ArrayLike,
    bounds: Any,  # noqa: ANN401
    schema: Schema | None,
) -> tuple[Ints, Floats, Mask]:
    """The nearest centre of every row, the squared distance to it, and whether it has a cell."""
    if bounds is not None and schema is not None:
        raise ValueError("a schema declares the bounds of its columns: leave bounds out")
    rows = _table(X, None) if schema is None else _table(*without_weights(X, schema))
    points = np.asarray(centers, dtype=np.float64)
    if rows.ndim != 2 or points.ndim != 2 or rows.shape[1] != points.shape[1]:
        raise ValueError(
            "rows and centres must be tables with the same number of columns, "
            f"got shapes {rows.shape} and {points.shape}"
        )
    if not np.isfinite(points).all():
        raise ValueError("centres must be finite numbers: a centre has a value in every column")
    box = None if bounds is None else Box.of(bounds, rows.shape[1])
    points = points if box is None else box.to_cube(points)
    nearest, squared = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    known = np.empty(len(rows), dtype=np.bool_)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        block = block if box is None else box.to_cube(block)
        part = slice(start, start + len(block))
        nearest[part] = squared_distances(block, points).argmin(axis=1)
        present, offsets = np.isfinite(block), block - points[nearest[part]]
        squared[part] = (np.where(present, offsets, 0.0) ** 2).sum(axis=1)
        known[part] = present.any(axis=1)
    return nearest, squared, known

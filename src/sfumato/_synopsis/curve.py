"""How many clusters there are: what a criterion says about each number, on released cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sfumato._base.types import Floats, Ints, Rng
from sfumato._base.validation import check_whole, in_digits
from sfumato._synopsis.cells import Cells, LooseCells, coarser, cut, whole
from sfumato._synopsis.kmeans import weighted_kmeans
from sfumato._synopsis.signed_kmeans import SignedKMeans

Criterion = Literal["elbow", "silhouette", "gap", "stability"]

_STARTS = 10
_PIECES = 32
_COMPARED = 2**11
_SHOWN = 4

# Draws of the cells that are clustered and compared, two by two.
_DRAWS = 8
# Numbers of clusters that are so nearly as stable as the most stable one are as good.
_AS_STABLE = 0.03


@dataclass(frozen=True, eq=False)
class KCurve:
    """What a criterion says about every number of clusters; `best` is the one it takes.

    That is the one that scores best; of stable ones the largest that is nearly as stable.

    `costs` is the cost per unit of weight: of the cells that stand out, in the cube [−1, 1]^d, or
    of rows, in their own units.
    """

    ks: Ints
    scores: Floats
    costs: Floats
    criterion: Criterion
    best: int


MOST_CHOSEN = 1000
"""The most clusters that are chosen by a criterion."""


def check_range(k_range: object) -> tuple[int, int]:
    """Read a pair (least, most) of numbers of clusters."""
    if not isinstance(k_range, tuple | list) or len(k_range) != 2:
        raise ValueError(f"k_range must be a pair (least, most) such as (2, 20), got {k_range!r}")
    least = check_whole(k_range[0], "the first number of k_range")
    most = check_whole(k_range[1], "the second number of k_range", least=least)
    if most > MOST_CHOSEN:
        raise ValueError(
            f"k_range goes up to {in_digits(most)} clusters, and each number is tried: at most "
            f"{MOST_CHOSEN:,} are allowed, take a smaller range or name the number of clusters"
        )
    return least, most


def check_criterion(criterion: object) -> None:
    """Refuse a word that is not a criterion."""
    if criterion not in get_args(Criterion):
        raise ValueError(
            f"k is chosen by one of {', '.join(get_args(Criterion))}, got {criterion!r}"
        )


def curve_of(
    cells: Cells,
    weights: Floats,
    noise_std: float,
    k_range: tuple[int, int],
    criterion: Criterion,
    rng: Rng,
) -> KCurve:
    """See `Synopsis.k_curve`: cells with noisy weights (n_cells,)."""
    check_criterion(criterion)
    least, largest = check_range(k_range)
    ks = np.arange(least, largest + 1)
    # Of empty cells, under Laplace noise, an expected half of one passes this.
    clear = weights > noise_std / math.sqrt(2) * math.log(len(cells))
    if not clear.any():
        return KCurve(ks, np.zeros(len(ks)), np.zeros(len(ks)), criterion, least)
    pieces = cut(cells.take(np.flatnonzero(clear)), _PIECES * largest)
    share = int(clear.sum()) / len(pieces)
    known = Released(weights[clear], noise_std, round(1 / share))
    solved = _solve_all(pieces, known, range(max(least - 1, 1), largest + 1), rng)
    scores = _SCORES[criterion](solved, rng)[-len(ks) :]
    best = int(ks[best_of(scores, criterion)])
    return KCurve(ks, scores, solved.costs[-len(ks) :], criterion, best)


def best_of(scores: Floats, criterion: Criterion) -> int:
    """The place of the number of clusters that is taken: of stable ones the largest."""
    if criterion == "stability":
        return int(np.flatnonzero(scores >= scores.max() - _AS_STABLE)[-1])
    return int(scores.argmax())


@dataclass(frozen=True)
class Released:
    """Weights of cells, their noise, and into how many pieces each cell is cut."""

    weights: Floats
    noise_std: float
    pieces: int

    @property
    def parts(self) -> Floats:
        """The weight of every piece."""
        return np.repeat(self.weights / self.pieces, self.pieces)

    def drawn(self, rng: Rng) -> Floats:
        """The weight of every piece in another draw of cells and of noise; `rng` is public.

        Cells count an exponential number of times (the Bayesian bootstrap, Rubin 1981).
        """
        times = rng.exponential(size=len(self.weights))
        noisy = times * self.weights + rng.normal(0, self.noise_std, len(self.weights))
        return np.repeat(np.maximum(noisy, 0) / self.pieces, self.pieces)


@dataclass(frozen=True)
class _Solved:
    """Clear cells in pieces, and their solution for every k asked for."""

    cells: LooseCells
    released: Released
    weights: Floats
    ks: range
    centers: list[Floats]
    costs: Floats


def _solve_all(cells: LooseCells, released: Released, ks: range, rng: Rng) -> _Solved:
    """k-means on pieces of cells, for every k."""
    weights = released.parts
    solver = SignedKMeans(cells, weights, 0.0)
    found = [solver.solve(k, n_starts=_STARTS, rng=rng) for k in ks]
    # A piece is as spread out as its width says: w²/12 along each axis.
    inside = float(weights @ np.broadcast_to((cells.widths**2).sum(axis=1) / 12, len(cells)))
    costs = np.array([max(solution.cost, 0.0) + inside for solution in found])
    return _Solved(cells, released, weights, ks, [s.centers for s in found], costs / weights.sum())


def _elbow(solved: _Solved, rng: Rng) -> Floats:
    # Cells are too coarse to show more dimensions: a higher power would magnify their edges.
    return jumps(solved.costs, min(solved.cells.n_features, _SHOWN))


def jumps(costs: Floats, n_features: int) -> Floats:
    """How far costs (m,) to the power −d/2 jump at each k: Sugar, James 2003.

    The first k is there to jump from, unless it is 1, which jumps from nothing.
    """
    return np.diff(costs ** (-n_features / 2), prepend=0.0)


def _silhouette(solved: _Solved, rng: Rng) -> Floats:
    """The mean silhouette of weighted points: Rousseeuw 1987. Of one cluster it is 0."""
    mass = whole(solved.cells, solved.weights, 0.0)
    if len(solved.weights) > _COMPARED:
        mass = coarser(mass, _COMPARED)
    points, weights = mass.points[:], mass.weights
    gaps = _distances(points, points)
    return np.array([_mean_silhouette(points, weights, gaps, c) for c in solved.centers])


def _mean_silhouette(points: Floats, weights: Floats, gaps: Floats, centers: Floats) -> float:
    """points: (n, d), weights: (n,), gaps: distances (n, n), centers: (k, d)."""
    rows, own = np.arange(len(points)), _distances(points, centers).argmin(axis=1)
    members = np.zeros((len(points), len(centers)))
    members[rows, own] = weights
    sizes = members.sum(axis=0)
    means = np.where(sizes > 0, gaps @ members / np.where(sizes > 0, sizes, 1.0), np.inf)
    inside = means[rows, own]
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    if not np.isfinite(outside).all():
        return 0.0
    larger = np.maximum(np.maximum(inside, outside), 1e-12)
    return float(weights @ ((outside - inside) / larger) / weights.sum())


def _gap(solved: _Solved, rng: Rng) -> Floats:
    half = solved.cells.widths / 2
    low = (solved.cells.middles - half).min(axis=0)
    high = (solved.cells.middles + half).max(axis=0)
    even = LooseCells(rng.uniform(low, high, (_COMPARED, len(low))), (high - low)[None])
    solver = SignedKMeans(even, np.full(_COMPARED, 1 / _COMPARED), 0.0)
    costs = [solver.solve(k, n_starts=_STARTS, rng=rng).cost for k in solved.ks]
    return gaps(solved.costs, np.array(costs))


def gaps(costs: Floats, even: Floats) -> Floats:
    """How much lower log cost (m,) lies than for points without clusters: Tibshirani et al. 2001.

    The largest gap is taken; the paper's first local one stops at clusters of clusters.
    """
    return np.log(np.maximum(even, 1e-12)) - np.log(costs)


def _stability(solved: _Solved, rng: Rng) -> Floats:
    """How alike the clusters of two draws are: Ben-Hur, Elisseeff, Guyon 2002. Of one it is 0."""
    points, weights = solved.cells.middles, solved.weights
    found = []
    for _ in range(_DRAWS):
        drawn, labels = solved.released.drawn(rng), []
        for k in solved.ks:
            centers, _ = weighted_kmeans(points, drawn, k, rng, n_starts=1, patience=3)
            labels.append(_distances(points, centers).argmin(axis=1))
        found.append(labels)
    return stabilities(found, weights)


def stabilities(found: list[list[Ints]], weights: Floats) -> Floats:
    """The mean agreement of draws, two by two, at each k; `found` are labels of points by draw."""
    pairs = list(zip(found[::2], found[1::2], strict=True))
    both = [[agreement(a, b, weights) for a, b in zip(*pair, strict=True)] for pair in pairs]
    means: Floats = np.mean(both, axis=0)
    return means


def agreement(one: Ints, other: Ints, weights: Floats) -> float:
    """The adjusted Rand index of two labellings of points (n,) with weights: Hubert, Arabie 1985.

    0 where both have one cluster alone.
    """
    shape = (int(one.max()) + 1, int(other.max()) + 1)
    places = np.ravel_multi_index((one, other), shape)
    table = np.bincount(places, weights / weights.sum(), shape[0] * shape[1]).reshape(shape)
    both, left, right = (
        float(np.square(sums).sum()) for sums in (table, table.sum(axis=1), table.sum(axis=0))
    )
    most, chance = (left + right) / 2, left * right
    return 0.0 if most - chance < 1e-12 else (both - chance) / (most - chance)


def _distances(points: Floats, others: Floats) -> Floats:
    """Distances (n, m) of points (n, d) to others (m, d)."""
    squares = np.square(points).sum(axis=1)[:, None] + np.square(others).sum(axis=1)
    distances: Floats = np.sqrt(np.maximum(squares - 2 * points @ others.T, 0))
    return distances


_SCORES = {"elbow": _elbow, "silhouette": _silhouette, "gap": _gap, "stability": _stability}

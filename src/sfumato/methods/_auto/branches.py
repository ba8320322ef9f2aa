"""The branches of `auto`: a grid or a tree in few columns, a tree in fewer axes, or the mean alone.

In many columns the axes are those that show the clusters: some columns, main axes of the rows, or
random directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH
from sfumato._synopsis.spread import synopsis_errors
from sfumato._uncertainty import Errors, Estimate
from sfumato.methods._auto.budget import (
    AXES,
    FIND_RADIUS,
    LOW,
    MANY,
    MIDDLE,
    BudgetSplit,
    FitBudget,
    RowCount,
    errors_of,
    high_split,
    middle_split,
)
from sfumato.methods._auto.full import by_counts, in_full
from sfumato.methods._auto.levels import distributions, most_varied
from sfumato.methods._auto.mixed import mean as mean_of
from sfumato.methods._auto.refine import (
    MEANS,
    Aim,
    Clusters,
    centers_of,
    merge,
    on_grid,
    on_tree,
    radius_around,
    refine,
)
from sfumato.methods._base import Centers, KChoice, Task, from_view, projection_of


def found_by(
    curator: Curator, budget: FitBudget, choose: KChoice, rng: Rng, aim: Aim = MEANS
) -> Centers:
    """Query by the branch for so many columns."""
    d = budget.task.n_features
    if d <= LOW:
        return _low(curator, budget, choose, rng, aim)
    if d <= MIDDLE:
        split = middle_split(budget)
        axes = _columns(curator, split)
    else:
        split = high_split(budget)
        if budget.n * budget.per_row(split.radii) <= FIND_RADIUS:
            return mean_alone(curator, budget, "noise hides how far rows reach")
        axes = _main_axes(curator, split, rng)
    return _deep(curator, axes, split, choose, rng, aim)


def padded(found: Centers, task: Task, rng: Rng) -> Centers:
    """As many centres as were asked for, some of them twice."""
    k = len(found.points)
    again = np.append(np.arange(k), rng.integers(k, size=task.k - k))
    times = np.bincount(again)[again]
    sizes = found.sizes[again] / times
    errors = None if found.errors is None else found.errors.take(again, times)
    note = f"{k} different centres, repeated to make {task.k}: ε is too small for more"
    return replace(
        found,
        points=found.points[again],
        sizes=sizes,
        notes=(*found.notes, note),
        errors=errors,
    )


def middle_alone(curator: Curator, budget: FitBudget) -> Centers:
    """The middle of the bounds, k times; all of ε is for the number of rows."""
    task = budget.task
    answer = curator.counts(Grid(1, task.n_features), share=budget.account.rest("pure"))
    n = answer.values[0]
    points = np.zeros((task.k, task.n_features))
    note = f"{_all(task)} the middle of the bounds: ε is too small for more than the number of rows"
    # The centres look at no row: without noise they would be the same.
    centers = Estimate(points, np.zeros(points.shape), "gaussian")
    errors = Errors(centers, _evenly(RowCount(float(n), answer.noise_std), task.k))
    return Centers(points, np.full(task.k, n / task.k), (note,), errors=errors)


def _evenly(rows: RowCount, k: int) -> Estimate:
    """Error bars of k sizes that are a k-th of all rows each."""
    return Estimate(np.full(k, rows.n / k), np.full(k, rows.std / k), "laplace")


def mean_alone(curator: Curator, budget: FitBudget, why: str) -> Centers:
    """The noisy mean of all rows, k times, with all that is left."""
    task, rows = budget.task, budget.rows
    if budget.currency == "gdp":
        # Beside Gaussian noise, what is left of pure ε counts the rows once more.
        everything = Grid(1, task.n_features)
        rests = (budget.account.rest("pure", i) for i in range(len(budget.account.caps.parts)))
        for share in rests:
            if share.amount:
                rows = rows.and_by(curator.counts(everything, share=share))
    found = mean_of(curator, budget.account.rest(budget.currency), rows, task)
    mean, rows = found.point, found.rows
    points, sizes = np.tile(mean, (task.k, 1)), np.full(task.k, rows.n / task.k)
    same = found.errors.take(np.zeros(task.k, dtype=np.int64))
    errors = Errors(same, _evenly(rows, task.k))
    return Centers(points, sizes, (f"{_all(task)} the noisy mean: {why}",), errors=errors)


def _all(task: Task) -> str:
    return f"All {task.k} centres are" if task.k > 1 else "The centre is"


# Rows × ε per cluster above which a step follows the cells, and the part of the cells then.
_PAYS = 100
FIRST = 0.6

# Rows lie in clumps if few of the 64 cells of a histogram hold most of them.
_CLUMPS = 0.04
_CLUMPED = 0.1
_SURE = 1.5
_TREE_PAYS = 60

_WIDE, _WIDEST = 0.95, 0.99
_CLEAR_STEP = 0.01


def _low(curator: Curator, budget: FitBudget, choose: KChoice, rng: Rng, aim: Aim) -> Centers:
    """A histogram to choose between grid and tree, counts of its cells, then one clipped step."""
    task, n = budget.task, budget.n
    epsilon = budget.per_row(budget.epsilon)
    per_cluster = n * epsilon / task.k
    clumped, why = _is_clumped(curator, budget.pure(_CLUMPS * budget.epsilon), n)
    twice = looks_twice(n, epsilon, task.k)
    share = budget.pure(FIRST * budget.epsilon) if twice else budget.account.rest("pure")
    if clumped and per_cluster > _TREE_PAYS:
        cells = on_tree(curator, share.evenly(2))
        chosen = f"PrivTree with {len(cells.weights):,} leaves, because {why}"
    else:
        grid = grid_of(task.k, task.n_features, n, budget.per_row(float(share.amount)))
        cells = on_grid(curator, grid, share)
        chosen = f"a grid of {len(cells.weights):,} cells, because {why}"
    k, how = choose(cells.synopsis, rng)
    rest = budget.per_row(float(budget.account.rest("pure").amount))
    noise = math.sqrt(task.n_features * (task.n_features + 3)) * k
    quantile = _WIDEST if rest and noise < _CLEAR_STEP * rest * n else _WIDE
    found = centers_of(cells, k, aim.low or quantile, rng, aim)
    notes = (chosen, *how)
    if not twice:
        note = "no further step: too few rows × ε for each cluster"
        errors = synopsis_errors(cells.synopsis, found.centers)
        return Centers(found.centers, found.sizes, (*notes, note), cells.synopsis, errors)
    moved = refine(curator, found, budget.account.rest("pure"))
    notes = (*notes, "one clipped step")
    return Centers(moved.centers, moved.sizes, notes, cells.synopsis, moved.errors)


def _is_clumped(curator: Curator, share: Share, n: float) -> tuple[bool, str]:
    """Whether few cells of a coarse histogram hold most rows, and why in words."""
    d = curator.box.n_features
    answer = curator.counts(Grid(max(2, round(64 ** (1 / d))), d), share=share)
    cells, variance = len(answer.values), answer.noise_std**2
    # Σ (count/n)², without the part that noise adds to it on average.
    held = (np.square(answer.values).sum() - cells * variance) / n**2
    doubt = math.sqrt(5 * cells) * variance / n**2
    clumped = bool(held > _CLUMPED + _SURE * doubt)
    return clumped, f"the rows {'lie in clumps' if clumped else 'are spread out'}"


def looks_twice(n: float, epsilon: float, k: int) -> bool:
    """Whether there are enough rows × ε for a step after the cells."""
    return n * epsilon / k > _PAYS


def grid_of(k: int, d: int, n: float, epsilon: float) -> Grid:
    """A grid of enough cells for k clusters, and no more than their noise allows."""
    per_row = 0.1 if d <= 2 else 0.2
    wanted = max(per_row * n * epsilon, (3**d + 3) * k, 16)
    return Grid(int(np.clip(math.ceil(wanted ** (1 / d)), 3, 4e5 ** (1 / d))), d)


# Half width of the domain along an axis, in standard deviations; less along random ones.
_SPREAD = 2.5
_SPREAD_RANDOM = 1.4

# Rows outside the ball in which the squares of columns are summed: a small cluster must not be.
_BEYOND_BALL = 0.03

# Mean squared distance of rows, as a part of the squared radius.
_INSIDE = 0.75

# Keep eigenvalues > 0.8 × noise edge; a spread is at least the root of 0.3 × that edge.
_ABOVE_EDGE = 0.8
_LEAST_SPREAD = 0.3

# Random directions for more than `MANY` clusters.
_RANDOM_AXES = 16


@dataclass(frozen=True)
class Axes:
    """A curator that sees the rows in these coordinates, and where in them the rows lie.

    `scale` is in steps of these coordinates per lattice step; `lift` takes points back to the
    lattice; `residual` is the mean squared distance of rows from what can be seen of them.
    """

    curator: Curator
    note: str
    domain: Domain | None = None
    lift: Callable[[Floats], Floats] = lambda points: points
    scale: float = 1.0
    residual: float = 0.0


def _columns(curator: Curator, split: BudgetSplit) -> Axes:
    """The columns that vary most, as far as rows reach around their mean; or all as they are."""
    if not split.mean:
        return Axes(curator, "all columns")
    d = curator.box.n_features
    fit = split.steps.fit
    mean, rows, _ = mean_of(curator, split.steps.share(split.mean), fit.rows, fit.task)
    n = rows.n
    radius = _radius(curator, mean, split, n, _BEYOND_BALL)
    ball = curator.view(projection_of(np.eye(d), mean, REACH / radius, ball=True))
    answer = ball.moments(Squares(d), share=split.steps.share(split.moments))
    squares = np.maximum(answer.values, answer.noise_std) * (radius / REACH) ** 2 / n
    chosen = np.sort(np.argsort(-squares)[:AXES])
    reach = _SPREAD * np.sqrt(squares[chosen])
    low, high = (np.clip(mean[chosen] + side * reach, -REACH, REACH) for side in (-1, 1))
    domain = _domain(low, high)
    note = f"{len(chosen)} of {d} columns, as far as the rows reach"
    if len(chosen) == d:
        return Axes(curator, note, domain)

    def lift(points: Floats) -> Floats:
        lifted = np.tile(mean, (len(points), 1))
        lifted[:, chosen] = points
        return lifted

    seen = curator.view(Projection(np.eye(d, dtype=np.int64)[chosen], np.zeros(d, dtype=np.int64)))
    residual = max(_INSIDE * radius**2 - squares[chosen].sum(), 0.0)
    return Axes(seen, note, domain, lift, residual=residual)


def _main_axes(curator: Curator, split: BudgetSplit, rng: Rng) -> Axes:
    """The main axes of the rows in a random sketch; random directions where noise hides them."""
    fit = split.steps.fit
    d, many, levels = curator.box.n_features, fit.task.k > MANY, fit.task.levels
    mean, rows, _ = mean_of(curator, split.steps.share(split.mean), fit.rows, fit.task)
    n = rows.n
    size = split.sketch or min(_RANDOM_AXES if many else AXES, d)
    if levels:
        sketch = most_varied(mean, size, levels)
    else:
        sketch = np.eye(d) if size == d else np.linalg.qr(rng.normal(size=(d, size)))[0].T
    # Twice the half diagonal is the longest that a difference to the mean can be.
    whole = projection_of(sketch, mean, 1 / (2 * math.sqrt(d)))
    radius = _radius(curator.view(whole), np.zeros(size), split, n) * 2 * math.sqrt(d)
    if not split.sketch:
        reach = np.full(size, min((_SPREAD_RANDOM if many else _SPREAD) / math.sqrt(size), 1.0))
        directions, note = sketch, f"{size} {'columns' if levels else 'random directions'}"
    else:
        ball = curator.view(projection_of(sketch, mean, REACH / radius, ball=True))
        axes, reach = _main(ball, split.steps.share(split.moments), n)
        directions = axes @ sketch
        note = f"{len(axes)} main axes of a sketch of {size} columns"
    projection = projection_of(directions, mean, REACH / radius)
    domain = _domain(-reach * REACH, reach * REACH)
    seen = curator.view(projection)
    return Axes(seen, note, domain, partial(from_view, projection), REACH / radius)


def _main(ball: Curator, share: Share, n: float) -> tuple[Floats, Floats]:
    """Eigenvectors (m, size) that stand out from noise, and the half widths (m,), radius 1."""
    size = ball.box.n_features
    answer = ball.moments(Products(size), share=share)
    values, vectors = np.linalg.eigh(answer.values / REACH**2)
    values, vectors = values[::-1], vectors.T[::-1]
    edge = math.sqrt(2 * size) * answer.noise_std / REACH**2
    number = int(np.clip((values > _ABOVE_EDGE * edge).sum(), 2, min(AXES, size)))
    spread = np.sqrt(np.maximum(values[:number], _LEAST_SPREAD * edge) / n)
    return vectors[:number], np.minimum(_SPREAD * spread, 1.0)


def _radius(
    curator: Curator, center: Floats, split: BudgetSplit, n: float, beyond: float = 0.1
) -> float:
    """The radius around a centre (d,) that leaves so many rows beyond, more if noise is large."""
    share = split.reach_share()
    outside = min(0.5, max(beyond, 16 / (split.steps.fit.per_row(split.radii) * n)))
    return radius_around(curator, center[None], share, outside=outside, n=n)


def _domain(low: Floats, high: Floats) -> Domain:
    """A box of whole numbers around low and high (m,), at least REACH/50 wide."""
    middle = (low + high) / 2
    half = np.maximum((high - low) / 2, REACH / 100)
    low, high = np.clip(middle - half, -REACH, REACH), np.clip(middle + half, -REACH, REACH)
    return Domain(*(tuple(ends.astype(int).tolist()) for ends in (np.floor(low), np.ceil(high))))


# Small clusters first, as long as noise stays below a twelfth of their rows.
_FINER = (8, 4, 2)
_ROWS_PER_NOISE = 12


def _deep(
    curator: Curator, axes: Axes, split: BudgetSplit, choose: KChoice, rng: Rng, aim: Aim
) -> Centers:
    """Cluster a PrivTree in these axes, move the centres there, then in all columns."""
    counted = on_tree(axes.curator, split.tree_shares(), axes.domain)
    k, how = choose(counted.synopsis, rng)
    many = _finer(split, k, axes.curator.box.n_features)
    many = min(many, max(k, int(np.count_nonzero(counted.weights)) // 2))
    found = centers_of(counted, many, aim.deep, rng, aim)
    for part in split.inside:
        found = merge(refine(axes.curator, found, split.steps.share(part)), k, rng, aim)
    points = np.clip(axes.lift(found.centers), -REACH, REACH)
    points = distributions(points, split.steps.fit.task.levels)
    radii = np.sqrt(np.square(found.radii / axes.scale) + axes.residual)
    lifted = Clusters(points, found.sizes, radii)
    counts = aim.means and counts_levels(split)
    if counts:
        moved = by_counts(curator, lifted, split)
    else:
        moved = in_full(curator, replace(lifted, rates=aim.rate), split, aim, rng)
    steps = f"{len(split.inside)} clipped steps there and {len(split.full)} in all columns"
    notes = (
        f"PrivTree with {len(counted.weights):,} leaves in {axes.note}",
        *how,
        f"{steps}, by counts of levels" if counts else steps,
    )
    return Centers(moved.centers, moved.sizes, notes, errors=moved.errors)


def counts_levels(split: BudgetSplit) -> bool:
    """Whether steps in all columns count the levels of categories in place of summing them."""
    task = split.steps.fit.task
    return bool(task.levels) and errors_of(task, pure=split.steps.pure).by_counts


def _finer(split: BudgetSplit, k: int, d: int) -> int:
    """How many clusters to begin with, in d dimensions."""
    if not split.inside:
        return k
    noise = _ROWS_PER_NOISE * math.sqrt(d) * split.steps.noise(split.inside[0], d)
    return k * next((o for o in _FINER if split.steps.fit.n / (o * k) > noise), 1)

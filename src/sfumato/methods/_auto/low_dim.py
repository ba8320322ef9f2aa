"""Up to three columns: a grid or a tree of counts, denoised, clustered, refined once."""

from __future__ import annotations

import math

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Rng
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato.methods._auto.budget import FitBudget
from sfumato.methods._auto.refine import refine
from sfumato.methods._auto.synopsis import centers_of, on_grid, on_tree
from sfumato.methods._base import Centers, KChoice

# Rows × ε per cluster above which a step follows the cells, and the part of the cells then.
_PAYS = 100
FIRST = 0.6

# Rows lie in clumps if few of the 64 cells of a histogram hold most of them.
_CLUMPS = 0.04
_CLUMPED = 0.1
_SURE = 1.5
_TREE_PAYS = 60

_WIDE, _WIDEST = 0.95, 0.99
_CLEAR = 0.01


def low(curator: Curator, budget: FitBudget, choose: KChoice, rng: Rng) -> Centers:
    """A histogram to choose between grid and tree, counts of its cells, then one clipped step."""
    task, n = budget.task, budget.n
    epsilon = budget.per_row(budget.epsilon)
    per_cluster = n * epsilon / task.k
    clumped, why = _is_clumped(curator, budget.pure(_CLUMPS * budget.epsilon), n)
    twice = looks_twice(n, epsilon, task.k)
    share = budget.pure(FIRST * budget.epsilon) if twice else budget.rest("pure")
    if clumped and per_cluster > _TREE_PAYS:
        cells = on_tree(curator, share)
        chosen = f"PrivTree with {len(cells.weights):,} leaves, because {why}"
    else:
        grid = grid_of(task.k, task.n_features, n, budget.per_row(float(share.amount)))
        cells = on_grid(curator, grid, share)
        chosen = f"a grid of {len(cells.weights):,} cells, because {why}"
    k, how = choose(cells.synopsis, rng)
    rest = budget.per_row(float(budget.rest("pure").amount))
    noise = math.sqrt(task.n_features * (task.n_features + 3)) * k
    quantile = _WIDEST if rest and noise < _CLEAR * rest * n else _WIDE
    found = centers_of(cells, k, quantile, rng)
    notes = (chosen, *how)
    if not twice:
        note = "no further step: too few rows × ε for each cluster"
        return Centers(found.centers, found.sizes, (*notes, note), cells.synopsis)
    moved = refine(curator, found, budget.rest("pure"))
    return Centers(moved.centers, moved.sizes, (*notes, "one clipped step"), cells.synopsis)


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

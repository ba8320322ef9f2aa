"""Audits by one run: many made-up rows, each inside with probability ½, and guesses about them.

Steinke, Nasr, Jagielski. Privacy auditing with one (1) training run. NeurIPS 2023, Theorem 5.2.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betainc

from sfumato._accounting.budget import Account, Caps
from sfumato._base.types import Floats
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._core.curator import Curator
from sfumato._core.queries.cells import Grid
from sfumato._lattice.box import REACH
from sfumato.audit._observe import new_estimator
from sfumato.audit._verdict import Verdict

_BLOCK = 256
_LARGEST = 50.0
_STREAM = 2305


def canaries(
    release: Callable[[Floats], Any],
    rows: Any = None,  # noqa: ANN401
    *,
    epsilon: float,
    delta: float = 0.0,
    alpha: float = 1e-3,
    guesses: float = 0.3,
    random_state: int | None = None,
) -> Verdict:
    """Audit one run: guess of the surest canaries whether they were inside.

    Parameters
    ----------
    release : callable
        Takes the canaries that are inside, (n, d), and returns a score for each of all m of them,
        (m,), that is larger for those inside: the noisy count of its cell. `GridCounts`,
        `GridSums` and `SynopsisCounts` are ready-made.
    rows : array of shape (m, d), optional
        The canaries; by default `release.rows`. Each is one person.
    epsilon, delta : float
        What is claimed for the release, for adding or removing one row.
    alpha : float
        The most that the bound may be wrong with.
    guesses : float
        The part of the canaries that are guessed: those with the largest scores are called inside,
        as many with the smallest ones outside.
    random_state : int, optional
        Seeds who is inside; by default it differs in every run.

    Returns
    -------
    verdict : Verdict
        As of `audit.run`, with one fit.

    """
    claim = float(check_epsilon(epsilon)), float(check_delta(delta))
    table = np.asarray(release.rows if rows is None else rows, dtype=np.float64)  # type: ignore[attr-defined]
    m = len(table)
    if not 0 < guesses <= 1 or not 0 < alpha < 1 or table.ndim != 2:
        raise ValueError(
            "canaries need rows of shape (m, d), guesses in (0, 1] and alpha in (0, 1), got shape "
            f"{table.shape}, guesses={guesses!r}, alpha={alpha!r}"
        )
    began = time.monotonic()
    # A stream of its own, whatever seeds the noise.
    seed = None if random_state is None else (_STREAM, random_state)
    inside = np.random.default_rng(seed).random(m) < 0.5
    scores = np.asarray(release(table[inside]), dtype=np.float64)
    if scores.shape != (m,):
        raise ValueError(
            f"the release must return one score for each of {m} canaries, got shape {scores.shape}"
        )
    each = max(1, int(guesses * m / 2))
    order = np.argsort(scores, kind="stable")
    right = int((~inside[order[:each]]).sum() + inside[order[m - each :]].sum())
    bound = one_run_epsilon(right, 2 * each, m, alpha=alpha, delta=claim[1])
    return Verdict(
        *claim,
        epsilon_lower=bound,
        confidence=1 - alpha,
        trials=1,
        seconds=time.monotonic() - began,
        pair=f"{m:,} canaries",
        event=f"{right:,} of {2 * each:,} guesses about who was inside were right",
        seen=((1, bound),),
        by_pair={"canaries": bound},
    )


def one_run_p_value(right: int, made: int, m: int, epsilon: float, delta: float = 0.0) -> float:
    """Return the most that (ε, δ)-DP allows for the probability of so many right guesses.

    Of m canaries, `made` were guessed and `right` of these guesses were right. With W binomial,
    of `made` and e^ε/(1 + e^ε), it is P[W ≥ v] + 2mδ·max over i of P[v > W ≥ v − i]/i.
    """
    rate = 1 / (1 + math.exp(-epsilon))
    found = float(betainc(right, made - right + 1, rate)) if right else 1.0
    if delta and right:
        below = np.cumsum(stats.binom.pmf(np.arange(right - 1, -1, -1), made, rate))
        found += 2 * m * delta * float((below / np.arange(1, right + 1)).max())
    return min(1.0, found)


def one_run_epsilon(right: int, made: int, m: int, *, alpha: float, delta: float = 0.0) -> float:
    """Return the largest ε that so many right guesses refute, or 0; at most 50."""
    if not 0 <= right <= made <= m:
        raise ValueError(f"0 ≤ right ≤ made ≤ m is needed, got {right}, {made}, {m}")
    low, high = 0.0, _LARGEST
    if one_run_p_value(right, made, m, low, delta) > alpha:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        if one_run_p_value(right, made, m, middle, delta) <= alpha:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class GridCounts:
    """Noisy counts of a grid in the plane, from our curator: one canary in the middle of a cell."""

    m: int
    epsilon: float
    delta: float = 0.0

    @property
    def _grid(self) -> Grid:
        return Grid(math.isqrt(check_whole(self.m, "m") - 1) + 1, 2)

    @property
    def rows(self) -> Floats:
        """The canaries, (m, 2), in lattice steps."""
        return self._grid.centers()[: self.m]

    def __call__(self, rows: Floats) -> Floats:
        """Release counts of rows, (n, 2): (m,)."""
        curator, account = _opened(rows, self.epsilon, self.delta)
        share = account.rest("gdp" if self.delta else "pure")
        return curator.counts(self._grid, share=share).values[: self.m]


@dataclass(frozen=True)
class GridSums:
    """Noisy sums of rows at the corners of a cube, from our curator: one canary in each corner.

    There are 2^d corners. A row there moves the sums of its cell as far as a row can.
    """

    d: int
    epsilon: float
    delta: float = 0.0

    @property
    def rows(self) -> Floats:
        """The canaries, (2^d, d), in lattice steps."""
        return np.sign(Grid(2, self.d).centers()) * REACH

    def __call__(self, rows: Floats) -> Floats:
        """Release sums of rows, (n, d), and score every corner, (2^d,)."""
        curator, account = _opened(rows, self.epsilon, self.delta)
        share = account.rest("gdp" if self.delta else "pure")
        sums = curator.sums(Grid(2, self.d), share=share).sums.values.reshape(-1, self.d)
        corners = self.rows
        # The likelihood ratio of a shift under Gaussian noise, and under Laplace noise.
        each = sums * corners if self.delta else np.abs(sums) - np.abs(sums - corners)
        scores: Floats = each.sum(axis=1)
        return scores


@dataclass(frozen=True, eq=False)
class SynopsisCounts:
    """The synopsis of an estimator in the plane: canaries in the middles of a grid of their own.

    `estimator` is cloned; it has `bounds`, scalars, and releases a `synopsis_` of cells. A
    declared `n_rows` of about ten times m over ε makes its grid as fine as that of the canaries.
    """

    estimator: Any
    m: int
    bounds: tuple[float, float]

    @property
    def rows(self) -> Floats:
        """The canaries, (m, 2), in units of the bounds."""
        low, high = self.bounds
        side = math.isqrt(check_whole(self.m, "m") - 1) + 1
        middles = Grid(side, 2).centers()[: self.m] / REACH
        return (low + high) / 2 + middles * (high - low) / 2

    def __call__(self, rows: Floats) -> Floats:
        """Fit, and score every canary by the weight of its cell, (m,)."""
        synopsis = new_estimator(self.estimator).fit(rows).synopsis_
        points, cells = self.rows, np.asarray(synopsis.cells)
        reach = np.asarray(synopsis.widths) / 2
        found = np.empty(len(points), dtype=np.int64)
        for start in range(0, len(points), _BLOCK):
            block = points[start : start + _BLOCK, None]
            found[start : start + _BLOCK] = (
                (np.abs(block - cells) / reach).max(axis=2).argmin(axis=1)
            )
        # Half of the canaries that share a cell are expected to be inside.
        shared = np.bincount(found, minlength=len(cells))[found] - 1
        scores: Floats = synopsis.weights[found] - shared / 2
        return scores


def _opened(rows: Floats, epsilon: float, delta: float) -> tuple[Curator, Account]:
    """A curator of rows, (n, d), in lattice steps, and an account of all its budget."""
    curator = Curator(rows, bounds=(-REACH, REACH), epsilon=epsilon, delta=delta)
    exact = check_epsilon(epsilon)
    caps = Caps(gaussian=(exact, check_delta(delta))) if delta else Caps(pure=exact)
    return curator, curator.reserve("audit", caps)

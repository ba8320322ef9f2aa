"""The cost of every swap of a centre with a candidate, from one pass: docs/proofs/choose.md.

Squared distances are over the columns that a row has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from sfumato._base.types import Floats, Ints, Lattice
from sfumato._lattice.box import has_gaps
from sfumato._lattice.kernels import gaps
from sfumato._lattice.kernels.dispatch import compiled

LIMB = 32
"""A cost is kept as high·2^LIMB + low, both int64, so that no sum of them can wrap."""

# Sums of scores over a block stay below 3·2^30·2^20 < 2^53, and its buffers in the cache.
_BLOCK_CELLS = 2**20
_BLOCK_SCORES = 2**18


def candidate_costs(rows: Lattice, candidates: Ints, state: Ints) -> None:
    """Add to `state`, of shape (m, 2), what the rows cost each of m sets of k centres."""
    m, k, d = candidates.shape
    # |x − c|² = |x|² + (|c|² − 2x·c); a column of ones carries |c|².
    weights = np.empty((k, d + 1, m))
    weights[:, 0] = np.square(candidates).sum(axis=2).T
    weights[:, 1:] = -2 * candidates.transpose(1, 2, 0)
    step = max(1, min(_BLOCK_CELLS // (d + 1), _BLOCK_SCORES // m))
    values = np.ones((step, d + 1))
    best, other = np.empty((step, m)), np.empty((step, m))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        n = len(block)
        if has_gaps(block):
            best[:n] = _least(block, candidates)
            block = gaps.filled(block, 0)
        else:
            values[:n, 1:] = block
            np.dot(values[:n], weights[0], out=best[:n])
            for centers in weights[1:]:
                np.dot(values[:n], centers, out=other[:n])
                np.minimum(best[:n], other[:n], out=best[:n])
        costs = best[:n].sum(axis=0).astype(np.int64)
        costs += np.square(block.astype(np.int64)).sum()
        state[:, 0] += costs >> LIMB
        state[:, 1] += costs & ((1 << LIMB) - 1)


def _least(rows: Lattice, candidates: Ints) -> Floats:
    """The least score of each row, which may have gaps, in each set of points."""
    best = gaps.scores(rows, candidates[:, 0])
    for i in range(1, candidates.shape[1]):
        np.minimum(best, gaps.scores(rows, candidates[:, i]), out=best)
    return best


# Sums of scores over a block stay below 3·2^30·2^20 < 2^53, and its buffers in the cache.
_SWAP_CELLS = 2**20
_SWAP_SCORES = 2**17

# Compiled loops gain as much on this many candidates as on the columns of a row elsewhere.
_AS_MUCH = 8

_TwoNearest = Callable[[Floats, Ints, Floats, Floats], None]
_Sums = Callable[[Floats, Floats, Floats, Ints, Floats, Floats], None]


def swap_costs(rows: Lattice, centers: Ints, candidates: Ints, state: Ints) -> None:
    """Add to `state`, of shape (k + 1, m, 2), what the rows cost with every candidate.

    With d the squared distance of a row to a candidate, and d1 ≤ d2 those to its two nearest
    centres: line 0 is Σ min(d, d1) over all rows, line i + 1 is Σ min(d, d2) − min(d, d1) over the
    rows whose nearest centre is i, all in two limbs.
    """
    k, m, d = len(centers), len(candidates), rows.shape[1]
    step = max(1, min(_SWAP_CELLS // (d + 1), _SWAP_SCORES // max(k, m)))
    to_centers, to_candidates = _weights(centers), _weights(candidates)
    values, near, far = np.ones((step, d + 1)), np.empty((step, k)), np.empty((step, m))
    labels, first, second = np.empty(step, dtype=np.int64), np.empty(step), np.empty(step)
    faster = compiled(rows, 1 + m // _AS_MUCH)
    two_nearest, sums = _compiled_loops() if faster else (_two_nearest, _sums)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        n = len(block)
        if has_gaps(block):
            near[:n], far[:n] = gaps.scores(block, centers), gaps.scores(block, candidates)
            block = gaps.filled(block, 0)
        else:
            values[:n, 1:] = block
            np.dot(values[:n], to_centers, out=near[:n])
            np.dot(values[:n], to_candidates, out=far[:n])
        two_nearest(near[:n], labels[:n], first[:n], second[:n])
        found, line = _present(labels[:n], k)
        kept, moved = np.zeros(m), np.zeros((len(found), m))
        sums(far[:n], first[:n], second[:n], line, kept, moved)
        _add(kept.astype(np.int64) + np.square(block, dtype=np.int64).sum(), 0, state)
        _add(moved.astype(np.int64), found + 1, state)


def _weights(points: Ints) -> Floats:
    # |x − c|² = |x|² + (|c|² − 2x·c); a column of ones carries |c|².
    weights = np.empty((points.shape[1] + 1, len(points)))
    weights[0] = np.square(points).sum(axis=1)
    weights[1:] = -2 * points.T
    return weights


def _present(labels: Ints, k: int) -> tuple[Ints, Ints]:
    """The labels that occur, in ascending order, and where among them each of `labels` is."""
    occurs = np.zeros(k, dtype=np.int64)
    occurs[labels] = 1
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[labels]


def _two_nearest(scores: Floats, labels: Ints, first: Floats, second: Floats) -> None:
    """Write the nearest centre of each row, its score and the next one's; uses up `scores`."""
    everyone = np.arange(len(scores))
    np.argmin(scores, axis=1, out=labels)
    first[:] = scores[everyone, labels]
    scores[everyone, labels] = np.inf
    np.min(scores, axis=1, out=second)


def _add(costs: Ints, lines: Ints | int, state: Ints) -> None:
    state[lines, :, 0] += costs >> LIMB
    state[lines, :, 1] += costs & ((1 << LIMB) - 1)


@cache
def _compiled_loops() -> tuple[_TwoNearest, _Sums]:
    from sfumato._lattice.kernels.verify import swap_loops

    return swap_loops(_two_nearest, _sums)


def _sums(
    scores: Floats, first: Floats, second: Floats, line: Ints, kept: Floats, moved: Floats
) -> None:
    """Add min(score, first) into `kept`, and what min(score, second) is more into its line."""
    order = np.argsort(line, kind="stable")
    starts = np.searchsorted(line[order], np.arange(len(moved)))
    scores = scores[order]
    near = np.minimum(scores, first[order, np.newaxis])
    kept += near.sum(axis=0)
    np.minimum(scores, second[order, np.newaxis], out=scores)
    scores -= near
    moved += np.add.reduceat(scores, starts, axis=0)

"""The cost of every swap of a centre with a candidate, from one pass: docs/proofs/swaps.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.box import Floats, Ints, Lattice
from sfumato.engines.kernels import compiled
from sfumato.engines.kernels_cost import LIMB

# Sums of scores over a block stay below 3·2^30·2^20 < 2^53, and its buffers in the cache.
_BLOCK_CELLS = 2**20
_BLOCK_SCORES = 2**17

# Compiled loops gain as much on this many candidates as on the columns of a row elsewhere.
_AS_MUCH = 8


def swap_costs(rows: Lattice, centers: Ints, candidates: Ints, state: Ints) -> None:
    """Add to `state`, of shape (k + 1, m, 2), what the rows cost with every candidate.

    With d the squared distance of a row to a candidate, and d1 ≤ d2 those to its two nearest
    centres: line 0 is Σ min(d, d1) over all rows, line i + 1 is Σ min(d, d2) − min(d, d1) over the
    rows whose nearest centre is i, all in two limbs.
    """
    k, m, d = len(centers), len(candidates), rows.shape[1]
    step = max(1, min(_BLOCK_CELLS // (d + 1), _BLOCK_SCORES // max(k, m)))
    to_centers, to_candidates = _weights(centers), _weights(candidates)
    values, near, far = np.ones((step, d + 1)), np.empty((step, k)), np.empty((step, m))
    sums = _compiled_sums() if compiled(rows, 1 + m // _AS_MUCH) else _sums
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        n = len(block)
        values[:n, 1:] = block
        np.dot(values[:n], to_centers, out=near[:n])
        labels, first, second = _two_nearest(near[:n])
        np.dot(values[:n], to_candidates, out=far[:n])
        found, line = np.unique(labels, return_inverse=True)
        kept, moved = np.zeros(m), np.zeros((len(found), m))
        sums(far[:n], first, second, line, kept, moved)
        _add(kept.astype(np.int64) + np.square(block.astype(np.int64)).sum(), 0, state)
        _add(moved.astype(np.int64), found + 1, state)


def _weights(points: Ints) -> Floats:
    # |x − c|² = |x|² + (|c|² − 2x·c); a column of ones carries |c|².
    weights = np.empty((points.shape[1] + 1, len(points)))
    weights[0] = np.square(points).sum(axis=1)
    weights[1:] = -2 * points.T
    return weights


def _two_nearest(scores: Floats) -> tuple[Ints, Floats, Floats]:
    """Number of the nearest centre of each row, its score, and the next one's; uses up `scores`."""
    labels, everyone = scores.argmin(axis=1), np.arange(len(scores))
    first = scores[everyone, labels]
    scores[everyone, labels] = np.inf
    return labels, first, scores.min(axis=1)


def _add(costs: Ints, lines: Ints | int, state: Ints) -> None:
    state[lines, :, 0] += costs >> LIMB
    state[lines, :, 1] += costs & ((1 << LIMB) - 1)


def _compiled_sums() -> Callable[[Floats, Floats, Floats, Ints, Floats, Floats], None]:
    from sfumato.engines.kernels_swaps_numba import sums

    return sums


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

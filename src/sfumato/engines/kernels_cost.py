"""The k-means cost of many sets of centres at once, exactly: docs/proofs/cost.md."""

from __future__ import annotations

import numpy as np

from sfumato.box import Ints, Lattice

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
        values[:n, 1:] = block
        np.dot(values[:n], weights[0], out=best[:n])
        for centers in weights[1:]:
            np.dot(values[:n], centers, out=other[:n])
            np.minimum(best[:n], other[:n], out=best[:n])
        costs = best[:n].sum(axis=0).astype(np.int64)
        costs += np.square(block.astype(np.int64)).sum()
        state[:, 0] += costs >> LIMB
        state[:, 1] += costs & ((1 << LIMB) - 1)

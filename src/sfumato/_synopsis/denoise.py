"""Empirical Bayes: estimates of the numbers before the noise, from all noisy ones together.

The prior is fitted to the released numbers themselves by maximum likelihood (Kiefer, Wolfowitz
1956) over fixed pieces, by EM; the answer for each number is its posterior mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import uniform_filter

from sfumato._base.types import Floats, Ints
from sfumato._synopsis.cells import Cells, GridCells

_PIECES = 63
_COUNT_STEPS = 80
_BINS = 240
# Bins are even below so many scales of the noise, logarithmic above.
_FINE = 12

_ATOMS = 61
_EVEN_ATOMS = 81
_VALUE_STEPS = 60
_FITTED = 2**13


def counts_behind(noisy: Floats, scale: float, *, kappa: float = 1.5, doubt: float = 0.8) -> Floats:
    """Estimate counts of at least 0 from counts (n,) with Laplace noise.

    The prior is a share of zeros and a step function above. In every step of the fit `kappa` counts
    are taken from the steps and called zeros: else the largest noise of many empty cells would
    explain itself. A count is 0 where it is below `scale` with probability `doubt` or more.
    """
    if not len(noisy) or scale <= 0:
        return np.maximum(noisy, 0.0)
    # Below 0 all counts are equally far off: nothing is lost by cutting there.
    values = np.maximum(noisy, 0.0)
    seen, tally = _binned(values, scale)
    edges = np.geomspace(scale / 2, values.max() + 3 * scale, _PIECES + 1)
    likelihood, means = _laplace_pieces(seen, edges, scale)
    prior = np.full(_PIECES + 1, 0.5 / _PIECES)
    prior[0] = 0.5
    taken = min(kappa / len(noisy), 0.5)
    for _ in range(_COUNT_STEPS):
        prior = _step(likelihood, prior, tally)
        above = prior[1:].sum()
        prior[1:] *= max(above - taken, 1e-9) / max(above, 1e-9)
        prior[0] = 1 - prior[1:].sum()
    posterior = _posterior(likelihood, prior)
    estimates = (posterior * means).sum(axis=1)
    small = np.append(True, np.sqrt(edges[1:] * edges[:-1]) < scale)
    doubts = posterior[:, small].sum(axis=1)
    clear = np.interp(values, seen, doubts) < doubt
    return np.where(clear, np.interp(values, seen, estimates), 0.0)


def values_behind(noisy: Floats, std: Floats | float) -> Floats:
    """Estimate values (n,) from values with Gaussian noise; std: one number, or (n,).

    The atoms of the prior reach from the lowest to the highest value, closest together at 0.
    """
    if not len(noisy):
        return noisy.copy()
    low, high = min(float(noisy.min()), -1e-12), max(float(noisy.max()), 1e-12)
    bent = np.sinh(3 * np.linspace(-1, 1, _ATOMS)) / np.sinh(3)
    return _by_atoms(noisy, std, np.where(bent < 0, -bent * low, bent * high))


def values_between(noisy: Floats, std: Floats | float, low: float, high: float) -> Floats:
    """Estimate values (n,) known to lie in a range; the atoms of the prior are even over it."""
    return _by_atoms(noisy, std, np.linspace(low, high, _EVEN_ATOMS))


def _by_atoms(noisy: Floats, std: Floats | float, atoms: Floats) -> Floats:
    """Posterior means of values (n,) under a prior on atoms (m,), fitted to them."""
    stds = np.maximum(np.broadcast_to(np.asarray(std, dtype=np.float64), noisy.shape), 1e-300)
    # Of very many values evenly chosen ones, from the lowest to the highest, fit the prior as well.
    order = np.argsort(noisy, kind="stable") if len(noisy) > _FITTED else np.arange(len(noisy))
    fitted = order[:: -(-len(noisy) // _FITTED)]
    likelihood, _ = _gaussian_pieces(noisy[fitted], stds[fitted], atoms)
    prior = np.full(len(atoms), 1 / len(atoms))
    for _ in range(_VALUE_STEPS):
        prior = _step(likelihood, prior, np.ones(len(fitted)))
    out = np.empty(len(noisy))
    for start in range(0, len(noisy), _FITTED):
        part = slice(start, start + _FITTED)
        likelihood, means = _gaussian_pieces(noisy[part], stds[part], atoms)
        out[part] = (_posterior(likelihood, prior) * means).sum(axis=1)
    return out


def _step(likelihood: Floats, prior: Floats, tally: Floats) -> Floats:
    """One step of EM on the prior (m,); likelihood: (n, m), tally: (n,)."""
    shares: Floats = prior * ((tally / np.maximum(likelihood @ prior, 1e-300)) @ likelihood)
    shares /= shares.sum()
    return shares


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    """The probability of each piece, (n, m)."""
    joint = likelihood * prior
    shares: Floats = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return shares


def _binned(values: Floats, scale: float) -> tuple[Floats, Floats]:
    """The means of values (n,) in narrow bins, ascending, and how many are in each."""
    fine = np.linspace(0, _FINE * scale, _BINS + 1)
    wide = np.geomspace(_FINE * scale, max(values.max(), 2 * _FINE * scale), _BINS + 1)
    bins = np.searchsorted(np.concatenate([fine, wide[1:]]), values)
    tally = np.bincount(bins).astype(np.float64)
    full = tally > 0
    return np.bincount(bins, values)[full] / tally[full], tally[full]


def _laplace_pieces(seen: Floats, edges: Floats, scale: float) -> tuple[Floats, Floats]:
    """The likelihood of n numbers under m pieces of the prior, and the means within: (n, m).

    The pieces are 0 and the steps between edges (m,), under Laplace noise; exact integrals.
    """
    gaps = (seen[:, None] - edges) / scale
    tails = np.exp(-np.abs(gaps)) / 2
    signed = np.copysign(tails, gaps)
    inside = (gaps[:, :-1] >= 0) & (gaps[:, 1:] < 0)
    mass = np.maximum(signed[:, 1:] - signed[:, :-1] + inside, 0)
    moments = (np.abs(gaps) + 1) * tails
    # E[count | step] = seen − E[noise | step], the noise lying between the two gaps.
    noise = scale * (moments[:, 1:] - moments[:, :-1]) / np.maximum(mass, 1e-300)
    means = np.clip(seen[:, None] - noise, edges[:-1], edges[1:])
    widths = np.diff(edges) / scale
    at_zero = np.exp(-seen[:, None] / scale) / 2
    likelihood = np.hstack([at_zero, mass / widths])
    return likelihood, np.hstack([np.zeros((len(seen), 1)), means])


def _gaussian_pieces(noisy: Floats, stds: Floats, atoms: Floats) -> tuple[Floats, Floats]:
    """The same for atoms (m,), spread out where Gaussian noise is finer than their gaps."""
    spread = np.maximum(np.gradient(atoms) / 2 - stds[:, None], 0) ** 2
    variance = spread + stds[:, None] ** 2
    squares = (noisy[:, None] - atoms) ** 2 / variance
    # Only ratios within a row count, so the largest may as well be near 1.
    squares -= squares.min(axis=1, keepdims=True)
    likelihood = np.exp(-squares / 2) * (stds[:, None] / np.sqrt(variance))
    return likelihood, atoms + (noisy[:, None] - atoms) * (spread / variance)


_LEAST = 40
_NEGLIGIBLE = 0.1
_NEAR_CUTS = (1.0, 3.0, 8.0)
_FAR_CUTS = (2.0, 6.0)
_FAR = 7
_POOLS = (3, 5, 9)
# In many boxes noise alone reaches 3; a little weight far from all rows draws a centre there.
_SIGNIFICANT = 4.0


def denoise_grid(weights: Floats, per_axis: int, n_features: int, scale: float) -> Floats:
    """Estimate the counts (per_axis^d,) of an even grid with Laplace noise of this scale."""
    grid = weights.reshape((per_axis,) * n_features)
    far = min(_FAR, 2 * (per_axis // 4) + 1) if per_axis >= 8 else 3
    near = np.searchsorted(_NEAR_CUTS, _clearness(grid, 3, scale))
    wide = np.searchsorted(_FAR_CUTS, _clearness(grid, far, scale))
    kinds = near + (len(_NEAR_CUTS) + 1) * wide
    counts = _within(weights, kinds.ravel(), scale).reshape(grid.shape)
    counts[counts < _NEGLIGIBLE * scale] = 0
    return _pooled(grid, counts, scale).ravel()


def denoise_leaves(weights: Floats, volumes: ArrayLike, scale: float) -> Floats:
    """Estimate the counts (m,) of a tree's leaves, among leaves of equal volume (m,)."""
    sizes = np.log2(np.asarray(volumes, dtype=np.float64))
    return _within(weights, np.rint(sizes - sizes.min()).astype(np.int64), scale)


def denoise_cells(cells: Cells, weights: Floats, scale: float) -> Floats:
    """Estimate the counts (n,) of any cells with Laplace noise of this scale."""
    if not isinstance(cells, GridCells):
        volumes = np.broadcast_to(cells.widths, cells.middles.shape).prod(axis=1)
        return denoise_leaves(weights, volumes, scale)
    if len(set(cells.shape)) > 1:
        return counts_behind(weights, scale)
    return denoise_grid(weights, cells.shape[0], cells.n_features, scale)


def _within(weights: Floats, kinds: Ints, scale: float) -> Floats:
    """Estimate the counts (n,) of each kind (n,) of cell apart; rare kinds join others."""
    counts = np.empty(len(weights))
    for group in _groups(kinds):
        counts[group] = counts_behind(weights[group], scale)
    return counts


def _groups(kinds: Ints) -> list[Ints]:
    """Indices of cells of alike kinds (n,), at least _LEAST in each group."""
    order = np.argsort(kinds, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(kinds[order])) + 1, len(order))
    cuts: list[int] = [0]
    for end in ends.tolist():
        if end - cuts[-1] >= _LEAST:
            cuts.append(end)
    # What is left over at the end is too little: it joins the last group.
    cuts = [*cuts[:-1], len(order)] if len(cuts) > 1 else [0, len(order)]
    return np.split(order, cuts[1:-1])


def _clearness(grid: Floats, width: int, scale: float) -> Floats:
    """z-score of the sum of every cell's neighbours under noise alone; grid: d axes."""
    neighbours = _box_sums(np.ones_like(grid), width).round() - 1
    return (_box_sums(grid, width) - grid) / _std(neighbours, scale)


def _pooled(grid: Floats, counts: Floats, scale: float) -> Floats:
    """Give cells estimated as 0 the mean of their box where that stands out; arrays: d axes."""
    empty = counts == 0
    for width in _POOLS:
        if width > max(grid.shape[0] // 2, 1):
            break
        cells = _box_sums(empty.astype(np.float64), width).round()
        sums = _box_sums(np.where(empty, grid, 0.0), width)
        full = empty & (sums > _SIGNIFICANT * _std(cells, scale))
        counts[full] = sums[full] / cells[full]
        empty &= ~full
    return counts


def _std(cells: Floats, scale: float) -> Floats:
    """The standard deviation of the noise of sums of so many cells; any shape."""
    std: Floats = scale * np.sqrt(2 * np.maximum(cells, 1))
    return std


def _box_sums(grid: Floats, width: int) -> Floats:
    """Sums over boxes around every cell of a grid with d axes; 0 beyond the border."""
    sums: Floats = uniform_filter(grid, width, mode="constant") * width**grid.ndim
    return sums

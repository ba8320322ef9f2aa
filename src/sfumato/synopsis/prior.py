"""Empirical Bayes: what stood there before the noise, told from all noisy numbers together.

The prior is fitted to the released numbers themselves by maximum likelihood (Kiefer, Wolfowitz
1956) over fixed pieces, by EM; the answer for each number is its posterior mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.box import Floats

_PIECES = 63
_COUNT_STEPS = 80
_BINS = 240
# Below so many scales counts are told apart finely, above by their logarithms.
_FINE = 12

_ATOMS = 61
_EVEN_ATOMS = 81
_VALUE_STEPS = 60
_FITTED = 2**13


class _Pieces(NamedTuple):
    """How likely each piece of the prior makes each number, and the posterior mean within it."""

    likelihood: Floats
    means: Floats


def counts_behind(noisy: Floats, scale: float, *, kappa: float = 1.5, doubt: float = 0.8) -> Floats:
    """Estimate counts of at least 0 from counts with Laplace noise.

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
    pieces = _laplace_pieces(seen, edges, scale)
    prior = np.full(_PIECES + 1, 0.5 / _PIECES)
    prior[0] = 0.5
    taken = min(kappa / len(noisy), 0.5)
    for _ in range(_COUNT_STEPS):
        prior = _step(pieces.likelihood, prior, tally)
        above = prior[1:].sum()
        prior[1:] *= max(above - taken, 1e-9) / max(above, 1e-9)
        prior[0] = 1 - prior[1:].sum()
    posterior = _posterior(pieces.likelihood, prior)
    means = (posterior * pieces.means).sum(axis=1)
    small = np.append(True, np.sqrt(edges[1:] * edges[:-1]) < scale)
    doubts = posterior[:, small].sum(axis=1)
    clear = np.interp(values, seen, doubts) < doubt
    return np.where(clear, np.interp(values, seen, means), 0.0)


def values_behind(noisy: Floats, std: Floats | float) -> Floats:
    """Estimate values from values with Gaussian noise, each of a standard deviation of its own.

    The atoms of the prior reach from the lowest to the highest value, closest together at 0.
    """
    if not len(noisy):
        return noisy.copy()
    low, high = min(float(noisy.min()), -1e-12), max(float(noisy.max()), 1e-12)
    bent = np.sinh(3 * np.linspace(-1, 1, _ATOMS)) / np.sinh(3)
    return _by_atoms(noisy, std, np.where(bent < 0, -bent * low, bent * high))


def values_between(noisy: Floats, std: Floats | float, low: float, high: float) -> Floats:
    """Estimate values that are known to lie in a range, the atoms of the prior even over it."""
    return _by_atoms(noisy, std, np.linspace(low, high, _EVEN_ATOMS))


def _by_atoms(noisy: Floats, std: Floats | float, atoms: Floats) -> Floats:
    stds = np.maximum(np.broadcast_to(np.asarray(std, dtype=np.float64), noisy.shape), 1e-300)
    # Of very many values evenly chosen ones, from the lowest to the highest, fit the prior as well.
    order = np.argsort(noisy, kind="stable") if len(noisy) > _FITTED else np.arange(len(noisy))
    fitted = order[:: -(-len(noisy) // _FITTED)]
    likelihood = _gaussian_pieces(noisy[fitted], stds[fitted], atoms).likelihood
    prior = np.full(len(atoms), 1 / len(atoms))
    for _ in range(_VALUE_STEPS):
        prior = _step(likelihood, prior, np.ones(len(fitted)))
    out = np.empty(len(noisy))
    for start in range(0, len(noisy), _FITTED):
        part = slice(start, start + _FITTED)
        pieces = _gaussian_pieces(noisy[part], stds[part], atoms)
        out[part] = (_posterior(pieces.likelihood, prior) * pieces.means).sum(axis=1)
    return out


def _step(likelihood: Floats, prior: Floats, tally: Floats) -> Floats:
    """One step of EM on the shares of the pieces."""
    shares: Floats = prior * ((tally / np.maximum(likelihood @ prior, 1e-300)) @ likelihood)
    shares /= shares.sum()
    return shares


def _posterior(likelihood: Floats, prior: Floats) -> Floats:
    joint = likelihood * prior
    shares: Floats = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return shares


def _binned(values: Floats, scale: float) -> tuple[Floats, Floats]:
    """The means of the values in narrow bins, ascending, and how many are in each."""
    fine = np.linspace(0, _FINE * scale, _BINS + 1)
    wide = np.geomspace(_FINE * scale, max(values.max(), 2 * _FINE * scale), _BINS + 1)
    bins = np.searchsorted(np.concatenate([fine, wide[1:]]), values)
    tally = np.bincount(bins).astype(np.float64)
    full = tally > 0
    return np.bincount(bins, values)[full] / tally[full], tally[full]


def _laplace_pieces(seen: Floats, edges: Floats, scale: float) -> _Pieces:
    """0 and the steps between edges, under Laplace noise: the integrals over a step are exact."""
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
    return _Pieces(likelihood, np.hstack([np.zeros((len(seen), 1)), means]))


def _gaussian_pieces(noisy: Floats, stds: Floats, atoms: Floats) -> _Pieces:
    """Atoms under Gaussian noise; where the noise is finer than their gaps they are spread out."""
    spread = np.maximum(np.gradient(atoms) / 2 - stds[:, None], 0) ** 2
    variance = spread + stds[:, None] ** 2
    squares = (noisy[:, None] - atoms) ** 2 / variance
    # Only ratios within a row count, so the largest may as well be near 1.
    squares -= squares.min(axis=1, keepdims=True)
    likelihood = np.exp(-squares / 2) * (stds[:, None] / np.sqrt(variance))
    return _Pieces(likelihood, atoms + (noisy[:, None] - atoms) * (spread / variance))

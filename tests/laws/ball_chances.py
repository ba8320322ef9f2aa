"""Exact chances of rounded ball noise, cell by cell, with bounds that hold for certain."""

import math
from functools import cache
from itertools import product

import numpy as np


def density(points, scale):
    """The density of the law, ∝ exp(−‖z‖₂ / scale)."""
    dim = points.shape[-1]
    volume = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1)
    lengths = np.sqrt((points**2).sum(axis=-1))
    return np.exp(-lengths / scale) / (volume * math.factorial(dim) * scale**dim)


@cache
def chances(scale, dim, window):
    """Chance of each point of {-window … window}^dim: Gauss–Legendre over its unit cell.

    Each side is cut in half, for the density has its kink at zero.
    """
    nodes, weights = np.polynomial.legendre.leggauss(32 if dim < 3 else 10)
    nodes = np.concatenate([nodes - 1, nodes + 1]) / 4
    weights = np.concatenate([weights, weights]) / 4
    grid = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    weight = math.prod(np.meshgrid(*[weights] * dim, indexing="ij")).ravel()
    points = np.array(list(product(range(window + 1), repeat=dim)), float)
    corner = np.array([weight @ density(point + grid, scale) for point in points])
    return _mirrored(corner, dim, window)


def certain_bounds(scale, dim, window, cuts=24):
    """Chances that are certainly too small, and certainly too large.

    The density falls with every |coordinate|: over a small cube that no axis cuts it lies between
    its values at the farthest and at the nearest corner.
    """
    edges = (np.arange(2 * cuts + 1) - cuts) / (2 * cuts)
    low, high = edges[:-1], edges[1:]
    found = []
    for pick in (np.maximum, np.minimum):
        corner = []
        for point in product(range(window + 1), repeat=dim):
            sides = [pick(np.abs(at + low), np.abs(at + high)) for at in point]
            far = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1)
            corner.append(density(far, scale).mean())
        found.append(_mirrored(np.array(corner), dim, window))
    return found


def _mirrored(corner, dim, window):
    corner = corner.reshape((window + 1,) * dim)
    return corner[np.ix_(*[np.abs(np.arange(-window, window + 1))] * dim)]


def reports(noise, row, reach, kind):
    """The law of a row's report in the box of that reach, as an array over the box.

    `noise` holds the chances of noise in a window that is wide enough. "clamp" moves what lies
    outside to the border, "resample" draws again.
    """
    window, dim = noise.shape[0] // 2, noise.ndim
    axes = [np.arange(-window, window + 1) + at for at in row]
    shape = tuple(2 * r + 1 for r in reach)
    out = np.zeros(shape)
    places = [np.clip(axis, -r, r) + r for axis, r in zip(axes, reach, strict=True)]
    inside = [np.abs(axis) <= r for axis, r in zip(axes, reach, strict=True)]
    if kind == "clamp":
        np.add.at(out, np.ix_(*places), noise)
        return out
    part = noise[np.ix_(*inside)]
    assert part.shape == shape
    assert dim == len(reach)
    return part / part.sum()

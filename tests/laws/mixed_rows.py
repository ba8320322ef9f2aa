"""Mixed rows for laws: numbers, then the levels of categories as coordinates, on the lattice."""

from fractions import Fraction

import numpy as np

from sfumato._core.queries.breakdown import Levels
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.methods import METHODS, Task

HIGH = 23_169


def levels_of(numbers, widths):
    """The blocks of categories with so many levels, after so many numbers."""
    found, start = [], numbers
    for width in widths:
        found.append(Levels(start, width, HIGH))
        start += width
    return tuple(found)


def mixed(n, numbers, widths, seed=0):
    """Rows of three classes, which differ in their numbers and in which levels are frequent."""
    rng = np.random.default_rng(seed)
    own = rng.integers(3, size=n)
    values = rng.normal([[-0.5], [0.0], [0.6]], 0.1, (3, 1))[own] + rng.normal(0, 0.1, (n, numbers))
    parts = [np.clip(np.rint(values * REACH), -REACH, REACH)]
    for width in widths:
        code = np.where(rng.random(n) < 0.8, own % width, rng.integers(width, size=n))
        parts.append(np.where(code[:, None] == np.arange(width), HIGH, -HIGH))
    return np.hstack(parts).astype(np.float64)


def row_of(numbers, codes, widths):
    """One row."""
    blocks = [np.where(np.arange(w) == c, HIGH, -HIGH) for c, w in zip(codes, widths, strict=True)]
    return np.concatenate([numbers, *blocks]).astype(np.float64)[np.newaxis]


def open_mixed(rows, *, noise=None, replay=None, **settings):
    """A curator whose units are lattice steps."""
    d = rows.shape[1]
    bounds = (np.full(d, -REACH), np.full(d, REACH))
    noise = noise or ReplayedNoise(7)
    curator = RecordingCurator(
        rows, bounds=bounds, epsilon=10.0, delta=0.1, noise=noise, **settings
    )
    curator.replay = replay
    return curator


def run_mixed(curator, method, levels, *, k=3, epsilon=1, delta=0, **asked):
    """Run a method on mixed rows; returns its account and its centres."""
    most = curator.rows_per_neighbour
    exact = Fraction(str(epsilon)), Fraction(str(delta))
    asked = {"levels": levels, "max_rows_per_group": most, **asked}
    task = Task(k, curator.n_features, *exact, **asked)
    method = METHODS[method]() if isinstance(method, str) else method
    account = curator.reserve("law", method.caps(task))
    centers = method(curator, task, account=account, rng=np.random.default_rng(1))
    return account, centers

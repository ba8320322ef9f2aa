"""What the laws are run with: datasets, neighbours, every query, and curators that remember."""

from fractions import Fraction

import numpy as np

from sfumato._core.queries.counts import Counts, Cubes, Grid, Nearest, NearestInProjection, Totals
from sfumato._core.queries.projection import Projection
from sfumato._core.testing import RecordingCurator, ReplayedNoise, Transcript, flip_chance, loss
from sfumato._lattice.box import REACH, Box
from sfumato.methods import METHODS, NEEDS_DELTA, Task
from tests.no_noise import NoNoise

__all__ = ["RecordingCurator", "Transcript", "flip_chance", "loss"]

CENTERS = np.array([[0, 0], [500, -700], [-REACH, REACH], [20_000, 20_000]])
HALVES = Cubes(np.array([[0, -1000], [1000, -1000], [31_000, 32_000], [-33_000, -33_000]]), 1000)
SLANT = NearestInProjection(
    Projection(np.array([[1, 2]]), np.array([30, -40]), 1), Nearest(np.array([[-900], [0], [900]]))
)

QUERIES_UNDER_LAW = {
    "counts-nearest": Counts(Nearest(CENTERS)),
    "counts-grid": Counts(Grid(7, 2)),
    "counts-cubes": Counts(HALVES),
    "counts-through": Counts(SLANT),
    "totals-nearest": Totals(Nearest(CENTERS)),
    "totals-grid": Totals(Grid(5, 2)),
    "totals-through": Totals(SLANT),
    "totals-radius-1": Totals(Nearest(CENTERS), 1),
    "totals-radius": Totals(Nearest(CENTERS), 1234),
    "totals-radius-wide": Totals(Nearest(CENTERS), 2 * REACH),
    "totals-radii": Totals(Nearest(CENTERS), (1234, 1, 2 * REACH, 50)),
    "totals-first": Totals(Nearest(CENTERS), columns=1),
    "totals-first-radii": Totals(Nearest(CENTERS), (1234, 1, 2 * REACH, 50), columns=1),
}

BUDGETS = {
    "pure": (Fraction(1), Fraction(0)),
    "third": (Fraction(1, 3), Fraction(0)),
    "approximate": (Fraction(1), Fraction(1, 10**6)),
    "gaussian": (Fraction(1, 2), Fraction(1, 100)),
}

# Max cover is (ε, δ)-DP and has no pure mode: it is not asked for where δ is 0.
PAYABLE = [(m, b) for m in METHODS for b in BUDGETS if BUDGETS[b][1] or m not in NEEDS_DELTA]

BOX = Box((0.0, -3.0), (1.0, 3.0))
CENTRED = Box(BOX.lower, BOX.upper, "center")


def exact(query, lattice_rows):
    """The exact answer of a query about lattice rows."""
    state = query.empty()
    query.add(np.asarray(lattice_rows, dtype=np.int16).reshape(-1, 2), state)
    return state


def blobs(n=400, seed=0):
    """Three clumps in BOX, a few rows outside it, and a cell that is not a number."""
    rng = np.random.default_rng(seed)
    middle = np.array([[0.2, -2.0], [0.5, 2.0], [0.8, -1.0]])[rng.integers(3, size=n)]
    rows = middle + rng.normal(0, [0.05, 0.3], (n, 2))
    rows[: n // 50] *= 40
    rows[n // 50 : n // 50 + 1, 0] = np.nan
    return rows


def run(curator, method, *, k=3, budget=None, seed=1):
    """Run one method on one curator; returns its account and its centres."""
    budget = budget or ("approximate" if method in NEEDS_DELTA else "pure")
    epsilon, delta = BUDGETS[budget]
    method = METHODS[method]() if isinstance(method, str) else method
    task = Task(k, curator.box.n_features, epsilon, delta)
    account = curator.reserve("law", method.caps(task))
    centers = method(curator, task, account=account, rng=np.random.default_rng(seed))
    return account, centers


def curator_of(rows, *, noise=None, replay=None, cls=RecordingCurator, **settings):
    """A curator with budget to spare and noise that can be replayed."""
    curator = cls(
        rows,
        bounds=(BOX.lower, BOX.upper),
        epsilon=10.0,
        delta=0.1,
        noise=noise or ReplayedNoise(7),
        **settings,
    )
    if replay is not None:
        curator.replay = replay
    return curator


def without_noise(rows, **settings):
    """A curator that answers exactly."""
    return curator_of(rows, noise=NoNoise(), **settings)

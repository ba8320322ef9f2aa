"""Every task that fits of every method send to the partitions of a table."""

from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Ledger
from sfumato._core.curator import Curator
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._private_bounds.estimate import release_bounds
from sfumato.engines._partitions import PartedRows
from tests.laws.harness import PAYABLE, run


class Recording:
    """An engine with one partition that remembers what it was sent."""

    n_parts = 1
    max_rows_per_group = None

    def __init__(self, values):
        self.values = values
        self.n_features = values.shape[1]
        self.tasks = {}

    def run(self, task):
        self.tasks.setdefault(_kinds(task), task)
        yield task.over(0, [self.values])


def _kinds(task):
    """What a task is made of, by type, all the way down."""
    inside = vars(task).values() if hasattr(task, "__dataclass_fields__") else ()
    return (type(task).__name__, *(_kinds(part) for part in inside))


def every_task(values):
    """One task of every kind, of all methods, budgets and private bounds."""
    engine = Recording(values)
    rows = PartedRows(engine)
    for name, budget in PAYABLE:
        if budget in ("pure", "approximate"):
            noise = ReplayedNoise(1)
            curator = Curator(rows, bounds=(0, 1), epsilon=10.0, delta=0.1, noise=noise)
            run(curator, name, budget=budget, k=2)
    release_bounds(
        HistogramCurator(rows, ledger=Ledger(Fraction(1)), noise=ReplayedNoise(1)), Fraction(1)
    )
    return list(engine.tasks.values())


def blobs(n, d):
    """Two clumps in the unit cube."""
    rng = np.random.default_rng(d)
    return rng.normal(np.where(rng.uniform(size=(n, 1)) < 0.5, 0.3, 0.7), 0.05, (n, d))

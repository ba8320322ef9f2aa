"""Digests of whole fits under replayed noise, to see that a change of the code changed no bit.

    python -m tests.golden.fits > before.json      # on one version
    python -m tests.golden.fits > after.json       # on the other, on the same machine

They are not kept: sums of floats after a release may differ between processors.
"""

import hashlib
import json
import sys
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

from sfumato._accounting.budget import Ledger
from sfumato._core.curator import Curator
from sfumato._core.mechanisms import Ball, Cube, Cylinder, Gaussian, Laplace
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import ReplayedNoise
from sfumato._private_bounds.estimate import release_bounds
from sfumato.engines._dask import open_dask_files
from sfumato.engines._files import TableFile, open_file
from sfumato.local._ndlaplace import NDLaplace
from sfumato.methods import METHODS, Task
from tests.laws.harness import PAYABLE
from tests.unit.cuts import tiny, write_csv, write_parquet

BUDGETS = {"pure": (Fraction(1), Fraction(0)), "approximate": (Fraction(1), Fraction(1, 10**6))}


def rows_of(columns, n=600):
    """Three clumps, a few rows outside the bounds and a few missing cells."""
    rng = np.random.default_rng(columns)
    middles = rng.uniform(2, 8, (3, columns))
    rows = middles[rng.integers(3, size=n)] + rng.normal(0, 0.7, (n, columns))
    rows[:9] *= 30
    rows[9:12, 0] = np.nan
    return rows


def digest(*parts):
    """A hash of arrays and texts."""
    found = hashlib.sha256()
    for part in parts:
        array = isinstance(part, np.ndarray)
        found.update(np.ascontiguousarray(part).tobytes() if array else repr(part).encode())
    return found.hexdigest()[:16]


def fitted(rows, columns, method, budget, *, k=3, nan="center", **settings):
    """The digest of one fit: centres, sizes, and every entry of its account."""
    epsilon, delta = BUDGETS[budget]
    noise = ReplayedNoise(7)
    bounds = ([0] * columns, [10] * columns)
    budgets = {"epsilon": 10.0, "delta": 0.1}
    curator = Curator(rows, bounds=bounds, nan=nan, noise=noise, **budgets, **settings)
    task = Task(k, columns, epsilon, delta)
    try:
        chosen = METHODS[method]()
        account = curator.reserve("digest", chosen.caps(task))
        centers = chosen(curator, task, account=account, rng=np.random.default_rng(1))
    except ValueError as error:
        return f"refused: {type(error).__name__}"
    entries = [(e.share.kind, e.share.amount, e.scale, e.released) for e in account.entries]
    return digest(centers.points, centers.sizes, entries)


def all_digests():
    """Every method on three datasets, groups, files, Dask, bounds, local reports, samplers."""
    cases = [(m, b) for m, b in PAYABLE if b in BUDGETS]
    for columns in (2, 6, 30):
        rows = rows_of(columns)
        for method, budget in cases:
            yield f"{method} {budget} {columns}", fitted(rows, columns, method, budget)
            gaps = fitted(rows, columns, method, budget, nan="ignore")
            yield f"{method} {budget} {columns} gaps", gaps
    rows, people = rows_of(2), np.arange(600) % 170
    for method, budget in cases:
        grouped = {"groups": people, "max_rows_per_group": 2}
        yield f"{method} {budget} groups", fitted(rows, 2, method, budget, **grouped)
    with tempfile.TemporaryDirectory() as folder:
        yield from _files(Path(folder), rows, people)
    for columns in (2, 6):
        curator = HistogramCurator(
            rows_of(columns), ledger=Ledger(Fraction(1)), noise=ReplayedNoise(3)
        )
        released = release_bounds(curator, Fraction(1))
        yield f"bounds {columns}", digest(released.lower, released.upper)
    yield from _samplers()
    yield "local", digest(str(NDLaplace(level=1, radius=0.1, bounds=(0, 1)).fit(rows).receipt_))


def _files(folder, rows, people):
    paths = {
        "csv": write_csv(folder / "rows.csv", rows, people),
        "parquet": write_parquet(folder / "rows.parquet", rows, [100, 350], people),
    }
    for kind, path in paths.items():
        file = TableFile(path, ("a", "b"))
        for method in ("auto", "dplloyd", "gkm"):
            with tiny():
                plain = open_file(file)
                own = open_file(file, groups="who", max_rows_per_group=2)
                yield f"{method} {kind}", fitted(plain, 2, method, "pure")
                yield f"{method} {kind} groups", fitted(own, 2, method, "pure")
    with open_dask_files(file, groups="who", max_rows_per_group=2, workers=1) as far:
        yield "dask groups", fitted(far, 2, "auto", "pure")
    with open_dask_files(file, workers=1) as far:
        yield "dask", fitted(far, 2, "dplloyd", "approximate")


def _samplers():
    for scale in (Fraction(1, 3), Fraction(5), Fraction(12_345, 7)):
        noise = ReplayedNoise(5)
        for law in (Laplace(scale), Gaussian(scale), Cube(scale), Ball(scale)):
            yield f"{type(law).__name__} {scale}", digest(law.draw(noise, (50, 4)))
        cylinder = Cylinder((scale,) * 50, scale)
        yield f"Cylinder {scale}", digest(cylinder.draw(noise, (50, 4)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump(dict(all_digests()), sys.stdout, indent=1)

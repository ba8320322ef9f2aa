"""Coverage of error bars: how often an interval holds what the last step gives without noise.

    python -m bench intervals       # measures what the table lacks, writes docs/error-bars.md

Every fit has replayed noise of its own. The noise-free value is worked out from the exact answer to
the last query, with all that came before as it was. Files are read from the folder that
SFUMATO_DATA names.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench import utility_data
from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from sfumato import PrivateKMeans, PrivateKMedian, PrivateWard
from sfumato._base.types import Floats
from sfumato._core.queries.counts import Totals
from sfumato._core.testing import RecordingCurator, ReplayedNoise, Transcript
from sfumato._lattice.box import REACH
from sfumato._synopsis.kmeans import nearest
from sfumato.methods import DPLloyd, EUGkM, Method, Sukpisit

Model = PrivateKMeans | PrivateKMedian | PrivateWard

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "intervals.csv"
PAGE = ROOT / "docs" / "error-bars.md"
MARKS = ("<!-- coverage: written by `python -m bench intervals` -->", "<!-- end of coverage -->")
COLUMNS = ("data", "method", "first", "fits", "centers_in", "centers", "sizes_in", "sizes")
CHUNK = 100
FITS, FEWER = 2000, 400
LEVEL = 0.95


def of_class(thing: object) -> str:
    """The name of its class, in small letters."""
    return type(thing).__name__.lower()


def clumps(n: int, d: int, k: int, std: float = 0.08) -> Floats:
    """K round clumps in the cube."""
    rng = np.random.default_rng([n, d, k])
    rows = rng.uniform(-0.8, 0.8, (k, d))[rng.integers(k, size=n)]
    found: Floats = np.clip(rows + rng.normal(0, std, (n, d)), -1, 1)
    return found


def some_rows(name: str, n: int) -> Floats:
    """The first n rows of a file, in a random order, in the cube."""
    rows = utility_data.load(name).cube
    chosen: Floats = rows[np.random.default_rng(0).permutation(len(rows))[:n]]
    return chosen


@dataclass(frozen=True)
class Case:
    """Rows in the cube [−1, 1]^d, how they are clustered, and how many fits are made."""

    title: str
    k: int
    make: Callable[[], Floats]
    method: str | Method | type[PrivateKMedian] | type[PrivateWard] = "auto"
    epsilon: float = 1.0
    delta: float = 0.0
    fits: int = FITS
    needs: str = ""

    @cached_property
    def rows(self) -> Floats:
        """The rows, (n, d)."""
        return self.make()

    @property
    def name(self) -> str:
        """What the table calls the method or the estimator."""
        if isinstance(self.method, str):
            return self.method
        return self.method.__name__ if isinstance(self.method, type) else of_class(self.method)

    def model(self, seed: int) -> Model:
        """The estimator of one fit."""
        settings: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta}
        if isinstance(self.method, type):
            return self.method(self.k, random_state=seed, **settings)
        return PrivateKMeans(self.k, method=self.method, random_state=seed, **settings)

    def curator(self, seed: int) -> RecordingCurator:
        """The rows, and the noise of one fit."""
        return RecordingCurator(
            self.rows,
            bounds=(-1, 1),
            epsilon=self.epsilon,
            delta=self.delta,
            noise=ReplayedNoise(seed),
        )

    def of_medians(self, seen: Transcript, seed: int) -> tuple[Floats, Floats]:
        """The same fit once more, whose last answer is exact: how far steps go is public by then.

        Taken before the step is shrunk.
        """
        curator = self.curator(seed)
        curator.replay = replace(seen, released=[*seen.released[:-1], seen.exact[-1]])
        errors: Any = self.model(seed).fit(curator)._errors_
        return np.clip(errors.centers.values / REACH, -1, 1), errors.sizes.values

    def covered(self, seed: int) -> tuple[int, int, int, int]:
        """Of one fit: centre numbers inside, all of them, sizes inside, all of them."""
        curator = self.curator(seed)
        model = self.model(seed).fit(curator)
        if isinstance(model, PrivateKMedian):
            centers, sizes = self.of_medians(curator.transcript, seed)
        else:
            centers, sizes = noise_free(curator.transcript, model)
        bars = model.intervals(LEVEL)
        inside = [
            (one[..., 0] <= true + 1e-9) & (true <= one[..., 1] + 1e-9)
            for one, true in zip(bars, (centers, sizes), strict=True)
        ]
        return (
            *(int(inside[0].sum()), inside[0].size),
            *(int(inside[1].sum()), inside[1].size),
        )


def noise_free(seen: Transcript, model: Model) -> tuple[Floats, Floats]:
    """Centres (k, d) in the cube and sizes (k,) that the last step gives without its noise."""
    query = seen.queries[-1]
    if not isinstance(query, Totals):
        return of_cells(np.asarray(seen.exact[-1])[:, 0], model)
    last = np.asarray(seen.exact[-1]).astype(np.float64)
    joint = last.shape[1] > 1
    counts, sums = (last[:, 0], last[:, 1:]) if joint else (last[:, 0], seen.exact[-2])
    if joint and query.radius is None:
        counts = counts / REACH
    starts = query.cells.centers if query.radius is not None else np.zeros((1, 1))
    means = starts + sums / np.maximum(counts, 1)[:, None]
    before: Any = query.cells.centers
    means = np.where(counts[:, None] > 0, means, before)
    return np.clip(means / REACH, -1, 1), counts


def of_cells(counts: Floats, model: Model) -> tuple[Floats, Floats]:
    """The same for centres of cells with exact counts (n,): each cell stays where it was."""
    middles, k = model.synopsis_.layout[:], len(model.cluster_centers_)
    own = nearest(middles, model.cluster_centers_)[0]
    if isinstance(model, PrivateWard):
        own = model.predict(middles)
    sizes = np.bincount(own, counts, k)
    sums = np.stack([np.bincount(own, counts * x, k) for x in middles.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    return np.where(sizes[:, None] > 0, means, model.cluster_centers_), sizes


CASES = {
    "s1": Case("S1, 4,000 × 2, k = 15", 15, lambda: some_rows("s1", 4000), needs="s1"),
    "gowalla": Case(
        "Gowalla in New York, 4,000 × 2, k = 5",
        5,
        lambda: some_rows("gowalla_nyc", 4000),
        needs="gowalla_nyc",
    ),
    "uniform": Case(
        "uniform, 2,000 × 2, k = 3", 3, lambda: np.random.default_rng(1).uniform(-1, 1, (2000, 2))
    ),
    "clumps3": Case("5 clumps, 3,000 × 3", 5, lambda: clumps(3000, 3, 5)),
    "yeast": Case("Yeast, 1,484 × 8, k = 10", 10, lambda: some_rows("yeast", 1484), needs="yeast"),
    "clumps30": Case("5 clumps, 3,000 × 30", 5, lambda: clumps(3000, 30, 5)),
    "gaussian": Case(
        "5 clumps, 3,000 × 8, δ = 10⁻⁶", 5, lambda: clumps(3000, 8, 5), delta=1e-6, fits=FEWER
    ),
    "few": Case(
        "S1, 4,000 × 2, k = 15, ε = 0.3: no step",
        15,
        lambda: some_rows("s1", 4000),
        epsilon=0.3,
        fits=FEWER,
        needs="s1",
    ),
    **{
        of_class(method): Case(
            "5 clumps, 3,000 × 2", 5, lambda: clumps(3000, 2, 5), method, fits=FEWER
        )
        for method in (EUGkM(), DPLloyd(iterations=3), Sukpisit(max_iter=3))
    },
    "median": Case("5 clumps, 3,000 × 2", 5, lambda: clumps(3000, 2, 5), PrivateKMedian, fits=300),
    "ward": Case("5 clumps, 3,000 × 2", 5, lambda: clumps(3000, 2, 5), PrivateWard, fits=300),
}


def measure(name: str, first: int) -> None:
    """A chunk of fits of one case: one line of the table."""
    case = CASES[name]
    found = np.sum([case.covered(first + i) for i in range(CHUNK)], axis=0)
    append_row(TABLE, COLUMNS, [name, case.name, first, CHUNK, *found.tolist()])


def page() -> str:
    """The table of the page."""
    rows = read_rows(TABLE)
    lines = [
        "| data | method | fits | centres inside | sizes inside |",
        "|---|---|---:|---:|---:|",
    ]
    for name, case in CASES.items():
        mine = [row for row in rows if row["data"] == name]
        if not mine:
            continue
        total = {c: sum(int(row[c]) for row in mine) for c in COLUMNS[3:]}
        parts = [f"{total[f'{c}_in'] / total[c]:.1%}" for c in ("centers", "sizes")]
        lines.append(
            f"| {case.title} | `{mine[0]['method']}` | {total['fits']:,} | {' | '.join(parts)} |"
        )
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Measure what is missing, chunk by chunk, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench intervals", description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--most", type=int, default=FITS, help="fits of each case at most")
    chosen = parser.parse_args(words)
    there = with_data({name: CASES[name].needs for name in chosen.cases})
    done = {(row["data"], int(row["first"])) for row in read_rows(TABLE)}
    for first in range(0, FITS, CHUNK):
        for name in there:
            if first < min(CASES[name].fits, chosen.most) and (name, first) not in done:
                measure(name, first)
                print(f"{name}: {first + CHUNK} fits", flush=True)
    put(PAGE, page(), *MARKS)

"""Evidence of clusters: false alarms on rows without clusters, and clusters that are found.

    python -m bench evidence        # measures what the table lacks, writes docs/error-bars.md

Every fit has rows and replayed noise of its own. A cluster is called real from an evidence of 0.95
on. Rows without clusters are one clump: calling two centres real is a false alarm.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import utility_data
from bench.data import with_data
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put
from sfumato import PrivateKMeans
from sfumato._base.types import Floats, Rng
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._error_bars import REAL

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "evidence.csv"
PAGE = ROOT / "docs" / "error-bars.md"
MARKS = ("<!-- evidence: written by `python -m bench evidence` -->", "<!-- end of evidence -->")
COLUMNS = ("data", "first", "fits", "some", "more", "found", "clusters")
CHUNK = 50
FITS = 200

Make = Callable[[Rng], Floats]


def uniform(n: int, d: int) -> Make:
    """Rows anywhere in the cube."""
    return lambda rng: rng.uniform(-1, 1, (n, d))


def gaussian(n: int, d: int, std: float) -> Make:
    """One clump in the middle."""
    return lambda rng: np.clip(rng.normal(0, std, (n, d)), -1, 1)


def clumps(n: int, d: int, k: int, std: float = 0.05, apart: float = 8) -> Make:
    """K clumps of rows whose middles are at least so many deviations apart."""

    def make(rng: Rng) -> Floats:
        while True:
            middles = rng.uniform(-0.85, 0.85, (k, d))
            gaps = np.linalg.norm(middles[:, None] - middles, axis=2) + 9 * np.eye(k)
            if gaps.min() > apart * std:
                rows = middles[rng.integers(k, size=n)] + rng.normal(0, std, (n, d))
                return np.asarray(np.clip(rows, -1, 1))

    return make


@dataclass(frozen=True)
class Case:
    """Rows of a kind, and how they are clustered; `clear` is whether there are k clusters."""

    title: str
    make: Make
    k: int
    clear: bool = False
    epsilon: float = 1.0
    method: str = "auto"

    def evidence(self, seed: int) -> Floats:
        """Of one fit, (k,)."""
        rows = self.make(np.random.default_rng([7, seed]))
        curator = RecordingCurator(
            rows, bounds=(-1, 1), epsilon=self.epsilon, noise=ReplayedNoise(seed)
        )
        model = PrivateKMeans(
            self.k, epsilon=self.epsilon, method=self.method, random_state=seed
        ).fit(curator)
        return model.evidence_


def _titled(title: str, make: Make, k: int, *, epsilon: float = 1.0, method: str = "auto") -> Case:
    return Case(title, make, k, title.startswith(("clumps", "S1")), epsilon, method)


CASES = {
    "uniform2": _titled("uniform, 5,000 × 2", uniform(5000, 2), 4),
    "uniform3": _titled("uniform, 5,000 × 3", uniform(5000, 3), 3),
    "uniform1": _titled("uniform, 2,000 × 1", uniform(2000, 1), 3),
    "uniform_few": _titled("uniform, 1,000 × 2", uniform(1000, 2), 5, epsilon=0.3),
    "uniform_eugkm": _titled("uniform, 5,000 × 2", uniform(5000, 2), 4, method="eugkm"),
    "gauss2": _titled("one Gaussian (0.3), 5,000 × 2", gaussian(5000, 2, 0.3), 4),
    "narrow2": _titled("one Gaussian (0.1), 5,000 × 2", gaussian(5000, 2, 0.1), 4),
    "gauss3": _titled("one Gaussian (0.2), 10,000 × 3", gaussian(10_000, 3, 0.2), 3),
    "narrow_few": _titled("one Gaussian (0.1), 1,000 × 2", gaussian(1000, 2, 0.1), 5, epsilon=0.3),
    "gauss_eugkm": _titled(
        "one Gaussian (0.2), 5,000 × 2", gaussian(5000, 2, 0.2), 4, method="eugkm"
    ),
    "s1": _titled("S1, 5,000 × 2", lambda _: np.asarray(utility_data.load("s1").cube), 15),
    "clumps2": _titled("clumps, 10,000 × 2", clumps(10_000, 2, 5), 5),
    "clumps3": _titled("clumps, 10,000 × 3", clumps(10_000, 3, 4), 4),
    "clumps1": _titled("clumps, 2,000 × 1", clumps(2000, 1, 3), 3),
    "clumps_few": _titled("clumps, 5,000 × 2", clumps(5000, 2, 3), 3, epsilon=0.3),
    "clumps_eugkm": _titled("clumps, 10,000 × 2", clumps(10_000, 2, 5), 5, method="eugkm"),
}


def measure(name: str, first: int) -> None:
    """A chunk of fits of one case: one line of the table."""
    real = np.array([CASES[name].evidence(first + i) >= REAL for i in range(CHUNK)]).sum(axis=1)
    some, more = int((real > 0).sum()), int((real > 1).sum())
    clusters = CHUNK * CASES[name].k
    append_row(TABLE, COLUMNS, [name, first, CHUNK, some, more, int(real.sum()), clusters])


def page() -> str:
    """Both tables of the page."""
    rows = read_rows(TABLE)
    nulls = ["| one clump | k | ε | method | fits | two or more called real | one called real |"]
    nulls.append("|---|---:|---:|---|---:|---:|---:|")
    clear = ["| clusters | k | ε | method | fits | clusters called real |"]
    clear.append("|---|---:|---:|---|---:|---:|")
    for name, case in CASES.items():
        mine = [row for row in rows if row["data"] == name]
        if not mine:
            continue
        total = {c: sum(int(row[c]) for row in mine) for c in COLUMNS[2:]}
        fits, more = total["fits"], total["more"]
        start = f"| {case.title} | {case.k} | {case.epsilon:g} | `{case.method}` | {fits:,} |"
        if case.clear:
            clear.append(f"{start} {total['found'] / total['clusters']:.1%} |")
        else:
            one = (total["some"] - more) / fits
            nulls.append(f"{start} {more / fits:.1%} | {one:.1%} |")
    return "\n".join([*nulls, "", *clear])


def main(words: list[str]) -> None:
    """Measure what is missing, chunk by chunk, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench evidence", description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    chosen = parser.parse_args(words)
    there = with_data({name: utility_data.file_of(name) for name in chosen.cases})
    done = {(row["data"], int(row["first"])) for row in read_rows(TABLE)}
    for first in range(0, FITS, CHUNK):
        for name in there:
            if (name, first) not in done:
                measure(name, first)
                print(f"{name}: {first + CHUNK} fits", flush=True)
    put(PAGE, page(), *MARKS)

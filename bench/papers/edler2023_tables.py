"""Ours, theirs and the ratio, for every figure and table of Edler 2023."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from pathlib import Path

from bench.growing_tables import read_rows, write_rows
from bench.inertia_runs import Result, Table, merged
from bench.papers.edler2023_numbers import THEIRS, place
from bench.papers.edler2023_parts import PARTS, Mark, Size

COLUMNS = ["series", "x", "method", "runs", "ours", "sd", "theirs", "ratio", "seconds"]
# What a series is compared with where the thesis has another name for it.
COMPARED = {"published": "python", "seconds": "minutes", "corrected": "share"}
UNITS = {"inertia": 1.0, "seconds": 1.0, "minutes": 1 / 60}


@dataclass(frozen=True)
class Row:
    """One number of a figure. Without a number of theirs both it and the ratio are NaN."""

    series: str
    x: str
    method: str
    runs: int
    ours: float
    sd: float
    theirs: float
    seconds: float

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs

    @property
    def error(self) -> float:
        """The standard error of ours."""
        return self.sd / max(1, self.runs) ** 0.5


Rows = dict[tuple[str, str], Row]


def rows_of(part: str, table: Table, size: Size) -> list[Row]:
    """The numbers of a part that were measured."""
    found = []
    for mark in PARTS[part](size):
        results = [table[p.key] for p in mark.points if p.key in table and table[p.key].runs]
        if results:
            found.append(_row(part, mark, results))
    return found


def _row(part: str, mark: Mark, results: list[Result]) -> Row:
    total = results[0]
    for result in results[1:]:
        total = merged(total, result)
    number, sd = (total.mean, total.sd) if mark.what == "inertia" else (total.seconds, math.nan)
    method = mark.points[0].method if len(mark.points) == 1 else f"{len(results)} divisions of ε"
    unit = UNITS[mark.what]
    theirs = theirs_at(part, mark.series, mark.x) * (60 if mark.what == "seconds" else 1)
    return Row(
        mark.series, mark.x, method, total.runs, unit * number, unit * sd, theirs, total.seconds
    )


def theirs_at(part: str, series: str, x: str) -> float:
    """What the thesis has at a place, or NaN."""
    known = THEIRS.get(part, {})
    return known.get(place(series, x), known.get(place(COMPARED.get(series, ""), x), math.nan))


def write(path: Path, rows: list[Row]) -> None:
    """Write the table of a part."""
    write_rows(path, COLUMNS, map(_cells, rows))


def _cells(row: Row) -> list[object]:
    series, x, method, runs, *numbers = astuple(row)
    ours, sd, theirs, seconds = map(_text, numbers)
    return [series, x, method, runs, ours, sd, theirs, _text(row.ratio), seconds]


def _text(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.6g}"


def read(path: Path) -> Rows:
    """The table of a part by series and x."""
    found = {}
    for line in read_rows(path):
        numbers = (float(line[name] or "nan") for name in ("ours", "sd", "theirs", "seconds"))
        row = Row(line["series"], line["x"], line["method"], int(line["runs"]), *numbers)
        found[row.series, row.x] = row
    return found


def typical(ratios: list[float]) -> float:
    """The geometric mean of the ratios that are there."""
    known = [math.log(ratio) for ratio in ratios if not math.isnan(ratio)]
    return math.exp(sum(known) / len(known)) if known else math.nan


def number(value: float) -> str:
    """A number as pages write it."""
    if math.isnan(value):
        return "–"
    return (
        f"{value:.3g}"
        if abs(value) < 1e4
        else f"{value:.3e}".replace("e+0", "e").replace("e+", "e")
    )

"""The numbers that Edler 2023 prints, from its tables and its appendix B."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from bench.growing_tables import read_rows

FILE = Path(__file__).with_suffix(".csv")

Place = tuple[str, str]


def place(series: str, x: str) -> Place:
    """Series and x, numbers written in one way."""
    try:
        return series, f"{float(x):g}"
    except ValueError:
        return series, x


def _read() -> dict[str, dict[Place, float]]:
    found: dict[str, dict[Place, float]] = {}
    for line in read_rows(FILE):
        part = found.setdefault(line["part"], {})
        part[place(line["series"], line["x"])] = float(line["theirs"])
    return found


THEIRS = _read()


def budget_of(text: str) -> tuple[float, ...]:
    """The five parts of ε of a division: candidates, swaps, recovery, rounds, choice."""
    return tuple(float(Fraction(part)) for part in text.split())

"""Verdicts on the claims of a paper: decided, written to a table, and shown on a page."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from bench.growing_tables import read_rows, write_rows

Decide = Callable[[Any], tuple[bool, str]]

COLUMNS = ["section", "claim", "verdict", "numbers"]
BEGIN = "<!-- claims: written by `python -m bench su2015 docs` -->"
END = "<!-- end of claims -->"


@dataclass(frozen=True)
class Verdict:
    """A claim, where the paper makes it, and what the tables say."""

    section: str
    claim: str
    verdict: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A claim with the function that decides it from the tables of the figures."""

    section: str
    text: str
    decide: Decide

    def judge(self, tables: Any) -> Verdict:
        """Decide, or say that points are missing."""
        try:
            holds, numbers = self.decide(tables)
        except (KeyError, ValueError):
            return Verdict(self.section, self.text, "not measured", "points are missing")
        verdict = "holds" if holds else "does not hold"
        return Verdict(self.section, self.text, verdict, numbers)


@dataclass(frozen=True)
class ClaimList:
    """The claims of a paper; called with a section and a text it adds one."""

    claims: list[Claim] = field(default_factory=list)

    def __call__(self, section: str, text: str) -> Callable[[Decide], Decide]:
        """Put a claim on the list, decided by the function below it."""

        def add(decide: Decide) -> Decide:
            self.claims.append(Claim(section, text, decide))
            return decide

        return add

    def judge(self, tables: Any) -> list[Verdict]:
        """Decide every claim on the list."""
        return [each.judge(tables) for each in self.claims]


claim = ClaimList()
CLAIMS, judge = claim.claims, claim.judge


def write(path: Path, verdicts: list[Verdict]) -> None:
    """Write the table of claims."""
    write_rows(path, COLUMNS, map(astuple, verdicts))


def read(path: Path) -> list[Verdict]:
    """Read the table of claims."""
    return [Verdict(*(line[name] for name in COLUMNS)) for line in read_rows(path)]


def as_markdown(verdicts: list[Verdict]) -> str:
    """The table as a page shows it."""
    lines = ["| § | claim | verdict | numbers |", "|---|---|---|---|"]
    lines += [f"| {v.section} | {v.claim} | **{v.verdict}** | {v.numbers} |" for v in verdicts]
    return "\n".join(lines)


def shown_on(page: str, begin: str = BEGIN, end: str = END) -> str:
    """What a page shows between the markers."""
    return _divided(page, begin, end)[1]


def rewrite(page: Path, table: Path, begin: str = BEGIN) -> None:
    """Put the claims of a table between the markers of a page."""
    put(page, as_markdown(read(table)), begin, END)


def put(page: Path, text: str, begin: str, end: str) -> None:
    """Put a text between the markers of a page."""
    before, _, after = _divided(page.read_text(encoding="utf-8"), begin, end)
    page.write_text(before + text + after, encoding="utf-8")


def _divided(page: str, begin: str, end: str) -> tuple[str, str, str]:
    found = re.search(f"(?<={re.escape(begin)}\n).*?(?=\n{re.escape(end)})", page, re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no markers {begin} and {end}")
    return page[: found.start()], found.group(), page[found.end() :]

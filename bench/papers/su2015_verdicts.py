"""Verdicts on the claims of a paper: decided, written to a table, and shown on a page.

A verdict says whose claim it is and which rows it was judged with. Rows of three kinds are never
mixed: the paper's arithmetic as printed (which may not be private), the same corrected, and ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from bench.growing_tables import read_rows, write_rows

Decide = Callable[[Any], tuple[bool | None, str]]

COLUMNS = ["section", "claim", "about", "verdict", "numbers"]

# Whose claim, and what it was judged with.
AS_PRINTED = "theirs, as printed"
NOT_PRIVATE = "theirs, as printed (not private)"
CORRECTED = "theirs, as corrected"
BY_OURS = "theirs, with our variant"
NO_NOISE = "theirs, without privacy"
OURS = "ours"
KINDS = (AS_PRINTED, NOT_PRIVATE, CORRECTED, BY_OURS, NO_NOISE, OURS)
_OUR_SECTIONS = ("ours", "beyond", "6.1, open")

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "not decidable here"
BEGIN = "<!-- claims: written by `python -m bench su2015 docs` -->"
END = "<!-- end of claims -->"


@dataclass(frozen=True)
class Verdict:
    """A claim, where the paper makes it, and what the tables say."""

    section: str
    claim: str
    about: str
    verdict: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A claim with the function that decides it from the tables of the figures.

    The function returns None where no table can decide it here.
    """

    section: str
    text: str
    decide: Decide
    about: str = AS_PRINTED

    def judge(self, tables: Any) -> Verdict:
        """Decide, or say that points are missing."""
        try:
            holds, numbers = self.decide(tables)
        except (KeyError, ValueError):
            return Verdict(
                self.section, self.text, self.about, "not measured", "points are missing"
            )
        verdict = UNDECIDED if holds is None else HOLDS if holds else FAILS
        return Verdict(self.section, self.text, self.about, verdict, numbers)


@dataclass(frozen=True)
class ClaimList:
    """The claims of a paper; called with a section and a text it adds one.

    `about` is what a claim is judged with where nothing else is said.
    """

    about: str = AS_PRINTED
    claims: list[Claim] = field(default_factory=list)

    def __call__(self, section: str, text: str, about: str = "") -> Callable[[Decide], Decide]:
        """Put a claim on the list, decided by the function below it."""
        usual = OURS if section in _OUR_SECTIONS else self.about

        def add(decide: Decide) -> Decide:
            self.claims.append(Claim(section, text, decide, about or usual))
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
    lines = ["| § | claim | whose, judged with | verdict | numbers |", "|---|---|---|---|---|"]
    lines += [
        f"| {v.section} | {v.claim} | {v.about} | **{v.verdict}** | {v.numbers} |" for v in verdicts
    ]
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

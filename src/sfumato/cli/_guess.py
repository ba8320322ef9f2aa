"""What columns look like, for the owner of the rows: exact, outside the guarantee, no release."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sfumato._base.labels import NO_LABEL, key_of
from sfumato._base.types import Floats
from sfumato._schema import cells as read
from sfumato._schema.toml import BLANK
from sfumato.engines.formats._csv import Delimited
from sfumato.engines.formats._table import Table, tables_of

_MOST_DISTINCT = 2**20

_PATTERNS = tuple(
    f"{day}{time}"
    for day in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
    for time in ("", " %H:%M", " %H:%M:%S")
)
_MOST_LEVELS = 50
# A column is of a kind if more than this part of its cells are.
_MOST = 0.9
# Patterns of dates are tried on so many distinct cells.
_TRIED = 1000

_ID_NAME = re.compile(
    r"(?:^|[\W_])(?:id|ids|uuid|guid|key|mrn|ssn|name|email|phone)$|^id(?:[\W_]|$)|[a-z]I[Dd]$"
    r"|^(?:patient|person|customer|client|user|member|subject|participant|household)s?$",
)
_CYCLE_NAME = re.compile(r"hour|month|week_?day|day_of|angle|bearing|direction", re.IGNORECASE)


@dataclass(frozen=True)
class Cells:
    """Some rows of a table: their cells by column, their lines, and which have a wrong length."""

    columns: tuple[Sequence[Any], ...]
    lines: Sequence[int]
    ragged: int
    first_ragged: int | None


def cells_in(
    table: Table, positions: Sequence[int], numbers: Sequence[bool] | None = None
) -> Iterator[Cells]:
    """Read columns as they are, block by block: text, or values of their types.

    Of `numbers`, text is as it is read for columns of numbers.
    """
    none = [False] * len(positions)
    for one in tables_of(table):
        blocks, line = None, 1
        found: Iterator[list[Any]] = one.columns(positions, none)
        if isinstance(one, Delimited):
            blocks, found = one.blocks(positions[:1]), one.texts(positions, numbers or none)
        for columns in found:
            lines: Sequence[int] = range(line, line + len(columns[0]))
            bad = np.empty(0, dtype=np.int64)
            if blocks is not None:
                block = next(blocks)
                lines, bad = block.lines.tolist(), np.flatnonzero(block.ragged)
            yield Cells(tuple(columns), lines, len(bad), lines[bad[0]] if len(bad) else None)
            line += len(columns[0])


@dataclass
class Look:
    """The distinct cells of a column that are not missing, each with how often it is there.

    Beyond a number of them no further ones are held; `held` is how many cells the others are.
    """

    name: str
    cells: int = 0
    missing: int = 0
    counts: Counter[Hashable] = field(default_factory=Counter)

    def add(self, cells: Sequence[Any]) -> None:
        """Look at some cells."""
        self.cells += len(cells)
        for cell in cells:
            if key_of(cell) == NO_LABEL:
                self.missing += 1
            elif isinstance(cell, Hashable):
                known = cell.strip() if isinstance(cell, str) else cell
                if known in self.counts or len(self.counts) < _MOST_DISTINCT:
                    self.counts[known] += 1

    @property
    def held(self) -> int:
        """How many cells were counted."""
        return self.counts.total()

    @property
    def distinct(self) -> int:
        """How many distinct cells were counted."""
        return len(self.counts)

    @property
    def repeats(self) -> bool:
        """Whether a cell is there twice."""
        return self.distinct < self.held

    def share(self, codes: Callable[[list[Any]], Floats]) -> float:
        """Which part of the cells can be read."""
        values = list(self.counts)
        read_well = ~np.isnan(codes(values))
        total = sum(n for n, yes in zip(self.counts.values(), read_well, strict=True) if yes)
        return total / max(1, self.held)

    @cached_property
    def kind(self) -> str:
        """What the cells look like: flags, dates, numbers, or text; or nothing that can be read."""
        if not self.held:
            return ""
        if self.share(read.flags) == 1 and _both(list(self.counts)):
            return "flag"
        if self.share(read.days) > _MOST:
            return "date"
        if self.share(read.numbers) > _MOST:
            return "number"
        return "date" if self.patterns else "text"

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """How dates may be written that are not ISO 8601; all that fit."""
        few = self.counts.most_common(_TRIED)
        values, times = [value for value, _ in few], np.array([n for _, n in few])
        read_by = {pattern: ~np.isnan(read.days(values, pattern)) for pattern in _PATTERNS}
        return tuple(p for p, yes in read_by.items() if times[yes].sum() > _MOST * times.sum())

    @cached_property
    def like_id(self) -> bool:
        """Whether the column looks like an id, or like free text: it has many values."""
        named = bool(_ID_NAME.search(self.name))
        many = self.distinct > max(_MOST_LEVELS, self.held / 20)
        if self.kind == "number":
            return many and self._whole and (named or self._counter)
        return self.kind == "text" and (many or (named and 4 * self.distinct > self.held))

    @property
    def _whole(self) -> bool:
        numbers = read.numbers(list(self.counts))
        found = numbers[~np.isnan(numbers)]
        return bool((found == np.floor(found)).all())

    @property
    def _counter(self) -> bool:
        """Whether whole numbers go on from one to the next, each there once."""
        numbers = read.numbers(list(self.counts))
        return not self.repeats and bool(np.ptp(numbers[~np.isnan(numbers)]) < 2 * self.distinct)


def _both(values: list[Any]) -> bool:
    """Whether a flag is more likely than a number: by words, or because there are both values."""
    codes = read.flags(values)
    return len(set(codes.tolist())) == 2 or bool(np.isnan(read.numbers(values)).all())


@dataclass(frozen=True)
class Guess:
    """What a column may be: its kind, or why it is left out, with hints."""

    kind: str
    formats: tuple[str, ...] = ()
    hint: str = ""
    left_out: str = ""


def guess(look: Look) -> Guess:
    """What kind a column may be of."""
    if not look.held:
        return Guess("", left_out="no cell that was looked at has a value")
    if look.like_id:
        return Guess("", left_out="it looks like an id or like free text")
    if look.kind == "text":
        return Guess("category", hint='if the levels have an order: kind = "ordinal"')
    if look.kind == "date":
        return Guess("date", () if look.share(read.days) > _MOST else look.patterns)
    if look.kind == "number" and _CYCLE_NAME.search(look.name):
        return Guess(
            "number", hint=f'if the end meets the beginning: kind = "cycle", period = "{BLANK}"'
        )
    if look.kind == "number" and look.distinct <= _MOST_LEVELS and look.held > 4 * look.distinct:
        return Guess("number", hint='if the numbers are codes: kind = "category", levels = […]')
    return Guess(look.kind)

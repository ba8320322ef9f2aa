"""`sfumato check --schema`: what of a file does not fit a schema, exactly, for its owner.

This is no release. Beside counts and places it shows some cells that could not be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from sfumato._base.labels import NO_LABEL, key_of
from sfumato._base.types import Floats
from sfumato._schema import cells as read
from sfumato._schema.kinds import Column, Cycle, Date, Number
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema
from sfumato._schema.toml import value_of
from sfumato._schema.weight import Weight
from sfumato.cli import _options as o
from sfumato.cli._app import WRONG_INPUT, print_json, progress
from sfumato.cli._guess import Cells, Look, cells_in
from sfumato.cli._inputs import declared_in, file_of, listed
from sfumato.cli._show import MOST_ROWS, console, counted, table_with
from sfumato.engines._files import table_of
from sfumato.engines.formats._table import Table, position_of

_EXAMPLES = 3
_MOST_UNKNOWN = 2**16


@dataclass
class ColumnFit:
    """How the cells of one column fit what is declared; `outside` is None where nothing can be."""

    name: str
    kind: str
    read: int = 0
    missing: int = 0
    unreadable: int = 0
    outside: int | None = None
    first: int | None = None
    """The line of the first cell that cannot be read."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Cells that cannot be read, and how often each is there."""

    def add(self, column: Column, cells: Sequence[Any], lines: Sequence[int]) -> None:
        """Count some cells."""
        codes = _codes(column, cells)
        empty = np.flatnonzero(np.isnan(codes)).tolist()
        wrong = [i for i in empty if key_of(cells[i]) != NO_LABEL]
        self.read += len(cells) - len(empty)
        self.missing += len(empty) - len(wrong)
        self.unreadable += len(wrong)
        if wrong and self.first is None:
            self.first = lines[wrong[0]]
        for text in (str(cells[i]).strip() for i in wrong):
            if text in self.unknown or len(self.unknown) < _MOST_UNKNOWN:
                self.unknown[text] += 1
        if isinstance(column, Number | Date | Weight):
            low, high = column.ends
            self.outside = (self.outside or 0) + int(((codes < low) | (codes > high)).sum())

    def to_dict(self) -> dict[str, Any]:
        """The counts, the number of distinct cells that cannot be read, and the most frequent."""
        found = asdict(self)
        del found["unknown"], found["first"]
        cells = self.read + self.missing + self.unreadable
        share = {"missing_share": self.missing / cells if cells else 0.0}
        examples = dict(self.unknown.most_common(_EXAMPLES))
        more = {"unreadable_distinct": len(self.unknown), "examples": examples}
        return {**found, **share, "first_unreadable_line": self.first, **more}


def _codes(column: Column, cells: Sequence[Any]) -> Floats:
    """The code of each cell; NaN also for levels that are not listed."""
    if isinstance(column, Category):
        # Where missing is a level of its own, a level that is not listed would count as that one.
        column = Category(*column.levels)
    return read.numbers(cells) if isinstance(column, Weight) else column.codes(cells)


@dataclass
class SchemaReport:
    """What a checking pass over a table found.

    `looks` has what columns look like, declared or not; `absent` are columns of the schema that the
    file lacks, `alone` columns of the file that the schema does not name.
    """

    columns: list[ColumnFit]
    looks: dict[str, Look]
    rows: int = 0
    ragged: int = 0
    first_ragged: int | None = None
    absent: Sequence[str] = ()
    alone: Sequence[str] = ()

    @property
    def clean(self) -> bool:
        """Whether all columns are there, and every cell can be read or is missing."""
        return not (self.absent or self.ragged or any(column.unreadable for column in self.columns))


def check_table(
    table: Table,
    schema: Schema,
    places: Mapping[str, int],
    *,
    looks: Mapping[str, int] | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> SchemaReport:
    """Read a table once. places: where its columns are; looks: those that are looked at as well."""
    report = SchemaReport(
        columns=[ColumnFit(name, schema.columns[name].kind) for name in places],
        looks={name: Look(name) for name in looks or ()},
    )
    wanted = {**places, **(looks or {})}
    like_numbers = (Number, Cycle, Weight)
    numbers = [isinstance(schema.columns.get(name), like_numbers) for name in wanted]
    for block in cells_in(table, list(wanted.values()), numbers) if wanted else ():
        _count(report, block, list(wanted), schema)
        if on_rows is not None:
            on_rows(report.rows)
    return report


def _count(report: SchemaReport, block: Cells, names: Sequence[str], schema: Schema) -> None:
    report.rows += len(block.lines)
    report.ragged += block.ragged
    report.first_ragged = report.first_ragged or block.first_ragged
    declared = {column.name: column for column in report.columns}
    for name, cells in zip(names, block.columns, strict=True):
        if name in declared:
            declared[name].add(schema.columns[name], cells, block.lines)
        if name in report.looks:
            report.looks[name].add(cells)


def run(request: o.Check) -> int:
    """Check a file against a schema, print what was found, and return the exit code."""
    schema = declared_in(request)
    file = file_of(request, request.data, guess=True)
    table = table_of(file)
    report = _report(request, table, schema)
    persons, whose = _persons(report, schema), _groups(report, schema)
    if request.as_json:
        print_json(
            {
                "file": str(request.data),
                "clean": report.clean,
                "rows": report.rows,
                "ragged": report.ragged,
                "columns": [column.to_dict() for column in report.columns],
                "absent": report.absent,
                "left_alone": report.alone,
                "like_ids": [name for name, look in report.looks.items() if look.like_id],
                "groups_suggested": persons,
                "groups": whose,
            }
        )
    else:
        out = console()
        title = f"{request.data.name} against {Path(str(request.schema)).name}"
        out.print(f"{title}: {counted(report.rows, 'row')}", soft_wrap=True)
        if report.columns:
            _print_counts(out, report)
        for sentence in _sentences(report, schema, persons, whose):
            out.print(sentence)
    return 0 if report.clean else WRONG_INPUT


def _report(request: o.Check, table: Table, schema: Schema) -> SchemaReport:
    wanted = [*schema.columns, *([schema.groups] if schema.groups else [])]
    found = {name: _place(table, name) for name in wanted}
    there = {name: place for name, place in found.items() if place is not None}
    alone = {table.names[i]: i for i in table.usual if i not in there.values()}
    places = {name: place for name, place in there.items() if name in schema.columns}
    with progress(f"checking {request.data.name}") as on_rows:
        report = check_table(table, schema, places, looks={**there, **alone}, on_rows=on_rows)
    absent = [name for name, place in found.items() if place is None]
    return replace(report, absent=absent, alone=list(alone))


def _place(table: Table, name: str) -> int | None:
    """The position of a column that a schema names; None if the table has none of this name."""
    by_position = name.isdecimal() and int(name) < len(table.names)
    return position_of(table, name) if name in table.names or by_position else None


def _persons(report: SchemaReport, schema: Schema) -> list[str]:
    """Columns that are left alone and could say whose rows are whose."""
    if schema.groups is not None:
        return []
    return [n for n in report.alone if report.looks[n].like_id and report.looks[n].repeats]


def _groups(report: SchemaReport, schema: Schema) -> dict[str, Any] | None:
    """How many groups there are, and how many rows the largest has."""
    if schema.groups is None or schema.groups not in report.looks:
        return None
    look = report.looks[schema.groups]
    most = max(look.counts.values(), default=0)
    counts = {"groups": look.distinct, "most_rows": most, "rows_without_label": look.missing}
    return {"column": schema.groups, **counts}


def _print_counts(out: Console, report: SchemaReport) -> None:
    table = table_with("kind", "read", "missing", "unreadable", "outside")
    table.columns[1].justify = "left"
    shown = report.columns
    if len(shown) > MOST_ROWS:
        shown = [c for c in shown if c.missing or c.unreadable or c.outside][:MOST_ROWS]
    for column in shown:
        share = f" ({column.missing / report.rows:.0%})" if column.missing else ""
        table.add_row(
            column.name,
            column.kind,
            f"{column.read:,}",
            f"{column.missing:,}{share}",
            f"{column.unreadable:,}",
            "" if column.outside is None else f"{column.outside:,}",
        )
    out.print(table)
    if len(shown) < len(report.columns):
        out.print(f"… and {len(report.columns) - len(shown)} more columns, see --json.")


def _sentences(
    report: SchemaReport, schema: Schema, persons: list[str], whose: dict[str, Any] | None
) -> list[str]:
    """What does not fit, and what would help."""
    found = []
    if report.absent:
        found.append(f"Not in the file, but declared: {', '.join(report.absent)}.")
    if report.ragged:
        found.append(
            f"{counted(report.ragged, 'row has', 'rows have')} too few or too many fields, the "
            f"first at line {report.first_ragged}."
        )
    found += [
        f"{_wrong(column)}{_format(schema.columns[column.name], report.looks[column.name])}"
        for column in report.columns
        if column.unreadable
    ]
    found += [
        f"{column.name}: {counted(column.outside, 'cell lies', 'cells lie')} outside what is "
        "declared, and will be clipped."
        for column in report.columns
        if column.outside
    ]
    found += [
        f"{column.name} looks like an id: {counted(report.looks[column.name].distinct, 'value')} "
        f"in {counted(report.rows, 'row')}. An id is no feature: leave it out."
        for column in report.columns
        if report.looks[column.name].like_id
    ]
    found += [
        f"{name} repeats: {counted(report.looks[name].distinct, 'value')} in "
        f"{counted(report.looks[name].held, 'row')}. If it says whose rows are whose, declare "
        f'groups = "{name}": a person is protected then, not a row.'
        for name in persons
    ]
    if whose is not None:
        found.append(_about(whose))
    if report.alone:
        found.append(f"Left alone: {listed(report.alone, 20, 'columns')}.")
    found.append("All fits." if report.clean else "Problems found.")
    found[-1] += (
        " These are exact numbers and cells, for the owner of the file only, outside the guarantee."
    )
    return found


def _wrong(column: ColumnFit) -> str:
    """Which cells of a column cannot be read, with examples for the owner."""
    levels = column.kind in (Category.kind, Ordinal.kind)
    what = "none of its levels" if levels else f"no {column.kind}"
    cells = counted(column.unreadable, "cell is", "cells are")
    distinct = len(column.unknown)
    examples = ", ".join(f"{text!r} ({n:,})" for text, n in column.unknown.most_common(_EXAMPLES))
    found = f"{column.name}: {cells} {what}, the first at line {column.first}. "
    such = ", such as" if distinct > _EXAMPLES else ":"
    return f"{found}{counted(distinct, 'distinct value')}{such} {examples}."


def _format(column: Column, look: Look) -> str:
    """How dates seem to be written, where that is not what is declared."""
    if not isinstance(column, Date) or not look.patterns or column.format in look.patterns:
        return ""
    return f" Declare format = {value_of(look.patterns[0])}, which fits."


def _about(whose: dict[str, Any]) -> str:
    text = (
        f"{whose['column']} says whose rows are whose: {counted(whose['groups'], 'group')}, the "
        f"largest of {counted(whose['most_rows'], 'row')}. Of a group `fit` uses one row, or as "
        "many as --max-rows-per-group says."
    )
    if whose["rows_without_label"]:
        rows = counted(whose["rows_without_label"], "row")
        text += f" {rows} without a label count as one group."
    return text

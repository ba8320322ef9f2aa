"""`sfumato check`: what is wrong with a file, exactly, by place and never by value.

This is no release. It is for the owner of the rows, without privacy, before any budget is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console

from sfumato._lattice.box import Box
from sfumato._schema.schema import Schema
from sfumato.cli import _options as o
from sfumato.cli._app import WRONG_INPUT, print_json, progress
from sfumato.cli._inputs import box_of, file_of, listed
from sfumato.cli._inspect_schema import check_table
from sfumato.cli._inspect_schema import run as run_schema
from sfumato.cli._show import MOST_ROWS, console, counted, table_with
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._csv import Delimited
from sfumato.engines.formats._table import Block, Layout, Table, tables_of

_PLACES = 9
_PLACES_IN_COLUMN = 3


@dataclass(frozen=True)
class ColumnReport:
    """Exact numbers of cells of one column; `outside` is None where no bounds were given."""

    name: str
    numbers: int
    missing: int
    text: int
    outside: int | None


@dataclass(frozen=True)
class Place:
    """Where something is wrong: a line of the file, counted from 1, and a column if it is one."""

    line: int
    column: str | None

    def __str__(self) -> str:
        return f"line {self.line}" + (f", column {self.column!r}" if self.column else "")


@dataclass(frozen=True)
class FileReport:
    """What a checking pass found. Cells that are missing follow the nan policy: no problem.

    `incomplete` counts the rows that have one.
    """

    rows: int
    ragged: int
    columns: tuple[ColumnReport, ...]
    places: tuple[Place, ...]
    incomplete: int = 0

    @property
    def text(self) -> int:
        """How many cells hold something else than a number."""
        return sum(column.text for column in self.columns)

    @property
    def clean(self) -> bool:
        """Whether every row has all its fields, and every cell is a number or missing."""
        return not self.ragged and not self.text


def check_file(
    layout: Layout, *, box: Box | None = None, on_rows: Callable[[int], None] | None = None
) -> FileReport:
    """Read a file once and count what is wrong with it; `on_rows` is called with the rows read."""
    lower, upper = (-np.inf, np.inf) if box is None else (box.lower, box.upper)
    rows = ragged = incomplete = 0
    cells = np.zeros((4, len(layout.positions)), dtype=np.int64)
    places: list[Place] = []
    for block in layout.blocks():
        finite = np.isfinite(block.values)
        missing = ~finite & ~block.text
        outside = finite & ((block.values < lower) | (block.values > upper))
        cells += [part.sum(axis=0) for part in (finite, missing, block.text, outside)]
        rows += len(block.values)
        ragged += int(block.ragged.sum())
        incomplete += int(missing.any(axis=1).sum())
        _add_places(places, block, layout.names)
        if on_rows is not None:
            on_rows(rows)
    columns = (
        ColumnReport(name, numbers, missing, text, None if box is None else beyond)
        for name, (numbers, missing, text, beyond) in zip(
            layout.names, cells.T.tolist(), strict=True
        )
    )
    return FileReport(rows, ragged, tuple(columns), tuple(places), incomplete)


def _add_places(places: list[Place], block: Block, names: tuple[str, ...]) -> None:
    """Note the first places of each column; a ragged row is named once, not by its cells."""
    ragged = np.flatnonzero(block.ragged)[:_PLACES_IN_COLUMN]
    found = [Place(int(block.lines[i]), None) for i in ragged]
    for j in np.flatnonzero(block.text.any(axis=0)):
        cells = np.flatnonzero(block.text[:, j] & ~block.ragged)[:_PLACES_IN_COLUMN]
        found += [Place(int(block.lines[i]), names[j]) for i in cells]
    for place in sorted(found, key=lambda place: place.line):
        alike = sum(place.column == known.column for known in places)
        if alike < _PLACES_IN_COLUMN and len(places) < _PLACES:
            places.append(place)


def run(request: o.Check) -> int:
    """Check a file, print what was found, and return the exit code."""
    if request.schema is not None:
        return run_schema(request)
    data = request.data
    file = file_of(request, data, guess=True)
    layout = layout_of(file)
    box = box_of(request, layout)
    with progress(f"checking {data.name}") as on_rows:
        report = check_file(layout, box=box, on_rows=on_rows)
    guessed = _guess(file, layout)
    if request.as_json:
        print_json({"file": str(data), "clean": report.clean, **asdict(report), **guessed})
    else:
        out = console()
        out.print(f"{data.name}: {counted(report.rows, 'row')}")
        _print_report(out, report)
        if guessed:
            out.print(_advice(**guessed["guessed"]))
    return 0 if report.clean else WRONG_INPUT


def _print_report(out: Console, report: FileReport) -> None:
    bounded = report.columns[0].outside is not None
    table = table_with("numbers", "missing", "not a number", *["outside bounds"] * bounded)
    shown = report.columns
    if len(shown) > MOST_ROWS:
        wrong = [c for c in shown if c.missing or c.text or c.outside]
        shown = tuple(wrong[:MOST_ROWS])
    for column in shown:
        counts = [column.numbers, column.missing, column.text]
        counts += [] if column.outside is None else [column.outside]
        table.add_row(column.name, *(f"{count:,}" for count in counts))
    out.print(table)
    if len(shown) < len(report.columns):
        out.print(f"… and {len(report.columns) - len(shown)} more columns, see --json.")
    if report.ragged:
        out.print(f"Rows with too few or too many fields: {report.ragged:,}.")
    if report.places:
        places = "; ".join(map(str, report.places))
        more = ", and so on" if len(report.places) < report.ragged + report.text else ""
        out.print(f"Where: {places}{more}.")
    if report.incomplete:
        out.print(
            f"{counted(report.incomplete, 'row has', 'rows have')} missing cells. In `fit` "
            "such a row counts with the columns it has; --nan center puts missing cells at the "
            "centre of their column, where they may look like a cluster of their own; --nan drop "
            "leaves their rows out."
        )
    out.print("Nothing wrong." if report.clean else "Problems found.", end=" ")
    out.print("These are exact numbers, for the owner of the file only.")


def _guess(file: TableFile, layout: Layout) -> dict[str, Any]:
    """What was guessed about a text table."""
    table = layout.table
    if file.header != "guess" or not isinstance(table, Delimited):
        return {}
    width = {} if table.named else {"columns": len(table.names)}
    return {"guessed": {"header": table.named, "sep": table.delimiter, **width}}


def _advice(header: bool, sep: str, columns: int | None = None) -> str:
    """What the first line was taken for, and how to declare it."""
    if header:
        return "The first line seems to name the columns: other commands need --header."
    mark = "tab" if sep == "\t" else repr(sep)
    words = f"--no-header --columns {columns} --sep {mark}"
    return f"The first line seems to be a row: other commands need {words}."


def check_rows(request: o.Refusing, layout: Layout) -> None:
    """Refuse files with bad cells or rows, if that is asked for, before anything is spent."""
    if request.on_bad_row is not o.BadRow.REFUSE:
        return
    for table in tables_of(layout.table):
        if layout.schema is not None:
            _check_declared(layout, table, layout.schema)
            continue
        # Other formats declare their types: a cell is a number or missing.
        if not isinstance(table, Delimited):
            continue
        with progress(f"checking {table.file.name}") as on_rows:
            report = check_file(replace(layout, table=table), on_rows=on_rows)
        if not report.clean:
            raise ValueError(_refusal(str(table.file), report))


def _check_declared(layout: Layout, table: Table, schema: Schema) -> None:
    """Refuse a table in which cells cannot be read as a schema declares."""
    places = dict(zip(schema.inputs, layout.positions, strict=True))
    with progress(f"checking {table.files[0].name}") as on_rows:
        report = check_table(table, schema, places, on_rows=on_rows)
    if report.clean:
        return
    wrong, found = [column for column in report.columns if column.unreadable], []
    if wrong:
        names = listed([column.name for column in wrong], 5)
        first = f"the first at {Place(wrong[0].first or 0, wrong[0].name)}"
        found.append(f"cells that are not as the schema declares (column {names}), {first}")
    if report.ragged:
        place = f"the first at line {report.first_ragged}"
        found.append(f"rows with too few or too many fields, {place}")
    raise ValueError(
        f"{table.files[0]} has {', and '.join(found)}. Nothing was spent. sfumato check "
        f"{table.files[0]} --schema FILE shows them; correct the file or the schema, or pass "
        "--on-bad-row policy to treat such cells as missing"
    )


def _refusal(data: str, report: FileReport) -> str:
    """One line: why a file is not fitted, and what would work."""
    found = []
    if report.text:
        wrong = listed([column.name for column in report.columns if column.text], 5)
        found.append(f"cells that are not numbers (column {wrong})")
    if report.ragged:
        found.append("rows with too few or too many fields")
    return (
        f"{data} has {' and '.join(found)}, the first at {report.places[0]}. Nothing was spent. "
        f"See sfumato check {data}; correct the file, choose --columns, or pass --on-bad-row "
        "policy to treat such cells as missing"
    )

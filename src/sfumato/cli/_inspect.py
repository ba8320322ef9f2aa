"""`sfumato check`: the owner's look at a file, without privacy and without cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.cli._app import WRONG_INPUT, print_json, progress
from sfumato.cli._file_report import FileReport, check_file
from sfumato.cli._inputs import Reading, box_of, columns_bounded
from sfumato.cli._show import console, print_guess, print_report
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._csv import Delimited
from sfumato.engines.formats._table import Layout, tables_of


def run(
    data: Path,
    *,
    reading: Reading,
    bounds: list[str] | None,
    bounds_file: Path | None,
    as_json: bool,
) -> int:
    """Check a file, print what was found, and return the exit code."""
    file = reading.file(data, columns_bounded(bounds, bounds_file), guess=True)
    layout = layout_of(file)
    box = box_of(layout, bounds, bounds_file)
    with progress(f"checking {data.name}") as on_rows:
        report = check_file(layout, box=box, on_rows=on_rows)
    guessed = _guess(file, layout)
    if as_json:
        print_json({"file": str(data), **report.to_dict(), **guessed})
        return 0 if report.clean else WRONG_INPUT
    out = console()
    print_report(out, data.name, report)
    if guessed:
        print_guess(out, guessed["guessed"])
    return 0 if report.clean else WRONG_INPUT


def _guess(file: TableFile, layout: Layout) -> dict[str, Any]:
    """What a text table was taken for without having been told."""
    table = layout.table
    if file.header != "guess" or not isinstance(table, Delimited):
        return {}
    width = {} if table.named else {"columns": len(table.names)}
    return {"guessed": {"header": table.named, "sep": table.delimiter, **width}}


def check_rows(layout: Layout) -> None:
    """Refuse files with cells or rows that are not as they should be, before anything is spent."""
    for table in tables_of(layout.table):
        # Other formats declare their types: a cell is a number or missing.
        if not isinstance(table, Delimited):
            continue
        file = table.file
        with progress(f"checking {file.name}") as on_rows:
            report = check_file(replace(layout, table=table), on_rows=on_rows)
        if not report.clean:
            raise ValueError(refusal(str(file), report))


def refusal(data: str, report: FileReport) -> str:
    """Say in one line why a file is not fitted, and what would work."""
    found = []
    if report.text:
        wrong = _listed(column.name for column in report.columns if column.text)
        found.append(f"cells that are not numbers (column {wrong})")
    if report.ragged:
        found.append("rows with too few or too many fields")
    return (
        f"{data} has {' and '.join(found)}, the first at {report.places[0]}. Nothing was spent. "
        f"See sfumato check {data}; mend the file, choose --columns, or pass --on-bad-row policy "
        "to treat such cells as missing"
    )


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more

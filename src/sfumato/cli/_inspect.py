"""`sfumato check`: what is wrong with a file, for its owner, without privacy and without cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfumato.cli import _options as o
from sfumato.cli._app import WRONG_INPUT, print_json, progress
from sfumato.cli._file_report import FileReport, check_file
from sfumato.cli._inputs import box_of, file_of, listed
from sfumato.cli._show import console, print_guess, print_report
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._csv import Delimited
from sfumato.engines.formats._table import Layout, tables_of


def run(request: o.Check) -> int:
    """Check a file, print what was found, and return the exit code."""
    data = request.data
    file = file_of(request, data, guess=True)
    layout = layout_of(file)
    box = box_of(request, layout)
    with progress(f"checking {data.name}") as on_rows:
        report = check_file(layout, box=box, on_rows=on_rows)
    guessed = _guess(file, layout)
    if request.as_json:
        print_json({"file": str(data), **report.to_dict(), **guessed})
    else:
        out = console()
        print_report(out, data.name, report)
        if guessed:
            print_guess(out, guessed["guessed"])
    return 0 if report.clean else WRONG_INPUT


def _guess(file: TableFile, layout: Layout) -> dict[str, Any]:
    """What was guessed about a text table."""
    table = layout.table
    if file.header != "guess" or not isinstance(table, Delimited):
        return {}
    width = {} if table.named else {"columns": len(table.names)}
    return {"guessed": {"header": table.named, "sep": table.delimiter, **width}}


def check_rows(request: o.Refusing, layout: Layout) -> None:
    """Refuse files with bad cells or rows, if that is asked for, before anything is spent."""
    if request.on_bad_row is not o.BadRow.REFUSE:
        return
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

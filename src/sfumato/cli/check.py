"""`sfumato check`: the owner's look at a file, without privacy and without cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.cli.bounds import box_of
from sfumato.cli.columns import Reading, columns_bounded
from sfumato.cli.running import WRONG_INPUT, print_json, progress
from sfumato.cli.show import console, print_report
from sfumato.engines.checking import FileReport, check_file
from sfumato.engines.delimited import Delimited
from sfumato.engines.files import layout_of
from sfumato.engines.several import tables_of
from sfumato.engines.tables import Layout


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
    if as_json:
        print_json({"file": str(data), **report.to_dict()})
    else:
        print_report(console(), data.name, report)
    return 0 if report.clean else WRONG_INPUT


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
    wrong = [column.name for column in report.columns if column.text]
    found = []
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        found.append(f"cells that are not numbers (column {', '.join(wrong[:5])}{more})")
    if report.ragged:
        found.append("rows with too few or too many fields")
    return (
        f"{data} has {' and '.join(found)}, the first at {report.places[0]}. Nothing was spent. "
        f"See sfumato check {data}; mend the file, choose --columns, or pass --on-bad-row policy "
        "to treat such cells as missing"
    )

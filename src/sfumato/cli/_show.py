"""What commands print for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from sfumato._accounting.text import sentences_of, table_of
from sfumato._released_model import to_dict

if TYPE_CHECKING:
    from sfumato._accounting.receipt import Receipt
    from sfumato._lattice.box import Box
    from sfumato._private_kmeans import PrivateKMeans
    from sfumato.cli._file_report import ColumnReport, FileReport

_MOST_COLUMNS = 12
_MOST_ROWS = 40
_WIDEST = 20
# The columns for the number of a cluster and its size, with their borders.
_MARGIN = 27


def console() -> Console:
    """Standard output. Names from a file are text, never markup."""
    return Console(markup=False, emoji=False, highlight=False)


def number(value: float, low: float, high: float) -> str:
    """A coordinate with as many digits as its bounds make meaningful."""
    size = math.floor(math.log10(min(high - low, sys.float_info.max)))
    if not -6 <= size <= 12 or max(abs(low), abs(high)) >= 1e13:
        return f"{value:.5g}"
    text = f"{value:,.{max(0, 3 - size)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def centers_table(model: PrivateKMeans, names: Sequence[str], width: int) -> tuple[Table, int]:
    """The centres as a table with as many columns as fit; returns how many that are."""
    box: Box = model.box_
    table = Table()
    table.add_column("cluster", justify="right")
    table.add_column("noisy size", justify="right")
    columns = model.cluster_centers_[:_MOST_ROWS].T.tolist()
    shown: list[list[str]] = []
    space = width - _MARGIN
    for name, low, high, values in zip(names, box.lower, box.upper, columns, strict=True):
        cells = [number(value, low, high) for value in values]
        space -= min(_WIDEST, max(map(len, (name, *cells)))) + 3
        if shown and (space < 0 or len(shown) == _MOST_COLUMNS):
            break
        table.add_column(
            name, justify="right", overflow="ellipsis", no_wrap=True, max_width=_WIDEST
        )
        shown.append(cells)
    for i, row in enumerate(zip(*shown, strict=True)):
        table.add_row(str(i), f"{round(model.cluster_sizes_[i]):,}", *row)
    return table, len(shown)


def print_centers(out: Console, model: PrivateKMeans, names: Sequence[str]) -> None:
    """Print the centres, and how many of them and of the columns are not shown."""
    table, shown = centers_table(model, names, out.width)
    out.print(table)
    more = {"centres": len(model.cluster_centers_) - _MOST_ROWS, "columns": len(names) - shown}
    hidden = [f"{count} more {things}" for things, count in more.items() if count > 0]
    if hidden:
        out.print(f"… and {' and '.join(hidden)}, all of them in the model file.")


def print_receipt(out: Console, receipt: Receipt) -> None:
    """Print what was asked and spent, and what is promised."""
    out.print(table_of(receipt))
    for sentence in sentences_of(receipt):
        out.print(sentence)


def print_report(out: Console, name: str, report: FileReport) -> None:
    """Print what a checking pass found."""
    bounded = report.columns[0].outside is not None
    out.print(f"{name}: {report.rows:,} row{'s' * (report.rows != 1)}")
    table = Table()
    table.add_column("column", overflow="ellipsis", no_wrap=True)
    for title in ("numbers", "missing", "not a number", *["outside bounds"] * bounded):
        table.add_column(title, justify="right")
    shown = _worth_showing(report)
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
        rows = "row has" if report.incomplete == 1 else "rows have"
        out.print(
            f"{report.incomplete:,} {rows} missing cells. `fit` puts them at the centre of their "
            "column, where they may look like a cluster of their own; --nan drop leaves their "
            "rows out."
        )
    out.print("Nothing wrong." if report.clean else "Problems found.", end=" ")
    out.print("These are exact numbers, for the owner of the file only.")


def print_guess(out: Console, guessed: dict[str, Any]) -> None:
    """Say what the first line was taken for, and how to declare it."""
    mark = {"\t": "tab"}.get(guessed["sep"], repr(guessed["sep"]))
    if guessed["header"]:
        out.print("The first line seems to name the columns: other commands need --header.")
    else:
        words = f"--no-header --columns {guessed['columns']} --sep {mark}"
        out.print(f"The first line seems to be a row: other commands need {words}.")


def _worth_showing(report: FileReport) -> list[ColumnReport]:
    """All columns, or of very many those with missing, text or outside cells."""
    if len(report.columns) <= _MOST_ROWS:
        return list(report.columns)
    return [c for c in report.columns if c.missing or c.text or c.outside][:_MOST_ROWS]


def shown(model: PrivateKMeans) -> dict[str, Any]:
    """A model without its synopsis, which has a number for each cell: too long for a screen."""
    return {name: value for name, value in to_dict(model).items() if name != "synopsis"}

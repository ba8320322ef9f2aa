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
    from sfumato._private_kmeans import PrivateKMeans

MOST_ROWS = 40
_MOST_COLUMNS = 12
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


def counted(count: int, one: str, many: str = "") -> str:
    """A number with the word for what it counts."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def table_with(*titles: str) -> Table:
    """A table of columns of a file by name, and numbers under these titles."""
    table = Table()
    table.add_column("column", overflow="ellipsis", no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right")
    return table


def print_centers(out: Console, model: PrivateKMeans, names: Sequence[str]) -> None:
    """Print the centres, and how many of them and of the columns are not shown."""
    box, centers = model.box_, model.cluster_centers_
    table = Table()
    table.add_column("cluster", justify="right")
    table.add_column("noisy size", justify="right")
    columns = centers[:MOST_ROWS].T.tolist()
    shown: list[list[str]] = []
    space = out.width - _MARGIN
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
    out.print(table)
    more = {"centres": len(centers) - MOST_ROWS, "columns": len(names) - len(shown)}
    hidden = [f"{count} more {things}" for things, count in more.items() if count > 0]
    if hidden:
        out.print(f"… and {' and '.join(hidden)}, all of them in the model file.")


def print_receipt(out: Console, receipt: Receipt) -> None:
    """Print what was asked and spent, and what is promised."""
    out.print(table_of(receipt))
    for sentence in sentences_of(receipt):
        out.print(sentence)


def shown(model: PrivateKMeans) -> dict[str, Any]:
    """A model without its synopsis, which has a number for each cell: too long for a screen."""
    return {name: value for name, value in to_dict(model).items() if name != "synopsis"}

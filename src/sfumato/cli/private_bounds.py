"""`sfumato bounds`: bounds of a file's columns, bought with privacy budget."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sfumato.bounds import Bought, buy_bounds
from sfumato.budget import Ledger
from sfumato.cli.check import check_rows
from sfumato.cli.columns import Reading, check_groups
from sfumato.cli.paths import check_output
from sfumato.cli.running import passes, print_json
from sfumato.cli.show import console, number, print_receipt
from sfumato.curator.bounds import Survey
from sfumato.engines.files import layout_of
from sfumato.engines.tables import Layout
from sfumato.parameters import check_epsilon
from sfumato.receipt import Receipt
from sfumato.writing import write_whole


@dataclass(frozen=True)
class Request:
    """Everything that was asked for on the command line."""

    data: Path
    epsilon: float
    output: Path | None
    reading: Reading
    groups: str | None
    max_rows_per_group: int
    refuse: bool


def run(request: Request, *, as_json: bool) -> None:
    """Buy bounds and print them. All that can be refused is refused before the charge."""
    epsilon = check_epsilon(request.epsilon)
    most = check_groups(request.groups, request.max_rows_per_group)
    if request.output is not None:
        check_output(request.output, request.data)
    file = request.reading.file(request.data)
    layout = layout_of(file, groups=request.groups)
    if request.refuse:
        check_rows(layout)
    survey = Survey(file, ledger=Ledger(epsilon), groups=request.groups, max_rows_per_group=most)
    with passes(f"reading {request.data.name}"):
        bought = buy_bounds(survey, epsilon)
    pairs = [list(pair) for pair in zip(bought.lower, bought.upper, strict=True)]
    found = dict(zip(_keys(layout), pairs, strict=True))
    if request.output is not None:
        write_whole(request.output, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    receipt = Receipt.of(
        bought.account, method="bounds", neighbours=survey.neighbours, notes=bought.notes
    )
    if as_json:
        print_json({"bounds": found, "receipt": receipt.to_dict()})
        return
    out = console()
    out.print(f"Private bounds of {request.data.name}")
    _print_bounds(out, layout, bought)
    print_receipt(out, receipt)
    if request.output is not None:
        out.print(f"Written to {request.output}, for --bounds-file", soft_wrap=True)


def _keys(layout: Layout) -> tuple[str, ...]:
    """Names that --bounds-file finds again."""
    return layout.given_names or tuple(str(i) for i in layout.positions)


def _print_bounds(out: Console, layout: Layout, bought: Bought) -> None:
    table = Table()
    table.add_column("column", overflow="ellipsis", no_wrap=True)
    table.add_column("lower", justify="right")
    table.add_column("upper", justify="right")
    for title, low, high in zip(layout.titles, bought.lower, bought.upper, strict=True):
        table.add_row(title, number(low, low, high), number(high, low, high))
    out.print(table)

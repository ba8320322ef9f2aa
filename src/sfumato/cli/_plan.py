"""`sfumato plan` and `sfumato bounds`: predicted errors, and private bounds of a file's columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from rich.table import Table

from sfumato._accounting.budget import Ledger
from sfumato._base.files import write_whole
from sfumato._base.validation import check_epsilon, check_whole
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._planning import plan, sentences_of, table_of
from sfumato._private_bounds.estimate import keep_bounds, receipt_of, release_bounds
from sfumato._schema.schema import Schema
from sfumato._schema.words import number
from sfumato.cli import _commands as c
from sfumato.cli import _options as o
from sfumato.cli._app import passes, print_json
from sfumato.cli._inputs import (
    Pair,
    check_large,
    check_output,
    file_of,
    ledger_of,
    max_rows_of,
    pair_of,
)
from sfumato.cli._inspect import check_rows
from sfumato.cli._show import console, print_receipt, table_with
from sfumato.engines._files import layout_of


def run(request: c.Plan) -> None:
    """Plan, and print the table or JSON."""
    d = _dimensions(request)
    for name, value in (("--n", request.n), ("--d", d), ("-k", request.k)):
        check_whole(value, name)
    planned = plan(
        n=request.n,
        d=d,
        k=request.k,
        epsilon=request.epsilon,
        delta=request.delta,
        bounds=_bounds(request.bounds, d),
        n_rows_known=request.n_rows_known,
        model=request.model.value,
    )
    if request.as_json:
        print_json(planned.to_dict())
        return
    out = console()
    out.print(table_of(planned))
    for sentence in sentences_of(planned):
        out.print(sentence)


def _dimensions(request: c.Plan) -> int:
    """The number of coordinates of a row: as given, or of a schema."""
    if (request.d is None) == (request.schema is None):
        raise ValueError("the number of columns is needed: --d D or --schema FILE, one of them")
    if request.schema is None:
        return int(request.d or 0)
    if request.bounds:
        raise ValueError(
            "--schema declares the bounds: noise is stated in the cube, leave --bounds out"
        )
    return Schema.read(request.schema).dimensions


def _bounds(texts: list[str] | None, d: int) -> tuple[list[float], list[float]] | None:
    """Read LOW,HIGH once for all columns, or once for each of them in order."""
    if not texts:
        return None
    if len(texts) not in (1, d):
        raise ValueError(
            f"--bounds LOW,HIGH is given once for all columns or {d} times, once for each of them "
            f"in order, got {len(texts)}"
        )
    pairs = [pair_of(text.split(","), f"--bounds {text}", "") for text in texts]
    pairs *= d // len(texts)
    return [low for low, _ in pairs], [high for _, high in pairs]


def run_bounds(request: o.Bounds) -> None:
    """Estimate bounds and print them. All that can be refused is refused before the charge."""
    epsilon, most = _checked(request)
    file = file_of(request, request.data)
    layout = layout_of(file, groups=request.groups)
    check_rows(request, layout)
    curator = HistogramCurator(
        file,
        ledger=ledger_of(request) or Ledger(epsilon),
        groups=request.groups,
        max_rows_per_group=most,
    )
    with passes(f"reading {request.data.name}"):
        released = release_bounds(curator, epsilon)
    pairs = list(zip(released.lower, released.upper, strict=True))
    # Names that --bounds-file finds again.
    names = layout.given_names or map(str, layout.positions)
    found = dict(zip(names, pairs, strict=True))
    receipt, text = receipt_of(released, curator), json.dumps(found, indent=2, ensure_ascii=False)
    if curator.ledger.durable:
        keep_bounds(curator.ledger, released, receipt, text)
    if request.output is not None:
        write_whole(request.output, f"{text}\n")
    if request.as_json:
        print_json({"bounds": found, "receipt": receipt.to_dict()})
        return
    out = console()
    out.print(f"Private bounds of {request.data.name}")
    out.print(_table(layout.titles, pairs))
    print_receipt(out, receipt)
    if request.output is not None:
        out.print(f"Written to {request.output}, for --bounds-file", soft_wrap=True)


def _checked(request: o.Bounds) -> tuple[Fraction, int]:
    """ε and rows per group, if nothing is wrong with the request whatever the file holds."""
    epsilon = check_epsilon(request.epsilon)
    check_large(request, request.epsilon)
    most = max_rows_of(request, request.groups)
    if isinstance(most, str):
        raise ValueError(
            "--max-rows-per-group private is for `sfumato fit`; bounds need a number: for the "
            "bounds and rows per group of one fit, use `sfumato fit --bounds private`"
        )
    if request.output is not None:
        check_output(request.output, request.data, force=request.force)
    return epsilon, most


def _table(titles: Sequence[str], pairs: list[Pair]) -> Table:
    table = table_with("lower", "upper")
    for title, (low, high) in zip(titles, pairs, strict=True):
        table.add_row(title, number(low, low, high), number(high, low, high))
    return table

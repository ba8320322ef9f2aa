"""`sfumato perturb`: every row of a file as a report of its own, from file to file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sfumato.cli.bounds import box_of
from sfumato.cli.check import check_rows
from sfumato.cli.columns import Reading, columns_asked, columns_bounded
from sfumato.cli.paths import check_output
from sfumato.cli.running import print_json, progress
from sfumato.cli.show import console
from sfumato.curator.randomizer import Randomizer
from sfumato.engines.carrying import Carried, carry, check_format
from sfumato.engines.files import layout_of
from sfumato.engines.tables import Layout
from sfumato.local import NDLaplace, Truncation
from sfumato.local_receipt import LocalReceipt, sentences_of
from sfumato.local_transformer import LocalPlan
from sfumato.writing import appearing_as

Nan = Literal["center", "keep", "drop"]


@dataclass(frozen=True)
class Request:
    """Everything that was asked for on the command line."""

    data: Path
    output: Path
    epsilon: float | None
    level: float | None
    radius: float | None
    bounds: list[str] | None
    bounds_file: Path | None
    truncation: Truncation
    units: Literal["data", "box"]
    reading: Reading
    keep: list[str] | None
    nan: Nan
    refuse: bool


def run(request: Request, *, as_json: bool) -> None:
    """Perturb a file. All that can be refused is refused before a row is read."""
    check_format(request.output.name)
    check_output(request.output, request.data, *filter(None, [request.bounds_file]))
    layout = _layout(request)
    plan = _plan(request, layout)
    if request.refuse:
        check_rows(layout)
    carried = _perturb(request, layout, plan)
    receipt = replace(plan.receipt, notes=(*plan.receipt.notes, *_notes(request, layout)))
    if as_json:
        print_json(
            {
                "written_to": str(request.output),
                "rows": carried.rows,
                "rows_left_out": carried.left_out,
                **_columns(layout),
                "receipt": receipt.to_dict(),
            }
        )
        return
    _print(request, layout, carried, receipt)


def _layout(request: Request) -> Layout:
    named = columns_bounded(request.bounds, request.bounds_file)
    file = request.reading.file(request.data, named)
    layout = layout_of(file, keep=columns_asked(request.keep) or ())
    # The columns come out in the order of the file, however they were asked for.
    return replace(layout, positions=tuple(sorted(layout.positions)))


def _plan(request: Request, layout: Layout) -> LocalPlan:
    box = box_of(layout, request.bounds, request.bounds_file)
    if box is None:
        raise ValueError(
            "bounds are required, and come from outside the data: --bounds LOW,HIGH, "
            "--bounds COLUMN=LOW,HIGH for each column, or --bounds-file FILE"
        )
    return NDLaplace(
        request.epsilon,
        level=request.level,
        radius=request.radius,
        truncation=request.truncation,
        units=request.units,
        nan="keep" if request.nan == "keep" else "center",
    ).plan(box)


def _perturb(request: Request, layout: Layout, plan: LocalPlan) -> Carried:
    door = Randomizer(
        plan.lattice.box,
        units=plan.lattice.units,
        missing="keep" if request.nan == "keep" else "center",
    )
    with (
        progress(f"perturbing {request.data.name}") as on_rows,
        appearing_as(request.output) as place,
    ):
        return carry(
            layout,
            place,
            request.output.name,
            lambda rows: door.perturb(rows, plan.law, clamp=plan.clamp),
            drop=request.nan == "drop",
            on_rows=on_rows,
        )


def _notes(request: Request, layout: Layout) -> tuple[str, ...]:
    notes = []
    if layout.kept:
        names = ", ".join(layout.table.names[i] for i in layout.kept)
        notes.append(f"kept as they are, outside the promise: {names}")
    if request.nan == "drop":
        notes.append("rows with missing cells are left out, which tells that they had some")
    return tuple(notes)


def _columns(layout: Layout) -> dict[str, list[str]]:
    """Which columns of the file were perturbed, kept, and left out."""
    names, used = layout.table.names, {*layout.positions, *layout.kept}
    return {
        "columns": list(layout.names),
        "kept": [names[i] for i in layout.kept],
        "left_out": [name for i, name in enumerate(names) if i not in used],
    }


def _print(request: Request, layout: Layout, carried: Carried, receipt: LocalReceipt) -> None:
    out = console()
    out.print(f"Reports of {request.data.name}, by {receipt.mechanism}")
    for sentence in sentences_of(receipt):
        out.print(sentence)
    left_out = _columns(layout)["left_out"]
    if left_out:
        out.print(f"Columns left out: {', '.join(left_out)}. --keep carries columns through.")
    if carried.left_out:
        rows = "row" if carried.left_out == 1 else "rows"
        out.print(f"{carried.left_out:,} {rows} with missing cells left out.")
    reports = "report" if carried.rows == 1 else "reports"
    out.print(f"{carried.rows:,} {reports} written to {request.output}", soft_wrap=True)

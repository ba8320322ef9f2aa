"""`sfumato perturb`: copies a table block by block, with its numbers perturbed."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from sfumato._base.files import atomic_path
from sfumato._base.types import Floats
from sfumato._core.local.randomizer import Randomizer
from sfumato.cli import _options as o
from sfumato.cli._app import print_json, progress
from sfumato.cli._inputs import check_output, columns_asked, file_of, needed_box
from sfumato.cli._inspect import check_rows
from sfumato.cli._show import console, counted
from sfumato.engines._files import layout_of
from sfumato.engines.formats._csv import Delimited
from sfumato.engines.formats._parquet import Parquet, ParquetOut
from sfumato.engines.formats._records import readable
from sfumato.engines.formats._table import Layout
from sfumato.local._ndlaplace import NDLaplace
from sfumato.local._transformer import LocalPlan

FORMATS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


class TextOut:
    """A text table that is written block by block."""

    def __init__(
        self, path: Path, names: Sequence[str] | None, delimiter: str, *, zipped: bool
    ) -> None:
        raw: IO[bytes] = path.open("wb")
        # A zipped table contains no file name and no time.
        packed: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if zipped else raw
        text = io.TextIOWrapper(packed, encoding="utf-8", errors="surrogateescape", newline="")
        self._open = (text, packed, raw)
        self._writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        if names is not None:
            self._writer.writerow(names)

    def write(self, columns: Sequence[Any]) -> None:
        """Write some rows, given column by column; NaN is written as an empty cell."""
        self._writer.writerows(zip(*map(_cells, columns), strict=True))

    def close(self) -> None:
        """Write the end of the file."""
        for file in self._open:
            file.close()


def _blocks(layout: Layout, *, to_parquet: bool) -> Iterator[tuple[Floats, list[Any]]]:
    """Read the features, and the kept columns as text, or between Parquet files as they are."""
    table = layout.table
    kept: list[Iterator[Any]]
    if to_parquet and isinstance(table, Parquet):
        kept = [table.arrays(i) for i in layout.kept]
    else:
        kept = [_texts(table.cells(i), to_parquet) for i in layout.kept]
    for block, *columns in zip(layout.blocks(), *kept, strict=True):
        if any(len(column) != len(block.values) for column in columns):
            raise RuntimeError("the file has changed while it was read")
        yield block.values, columns


def _texts(cells: Iterator[list[Any]], to_parquet: bool) -> Iterator[list[str]]:
    """Cells as text; bytes that are not UTF-8 go into a text file as they are."""
    for block in cells:
        texts = ["" if cell is None or cell != cell else str(cell) for cell in block]
        yield list(map(readable, texts)) if to_parquet else texts


def _out(layout: Layout, place: Path, name: str, order: list[int]) -> TextOut | ParquetOut:
    table = layout.table
    names = [table.names[i] for i in order]
    if name.endswith(".parquet"):
        own = table.type_of if isinstance(table, Parquet) else lambda _: "text"
        return ParquetOut(place, names, [own(i) if i in layout.kept else "number" for i in order])
    semicolons = isinstance(table, Delimited) and table.delimiter == ";"
    delimiter = "\t" if name.endswith((".tsv", ".tsv.gz")) else ";" if semicolons else ","
    return TextOut(place, names if table.named else None, delimiter, zipped=name.endswith(".gz"))


def _few(column: Any, chosen: Any) -> Any:  # noqa: ANN401
    """The chosen cells of a column that is kept."""
    if chosen.all():
        return column
    places = np.flatnonzero(chosen)
    return column.take(places) if hasattr(column, "take") else [column[i] for i in places]


def _cells(column: Any) -> list[Any]:  # noqa: ANN401
    if not isinstance(column, np.ndarray):
        return list(column)
    cells: list[Any] = column.tolist()
    for i in np.flatnonzero(np.isnan(column)):
        cells[i] = None
    return cells


def run(request: o.Perturb) -> None:
    """Perturb a file. All that can be refused is refused before a row is read."""
    target = request.output.name
    if not target.lower().endswith(FORMATS):
        raise ValueError(f"the name of --output must end in {', '.join(FORMATS)}, got {target!r}")
    check_output(request.output, request.data, *filter(None, [request.bounds_file]))
    layout = layout_of(file_of(request, request.data), keep=columns_asked(request.keep) or ())
    # The columns come out in the order of the file, however they were asked for.
    layout = replace(layout, positions=tuple(sorted(layout.positions)))
    plan = _plan(request, layout)
    check_rows(request, layout)
    copied, left_out = _perturb(request, layout, plan)
    columns = _columns(layout)
    notes = _notes(columns["kept"], drop=request.nan is o.ReportNan.DROP)
    receipt = replace(plan.receipt, notes=(*plan.receipt.notes, *notes))
    if request.as_json:
        print_json(
            {
                "written_to": str(request.output),
                "rows": copied,
                "rows_left_out": left_out,
                **columns,
                "receipt": receipt.to_dict(),
            }
        )
        return
    out = console()
    out.print(f"Reports of {request.data.name}, by {receipt.method}")
    for sentence in receipt.sentences():
        out.print(sentence)
    if columns["left_out"]:
        others = ", ".join(columns["left_out"])
        out.print(f"Columns left out: {others}. --keep copies columns as they are.")
    if left_out:
        out.print(f"{counted(left_out, 'row')} with missing cells left out.")
    out.print(f"{counted(copied, 'report')} written to {request.output}", soft_wrap=True)


def _plan(request: o.Perturb, layout: Layout) -> LocalPlan:
    return NDLaplace(
        request.epsilon,
        level=request.level,
        radius=request.radius,
        truncation=request.truncation.value,
        units=request.units.value,
        nan=_missing(request),
    ).plan(needed_box(request, layout))


def _missing(request: o.Perturb) -> Literal["keep", "center"]:
    return "keep" if request.nan is o.ReportNan.KEEP else "center"


def _perturb(request: o.Perturb, layout: Layout, plan: LocalPlan) -> tuple[int, int]:
    """Write the reports, one block at a time; returns how many, and how many rows are left out."""
    randomizer = Randomizer(plan.lattice.box, units=plan.lattice.units, missing=_missing(request))
    order = sorted((*layout.positions, *layout.kept))
    name, drop = request.output.name.lower(), request.nan is o.ReportNan.DROP
    copied = left_out = 0
    with (
        progress(f"perturbing {request.data.name}") as on_rows,
        atomic_path(request.output) as place,
        closing(_out(layout, place, name, order)) as out,
    ):
        for values, kept in _blocks(layout, to_parquet=name.endswith(".parquet")):
            chosen = np.isfinite(values).all(axis=1) if drop else np.ones(len(values), np.bool_)
            reports = randomizer.perturb(values[chosen], plan.mechanism, clamp=plan.clamp)
            columns: dict[int, Any] = dict(zip(layout.positions, reports.T, strict=True))
            columns |= {i: _few(part, chosen) for i, part in zip(layout.kept, kept, strict=True)}
            out.write([columns[i] for i in order])
            copied, left_out = copied + len(reports), left_out + int((~chosen).sum())
            on_rows(copied + left_out)
    return copied, left_out


def _notes(kept: list[str], *, drop: bool) -> list[str]:
    notes = [f"kept as they are, outside the guarantee: {', '.join(kept)}"] if kept else []
    if drop:
        notes.append("rows with missing cells are left out, which reveals that they had some")
    return notes


def _columns(layout: Layout) -> dict[str, list[str]]:
    """Which columns of the file were perturbed, kept, and left out."""
    names, used = layout.table.names, {*layout.positions, *layout.kept}
    return {
        "columns": list(layout.names),
        "kept": [names[i] for i in layout.kept],
        "left_out": [name for i, name in enumerate(names) if i not in used],
    }

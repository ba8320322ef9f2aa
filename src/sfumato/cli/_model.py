"""`sfumato sample` and `sfumato explain`: synthetic rows, and what tells clusters apart."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import typer

from sfumato._accounting.budget import Ledger
from sfumato._base.files import atomic_path, write_whole
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._core.curator import Curator
from sfumato._explaining.words import rendered
from sfumato._private_kmeans import PrivateKMeans
from sfumato._released_centers import ReleasedCenters
from sfumato._schema.kinds import Column, Cycle, Date, Flag, Number
from sfumato._schema.schema import Schema
from sfumato.cli import _options as o
from sfumato.cli._app import passes, print_json
from sfumato.cli._inputs import (
    check_large,
    check_output,
    columns_asked,
    file_of,
    ledger_of,
    load_model,
    max_rows_of,
)
from sfumato.cli._inspect import check_rows
from sfumato.cli._rewrite import FORMATS, TextOut
from sfumato.cli._show import console, counted, print_receipt
from sfumato.engines._files import layout_of
from sfumato.engines.formats._parquet import ParquetOut


def run_sample(request: o.Sample) -> None:
    """Draw synthetic rows and write them. Nothing is read but the model."""
    target = request.output.name.lower()
    if not target.endswith(FORMATS):
        raise ValueError(
            f"the name of --output must end in {', '.join(FORMATS)}, got {request.output.name!r}"
        )
    check_whole(request.n, "--n")
    check_output(request.output, request.model, force=request.force)
    model = load_model(request.model, request.schema)
    columns = _columns(model, request)
    with atomic_path(request.output) as place, closing(_out(place, target, columns)) as out:
        out.write(list(columns.values()))
    if request.as_json:
        print_json({"written_to": str(request.output), "rows": request.n, "columns": list(columns)})
        return
    rows = counted(request.n, "synthetic row")
    console().print(f"{rows} written to {request.output}. They cost nothing.", soft_wrap=True)


def _out(place: Path, target: str, columns: dict[str, list[Any]]) -> TextOut | ParquetOut:
    """A file to write to, by the ending of its name."""
    if target.endswith(".parquet"):
        numbers = [not isinstance(cells[0], str | None) for cells in columns.values()]
        return ParquetOut(place, list(columns), ["number" if yes else "text" for yes in numbers])
    mark = "\t" if target.endswith((".tsv", ".tsv.gz")) else ","
    return TextOut(place, list(columns), mark, zipped=target.endswith(".gz"))


def _columns(model: PrivateKMeans, request: o.Sample) -> dict[str, list[Any]]:
    """Synthetic rows, column by column, with names."""
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        raise ValueError(
            f"{request.model} has no synopsis to draw rows from: its fit released none. --method "
            "eugkm always does, auto where the columns are few"
        )
    drawn = synopsis.sample(request.n, random_state=request.random_state)
    if model.schema_ is not None:
        declared = model.schema_.columns
        return {name: _written(declared[name], cells) for name, cells in drawn.items()}
    names = getattr(model, "feature_names_in_", None)
    titles = [f"column {i}" for i in range(drawn.shape[1])] if names is None else names.tolist()
    ends = zip(model.box_.lower, model.box_.upper, strict=True)
    return {
        title: [_rounded(x, *pair) for x in cells.tolist()]
        for title, cells, pair in zip(titles, drawn.T, ends, strict=True)
    }


def _written(column: Column, cells: list[Any]) -> list[Any]:
    """Cells as the schema reads them again."""
    if isinstance(column, Number):
        return [_rounded(x, *column.ends) for x in cells]
    if isinstance(column, Cycle):
        return [_rounded(x, 0, column.period) for x in cells]
    if isinstance(column, Flag):
        return ["yes" if cell else "no" for cell in cells]
    if isinstance(column, Date) and column.format:
        return [date.fromisoformat(cell).strftime(column.format) for cell in cells]
    return cells


def _rounded(value: float, low: float, high: float) -> float:
    """A number with six digits of its bounds: more would be those of random numbers."""
    digits = 5 - math.floor(math.log10(high - low))
    return min(max(round(value, digits), low), high)


def run_explain(request: o.Explain) -> None:
    """Explain clusters, print it, and write it. All that can be refused is refused before."""
    epsilon, delta = check_epsilon(request.epsilon), check_delta(request.delta)
    check_large(request, request.epsilon)
    if request.output is not None:
        inputs = filter(None, [request.model, request.data, request.schema])
        check_output(request.output, *inputs, force=request.force)
    model = centers_in(request.model, "explanations are")
    schema = _schema(request, model)
    columns = _asked(request, schema)
    curator = curator_of(request, model, schema, ledger_of(request) or Ledger(epsilon, delta))
    with passes(f"explaining {request.model.name} by {request.data.name}"):
        explained = model.explain(
            curator, columns=columns, epsilon=request.epsilon, delta=request.delta
        )
    if request.output is not None:
        write_released(request.output, explained.to_json(), request.epsilon)
    if request.as_json:
        written = {} if request.output is None else {"written_to": str(request.output)}
        print_json({**written, **explained.to_dict()})
        return
    out = console()
    typer.echo(rendered(explained, out.width))
    print_receipt(out, explained.receipt)
    if request.output is not None:
        out.print(f"Written to {request.output}", soft_wrap=True)


def centers_in(path: Path, what: str) -> ReleasedCenters:
    """Read a model that has centres; refuses others."""
    model = load_model(path, None)
    if not isinstance(model, ReleasedCenters):
        raise ValueError(
            f"{path} is a model of kind {model.kind}: {what} of clusters around centres, --model "
            "kmeans or median"
        )
    return model


def _schema(request: o.Explain, model: ReleasedCenters) -> Schema | None:
    """The schema of the model, or one that declares more columns."""
    own = model.schema_
    if request.schema is None:
        return own
    schema = Schema.read(request.schema)
    if own is None:
        raise ValueError(
            f"{request.model} was fitted without a schema: leave --schema out, or fit with one"
        )
    for name in own.features:
        if schema.columns.get(name) != own.columns[name]:
            raise ValueError(
                f"{request.schema} declares other facts of column {name!r} than {request.model} "
                "was fitted with. Columns may be added, those of the fit must be as they were"
            )
    return schema


def _asked(request: o.Explain, schema: Schema | None) -> tuple[str, ...] | None:
    """The columns to explain clusters by; refuses names that are not declared."""
    asked = columns_asked(request.columns)
    unknown = [name for name in asked or () if schema is not None and name not in schema.columns]
    if unknown and schema is not None:
        raise ValueError(
            f"column {unknown[0]!r} is not declared; --columns may name {', '.join(schema.columns)}"
            ", or others that --schema FILE declares"
        )
    return asked


def curator_of(
    request: o.Explain | o.Quality, model: ReleasedCenters, schema: Schema | None, ledger: Ledger
) -> Curator:
    """The rows, with what is declared about them, before anything is read."""
    groups = request.groups if schema is None else schema.groups_with(request.groups)
    most = max_rows_of(request, groups)
    if isinstance(most, str):
        raise ValueError("--max-rows-per-group private is for `sfumato fit`: give a number here")
    # --columns are those to explain by: all that are declared can be read.
    reading = replace(request, columns=None)
    if schema is None:
        names = tuple(getattr(model, "feature_names_in_", ()))
        file = replace(file_of(reading, request.data, names=names), columns=names or None)
        check_rows(request, layout_of(file, groups=groups, width=model.n_features_in_))
        bounds, nan = (model.box_.lower, model.box_.upper), model.box_.nan
        return Curator(
            file, bounds=bounds, nan=nan, groups=groups, max_rows_per_group=most, ledger=ledger
        )
    file = file_of(reading, request.data)
    used = [*schema.features, *(c for c in columns_asked(request.columns) or schema.columns)]
    check_rows(request, layout_of(file, groups=groups, schema=schema.over(dict.fromkeys(used))))
    return Curator(file, schema=schema, groups=groups, max_rows_per_group=most, ledger=ledger)


def write_released(path: Path, text: str, epsilon: float) -> None:
    """Write what was released; if that fails it is not lost."""
    try:
        write_whole(path, f"{text}\n")
    except OSError as error:
        typer.echo(text)
        error.add_note(
            f"{path} was not written, and ε = {epsilon:g} is spent. What was released is printed "
            "on standard output instead"
        )
        raise

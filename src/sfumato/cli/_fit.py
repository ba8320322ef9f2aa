"""`sfumato fit` and `sfumato predict`: private centres of files, and labels by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato._accounting.receipt import Receipt
from sfumato._base.files import atomic_path, atomic_text
from sfumato._base.validation import PRIVATE, check_delta, check_epsilon, check_whole
from sfumato._lattice.box import NanPolicy
from sfumato._ledger.store import LedgerError
from sfumato._models import MODELS
from sfumato._private_fit import PrivateFit
from sfumato._private_kmeans import PrivateKMeans
from sfumato._private_mixture import PrivateGaussianMixture
from sfumato._released_centers import ReleasedCenters
from sfumato._released_model import text_of
from sfumato._schema.schema import Schema
from sfumato._stream import weight_kept
from sfumato.cli import _options as o
from sfumato.cli._app import passes, print_json, progress
from sfumato.cli._inputs import (
    check_engine,
    check_large,
    check_output,
    declared_in,
    file_of,
    fit_on,
    left_alone,
    listed,
    load_model,
    max_rows_of,
    needed_box,
    with_declared_bounds,
)
from sfumato.cli._inspect import check_rows
from sfumato.cli._methods import configured, parameters_in
from sfumato.cli._report import check_report, write_report
from sfumato.cli._show import (
    console,
    counted,
    print_centers,
    print_doubts,
    print_mixture,
    print_profiles,
    print_receipt,
    print_sizes,
    shown,
)
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._table import Layout


def run(request: o.Fit) -> None:
    """Fit, write the model, and print it. All that can be refused is refused before the charge."""
    if request.append is not None:
        from sfumato.cli._append import opened

        model, file, layout = opened(request)
        _fit_and_print(request, model, file, layout)
        return
    schema = None if request.schema is None else declared_in(request)
    model = _model(request, schema)
    request = with_declared_bounds(request)
    file = file_of(request, request.data)
    layout = layout_of(file, groups=_groups(request, schema), schema=schema)
    _check_output(request, *(Path(each.where) for each in layout.table.files if each.local))
    model.bounds = None if schema else _bounds(request, layout)
    check_rows(request, layout)
    _fit_and_print(request, model, file, layout)


def _fit_and_print(request: o.Fit, model: Any, file: TableFile, layout: Layout) -> None:  # noqa: ANN401
    """Fit, or take in one more batch, write the model, and print it."""
    many = len(request.data) > 1
    title = f"{len(request.data)} files" if many else Path(request.data[0]).name
    with _reserved(request, model) as place, passes(f"fitting {title}"):
        unkept = _fitted(request, model, file)
        model.save(place)
        if request.report is not None:
            write_report(model, request.report, title=f"Private clusters of {title}")
    if unkept is not None:
        unkept.add_note(f"The fit was charged and is in {request.target}, but not in the ledger")
        raise unkept
    _print(request, model, layout, title)


def _fitted(request: o.Fit, model: PrivateFit, file: TableFile) -> LedgerError | None:
    """Fit. A release that the ledger could not keep is no reason to lose it."""
    before = _receipt(model)
    try:
        fit_on(request, model, file)
    except LedgerError as error:
        if _receipt(model) is before:
            raise
        return error
    return None


def _print(request: o.Fit, model: PrivateFit, layout: Layout, title: str) -> None:
    kept = {"request": model.request_} if request.ledger else {}
    if request.as_json:
        report = {} if request.report is None else {"report": str(request.report)}
        print_json({"written_to": str(request.target), **report, **kept, **shown(model)})
        return
    out = console()
    _print_clusters(request, model, layout.titles, title)
    alone = left_alone(layout)
    if alone:
        out.print(f"Columns left alone: {listed(alone, 20)}")
    print_receipt(out, model.receipt_)
    out.print(f"Model written to {request.target}", soft_wrap=True)
    if request.report is not None:
        out.print(f"Report written to {request.report}", soft_wrap=True)
    if kept:
        out.print(f"Kept in {request.ledger} as request {model.request_}", soft_wrap=True)


def _print_clusters(request: o.Fit, model: Any, names: Sequence[str], title: str) -> None:  # noqa: ANN401
    """Print what was found, as this kind of model shows it."""
    out, kind = console(), request.model.value
    if isinstance(model, PrivateGaussianMixture):
        out.print(f"{counted(len(model.weights_), 'private component')} of {title}")
        print_mixture(out, model, names)
        return
    if not isinstance(model, ReleasedCenters):
        number = counted(len(model.cluster_sizes_), "private cluster")
        out.print(f"{number} of {title}, --model {kind}")
        print_sizes(out, model, names)
        return
    by = request.method or "auto" if isinstance(model, PrivateKMeans) else f"--model {kind}"
    number = counted(len(model.cluster_centers_), "private centre")
    if request.append is not None:
        out.print(f"{number} after batch {model.n_batches_}, {title}")
        if model.drift_ is not None:
            out.print(f"Compared: {model.drift_}")
    else:
        out.print(f"{number} of {title}, by {by}")
    if model.schema_ is None:
        print_centers(out, model, names)
    else:
        print_profiles(out, model, model.schema_)
    print_doubts(out, model)


@contextmanager
def _reserved(request: o.Fit, model: PrivateFit) -> Iterator[Path]:
    """A place for the model, made before anything is spent. What is spent is not lost with it."""
    before = _receipt(model)
    try:
        with atomic_path(request.target) as place:
            yield place
    except (OSError, KeyboardInterrupt) as error:
        if _receipt(model) is not before:
            error.add_note(f"{request.target} was not written, and {_unwritten(request, model)}")
        raise


def _receipt(model: PrivateFit) -> Receipt | None:
    """The receipt of a model that is fitted; another one after each fit."""
    return getattr(model, "receipt_", None)


def _unwritten(request: o.Fit, model: PrivateFit) -> str:
    """What was spent for a model that could not be written, and where it is."""
    spent = f"ε = {model.receipt_.epsilon:g} is spent"
    if request.ledger:
        get = f"sfumato ledger releases {request.ledger} --get {model.request_} -o FILE"
        return f"{spent}. The model is kept: {get}"
    typer.echo(text_of(model))
    return f"{spent}. The model is printed on standard output instead"


_POLICIES: dict[o.Nan, NanPolicy] = {
    o.Nan.IGNORE: "ignore",
    o.Nan.CENTER: "center",
    o.Nan.DROP: "drop",
}


def _groups(request: o.Fit, schema: Schema | None) -> str | None:
    return request.groups if schema is None else schema.groups


def _model(request: o.Fit, schema: Schema | None) -> Any:  # noqa: ANN401
    """The model, but for its bounds. Refuses what is wrong whatever the file holds."""
    parameters = _parameters(request)
    check_epsilon(request.spending)
    check_large(request, request.spending)
    check_delta(request.delta)
    weight_kept(request.half_life)
    if request.max_batches is not None:
        check_whole(request.max_batches, "--max-batches")
    max_rows_per_group = max_rows_of(request, _groups(request, schema))
    if schema is not None and request.nan is not o.Nan.IGNORE:
        raise ValueError(
            f"--nan {request.nan.value} is for columns without a schema: a schema says for each "
            "column what becomes of missing cells (missing = …)"
        )
    if request.n_rows is not None:
        check_whole(request.n_rows, "--n-rows", least=0)
    if request.random_state is not None and not 0 <= request.random_state < 2**32:
        raise ValueError(
            f"--random-state must be a whole number from 0 to 2^32 - 1, got {request.random_state}"
        )
    check_engine(request)
    _check_output(request)
    return MODELS[request.model.value](
        **parameters,
        epsilon=request.spending,
        delta=request.delta,
        n_rows=request.n_rows,
        nan=_POLICIES[request.nan],
        max_rows_per_group=max_rows_per_group,
        random_state=request.random_state,
        schema=schema,
    )


def _parameters(request: o.Fit) -> dict[str, Any]:
    """What the model takes beside what every model takes."""
    kind = request.model
    if kind is o.ModelKind.KMEANS:
        method = configured(request.method or "auto", request.settings)
        limits = {"half_life": request.half_life, "max_batches": request.max_batches}
        return {"n_clusters": _n_clusters(request.k), "method": method, **limits}
    for name in ("half_life", "max_batches"):
        if getattr(request, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for batches: --model kmeans has them")
    if request.method is not None:
        raise ValueError(f"--method is for --model kmeans: leave it out with --model {kind.value}")
    model = MODELS[kind.value]
    parameters = parameters_in(request.settings, model, kind.value)
    counts = [
        name for name in ("n_clusters", "n_components") if name in signature(model).parameters
    ]
    if not counts and request.k is not None:
        raise ValueError(f"--model {kind.value} finds the number of clusters: leave -k out")
    for name in counts:
        k = _n_clusters(request.k)
        if k == "auto" and kind is not o.ModelKind.MEDIAN:
            raise ValueError(
                f"-k auto is for --model kmeans and median: give a number with {kind.value}"
            )
        parameters[name] = k
    return parameters


def _n_clusters(text: str | None) -> int | str:
    if text is None:
        raise ValueError("-k is needed: the number of clusters, or auto")
    if text == "auto":
        return text
    if not text.lstrip("+-").isdecimal():
        raise ValueError(f"-k must be a whole number or auto, got {text!r}")
    return check_whole(int(text), "-k")


def _check_output(request: o.Fit, *files: Path) -> None:
    declared = filter(None, [request.bounds_file, request.schema])
    inputs = (*map(Path, request.data), *files, *declared)
    check_output(request.target, *inputs, force=request.force)
    check_report(request, *inputs)


def _bounds(request: o.Fit, layout: Layout) -> str | tuple[tuple[float, ...], ...]:
    if PRIVATE not in (request.bounds or []):
        private = "; or --bounds private, which estimates them with a quarter of ε"
        box = needed_box(request, layout, private)
        return box.lower, box.upper
    if request.bounds != [PRIVATE]:
        raise ValueError(
            "--bounds private estimates the bounds of all columns: give no other bounds"
        )
    return PRIVATE


def run_predict(request: o.Predict) -> None:
    """Label every row and write the labels, completely or not at all."""
    data, output = request.data, request.output
    check_output(output, request.model, data)
    model = load_model(request.model, request.schema)
    layout = _layout(model, request)
    # The columns are matched; scikit-learn would warn that plain blocks bring no names.
    model.__dict__.pop("feature_names_in_", None)
    rows = missing = 0
    with progress(f"labelling {data.name}") as on_rows, atomic_text(output) as file:
        file.write("cluster\n")
        for block in layout.blocks():
            if len(block.values):
                labels = model.labels_of(block.values).tolist()
                file.write("\n".join(map(str, labels)) + "\n")
            rows += len(block.values)
            missing += int((~np.isfinite(block.values)).any(axis=1).sum())
            on_rows(rows)
    if request.as_json:
        print_json({"written_to": str(output), "rows": rows, "rows_with_missing_cells": missing})
        return
    out = console()
    if missing:
        have = counted(missing, "row has", "rows have")
        out.print(f"{have} missing cells{_BECAME[model.box_.nan]}")
    out.print(f"{rows:,} labels written to {output}", soft_wrap=True)


_BECAME = {
    "ignore": ": their distances are over the columns they have.",
    "center": ", taken for the centre of their column.",
    "drop": ", taken for the centre of their column.",
}
"""What `predict` makes of missing cells, by the policy of the fit."""


def _layout(model: PrivateFit, request: o.Predict) -> Layout:
    """Find the model's columns in the file: by the model's names, or else by position."""
    names, data = getattr(model, "feature_names_in_", None), request.data
    if model.schema_ is not None:
        return layout_of(file_of(request, data), schema=model.schema_.labelling)
    asked = () if names is None or request.columns else tuple(names)
    file = file_of(request, data, names=asked)
    layout = layout_of(file, width=model.n_features_in_)
    if not request.columns and names is not None and layout.table.named:
        absent = [name for name in names if name not in layout.table.names]
        if absent:
            raise ValueError(
                f"{data} lacks columns that the model was fitted on: {', '.join(absent)}. Name "
                "the columns to use as the model's, in their order, with --columns"
            )
        return layout_of(file, columns=names.tolist())
    if len(layout.positions) != model.n_features_in_:
        raise ValueError(
            f"the model was fitted on {model.n_features_in_} columns, {data} has "
            f"{len(layout.positions)}: choose them, in the model's order, with --columns"
        )
    return layout

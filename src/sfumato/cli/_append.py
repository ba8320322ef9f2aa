"""`sfumato fit --append`: one more batch of a stream, at the settings that its model holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato._base.validation import check_whole
from sfumato._private_kmeans import PrivateKMeans
from sfumato.cli import _options as o
from sfumato.cli._inputs import (
    check_engine,
    check_large,
    check_output,
    file_of,
    ledger_of,
    load_model,
    max_rows_of,
)
from sfumato.cli._inspect import check_rows
from sfumato.cli._report import check_report
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._table import Layout

# Options that say what the model says already, with the value that they have if they are not given.
_OF_MODEL: dict[str, Any] = {
    "k": None,
    "method": None,
    "settings": None,
    "bounds": None,
    "bounds_file": None,
    "columns": None,
    "half_life": None,
    "max_batches": None,
    "delta": 0.0,
    "nan": o.Nan.IGNORE,
    "model": o.ModelKind.KMEANS,
}
_WRITTEN = {"k": "-k", "settings": "--set"}


def opened(request: o.Fit) -> tuple[Any, TableFile, Layout]:
    """The model and the files of the batch. All that can be refused is refused before the charge.

    Returns them with the columns that are read.
    """
    model = _model(request)
    schema = model.schema_
    groups = request.groups if schema is None else schema.groups
    model.max_rows_per_group = max_rows_of(request, groups)
    names = tuple(getattr(model, "feature_names_in_", ()))
    if schema is None:
        file = replace(file_of(request, request.data, names=names), columns=names or None)
        layout = layout_of(file, groups=groups, width=model.n_features_in_)
    else:
        file = file_of(request, request.data)
        layout = layout_of(file, groups=groups, schema=schema)
    _check_target(request, [Path(each.where) for each in layout.table.files if each.local])
    check_rows(request, layout)
    return model, file, layout


def _model(request: o.Fit) -> Any:  # noqa: ANN401
    """The model so far; refuses options that would change it."""
    path = request.append or Path()
    for name, usual in _OF_MODEL.items():
        if getattr(request, name) not in (usual, []):
            shown = _WRITTEN.get(name, f"--{name.replace('_', '-')}")
            raise ValueError(f"{shown} is that of {path}, as in all batches: leave it out")
    model = load_model(path, request.schema)
    if not isinstance(model, PrivateKMeans):
        raise ValueError(
            f"{path} is a model of kind {model.kind}: batches are added to --model kmeans"
        )
    if request.epsilon not in (None, model.epsilon):
        raise ValueError(
            f"every batch of {path} costs ε = {model.epsilon:g}, got --epsilon "
            f"{request.epsilon:g}: leave it out, or fit a new model"
        )
    check_large(request, model.epsilon)
    if request.n_rows is not None:
        model.n_rows = check_whole(request.n_rows, "--n-rows", least=0)
    check_engine(request)
    ledger_of(request)
    return model


def _check_target(request: o.Fit, files: list[Path]) -> None:
    """Refuse a place that cannot be written to; the model itself may be replaced."""
    inputs = [*map(Path, request.data), *files]
    same = request.output is None or request.output == request.append
    if not same:
        inputs.append(request.append or Path())
    check_output(request.target, *inputs, force=request.force or same)
    check_report(request, *inputs)

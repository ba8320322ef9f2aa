"""`sfumato fit`: private centres of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato._base.files import appearing
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._lattice.box import NanPolicy
from sfumato._private_kmeans import PRIVATE, PrivateKMeans, load
from sfumato.cli._app import passes, print_json, progress
from sfumato.cli._inputs import (
    Bounded,
    Reading,
    Where,
    box_of,
    check_groups,
    check_output,
    columns_bounded,
    fit_on,
)
from sfumato.cli._inspect import check_rows
from sfumato.cli._methods import configured
from sfumato.cli._show import console, print_centers, print_receipt, shown
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats._table import Layout
from sfumato.methods import Method


@dataclass(frozen=True)
class Request:
    """Everything that was asked for on the command line."""

    data: tuple[str, ...]
    output: Path
    k: str
    epsilon: float
    delta: float
    bounds: list[str] | None
    bounds_file: Path | None
    method: str
    settings: list[str] | None
    reading: Reading
    n_rows: int | None
    nan: NanPolicy
    groups: str | None
    max_rows_per_group: int
    refuse: bool
    random_state: int | None
    where: Where

    @property
    def title(self) -> str:
        """The data, in a word."""
        return Path(self.data[0]).name if len(self.data) == 1 else f"{len(self.data)} files"

    @property
    def n_clusters(self) -> int | str:
        """The number of centres, or that it is to be chosen."""
        return int(self.k) if self.k.lstrip("+-").isdecimal() else self.k

    def configured(self) -> str | Method:
        """The method with its settings; refuses what cannot be."""
        return configured(self.method, self.settings or [])

    def file(self) -> TableFile:
        """The files and the columns of them that are read."""
        return self.reading.file(self.data, columns_bounded(self.bounds, self.bounds_file))


def run(request: Request, *, as_json: bool) -> None:
    """Fit, write the model, and print it. All that can be refused is refused before the charge."""
    _check(request)
    if request.bounds and request.bounds_file is not None:
        raise ValueError("bounds come from --bounds or from --bounds-file, not from both")
    file = request.file()
    layout = layout_of(file, groups=request.groups)
    _check_output(request, *(Path(each.where) for each in layout.table.files if each.local))
    model = _model(request, layout)
    if request.refuse:
        check_rows(layout)
    with passes(f"fitting {request.title}"):
        fit_on(request.where, model, file, groups=request.groups)
    model.save(request.output)
    if as_json:
        print_json({"written_to": str(request.output), **shown(model)})
        return
    out = console()
    k = len(model.cluster_centers_)
    centers = "centre" if k == 1 else "centres"
    out.print(f"{k} private {centers} of {request.title}, by {request.method}")
    print_centers(out, model, layout.titles)
    print_receipt(out, model.receipt_)
    out.print(f"Model written to {request.output}", soft_wrap=True)


def _check(request: Request) -> None:
    """Refuse what is wrong whatever the file holds."""
    if request.n_clusters != "auto":
        if isinstance(request.n_clusters, str):
            raise ValueError(f"-k must be a whole number or auto, got {request.k!r}")
        check_whole(request.n_clusters, "-k")
    check_epsilon(request.epsilon)
    check_delta(request.delta)
    check_groups(request.groups, request.max_rows_per_group)
    if request.n_rows is not None:
        check_whole(request.n_rows, "--n-rows", least=0)
    if request.random_state is not None and not 0 <= request.random_state < 2**32:
        raise ValueError(
            f"--random-state must be a whole number from 0 to 2^32 - 1, got {request.random_state}"
        )
    request.configured()
    request.where.check()
    _check_output(request)


def _check_output(request: Request, *files: Path) -> None:
    check_output(request.output, *map(Path, request.data), *files)
    if request.bounds_file is not None:
        check_output(request.output, request.bounds_file)


def _model(request: Request, layout: Layout) -> PrivateKMeans:
    return PrivateKMeans(
        n_clusters=request.n_clusters,
        epsilon=request.epsilon,
        delta=request.delta,
        bounds=_bounds(request, layout),
        method=request.configured(),
        n_rows=request.n_rows,
        nan=request.nan,
        max_rows_per_group=request.max_rows_per_group,
        random_state=request.random_state,
    )


def _bounds(request: Request, layout: Layout) -> str | tuple[tuple[float, ...], ...]:
    if PRIVATE in (request.bounds or []):
        if request.bounds != [PRIVATE] or request.bounds_file is not None:
            raise ValueError("--bounds private buys the bounds of all columns and stands alone")
        return PRIVATE
    box = box_of(layout, request.bounds, request.bounds_file)
    if box is None:
        raise ValueError(
            "bounds are required, and come from outside the data: --bounds LOW,HIGH, "
            "--bounds COLUMN=LOW,HIGH for each column, --bounds-file FILE, or --bounds private, "
            "which buys them with a quarter of ε"
        )
    return box.lower, box.upper


def run_predict(
    model_path: Path,
    data: Path,
    output: Path,
    *,
    reading: Reading,
    as_json: bool,
) -> None:
    """Label every row and write the labels, whole or not at all."""
    check_output(output, model_path, data)
    model = _load(model_path)
    layout = _layout(model, data, reading)
    # The columns are matched; scikit-learn would warn that plain blocks bring no names.
    model.__dict__.pop("feature_names_in_", None)
    rows = missing = 0
    with progress(f"labelling {data.name}") as on_rows, appearing(output) as file:
        file.write("cluster\n")
        for block in layout.blocks():
            if len(block.values):
                labels = model.predict(block.values).tolist()
                file.write("\n".join(map(str, labels)) + "\n")
            rows += len(block.values)
            missing += int((~np.isfinite(block.values)).any(axis=1).sum())
            on_rows(rows)
    if as_json:
        print_json({"written_to": str(output), "rows": rows, "rows_with_missing_cells": missing})
        return
    out = console()
    if missing:
        have = "row has" if missing == 1 else "rows have"
        out.print(f"{missing:,} {have} missing cells, taken for the centre of their column.")
    out.print(f"{rows:,} labels written to {output}", soft_wrap=True)


def _load(path: Path) -> PrivateKMeans:
    try:
        return load(path)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is a damaged sfumato model") from None


def _layout(model: PrivateKMeans, data: Path, reading: Reading) -> Layout:
    """Find the model's columns in the file: by the model's names, or else by position."""
    names = getattr(model, "feature_names_in_", None)
    asked = () if names is None or reading.columns else tuple(names)
    file = reading.file(data, Bounded(asked))
    layout = layout_of(file, width=model.n_features_in_)
    if not reading.columns and names is not None and layout.table.named:
        absent = [name for name in names if name not in layout.table.names]
        if absent:
            raise ValueError(
                f"{data} lacks columns that the model was fitted on: {', '.join(absent)}. Name "
                "the columns that stand for the model's, in their order, with --columns"
            )
        return layout_of(file, columns=names.tolist())
    if len(layout.positions) != model.n_features_in_:
        raise ValueError(
            f"the model was fitted on {model.n_features_in_} columns, {data} has "
            f"{len(layout.positions)}: choose them, in the model's order, with --columns"
        )
    return layout

"""`sfumato predict`: the cluster of every row of a file, for whoever brings the rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.cli.columns import Bounded, Reading
from sfumato.cli.paths import check_output
from sfumato.cli.running import print_json, progress
from sfumato.cli.show import console
from sfumato.engines.files import layout_of
from sfumato.engines.tables import Layout
from sfumato.estimators import PrivateKMeans
from sfumato.saving import load
from sfumato.writing import appearing


def run(
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

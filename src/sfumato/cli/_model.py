"""`sfumato predict` and `sfumato sample`: labels of rows by a model, and synthetic rows from it."""

from __future__ import annotations

def run_predict(request: o.Predict) -> None:
    """Label every row and write the labels, completely or not at all."""
    data, output = request.data, request.output
    check_output(output, request.model, data)
    model = _load(request.model)
    layout = _layout(model, request)
    # The columns are matched; scikit-learn would warn that plain blocks bring no names.
    model.__dict__.pop("feature_names_in_", None)
    rows = missing = 0
    with progress(f"labelling {data.name}") as on_rows, atomic_text(output) as file:
        file.write("cluster\n")
        for block in layout.blocks():
            if len(block.values):
                labels = model.predict(block.values).tolist()
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
        out.print(f"{have} missing cells, taken for the centre of their column.")
    out.print(f"{rows:,} labels written to {output}", soft_wrap=True)


def _load(path: Path) -> PrivateKMeans:
    try:
        return load(path)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is a damaged sfumato model") from None


def _layout(model: PrivateKMeans, request: o.Predict) -> Layout:
    """Find the model's columns in the file: by the model's names, or else by position."""
    names, data = getattr(model, "feature_names_in_", None), request.data
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

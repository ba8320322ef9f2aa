"""Earlier releases: looked at again, compared, clustered anew and downloaded, all for free."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from sfumato import Ledger, PrivateKMeans, PrivateKMedian, load
from sfumato.studio import _pictures as pictures
from sfumato.studio._errors import Refusal
from sfumato.studio._folder import Folder, opaque

_LEAVES = 64
_MOST_ROWS = 100_000


@dataclass(frozen=True)
class Release:
    """One line of a ledger: what was released, when, and under which request."""

    dataset: str
    line: Mapping[str, Any]

    @property
    def number(self) -> str:
        """What a page calls it."""
        return opaque(self.dataset, self.line["request"])

    def to_dict(self) -> dict[str, Any]:
        """The line as plain values."""
        names = ("at", "method", "guarantee", "digest")
        found = {name: self.line[name] for name in names}
        return {"release": self.number, "name": self.dataset, "of": opaque(self.dataset), **found}


class Releases:
    """All that the ledgers of a folder keep."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def listed(self) -> list[Release]:
        """Every release, the latest first."""
        found = []
        for dataset in self._folder.datasets():
            if dataset.registered:
                ledger = self._folder.open_ledger(dataset)
                found += [Release(dataset.name, line) for line in ledger.releases()]
        return sorted(found, key=lambda one: str(one.line["at"]), reverse=True)

    def find(self, number: str) -> Release:
        """A release by its number."""
        for one in self.listed():
            if one.number == number:
                return one
        raise Refusal("There is no such release.", 404)

    def text(self, release: Release) -> str:
        """A model as the ledger keeps it."""
        ledger = Ledger.open(self._folder.ledger, release.dataset)
        return ledger.released(release.line["request"])

    def model(self, release: Release) -> Any:  # noqa: ANN401
        """A model; it never changes."""
        return _model(self.text(release))


@lru_cache(maxsize=32)
def _model(text: str) -> Any:  # noqa: ANN401
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        place = Path(folder) / "model.json"
        place.write_text(text, encoding="utf-8")
        return load(place)


def has_centers(model: Any) -> bool:  # noqa: ANN401
    """Whether a model is made of centres."""
    return isinstance(model, PrivateKMeans | PrivateKMedian)


def shown(model: Any, x: int = -1, y: int = -1) -> dict[str, Any]:  # noqa: ANN401
    """A release as a page draws it."""
    receipt = model.receipt_.to_dict()
    found: dict[str, Any] = {
        "kind": model.kind,
        "receipt": receipt,
        "table": None,
        "picture": None,
        "synopsis": _about_synopsis(model),
    }
    if not has_centers(model) and found["synopsis"] is None:
        return found
    axes, points, sizes = pictures.axes_of(model), _points(model), []
    across, up = pictures.chosen_axes(axes, points, x, y)
    if has_centers(model):
        found["table"] = table_of(model, points)
        sizes = np.round(model.cluster_sizes_).tolist()
    found["picture"] = {
        "axes": [axis.to_dict() for axis in axes],
        "x": axes.index(across),
        "y": axes.index(up),
        "raster": _density(model, across, up),
        "centers": pictures.places(points, across, up),
        "sizes": sizes,
    }
    return found


def _about_synopsis(model: Any) -> dict[str, Any] | None:  # noqa: ANN401
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        return None
    return {
        "cells": len(synopsis),
        "noise_std": float(synopsis.noise_std),
        "grid": hasattr(synopsis.layout, "shape"),
    }


def _points(model: Any) -> np.ndarray:  # noqa: ANN401
    """The centres in the cube, (k, d); none where a model has no centres."""
    if not has_centers(model):
        return np.zeros((0, model.synopsis_.box.n_features))
    if model.schema_ is not None:
        return np.asarray(model.encoded_centers_)
    lower, upper = model.bounds_
    return _in_cube(model.cluster_centers_, lower, upper)


def _in_cube(points: np.ndarray, lower: Any, upper: Any) -> np.ndarray:  # noqa: ANN401
    """Points between two edges as points of the cube [−1, 1]^d."""
    return np.asarray((points - lower) / (np.asarray(upper) - lower) * 2 - 1)


def _density(model: Any, x: pictures.Axis, y: pictures.Axis) -> list[list[float]] | None:  # noqa: ANN401
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        return None
    weights = np.maximum(synopsis.weights, 0)
    return pictures.rounded(pictures.raster_of(synopsis, x, y, weights))


def table_of(model: Any, points: np.ndarray) -> dict[str, Any]:  # noqa: ANN401
    """The centres by column, in words, with the place of each number between its bounds."""
    if model.schema_ is None:
        names = [axis.name for axis in pictures.axes_of(model)]
        lines = [
            {n: float(v) for n, v in zip(names, row, strict=True)} for row in model.cluster_centers_
        ]
    else:
        names, lines = list(model.schema_.features), model.cluster_profiles_
    return {
        "columns": names,
        "rows": [[pictures.in_text(line[name]) for name in names] for line in lines],
        "heat": _heat(model, names, points),
        "sizes": np.round(model.cluster_sizes_).tolist(),
    }


def _heat(model: Any, names: list[str], points: np.ndarray) -> list[list[float | None]]:  # noqa: ANN401
    """Where each centre lies between the bounds of a column, from 0 to 1; None for several."""
    by_name = {axis.name: axis for axis in pictures.axes_of(model)}
    columns: list[list[float | None]] = []
    for name in names:
        axis = by_name.get(name)
        if axis is None:
            columns.append([None] * len(points))
        else:
            place = points[:, axis.coordinate] / max(2 * axis.reach, 1e-9) + 0.5
            columns.append(np.clip(place, 0, 1).round(4).tolist())
    return [list(row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class _Asked:
    """A clustering of a synopsis that is asked for, in the cube, and the axes it is drawn along."""

    synopsis: Any
    k: int
    x: pictures.Axis
    y: pictures.Axis

    def places(self, points: np.ndarray) -> list[list[float]]:
        """Points of the bounds on the two axes."""
        box = self.synopsis.box
        return pictures.places(_in_cube(points, box.lower, box.upper), self.x, self.y)


def clustered(model: Any, how: str, k: int, x: int, y: int) -> dict[str, Any]:  # noqa: ANN401
    """Another clustering of what was released: centres, a mixture, regions or a tree."""
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        raise Refusal(
            "This release has no synopsis to cluster again: eugkm always has one, auto where the "
            "columns are few.",
            409,
        )
    if not 1 <= k <= min(_LEAVES, len(synopsis)):
        raise Refusal(f"k must be a whole number from 1 to {min(_LEAVES, len(synopsis))}.")
    if how not in _WAYS:
        raise Refusal(f"A synopsis is clustered by {', '.join(_WAYS)}.")
    across, up = pictures.chosen_axes(pictures.axes_of(model), _points(model), x, y)
    # Without its schema a synopsis answers in the cube, where it is drawn.
    asked = _Asked(replace(synopsis, schema=None), k, across, up)
    return {"how": how, "raster": _density(model, across, up), **_WAYS[how](asked)}


def _centers(asked: _Asked) -> dict[str, Any]:
    found = asked.synopsis.kmeans(asked.k, n_starts=10, random_state=0)
    return {"centers": asked.places(found.centers), "sizes": np.round(found.sizes).tolist()}


def _medians(asked: _Asked) -> dict[str, Any]:
    found = asked.synopsis.kmedian(asked.k, random_state=0)
    return {"centers": asked.places(found.centers), "sizes": np.round(found.sizes).tolist()}


def _mixture(asked: _Asked) -> dict[str, Any]:
    """Means, and ellipses of two standard deviations: half axes and a turn in degrees."""
    found = asked.synopsis.mixture(asked.k, random_state=0)
    box, axes = asked.synopsis.box, (asked.x, asked.y)
    columns = [axis.coordinate for axis in axes]
    sides = (np.array(box.upper) - box.lower)[columns] * [axis.reach for axis in axes]
    ellipses = []
    for spread in found.covariances[:, columns][:, :, columns] / np.outer(sides, sides):
        lengths, ways = np.linalg.eigh(spread)
        along, across = 2 * np.sqrt(np.maximum(lengths[::-1], 0))
        turn = math.degrees(math.atan2(ways[1, 1], ways[0, 1]))
        ellipses.append([round(float(along), 5), round(float(across), 5), round(turn, 2)])
    sizes = np.round(found.weights * asked.synopsis.denoised().sum())
    return {"centers": asked.places(found.means), "ellipses": ellipses, "sizes": sizes.tolist()}


def _regions(asked: _Asked) -> dict[str, Any]:
    spans = asked.synopsis.spans()
    return {
        "regions": pictures.regions_on(asked.synopsis, asked.x, asked.y, spans.labels),
        "sizes": np.round(spans.sizes).tolist(),
    }


def _tree(asked: _Asked) -> dict[str, Any]:
    tree = asked.synopsis.dendrogram(_LEAVES, random_state=0)
    labels = tree.cut(min(asked.k, len(tree)))
    return {
        "leaves": asked.places(tree.leaves),
        "labels": labels.tolist(),
        "weights": np.round(tree.weights, 1).tolist(),
        "linkage": np.round(tree.linkage[:, :3], 5).tolist(),
        "sizes": np.round(np.bincount(labels, tree.weights)).tolist(),
    }


_WAYS: Mapping[str, Callable[[_Asked], dict[str, Any]]] = {
    "kmeans": _centers,
    "median": _medians,
    "mixture": _mixture,
    "regions": _regions,
    "tree": _tree,
}


def k_curve(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a criterion says about each number of clusters, on the synopsis."""
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        raise Refusal("This release has no synopsis to choose k on.", 409)
    curve = synopsis.k_curve((2, 16), random_state=0)
    scores = np.nan_to_num(curve.scores).round(5).tolist()
    return {"ks": curve.ks.tolist(), "scores": scores, "best": int(curve.best)}


def compared(one: Any, other: Any) -> dict[str, Any]:  # noqa: ANN401
    """Centres of two releases in pairs, nearest together, where both have the same columns."""
    if not (has_centers(one) and has_centers(other)):
        raise Refusal("Releases with centres can be compared.", 409)
    a, b = _points(one), _points(other)
    names = [[axis.name for axis in pictures.axes_of(each)] for each in (one, other)]
    if a.shape[1] != b.shape[1] or names[0] != names[1]:
        return {"pairs": None}
    distances = np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=2))
    rows, columns = linear_sum_assignment(distances)
    pairs = [
        {
            "one": int(i),
            "other": int(j),
            "distance": round(float(distances[i, j]), 4),
            "sizes": [round(float(one.cluster_sizes_[i])), round(float(other.cluster_sizes_[j]))],
        }
        for i, j in zip(rows, columns, strict=True)
    ]
    return {"pairs": pairs, "unpaired": [len(a) - len(pairs), len(b) - len(pairs)]}


def synthetic(model: Any, n: int) -> str:  # noqa: ANN401
    """Synthetic rows as CSV, from the synopsis. Cells that a spreadsheet would run are quoted."""
    synopsis = getattr(model, "synopsis_", None)
    if synopsis is None:
        raise Refusal("This release has no synopsis to draw rows from.", 409)
    if not 1 <= n <= _MOST_ROWS:
        raise Refusal(f"Between 1 and {_MOST_ROWS:,} rows can be drawn at once.")
    cells = synopsis.sample(n)
    if isinstance(cells, Mapping):
        names, columns = list(cells), [list(cells[name]) for name in cells]
    else:
        names = [axis.name for axis in pictures.axes_of(model)]
        columns = [column.tolist() for column in np.asarray(cells).T]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_inert(name) for name in names])
    writer.writerows([_inert(cell) for cell in row] for row in zip(*columns, strict=True))
    return out.getvalue()


def _inert(cell: object) -> object:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return "" if cell is None else cell

"""Models as JSON: what was released and the receipt, never a pickle."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sfumato._accounting.receipt import Receipt
from sfumato._base.files import write_whole
from sfumato._lattice.box import Box
from sfumato._synopsis import Synopsis
from sfumato.methods import METHODS

FORMAT = 2

_Model = TypeVar("_Model")


def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401
    """Write a fitted model, completely or not at all."""
    data = to_dict(model)
    synopsis = data.pop("synopsis", None)
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if synopsis is not None:
        # A line for each cell would be millions of lines.
        text = text.removesuffix("\n}") + f',\n  "synopsis": {json.dumps(synopsis)}\n}}'
    write_whole(path, text + "\n")


def to_dict(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """The allow-list of what a model file holds."""
    names = getattr(model, "feature_names_in_", None)
    synopsis = getattr(model, "synopsis_", None)
    return {
        "format": FORMAT,
        "sfumato": version("sfumato"),
        "n_clusters": "auto" if model.n_clusters == "auto" else int(model.n_clusters),
        "epsilon": float(model.epsilon),
        "delta": float(model.delta),
        "method": _method_to_dict(model.method),
        "bounds": {"lower": list(model.box_.lower), "upper": list(model.box_.upper)},
        "nan": model.box_.nan,
        "feature_names": None if names is None else [str(name) for name in names],
        "cluster_centers": model.cluster_centers_.tolist(),
        "cluster_sizes": model.cluster_sizes_.tolist(),
        "receipt": model.receipt_.to_dict(),
        **({} if synopsis is None else {"synopsis": synopsis.to_dict()}),
    }


def load_as(path: str | os.PathLike[str], estimator: Callable[..., _Model]) -> _Model:
    """Read a model that `save` wrote, as an estimator of this class."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{os.fspath(path)} is not a sfumato model of format {FORMAT}")
    return from_dict(data, estimator)


def from_dict(data: dict[str, Any], estimator: Callable[..., _Model]) -> _Model:
    """Rebuild a fitted model."""
    lower, upper = data["bounds"]["lower"], data["bounds"]["upper"]
    model: Any = estimator(
        n_clusters=data["n_clusters"],
        epsilon=data["epsilon"],
        delta=data["delta"],
        bounds=(lower, upper),
        method=_method_from_dict(data["method"]),
        nan=data["nan"],
    )
    model.box_ = Box(tuple(lower), tuple(upper), data["nan"])
    model.n_features_in_ = model.box_.n_features
    if data["feature_names"] is not None:
        model.feature_names_in_ = np.array(data["feature_names"], dtype=object)
    model.cluster_centers_ = np.array(data["cluster_centers"], dtype=np.float64)
    model.cluster_sizes_ = np.array(data["cluster_sizes"], dtype=np.float64)
    model.receipt_ = Receipt.from_dict(data["receipt"])
    if "synopsis" in data:
        model.synopsis_ = Synopsis.from_dict(data["synopsis"])
    fitted: _Model = model
    return fitted


def _method_to_dict(method: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(method, str):
        return {"name": method, "settings": {}}
    settings = dataclasses.asdict(method) if dataclasses.is_dataclass(type(method)) else {}
    return {"name": METHODS.name_of(type(method)) or type(method).__name__, "settings": settings}


def _method_from_dict(data: dict[str, Any]) -> Any:  # noqa: ANN401
    if data["settings"] and data["name"] in METHODS:
        return METHODS[data["name"]](**data["settings"])
    return data["name"]

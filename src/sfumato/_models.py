"""Every kind of model, by the name that files and the command line know it by."""

from __future__ import annotations

import os
from typing import Any

from sfumato._private_dbscan import PrivateDBSCAN
from sfumato._private_kmeans import PrivateKMeans
from sfumato._private_kmedian import PrivateKMedian
from sfumato._private_mixture import PrivateGaussianMixture
from sfumato._private_ward import PrivateWard
from sfumato._released_model import ReleasedModel, from_dict, read_model

_CLASSES = (PrivateKMeans, PrivateKMedian, PrivateGaussianMixture, PrivateDBSCAN, PrivateWard)

MODELS: dict[str, type[ReleasedModel]] = {each.kind: each for each in _CLASSES}
"""The classes of models, by `kind`."""


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401
    """Read a model that `save` wrote, as an estimator of the class that it was fitted with."""
    data = read_model(path)
    kind = data.get("model", PrivateKMeans.kind)
    if not isinstance(kind, str) or kind not in MODELS:
        raise ValueError(f"{os.fspath(path)} is a model of an unknown kind")
    try:
        return from_dict(data, MODELS[kind])
    except (LookupError, TypeError, AttributeError, ArithmeticError):
        raise ValueError(f"{os.fspath(path)} is a damaged sfumato model") from None

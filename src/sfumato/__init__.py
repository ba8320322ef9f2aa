"""Differentially private clustering: the shapes in a dataset without the people in it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato import attacks as attacks
    from sfumato import choosing as choosing
    from sfumato import evaluate as evaluate
    from sfumato import nonprivate as nonprivate
    from sfumato.bounds import estimate_bounds as estimate_bounds
    from sfumato.box import Box as Box
    from sfumato.budget import Overspent as Overspent
    from sfumato.curator.curator import Curator as Curator
    from sfumato.engines.files import TableFile as TableFile
    from sfumato.estimators import PrivateKMeans as PrivateKMeans
    from sfumato.local import NDLaplace as NDLaplace
    from sfumato.local import local_epsilon as local_epsilon
    from sfumato.local import mean_displacement as mean_displacement
    from sfumato.localclustering import LocalClustering as LocalClustering
    from sfumato.methods import METHODS as METHODS
    from sfumato.planner import plan as plan
    from sfumato.saving import load as load
    from sfumato.synopsis import Synopsis as Synopsis

_HOMES = {
    "Box": "sfumato.box",
    "Curator": "sfumato.curator.curator",
    "LocalClustering": "sfumato.localclustering",
    "METHODS": "sfumato.methods",
    "NDLaplace": "sfumato.local",
    "Overspent": "sfumato.budget",
    "PrivateKMeans": "sfumato.estimators",
    "Synopsis": "sfumato.synopsis",
    "TableFile": "sfumato.engines.files",
    "estimate_bounds": "sfumato.bounds",
    "load": "sfumato.saving",
    "local_epsilon": "sfumato.local",
    "mean_displacement": "sfumato.local",
    "plan": "sfumato.planner",
}
_ROOMS = ("attacks", "choosing", "evaluate", "nonprivate")

__all__ = [
    "METHODS",
    "Box",
    "Curator",
    "LocalClustering",
    "NDLaplace",
    "Overspent",
    "PrivateKMeans",
    "Synopsis",
    "TableFile",
    "attacks",
    "choosing",
    "estimate_bounds",
    "evaluate",
    "load",
    "local_epsilon",
    "mean_displacement",
    "nonprivate",
    "plan",
]


def __getattr__(name: str) -> object:
    # Loaded on first use: `sfumato --help` needs neither NumPy nor scikit-learn.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

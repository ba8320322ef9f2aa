"""Differentially private clustering: the shapes in a dataset without the people in it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato import attacks as attacks
    from sfumato import audit as audit
    from sfumato import evaluate as evaluate
    from sfumato import nonprivate as nonprivate
    from sfumato import tuning as tuning
    from sfumato._accounting.budget import Overspent as Overspent
    from sfumato._comparing import compare as compare
    from sfumato._core.curator import Curator as Curator
    from sfumato._lattice.box import Box as Box
    from sfumato._ledger.ledger import Ledger as Ledger
    from sfumato._models import load as load
    from sfumato._pipeline import pipeline as pipeline
    from sfumato._planning import plan as plan
    from sfumato._private_bounds.estimate import estimate_bounds as estimate_bounds
    from sfumato._private_dbscan import PrivateDBSCAN as PrivateDBSCAN
    from sfumato._private_kmeans import PrivateKMeans as PrivateKMeans
    from sfumato._private_kmedian import PrivateKMedian as PrivateKMedian
    from sfumato._private_mixture import PrivateGaussianMixture as PrivateGaussianMixture
    from sfumato._private_ward import PrivateWard as PrivateWard
    from sfumato._rowwise import UnsafeStep as UnsafeStep
    from sfumato._schema.kinds import Cycle as Cycle
    from sfumato._schema.kinds import Date as Date
    from sfumato._schema.kinds import Flag as Flag
    from sfumato._schema.kinds import Number as Number
    from sfumato._schema.levels import Category as Category
    from sfumato._schema.levels import Ordinal as Ordinal
    from sfumato._schema.schema import Schema as Schema
    from sfumato._schema.weight import Weight as Weight
    from sfumato._synopsis import Synopsis as Synopsis
    from sfumato.engines._files import TableFile as TableFile
    from sfumato.local._clustering import LocalClustering as LocalClustering
    from sfumato.local._ndlaplace import NDLaplace as NDLaplace
    from sfumato.local._ndlaplace import local_epsilon as local_epsilon
    from sfumato.local._ndlaplace import mean_displacement as mean_displacement
    from sfumato.methods import METHODS as METHODS

    __version__: str

_HOMES = {
    "Weight": "sfumato._schema.weight",
    "Schema": "sfumato._schema.schema",
    "Ordinal": "sfumato._schema.levels",
    "Number": "sfumato._schema.kinds",
    "Flag": "sfumato._schema.kinds",
    "Date": "sfumato._schema.kinds",
    "Cycle": "sfumato._schema.kinds",
    "Category": "sfumato._schema.levels",
    "Box": "sfumato._lattice.box",
    "Curator": "sfumato._core.curator",
    "Ledger": "sfumato._ledger.ledger",
    "LocalClustering": "sfumato.local._clustering",
    "METHODS": "sfumato.methods",
    "NDLaplace": "sfumato.local._ndlaplace",
    "Overspent": "sfumato._accounting.budget",
    "PrivateDBSCAN": "sfumato._private_dbscan",
    "PrivateGaussianMixture": "sfumato._private_mixture",
    "PrivateKMeans": "sfumato._private_kmeans",
    "PrivateKMedian": "sfumato._private_kmedian",
    "PrivateWard": "sfumato._private_ward",
    "Synopsis": "sfumato._synopsis",
    "TableFile": "sfumato.engines._files",
    "UnsafeStep": "sfumato._rowwise",
    "compare": "sfumato._comparing",
    "estimate_bounds": "sfumato._private_bounds.estimate",
    "load": "sfumato._models",
    "local_epsilon": "sfumato.local._ndlaplace",
    "mean_displacement": "sfumato.local._ndlaplace",
    "pipeline": "sfumato._pipeline",
    "plan": "sfumato._planning",
}
_MODULES = ("attacks", "audit", "evaluate", "nonprivate", "tuning")

__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name: str) -> object:
    # Loaded on first use: `sfumato --help` needs neither NumPy nor scikit-learn.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"sfumato.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("sfumato")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Clustering methods by name. A new method is one file and one line here.

In another package it is one class and one entry point: see docs/write-a-method.md.
"""

from __future__ import annotations

from sfumato.methods._auto import Auto
from sfumato.methods._balcan import Balcan
from sfumato.methods._base import (
    Centers,
    Method,
    NeedsDelta,
    Outlook,
    Predicting,
    Prediction,
    Task,
)
from sfumato.methods._dplloyd import DPLloyd, Sukpisit
from sfumato.methods._eugkm import EUGkM, Hybrid
from sfumato.methods._gkm import GkM, GkM3K
from sfumato.methods._max_cover import MaxCover
from sfumato.methods._pgkm import PGkM
from sfumato.methods._registry import NeedingDelta, Registry

_BUILT_IN: dict[str, type[Method]] = {
    "auto": Auto,
    "dplloyd": DPLloyd,
    "sukpisit": Sukpisit,
    "gkm": GkM,
    "gkm3k": GkM3K,
    "pgkm": PGkM,
    "eugkm": EUGkM,
    "hybrid": Hybrid,
    "balcan": Balcan,
    "maxcover": MaxCover,
}

METHODS = Registry(_BUILT_IN)
"""Every method by its name, for reading: the built-in ones, then those of other packages."""

NEEDS_DELTA = NeedingDelta(METHODS)
"""Methods without a pure mode: they raise `NeedsDelta` where δ is 0."""

__all__ = [
    "METHODS",
    "NEEDS_DELTA",
    "Auto",
    "Balcan",
    "Centers",
    "DPLloyd",
    "EUGkM",
    "GkM",
    "GkM3K",
    "Hybrid",
    "MaxCover",
    "Method",
    "NeedsDelta",
    "Outlook",
    "PGkM",
    "Predicting",
    "Prediction",
    "Sukpisit",
    "Task",
]

"""Clustering methods by name. A new method is one file and one line here."""

from sfumato.methods.auto import Auto
from sfumato.methods.balcan import Balcan
from sfumato.methods.base import Centers, Method, NeedsDelta, Task
from sfumato.methods.dplloyd import DPLloyd
from sfumato.methods.eugkm import EUGkM
from sfumato.methods.gkm import GkM, GkM3K
from sfumato.methods.hybrid import Hybrid
from sfumato.methods.maxcover import MaxCover
from sfumato.methods.pgkm import PGkM
from sfumato.methods.sukpisit import Sukpisit

METHODS: dict[str, type[Method]] = {
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

NEEDS_DELTA = frozenset({"maxcover"})
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
    "PGkM",
    "Sukpisit",
    "Task",
]

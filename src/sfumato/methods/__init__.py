"""Clustering methods by name. A new method is one file and one line here."""

from sfumato.methods.auto import Auto
from sfumato.methods.balcan import Balcan
from sfumato.methods.base import Centers, Method, Task
from sfumato.methods.dplloyd import DPLloyd
from sfumato.methods.eugkm import EUGkM
from sfumato.methods.gkm import GkM, GkM3K
from sfumato.methods.hybrid import Hybrid
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
}

__all__ = [
    "METHODS",
    "Auto",
    "Balcan",
    "Centers",
    "DPLloyd",
    "EUGkM",
    "GkM",
    "GkM3K",
    "Hybrid",
    "Method",
    "PGkM",
    "Sukpisit",
    "Task",
]

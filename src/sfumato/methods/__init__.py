"""Clustering methods by name. A new method is one file and one line here."""

from sfumato.methods.base import Centers, Method, Task
from sfumato.methods.dplloyd import DPLloyd
from sfumato.methods.sukpisit import Sukpisit

METHODS: dict[str, type[Method]] = {
    "dplloyd": DPLloyd,
    "sukpisit": Sukpisit,
}

__all__ = ["METHODS", "Centers", "DPLloyd", "Method", "Sukpisit", "Task"]

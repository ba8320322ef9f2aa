"""Clustering methods by name. A new method is one file and one line here.

In another package it is one class and one entry point: see docs/write-a-method.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from inspect import signature

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._base.validation import check_whole
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid, Nearest
from sfumato._lattice.box import REACH
from sfumato._uncertainty import Errors, Estimate
from sfumato.methods._auto import Auto
from sfumato.methods._balcan import Balcan
from sfumato.methods._base import (
    Centers,
    Method,
    NeedsDelta,
    PlannedTask,
    Predicting,
    Prediction,
    Task,
    check_clusters,
)
from sfumato.methods._dplloyd import DPLloyd, Sukpisit
from sfumato.methods._eugkm import EUGkM, Hybrid
from sfumato.methods._gkm import GkM, GkM3K, PGkM
from sfumato.methods._kprototypes import KPrototypes
from sfumato.methods._max_cover import MaxCover

GROUP = "sfumato.methods"
"""The entry points by which other packages register methods."""


class Registry(Mapping[str, type[Method]]):
    """Methods by name, for reading only: the built-in ones first, then those of other packages.

    Other packages are looked for when a name that is not built in is asked for, or all names are
    listed; their code is imported when their method is asked for.
    """

    def __init__(self, built_in: dict[str, type[Method]]) -> None:
        self._built_in = built_in
        self._loaded: dict[str, type[Method]] = {}

    def __getitem__(self, name: str) -> type[Method]:
        if name in self._built_in:
            return self._built_in[name]
        if name not in self._loaded:
            self._loaded[name] = _load(name, self._registered[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._built_in
        yield from self._registered

    def __len__(self) -> int:
        return len(self._built_in) + len(self._registered)

    def __contains__(self, name: object) -> bool:
        return name in self._built_in or name in self._registered

    def __repr__(self) -> str:
        return f"<methods {', '.join(self)}>"

    def working(self) -> dict[str, type[Method]]:
        """All methods but those of other packages that cannot be imported."""
        found = {}
        for name in self:
            try:
                found[name] = self[name]
            except ImportError:
                continue
        return found

    def name_of(self, method: type) -> str | None:
        """The name that a class has here; None if it has none."""
        return next((name for name, cls in self.working().items() if cls is method), None)

    @cached_property
    def _registered(self) -> dict[str, list[EntryPoint]]:
        """The entry points of each name. A name that is built in stays built in."""
        found: dict[str, list[EntryPoint]] = {}
        for entry in entry_points(group=GROUP):
            if entry.name in self._built_in:
                warnings.warn(
                    f"{_said(entry)} is refused: the method {entry.name!r} is built in. Its "
                    "package has to register it by another name",
                    RuntimeWarning,
                    stacklevel=3,
                )
            else:
                found.setdefault(entry.name, []).append(entry)
        return found


class NeedingDelta(Set[str]):
    """Names of the methods without a pure mode: their class says `needs_delta = True`."""

    def __init__(self, methods: Registry) -> None:
        self._methods = methods

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name not in self._methods:
            return False
        return bool(getattr(self._methods[name], "needs_delta", False))

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._methods.working() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _load(name: str, entries: list[EntryPoint]) -> type[Method]:
    """Import a method of another package; whatever goes wrong there is said with its name."""
    if len(entries) > 1:
        both = " and ".join(map(_said, entries))
        raise ImportError(f"the method {name!r} is registered twice: {both}")
    (entry,) = entries
    try:
        found = entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ImportError(f"{_said(entry)} cannot be imported: {reason}") from error
    if wrong := _wrong(found):
        raise ImportError(f"{_said(entry)} is no method: {wrong}")
    method: type[Method] = found
    return method


def _said(entry: EntryPoint) -> str:
    package = f" of the package {entry.dist.name}" if entry.dist is not None else ""
    return f"the entry point {entry.name} = {entry.value}{package}"


def _wrong(found: object) -> str:
    """What keeps an object from being a class of methods; empty if nothing does."""
    if not isinstance(found, type):
        return f"a class is needed, got {found!r}"
    for name in ("caps", "__call__"):
        if not any(name in vars(base) for base in found.__mro__):
            return f"{found.__name__} has no {name}"
    try:
        signature(found).bind()
    except TypeError as error:
        return f"{found.__name__}() must work without arguments: {error}"
    return ""


METHODS = Registry(
    {
        "auto": Auto,
        "dplloyd": DPLloyd,
        "sukpisit": Sukpisit,
        "kprototypes": KPrototypes,
        "gkm": GkM,
        "gkm3k": GkM3K,
        "pgkm": PGkM,
        "eugkm": EUGkM,
        "hybrid": Hybrid,
        "balcan": Balcan,
        "maxcover": MaxCover,
    }
)
"""Every method by its name, for reading: the built-in ones, then those of other packages."""

NEEDS_DELTA = NeedingDelta(METHODS)
"""Methods without a pure mode: they raise `NeedsDelta` where δ is 0."""


def method_of(method: str | Method) -> Method:
    """A method by its name, or the instance that was given."""
    if not isinstance(method, str):
        if not callable(method) or not hasattr(method, "caps"):
            raise TypeError(f"method must be a name or a method instance, got {method!r}")
        return method
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[method]()


def clusters_of(n_clusters: int | str, method: Method) -> tuple[int, bool]:
    """The number of clusters; or the largest that the method may choose, and True."""
    if not isinstance(n_clusters, str):
        k = check_whole(n_clusters, "n_clusters")
        check_clusters(k)
        return k, False
    if n_clusters != "auto":
        raise ValueError(f"n_clusters must be a whole number or 'auto', got {n_clusters!r}")
    k_range: tuple[int, int] | None = getattr(method, "k_range", None)
    if k_range is None:
        able = [name for name, cls in METHODS.working().items() if hasattr(cls, "k_range")]
        raise ValueError(
            f"n_clusters='auto' needs a method that releases a synopsis: {', '.join(able)}; "
            f"{type(method).__name__} needs a number"
        )
    return k_range[1], True


__all__ = [
    "METHODS",
    "NEEDS_DELTA",
    "REACH",
    "Account",
    "Auto",
    "Balcan",
    "Caps",
    "Centers",
    "Curator",
    "DPLloyd",
    "EUGkM",
    "Errors",
    "Estimate",
    "GkM",
    "GkM3K",
    "Grid",
    "Hybrid",
    "KPrototypes",
    "MaxCover",
    "Method",
    "Nearest",
    "NeedsDelta",
    "PGkM",
    "PlannedTask",
    "Predicting",
    "Prediction",
    "Share",
    "Sukpisit",
    "Task",
]

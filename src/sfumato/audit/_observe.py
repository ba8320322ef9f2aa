"""What one fit shows to everybody: its attributes, errors, warnings, texts and saved file."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import dataclass, fields, is_dataclass
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from sfumato._base.types import Floats
from sfumato.audit._worlds import World
from sfumato.engines._files import TableFile

RAISED = "raised "
SLOW = ("saved file", "text of ")
"""How names of what only a thorough look sees begin."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_LONGEST = 120
_HEAD, _TAIL = 48, 16
_DEEPEST = 3


@dataclass(frozen=True, eq=False)
class Seen:
    """What one fit showed: numbers by name, and tags such as the text of an error."""

    names: tuple[str, ...]
    values: Floats
    tags: frozenset[str]

    @property
    def refusal(self) -> str | None:
        """The error of the fit, without its numbers; None if there was none."""
        return next((tag for tag in sorted(self.tags) if tag.startswith(RAISED)), None)


def new_estimator(factory: Any) -> Any:  # noqa: ANN401
    """Return a new estimator: a clone of an instance, or what a class or a callable returns."""
    if isinstance(factory, type) or not hasattr(factory, "fit"):
        return factory()
    return clone(factory) if hasattr(factory, "get_params") else deepcopy(factory)


def takes_groups(estimator: Any) -> bool:  # noqa: ANN401
    """Whether `fit` has a parameter `groups`."""
    try:
        return "groups" in signature(estimator.fit).parameters
    except (TypeError, ValueError):
        return False


def observe(
    make: Callable[[], Any],
    world: World,
    place: Path,
    *,
    attributes: Sequence[str] | None = None,
    thorough: bool = True,
) -> Seen:
    """Fit once and note all that can be seen. No error of the fit leaves this function.

    Files are written to the folder `place`, whose name is taken out of every text.
    `attributes` are the fitted attributes that are looked at; by default all that are public. A
    `thorough` look also reads texts of objects, such as a receipt, and a saved file.
    """
    notes = _Notes(attributes, thorough)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        printed = io.StringIO()
        with redirect_stdout(printed):
            model = _fitted(make, world, place, notes)
            if model is not None:
                notes.model(model)
                if thorough and attributes is None and callable(getattr(model, "save", None)):
                    notes.saved(model, place / "model")
        for one in warned:
            notes.text(f"warned {one.category.__name__}", str(one.message), str(place))
        if printed.tell():
            notes.text("printed", printed.getvalue(), str(place))
    return notes.done()


def _fitted(make: Callable[[], Any], world: World, place: Path, notes: _Notes) -> Any:  # noqa: ANN401
    """Fit; None if it raised, which is noted."""
    rows: Any = world.rows
    if isinstance(rows, bytes):
        file = place / "table.csv"
        file.write_bytes(rows)
        width = rows.partition(b"\n")[0].count(b",") + 1
        rows = TableFile(file, columns=width, header=False)
    else:
        rows = rows.copy()
    try:
        model = make()
        fitted = model.fit(rows) if world.groups is None else model.fit(rows, groups=world.groups)
    except Exception as error:
        notes.text(f"{RAISED}{type(error).__name__}", str(error), str(place))
        return None
    return model if fitted is None else fitted


class _Notes:
    """Collects what is seen of one fit."""

    def __init__(self, attributes: Sequence[str] | None, thorough: bool) -> None:
        self._attributes, self._thorough = attributes, thorough
        self._names: list[str] = []
        self._values: list[float] = []
        self._tags: set[str] = set()

    def done(self) -> Seen:
        """All that was noted."""
        values = np.asarray(self._values, dtype=np.float64)
        return Seen(tuple(self._names), values, frozenset(self._tags))

    def model(self, model: Any, prefix: str = "", depth: int = 0) -> None:  # noqa: ANN401
        """Note every public fitted attribute, of the steps of a pipeline too."""
        for name, step in getattr(model, "steps", ()) or ():
            self.model(step, f"{prefix}{name}.", depth + 1)
        found = []
        for name in _fitted_names(model):
            if self._attributes is not None and name not in self._attributes:
                continue
            try:
                value = getattr(model, name)
            except Exception as error:
                self._tags.add(f"{prefix}{name} raises {type(error).__name__}")
                continue
            found.append(name)
            self.value(f"{prefix}{name}", value, depth)
        self._tags.add(f"attributes {prefix}{', '.join(found)}")
        self._ordered(prefix, model)

    def value(self, name: str, value: Any, depth: int = 0) -> None:  # noqa: ANN401
        """Note a number, an array, a text, or what an object holds."""
        if isinstance(value, str):
            self.text(name, value)
            return
        array = _numbers(value)
        if array is not None:
            self.numbers(name, array)
        elif depth < _DEEPEST and hasattr(value, "get_params") and hasattr(value, "fit"):
            self.model(value, f"{name}.", depth + 1)
        elif depth < _DEEPEST and isinstance(value, list | tuple | dict):
            self._tags.add(f"{name} has {len(value)} parts")
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in list(parts)[:_TAIL]:
                self.value(f"{name}[{key}]", part, depth + 1)
        else:
            self._object(name, value, depth)

    def _object(self, name: str, value: Any, depth: int) -> None:  # noqa: ANN401
        held = dict(_held(value)) if depth < _DEEPEST else {}
        for key, part in held.items():
            if _numbers(part) is not None or is_dataclass(part):
                self.value(f"{name}.{key}", part, depth + 1)
        if self._thorough:
            self.text(f"text of {name}", str(value))

    def numbers(self, name: str, array: Floats) -> None:
        """Note an array: its shape, and of a long one its ends and what it adds up to."""
        if array.ndim:
            self._tags.add(f"{name} has shape {array.shape}")
        flat = array.ravel()
        if len(flat) > _HEAD + _TAIL:
            with np.errstate(all="ignore"):
                summary = (flat.sum(), flat.min(), flat.max(), np.square(flat).sum())
            for word, number in zip(("sum", "least", "largest", "squares"), summary, strict=True):
                self._add(f"{name} {word}", float(number))
            flat = np.concatenate([flat[:_HEAD], flat[-_TAIL:]])
        for i, number in enumerate(flat.tolist()):
            self._add(f"{name}[{i}]" if array.ndim else name, number)

    def text(self, name: str, text: str, place: str = "") -> None:
        """Note a text as it is, the text without its numbers, and its numbers."""
        text = _ADDRESS.sub("0x", text.replace(place, "") if place else text)
        for i, number in enumerate(_NUMBER.findall(text)[: _HEAD + _TAIL]):
            self._add(f"{name}, number {i}", float(number))
        self._tags.add(f"{name}: {_short(_NUMBER.sub('#', text))}")
        self._tags.add(f"{name}, exactly: {_short(text)}")

    def saved(self, model: Any, file: Path) -> None:  # noqa: ANN401
        """Note the length and the contents of a saved file."""
        file.unlink(missing_ok=True)
        try:
            model.save(str(file))
            content = file.read_bytes()
        except Exception as error:
            self._tags.add(f"saved file raises {type(error).__name__}")
            return
        self._add("saved file, length", float(len(content)))
        self.text("saved file", content.decode("utf-8", errors="replace"))

    def _ordered(self, prefix: str, model: Any) -> None:  # noqa: ANN401
        """Note centres, and their sizes, in an order that the numbering does not change."""
        names = ("cluster_centers_", "cluster_sizes_")
        if self._attributes is not None:
            names = tuple(name if name in self._attributes else "" for name in names)  # type: ignore[assignment]
        centers = _numbers(getattr(model, names[0], None)) if names[0] else None
        if centers is None or centers.ndim != 2 or not centers.size:
            return
        order = np.lexsort(centers.T[::-1])
        self.numbers(f"{prefix}sorted {names[0]}", centers[order])
        sizes = _numbers(getattr(model, names[1], None)) if names[1] else None
        if sizes is not None and sizes.shape == order.shape:
            self.numbers(f"{prefix}sorted {names[1]}", sizes[order])

    def _add(self, name: str, number: float) -> None:
        self._names.append(name)
        self._values.append(number)


def _fitted_names(model: Any) -> list[str]:  # noqa: ANN401
    """Names of public attributes that end with an underscore."""
    names = {*getattr(model, "__dict__", ()), *dir(type(model))}
    return sorted(name for name in names if name.endswith("_") and not name.startswith("_"))


def _held(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """The public fields of an object."""
    if is_dataclass(value) and not isinstance(value, type):
        yield from ((f.name, getattr(value, f.name)) for f in fields(value))
    else:
        yield from getattr(value, "__dict__", {}).items()


def _numbers(value: Any) -> Floats | None:  # noqa: ANN401
    """An array of numbers; None if the value is none."""
    if not isinstance(value, int | float | np.ndarray | np.generic | list | tuple):
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "biuf" else None


def _short(text: str) -> str:
    """A text, or if it is long its beginning and a digest."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:40]}… ({blake2b(text.encode(), digest_size=6).hexdigest()})"

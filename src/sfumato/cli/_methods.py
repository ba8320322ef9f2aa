"""Settings of methods: read from `--set NAME=VALUE`, and listed by `sfumato methods`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from inspect import signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sfumato.cli import _commands as c
from sfumato.cli._app import print_json
from sfumato.cli._show import console
from sfumato.methods import METHODS, NEEDS_DELTA, Method

_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    NoneType: "none",
}
_NAMED: dict[Any, dict[str, object]] = {
    bool: {"true": True, "false": False},
    NoneType: {"none": None},
}


@dataclass(frozen=True)
class Setting:
    """One setting of a method: its name, its type, and its default as it would be typed."""

    name: str
    kind: Any
    default: str | None

    def read(self, text: str) -> object:
        """Read a value; raises `ValueError` if the text is none of this type."""
        try:
            return _value(text, self.kind)
        except ValueError:
            wanted = f"must be {_words(self.kind)}, got {text!r}"
            raise ValueError(f"--set {self.name}={text}: {self.name} {wanted}") from None


def settings_of(method: type[Method]) -> dict[str, Setting]:
    """The settings of a method by name; none if it is no dataclass."""
    if not is_dataclass(method):
        return {}
    kinds: dict[str, Any] = {}
    # A class of another package may name types that it does not import.
    with suppress(NameError):
        kinds = get_type_hints(method)
    own = (field for field in fields(method) if field.init)
    return {f.name: Setting(f.name, kinds.get(f.name, object), _default(f)) for f in own}


def configured(name: str, texts: list[str] | None) -> str | Method:
    """A method with its settings; without settings its name. Refuses what is not valid.

    Nothing has been read or charged yet.
    """
    if name not in METHODS:
        raise ValueError(f"--method must be one of {', '.join(METHODS)}, got {name!r}")
    if not texts:
        return name
    values = _read(texts, name, settings_of(METHODS[name]))
    try:
        method = METHODS[name](**values)
        # A model holds the settings: what cannot be written is refused before the charge.
        json.dumps(asdict(method), allow_nan=False)  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        raise ValueError(f"--set {' --set '.join(texts)}: {error}") from None
    return method


def parameters_in(texts: list[str] | None, model: type[Any], name: str) -> dict[str, Any]:
    """Parameters of an estimator beside those that have options of their own."""
    kinds = get_type_hints(model.__init__)
    own = {
        key: Setting(key, kinds[key], _typed(each.default))
        for key, each in signature(model).parameters.items()
        if key not in _OPTIONS
    }
    return _read(texts or [], f"--model {name}", own)


_OPTIONS = frozenset(
    "n_clusters n_components epsilon delta bounds method n_rows nan max_rows_per_group "
    "random_state schema n_jobs verbose".split()
)
"""Parameters of estimators that the command line has options for, or none."""


def _read(texts: list[str], name: str, known: dict[str, Setting]) -> dict[str, Any]:
    """The values of settings, each set once."""
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals:
            example = [f"{each.name}={each.default}" for each in known.values()] or ["iterations=3"]
            raise ValueError(f"--set {text}: NAME=VALUE is needed, such as --set {example[0]}")
        if key not in known:
            names = f"the settings of {name} are {', '.join(known)}"
            raise ValueError(f"--set {text}: {names if known else f'{name} has no settings'}")
        if key in values:
            raise ValueError(f"--set {text}: {key} is set twice")
        values[key] = known[key].read(value.strip())
    return values


def _value(text: str, kind: Any) -> object:  # noqa: ANN401
    """Read a text as a value of this type; of several types as the first that it fits."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        # `none` before any other.
        for part in sorted(parts, key=lambda part: part is not NoneType):
            with suppress(ValueError):
                return _value(text, part)
    elif origin is tuple:
        texts = text.split(",")
        parts = parts[:1] * len(texts) if parts[-1] is Ellipsis else parts
        # Raises `ValueError` for another number of texts.
        return tuple(_value(each.strip(), part) for each, part in zip(texts, parts, strict=True))
    elif kind in (int, float, str):
        return kind(text)
    choices: dict[str, object] = {}
    if origin is Literal:
        choices = {str(choice): choice for choice in parts}
    elif kind in _NAMED:
        choices = _NAMED[kind]
    if text not in choices:
        raise ValueError
    return choices[text]


def _words(kind: Any) -> str:  # noqa: ANN401
    """What a value of this type looks like."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(_words(part) for part in parts)
    if origin is Literal:
        *some, last = map(str, parts)
        return f"{', '.join(some)} or {last}" if some else last
    if origin is tuple:
        many = "any number" if parts[-1] is Ellipsis else str(len(parts))
        return f"{many} with commas, each {_words(parts[0])}"
    return _WORDS.get(kind, "a value that the command line cannot give")


def _default(field: Field[Any]) -> str | None:
    """The default as it would be typed; None if there is none."""
    made = field.default_factory
    value = field.default if made is MISSING else made()
    return None if value is MISSING else _typed(value)


def _typed(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def run(request: c.Methods) -> None:
    """List every method with its settings."""
    listed = [_listed(name) for name in METHODS]
    if request.as_json:
        print_json({"methods": listed})
        return
    out = console()
    for each in listed:
        delta = " Needs δ > 0." if each["needs_delta"] else ""
        text = each["why_not"] or f"{each['description']}{delta}"
        out.print(f"{each['name']}: {text}", soft_wrap=True)
        for setting in each["settings"]:
            default = "" if setting["default"] is None else f"={setting['default']}"
            out.print(f"    {setting['name']}{default}  ({setting['kind']})", soft_wrap=True)


def _listed(name: str) -> dict[str, Any]:
    listed = {"name": name, "description": "", "needs_delta": False, "settings": [], "why_not": ""}
    try:
        method = METHODS[name]
    except ImportError as error:
        return {**listed, "why_not": str(error)}
    settings = [
        {"name": each.name, "kind": _words(each.kind), "default": each.default}
        for each in settings_of(method).values()
    ]
    first, *_ = (method.__doc__ or "").strip().splitlines() or [""]
    # A dataclass without a docstring is given its signature for one.
    described = "" if first.startswith(f"{method.__name__}(") else first
    known = {"description": described, "needs_delta": name in NEEDS_DELTA}
    return {**listed, **known, "settings": settings}

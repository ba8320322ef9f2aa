"""Schemas as TOML, to be read and written by people."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

BLANK = "?"
"""What stands in a template for a fact that is still to be filled in."""

_FACTS = ("kind", "lower", "upper", "levels", "first", "last", "format", "period")

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parsed(text: str, where: str) -> dict[str, Any]:
    """The plain values of a TOML text; says where it is none, and which facts are still blank."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{where} is not TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{where} is no schema: its tables are nested too deeply") from None
    blanks = _blanks(data.get("columns"))
    if blanks:
        listed = "; ".join(f"{name}: {', '.join(facts)}" for name, facts in blanks.items())
        raise ValueError(
            f"{where} has blanks, to be filled in from public knowledge and not from the rows, or "
            f"with their column to be left out: {listed}"
        )
    return data


def _blanks(columns: Any) -> dict[str, list[str]]:  # noqa: ANN401
    """Which facts of which columns are still to be filled in."""
    found = {}
    for name, given in columns.items() if isinstance(columns, Mapping) else ():
        facts = given if isinstance(given, Mapping) else {}
        blank = [fact for fact in _FACTS if facts.get(fact) in (BLANK, [BLANK])]
        if blank:
            found[name] = blank
    return found


def written(data: Mapping[str, Any]) -> str:
    """A schema's plain values as TOML: one table for each column."""
    head = [f"groups = {value_of(data['groups'])}\n"] if "groups" in data else []
    tables = [
        "\n".join(
            [f"[columns.{key_of(name)}]", *(f"{k} = {value_of(v)}" for k, v in facts.items())]
        )
        for name, facts in data["columns"].items()
    ]
    return "\n".join([*head, "\n\n".join(tables)]) + "\n"


def key_of(name: str) -> str:
    """A name as a key of TOML."""
    return name if _BARE.fullmatch(name) else value_of(name)


def value_of(value: Any) -> str:  # noqa: ANN401
    """A plain value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a basic string of TOML, but for the character 127.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_of, value))}]"
    return repr(value)

"""Types that tables declare for their columns, against what a schema says of them.

Only declared types are looked at, never cells: what is refused here is refused before any charge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato._base.labels import key_of
from sfumato._schema.cells import digits_are_dates
from sfumato._schema.kinds import Column, Date
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema

Family = Literal["number", "bool", "text", "time", "any", "other"]
"""What cells of a type can be; "any" of objects of any type, "other" of what no column takes."""

_WORDS = {
    "number": "numbers",
    "bool": "yes or no",
    "text": "text",
    "time": "dates or times",
    "other": "neither numbers, text nor dates",
}
_NUMPY: dict[str, Family] = {
    **dict.fromkeys("iuf", "number"),
    **dict.fromkeys("SUT", "text"),
    **dict.fromkeys("cmV", "other"),
    "b": "bool",
    "M": "time",
}


@dataclass(frozen=True)
class Declared:
    """The type that a table declares for a column: its family, and how it is called."""

    name: str
    family: Family
    shown: str

    def __str__(self) -> str:
        return f"{_WORDS[self.family]} ({self.shown})"


def family_of(kind: str) -> Family:
    """The family of a type, given as NumPy abbreviates it."""
    return _NUMPY.get(kind, "any")


def check_types(schema: Schema, declared: Sequence[Declared]) -> None:
    """Refuse types that no cell of a column can have, in the order of `schema.features`."""
    for name, own in zip(schema.inputs, declared, strict=True):
        column = schema.columns[name]
        remedy = _remedy(column, own.family)
        if remedy:
            raise TypeError(
                f"column {own.name!r} is declared {type(column).__name__} but holds {own}: {remedy}"
            )


def no_feature(own: Declared) -> str:
    """What is said of a column that is no feature by itself, and what can be done about it."""
    kind = {"text": "Category", "time": "Date", "any": "Category"}.get(own.family)
    what = f"is {own}" if own.family == "text" else f"holds {own}" if own.family != "any" else ""
    return (
        f"column {own.name!r} {what or f'is of type {own.shown}'}: leave it out "
        "(bounds={'age': (17, 90), …} names the columns that take part)"
        + (f", or declare {kind}(…) in a schema" if kind else "")
    )


def no_numbers(wrong: Sequence[Declared]) -> str:
    """What is said of all columns that are no features by themselves."""
    listing = ", ".join(f"{own.name} ({own.shown})" for own in wrong[:30])
    return f"columns must hold numbers; these do not: {listing}; {no_feature(wrong[0])}"


def _remedy(column: Column, family: Family) -> str:
    """What to declare instead; nothing if the type will do."""
    if family == "other":
        return "leave it out of the schema"
    if isinstance(column, Category | Ordinal):
        keys = set(map(key_of, column.levels))
        return "declare Flag()" if family == "bool" and not keys & {"0", "1"} else ""
    if isinstance(column, Date) and family == "bool":
        return "declare Flag()"
    if isinstance(column, Date) and family == "number" and not digits_are_dates(column.format):
        return (
            'declare Number(lower, upper), or give a format such as "%Y%m%d" if its digits are a '
            "date"
        )
    if isinstance(column, Date):
        return ""
    return "declare Date(first, last)" if family == "time" else ""

"""A table's public facts, declared once: its columns, what they mean, and whose rows are whose."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sfumato._base.files import read_whole, write_whole
from sfumato._schema import toml
from sfumato._schema.encoding import Encoding
from sfumato._schema.kinds import Column, Cycle, Date, Flag, Number
from sfumato._schema.levels import LEVEL, Category, Ordinal
from sfumato._schema.weight import Weight

KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Number, Category, Ordinal, Flag, Date, Cycle, Weight)
}


class Schema(Encoding):
    """What is public about a table. Columns that it does not name are left alone.

    Parameters
    ----------
    columns : mapping of names to columns, optional
        For names that are no Python names; others may be given as keywords.
    groups : str, optional
        The column that says whose rows are whose: one person is then protected, not one row.
    named : Number, Category, Ordinal, Flag, Date, Cycle or Weight
        The columns, each by its name.

    Examples
    --------
    >>> from sfumato import Category, Number, Schema
    >>> schema = Schema(age=Number(17, 90), sex=Category("F", "M", "X"), groups="patient_id")
    >>> schema.coordinate_names
    ('age', 'sex=F', 'sex=M', 'sex=X')

    """

    def __init__(
        self,
        columns: Mapping[str, Column] | None = None,
        /,
        *,
        groups: str | None = None,
        **named: Column,
    ) -> None:
        given: dict[str, Column] = {**(columns or {}), **named}
        for name, column in given.items():
            _check(name, column)
        if groups is not None and not isinstance(groups, str):
            raise TypeError(f"groups must be the name of a column, got {groups!r}")
        if groups is not None and groups in given:
            raise ValueError(f"column {groups!r} says whose rows are whose and is no feature")
        self.columns = given
        self.groups = groups
        if sum(isinstance(column, Weight) for column in given.values()) > 1:
            raise ValueError("a schema has at most one column of weights")
        if not self.features:
            raise ValueError(
                "a schema needs at least one column that takes part in a fit: one with a weight "
                "above 0"
            )

    @classmethod
    def of_bounds(cls, bounds: Mapping[str, Any], missing: str = "ignore") -> Schema:
        """The schema that bounds of some columns declare: {"age": (17, 90), …}."""
        found = {}
        for name, pair in bounds.items():
            if not hasattr(pair, "__len__") or isinstance(pair, str) or len(pair) != 2:
                raise ValueError(
                    f"the bounds of column {name!r} must be a pair (lower, upper), got {pair!r}"
                )
            lower, upper = (float(x) if isinstance(x, np.number) else x for x in pair)
            found[name] = Number(lower, upper, missing=missing)
        return cls(found)

    @property
    def unweighted(self) -> Schema:
        """The schema without the column of weights: what a row means, not how much it counts."""
        if self.weights is None:
            return self
        others = {n: c for n, c in self.columns.items() if not isinstance(c, Weight)}
        return Schema(others, groups=self.groups)

    @property
    def labelling(self) -> Schema:
        """The schema by which rows that the caller brings are labelled: none of them is dropped."""
        data = self.unweighted.to_dict()
        for facts in data["columns"].values():
            if facts.get("missing") == "drop":
                del facts["missing"]
        return Schema.from_dict(data)

    def over(self, names: Iterable[str]) -> Schema:
        """The schema of some of its columns, all of which take part."""
        if isinstance(names, str):
            raise TypeError(f"names must be a list of columns, got {names!r}")
        chosen = {}
        for name in names:
            if name not in self.columns:
                listed = ", ".join(self.columns)
                raise ValueError(f"the schema has no column {name!r}; its columns are {listed}")
            column = self.columns[name]
            chosen[name] = column if column.weight else column.weighing(1.0)
        if self.weights is not None:
            chosen[self.inputs[-1]] = self.weights
        return Schema(chosen, groups=self.groups)

    def groups_with(self, given: Any) -> Any:  # noqa: ANN401
        """Whose rows are whose, as the schema says, or as it is given where the schema does not."""
        if given is None or self.groups is None:
            return self.groups if given is None else given
        if not isinstance(given, str) or given != self.groups:
            raise ValueError(
                f"the schema says that column {self.groups!r} says whose rows are whose: leave "
                "groups out"
            )
        return given

    def without(self, name: object) -> Schema:
        """The schema of all other columns, by one of which rows are divided."""
        if name not in self.columns:
            return self
        return Schema({n: c for n, c in self.columns.items() if n != name}, groups=self.groups)

    def notes(self) -> tuple[str, ...]:
        """What a receipt says of each column: what was declared, and where it comes from."""
        found = []
        for name, column in self.columns.items():
            source = f" ({column.source.rstrip('.')})" if column.source else ""
            part = "" if column.weight else "; it takes no part in the fit"
            part = f"; weight {column.weight:g}" if 0 < column.weight < 1 else part
            found.append(f"declared of {name}: {column.public()}{source}{part}{_missing(column)}")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values."""
        columns = {name: column.to_dict() for name, column in self.columns.items()}
        return {**({"groups": self.groups} if self.groups else {}), "columns": columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Read back what `to_dict` wrote; says which column is wrong, and how."""
        known = data if isinstance(data, Mapping) else {}
        unknown = [str(name) for name in known if name not in ("groups", "columns")]
        if unknown or not isinstance(known.get("columns"), Mapping):
            named = f": {', '.join(sorted(unknown))} is not known" if unknown else ""
            raise ValueError(f"a schema has a table of columns, and may name groups{named}")
        columns = {name: _column(name, given) for name, given in data["columns"].items()}
        return cls(columns, groups=data.get("groups"))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file: docs/schema.md says what it may have."""
        where = os.fspath(path)
        try:
            text = read_whole(path, "utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{where} is not TOML: it is not UTF-8 text") from None
        try:
            return cls.from_dict(toml.parsed(text, where))
        except (TypeError, ValueError) as error:
            raise ValueError(str(error) if where in str(error) else f"{where}: {error}") from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as TOML; the file appears whole or not at all."""
        write_whole(path, toml.written(self.to_dict()))

    def __eq__(self, other: object) -> bool:
        # The order counts: columns of an array go by position.
        return (
            isinstance(other, Schema)
            and list(self.columns) == list(other.columns)
            and self.to_dict() == other.to_dict()
        )

    def __hash__(self) -> int:
        return hash((tuple(self.columns), self.groups))

    def __repr__(self) -> str:
        groups = f", groups={self.groups!r}" if self.groups else ""
        listed = ", ".join(f"{n}={type(c).__name__}" for n, c in self.columns.items())
        return f"Schema({listed}{groups})"


_BECOMES = {
    "ignore": "",
    "drop": "; rows in which it is missing are left out",
    "center": "; missing cells are put in its middle",
    LEVEL: "; missing is a level of its own",
}


def _missing(column: Column) -> str:
    """What becomes of missing cells, in words; that they are ignored is said of all."""
    if isinstance(column.missing, str) and column.missing in _BECOMES:
        return _BECOMES[column.missing]
    return f"; missing cells count as {column.missing}"


def _check(name: object, column: object) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"columns have names, got {name!r}")
    if isinstance(column, type):
        raise TypeError(f"column {name!r} is a kind without its facts: write {column.__name__}(…)")
    if not isinstance(column, Column):
        kinds = ", ".join(kind.__name__ for kind in KINDS.values())
        raise TypeError(
            f"column {name!r} must be one of {kinds}, got {type(column).__name__}; bounds alone "
            "are written Number(lower, upper)"
        )
    column.check(name)


def _column(name: str, given: Any) -> Column:  # noqa: ANN401
    """A column from plain values."""
    facts = dict(given) if isinstance(given, Mapping) else {}
    kind = facts.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"column {name!r} needs a kind, one of {', '.join(KINDS)}, got {kind!r}")
    levels = facts.pop("levels", [])
    if not isinstance(levels, list | tuple):
        raise ValueError(f"the levels of column {name!r} must be a list, got {levels!r}")
    try:
        return KINDS[kind](*levels, **facts)
    except TypeError as error:
        reason = str(error).partition("__init__() ")[2] or str(error)
        raise ValueError(f"column {name!r} of kind {kind}: {reason}") from None

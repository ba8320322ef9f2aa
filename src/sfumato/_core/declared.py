"""What is declared about a dataset: its columns, and in a durable ledger its budget and bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sfumato._accounting.budget import Ledger
from sfumato._base.validation import NoFeature
from sfumato._lattice.box import NanPolicy
from sfumato._schema.kinds import Number
from sfumato._schema.schema import Schema
from sfumato.engines._elsewhere import names_of
from sfumato.engines._open import elsewhere

Opened = Ledger | str | os.PathLike[str]
"""A ledger, or where one is kept."""


def opened_ledger(ledger: Opened, dataset: str | None = None) -> Ledger:
    """Open the ledger of a dataset, unless it is open."""
    if isinstance(ledger, Ledger):
        if dataset is not None:
            raise ValueError("a dataset is named where its ledger is opened, not twice")
        return ledger
    if not isinstance(ledger, str | os.PathLike):
        raise TypeError(
            f"a ledger must be a sfumato Ledger, or where one is kept, got {type(ledger).__name__}"
        )
    from sfumato._ledger.ledger import Ledger as DurableLedger

    return DurableLedger.open(ledger, dataset)


def declared_schema(schema: Any, bounds: Any, nan: NanPolicy, ledger: Ledger) -> Schema | None:  # noqa: ANN401
    """The schema of a table: as given, or of bounds by name; None where columns go by position."""
    if schema is None and isinstance(bounds, Mapping):
        return _agreeing(Schema.of_bounds(bounds, nan), ledger.bounds)
    if schema is None:
        return None
    if not isinstance(schema, Schema):
        raise TypeError(
            f"schema must be a Schema, got {type(schema).__name__}; one in a file is read by "
            "Schema.read(path)"
        )
    if bounds is not None:
        raise ValueError("a schema declares the bounds of its columns: leave bounds out")
    if nan != "ignore":
        raise ValueError(
            f"nan={nan!r} is for tables without a schema: a schema says for each column what "
            "becomes of missing cells (missing=…)"
        )
    return _agreeing(schema, ledger.bounds)


def _agreeing(schema: Schema, declared: Any) -> Schema:  # noqa: ANN401
    """Refuse a schema with other bounds than a ledger declares for columns of the same names."""
    for name, pair in declared.items() if isinstance(declared, Mapping) else ():
        column = schema.columns.get(name)
        if isinstance(column, Number) and _plain(list(column.ends)) != _plain(pair):
            raise ValueError(
                f"other bounds of column {name!r} were declared when the ledger was created"
            )
    return schema


def declared_bounds(ledger: Ledger, given: Any, X: Any, groups: Any) -> Any:  # noqa: ANN401
    """The bounds (lower, upper) that a ledger declares, or those given if it declares none."""
    declared = ledger.bounds
    if declared is None:
        return given
    if isinstance(declared, dict):
        names = names_of(elsewhere(X), X, groups, len(declared))
        if names is not None and set(names) != set(declared):
            more = set(declared) < set(names) and len(names) == len(declared) + 1
            raise (NoFeature if more else ValueError)(
                f"the ledger declares bounds of {', '.join(declared)}, but the columns are "
                f"{', '.join(names)}"
            )
        pairs = [declared[name] for name in names or declared]
        declared = [[pair[side] for pair in pairs] for side in (0, 1)]
    if given is not None and _plain(given) != _plain(declared):
        raise ValueError("other bounds were declared when the ledger was created: leave them out")
    return tuple(declared)


def _plain(bounds: Any) -> Any:  # noqa: ANN401
    """Bounds as lists of numbers, to compare them."""
    bounds = bounds.tolist() if hasattr(bounds, "tolist") else bounds
    if isinstance(bounds, list | tuple):
        return [_plain(part) for part in bounds]
    return float(bounds) if isinstance(bounds, int | float) else bounds

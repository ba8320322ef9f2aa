"""Parts side by side: the table of a curator, divided by a column into rows of their own.

Guarantee: a row lies in one part at most, by its own label alone, so neighbours differ in one part.
What is asked about the others has the same distribution on both. The loss is therefore that of one
part, and all parts together reserve the largest of what each of them reserves, in every unit
(docs/proofs/ledger.md). The list of values is public, and nothing is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, cast

from sfumato._accounting.budget import Ledger
from sfumato._accounting.parallel import Parallel, PartLedger
from sfumato._base.labels import NO_LABEL, key_of
from sfumato._base.validation import NoFeature
from sfumato._core.declared import declared_bounds
from sfumato._core.private_data import PrivateData
from sfumato._core.sampling.source import Noise
from sfumato._core.weighted import weighted
from sfumato._lattice.box import Box, NanPolicy, columns_in
from sfumato._schema.schema import Schema
from sfumato.engines._open import elsewhere, rows_of
from sfumato.engines._parts import divided, has_columns, place_of, without
from sfumato.engines._rows import Rows

AGAIN = "a part cannot be divided again: name the values of a column that has both in its labels"
VIEWED = "a view cannot be divided: divide the curator, and open a view of each part"
GROUPED = (
    "rows of groups cannot be divided: the rows of one group may lie in several parts, which then "
    "cost as much as all of them, not as the dearest; fit the whole, or one curator for each"
)


@dataclass(frozen=True, repr=False)
class Opening:
    """What a curator was opened with: enough to open its table once more, divided.

    `labels` are those of groups or of parts, or the name of their column. `refusal` says why the
    table cannot be divided, if it cannot. `notes` are for receipts. `limit` is the number of rows
    that count of each group, and `key` the label of the part.
    """

    X: Any
    labels: Any
    bounds: Any
    nan: NanPolicy
    noise: Noise
    refusal: str = ""
    notes: tuple[str, ...] = ()
    schema: Schema | None = None
    limit: int = 1
    key: str | None = None

    def rows(self, schema: Schema) -> Rows:
        """The rows of the table, or of the part, with the columns of a schema."""
        if self.key is not None:
            return weighted(divided(self.X, self.labels, [self.key], None, schema)[0], schema)
        groups, limit = self.labels, self.limit
        return weighted(
            rows_of(self.X, groups=groups, max_rows_per_group=limit, schema=schema), schema
        )


def opened(opening: Opening, ledger: Ledger) -> tuple[Opening, Rows, Box]:
    """Open a table; also what it was opened with, if its schema says whose rows are whose."""
    X, schema = opening.X, opening.schema
    if schema is not None:
        if elsewhere(X) != "rows":
            opening = replace(opening, labels=schema.groups_with(opening.labels))
        elif schema.groups is not None and X.max_rows_per_group is None:
            raise ValueError(
                f"the schema says that column {schema.groups!r} says whose rows are whose, but the "
                "rows were opened without groups: name them where the rows are opened"
            )
        return opening, opening.rows(schema), schema.box
    groups = opening.labels
    bounds = declared_bounds(ledger, opening.bounds, X, groups)
    width = columns_in(bounds)
    rows = rows_of(X, groups=groups, max_rows_per_group=opening.limit, width=width)
    return opening, rows, Box.of(bounds, rows.n_features, opening.nan)


class Undivided:
    """In place of the rows of a table that cannot be asked as a whole: one column is no feature.

    Whatever is asked for raises what opening the table raised.
    """

    def __init__(self, ledger: Ledger, refusal: NoFeature) -> None:
        self.ledger = ledger
        self._refusal = refusal

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NoFeature(
            f"{self._refusal}. A table with one column that is no feature can be divided by it: "
            "curator.by(column, values=[…])"
        )


def undivided(refusal: NoFeature, opening: Opening, ledger: Ledger) -> PrivateData:
    """Stand in for rows that are yet to be divided by a column; other refusals are raised."""
    if opening.labels is not None or not has_columns(opening.X):
        raise refusal
    return cast(PrivateData, Undivided(ledger, refusal))


def divide(
    data: PrivateData,
    opening: Opening,
    data_type: type[PrivateData],
    column: Any,  # noqa: ANN401
    values: Iterable[Any],
) -> dict[Any, tuple[PrivateData, Opening]]:
    """Open the rows of each value, with one budget side by side; see `Curator.by`."""
    if opening.refusal or opening.labels is not None:
        raise ValueError(opening.refusal or GROUPED)
    keys = keys_of_values(values)
    source = without(opening.X, column)
    whole = None if isinstance(data, Undivided) else data.box
    bounds, width = opening.bounds, columns_in(opening.bounds)
    if opening.schema is None and whole is not None:
        bounds = _other_bounds(whole, opening.X, column)
        width = len(bounds[0])
    elif opening.schema is None and data.ledger.bounds is not None:
        bounds = declared_bounds(data.ledger, bounds, source, column)
        width = columns_in(bounds)
    schema = opening.schema and opening.schema.without(column)
    rows = divided(source, column, list(keys), width, schema)
    rows = [weighted(own, schema) for own in rows] if schema else rows
    box = schema.box if schema else Box.of(bounds, rows[0].n_features, opening.nan)
    title = str(column) if isinstance(column, str | int) else "label"
    names = [f"{title} = {key}" for key in keys]
    found = {}
    for key, name, own, ledger in zip(keys, names, rows, beside(data.ledger, names), strict=True):
        note = f"only the rows with {name} were read; parts are charged side by side"
        part = replace(opening, X=source, labels=column, refusal=AGAIN, notes=(note,))
        part = replace(part, schema=schema, key=key)
        found[keys[key]] = data_type(own, box, ledger, opening.noise), part
    return found


def reopened(
    data: PrivateData, opening: Opening, data_type: type[PrivateData], names: Iterable[str]
) -> tuple[PrivateData, Opening]:
    """Open the same rows with other columns of their schema; see `Curator.over`."""
    if opening.schema is None:
        if opening.refusal == VIEWED:
            raise ValueError("a view has no columns to choose: choose them, then open the view")
        raise ValueError("columns are chosen by a schema: this curator was opened without one")
    schema = opening.schema.over(names)
    if elsewhere(opening.X) == "rows" and schema != opening.schema:
        raise ValueError(
            "the columns of rows that are opened already cannot be chosen: give the curator the "
            "table or its path"
        )
    rows = opening.rows(schema)
    return data_type(rows, schema.box, data.ledger, opening.noise), replace(opening, schema=schema)


def keys_of_values(values: Iterable[Any]) -> dict[str, Any]:
    """The key of each value of a public list, as labels of rows have them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError("values must be a list of the labels of the parts, decided beforehand")
    found: dict[str, Any] = {}
    for value in values:
        key = key_of(value)
        if type(key) is not str or key == NO_LABEL:
            raise ValueError(
                f"values must be text, numbers or dates, got {value!r}: rows without a label are "
                "in no part"
            )
        if key in found:
            raise ValueError(f"values must be distinct, but {found[key]!r} and {value!r} are one")
        found[key] = value
    if not found:
        raise ValueError("values must name at least one part")
    return found


def beside(ledger: Ledger, names: Sequence[str]) -> Sequence[Ledger]:
    """One budget for each part, all taken from one: together they reserve the largest."""
    if ledger.durable:
        kept: Sequence[Ledger] = cast(Any, ledger).beside(names)
        return kept
    parallel = Parallel(Fraction(0))
    return [PartLedger(ledger, parallel, name) for name in names]


def _other_bounds(box: Box, source: Any, column: Any) -> tuple[list[float], list[float]]:  # noqa: ANN401
    """The bounds of all features but the column that divides the rows, if it is one of them."""
    place = place_of(source, column, box.n_features)
    kept = [i for i in range(box.n_features) if i != place]
    return [box.lower[i] for i in kept], [box.upper[i] for i in kept]

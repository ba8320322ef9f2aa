"""What is asked about released clusters later: their rows, an account, a receipt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._accounting.receipt import Receipt
from sfumato._accounting.text import spent_words
from sfumato._base.types import Floats
from sfumato._core.curator import Curator
from sfumato._core.queries.cells import Nearest
from sfumato._core.queries.cubes import NearestInProjection
from sfumato._core.queries.projection import Projection
from sfumato._lattice.box import REACH, Box
from sfumato._ledger.durable import DurableLedger
from sfumato._schema.kinds import Column, Number
from sfumato._schema.schema import Schema
from sfumato._schema.weight import Weight


def unit_of(curator: Curator) -> float:
    """How much a row that is counted weighs."""
    weights = curator.schema.weights if curator.schema else None
    return weights.unit if weights else 1.0


def columns_of(curator: Curator, schema: Schema | None, box: Box | None) -> dict[str, Column]:
    """The columns of the curator's rows, by name; refuses those of another model."""
    if schema is None:
        if curator.schema is not None:
            raise ValueError(
                "the curator has a schema, the model was fitted without one: fit and explain with "
                "the same"
            )
        if box is not None and (box.lower, box.upper) != (curator.box.lower, curator.box.upper):
            raise ValueError(
                "the curator has other bounds than the model: open it with bounds=model.bounds_"
            )
        names = curator.names or [f"column {i}" for i in range(curator.n_features)]
        ends = zip(names, curator.box.lower, curator.box.upper, strict=True)
        return {str(name): Number(low, high) for name, low, high in ends}
    if curator.schema is None:
        raise ValueError(
            "the model was fitted with a schema: open the curator with schema=model.schema_"
        )
    for name in schema.features:
        if curator.schema.columns.get(name) != schema.columns[name]:
            raise ValueError(
                f"the curator's schema declares column {name!r} otherwise than the model's: open "
                "it with schema=model.schema_, or one that only adds columns"
            )
    pairs = curator.schema.columns.items()
    return {name: column for name, column in pairs if not isinstance(column, Weight)}


def lattice_cells(centers: Floats) -> Nearest:
    """The cells of centres (k, d) of the cube."""
    return Nearest(np.rint(np.asarray(centers, dtype=np.float64) * REACH).astype(np.int64))


def opened(
    curator: Curator, centers: Floats, schema: Schema, asked: Sequence[str]
) -> tuple[Curator, Nearest | NearestInProjection, Schema]:
    """The rows with all columns that are needed, the clusters there, and what is declared."""
    others = [name for name in asked if name not in schema.features]
    wide = curator.over([*schema.features, *others])
    seen = wide.schema
    if seen is None:
        raise RuntimeError("columns were opened without their schema")
    cells = lattice_cells(centers)
    if not others:
        return wide, cells, seen
    matrix = np.zeros((schema.dimensions, seen.dimensions), dtype=np.int64)
    for name, own in schema.places.items():
        first = seen.places[name].start
        matrix[np.arange(own.start, own.stop), first + np.arange(own.stop - own.start)] = 1
    selection = Projection(matrix, np.zeros(seen.dimensions, dtype=np.int64))
    return wide, NearestInProjection(selection, cells), seen


def reserved(curator: Curator, purpose: str, caps: Caps, settings: dict[str, Any]) -> Account:
    """An account for what is asked; a ledger that lasts keeps its settings, which are public."""
    ledger = curator.ledger
    if isinstance(ledger, DurableLedger):
        return ledger.reserve(purpose, caps, settings=json.dumps(settings))
    return curator.reserve(purpose, caps)


@contextmanager
def spending(account: Account) -> Iterator[None]:
    """Give back what is not spent; an error says what is."""
    try:
        yield
    except BaseException as error:
        if account.entries:
            ledger = account.ledger
            where = ledger.where(account) if isinstance(ledger, DurableLedger) else ""
            error.add_note(spent_words(account, where))
        raise
    finally:
        account.ledger.cancel(account)


def receipt_of(curator: Curator, account: Account, notes: Sequence[str] = ()) -> Receipt:
    """The receipt of what was asked."""
    return Receipt.of(
        account,
        method=account.purpose,
        neighbours=curator.neighbours,
        chapters=(
            *curator.ledger.chapters,
            curator.source,
            *(("Tables with a schema",) if curator.schema else ()),
            "Estimator",
        ),
        notes=(*curator.notes, *notes),
    )


def kept(curator: Curator, account: Account, text: str, receipt: Receipt) -> None:
    """Keep what was released in a ledger that lasts."""
    if isinstance(curator.ledger, DurableLedger):
        curator.ledger.release(account, text + "\n", receipt.summary())

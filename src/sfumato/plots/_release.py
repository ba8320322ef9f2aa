"""What may be drawn: releases. Rows, tables and curators are refused by their type."""

from __future__ import annotations

from typing import Any

from sfumato._accounting.receipt import Receipt
from sfumato._synopsis import Synopsis


class Release:
    """A model of released numbers: what every fitted model is. Drawing it costs nothing."""

    receipt_: Receipt


def model_of(given: Any) -> Any:  # noqa: ANN401
    """A fitted model; all else is refused."""
    if not isinstance(given, Release):
        raise refused("a fitted model", given)
    if not hasattr(given, "receipt_"):
        raise TypeError(f"this {type(given).__name__} is not fitted: fit it before it is drawn")
    return given


def receipt_of(given: Any) -> Receipt:  # noqa: ANN401
    """A receipt, or that of a model or an explanation."""
    found = given if isinstance(given, Receipt) else getattr(given, "receipt", None)
    if isinstance(found, Receipt):
        return found
    if isinstance(given, Release):
        receipt: Receipt = model_of(given).receipt_
        return receipt
    raise refused("a receipt or a fitted model", given)


def synopsis_of(given: Any) -> Synopsis:  # noqa: ANN401
    """A synopsis, or that of a model."""
    if isinstance(given, Synopsis):
        return given
    if not isinstance(given, Release):
        raise refused("a synopsis, or a fitted model that has one", given)
    found = getattr(model_of(given), "synopsis_", None)
    if found is None:
        raise TypeError(
            f"this {type(given).__name__} has no synopsis: its fit released none. --method eugkm "
            "always does, auto where the columns are few"
        )
    synopsis: Synopsis = found
    return synopsis


def refused(wanted: str, given: Any) -> TypeError:  # noqa: ANN401
    """The error for what is no release."""
    return TypeError(
        f"{wanted} is needed, got {type(given).__name__}: plots and reports are made of releases, "
        "never of rows"
    )

"""The dossier: what an officer needs to know about a release, for machines."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from sfumato._accounting.receipt import Receipt
from sfumato._report.nist import checklist
from sfumato._report.registry import entry
from sfumato._report.seal import canonical, digest_of
from sfumato._report.words import Promise, not_promised
from sfumato.plots._release import model_of
from sfumato.plots._view import names_of

FORMAT = 1


def dossier(
    model: Any,  # noqa: ANN401
    *,
    explanation: Any = None,  # noqa: ANN401
    command: str | None = None,
    title: str | None = None,
    ledger: dict[str, Any] | None = None,
    date: datetime | None = None,
) -> dict[str, Any]:
    """Everything that is known of a release, as plain values.

    `explanation` is an Explanation of the model, `ledger` the entry under which a ledger keeps the
    release. What only the owner of the rows can answer is marked "open".
    """
    found = model_of(model)
    told = explained(explanation)
    receipts = [found.receipt_, *([told.receipt] if told is not None else [])]
    promise = Promise.of(receipts)
    made = (date or datetime.now(UTC)).replace(microsecond=0)
    data = found.to_dict()
    return {
        "dossier_format": FORMAT,
        "title": title or f"Private clusters ({found.kind})",
        "date": made.isoformat(),
        "sfumato": version("sfumato"),
        "command": command,
        "model": {
            "kind": found.kind,
            "method": found.receipt_.method,
            "clusters": _count(data),
            "sha256_of_canonical_json": digest_of(canonical(data)),
        },
        "guarantee": {
            "kind": "approximate" if promise.delta else "pure",
            "epsilon": str(promise.epsilon),
            "delta": str(promise.delta),
            "unit_of_privacy": promise.neighbours,
            "in_words": promise.sentences(),
            "not_promised": not_promised(promise.neighbours),
        },
        "bounds": bounds_of(found),
        "composition": {
            "rule": "Inside a fit pure ε, μ² of Gaussian noise and plain (ε, δ) are capped "
            "beforehand; the ε and δ of fits and explanations of the same rows add up.",
            "receipts": [receipt.to_dict() for receipt in receipts],
        },
        "ledger": ledger if ledger is not None else _ledger_of(found),
        "nist_sp_800_226": checklist(found, promise, has_ledger=bool(ledger)),
        "registry": entry(found, promise, title=title, date=made),
    }


def explained(explanation: Any) -> Any:  # noqa: ANN401
    """An explanation that belongs to a model, or None; what is none is refused."""
    if explanation is None:
        return None
    if not isinstance(getattr(explanation, "receipt", None), Receipt):
        raise TypeError(f"an Explanation is needed, got {type(explanation).__name__}")
    return explanation


def _count(data: dict[str, Any]) -> int:
    for name in ("cluster_sizes", "weights"):
        if name in data:
            return len(data[name])
    return 0


def _ledger_of(model: Any) -> dict[str, Any] | None:  # noqa: ANN401
    request = getattr(model, "request_", None)
    return None if request is None else {"request": request}


def bounds_of(model: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """What was declared of every column, and where that comes from."""
    schema = model.schema_
    if schema is not None:
        return [
            {
                "column": name,
                "declared": column.public(),
                "source": column.source or None,
                "takes_part": name in schema.features,
            }
            for name, column in schema.columns.items()
        ]
    private = any("bounds" in line.query for line in model.receipt_.lines)
    source = "estimated privately, with a part of ε: see the receipt" if private else None
    ends = zip(names_of(model), model.box_.lower, model.box_.upper, strict=True)
    return [
        {"column": name, "declared": f"{low:g} to {high:g}", "source": source, "takes_part": True}
        for name, low, high in ends
    ]

"""The dossier: what an officer needs to know about a release, for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from sfumato._accounting.receipt import Receipt
from sfumato._explaining import Explanation
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
    bounds_from: str | None = None,
    date: datetime | None = None,
) -> dict[str, Any]:
    """Everything that is known of a release, as plain values.

    `explanation` is an Explanation of the model, `ledger` the entry under which a ledger keeps the
    release, `bounds_from` a sentence on where bounds come from whose source is not declared
    elsewhere. What only the owner of the rows can answer is marked "open".
    """
    found = model_of(model)
    data = found.to_dict()
    told = Told.of(explanation, _count(data))
    receipts = [found.receipt_, *([told.receipt] if told is not None else [])]
    promise = Promise.of(receipts)
    made = (date or datetime.now(UTC)).replace(microsecond=0)
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
        "bounds": bounds_of(found, bounds_from or (ledger or {}).get("bounds_source")),
        "composition": {
            "rule": "Inside a fit pure ε, μ² of Gaussian noise and plain (ε, δ) are capped "
            "beforehand; the ε and δ of fits and explanations of the same rows add up.",
            "receipts": [receipt.to_dict() for receipt in receipts],
        },
        "explanation": None if told is None else list(told.sentences),
        "ledger": ledger if ledger is not None else _ledger_of(found),
        "nist_sp_800_226": checklist(found, promise, has_ledger=bool(ledger)),
        "registry": entry(found, promise, title=title, date=made),
    }


@dataclass(frozen=True)
class Told:
    """What a report says of an explanation: sentences of every cluster, and what it cost."""

    sentences: tuple[str, ...]
    left_out: tuple[str, ...]
    receipt: Receipt

    @classmethod
    def of(cls, explanation: Any, clusters: int) -> Told | None:  # noqa: ANN401
        """Read an `Explanation`, or what its `to_dict` returned, of a model of so many clusters."""
        if explanation is None or isinstance(explanation, Told):
            return explanation
        data = explanation.to_dict() if isinstance(explanation, Explanation) else explanation
        if not isinstance(data, Mapping):
            raise TypeError(f"an Explanation is needed, got {type(explanation).__name__}")
        try:
            sentences = tuple(" ".join(each["sentences"]) for each in data["clusters"])
            found = cls(sentences, tuple(data["left_out"]), Receipt.from_dict(data["receipt"]))
        except (LookupError, TypeError, ValueError, AttributeError):
            raise ValueError("this is no explanation, or a damaged one") from None
        if len(sentences) != clusters:
            raise ValueError(
                f"the explanation is of {len(sentences)} clusters, the model has {clusters}: it "
                "belongs to another model"
            )
        return found


def _count(data: dict[str, Any]) -> int:
    for name in ("cluster_sizes", "weights"):
        if name in data:
            return len(data[name])
    return 0


def _ledger_of(model: Any) -> dict[str, Any] | None:  # noqa: ANN401
    request = getattr(model, "request_", None)
    return None if request is None else {"request": request}


def bounds_of(model: Any, stated: str | None = None) -> list[dict[str, Any]]:  # noqa: ANN401
    """What was declared of every column, and where that comes from."""
    schema = model.schema_
    if schema is not None:
        return [
            {
                "column": name,
                "declared": column.public(),
                "source": column.source or stated or None,
                "takes_part": name in schema.features,
            }
            for name, column in schema.columns.items()
        ]
    private = any("bounds" in line.query for line in model.receipt_.lines)
    source = "estimated privately, with a part of ε: see the receipt" if private else stated
    ends = zip(names_of(model), model.box_.lower, model.box_.upper, strict=True)
    return [
        {
            "column": name,
            "declared": f"{low:g} to {high:g}",
            "source": source or None,
            "takes_part": True,
        }
        for name, low, high in ends
    ]

"""Points of NIST SP 800-226, with what the library answers and what its owner must answer."""

from __future__ import annotations

from typing import Any

from sfumato._accounting.guarantee import ONE_ROW
from sfumato._report.words import Promise

FOLLOWED = (
    "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees. Sections are "
    "numbered as in the initial public draft of December 2023, whose text was at hand. The final "
    "edition of March 2025 could not be looked up word for word: compare its numbering."
)


def checklist(model: Any, promise: Promise, *, has_ledger: bool) -> dict[str, Any]:  # noqa: ANN401
    """The points, each answered by the library or open to the owner of the rows."""
    points = [*_guarantee(promise), *_algorithm(model), *_deployment(has_ledger=has_ledger)]
    return {"followed": FOLLOWED, "points": points}


def _answered(section: str, question: str, answer: str) -> dict[str, str]:
    return {"section": section, "question": question, "status": "answered", "answer": answer}


def _open(section: str, question: str, hint: str) -> dict[str, str]:
    return {"section": section, "question": question, "status": "open", "answer": "", "hint": hint}


def _guarantee(promise: Promise) -> list[dict[str, str]]:
    row = promise.neighbours == ONE_ROW
    unit = (
        "One row. Whether a person has one row is for the owner to say."
        if row
        else f"{promise.neighbours}: all that is used of a person."
    )
    variant = "(ε, δ)" if promise.delta else "pure ε"
    return [
        _answered("2.1", "What is promised?", f"{promise.sentences()[0]} {promise.sentences()[1]}"),
        _answered("2.2", "What are the privacy parameters?", f"{promise.numbers}."),
        _open(
            "2.2",
            "Why is this ε acceptable for these people and this use?",
            "The beliefs before and after in the report help to decide it.",
        ),
        _answered(
            "2.3",
            "Which variant of differential privacy is it?",
            f"{variant}-differential privacy, where neighbours differ by adding or removing.",
        ),
        _answered("2.4", "What is the unit of privacy?", unit),
        _open(
            "2.4",
            "Does the unit protect a person with everything that person contributes?",
            "Yes only if a person is one row, or groups name each person once.",
        ),
        _answered(
            "2.5",
            "Can the guarantee be compared with others?",
            "By ε, δ and the unit together: the receipt states all three as exact numbers.",
        ),
        _open(
            "2.6",
            "Were other releases made of the same rows, with or without differential privacy?",
            "Their ε and δ add to these; releases without a guarantee void the comparison.",
        ),
    ]


def _algorithm(model: Any) -> list[dict[str, str]]:  # noqa: ANN401
    receipt = model.receipt_
    mechanisms = ", ".join(dict.fromkeys(line.mechanism for line in receipt.lines)) or "none"
    return [
        _answered(
            "3.1",
            "Which mechanisms are used, and is their sensitivity bounded?",
            f"{mechanisms}. Rows are clipped to public bounds and become integers first; every "
            "query has a proven sensitivity (docs/proofs of sfumato).",
        ),
        _open(
            "3.1",
            "Are the bounds and levels public, and not read from the rows?",
            "The table of bounds in the report says where each comes from, as far as it is stated.",
        ),
        _answered(
            "3.2",
            "How accurate is the result?",
            "The receipt states one deviation of the noise of every query, in the user's units.",
        ),
        _open(
            "3.2", "Is that accurate enough for the intended use?", "The intended use is not known."
        ),
        _answered(
            "3.3.3",
            "Is there statistical bias?",
            "Noise has mean 0. Clipping to bounds, denoising and clustering are not unbiased; small "
            "clusters may merge or vanish.",
        ),
        _open(
            "3.3.1",
            "Are small groups served worse, and does that matter (systemic bias)?",
            "Relative errors are largest for the smallest clusters.",
        ),
        _open("3.3.2", "Who interprets the clusters, and how (human bias)?", ""),
        _answered(
            "3.6",
            "If synthetic rows are drawn from it, are they covered?",
            "Yes: they are post-processing of the release and have its guarantee.",
        ),
    ]


def _deployment(*, has_ledger: bool) -> list[dict[str, str]]:
    budget = (
        "A ledger keeps what all releases of these rows spent together, and refuses more."
        if has_ledger
        else "This release is accounted for by itself. A ledger (sfumato ledger) adds up several."
    )
    return [
        _answered(
            "4.1",
            "How are queries asked?",
            "Not interactively: one fit, whose queries and caps are fixed before a row is read.",
        ),
        _answered("4.1", "How is the budget kept over several releases?", budget),
        _answered(
            "4.2.1",
            "What is the threat model?",
            "The central model: whoever holds the rows and runs the fit is trusted, readers of the "
            "release are not, whatever else they know.",
        ),
        _answered(
            "4.3",
            "Are floating-point and sampling attacks prevented?",
            "Rows and sums are integers, noise is integer noise from exact samplers with keys from "
            "the operating system; the distance to the ideal distributions is proven and stated.",
        ),
        _answered(
            "4.3",
            "Are timing and other side channels prevented?",
            "No. The time of a fit is not hidden; do not let untrusted people measure it.",
        ),
        _open(
            "4.4",
            "Who has access to the rows, and how are they secured?",
            "Differential privacy protects the release, not the rows where they are kept.",
        ),
        _open(
            "4.5",
            "How were the rows collected, was there consent, and are they deleted in time?",
            "",
        ),
    ]

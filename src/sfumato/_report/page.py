"""The report: one page of HTML with everything in it. No script, no request, no rows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sfumato._accounting.html import bar
from sfumato._base.markup import Markup, classed, element, escaped, fragment, joined, looks
from sfumato._report import sections
from sfumato._report.dossier import Told, dossier
from sfumato._report.seal import EMPTY, signed_page
from sfumato._report.words import Promise
from sfumato.plots._release import model_of
from sfumato.plots._view import view_of


def page(
    model: Any,  # noqa: ANN401
    *,
    explanation: Any = None,  # noqa: ANN401
    command: str | None = None,
    title: str | None = None,
    signature: Ed25519PrivateKey | None = None,
    ledger: dict[str, Any] | None = None,
    bounds_from: str | None = None,
    twin: dict[str, Any] | None = None,
) -> str:
    """Return a report of a fitted model as HTML: whole, for offline use.

    `signature` is the key to sign it with. The page holds its dossier as data: `twin`, if that was
    made already, else one of the other arguments, which are those of `dossier`.
    """
    found = model_of(model)
    view = view_of(found)
    told = Told.of(explanation, len(view))
    facts = twin or dossier(
        found,
        explanation=told,
        command=command,
        title=title,
        ledger=ledger,
        bounds_from=bounds_from,
    )
    receipts = [found.receipt_, *([told.receipt] if told is not None else [])]
    promise = Promise.of(receipts)
    inside = [
        sections.head(facts, promise, view),
        sections.guarantee(facts, promise),
        sections.clusters(found, view),
        sections.centers(found, view),
        sections.explained(told),
        sections.budget(receipts),
        sections.not_promised(facts),
        sections.bounds(facts),
        sections.how(facts, found),
        sections.checklist(facts),
        sections.checking(facts),
    ]
    return signed_page(_whole(facts, joined(inside)), signature)


def summary(model: Any) -> str:  # noqa: ANN401
    """What a notebook shows of a fitted model."""
    view = view_of(model)
    return fragment(
        element("h3", f"{type(model).__name__}: {len(view)} clusters"),
        element("p", Promise.of([model.receipt_]).sentences()[0]),
        sections.figure(model, view),
        sections.table_of_centers(model, view),
        bar(model.receipt_),
    )


def _whole(facts: dict[str, Any], inside: Markup) -> str:
    style = looks()
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    # What closes a script, or opens a comment, must not stand in it.
    data = re.sub("[<>&]", lambda m: f"\\u{ord(m[0]):04x}", json.dumps(facts, ensure_ascii=False))
    body = classed(
        "body", "sfumato page", element("main", inside, attributes={"id": "report"}), "\n"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"{EMPTY}\n<title>{escaped(facts['title'])}</title>\n<style>{style}</style>\n"
        f'<script type="application/json" id="dossier">{data}</script>\n</head>\n{body}\n</html>\n'
    )

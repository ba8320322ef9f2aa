"""The report: one page of HTML with everything in it. No script, no request, no rows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sfumato._accounting import html as receipts
from sfumato._base.markup import Markup, classed, element, escaped, fragment, joined, looks
from sfumato._report import sections
from sfumato._report.dossier import dossier, explained
from sfumato._report.seal import EMPTY, signed_page
from sfumato._report.words import Promise
from sfumato.plots._release import model_of
from sfumato.plots._view import view_of

_OWN = ".sfumato.page{margin:0}.page main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 4rem}@media print{.page main{max-width:none;padding:0}.page nav{display:none}figure,tr,blockquote{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible}}@page{margin:16mm}"


def page(
    model: Any,  # noqa: ANN401
    *,
    explanation: Any = None,  # noqa: ANN401
    command: str | None = None,
    title: str | None = None,
    signature: Ed25519PrivateKey | None = None,
    ledger: dict[str, Any] | None = None,
    date: datetime | None = None,
) -> str:
    """Return a report of a fitted model as HTML: whole, for offline use.

    `signature` is the key to sign it with. `explanation` and `ledger` are as in `dossier`, which
    the page holds as data as well.
    """
    found, told = model_of(model), explained(explanation)
    facts = dossier(found, explanation=told, command=command, title=title, ledger=ledger, date=date)
    view = view_of(found)
    promise = Promise.of([found.receipt_, *([told.receipt] if told is not None else [])])
    inside = joined(
        [
            sections.head(facts, promise, view),
            sections.guarantee(facts, promise),
            sections.clusters(found, view),
            sections.centers(found, view),
            sections.explained(told),
            sections.budget([found.receipt_, *([told.receipt] if told is not None else [])]),
            sections.not_promised(facts),
            sections.bounds(facts),
            sections.how(facts, found),
            sections.checking(facts),
        ]
    )
    return signed_page(_whole(facts, inside), signature)


def summary(model: Any) -> str:  # noqa: ANN401
    """What a notebook shows of a fitted model."""
    view = view_of(model)
    return fragment(
        element("h3", f"{type(model).__name__}: {len(view)} clusters"),
        element("p", Promise.of([model.receipt_]).sentences()[0]),
        sections.figure(model, view),
        sections.table_of_centers(model, view),
        receipts.bar(model.receipt_),
    )


def _whole(facts: dict[str, Any], inside: Markup) -> str:
    style = looks() + _OWN
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

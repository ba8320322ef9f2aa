"""The sections of a report, each from released numbers and public settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato._accounting import html as receipts
from sfumato._accounting.receipt import Receipt
from sfumato._accounting.text import sentences_of
from sfumato._base.markup import Markup, classed, element, joined, table
from sfumato._base.svg import SERIES
from sfumato._report import pictures
from sfumato._report.words import Promise
from sfumato._schema.words import number
from sfumato.plots._view import LEVEL, View, rows_in_words

_LINKS = {
    "guarantee": "Guarantee",
    "clusters": "Clusters",
    "centres": "Sizes and centres",
    "budget": "Budget",
    "limits": "What is not promised",
    "bounds": "Bounds",
    "how": "How it was made",
    "checking": "Checking it",
}
MOST_LINES, MOST_COLUMNS = 200, 24


def _section(name: str, *inside: object) -> Markup:
    heading = element("h2", _LINKS[name], attributes={"id": f"{name}-title"})
    return element(
        "section", heading, *inside, attributes={"id": name, "aria-labelledby": f"{name}-title"}
    )


def head(facts: dict[str, Any], promise: Promise, view: View) -> Markup:
    """Title, what this is, and links to the sections."""
    links = [element("a", title, attributes={"href": f"#{name}"}) for name, title in _LINKS.items()]
    nav = element(
        "nav", joined(Markup(f"{link} ") for link in links), attributes={"aria-label": "Sections"}
    )
    count = f"{len(view):,} cluster{'' if len(view) == 1 else 's'}"
    return element(
        "header",
        element("h1", facts["title"]),
        classed(
            "p",
            "soft",
            f"{count} by {facts['model']['method']}, released with {promise.numbers}. Report of "
            f"{facts['date'][:10]}, sfumato {facts['sfumato']}.",
        ),
        nav,
    )


def guarantee(facts: dict[str, Any], promise: Promise) -> Markup:
    """What is promised, to quote."""
    quote = element("blockquote", *(element("p", s) for s in promise.sentences()))
    beliefs = promise.beliefs()
    lines = table(
        ("belief before that it is in the data", "belief after, at most"),
        beliefs,
        caption="What a reader of this release can come to believe",
        numbers=[0, 1],
    )
    unit = element("p", f"Unit of privacy: {promise.unit}.")
    return _section("guarantee", quote, unit, lines if beliefs else "")


def figure(model: Any, view: View) -> Markup:  # noqa: ANN401
    """The picture of the clusters with what it shows."""
    if not len(view):
        return element("p", "No cluster stands out from the noise.")
    parts = ["Circles are centres, their area is the size."]
    flat = view.cube.shape[1] <= 2
    if flat and getattr(model, "synopsis_", None) is not None:
        parts.append("The shading is the released noisy density.")
    if flat and view.errors is not None:
        parts.append(f"Ellipses are where a centre lies with a probability of {LEVEL:.0%}.")
    if hasattr(model, "covariances_"):
        parts.append("Dashed ellipses are two deviations of a component.")
    if not flat:
        parts.append("Both directions are those in which the released centres differ most.")
    caption = element("figcaption", " ".join(parts))
    return element("figure", pictures.clusters(model, view), caption)


def clusters(model: Any, view: View) -> Markup:  # noqa: ANN401
    """Where the clusters lie."""
    heat = ""
    if view.cube.shape[1] > 2 and len(view):
        heat = element(
            "figure",
            pictures.columns(view),
            element("figcaption", "Centres by column: the darker, the nearer to the upper bound."),
        )
    return _section("clusters", figure(model, view), heat)


def centers(model: Any, view: View) -> Markup:  # noqa: ANN401
    """Sizes as bars, and a table of all centres."""
    if not len(view):
        return _section("centres", element("p", "There is none."))
    return _section(
        "centres", element("figure", pictures.sizes(view)), table_of_centers(model, view)
    )


def table_of_centers(model: Any, view: View) -> Markup:  # noqa: ANN401
    """Sizes and centres in the user's units, with ± where the noise is known."""
    names, lines = rows_in_words(model, view)
    errors = _errors(model, view)
    rows = []
    for i, cells in enumerate(lines[:MOST_LINES]):
        key = classed("span", f"key f{i % SERIES}")
        said = [
            f"{cell}{errors[i][j]}" if errors else cell
            for j, cell in enumerate(cells[:MOST_COLUMNS])
        ]
        rows.append([Markup(f"{key} {i}"), _size(view, i), *said])
    titles = ["cluster", view.unit, *names[:MOST_COLUMNS]]
    level = f" ± is an interval of {LEVEL:.0%}." if errors or view.size_errors is not None else ""
    more = {"clusters": len(lines) - MOST_LINES, "columns": len(names) - MOST_COLUMNS}
    hidden = " and ".join(f"{n:,} more {what}" for what, n in more.items() if n > 0)
    caption = f"Centres of the clusters.{level}"
    if hidden:
        caption += f" {hidden} are in the model file."
    return table(titles, rows, caption=caption, numbers=range(1, len(titles)))


def _size(view: View, i: int) -> str:
    share = view.unit.startswith("share")
    said = f"{view.sizes[i]:.1%}" if share else f"{view.sizes[i]:,.0f}"
    if view.size_errors is None:
        return said
    half = float(view.size_errors[i, 1] - view.size_errors[i, 0]) / 2
    return f"{said} ± {half:.1%}" if share else f"{said} ± {half:,.0f}"


def _errors(model: Any, view: View) -> list[list[str]]:  # noqa: ANN401
    """Half the interval of every number of a centre, in words; none with a schema of levels."""
    if view.errors is None or model.schema_ is not None:
        return []
    half = (view.errors[:, :, 1] - view.errors[:, :, 0]) / 2
    ends = zip(view.lower.tolist(), view.upper.tolist(), strict=True)
    pairs = list(ends)
    return [
        [f" ± {number(x, *pair)}" for x, pair in zip(line, pairs, strict=True)]
        for line in np.nan_to_num(half).tolist()
    ]


def explained(told: Any) -> Markup:  # noqa: ANN401
    """What each cluster is like, where that was paid for."""
    if told is None:
        return Markup("")
    items = [element("li", " ".join(told.sentences(i))) for i in range(len(told.sizes))]
    left = ", ".join(told.left_out)
    return element(
        "section",
        element("h2", "What each cluster is like", attributes={"id": "explained-title"}),
        element("ul", *items),
        element("p", f"Not counted: {left}.") if left else "",
        attributes={"id": "explained", "aria-labelledby": "explained-title"},
    )


def budget(spent: Sequence[Receipt]) -> Markup:
    """Where the budget went: a bar and a table for each receipt."""
    parts: list[Markup] = []
    for receipt in spent:
        if len(spent) > 1:
            parts.append(element("h3", f"{receipt.method}: ε = {receipt.epsilon:.6g}"))
        parts.append(element("figure", receipts.bar(receipt)))
        parts.append(receipts.queries(receipt))
        parts.append(element("ul", *(element("li", s) for s in sentences_of(receipt))))
    return _section("budget", *parts)


def not_promised(facts: dict[str, Any]) -> Markup:
    """What the guarantee does not say."""
    said = facts["guarantee"]["not_promised"]
    return _section("limits", element("ul", *(element("li", s) for s in said)))


def bounds(facts: dict[str, Any]) -> Markup:
    """What was declared of every column, and where that comes from."""
    open_ = classed("span", "open", "not stated: the owner must answer")
    lines = [
        (
            each["column"],
            each["declared"] + ("" if each["takes_part"] else " (took no part in the fit)"),
            each["source"] or open_,
        )
        for each in facts["bounds"][:MOST_LINES]
    ]
    more = len(facts["bounds"]) - MOST_LINES
    note = element("p", f"{more:,} more columns are in the dossier.") if more > 0 else ""
    why = element(
        "p",
        "Bounds and levels are public facts, known without the rows. What lies outside is clipped.",
    )
    titles = ("column", "declared", "where that comes from")
    return _section("bounds", why, table(titles, lines, caption="Declared facts"), note)


def how(facts: dict[str, Any], model: Any) -> Markup:  # noqa: ANN401
    """The command, the settings, and the digest of the model."""
    command = facts["command"]
    made = element("pre", element("code", command)) if command else ""
    settings = {
        "kind of model": facts["model"]["kind"],
        "method": facts["model"]["method"],
        "ε, δ asked for": f"{model.epsilon:g}, {model.delta:g}",
        "sfumato": facts["sfumato"],
        "date of this report": facts["date"],
        "SHA-256 of the model": facts["model"]["sha256_of_canonical_json"],
    }
    if facts["ledger"]:
        settings["ledger"] = ", ".join(f"{k} {v}" for k, v in facts["ledger"].items())
    pairs = [
        Markup(f"{element('dt', name)}{element('dd', value)}") for name, value in settings.items()
    ]
    return _section("how", made, element("dl", *pairs))


def checking(facts: dict[str, Any]) -> Markup:
    """How to check this page, and what remains to be answered."""
    said = element(
        "p",
        "This page holds its dossier as data. ",
        element("code", "sfumato verify report.html --key public.pem"),
        " checks its signature, its digest and that the costs of the queries add up to the claim, "
        "without a network. It cannot check that the rows, the bounds and the machine were what "
        "the owner says.",
    )
    return _section("checking", said)

"""The sections of a report, each from released numbers and public settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato._accounting import html as receipts
from sfumato._accounting.receipt import Receipt
from sfumato._accounting.text import sentences_of
from sfumato._base.markup import Markup, classed, element, escaped, joined, table
from sfumato._base.svg import SERIES
from sfumato._base.types import Floats
from sfumato._report import pictures
from sfumato._report.words import Promise
from sfumato.plots._view import (
    LEVEL,
    MOST_CLUSTERS,
    MOST_NUMBERS,
    View,
    error_radii,
    plane_of,
    rows_in_words,
    with_error,
)

_LINKS = {
    "guarantee": "Guarantee",
    "clusters": "Clusters",
    "centres": "Sizes and centres",
    "budget": "Budget",
    "limits": "What is not promised",
    "bounds": "Bounds",
    "how": "How it was made",
    "checklist": "Checklist",
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
    beliefs = promise.beliefs()
    lines = table(
        ("belief before", "belief after, at most"),
        beliefs,
        caption=f"What a reader of this release can come to believe: that {promise.member} is in "
        "the data",
        numbers=[0, 1],
    )
    unit = element("p", f"Unit of privacy: {promise.unit}.")
    return _section("guarantee", promise.quoted(), unit, lines if beliefs else "")


def figure(model: Any, view: View) -> Markup:  # noqa: ANN401
    """The picture of the clusters with what it shows."""
    if not len(view):
        return element("p", "No cluster stands out from the noise.")
    plane, errors = plane_of(view), error_radii(view)
    parts = ["Circles are centres, their area is the size."]
    if plane.of_columns and getattr(model, "synopsis_", None) is not None:
        parts.append("The shading is the released noisy density.")
    oval = "Lines" if view.cube.shape[1] == 1 else "Ellipses"
    if errors is not None:
        parts.append(
            f"{oval} are where a centre lies with a probability of {LEVEL:.0%}; those smaller "
            "than a circle are hidden by it."
        )
    if hasattr(model, "cell_labels_") and view.cube.shape[1] == 2:
        parts.append("Coloured cells are the regions of the clusters.")
    if hasattr(model, "covariances_"):
        parts.append(f"Dashed {oval.lower()} are two deviations of a component.")
    if not plane.of_columns:
        parts.append("Both directions are those in which the released centres differ most.")
    if len(view) > MOST_NUMBERS:
        parts.append("The numbers of the clusters are in the table.")
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
    most = MOST_CLUSTERS
    some = f"The largest {most} of {len(view):,} clusters." if len(view) > most else ""
    drawn = element("figure", pictures.sizes(view), element("figcaption", some) if some else "")
    return _section("centres", drawn, table_of_centers(model, view))


def table_of_centers(model: Any, view: View) -> Markup:  # noqa: ANN401
    """Sizes and centres in the user's units, with ± where the noise is known."""
    names, lines = rows_in_words(model, view)
    if view.errors is not None and model.schema_ is None:
        lines = _with_errors(view, view.errors)
    rows = []
    for i, cells in enumerate(lines[:MOST_LINES]):
        key = classed("span", f"key f{i % SERIES}")
        rows.append([Markup(f"{key} {i}"), _size(view, i), *cells[:MOST_COLUMNS]])
    titles = ["cluster", view.unit, *names[:MOST_COLUMNS]]
    known = view.errors is not None or view.size_errors is not None
    level = f" ± is an interval of {LEVEL:.0%}." if known else ""
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


def _with_errors(view: View, errors: Floats) -> list[list[str]]:
    """Centres with half the interval of every number."""
    ends = list(zip(view.lower.tolist(), view.upper.tolist(), strict=True))
    halves = np.nan_to_num(errors[:, :, 1] - errors[:, :, 0]) / 2
    return [
        [with_error(x, half, *end) for x, half, end in zip(found, apart, ends, strict=True)]
        for found, apart in zip(view.centers.tolist(), halves.tolist(), strict=True)
    ]


def explained(told: Any) -> Markup:  # noqa: ANN401
    """What each cluster is like, where that was paid for."""
    if told is None:
        return Markup("")
    items = [element("li", said) for said in told.sentences]
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
        parts.append(element("ul", *(element("li", s) for s in _notes(receipt))))
    return _section("budget", *parts)


def _notes(receipt: Receipt) -> list[str]:
    """What a receipt says beside its numbers, but for what the table of centres has."""
    said = sentences_of(replace(receipt, centers=()))
    plain = [each.removeprefix("Note: ") for each in said if not each.startswith("Promise:")]
    return [each[:1].upper() + each[1:] for each in plain]


def not_promised(facts: dict[str, Any]) -> Markup:
    """What the guarantee does not say."""
    said = facts["guarantee"]["not_promised"]
    return _section("limits", element("ul", *(element("li", s) for s in said)))


def bounds(facts: dict[str, Any]) -> Markup:
    """What was declared of every column, and where that comes from."""
    open_ = classed("span", "open", "Not stated: the owner must answer.")
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
    written = element("p", "The command that wrote this page:")
    # Each word by itself: a line may end between words, not after the hyphens of an option.
    words = (Markup(f"{element('span', word)} ") for word in (command or "").split(" "))
    made = joined([written, element("pre", element("code", *words))]) if command else ""
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


def checklist(facts: dict[str, Any]) -> Markup:
    """The points of NIST SP 800-226: what is answered, and what the owner must answer."""
    points = facts["nist_sp_800_226"]["points"]
    lines = [(each["question"], _answer(each), each["section"]) for each in points]
    count = sum(each["status"] == "open" for each in points)
    why = f"{facts['nist_sp_800_226']['followed']} {count} of {len(points)} points are open."
    caption = "Points of NIST SP 800-226"
    listed = table(("question", "answer", "section"), lines, caption=caption)
    return _section("checklist", element("p", why), listed)


def _answer(point: dict[str, str]) -> Markup:
    if point["status"] != "open":
        return escaped(point["answer"])
    hint = f" {point['hint']}" if point["hint"] else ""
    return joined([classed("span", "open", "The owner must answer."), hint])


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

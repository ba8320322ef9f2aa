"""`sfumato demo`: invented people, private centres, and what that means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from sfumato._base.types import Floats
from sfumato._lattice.box import Box
from sfumato._private_kmeans import PrivateKMeans
from sfumato.cli import _options as o
from sfumato.cli._app import print_json
from sfumato.cli._inputs import check_output
from sfumato.cli._report import write_report
from sfumato.cli._show import console, print_receipt, shown

WIDTH, HEIGHT = 60, 20
_SHADES, _ASCII_SHADES = " ·░▒▓█", " .:+#@"
_FRAME, _ASCII_FRAME = "│└─", "|+-"


def picture(points: Floats, centers: Floats, box: Box, *, ascii_only: bool = False) -> Text:
    """Draw points, of shape (n, 2), as shades, and each of the centres, (k, 2), as its number."""
    shades = _ASCII_SHADES if ascii_only else _SHADES
    side, corner, bottom = tuple(_ASCII_FRAME if ascii_only else _FRAME)
    lower, upper = np.array(box.lower), np.array(box.upper)
    counts, _, _ = np.histogram2d(
        points[:, 0], points[:, 1], (WIDTH, HEIGHT), list(zip(lower, upper, strict=True))
    )
    # Square roots: the thin edges of a cloud stay visible.
    depth = np.sqrt(counts / max(counts.max(), 1.0)) * (len(shades) - 1)
    cells = np.array(list(shades))[np.ceil(depth).astype(int)]
    places = np.clip(
        (centers - lower) / (upper - lower) * (WIDTH, HEIGHT), 0, (WIDTH - 1, HEIGHT - 1)
    )
    marks = {(int(x), int(y)): str(i) for i, (x, y) in enumerate(places)}
    text = Text()
    for y in reversed(range(HEIGHT)):
        text.append(f"  {side}", style="dim")
        for x in range(WIDTH):
            mark = marks.get((x, y))
            text.append(mark or cells[x, y], style="bold black on yellow" if mark else "cyan")
        text.append("\n")
    return text.append(f"  {corner}" + bottom * WIDTH, style="dim")


_BOX = Box((3.0, 0.0), (11.0, 10.0))
_NAMES = ("hours of sleep", "cups of coffee")
# Average sleep and coffee of five kinds of people, and how many of them there are.
_KINDS = ((5.0, 8.0, 800), (9.0, 7.5, 900), (7.0, 4.9, 1200), (4.9, 2.0, 1000), (9.2, 1.8, 1100))
_MEANING = """
What this means: each of these people can deny having been there. With them or
without them, the centres and noisy sizes above were at most e ≈ 2.7 times as
likely. Run it again: the people are the same, the noise is new (and with real
people it would cost another ε = 1).

With rows of your own, and bounds that you know without looking at them:
  sfumato fit data.csv -k 5 --epsilon 1 --header --bounds 0,100 -o model.json"""
_SEE = "The same as a page for the browser: sfumato demo --report report.html"


def run(request: o.Demo) -> None:
    """Invent people, fit, and show the result."""
    report = request.report
    if report is not None:
        check_output(report, force=request.force)
    rng = np.random.default_rng(5)
    clouds = [rng.normal((x, y), (0.5, 0.65), (n, 2)) for x, y, n in _KINDS]
    people = np.clip(np.concatenate(clouds), _BOX.lower, _BOX.upper)
    model = PrivateKMeans(
        n_clusters=len(_KINDS), epsilon=1.0, bounds=(_BOX.lower, _BOX.upper), random_state=0
    )
    model.fit(people)
    if request.as_json:
        print_json(shown(model))
    else:
        _show(model, people, report)
    if report is not None:
        model.feature_names_in_ = np.array(_NAMES, dtype=object)
        write_report(model, report, title="Sleep and coffee of invented people")


def _show(model: PrivateKMeans, people: Floats, report: Path | None) -> None:
    """Print a fit of people (n, 2), and what it means."""
    out = console()
    ascii_only = out.options.ascii_only
    out.print(f"{len(people):,} invented people, by {_NAMES[0]} (across) and {_NAMES[1]} (up):\n")
    out.print(picture(people, model.cluster_centers_, _BOX, ascii_only=ascii_only))
    out.print("\nThe shades are the people. The digits are the private centres, and all that is")
    out.print(
        "released. Next to each, the exact numbers, which are known for invented people only:"
    )
    out.print(_comparison(model, people))
    print_receipt(out, model.receipt_)
    out.print(_MEANING)
    out.print(f"\n{_SEE if report is None else f'The same as a page: {report}'}", soft_wrap=True)


def _comparison(model: PrivateKMeans, people: Floats) -> Table:
    """The private centres next to exact averages. people: (n, 2)."""
    labels = model.predict(people)
    table = Table(box=SIMPLE)
    for title in ("", "sleep", "coffee", "noisy size", "exact average", "exact size"):
        table.add_column(title, justify="right")
    for i, (center, size) in enumerate(
        zip(model.cluster_centers_, model.cluster_sizes_, strict=True)
    ):
        mine = people[labels == i]
        exact = ", ".join(f"{x:.2f}" for x in mine.mean(axis=0)) if len(mine) else "no rows"
        table.add_row(
            str(i), *(f"{x:.2f}" for x in center), f"{size:,.0f}", exact, f"{len(mine):,}"
        )
    return table

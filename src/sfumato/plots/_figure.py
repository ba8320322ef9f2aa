"""Plotly figures: how they look, and how they are written for papers."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato._base import extra
from sfumato._base.files import atomic_path
from sfumato._base.svg import shortened

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#555555")
"""Told apart by the colour-blind as well (Okabe and Ito 2008, yellow made darker)."""

DENSITY = [[0, "rgba(86,140,190,0)"], [0.3, "rgba(86,140,190,0.35)"], [1, "rgba(9,52,92,0.9)"]]
"""From nothing to dense."""

FORMATS = (".svg", ".png", ".pdf")


def graph_objects() -> Any:  # noqa: ANN401
    """Plotly, which is an extra."""
    try:
        import plotly.graph_objects as found
    except ImportError:
        raise ImportError(f"figures need plotly: {extra('report')}") from None
    return found


def plain(text: str, most: int = 72) -> str:
    """A name of a user for a figure: Plotly reads tags in texts, and these are none."""
    return html.escape(shortened(text, most), quote=False)


def figure_of(traces: Any, *, title: str, x: str = "", y: str = "") -> Any:  # noqa: ANN401
    """A figure of these traces, in our looks."""
    figure = graph_objects().Figure(list(traces))
    figure.update_layout(
        title={"text": title, "x": 0.02, "font": {"size": 16}},
        xaxis_title=x,
        yaxis_title=y,
        template="plotly_white",
        colorway=list(COLOURS),
        margin={"l": 70, "r": 30, "t": 60, "b": 60},
        legend={"bgcolor": "rgba(255,255,255,0.6)"},
    )
    return figure


def label_axis(update: Any, ticks: Sequence[tuple[float, str]]) -> None:  # noqa: ANN401
    """Show the cube from −1 to 1 on an axis, with ticks in the user's units if there are any."""
    values, labels = [place for place, _ in ticks], [said for _, said in ticks]
    update(range=[-1.05, 1.05], tickvals=values, ticktext=labels)


def save(figure: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401
    """Write a figure for a paper: .svg, .png or .pdf, by the ending of the name.

    It needs the package kaleido and an installed Chromium or Chrome, which draws it; nothing is
    fetched. A figure can be written as a web page without them: `figure.write_html(path)`.
    """
    target = Path(path)
    if not hasattr(figure, "to_image"):
        raise TypeError(f"a Plotly figure is needed, got {type(figure).__name__}")
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"the name must end in {', '.join(FORMATS)}, got {target.name!r}")
    try:
        image = figure.to_image(format=target.suffix[1:].lower(), scale=2)
    except Exception as error:
        raise RuntimeError(
            f"{target.name} could not be drawn: it needs the package kaleido (pip install kaleido) "
            "and an installed Chromium or Chrome. figure.write_html needs neither"
        ) from error
    with atomic_path(target) as place:
        place.write_bytes(image)

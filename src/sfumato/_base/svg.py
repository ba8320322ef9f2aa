"""Pictures as inline SVG: no script, colours by the classes of the style sheet, a text for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sfumato._base.markup import Markup, element, joined
from sfumato._base.types import Floats

SERIES = 8
"""Colours that can be told apart: classes s0 … s7."""


def place(value: float) -> str:
    """A coordinate in tenths of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def shortened(text: str, most: int) -> str:
    """A name in at most so many characters: its start and its end, which tell names apart."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def picture(width: float, height: float, label: str, *parts: object) -> Markup:
    """A picture of a width and a height, which a screen reader reads as its label."""
    return element(
        "svg",
        element("title", label),
        *parts,
        attributes={
            "viewBox": f"0 0 {place(width)} {place(height)}",
            "role": "img",
            "aria-label": label,
            "class": "picture",
            "width": place(width),
            "height": place(height),
        },
    )


def rect(x: float, y: float, width: float, height: float, class_: str, *inside: object) -> Markup:
    """A rectangle; what is inside may be a title."""
    where = {"x": place(x), "y": place(y)}
    size = {"width": place(max(width, 0)), "height": place(max(height, 0))}
    return element("rect", *inside, attributes={**where, **size, "class": class_})


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A line."""
    ends = {"x1": place(x1), "y1": place(y1), "x2": place(x2), "y2": place(y2)}
    return element("line", attributes={**ends, "class": class_})


def circle(x: float, y: float, radius: float, class_: str, *inside: object) -> Markup:
    """A circle."""
    where = {"cx": place(x), "cy": place(y), "r": place(radius)}
    return element("circle", *inside, attributes={**where, "class": class_})


def path(points: Iterable[Sequence[float]], class_: str) -> Markup:
    """A closed line through points."""
    steps = " L".join(f"{place(x)} {place(y)}" for x, y in points)
    return element("path", attributes={"d": f"M{steps}Z", "class": class_})


def text(x: float, y: float, said: object, class_: str = "", anchor: str = "start") -> Markup:
    """A text that starts, ends or has its middle at a place."""
    where = {"x": place(x), "y": place(y), "text-anchor": anchor}
    return element("text", said, attributes={**where, "class": class_ or None})


def shades(values: Floats, width: float, height: float, steps: int = 9) -> Markup:
    """Numbers (rows, columns) of at least 0 as shades d1 … d9; the first row is lowest.

    Neighbours in a row of one shade are one rectangle.
    """
    rows, columns = values.shape
    largest = float(values.max(initial=0.0))
    if largest <= 0:
        return Markup("")
    # Square roots: the thin edges of a cloud stay visible.
    depth = np.ceil(np.sqrt(values / largest) * steps).astype(int)
    found = []
    for i in range(rows):
        starts = np.flatnonzero(np.diff(depth[i], prepend=-1))
        for start, stop in zip(starts, [*starts[1:], columns], strict=True):
            if depth[i, start]:
                x, y = start * width / columns, height - (i + 1) * height / rows
                wide = (stop - start) * width / columns
                found.append(rect(x, y, wide, height / rows, f"d{depth[i, start]}"))
    looks = {"class": "shades", "shape-rendering": "crispEdges"}
    return element("g", joined(found), attributes=looks)

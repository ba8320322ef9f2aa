"""A synopsis as a picture: noisy rows per pixel, axes in the user's units, a notebook's view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato._base.markup import Markup, classed, element, fragment
from sfumato._base.svg import line, picture, place, rect, shades, shortened, text
from sfumato._base.types import Floats
from sfumato._lattice.box import Box
from sfumato._schema.kinds import Linear
from sfumato._schema.schema import Schema
from sfumato._schema.words import in_words, number

if TYPE_CHECKING:
    from sfumato._synopsis import Synopsis

Tick = tuple[float, str]

SIDE, STRIP = 520, 130
"""Height of a picture in pixels: of two columns, and of one. Its width is SIDE."""

LEFT, TOP, BELOW, RIGHT = 100, 8, 52, 28
_BLOCK = 4096


def raster(synopsis: Synopsis, size: int = 64) -> Floats:
    """Noisy rows per pixel of a picture of the first two columns, (size, size), at least 0.

    The second column runs along the first axis, lowest first. With one column it is (1, size).
    """
    layout = synopsis.layout
    edges = np.linspace(-1, 1, size + 1)
    found = np.zeros((size if layout.n_features > 1 else 1, size))
    for start in range(0, len(synopsis), _BLOCK):
        stop = min(start + _BLOCK, len(synopsis))
        middles = layout[start:stop]
        widths = layout.widths if len(layout.widths) == 1 else layout.widths[start:stop]
        parts = [
            _shares(middles[:, [i]], widths[:, [i]], edges) for i in range(min(2, middles.shape[1]))
        ]
        weights = synopsis.weights[start:stop, None]
        if len(parts) == 1:
            found[0] += (parts[0] * weights).sum(axis=0)
        else:
            found += parts[1].T @ (parts[0] * weights)
    return np.maximum(found, 0)


def _shares(middles: Floats, widths: Floats, edges: Floats) -> Floats:
    """Which part of every cell (n, 1) lies in every pixel, (n, size)."""
    low, high = middles - widths / 2, middles + widths / 2
    inside = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
    shares: Floats = np.maximum(inside, 0) / widths
    return shares


def ticks_of(box: Box, schema: Schema | None, axis: int) -> list[Tick]:
    """Places in the cube, from −1 to 1, of five ticks of a column, with labels in its units."""
    places = np.linspace(-1, 1, 5)
    if schema is None:
        low, high = box.lower[axis], box.upper[axis]
        return [(float(c), number(low + (c + 1) / 2 * (high - low), low, high)) for c in places]
    for name, where in schema.places.items():
        column = schema.columns[name]
        if where == slice(axis, axis + 1) and isinstance(column, Linear):
            decoded = column.decoded(places[:, None])
            labels = [in_words(column, column.in_words(each)) for each in decoded]
            return [
                (float(c) * column.weight, said) for c, said in zip(places, labels, strict=True)
            ]
    return []


def flat(
    label: str,
    *inside: object,
    titles: tuple[str, str],
    ticks: tuple[Sequence[Tick], Sequence[Tick]] = ((), ()),
    above: Sequence[Markup] = (),
    high: int = SIDE,
) -> Markup:
    """A picture with two axes: what is inside is cut off at the frame, what is above is not."""
    window = {"x": LEFT, "y": TOP, "width": SIDE, "height": high, "overflow": "hidden"}
    middle = place(TOP + high / 2)
    up = {
        "transform": f"translate(14 {middle}) rotate(-90)",
        "text-anchor": "middle",
        "class": "label",
    }
    parts = [
        element("svg", *inside, attributes=window),
        rect(LEFT, TOP, SIDE, high, "frame"),
        element("g", *above, attributes={"transform": f"translate({LEFT} {TOP})"}),
        text(LEFT + SIDE / 2, high + BELOW, shortened(titles[0], 70), "label", "middle"),
        element("text", shortened(titles[1], 70 * high // SIDE), attributes=up),
    ]
    for c, said in ticks[0]:
        x = LEFT + (c + 1) / 2 * SIDE
        parts += [line(x, TOP + high, x, TOP + high + 5, "axis")]
        parts += [text(x, TOP + high + 20, shortened(said, 14), "label", "middle")]
    for c, said in ticks[1]:
        y = TOP + (1 - c) / 2 * high
        parts += [line(LEFT - 5, y, LEFT, y, "axis")]
        parts += [text(LEFT - 9, y + 4, shortened(said, 11), "label", "end")]
    return picture(LEFT + SIDE + RIGHT, TOP + high + BELOW, label, *parts)


def titles_of(synopsis: Synopsis) -> list[str]:
    """The names of the coordinates; without a schema, their positions."""
    if synopsis.schema:
        return list(synopsis.schema.coordinate_names)
    return [f"column {i}" for i in range(synopsis.box.n_features)]


def shown(synopsis: Synopsis) -> str:
    """A synopsis for a notebook: its first two columns as a density."""
    d = synopsis.box.n_features
    titles = [*titles_of(synopsis), ""]
    ticks = [ticks_of(synopsis.box, synopsis.schema, i) for i in range(min(d, 2))]
    rest = f", the other {d - 2:,} columns summed" if d > 2 else ""
    said = f"{len(synopsis):,} noisy counts, ± {synopsis.noise_std:.3g} rows each"
    high = SIDE if d > 1 else STRIP
    drawn = flat(
        f"Noisy density by {titles[0]}" + (f" and {titles[1]}" if d > 1 else ""),
        shades(raster(synopsis), SIDE, high),
        titles=(titles[0], titles[1]),
        ticks=(ticks[0], ticks[1] if d > 1 else ()),
        high=high,
    )
    caption = classed("p", "soft", f"{said}{rest}. To cluster it again costs nothing.")
    return fragment(element("h3", "Synopsis"), drawn, caption)

"""A small picture of points in a terminal: shades for many, digits for centres."""

from __future__ import annotations

import numpy as np
from rich.text import Text

from sfumato.box import Box, Floats

WIDTH, HEIGHT = 60, 20
_SHADES = " ·░▒▓█"


def picture(points: Floats, centers: Floats, box: Box) -> Text:
    """Draw two-dimensional points as smoke and each centre as its number."""
    lower, upper = np.array(box.lower), np.array(box.upper)
    counts, _, _ = np.histogram2d(
        points[:, 0], points[:, 1], (WIDTH, HEIGHT), list(zip(lower, upper, strict=True))
    )
    # Square roots: the thin edges of a cloud stay visible beside its core.
    depth = np.sqrt(counts / max(counts.max(), 1.0)) * (len(_SHADES) - 1)
    cells = np.array(list(_SHADES))[np.ceil(depth).astype(int)]
    places = np.clip(
        (centers - lower) / (upper - lower) * (WIDTH, HEIGHT), 0, (WIDTH - 1, HEIGHT - 1)
    )
    marks = {(int(x), int(y)): str(i) for i, (x, y) in enumerate(places)}
    text = Text()
    for y in reversed(range(HEIGHT)):
        text.append("  │", style="dim")
        for x in range(WIDTH):
            mark = marks.get((x, y))
            text.append(mark or cells[x, y], style="bold black on yellow" if mark else "cyan")
        text.append("\n")
    return text.append("  └" + "─" * WIDTH, style="dim")

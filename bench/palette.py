"""One set of colours for every figure: Okabe and Ito's, told apart by the colour-blind as well.

Lines also differ in their marks, so that a figure can be read in grey.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#777777"
# Of Tol's muted colours, for figures with more lines than Okabe and Ito have colours.
OLIVE, WINE, FOREST = "#999933", "#882255", "#117733"
# Yellow is last: on white it is hard to see.
PALETTE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY, YELLOW)
MARKS = "osD^vP*X<>hd"
DASHES = ("-", "--", "-.", ":")


def style(number: int) -> dict[str, Any]:
    """Colour, mark and dashes of the line with this number: no two of the first 36 are alike."""
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKS[number % len(MARKS)],
        "linestyle": DASHES[number // len(PALETTE) % len(DASHES)],
    }


def save(figure: Any, path: Path, *, colours: int = 128, dpi: int = 110) -> None:
    """Write a figure, with everything that belongs to it inside, as a small PNG."""
    from io import BytesIO

    from matplotlib import pyplot as plt
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    written = BytesIO()
    figure.savefig(written, dpi=dpi, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    picture = Image.open(written).convert("RGB")
    picture.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)

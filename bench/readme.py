"""The picture of the README: invented rows, and what one fit with ε = 1 releases about them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import matplotlib.patheffects
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray
from PIL import Image

from sfumato import PrivateKMeans, Synopsis

mpl.use("Agg")

Floats = NDArray[np.float64]

PATH = Path(__file__).parents[1] / "docs" / "figures" / "readme.png"
BOUNDS = (0.0, 100.0)
K, N = 15, 20_000
COLOURS = LinearSegmentedColormap.from_list("counts", ["#ffffff", "#9fc5e0", "#2b6a9b", "#0b2a45"])


def rows(rng: np.random.Generator) -> Floats:
    """Return the invented rows: 15 round clusters of unlike size, of shape (N, 2)."""
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)[:K]
    centers = 14 + 24 * grid + rng.uniform(-6, 6, (K, 2))
    of = rng.choice(K, N, p=rng.dirichlet(np.full(K, 8.0)))
    return np.clip(centers[of] + rng.normal(0, 3.0, (N, 2)), *BOUNDS)


def corners(synopsis: Synopsis) -> Floats:
    """Return the four corners of every released cell: (cells, 4, 2), in the units of the rows."""
    half = np.broadcast_to(synopsis.widths, synopsis.cells.shape) / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return synopsis.cells[:, np.newaxis] + half[:, np.newaxis] * signs


def density(synopsis: Synopsis) -> Floats:
    """Return the noisy number of rows per unit area of every cell, at least 0: (cells,)."""
    area = np.broadcast_to(synopsis.widths, synopsis.cells.shape).prod(axis=1)
    return np.maximum(synopsis.weights, 0) / area


def _released(axis: Axes, model: PrivateKMeans) -> None:
    synopsis = model.synopsis_
    shade = density(synopsis)
    cells = PolyCollection(list(corners(synopsis)), cmap=COLOURS, edgecolor="#d5dde5", lw=0.25)
    cells.set_array(shade)
    cells.set_clim(0, float(np.quantile(shade, 0.995)))
    axis.add_collection(cells)
    sizes = np.maximum(model.cluster_sizes_, 0)
    x, y = model.cluster_centers_.T
    axis.scatter(x, y, 900 * sizes / sizes.max(), facecolor="none", edgecolor="#d1491b", lw=1.6)
    axis.scatter(x, y, 14, color="#d1491b")
    for place, size in zip(model.cluster_centers_, sizes, strict=True):
        axis.annotate(
            f"{size:,.0f}",
            place,
            (0, -24),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color="#8a2c0d",
            path_effects=[mpl.patheffects.withStroke(linewidth=2.5, foreground="white")],
        )


def draw(path: Path) -> None:
    """Fit once and draw the rows beside the release."""
    table = rows(np.random.default_rng(7))
    model = PrivateKMeans(K, epsilon=1.0, bounds=BOUNDS, random_state=0).fit(table)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.9), layout="constrained")
    left.scatter(*table.T, 1, color="#333333", alpha=0.35, linewidths=0)
    left.set_title(f"{N:,} invented rows: private", fontsize=11)
    _released(right, model)
    cells = len(model.synopsis_)
    right.set_title(f"released, ε = 1: {cells} noisy counts, {K} centres, sizes", fontsize=11)
    for axis in (left, right):
        axis.set(xlim=BOUNDS, ylim=BOUNDS, aspect="equal", xticks=[], yticks=[])
    path.parent.mkdir(parents=True, exist_ok=True)
    # 96 colours are enough, and make the file a third as large.
    written = BytesIO()
    figure.savefig(written, dpi=130)
    plt.close(figure)
    Image.open(written).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path)


def main(_: list[str]) -> None:
    """Write the picture; the noise, and so the picture, is new in every run."""
    draw(PATH)

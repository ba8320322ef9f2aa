"""One release, six clusterings of it: the figure of docs/one-release.md.

    python -m bench onerelease      # draws docs/figures/one-release.png anew, in seconds

The rows are made here. They are queried once, with ε = 1; every picture is post-processing of the
same noisy counts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

from bench.shapes import _polar
from sfumato import PrivateDBSCAN, Synopsis
from sfumato._base.types import Floats, Ints

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "one-release.png"
BOUNDS = ((-4.0, -4.0), (10.0, 8.0))
K = 5
# Okabe, Ito 2008: told apart by the colour-blind too.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")
COLOURS += ("#882255", "#44aa99", "#999933", "#332288")  # Tol 2021, for more than eight


def rows(n: int = 60_000, seed: int = 4) -> Floats:
    """A ring around a disc, a bow, two clumps that touch, and a few rows far from all: (n, 2)."""
    rng = np.random.default_rng(seed)
    ring = _polar(2.6 + rng.normal(0, 0.15, n // 4), rng.uniform(0, 2 * np.pi, n // 4))
    disc = rng.normal(0, 0.5, (n // 6, 2))
    bow = _polar(3.0 + rng.normal(0, 0.2, n // 5), rng.uniform(0.1 * np.pi, 0.9 * np.pi, n // 5))
    left = rng.multivariate_normal([5.5, -1.5], [[0.5, 0.35], [0.35, 0.5]], n // 5)
    right = rng.normal([8.0, -0.5], 0.4, (n // 7, 2))
    spread = rng.uniform(*BOUNDS, (n // 50, 2))
    return np.vstack([ring, disc, bow + np.array([6, 3]), left, right, spread])


def released() -> Synopsis:
    """The one release: noisy counts of a grid."""
    return PrivateDBSCAN(epsilon=1.0, bounds=BOUNDS).fit(rows()).synopsis_


def nearest_cells(synopsis: Synopsis, centers: Floats) -> Ints:
    """The nearest of centres (k, d) for every cell, (n_cells,), in the cube."""
    half = np.subtract(*BOUNDS[::-1]) / 2
    gaps = (synopsis.cells[:, None] - centers) / half
    nearest: Ints = np.square(gaps).sum(axis=2).argmin(axis=1)
    return nearest


def clusterings(synopsis: Synopsis) -> dict[str, tuple[Ints, Floats]]:
    """Titles, and for each the cluster of every cell, −1 for none, and centres to be marked."""
    means, medians = synopsis.kmeans(K, random_state=0), synopsis.kmedian(K, random_state=0)
    chosen = synopsis.kmeans(synopsis.choose_k((2, 12), random_state=0), random_state=0)
    mixture = synopsis.mixture(K, random_state=0)
    tree = synopsis.dendrogram(random_state=0)
    own = nearest_cells(synopsis, tree.leaves)
    spans, none = synopsis.spans(), np.empty((0, 2))
    likely = mixture.log_densities(synopsis.cells).argmax(axis=1)
    return {
        f"k-means, {K} clusters": (nearest_cells(synopsis, means.centers), means.centers),
        f"k-means, k chosen: {len(chosen.centers)}": (
            nearest_cells(synopsis, chosen.centers),
            chosen.centers,
        ),
        f"k-median, {K} clusters": (nearest_cells(synopsis, medians.centers), medians.centers),
        f"mixture of {K} normal distributions": (likely, mixture.means),
        f"density: {len(spans.sizes)} regions": (spans.labels, none),
        f"Ward's tree, cut at {K}": (tree.cut(K)[own], none),
    }


def picture(synopsis: Synopsis, labels: Ints) -> Any:
    """Colours of the cells (rows, columns, 4): the cluster by hue, the weight by strength."""
    from matplotlib.colors import to_rgba

    weight = np.sqrt(synopsis.denoised())
    strength = np.clip(weight / np.quantile(weight[weight > 0], 0.9), 0, 1)
    table = np.array([to_rgba(colour) for colour in COLOURS])
    shown = table[labels % len(COLOURS)]
    shown[labels < 0] = to_rgba("#999999")
    shown[:, 3] = np.where(labels < 0, 0.5, 1) * strength
    shape: Any = synopsis.layout.shape  # type: ignore[union-attr]
    return np.swapaxes(shown.reshape(*shape, 4), 0, 1)


def ellipses(synopsis: Synopsis, ax: Any) -> None:
    """Draw what holds 90 % of each component."""
    from matplotlib.patches import Ellipse

    mixture = synopsis.mixture(K, random_state=0)
    for mean, spread in zip(mixture.means, mixture.covariances, strict=True):
        values, vectors = np.linalg.eigh(spread)
        wide, high = 2 * np.sqrt(values[::-1] * chi2.ppf(0.9, 2))
        angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
        ax.add_patch(Ellipse(tuple(mean), wide, high, angle=angle, fill=False, lw=1.2))


def main(words: list[str]) -> None:
    """Draw the figure."""
    argparse.ArgumentParser(prog="python -m bench onerelease").parse_args(words)
    from matplotlib.figure import Figure

    synopsis = released()
    figure = Figure(figsize=(11, 7), layout="constrained")
    figure.suptitle(f"One release (ε = 1, {len(synopsis):,} noisy counts), six clusterings of it")
    extent = [edge for pair in zip(*BOUNDS, strict=True) for edge in pair]
    panels = clusterings(synopsis).items()
    for ax, (title, found) in zip(figure.subplots(2, 3).ravel(), panels, strict=True):
        ax.imshow(picture(synopsis, found[0]), origin="lower", extent=extent, aspect="auto")
        ax.scatter(*found[1].T, marker="x", color="black", s=50)
        if title.startswith("mixture"):
            ellipses(synopsis, ax)
        ax.set_title(title, fontsize=11)
    figure.savefig(FIGURE, dpi=85)
    print(f"wrote {FIGURE.name}")

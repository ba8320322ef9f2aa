"""Density clusters and trees of clusters on classic shapes, against DBSCAN and Ward on the rows.

    python -m bench shapes      # measures what the table lacks; writes docs/shapes.md and a figure

Shapes are generated here: moons, rings and spirals; seven discs, two pairs of which nearly touch
(after Gionis et al. 2007); a ring around a disc beside three clumps (after Zahn 1971); two linked
rings and six balls in three columns. With noise, 15 % of the rows lie anywhere. A result is the
adjusted Rand index with the shapes that rows were drawn from; rows that are noise do not count.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from bench.growing_tables import append_row, read_rows
from bench.palette import PALETTE
from bench.papers.su2015_verdicts import put
from sfumato import PrivateDBSCAN, PrivateWard
from sfumato._base.types import Floats, Ints

Rng = np.random.Generator
Drawn = tuple[Floats, Ints]

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "bench" / "tables" / "shapes.csv"
COLUMNS = ["shape", "noise", "rows", "runs", "dbscan", "private", "worst", "ward"]
PAGE = ROOT / "docs" / "shapes.md"
FIGURE = ROOT / "docs" / "figures" / "shapes.png"
BEGIN, END = "<!-- shapes: written by `python -m bench shapes` -->", "<!-- end of shapes -->"
RUNS = {10**4: 10, 10**5: 10, 10**6: 3}
NOISE = (0.0, 0.15)
# DBSCAN and Ward on the rows take so many: the first keeps all pairs within its radius.
MOST = 10_000
WARD = 4_000


def moons(n: int, rng: Rng) -> Drawn:
    """Two half circles in each other."""
    rows, own = make_moons(n, noise=0.06, random_state=int(rng.integers(2**31)))
    return rows, own


def rings(n: int, rng: Rng) -> Drawn:
    """Three rings around each other."""
    radii = np.array([1.0, 2.0, 3.0])
    own = rng.choice(3, n, p=radii / radii.sum())
    return _polar(radii[own] + rng.normal(0, 0.1, n), rng.uniform(0, 2 * np.pi, n)), own


def spirals(n: int, rng: Rng) -> Drawn:
    """Three arms of a spiral."""
    own, along = rng.integers(0, 3, n), np.sqrt(rng.uniform(0.05, 1, n))
    arms = _polar(10 * along, 2.2 * np.pi * along + own * 2 * np.pi / 3)
    return arms + rng.normal(0, 0.25, (n, 2)), own


def discs(n: int, rng: Rng) -> Drawn:
    """Seven discs of different sizes."""
    middles = np.array([[9, 23], [20, 23], [33, 22], [33, 8], [21, 7], [10, 8], [7.5, 15]])
    halves = np.array([[4.5] * 2, [3.2] * 2, [3.4] * 2, [4.2] * 2, [1.8] * 2, [5, 3], [1.6] * 2])
    shares = np.array([0.22, 0.16, 0.17, 0.17, 0.05, 0.16, 0.07])
    own = rng.choice(7, n, p=shares)
    inside = _polar(np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n))
    return middles[own] + halves[own] * inside, own


def compound(n: int, rng: Rng) -> Drawn:
    """A ring around a disc, beside three clumps."""
    own = rng.choice(5, n, p=[0.25, 0.15, 0.2, 0.2, 0.2])
    angle = rng.uniform(0, 2 * np.pi, n)
    ring = _polar(3.5 + rng.normal(0, 0.25, n), angle)
    disc = _polar(1.4 * np.sqrt(rng.uniform(0, 1, n)), angle)
    middles = np.array([[0, 0], [0, 0], [0, 10], [5.5, 10], [11, 2]])
    clump = rng.normal(middles[own], np.where(own[:, None] == 4, [0.5, 2.0], 0.8))
    return np.where((own == 0)[:, None], ring, np.where((own == 1)[:, None], disc, clump)), own


def links(n: int, rng: Rng) -> Drawn:
    """Two rings in three columns, each through the other."""
    own, angle, zero = rng.integers(0, 2, n), rng.uniform(0, 2 * np.pi, n), np.zeros(n)
    one = np.column_stack([np.cos(angle), np.sin(angle), zero])
    other = np.column_stack([1 + np.cos(angle), zero, np.sin(angle)])
    return np.where((own == 0)[:, None], one, other) + rng.normal(0, 0.08, (n, 3)), own


def balls(n: int, rng: Rng) -> Drawn:
    """Six clumps in three columns."""
    middles = 0.7 * np.array(
        [[-1, -1, -1], [1, 1, -1], [-1, 1, 1], [1, -1, 1], [0, 0, 0], [1.2, 1.2, 1.2]]
    )
    own = rng.integers(0, 6, n)
    return middles[own] + rng.normal(0, 0.13, (n, 3)), own


def _polar(radius: Floats, angle: Floats) -> Floats:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


SHAPES: dict[str, Callable[[int, Rng], Drawn]] = {
    each.__name__: each for each in (moons, rings, spirals, discs, compound, links, balls)
}


def drawn(shape: str, noise: float, n: int, seed: int) -> tuple[Floats, Ints, tuple[Floats, ...]]:
    """Rows, the shape of each (−1 for noise), and public bounds a tenth around the shapes."""
    rows, own = SHAPES[shape](n, np.random.default_rng(seed))
    typical, _ = SHAPES[shape](2_000, np.random.default_rng(10**6))
    low, high = typical.min(axis=0), typical.max(axis=0)
    bounds = low - 0.1 * (high - low), high + 0.1 * (high - low)
    rng = np.random.default_rng(seed + 10**5)
    lost = rng.random(n) < noise
    rows[lost] = rng.uniform(*bounds, (int(lost.sum()), rows.shape[1]))
    return rows, np.where(lost, -1, own), bounds


def agreement(own: Ints, labels: Ints) -> float:
    """The adjusted Rand index over rows that belong to a shape."""
    return float(adjusted_rand_score(own[own >= 0], labels[own >= 0]))


def best_dbscan(rows: Floats, own: Ints, bounds: tuple[Floats, ...]) -> float:
    """DBSCAN on some of the rows, columns scaled by the bounds, with the best of many radii."""
    points = ((rows - bounds[0]) / (bounds[1] - bounds[0]))[:MOST]
    least = 10 if rows.shape[1] == 2 else 20
    radii = np.geomspace(0.01, 0.08, 13)
    fits = (DBSCAN(eps=radius, min_samples=least).fit(points).labels_ for radius in radii)
    return max(agreement(own[:MOST], labels) for labels in fits)


def ward_agreement(rows: Floats, k: int, bounds: tuple[Floats, ...], seed: int) -> float:
    """How far private cuts at k agree with Ward's method on some of the rows."""
    some = rows[:WARD]
    scaled = (some - bounds[0]) / (bounds[1] - bounds[0])
    expected = AgglomerativeClustering(k).fit(scaled).labels_
    model = PrivateWard(k, epsilon=1.0, bounds=bounds, random_state=seed).fit(rows)
    return float(adjusted_rand_score(expected, model.predict(some)))


def measure(shape: str, noise: float, n: int) -> list[str]:
    """One line of the table."""
    found, ward = [], []
    for seed in range(RUNS[n]):
        rows, own, bounds = drawn(shape, noise, n, seed)
        labels = PrivateDBSCAN(epsilon=1.0, bounds=bounds).fit(rows).predict(rows)
        found.append(agreement(own, labels))
        if seed < 3:
            ward.append(ward_agreement(rows, int(own.max()) + 1, bounds, seed))
    rows, own, bounds = drawn(shape, noise, min(n, MOST), 0)
    values = [best_dbscan(rows, own, bounds), np.mean(found), min(found), np.mean(ward)]
    return [shape, f"{noise:g}", str(n), str(RUNS[n]), *(f"{float(v):.3f}" for v in values)]


def page(rows: list[dict[str, str]]) -> str:
    """The table as the page shows it."""
    heads = ["shape", "noise", "rows", "runs", "DBSCAN on 10,000 rows, best radius"]
    heads += ["`PrivateDBSCAN`, ε = 1", "worst run", "`PrivateWard` and Ward on 4,000 rows"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        cells = [row["shape"], f"{float(row['noise']):.0%}", f"{int(row['rows']):,}"]
        cells += [row[column] for column in COLUMNS[3:]]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw() -> None:
    """One private fit of each shape: the region of every cell, noise white."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.2), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    for ax, shape in zip(axes, [*SHAPES][:5], strict=False):
        rows, _, bounds = drawn(shape, 0.15, 50_000, 0)
        model = PrivateDBSCAN(epsilon=1.0, bounds=bounds).fit(rows)
        labels = model.cell_labels_.reshape(model.synopsis_.layout.shape).T
        extent = (bounds[0][0], bounds[1][0], bounds[0][1], bounds[1][1])
        shown = np.ma.masked_less(labels % 10, 0) if labels.max() < 10 else labels
        shown = np.ma.array(shown, mask=labels < 0)
        colours = ListedColormap((PALETTE * 2)[:10])
        ax.imshow(shown, origin="lower", extent=extent, aspect="auto", cmap=colours, vmin=0, vmax=9)
        ax.set_title(f"{shape}: {model.n_clusters_} clusters, ε = 1", fontsize=10)
    rows, _, bounds = drawn("discs", 0.0, 50_000, 0)
    from scipy.cluster.hierarchy import dendrogram, set_link_color_palette

    tree = PrivateWard(7, epsilon=1.0, bounds=bounds, random_state=0).fit(rows)
    set_link_color_palette(list(PALETTE[1:6]))
    dendrogram(
        tree.linkage_,
        ax=axes[5],
        no_labels=True,
        truncate_mode="lastp",
        p=30,
        above_threshold_color=PALETTE[0],
    )
    axes[5].set_title("discs: the tree of clusters, ε = 1", fontsize=10)
    axes[5].set_ylabel("Ward's distance")
    figure.savefig(FIGURE, dpi=110)


def main(words: list[str]) -> None:
    """Measure what the table lacks, and write the page and its figure."""
    parser = argparse.ArgumentParser(prog="python -m bench shapes", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--figure", action="store_true", help="draw the figure alone")
    options = parser.parse_args(words)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["shape"], row["noise"], row["rows"]) for row in read_rows(TABLE)}
    cases = [(s, noise, n) for n in RUNS for s in SHAPES for noise in NOISE]
    for shape, noise, n in [] if options.figure else cases:
        if (shape, f"{noise:g}", str(n)) not in done:
            line = measure(shape, noise, n)
            append_row(TABLE, COLUMNS, line)
            print(*line, flush=True)
    put(PAGE, page(read_rows(TABLE)), BEGIN, END)
    draw()

"""The figures of the gallery: six stories, each drawn from one release.

    SFUMATO_DATA=… python -m bench gallery             # all that have their data
    SFUMATO_DATA=… python -m bench gallery adult       # one of them

Noise is new in every run: the pictures differ a little, what they show does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

from bench.data import path_of, with_data
from bench.palette import BLUE, ORANGE, PALETTE, RED, save
from bench.readme import COLOURS, corners, density
from sfumato import Category, Number, PrivateKMeans, Schema

mpl.use("Agg")
FIGURES = Path(__file__).parents[1] / "docs" / "figures" / "gallery"


def _read(name: str) -> dict[str, Any]:
    with np.load(path_of(name), allow_pickle=False) as file:
        return {key: file[key] for key in file}


def _cells(axis: Any, synopsis: Any, order: tuple[int, int] = (0, 1)) -> None:
    """Noisy counts per area of the released cells of two columns."""
    shade = density(synopsis)
    shapes = list(corners(synopsis)[:, :, list(order)])
    found = PolyCollection(shapes, cmap=COLOURS, edgecolor="none")
    found.set_array(shade**0.35)
    found.set_clim(0, float(np.quantile(shade, 0.995)) ** 0.35)
    axis.add_collection(found)
    axis.autoscale_view()


def check_ins() -> Any:
    """Check-ins of New York: one person is protected, with at most 20 of her check-ins."""
    data = _read("gowalla_nyc")
    bounds = (data["lo"], data["hi"])
    model = PrivateKMeans(8, epsilon=1.0, bounds=bounds, max_rows_per_group=20, random_state=0)
    model.fit(data["X"], groups=data["user"])
    figure, axis = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
    _cells(axis, model.synopsis_, (1, 0))
    sizes = np.maximum(model.cluster_sizes_, 0)
    y, x = model.cluster_centers_.T
    axis.scatter(x, y, 500 * sizes / sizes.max(), facecolor="none", edgecolor=RED, lw=1.8)
    axis.scatter(x, y, 16, color=RED)
    title = (
        "Check-ins of a city, ε = 1 per person:\nnoisy counts (shades), centres and sizes (rings)"
    )
    axis.set(title=title, xlabel="longitude", ylabel="latitude", aspect=1.3)
    return figure


def adult() -> Any:
    """Five kinds of workers: what each centre says about four columns."""
    data = _read("adult_num")
    names, wanted = list(data["columns"]), ["age", "education-num", "hours-per-week"]
    kept = [names.index(name) for name in wanted]
    bounds = (data["lo"][kept], data["hi"][kept])
    model = PrivateKMeans(5, epsilon=1.0, bounds=bounds, random_state=0).fit(data["X"][:, kept])
    order = np.argsort(-model.cluster_sizes_)
    centers, sizes = model.cluster_centers_[order], model.cluster_sizes_[order]
    figure, axes = plt.subplots(1, 4, figsize=(8.6, 3.4), layout="constrained", sharey=True)
    columns = [*centers.T, sizes]
    titles = ["age (years)", "education (1 to 16)", "hours per week", "people (noisy)"]
    for axis, values, title, colour in zip(axes, columns, titles, PALETTE, strict=False):
        axis.barh(range(5), values, color=colour)
        for i, value in enumerate(values):
            axis.text(value, i, f" {value:,.0f}", va="center", fontsize=9)
        axis.set(title=title, xlim=(0, max(values) * 1.3), xticks=[])
        axis.invert_yaxis() if axis is axes[0] else None
        axis.spines[["top", "right", "bottom"]].set_visible(False)
    axes[0].set_yticks(range(5), [f"kind {i + 1}" for i in range(5)])
    figure.suptitle("Adult: five kinds of workers, ε = 1", fontsize=12)
    return figure


def digits() -> Any:
    """Ten centres of handwritten digits, released at four budgets."""
    data = _read("mnist")
    budgets = (0.2, 0.5, 1.0, 4.0)
    figure, axes = plt.subplots(4, 10, figsize=(8.4, 3.9), layout="constrained")
    for line, epsilon in zip(axes, budgets, strict=True):
        model = PrivateKMeans(10, epsilon=epsilon, delta=1e-6, bounds=(0, 255), random_state=0)
        centers = model.fit(data["X"]).cluster_centers_
        for axis, center in zip(line, centers, strict=True):
            axis.imshow(center.reshape(28, 28), cmap="gray_r", vmin=0, vmax=255)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(f"ε = {epsilon:g}", rotation=0, ha="right", va="center")
    figure.suptitle("Handwritten digits: ten private centres of 70,000 pictures, δ = 10⁻⁶")
    return figure


def colours() -> Any:
    """The colours of a picture, and the eight that are released."""
    data = _read("house_rgb8")
    model = PrivateKMeans(8, epsilon=1.0, bounds=(0, 255), random_state=0).fit(data["X"])
    order = np.argsort(-model.cluster_sizes_)
    centers = np.clip(model.cluster_centers_[order] / 255, 0, 1)
    sizes = np.maximum(model.cluster_sizes_[order], 0)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.6), layout="constrained")
    shown = data["X"][np.random.default_rng(0).choice(len(data["X"]), 4000, replace=False)]
    left.scatter(shown[:, 0], shown[:, 2], 4, color=shown / 255)
    left.set(title="33,925 colours of a picture: private", xlabel="red", ylabel="blue")
    right.barh(range(8), sizes, color=centers, edgecolor="#444444")
    for i, (center, size) in enumerate(zip(centers * 255, sizes, strict=True)):
        name = "#" + "".join(f"{round(c):02x}" for c in center)
        right.text(size, i, f" {name}", va="center", fontsize=9)
    right.set(title="released, ε = 1: eight colours", xlabel="noisy number", yticks=[])
    right.set_xlim(0, sizes.max() * 1.25)
    right.invert_yaxis()
    return figure


def flights() -> Any:
    """Three million flights: when they leave and how far they go."""
    data = _read("flights3m")
    columns = [5, 4]
    bounds = ([0, 0], [1439, 3000])
    rows = data["X"][:, columns].astype(float)
    model = PrivateKMeans(8, epsilon=0.1, bounds=bounds, random_state=0).fit(rows)
    figure, axis = plt.subplots(figsize=(7, 4.4), layout="constrained")
    _cells(axis, model.synopsis_)
    x, y = model.cluster_centers_.T
    axis.scatter(x, y, 60, color=RED, edgecolor="white", zorder=3)
    for place, size in zip(model.cluster_centers_, model.cluster_sizes_, strict=True):
        text = f"{size / 1000:,.0f}k"
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8}
        axis.annotate(text, place, (6, 6), textcoords="offset points", fontsize=9, bbox=box)
    axis.set(xlim=(0, 1440), ylim=(0, 3000), xlabel="departure (hour)", ylabel="distance (miles)")
    axis.set_xticks(range(0, 1441, 240), [f"{h}:00" for h in range(0, 25, 4)])
    axis.set_title("3,000,000 flights, ε = 0.1: noisy counts and eight centres")
    return figure


def hospital_rows(n: int = 12_000) -> dict[str, Any]:
    """Invented patients: age, nights, and how they came."""
    rng = np.random.default_rng(1)
    kind = rng.choice(4, n, p=[0.3, 0.25, 0.25, 0.2])
    age = np.clip(rng.normal(np.array([8, 31, 55, 78])[kind], 6), 0, 105)
    nights = np.clip(rng.gamma(3, np.array([1, 1.2, 2, 4])[kind]), 0, 60)
    urgent = rng.random(n) < np.array([0.7, 0.2, 0.3, 0.6])[kind]
    return {"age": age, "nights": nights, "came": np.where(urgent, "urgent", "planned")}


def hospital() -> Any:
    """Invented patients with a schema: centres in the words of the table."""
    import pandas as pd

    table = pd.DataFrame(hospital_rows())
    columns = {"age": Number(0, 105), "nights": Number(0, 60, scale="sqrt")}
    schema = Schema(**columns, came=Category("urgent", "planned", weight=0.1))
    model = PrivateKMeans(4, epsilon=1.0, schema=schema, random_state=0).fit(table)
    profiles = sorted(
        zip(model.cluster_profiles_, model.cluster_sizes_, strict=True), key=lambda p: p[0]["age"]
    )
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    shares = [float(p["came"]["shares"]["urgent"]) for p, _ in profiles]
    x = np.arange(len(profiles))
    axis.bar(x, shares, color=ORANGE, label="urgent")
    axis.bar(x, 1 - np.array(shares), bottom=shares, color=BLUE, label="planned")
    words = [f"age {p['age']:.0f}\n{p['nights']:.1f} nights\n{s:,.0f} people" for p, s in profiles]
    axis.set_xticks(x, words)
    axis.set(title="A hospital (invented): four kinds of patients, ε = 1", ylabel="share")
    axis.set_ylim(0, 1.18)
    axis.legend(ncols=2, loc="upper right", frameon=False)
    return figure


STORIES: dict[str, tuple[str, Callable[[], Any]]] = {
    "check-ins": ("gowalla_nyc", check_ins),
    "adult": ("adult_num", adult),
    "digits": ("mnist", digits),
    "colours": ("house_rgb8", colours),
    "flights": ("flights3m", flights),
    "hospital": ("", hospital),
}


def main(words: list[str]) -> None:
    """Draw the stories that are named."""
    parser = argparse.ArgumentParser(prog="python -m bench gallery", description=__doc__)
    parser.add_argument("stories", nargs="*", choices=[[], *STORIES], metavar="STORY")
    parser.add_argument("--to", type=Path, default=FIGURES, help="the folder of the pictures")
    options = parser.parse_args(words)
    for name in with_data({name: STORIES[name][0] for name in options.stories or STORIES}):
        place = options.to / f"{name}.png"
        save(STORIES[name][1](), place, colours=48 if name == "digits" else 200)
        print(f"{place.name}: {place.stat().st_size / 1000:.0f} kB", flush=True)

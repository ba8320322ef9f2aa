"""Which jobs each figure of van der Ende 2023 is made of, and parameters that it leaves open."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from bench.growing_tables import read_rows, write_rows
from bench.papers.vanderende2023_data import EIGHT, MOST_ROWS, SOURCES, is_there, load
from bench.papers.vanderende2023_kinds import CLEAN, Job, scaled
from sfumato import tuning as choosing

EPSILONS = (0.05, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 9.0)
CLUSTERERS = ("kmeans", "ap", "dbscan")
LABELS = {
    "kmeans": "K-Means",
    "ap": "Affinity Propagation",
    "dbscan": "DBSCAN",
    "forest": "forest, 3 shadow models",
    "lira": "likelihood ratio on distances",
}


@dataclass(frozen=True)
class Size:
    """How much is run: all of it, or enough to see that it works."""

    runs: int = 10
    epsilons: tuple[float, ...] = EPSILONS
    datasets: tuple[str, ...] = EIGHT


FULL = Size()
QUICK = Size(2, (0.1, 1.0, 9.0), ("dataset1", "dataset3", "lsun"))


def utility(size: Size) -> list[Job]:
    """Figures 5.3 and 5.4: the three clusterers; and what denoising and truncation do."""
    grid = product(size.datasets, CLUSTERERS, (CLEAN, *size.epsilons))
    jobs = [Job(name, kind, e, 1 if e == CLEAN else size.runs) for name, kind, e in grid]
    grid = product(("denoised", "denoised_many"), size.datasets, size.epsilons)
    jobs += [Job(name, kind, e, size.runs) for kind, name, e in grid]
    grid = product(("truncated", "remapped"), size.epsilons)
    return jobs + [Job("dataset1", kind, e, size.runs) for kind, e in grid]


def privacy(size: Size) -> list[Job]:
    """Figure 5.5: membership; and reconstruction beside it."""
    with_clean = (CLEAN, *size.epsilons)
    grid = product(size.datasets, ("forest", "lira"), with_clean)
    jobs = [Job(name, kind, e, size.runs) for name, kind, e in grid]
    jobs += [Job(n, "posterior", e, size.runs) for n, e in product(size.datasets, size.epsilons)]
    return [*jobs, Job("dataset1", "few", CLEAN, size.runs)]


def distance(size: Size) -> list[Job]:
    """Figure 5.6: how far reports lie from rows."""
    return [Job(n, "distance", e, size.runs) for n, e in product(size.datasets, size.epsilons)]


TABLES = {"utility": utility, "privacy": privacy, "distance": distance}
FIGURES = {"fig5.3": "utility", "fig5.4": "utility", "fig5.5": "privacy", "fig5.6": "distance"}

COLUMNS = ["dataset", "elbow", "silhouette", "gap", "k used", "eps", "eps unscaled", "minPts"]
COLUMNS += ["preference", "the thesis's r"]


def parameters(name: str) -> dict[str, str]:
    """What the ways of §2.2.1 choose on the clean rows of a dataset, after standard scaling."""
    rows = load(name)
    points = scaled(rows)
    found = {"dataset": f"{SOURCES[name].title}, {SOURCES[name].size(MOST_ROWS)}"}
    for criterion in ("elbow", "silhouette", "gap"):
        curve = choosing.clusters(points, criterion=criterion, random_state=0)
        found[criterion] = str(curve.best)
    found["k used"] = str(SOURCES[name].k)
    found["eps"] = f"{choosing.k_distances(points).eps:.3g}"
    found["eps unscaled"] = f"{choosing.k_distances(rows).eps:.3g}"
    found["minPts"] = str(choosing.min_points(rows.shape[1]))
    found["preference"] = f"{choosing.preference(points):.3g}"
    # Half the standard deviation of the rows; ours is 1.
    found["the thesis's r"] = f"{rows.std() / 2:.3g}"
    return found


def write_parameters(path: Path, names: tuple[str, ...]) -> None:
    """Write the table of parameters."""
    found = [parameters(name) for name in names if is_there(name)]
    write_rows(path, COLUMNS, [[line[name] for name in COLUMNS] for line in found])


def read_parameters(path: Path) -> list[dict[str, str]]:
    """Read the table of parameters; none if it is not there."""
    return read_rows(path)


def parameters_as_markdown(lines: list[dict[str, str]]) -> str:
    """The table of parameters as a page shows it."""
    shown = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    shown += ["| " + " | ".join(line[name] for name in COLUMNS) + " |" for line in lines]
    return "\n".join(shown)

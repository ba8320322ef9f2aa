"""`compare`: methods side by side on rows, for their owner. NOT PRIVATE: costs are exact."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, get_args

import numpy as np

from sfumato._base.files import write_whole
from sfumato._base.types import Floats
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._private_kmeans import PrivateKMeans
from sfumato._schema.schema import Schema
from sfumato.methods import METHODS, Method, method_of
from sfumato.nonprivate import encoded, inertia, kmeans

Column = Literal["method", "epsilon", "run", "cost", "ratio", "seconds"]
COLUMNS: tuple[Column, ...] = get_args(Column)
_NOTHING = 1e-12
"""A squared distance of a cell in the cube that is none."""

_HEAD = "# sfumato compare, for the owner of the rows: "


@dataclass(frozen=True)
class Comparison:
    """Costs of fits, one line each, as a tidy table. For the owner of the rows: not a release.

    `rows` have the columns method, epsilon, run, cost, ratio and seconds. The cost is the sum of
    squared distances in the cube [−1, 1]^d that the bounds span; the ratio is the cost over that of
    k-means without privacy.
    """

    rows: tuple[dict[str, Any], ...]
    columns: tuple[Column, ...] = COLUMNS

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, column: Column) -> list[Any]:
        """The values of one column."""
        return [row[column] for row in self.rows]

    def to_frame(self) -> Any:  # noqa: ANN401
        """The table as a pandas data frame; pandas must be there."""
        from pandas import DataFrame

        return DataFrame(list(self.rows), columns=list(self.columns))

    def plot(self) -> Any:  # noqa: ANN401
        """Draw the ratio of every method against ε: see `sfumato.plots.compare`."""
        from sfumato.plots import compare as draw

        return draw(self)

    def means(self) -> list[tuple[str, float, float, float, int]]:
        """For every method and ε: both, the mean ratio, its deviation between runs, the runs."""
        found: dict[tuple[str, float], list[float]] = {}
        for row in self.rows:
            found.setdefault((row["method"], row["epsilon"]), []).append(row["ratio"])
        return [
            (*key, fmean(ratios), stdev(ratios) if len(ratios) > 1 else 0.0, len(ratios))
            for key, ratios in found.items()
        ]

    def __str__(self) -> str:
        wide = max((len(name) for name in self["method"]), default=6)
        lines = [
            f"{name:<{wide}}  ε = {epsilon:<6g} cost over k-means {mean:.4f} ± {spread:.4f}"
            f"  ({runs} runs)"
            for name, epsilon, mean, spread, runs in self.means()
        ]
        return "\n".join([*lines, "For the owner of the rows: not a release."])


def compare(  # noqa: PLR0913
    methods: Iterable[str | Method],
    X: Any,  # noqa: ANN401
    *,
    n_clusters: int = 8,
    bounds: Any = None,  # noqa: ANN401
    schema: Schema | None = None,
    epsilons: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
    delta: float = 0.0,
    runs: int = 5,
    results: str | os.PathLike[str] | None = None,
    random_state: int = 0,
) -> Comparison:
    """Fit methods again and again on rows that you own, and compare their costs.

    NOT PRIVATE: exact costs of the rows come back. It is for the owner of the rows, or for public
    data: to choose a method, to write a paper.

    Parameters
    ----------
    methods : list of str or method
        Names in `sfumato.METHODS`, or configured instances such as `DPLloyd(iterations=3)`.
    X : array-like of shape (n_samples, n_features), data frame or path
        The rows, as `fit` takes them.
    n_clusters : int, default=8
        Number of centres.
    bounds, schema
        As in `PrivateKMeans`: one of them is needed. Bounds must be given: none are estimated.
    epsilons : list of float
        The budgets ε to compare at, each for every fit.
    delta : float, default=0.0
        δ of every fit.
    runs : int, default=5
        Fits of each method at each ε.
    results : path, optional
        A CSV file that every result is written to as it comes. A comparison that was stopped goes
        on where it was; a file of other rows or settings is refused.
    random_state : int, default=0
        Seeds starts, other ones in each run, and the reference. It never seeds noise.

    Returns
    -------
    comparison : Comparison
        A tidy table; `print` it, `plot()` it, `to_frame()`.

    Examples
    --------
    >>> import numpy as np
    >>> import sfumato
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> found = sfumato.compare(["dplloyd"], X, n_clusters=2, bounds=(-4, 4), epsilons=[1], runs=2)
    >>> len(found)
    2

    """
    named = _named(list(methods))
    budgets = [float(check_epsilon(epsilon)) for epsilon in epsilons]
    k, each = check_whole(n_clusters, "n_clusters"), check_whole(runs, "runs")
    seed = check_whole(random_state, "random_state", least=0)
    if not named or not budgets:
        raise ValueError(f"compare needs methods and epsilons, got {named!r} and {budgets!r}")
    if (bounds is None) == (schema is None) or isinstance(bounds, str):
        raise ValueError("compare needs the bounds of the columns, or a schema: one of them")
    if isinstance(bounds, Mapping):
        bounds, schema = None, Schema.of_bounds(bounds)
    points = encoded(X, schema, bounds)
    model = PrivateKMeans(k, delta=float(check_delta(delta)), bounds=bounds, schema=schema)
    jobs = [(name, epsilon, run) for run in range(each) for epsilon in budgets for name in named]
    middle = np.zeros((1, points.shape[1]))
    # The last number tells other rows: k-means would not find the same to the last bit.
    settings = {
        "clusters": k,
        "delta": model.delta,
        "seed": seed,
        "spread": inertia(points, middle),
    }
    table = _Table(results, settings, lambda: _reference(points, k, seed))
    for name, epsilon, run in table.missing(jobs):
        began = time.perf_counter()
        model.set_params(method=named[name], epsilon=epsilon, random_state=seed + run).fit(X)
        seconds = time.perf_counter() - began
        found = model.encoded_centers_ if schema else encoded(model.cluster_centers_, None, bounds)
        cost = inertia(points, found)
        table.add((name, epsilon, run, cost, cost / table.reference, seconds))
    return Comparison(tuple(table.rows[job] for job in jobs))


def _named(methods: list[str | Method]) -> dict[str, Method]:
    """Methods by name, each once."""
    named = {_name(method): method_of(method) for method in methods}
    if len(named) < len(methods):
        raise ValueError(f"two of the methods have the same name: {', '.join(map(_name, methods))}")
    return named


def _name(method: str | Method) -> str:
    """The name of a method; settings that are not the usual ones are part of it."""
    if isinstance(method, str):
        return method
    name = METHODS.name_of(type(method)) or type(method).__name__
    own: tuple[Field[Any], ...] = fields(method) if is_dataclass(method) else ()
    asked = [(one.name, getattr(method, one.name), one.default) for one in own if one.init]
    unusual = ", ".join(f"{key}={value!r}" for key, value, usual in asked if value != usual)
    return f"{name}({unusual})" if unusual else name


def _reference(points: Floats, k: int, seed: int) -> float:
    """The cost of k-means without privacy of points (n, d) that may miss cells."""
    cost = inertia(points, kmeans(points, k, random_state=seed))
    if cost <= _NOTHING * points.size:
        raise ValueError(
            f"k-means without privacy costs nothing with {k} centres, so that no ratio to it is "
            "known: compare with fewer centres"
        )
    return cost


class _Table:
    """Results by method, ε and run, in a file if there is one."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        settings: dict[str, Any],
        reference: Callable[[], float],
    ) -> None:
        self.path = None if path is None else Path(path)
        self.rows: dict[tuple[str, float, int], dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self.reference = self._read(self.path, settings)
            return
        self.reference = reference()
        if self.path is not None:
            head = json.dumps({**settings, "reference": self.reference})
            write_whole(self.path, f"{_HEAD}{head}\n{','.join(COLUMNS)}\n")

    def _read(self, path: Path, settings: dict[str, Any]) -> float:
        """Results that are there already, and the cost that they were compared with."""
        head, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True) or [""]
        try:
            known = json.loads(head.removeprefix(_HEAD))
            reference = float(known.pop("reference"))
        except (ValueError, LookupError, AttributeError, TypeError):
            known = None
        if known != settings:
            raise ValueError(
                f"{path} has results of other rows or settings: give another file, or remove it"
            )
        if rest and not rest[-1].endswith("\n"):
            # A line that was cut off.
            rest.pop()
            write_whole(path, "".join([head, *rest]))
        for line in csv.DictReader(rest):
            self._keep(tuple(line[name] for name in COLUMNS))
        return reference

    def _keep(self, cells: tuple[Any, ...]) -> None:
        kinds = (str, float, int, float, float, float)
        row: dict[str, Any] = {
            name: kind(cell) for name, kind, cell in zip(COLUMNS, kinds, cells, strict=True)
        }
        self.rows[row["method"], row["epsilon"], row["run"]] = row

    def missing(self, jobs: list[tuple[str, float, int]]) -> Iterator[tuple[str, float, int]]:
        """Those that have no result yet."""
        return (job for job in jobs if job not in self.rows)

    def add(self, cells: tuple[Any, ...]) -> None:
        """Keep one result, and write it."""
        self._keep(cells)
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)

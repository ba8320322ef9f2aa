"""Every method side by side before any row is read: no data, so no privacy cost."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from sfumato._base.validation import check_delta, check_epsilon, check_whole, in_digits
from sfumato._lattice.box import REACH, Box
from sfumato.methods import METHODS, PlannedTask, Predicting
from sfumato.methods._base import MAX_ROWS
from sfumato.methods._histogram import GridHistogram
from sfumato.methods._kmedian import KMedian
from sfumato.methods._mixture import NormalMixture
from sfumato.methods._small_clusters import SmallClusters
from sfumato.theory import LowerBound, cube_floor

DEFAULT = "auto"
"""The method that `PrivateKMeans` takes when none is named."""

KMEANS = "kmeans"
"""The model that has methods to choose from."""

OTHERS = {
    "median": KMedian,
    "mixture": NormalMixture,
    "density": GridHistogram,
    "ward": SmallClusters,
}
"""What asks the queries of all other models, by `kind`."""

UNPREDICTED = "can run; it gives no prediction"
"""The note of a method without `predict`."""


@dataclass(frozen=True)
class PlanRow:
    """What is expected of one method: see `Prediction`. `why_not` is empty where it can run.

    Error and noise of a method that cannot run, or gives no prediction, are infinite.
    `noise_in_units` is the noise in the user's units, one number per column.
    """

    method: str
    error: float
    noise: float
    memory: int
    passes: int
    note: str
    noise_in_units: tuple[float, ...] | None = None
    why_not: str = ""

    @property
    def fits(self) -> bool:
        """Whether the method can run at all."""
        return not self.why_not

    @property
    def predicted(self) -> bool:
        """Whether there are numbers: the method can run, and gives a prediction."""
        return self.fits and math.isfinite(self.error)


@dataclass(frozen=True)
class Plan:
    """Every method side by side. Prints as a table; `to_json` gives the same as data."""

    n: int
    d: int
    k: int
    epsilon: float
    delta: float
    n_rows_known: bool
    rows: tuple[PlanRow, ...]
    model: str = KMEANS

    @property
    def default(self) -> str:
        """The method that `PrivateKMeans` takes when none is named; of others the model itself."""
        return DEFAULT if self.model == KMEANS else self.model

    @property
    def best(self) -> str:
        """The method with the smallest predicted error among those that can run."""
        able = [row for row in self.rows if row.predicted]
        return min(able, key=lambda row: row.error).method if able else self.default

    @property
    def floor(self) -> LowerBound:
        """A cost in the cube [−1, 1]^d no method stays below on all datasets of up to n rows."""
        return cube_floor(self.n, self.k, self.d, self.epsilon, self.delta)

    @property
    def lattice(self) -> int:
        """Bytes that the rows themselves take: two for each cell."""
        return 2 * self.n * self.d

    @property
    def bounded(self) -> bool:
        """Whether bounds were given."""
        return any(row.noise_in_units for row in self.rows)

    @property
    def drowned(self) -> bool:
        """Whether even the best method does no better than always answering the middle."""
        # A centre that is anywhere in the cube lies d/3 from the middle, squared, on average.
        return min(row.error for row in self.rows) > self.d / 3

    def at(self, epsilon: float) -> Plan:
        """The same plan for another ε, without bounds."""
        return plan(
            n=self.n,
            d=self.d,
            k=self.k,
            epsilon=epsilon,
            delta=self.delta,
            n_rows_known=self.n_rows_known,
            model=self.model,
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values; what is infinite is None."""
        names = ("n", "d", "k", "epsilon", "delta", "n_rows_known", "model", "default", "best")
        return {name: getattr(self, name) for name in names} | {
            "lattice_bytes": self.lattice,
            "drowned": self.drowned,
            "least_cost": self.floor.cost if self.model == KMEANS else None,
            "methods": [_plain(row) for row in self.rows],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The plan as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, color_system=None, force_terminal=False, highlight=False)
        with console.capture() as captured:
            console.print(table_of(self))
            for sentence in sentences_of(self):
                console.print(sentence)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def _repr_html_(self) -> str:
        from sfumato._base.markup import element, fragment, table

        said = (element("p", sentence) for sentence in sentences_of(self))
        lines = table(
            _titles(self), map(_cells, self.rows), caption=_title(self), numbers=range(1, 5)
        )
        return fragment(element("h3", "Plan"), lines, *said)


def plan(
    *,
    n: int,
    d: int,
    k: int,
    epsilon: float,
    delta: float = 0.0,
    bounds: Any = None,  # noqa: ANN401
    n_rows_known: bool = False,
    model: str = KMEANS,
) -> Plan:
    """Predict what every method would yield and need. Reads no data and costs no privacy.

    Parameters
    ----------
    n, d, k : int
        Expected number of rows, columns and centres. A rough n will do.
    epsilon, delta : float
        The privacy budget.
    bounds : pair (lower, upper), optional
        Public bounds, scalars or one per column; with them noise is also given in their units.
    n_rows_known : bool, default=False
        Whether the fit will declare its number of rows public: no method has to estimate it.
    model : {"kmeans", "median", "mixture", "density", "ward"}, default="kmeans"
        What will be fitted. Models other than k-means have one line; its error is that of medians,
        of the means of components, or of the means of k clusters of equal size.

    Returns
    -------
    Plan
        One row per method, the default method and the one with the smallest predicted error.

    Examples
    --------
    >>> from sfumato import plan
    >>> plan(n=100_000, d=6, k=5, epsilon=1.0).default
    'auto'

    """
    n, d, k = check_whole(n, "n"), check_whole(d, "d"), check_whole(k, "k")
    if n > MAX_ROWS:
        raise ValueError(f"n must be at most {MAX_ROWS:,} rows, got {in_digits(n)}: plan for fewer")
    spent = check_epsilon(epsilon), check_delta(delta)
    task = PlannedTask(k, d, *spent, n if n_rows_known else None, n)
    box = None if bounds is None else Box.of(bounds, d)
    if model not in (KMEANS, *OTHERS):
        raise ValueError(f"model must be one of {', '.join((KMEANS, *OTHERS))}, got {model!r}")
    names = METHODS if model == KMEANS else (model,)
    rows = tuple(_row(name, task, box) for name in names)
    return Plan(n, d, k, float(spent[0]), float(spent[1]), bool(n_rows_known), rows, model)


def _row(name: str, task: PlannedTask, box: Box | None) -> PlanRow:
    try:
        method: Any = OTHERS[name]() if name in OTHERS else METHODS[name]()
        method.caps(task)
        if not isinstance(method, Predicting):
            return PlanRow(name, math.inf, math.inf, 0, 0, UNPREDICTED)
        expected = method.predict(task)
    except (ValueError, OverflowError, ImportError) as error:
        return PlanRow(name, math.inf, math.inf, 0, 0, "", why_not=str(error))
    units = None
    if box is not None and math.isfinite(expected.noise):
        units = tuple((box.step * REACH * expected.noise).tolist())
    return PlanRow(name, **asdict(expected), noise_in_units=units)


def _plain(row: PlanRow) -> dict[str, Any]:
    return asdict(row) | {
        "error": row.error if math.isfinite(row.error) else None,
        "noise": row.noise if math.isfinite(row.noise) else None,
        "fits": row.fits,
    }


_FOUND = {KMEANS: "centres", "median": "centres", "mixture": "components"}
"""What there are k of in a plan, if not clusters."""


def table_of(plan: Plan) -> Any:  # noqa: ANN401  (rich is imported only where it prints)
    """The methods of a plan as a rich table."""
    from rich.table import Table

    table = Table(title=f"Plan: {_title(plan)}", title_justify="left")
    first, *numbers, last = _titles(plan)
    table.add_column(first)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(last)
    for row in plan.rows:
        table.add_row(*_cells(row))
    return table


def _titles(plan: Plan) -> tuple[str, ...]:
    first = "method" if plan.model == KMEANS else "model"
    return (first, "error", "noise", "memory", "passes", "note")


def _title(plan: Plan) -> str:
    delta = f", δ = {plan.delta:.3g}" if plan.delta else ""
    found = f"{plan.k} {_FOUND.get(plan.model, 'clusters')}"
    return f"{plan.n:,} rows, {plan.d} columns, {found}, ε = {plan.epsilon:g}{delta}"


def _cells(row: PlanRow) -> list[str]:
    """A line of the table; a method without a prediction has none."""
    numbers = [f"{row.error:.2g}", _noise(row), _bytes(row.memory), f"{row.passes:,}"]
    return [row.method, *(numbers if row.predicted else ["–"] * 4), row.why_not or row.note]


def sentences_of(plan: Plan) -> list[str]:
    """What the numbers of a plan say, in words."""
    unit = "the units of the bounds" if plan.bounded else "half-widths of its column"
    drowned = (
        "Even that is no better than always answering the middle: take more rows, a larger ε, "
        "fewer columns or fewer centres."
    )
    bound = (
        f"Lower bound: worst-case expected cost ≥ {plan.floor.cost:.2g}, the sum of squared "
        "distances in that cube over all datasets of up to so many rows, for every method."
    )
    methods = plan.model == KMEANS
    choice = f"Default: {plan.default}. Smallest predicted error: {plan.best}."
    return [
        *([choice] if methods else []),
        *([drowned] if plan.drowned else []),
        *([bound] if methods and plan.floor.cost else []),
        "Error: mean squared distance of a centre in the cube [−1, 1]^d, where a method finds "
        f"clusters of equal size. Noise: one deviation of a coordinate, in {unit}.",
        f"Memory is beside the rows, which take {_bytes(plan.lattice)}. No data was read, and no "
        "privacy spent.",
    ]


def _noise(row: PlanRow) -> str:
    """One deviation of a coordinate, in the user's units where bounds were given."""
    sizes = row.noise_in_units or (row.noise,)
    low, high = (f"{size:.2g}" for size in (min(sizes), max(sizes)))
    return f"± {low}" if low == high else f"± {low} to {high}"


def _bytes(amount: float) -> str:
    """A number of bytes in the largest unit that it fills."""
    units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(int(math.log10(max(amount, 1)) / 3), len(units) - 1)
    return f"{amount / 1000**power:.3g} {units[power]}"

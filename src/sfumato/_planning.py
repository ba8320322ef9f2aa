"""Every method side by side before any row is read: no data, so no privacy cost."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from inspect import signature
from typing import Any

from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._lattice.box import REACH, Box
from sfumato._private_kmeans import PrivateKMeans
from sfumato.methods import (
    METHODS,
    Auto,
    Balcan,
    DPLloyd,
    EUGkM,
    GkM,
    GkM3K,
    Hybrid,
    MaxCover,
    PGkM,
    Sukpisit,
    Task,
)
from sfumato.methods import formulas as f
from sfumato.methods._auto.predict import foresee
from sfumato.methods._balcan import foresee as foresee_balcan
from sfumato.methods._base import SLICE
from sfumato.methods._dplloyd import RHO, choose_noise, noise_error, weights
from sfumato.theory import Floor, cube_floor

_NUMBER = 8
"""Bytes of an int64 or a float64."""

_KEPT = 2**24
"""Up to so many coordinates of cells are kept at once, as in `synopsis.cells`."""

_COVERED = 2**26
"""Counts that a cover keeps, as in `curator.cover_state`."""

_REACHED = 60
"""Numbers that a cover keeps for each row: three for each of about twenty blocks."""


@dataclass(frozen=True)
class Outlook(Task):
    """A task whose rows are still to come: `n` are expected, `n_rows` is what will be declared."""

    n: int = 0


@dataclass(frozen=True)
class Prediction:
    """What a method is expected to do.

    `error` is the mean squared distance, in the cube [−1, 1]^d, between a centre and the one that
    the same method would find without noise; `noise` the deviation of one of its coordinates;
    `memory` the bytes of the method's arrays beside the rows; `passes` go over all rows.
    """

    error: float
    noise: float
    memory: int
    passes: int
    note: str


def _dplloyd(task: Outlook) -> Prediction:
    method = DPLloyd()
    parts = weights(method.schedule, method.iterations)
    law = choose_noise(method.noise, len(parts), task)
    note = f"{len(parts)} iterations with {law} noise, from a blind start"
    return _prediction(task, _step(task, law, parts), _totals(task), len(parts), note)


def _sukpisit(task: Outlook) -> Prediction:
    method = Sukpisit()
    parts = weights("halving", method.max_iter)
    law = choose_noise(method.noise, len(parts), task)
    note = f"up to {len(parts)} iterations with {law} noise, from a blind start"
    return _prediction(task, _step(task, law, parts), _totals(task), len(parts), note)


def _eugkm(task: Outlook) -> Prediction:
    return _grid(task, EUGkM(), _after_count(task), "an upper bound")


def _hybrid(task: Outlook) -> Prediction:
    method, epsilon, d = Hybrid(), _after_count(task), task.n_features
    grid = EUGkM(method.theta, method.n_starts)
    if task.epsilon < f.hybrid_threshold(task.n, d, task.k, method.rho):
        return _grid(task, grid, epsilon, "an upper bound; too little ε for a step")
    start = _grid(task, grid, epsilon / 2, f"then one step with {method.noise} noise")
    error = f.step_mse(task.n, task.k, epsilon / 2, noise_error(method.noise, d))
    return _prediction(task, error, start.memory + _totals(task), start.passes + 1, start.note)


def _grid(task: Outlook, method: EUGkM, epsilon: float, remark: str) -> Prediction:
    """Eqs. 9 and 10 for the grid that is laid."""
    d = task.n_features
    cells = method.grid(task.n, d, epsilon).n_cells
    error = f.eugkm_mse(task.n, d, task.k, epsilon, cells)
    # Four numbers a cell while it is counted; then its middle, worked out in three steps.
    numbers = max(4, 2 + 3 * d) if cells * d <= _KEPT else 4
    memory = _NUMBER * numbers * cells
    note = f"{cells:,} cells, {remark}"
    return _prediction(task, error, memory, 1 + _count_passes(task), note)


def _gkm(task: Outlook) -> Prediction:
    return _blocks(task, task.n ** GkM().exponent)


def _gkm3k(task: Outlook) -> Prediction:
    return _blocks(task, task.n / (GkM3K().rows_per_center * task.k))


def _blocks(task: Outlook, wanted: float) -> Prediction:
    blocks = max(1, int(wanted))
    d, k, n = task.n_features, task.k, task.n
    # Eq. 3 halves ε: the other half buys the range, here the full width.
    error = f.gkm_noise(n, d, k, _after_sizes(task), blocks)
    # The hash, the block and the order of the rows; the centres of all blocks, ranked and clipped.
    memory = 3 * _NUMBER * (n + blocks * k * d)
    note = f"{blocks:,} blocks; without the error of averaging them"
    return _prediction(task, error, memory, 2 + _count_passes(task), note)


def _pgkm(task: Outlook) -> Prediction:
    method, d = PGkM(), task.n_features
    rounds = method.rounds(task.n, float(task.epsilon))
    picks = (rounds - 1) * method.parents + 1
    # A row costs at most 4d: the exponential mechanism lies 4d·ln(candidates)/ε₀ above the best.
    # Moving a centre by z costs each of its rows |z|² more, so cost per row is squared distance.
    error = 4 * d * math.log(method.candidates) * picks / (task.n * _after_sizes(task))
    memory = 2 * _NUMBER * method.candidates * task.k * d
    note = f"{picks:,} picks in {rounds:,} rounds; without the error of the search"
    return _prediction(task, error, memory, rounds + 1 + _count_passes(task), note)


def _auto(task: Outlook) -> Prediction:
    seen = foresee(Auto(), task, task.n)
    return _prediction(task, seen.error, seen.memory, seen.passes, seen.note)


def _balcan(task: Outlook) -> Prediction:
    seen = foresee_balcan(Balcan(), task, task.n)
    return _prediction(task, seen.error, seen.memory, seen.passes, seen.note)


def _maxcover(task: Outlook) -> Prediction:
    method = MaxCover()
    caps, parts, grids = method.caps(task), method.parts(task), method.grids(task, task.n)
    last = float(parts["final"] / (parts["averages"] + parts["final"]))
    budget = math.sqrt(mu2_of(*caps.gaussian) * last)
    error = f.step_mse(task.n, task.k, budget, noise_error("gaussian", task.n_features))
    # Counts of points near rows, and the rows that each block of points is near to.
    points = min(_COVERED, grids.work(task.n)) + _REACHED * task.n
    note = (
        f"{method.picks_for(task.k)} picks at each of {len(grids.radii)} radii in "
        f"{grids.n_features} dimensions; without the error of the cover"
    )
    return _prediction(task, error, int(_NUMBER * points), 4 + _count_passes(task), note)


PREDICTIONS: dict[str, Callable[[Outlook], Prediction]] = {
    "auto": _auto,
    "dplloyd": _dplloyd,
    "sukpisit": _sukpisit,
    "eugkm": _eugkm,
    "hybrid": _hybrid,
    "gkm": _gkm,
    "gkm3k": _gkm3k,
    "pgkm": _pgkm,
    "balcan": _balcan,
    "maxcover": _maxcover,
}


def _prediction(task: Task, error: float, memory: int, passes: int, note: str) -> Prediction:
    # Centres are clipped into the cube: noise without end leaves one of its corners.
    per_axis = min(error / task.n_features, 1 + (2 * RHO) ** 2)
    return Prediction(per_axis * task.n_features, math.sqrt(per_axis), memory, passes, note)


def _step(task: Outlook, law: str, parts: list[int]) -> float:
    """The error of the last of several noisy Lloyd steps that share the budget."""
    part = parts[-1] / sum(parts)
    if law == "gaussian":
        budget = math.sqrt(mu2_of(task.epsilon, task.delta) * part)
    else:
        budget = float(task.epsilon) * part
    return f.step_mse(task.n, task.k, budget, noise_error(law, task.n_features))


def _totals(task: Task) -> int:
    """Bytes of counts and sums: exact, their noise, and released."""
    return 3 * _NUMBER * task.k * (task.n_features + 1)


def _count_passes(task: Task) -> int:
    """A pass for the number of rows, unless it is declared."""
    return int(task.n_rows is None)


def _after_count(task: Task) -> float:
    """What is left of ε when the number of rows is bought, unless it is declared."""
    return float(task.epsilon * (1 - SLICE) ** _count_passes(task))


def _after_sizes(task: Task) -> float:
    """What is left of ε when the sizes of the final clusters are bought as well."""
    return _after_count(task) * float(1 - SLICE)


MOST_ROWS = 10**15
"""More rows than this were not meant."""


@dataclass(frozen=True)
class PlanRow:
    """What is expected of one method: see `Prediction`. `why_not` is empty where it can run.

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

    @property
    def default(self) -> str:
        """The method that `PrivateKMeans` takes when none is named."""
        return str(signature(PrivateKMeans).parameters["method"].default)

    @property
    def best(self) -> str:
        """The method with the smallest predicted error among those that can run."""
        able = [row for row in self.rows if row.fits]
        return min(able, key=lambda row: row.error).method if able else self.default

    @property
    def floor(self) -> Floor:
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

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values; what is infinite is None."""
        names = ("n", "d", "k", "epsilon", "delta", "n_rows_known", "default", "best")
        return {name: getattr(self, name) for name in names} | {
            "lattice_bytes": self.lattice,
            "drowned": self.drowned,
            "least_cost": self.floor.cost,
            "methods": [_plain(row) for row in self.rows],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The plan as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        return _render(self)


def plan(
    *,
    n: int,
    d: int,
    k: int,
    epsilon: float,
    delta: float = 0.0,
    bounds: Any = None,  # noqa: ANN401
    n_rows_known: bool = False,
) -> Plan:
    """Predict what every method would yield and need. Reads no data and costs no privacy.

    Parameters
    ----------
    n, d, k : int
        Expected number of rows, columns and centres. A rough n will do.
    epsilon, delta : float
        The privacy budget.
    bounds : pair (lower, upper), optional
        Public bounds, scalars or one value per column; with them noise is also told in their units.
    n_rows_known : bool, default=False
        Whether the fit will declare its number of rows public, so that no method has to buy it.

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
    if n > MOST_ROWS:
        raise ValueError(f"n must be at most {MOST_ROWS:.0e}, got {n}")
    box = None if bounds is None else Box.of(bounds, d)
    spent = check_epsilon(epsilon), check_delta(delta)
    task = Outlook(k, d, *spent, n if n_rows_known else None, n)
    rows = tuple(_row(name, task, box) for name in METHODS)
    return Plan(n, d, k, float(spent[0]), float(spent[1]), bool(n_rows_known), rows)


def _row(name: str, task: Outlook, box: Box | None) -> PlanRow:
    try:
        METHODS[name]().caps(task)
        expected = PREDICTIONS[name](task)
    except (ValueError, OverflowError) as error:
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


def _render(plan: Plan, width: int = 100) -> str:
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(table_of(plan))
        for sentence in sentences_of(plan):
            console.print(sentence)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def table_of(plan: Plan) -> Any:  # noqa: ANN401  (rich is imported only where it prints)
    """The methods of a plan as a rich table."""
    from rich.table import Table

    delta = f", δ = {plan.delta:.3g}" if plan.delta else ""
    title = (
        f"Plan: {plan.n:,} rows, {plan.d} columns, {plan.k} centres, ε = {plan.epsilon:g}{delta}"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    for heading in ("error", "noise", "memory", "passes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("note")
    for row in plan.rows:
        if row.fits:
            cells = [
                f"{row.error:.2g}",
                _noise(row),
                _bytes(row.memory),
                f"{row.passes:,}",
                row.note,
            ]
        else:
            cells = ["–"] * 4 + [row.why_not]
        table.add_row(row.method, *cells)
    return table


def sentences_of(plan: Plan) -> list[str]:
    """What the numbers of a plan say, in words."""
    unit = "the units of the bounds" if plan.bounded else "half-widths of its column"
    drowned = (
        "Even that is no better than always answering the middle: take more rows, a larger ε, "
        "fewer columns or fewer centres."
    )
    return [
        f"Default: {plan.default}. Smallest predicted error: {plan.best}.",
        *([drowned] if plan.drowned else []),
        *([_floor(plan)] if plan.floor.cost else []),
        "Error: mean squared distance of a centre in the cube [−1, 1]^d, where a method finds "
        f"clusters of equal size. Noise: one deviation of a coordinate, in {unit}.",
        f"Memory is beside the rows, which take {_bytes(plan.lattice)}. No data was read, and no "
        "privacy spent.",
    ]


def _floor(plan: Plan) -> str:
    return (
        "No method keeps the expected sum of squared distances below "
        f"{plan.floor.cost:.2g} in that cube on all datasets of up to so many rows, not even where "
        "clusters without privacy cost nothing."
    )


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

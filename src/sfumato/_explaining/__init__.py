"""What tells released clusters apart: noisy distributions of columns, and sentences about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Account, Caps
from sfumato._accounting.gaussian_dp import mu2_of
from sfumato._accounting.guarantee import neighbours_of
from sfumato._base.types import Floats
from sfumato._base.validation import check_delta, check_epsilon
from sfumato._core.curator import Answer, Curator
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.queries.cells import Nearest
from sfumato._core.queries.choose import Guesses
from sfumato._core.queries.cubes import NearestInProjection
from sfumato._explaining.columns import FEWEST, MOST_SLICES, Binned, binned
from sfumato._explaining.explanation import Explanation, explained, sizes_of
from sfumato._explaining.rows import (
    columns_of,
    kept,
    lattice_cells,
    opened,
    receipt_of,
    reserved,
    spending,
    unit_of,
)
from sfumato._lattice.box import Box
from sfumato._schema.kinds import Column
from sfumato._schema.schema import Schema

READABLE, CLEAR = 0.02, 0.001
"""Deviations of a count, over the size of a middling cluster: shares can just be read with the
first, and with the second noise is hardly seen."""

CHOOSING = Fraction(1, 5)
"""The part of ε that goes into the choice of columns, where there are too many."""

LEAST, MOST = 3, 5
"""Columns that are chosen, however much noise there is, and however little."""

HEAVIEST = 64
"""What a row of a small cluster counts in the choice of columns."""


@dataclass(frozen=True)
class Plan:
    """How an explanation divides its budget, by public numbers alone.

    Of the columns `picks` are chosen; None counts them all. Numbers are cut into `slices`. Counts
    get Gaussian noise where `delta` is above 0: of the δ that was allowed, if that is less noise.
    """

    epsilon: Fraction
    delta: Fraction
    picks: int | None
    slices: int

    @property
    def caps(self) -> Caps:
        """What may be spent: on the choice pure ε alone."""
        choice = self.epsilon * CHOOSING if self.picks else Fraction(0)
        if not self.delta:
            return Caps(pure=self.epsilon)
        return Caps(pure=choice, gaussian=(self.epsilon - choice, self.delta))


def plan_of(
    n_columns: int, sizes: Floats, rows: int, epsilon: Fraction, delta: Fraction, *, every: bool
) -> Plan:
    """Divide a budget: `sizes` (k,) were released before, one neighbour takes `rows` rows away.

    Columns are chosen, unless `every` one is asked for, where noise on the counts of all of them
    would be seen and there are so many more that it pays for the choice.
    """
    middling = float(np.median(np.maximum(sizes, 1.0)))
    clear, fit = (_columns_within(r * middling / rows, epsilon, delta) for r in (CLEAR, READABLE))
    enough = max(LEAST, clear, min(MOST, int(fit * (1 - CHOOSING))))
    picks = None if every or n_columns <= math.ceil(enough / (1 - CHOOSING)) else enough
    for_counts = epsilon * (1 - CHOOSING) if picks else epsilon
    laplace, best = (_std_of(picks or n_columns, for_counts, d) for d in (Fraction(0), delta))
    slices = int(np.clip(middling / (4 * rows * best), FEWEST, MOST_SLICES))
    return Plan(epsilon, delta if best < laplace else Fraction(0), picks, slices)


def explain(
    curator: Curator,
    centers: Floats,
    *,
    sizes: Floats,
    box: Box | None = None,
    schema: Schema | None = None,
    columns: Iterable[str] | None = None,
    epsilon: float = 0.2,
    delta: float = 0.0,
) -> Explanation:
    """Count the columns of clusters that were released, and say what tells these apart.

    `centers` (k, d) lie in the cube [−1, 1]^d, `sizes` (k,) are noisy; both were released before.
    They are those of a model with this `schema` or, without one, with this `box`. By default all
    columns of the curator are looked at, also those that took no part in the fit, and those that
    tell the clusters apart best are counted.

    Guarantee: all that leaves is computed from answers of the curator, which are charged to one
    account of (ε, δ), from what was released before, and from public facts.
    """
    exact, at_most = check_epsilon(epsilon), check_delta(delta)
    known = columns_of(curator, schema, box)
    asked = _asked(columns, known)
    rows, sizes = curator.rows_per_neighbour, sizes / unit_of(curator)
    plan = plan_of(len(asked), sizes, rows, exact, at_most, every=columns is not None)
    wide, cells, places = _placed(curator, centers, schema, asked, known)
    gaps = curator.box.nan == "ignore" if schema is None else None
    bins = [
        binned(
            name,
            known[name] if schema is None else places[name][0],
            places[name][1],
            gaps=gaps if gaps is not None else known[name].missing == "ignore",
            slices=plan.slices,
        )
        for name in asked
    ]
    account = reserved(curator, "Explanation", plan.caps, {"explain": asked})
    chosen, answers = _counted(wide, cells, bins, sizes, plan, account)
    return _told(curator, account, bins, chosen, answers)


def _counted(
    wide: Curator,
    cells: Nearest | NearestInProjection,
    bins: Sequence[Binned],
    sizes: Floats,
    plan: Plan,
    account: Account,
) -> tuple[list[int], list[Answer]]:
    """The numbers of the columns that are counted, and their counts."""
    chosen = list(range(len(bins)))
    with spending(account):
        counting = account.rest("gdp" if plan.delta else "pure")
        if plan.picks:
            choosing = account.rest("pure")
            if not plan.delta:
                choosing, counting = choosing.split(CHOOSING, 1 - CHOOSING)
            score = Guesses(Breakdown(cells, tuple(b.bins for b in bins)), _weights(sizes))
            picks = wide.choose(score, share=choosing, picks=plan.picks, law="permute_and_flip")
            chosen = sorted(picks)
        query = Breakdown(cells, tuple(bins[i].bins for i in chosen))
        return chosen, wide.breakdown(query, share=counting)


def _told(
    curator: Curator,
    account: Account,
    bins: Sequence[Binned],
    chosen: Sequence[int],
    answers: Sequence[Answer],
) -> Explanation:
    """Put together what was released."""
    unit = unit_of(curator)
    std = answers[0].noise_std * unit
    tables = [answer.values * unit for answer in answers]
    sizes = sizes_of(tables, std)
    pairs = zip(chosen, tables, strict=True)
    receipt = receipt_of(curator, account, _notes([bins[i] for i in chosen]))
    told = Explanation(
        sizes=np.maximum(sizes.values, 0.0),
        size_std=sizes.std,
        columns=tuple(explained(bins[i], table, std, sizes) for i, table in pairs),
        left_out=tuple(b.name for i, b in enumerate(bins) if i not in chosen),
        unit="people" if curator.neighbours == neighbours_of(1) else "rows",
        receipt=receipt,
    )
    kept(curator, account, told.to_json(), receipt)
    return told


def _placed(
    curator: Curator,
    centers: Floats,
    schema: Schema | None,
    asked: Sequence[str],
    known: Mapping[str, Column],
) -> tuple[Curator, Nearest | NearestInProjection, dict[str, tuple[Column, int]]]:
    """The rows with all columns that are needed, the clusters there, and where columns begin."""
    if schema is None:
        places = {name: (column, i) for i, (name, column) in enumerate(known.items())}
        return curator, lattice_cells(centers), places
    wide, cells, seen = opened(curator, centers, schema, asked)
    places = {name: (seen.columns[name], place.start) for name, place in seen.places.items()}
    return wide, cells, places


def _asked(columns: Iterable[str] | None, known: Mapping[str, Column]) -> list[str]:
    if columns is None:
        return list(known)
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}")
    asked = list(dict.fromkeys(columns))
    for name in asked:
        if name not in known:
            raise ValueError(
                f"there is no column {name!r} to explain; there are {', '.join(known)}"
            )
    if not asked:
        raise ValueError("columns must name at least one column")
    return asked


def _weights(sizes: Floats) -> list[int]:
    """What a row of each cluster counts: all clusters alike, but those below half the mean size."""
    safe = np.maximum(sizes, 1.0)
    least = safe.mean() / 2
    weights: list[int] = np.rint(HEAVIEST * least / np.maximum(safe, least)).astype(int).tolist()
    return [max(1, weight) for weight in weights]


def _std_of(columns: int, epsilon: Fraction, delta: Fraction) -> float:
    """The deviation of a count, of so many columns together, for one row as neighbour.

    That of Laplace noise, or of Gaussian noise where δ allows it and it is less.
    """
    laplace = math.sqrt(2) * columns / float(epsilon)
    return min(laplace, math.sqrt(columns / float(mu2_of(epsilon, delta)))) if delta else laplace


def _columns_within(std: float, epsilon: Fraction, delta: Fraction) -> int:
    """How many columns can be counted with this deviation at most."""
    fit = std * float(epsilon) / math.sqrt(2)
    if delta:
        fit = max(fit, std**2 * float(mu2_of(epsilon, delta)))
    return int(min(fit, 2.0**20))


def _notes(bins: Sequence[Binned]) -> tuple[str, ...]:
    """What became of missing cells that were put at the centre, where no bin tells them apart."""
    centred = [b.name for b in bins if b.column.missing == "center" and b.column.kind != "flag"]
    if not centred:
        return ()
    return (f"missing cells of {', '.join(centred)}, if any, count where they were put",)


__all__ = ["Explanation", "Plan", "explain", "plan_of"]

"""What Nguyen, Chaturvedi and Xu 2021 say of their figure, and whether the table agrees."""

from __future__ import annotations

import math

from bench.inertia_data import title
from bench.inertia_runs import Result, Table
from bench.papers.su2015_verdicts import CORRECTED, NO_NOISE, ClaimList

Found = tuple[bool | None, str]
claim = ClaimList(CORRECTED)
CLAIMS, judge = claim.claims, claim.judge


def curves(table: Table, method: str) -> dict[str, dict[int, Result]]:
    """The results of a method by dataset and k.

    Raises KeyError where there are none: then nothing can be said.
    """
    found: dict[str, dict[int, Result]] = {}
    for (dataset, k, name, *_), result in table.items():
        if name.split()[0] == method and result.runs:
            found.setdefault(dataset, {})[k] = result
    if len(found) < 2:
        raise KeyError(f"{method} was not run on both datasets")
    return {dataset: dict(sorted(curve.items())) for dataset, curve in sorted(found.items())}


def clearly(lower: Result, higher: Result) -> bool:
    """Whether one mean is below another by more than two standard errors."""
    return lower.mean + 2 * math.hypot(lower.error, higher.error) < higher.mean


def beats(table: Table, one: str, two: str) -> Found:
    """Whether one method is clearly below another at every k of both datasets."""
    mine, theirs = curves(table, one), curves(table, two)
    lines, lower, whole = [], 0, 0
    for dataset, curve in mine.items():
        pairs = [(k, curve[k], theirs[dataset][k]) for k in curve if k in theirs[dataset]]
        whole += len(pairs)
        lower += sum(clearly(a, b) for _, a, b in pairs)
        numbers = ", ".join(f"{k}: {a.mean / b.mean:.3g}" for k, a, b in pairs)
        lines.append(f"{title(dataset)}: {numbers}")
    said = f"clearly lower at {lower} of {whole}; {one} / {two} at k — {'; '.join(lines)}"
    return lower == whole > 0, said


def falls(table: Table, method: str) -> tuple[list[float], str]:
    """What is left of the first k's cost at the last k, on each dataset."""
    parts, lines = [], []
    for dataset, curve in curves(table, method).items():
        first, last = min(curve), max(curve)
        parts.append(curve[last].mean / curve[first].mean)
        lines.append(f"{title(dataset)} {parts[-1]:.3g}")
    return parts, f"{method}: {', '.join(lines)}"


@claim(
    "Experiments",
    "Max cover has a lower cost than Balcan et al. on both datasets (at most k, clearly higher at "
    "none)",
)
def cover_beats_balcan(table: Table) -> Found:
    mine, theirs = curves(table, "maxcover"), curves(table, "balcan")
    lower, higher, whole, most = 0, [], 0, []
    for dataset, curve in mine.items():
        pairs = [(k, curve[k], theirs[dataset][k]) for k in curve if k in theirs[dataset]]
        below = sum(a.mean < b.mean for _, a, b in pairs)
        lower, whole = lower + below, whole + len(pairs)
        most.append(below > len(pairs) / 2)
        higher += [f"{title(dataset)} k = {k}" for k, a, b in pairs if clearly(b, a)]
    said = f"lower at {lower} of {whole}, clearly higher at: {', '.join(higher) or 'none'}"
    return all(most) and not higher, f"{said}; {beats(table, 'maxcover', 'balcan')[1]}"


@claim(
    "Experiments",
    "Without privacy more centres lower the cost (last k over first: below 0.9)",
    NO_NOISE,
)
def centers_help_lloyd(table: Table) -> Found:
    parts, said = falls(table, "lloyd")
    return all(part < 0.9 for part in parts), said


@claim("Experiments", "With privacy cost does not fall concomitantly (by less, in both)")
def private_curves_are_flat(table: Table) -> Found:
    free, without = falls(table, "lloyd")
    found = [falls(table, method) for method in ("maxcover", "balcan")]
    flatter = [mine > plain for parts, _ in found for mine, plain in zip(parts, free, strict=True)]
    return all(flatter), "; ".join([*(said for _, said in found), without])


@claim("beyond", "`auto` has a lower cost than max cover at every k")
def auto_beats_cover(table: Table) -> Found:
    return beats(table, "auto", "maxcover")


@claim("beyond", "Max cover has a lower cost than private k-means (`dplloyd`) at every k")
def cover_beats_dplloyd(table: Table) -> Found:
    return beats(table, "maxcover", "dplloyd")

"""What Su et al. 2015 say in passing: starts, steps, schedules, counts and blocks."""

from __future__ import annotations

from bench.papers.su2015_compare import Found, Tables, clearly
from bench.papers.su2015_data import EIGHT, JUDGED, SOURCES
from bench.papers.su2015_points import BLOCK_EPSILON, ROWS_PER_CENTER, STEPS, STUDY_EPSILONS
from bench.papers.su2015_runs import Result
from bench.papers.su2015_verdicts import CORRECTED, claim

USUAL = 5


def couples(tables: Tables, one: str, two: str) -> list[tuple[str, float, Result, Result]]:
    """Two kinds of runs at every dataset and ε at which both were done."""
    table = tables["studies"]
    found = [
        (n, e, table[n, one, e, 0.0], table[n, two, e, 0.0])
        for n in JUDGED
        for e in STUDY_EPSILONS
        if (n, one, e, 0.0) in table and (n, two, e, 0.0) in table
    ]
    if not found:
        raise ValueError(f"no point has both {one} and {two}")
    return found


def told(found: list[tuple[str, float, Result, Result]]) -> str:
    """How often the first is clearly better, and worse."""
    better = sum(clearly(a, b) for _, _, a, b in found)
    worse = sum(clearly(b, a) for _, _, a, b in found)
    return f"clearly better at {better}, clearly worse at {worse} of {len(found)} points"


@claim("4.1.1", "Random starts can perform poorly: sphere packing is clearly better somewhere")
def packing_helps(tables: Tables) -> Found:
    found = couples(tables, "uniform", "random_start")
    return any(clearly(a, b) for _, _, a, b in found), told(found)


@claim("4.1.1", "Five iterations seem to work well for many settings (within 10 % of the best)")
def five_steps(tables: Tables) -> Found:
    near, points = 0, 0
    for curve in _by_steps(tables):
        points += 1
        near += curve[USUAL].mean <= 1.1 * min(r.mean for r in curve.values())
    return near > points / 2, f"at {near} of {points} points, among {', '.join(map(str, STEPS))}"


@claim("1", "With a much larger number of iterations DPLloyd performs poorly (20 against 5)")
def many_steps_hurt(tables: Tables) -> Found:
    curves = _by_steps(tables)
    worse = sum(clearly(curve[USUAL], curve[max(STEPS)]) for curve in curves)
    return worse > len(curves) / 2, f"clearly worse at {worse} of {len(curves)} points"


def _by_steps(tables: Tables) -> list[dict[float, Result]]:
    table = tables["studies"]
    return [
        {t: table[name, "steps", epsilon, float(t)] for t in STEPS}
        for name in JUDGED
        for epsilon in STUDY_EPSILONS
    ]


@claim("2", "A decreasing budget distorts more with each iteration: an increasing one is better")
def increasing_is_better(tables: Tables) -> Found:
    found = couples(tables, "increasing", "halving")
    better = sum(clearly(a, b) for _, _, a, b in found)
    worse = sum(clearly(b, a) for _, _, a, b in found)
    even = told(couples(tables, "increasing", "uniform"))
    return better > worse, f"{told(found)}; than the same budget for every iteration: {even}"


@claim("4.2", "Signed counts cluster better than counts rounded to numbers of at least 0")
def signed_is_better(tables: Tables) -> Found:
    found = couples(tables, "signed", "rounded")
    better = sum(clearly(a, b) for _, _, a, b in found)
    worse = sum(clearly(b, a) for _, _, a, b in found)
    means = "; ".join(f"{SOURCES[n].title} {a.mean:.3g} / {b.mean:.3g}" for n, _, a, b in found)
    return better > worse, f"{told(found)}, ε = {STUDY_EPSILONS[0]:g}: {means}"


@claim("4.1.2", "Clamping the output range of GkM to the domain improves it greatly", CORRECTED)
def clamping_helps(tables: Tables) -> Found:
    if not tables["studies"]:
        raise ValueError("nothing was run")
    return None, (
        "here a range is chosen inside the domain from the start; the estimator of the code that "
        "the authors corrected is not in the paper"
    )


@claim("5.2", "The error of GkM falls with the size of blocks until that is close to k", CORRECTED)
def blocks_down_to_k(tables: Tables) -> Found:
    best = {}
    for name in EIGHT:
        sizes = {
            r: tables["studies"][name, "rows", BLOCK_EPSILON, float(r)].mean
            for r in ROWS_PER_CENTER
            if (name, "rows", BLOCK_EPSILON, float(r)) in tables["studies"]
        }
        if sizes:
            best[name] = min(sizes, key=sizes.__getitem__)
    if not best:
        raise ValueError("no block was made")
    near = sum(rows <= 3 for rows in best.values())
    numbers = "; ".join(f"{SOURCES[n].title} {rows}k" for n, rows in best.items())
    return near > len(best) / 2, f"best size, rows: {numbers}"

"""What Su et al. 2015 say about the methods before theirs (§5), and whether the tables agree.

DPLloyd is judged with the paper's noise, and EUGkM with its solver where that takes no more than
seconds. Claims about TIGER rest on the ZIP codes of the paper's two states; the five towns are
beside.
"""

from __future__ import annotations

import numpy as np

from bench.papers.su2015_compare import (
    Found,
    Tables,
    at,
    beside,
    clearly,
    compare,
    pairs,
    rises,
)
from bench.papers.su2015_data import JUDGED, LOW_JUDGED, SIX, SOURCES, TOWNS
from bench.papers.su2015_points import BLOCK_EPSILON
from bench.papers.su2015_runs import Table
from bench.papers.su2015_verdicts import AS_PRINTED, BY_OURS, CORRECTED, claim

SMALL = 0.1
SEVEN = tuple(name for name in (*SIX, "zip") if name != TOWNS)

WITH_CORRECTED = "theirs; DPLloyd as printed, GkM and PGkM as corrected"
WITH_OURS = "theirs; DPLloyd as printed, EUGkM with our solver"
OUR_SOLVER = "theirs, with our solver"
PAIRS = ((AS_PRINTED, "dplloyd_equal", "eugkm_lloyd"), (BY_OURS, "dplloyd", "eugkm"))


def measured(table: Table) -> list[str]:
    """The six datasets and the ZIP codes, as far as they are in a table; the towns last.

    Raises ValueError where there are fewer than the five that are not about TIGER.
    """
    found = [name for name in (*SEVEN, TOWNS) if any(key[0] == name for key in table)]
    if len(found) < len(SEVEN):
        raise ValueError("datasets are missing")
    return found


@claim("5.1", "Of the interactive methods DPLloyd is the best in most cases", WITH_CORRECTED)
def dplloyd_is_best(tables: Tables) -> Found:
    fig1, lost = tables["fig1"], []
    rivals = ("pgkm", "gkm", "gkm3k")
    points = [(n, e) for n, e, _, _ in pairs(fig1, "dplloyd_equal", "pgkm")]
    points = [(n, e) for n, e in points if all((n, m, e, 0.0) in fig1 for m in rivals)]
    for name, e in points:
        best = min(fig1[name, m, e, 0.0].mean for m in rivals)
        if best < fig1[name, "dplloyd_equal", e, 0.0].mean:
            lost.append((name, e))
    won = len(points) - len(lost)
    return won > len(points) / 2, f"best at {won} of {len(points)} points; not at: {at(lost)}"


@claim("5.1", "DPLloyd is worse than PGkM only on S1 and only for ε < 0.15", WITH_CORRECTED)
def worse_than_pgkm(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "dplloyd_equal", "pgkm")
    worse = [(n, e) for n, e, a, b in found if clearly(b, a) and n != TOWNS]
    towns = [(n, e) for n, e, a, b in found if clearly(b, a) and n == TOWNS]
    only = all(name == "s1" and epsilon < 0.15 for name, epsilon in worse)
    told = f"worse by over two standard errors at: {at(worse)}; beside: {at(towns)}"
    return only and bool(worse), told


def _beats_on_s1(tables: Tables, dplloyd: str, eugkm: str) -> Found:
    found = pairs(tables["fig1"], eugkm, dplloyd, ("s1",), most=SMALL)
    holds = all(clearly(a, b) for _, _, a, b in found)
    return holds, compare(tables["fig1"], eugkm, dplloyd, ("s1",), [0.05, 0.1])


def _beats_in_low_dimensions(tables: Tables, dplloyd: str, eugkm: str) -> Found:
    found = pairs(tables["fig1"], eugkm, dplloyd, LOW_JUDGED, most=SMALL)
    won = sum(clearly(a, b) for _, _, a, b in found)
    numbers = compare(tables["fig1"], eugkm, dplloyd, LOW_JUDGED, [0.05])
    return won == len(found), f"{won} of {len(found)} points; {numbers}"


for about, dplloyd, eugkm in PAIRS:
    claim("5.1", "On S1 EUGkM beats DPLloyd at small ε (0.05, 0.1)", about)(
        lambda t, d=dplloyd, e=eugkm: _beats_on_s1(t, d, e)
    )
    claim("5.1", "In low dimensions EUGkM clearly beats DPLloyd at small ε (0.05, 0.1)", about)(
        lambda t, d=dplloyd, e=eugkm: _beats_in_low_dimensions(t, d, e)
    )


@claim(
    "5.1", "There the gap between EUGkM and DPLloyd shrinks as ε grows from 0.05 to 2", WITH_OURS
)
def gap_shrinks(tables: Tables) -> Found:
    gaps: dict[str, dict[float, float]] = {}
    for name, epsilon, a, b in pairs(tables["fig1"], "eugkm", "dplloyd_equal"):
        if name in (*LOW_JUDGED, TOWNS):
            gaps.setdefault(name, {})[epsilon] = abs(b.mean - a.mean)
    ends = {name: (gap[min(gap)], gap[max(gap)]) for name, gap in gaps.items()}
    told = {name: f"{SOURCES[name].title} {a:.2g} to {b:.2g}" for name, (a, b) in ends.items()}
    return all(a > b for n, (a, b) in ends.items() if n != TOWNS), beside(told)


def _dplloyd_beats(tables: Tables, dplloyd: str) -> Found:
    won, lines = [], []
    for name in ("adult", "lifesci"):
        found = pairs(tables["fig1"], dplloyd, "eugkm", (name,))
        won += [a.mean < b.mean for _, _, a, b in found]
        here = sum(a.mean < b.mean for _, _, a, b in found)
        lines.append(f"{SOURCES[name].title} {here} of {len(found)}")
    numbers = compare(tables["fig1"], dplloyd, "eugkm", ("adult", "lifesci"), [0.05, 1.0])
    return sum(won) >= 5 / 6 * len(won), f"{'; '.join(lines)}; {numbers}"


for about, dplloyd in ((WITH_OURS, "dplloyd_equal"), (BY_OURS, "dplloyd")):
    claim("5.1", "On Adult-num and Lifesci DPLloyd beats EUGkM at almost all ε (ten of 12)", about)(
        lambda t, d=dplloyd: _dplloyd_beats(t, d)
    )


@claim("5.2", "GkM is always much worse than the others (over twice the NICV)", WITH_CORRECTED)
def gkm_is_worst(tables: Tables) -> Found:
    ratios = [
        (a.mean / b.mean, name, epsilon)
        for other in ("dplloyd_equal", "eugkm", "pgkm")
        for name, epsilon, a, b in pairs(tables["fig1"], "gkm", other)
    ]
    judged = [each for each in ratios if each[1] != TOWNS]
    ratio, name, epsilon = min(judged)
    told = {
        "": f"{sum(r > 2 for r, _, _ in judged)} of {len(judged)}; least {ratio:.2g} times on "
        f"{SOURCES[name].title} at ε = {epsilon:g}"
    }
    towns = [r for r, n, _ in ratios if n == TOWNS]
    if towns:
        told[TOWNS] = f"{SOURCES[TOWNS].title} {sum(r > 2 for r in towns)} of {len(towns)}"
    return all(r > 2 for r, _, _ in judged), beside(told)


@claim(
    "5.2",
    "With N^0.4 blocks the noise of GkM outweighs what aggregation loses, everywhere",
    CORRECTED,
)
def gkm_noise_dominates(tables: Tables) -> Found:
    fig3, told, holds = tables["fig3"], {}, []
    for name in measured(fig3):
        best = fig3[name, "baseline", 0.0, 0.0].mean
        noise, sag = (fig3[name, m, BLOCK_EPSILON, 0.6].mean - best for m in ("noise", "sag"))
        holds.append(noise > sag or name == TOWNS)
        told[name] = f"{SOURCES[name].title} {noise:.2g} / {sag:.2g}"
    return all(holds), "above the best, noise / aggregation: " + beside(told)


@claim("5.2", "Blocks smaller than N^0.6 rows make GkM better on every dataset", CORRECTED)
def smaller_blocks(tables: Tables) -> Found:
    best = {}
    for name in measured(tables["fig3"]):
        sizes = {k[3]: r.mean for k, r in tables["fig3"].items() if k[:2] == (name, "gkm")}
        best[name] = min(sizes, key=sizes.__getitem__)
    told = {n: f"{SOURCES[n].title} N^{size:g}" for n, size in best.items()}
    holds = all(size < 0.6 for n, size in best.items() if n != TOWNS)
    return holds, f"best size at ε = 1: {beside(told)}"


@claim("5.2", "GkM-3K is competitive with PGkM (median ratio of NICV at most 1.25)", CORRECTED)
def gkm3k_competes(tables: Tables) -> Found:
    ratios = [a.mean / b.mean for _, _, a, b in pairs(tables["fig1"], "gkm3k", "pgkm", JUDGED)]
    better = sum(ratio < 1 for ratio in ratios)
    median = float(np.median(ratios))
    return median <= 1.25, f"median ratio {median:.2f}; better at {better} of {len(ratios)} points"


@claim(
    "5.2",
    "Sometimes GkM-3K is significantly better than PGkM, as on TIGER and Lifesci (clearly, at some "
    "ε on both)",
    CORRECTED,
)
def gkm3k_wins(tables: Tables) -> Found:
    won, told = {}, {}
    for name in ("zip", "lifesci", TOWNS):
        mine = [clearly(a, b) for _, _, a, b in pairs(tables["fig1"], "gkm3k", "pgkm", (name,))]
        won[name] = sum(mine)
        told[name] = f"{SOURCES[name].title} {sum(mine)} of {len(mine)}"
    return bool(won["zip"] and won["lifesci"]), beside(told)


@claim("5.2", "GkM-3K still underperforms DPLloyd (clearly ahead nowhere)", WITH_CORRECTED)
def gkm3k_is_behind(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "gkm3k", "dplloyd_equal")
    ahead = [(n, e) for n, e, a, b in found if clearly(a, b) and n != TOWNS]
    towns = [(n, e) for n, e, a, b in found if clearly(a, b) and n == TOWNS]
    number = sum(n != TOWNS for n, _, _, _ in found)
    return not ahead, (
        f"clearly ahead at {len(ahead)} of {number} points: {at(ahead)}; beside: {at(towns)}"
    )


def _eugkm_and_d(tables: Tables, figure: str, dplloyd: str) -> Found:
    table = tables[figure]
    (d, k), (other, _) = rises(table, "eugkm", 10.0), rises(table, dplloyd, 0.0)
    text = f"from d ≤ 4 to d ≥ 8: EUGkM {d:+.2g}, DPLloyd {other:+.2g}; from k ≤ 4 to k ≥ 8: EUGkM"
    return d > other and d > k, f"{text} {k:+.2g}"


def _dplloyd_and_k(tables: Tables, figure: str, dplloyd: str = "dplloyd_equal") -> Found:
    d, k = rises(tables[figure], dplloyd, 0.0)
    return k > d, f"from k ≤ 4 to k ≥ 8: {k:+.2g}; from d ≤ 4 to d ≥ 8: {d:+.2g}"


for figure, where, kinds in (
    ("fig2", "middles in a cube", ("dplloyd_equal", "dplloyd")),
    ("fig2b", "middles in a ball", ("dplloyd_equal",)),
):
    for dplloyd in kinds:
        ours = dplloyd == "dplloyd"
        claim(
            "5.1",
            f"EUGkM suffers more from d than DPLloyd does, and more from d than from k ({where})",
            BY_OURS if ours else WITH_OURS,
        )(lambda t, f=figure, d=dplloyd: _eugkm_and_d(t, f, d))
        claim(
            "5.1",
            f"DPLloyd suffers more from k than from d ({where})",
            BY_OURS if ours else AS_PRINTED,
        )(lambda t, f=figure, d=dplloyd: _dplloyd_and_k(t, f, d))


@claim("5.1", "θ = 10 works well for EUGkM in most cases (within 10 % of the best θ)", OUR_SOLVER)
def theta_ten(tables: Tables) -> Found:
    fig2 = tables["fig2"]
    thetas = sorted({key[3] for key in fig2 if key[1] == "eugkm"})
    names = [n for n, m, _, t in fig2 if m == "eugkm" and t == 10.0]
    names = [n for n in names if all((n, "eugkm", 1.0, t) in fig2 for t in thetas)]
    if len(thetas) < 2 or not names:
        raise ValueError("no dataset was clustered with several θ")
    means = {t: [fig2[name, "eugkm", 1.0, t].mean for name in names] for t in thetas}
    best = np.min(list(means.values()), axis=0)
    near = {t: int((np.array(m) <= 1.1 * best).sum()) for t, m in means.items()}
    numbers = ", ".join(f"θ = {t:g}: {number}" for t, number in near.items())
    return near[10.0] > len(names) / 2, f"of {len(names)} datasets {numbers}"

"""What Su et al. 2015 say about the methods before theirs (§5), and whether the tables agree."""

from __future__ import annotations

import numpy as np

from bench.papers.su2015_compare import Found, Tables, at, clearly, compare, pairs, rises
from bench.papers.su2015_data import HIGH, LOW, SIX, SOURCES
from bench.papers.su2015_points import BLOCK_EPSILON
from bench.papers.su2015_verdicts import claim

SMALL = 0.1


@claim("5.1", "Of the interactive methods DPLloyd is the best in most cases")
def dplloyd_is_best(tables: Tables) -> Found:
    fig1, lost = tables["fig1"], []
    rivals = ("pgkm", "gkm", "gkm3k")
    points = [(n, e) for n, e, _, _ in pairs(fig1, "dplloyd", "pgkm")]
    points = [(n, e) for n, e in points if all((n, m, e, 0.0) in fig1 for m in rivals)]
    for name, e in points:
        best = min(fig1[name, m, e, 0.0].mean for m in rivals)
        if best < fig1[name, "dplloyd", e, 0.0].mean:
            lost.append((name, e))
    won = len(points) - len(lost)
    return won > len(points) / 2, f"best at {won} of {len(points)} points; not at: {at(lost)}"


@claim("5.1", "DPLloyd is worse than PGkM only on S1 and only for ε < 0.15")
def worse_than_pgkm(tables: Tables) -> Found:
    worse = [(n, e) for n, e, a, b in pairs(tables["fig1"], "dplloyd", "pgkm") if clearly(b, a)]
    only = all(name == "s1" and epsilon < 0.15 for name, epsilon in worse)
    return only and bool(worse), f"worse by over two standard errors at: {at(worse)}"


@claim("5.1", "On S1 EUGkM beats DPLloyd at small ε (0.05, 0.1)")
def eugkm_on_s1(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "eugkm", "dplloyd", ("s1",), most=SMALL)
    return all(clearly(a, b) for _, _, a, b in found), compare(
        tables["fig1"], "eugkm", "dplloyd", ("s1",), [0.05, 0.1]
    )


@claim("5.1", "On all low-dimensional datasets EUGkM clearly beats DPLloyd at small ε (0.05, 0.1)")
def eugkm_in_low_dimensions(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "eugkm", "dplloyd", LOW, most=SMALL)
    won = sum(clearly(a, b) for _, _, a, b in found)
    numbers = compare(tables["fig1"], "eugkm", "dplloyd", LOW, [0.05])
    return won == len(found), f"{won} of {len(found)} points; {numbers}"


@claim("5.1", "There the gap between EUGkM and DPLloyd shrinks as ε grows from 0.05 to 2")
def gap_shrinks(tables: Tables) -> Found:
    gaps: dict[str, dict[float, float]] = {}
    for name, epsilon, a, b in pairs(tables["fig1"], "eugkm", "dplloyd", LOW):
        gaps.setdefault(name, {})[epsilon] = abs(b.mean - a.mean)
    ends = {name: (gap[min(gap)], gap[max(gap)]) for name, gap in gaps.items()}
    numbers = "; ".join(f"{SOURCES[n].title} {a:.2g} to {b:.2g}" for n, (a, b) in ends.items())
    return all(a > b for a, b in ends.values()), numbers


@claim("5.1", "On Adult-num and Lifesci DPLloyd beats EUGkM at almost all ε")
def dplloyd_in_high_dimensions(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "dplloyd", "eugkm", HIGH)
    won = {name: sum(a.mean < b.mean for n, _, a, b in found if n == name) for name in HIGH}
    counts = ", ".join(f"{SOURCES[name].title} {number}" for name, number in won.items())
    numbers = compare(tables["fig1"], "dplloyd", "eugkm", HIGH, [0.05, 1.0])
    return sum(won.values()) >= 5 / 6 * len(found), f"of {len(found)} points {counts}; {numbers}"


@claim("5.2", "GkM is always much worse than DPLloyd, EUGkM and PGkM (over twice the NICV)")
def gkm_is_worst(tables: Tables) -> Found:
    ratios = [
        (a.mean / b.mean, name, epsilon)
        for other in ("dplloyd", "eugkm", "pgkm")
        for name, epsilon, a, b in pairs(tables["fig1"], "gkm", other)
    ]
    much = sum(ratio > 2 for ratio, _, _ in ratios)
    ratio, name, epsilon = min(ratios)
    shown = f"{much} of {len(ratios)}; least {ratio:.2g} times on {SOURCES[name].title}"
    return much == len(ratios), f"{shown} at ε = {epsilon:g}"


@claim("5.2", "With N^0.4 blocks the noise of GkM outweighs what aggregation loses, everywhere")
def gkm_noise_dominates(tables: Tables) -> Found:
    fig3, lines, holds = tables["fig3"], [], []
    for name in SIX:
        best = fig3[name, "baseline", 0.0, 0.0].mean
        noise, sag = (fig3[name, m, BLOCK_EPSILON, 0.6].mean - best for m in ("noise", "sag"))
        holds.append(noise > sag)
        lines.append(f"{SOURCES[name].title} {noise:.2g} / {sag:.2g}")
    return all(holds), "above the best, noise / aggregation: " + "; ".join(lines)


@claim("5.2", "Blocks smaller than N^0.6 rows make GkM better on every dataset")
def smaller_blocks(tables: Tables) -> Found:
    best = {}
    for name in SIX:
        sizes = {k[3]: r.mean for k, r in tables["fig3"].items() if k[:2] == (name, "gkm")}
        best[name] = min(sizes, key=sizes.__getitem__)
    numbers = "; ".join(f"{SOURCES[n].title} N^{size:g}" for n, size in best.items())
    return all(size < 0.6 for size in best.values()), f"best size at ε = 1: {numbers}"


@claim("5.2", "GkM-3K is competitive with PGkM (median ratio of NICV at most 1.25)")
def gkm3k_competes(tables: Tables) -> Found:
    ratios = [a.mean / b.mean for _, _, a, b in pairs(tables["fig1"], "gkm3k", "pgkm")]
    better = sum(ratio < 1 for ratio in ratios)
    median = float(np.median(ratios))
    return median <= 1.25, f"median ratio {median:.2f}; better at {better} of {len(ratios)} points"


@claim("5.2", "GkM-3K clearly beats PGkM on TIGER and Lifesci (at most ε)")
def gkm3k_wins(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "gkm3k", "pgkm", ("roads", "zip", "lifesci"))
    won = {}
    for name in ("roads", "zip", "lifesci"):
        mine = [clearly(a, b) for n, _, a, b in found if n == name]
        won[name] = sum(mine), len(mine)
    numbers = ", ".join(f"{SOURCES[name].title} {w} of {n}" for name, (w, n) in won.items())
    return all(2 * w > n for w, n in won.values()), numbers


@claim("5.2", "GkM-3K is behind DPLloyd everywhere")
def gkm3k_is_behind(tables: Tables) -> Found:
    found = pairs(tables["fig1"], "gkm3k", "dplloyd")
    ahead = [(n, e) for n, e, a, b in found if clearly(a, b)]
    return not ahead, f"clearly ahead at {len(ahead)} of {len(found)} points: {at(ahead)}"


@claim("5.1", "EUGkM suffers more from d than DPLloyd does, and more from d than from k")
def eugkm_and_d(tables: Tables) -> Found:
    (d, k), (other, _) = rises(tables["fig2"], "eugkm", 10.0), rises(tables["fig2"], "dplloyd", 0.0)
    text = f"from d ≤ 4 to d ≥ 8: EUGkM {d:+.2g}, DPLloyd {other:+.2g}; from k ≤ 4 to k ≥ 8: EUGkM"
    return d > other and d > k, f"{text} {k:+.2g}"


@claim("5.1", "DPLloyd suffers more from k than from d")
def dplloyd_and_k(tables: Tables) -> Found:
    d, k = rises(tables["fig2"], "dplloyd", 0.0)
    return k > d, f"from k ≤ 4 to k ≥ 8: {k:+.2g}; from d ≤ 4 to d ≥ 8: {d:+.2g}"


@claim("5.1", "θ = 10 works well for EUGkM in most cases (within 10 % of the best θ)")
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

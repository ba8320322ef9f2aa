"""What Su et al. 2015 say about convergence (§5.3), EUGkM's growth and Hybrid (§6)."""

from __future__ import annotations

import numpy as np

from bench.papers.su2015_claims import OUR_SOLVER, WITH_OURS, measured
from bench.papers.su2015_compare import (
    Found,
    Tables,
    at,
    beside,
    clearly,
    compare,
    excess,
    pairs,
    rises,
)
from bench.papers.su2015_data import LOW_JUDGED, SOURCES, TOWNS
from bench.papers.su2015_verdicts import AS_PRINTED, BY_OURS, NO_NOISE, claim

REACHED = 1.05
# What differs by less is a tie.
TIE = 1.002


def curve(tables: Tables, name: str, method: str) -> dict[float, float]:
    """NICV by iterations."""
    found = {key[3]: r.mean for key, r in tables["fig4"].items() if key[:2] == (name, method)}
    return dict(sorted(found.items()))


@claim("5.3", "Lloyd improves much faster than Gene in the first iterations (2 to 4)", NO_NOISE)
def lloyd_is_faster(tables: Tables) -> Found:
    told, faster = {}, []
    for name in measured(tables["fig4"]):
        lloyd, gene = curve(tables, name, "lloyd"), curve(tables, name, "gene")
        faster.append(name == TOWNS or all(lloyd[t] < gene[t] for t in (2, 3, 4)))
        told[name] = f"{SOURCES[name].title} {lloyd[4]:.3g} / {gene[4]:.3g}"
    return all(faster), "after 4, Lloyd / Gene: " + beside(told)


@claim("5.3", "Generally Gene overtakes Lloyd's average run as iterations grow", NO_NOISE)
def gene_overtakes(tables: Tables) -> Found:
    told, overtaken, ties = {}, 0, 0
    names = measured(tables["fig4"])
    judged = [name for name in names if name != TOWNS]
    for name in names:
        lloyd, gene = curve(tables, name, "lloyd"), curve(tables, name, "gene")
        last = max(gene)
        ratio = gene[last] / lloyd[last]
        if name != TOWNS:
            overtaken += ratio < 1 / TIE
            ties += 1 / TIE <= ratio <= TIE
        told[name] = f"{SOURCES[name].title} {lloyd[last]:.4g} / {gene[last]:.4g}"
    numbers = f"overtaken on {overtaken}, level on {ties} of {len(judged)}"
    return overtaken > (len(judged) - ties) / 2, (
        f"{numbers}; after {last:g}, Lloyd / Gene: {beside(told)}"
    )


@claim(
    "5.3",
    "On Image Lloyd reaches the best (within 5 %) after three iterations, Gene needs over ten",
    NO_NOISE,
)
def image_converges(tables: Tables) -> Found:
    goal = REACHED * tables["fig4"]["image", "baseline", 0.0, 0.0].mean
    needed = {}
    for method in ("lloyd", "gene"):
        means = curve(tables, "image", method)
        needed[method] = next((t for t, mean in means.items() if mean <= goal), float("inf"))
    numbers = f"Lloyd {needed['lloyd']:g}, Gene {needed['gene']:g} iterations"
    return needed["lloyd"] <= 3 and needed["gene"] > 10, numbers


@claim("6.2", "NICV of DPLloyd falls faster with ε than that of EUGkM (low dimensions)", WITH_OURS)
def dplloyd_falls_faster(tables: Tables) -> Found:
    told, faster = {}, []
    for name in (*LOW_JUDGED, TOWNS):
        falls = []
        for method in ("dplloyd_equal", "eugkm"):
            found = {k[2]: r.mean for k, r in tables["fig1"].items() if k[:2] == (name, method)}
            falls.append(found[min(found)] / found[max(found)])
        faster.append(falls[0] > falls[1] or name == TOWNS)
        told[name] = f"{SOURCES[name].title} {falls[0]:.3g} / {falls[1]:.3g}"
    return all(faster), "NICV at 0.05 over that at 2, DPLloyd / EUGkM: " + beside(told)


def _in_low_dimensions(tables: Tables, hybrid: str) -> Found:
    found = pairs(tables["fig5"], hybrid, "eugkm", LOW_JUDGED)
    loss, name, epsilon = max((a.mean / b.mean - 1, n, e) for n, e, a, b in found)
    where = f"on {SOURCES[name].title} at ε = {epsilon:g}"
    worse = at([(n, e) for n, e, a, b in found if clearly(b, a)])
    return loss <= 0.05, f"largest loss {100 * loss:.2g} % {where}; clearly worse at: {worse}"


def _at_large_epsilon(tables: Tables, hybrid: str) -> Found:
    found = pairs(tables["fig5"], hybrid, "eugkm", LOW_JUDGED, least=1)
    won = sum(a.mean <= b.mean for _, _, a, b in found)
    numbers = compare(tables["fig5"], hybrid, "eugkm", LOW_JUDGED, [2.0])
    return won > len(found) / 2, f"{won} of {len(found)} points; {numbers}"


def _beats_both(tables: Tables, hybrid: str, dplloyd: str, name: str) -> Found:
    table, won, lost = tables["fig5"], [], []
    for _, e, mine, other in pairs(table, hybrid, "eugkm", (name,)):
        best = min(other.mean, table[name, dplloyd, e, 0.0].mean)
        (won if mine.mean <= best else lost).append((name, e))
    return len(won) > len(lost), f"{len(won)} of {len(won) + len(lost)}; not at: {at(lost)}"


for about, hybrid, dplloyd in (
    (OUR_SOLVER, "hybrid_equal", "dplloyd_equal"),
    (BY_OURS, "hybrid", "dplloyd"),
):
    claim("6.4", "In low dimensions Hybrid is never worse than EUGkM by more than 5 %", about)(
        lambda t, h=hybrid: _in_low_dimensions(t, h)
    )
    claim("6.4", "There at large ε (1, 2) Hybrid is at least as good as EUGkM", about)(
        lambda t, h=hybrid: _at_large_epsilon(t, h)
    )
    for name in ("adult", "lifesci"):
        title = SOURCES[name].title
        claim("6.4", f"On {title} Hybrid beats both EUGkM and DPLloyd in most cases", about)(
            lambda t, h=hybrid, d=dplloyd, n=name: _beats_both(t, h, d, n)
        )


@claim("6.4", "On synthetic data Hybrid scales better than EUGkM with both d and k", BY_OURS)
def hybrid_scales(tables: Tables) -> Found:
    hybrid, eugkm = (rises(tables["fig6"], m, s) for m, s in (("hybrid", 0.0), ("eugkm", 10.0)))
    growth = zip("dk", hybrid, eugkm, strict=True)
    shown = [f"with {axis} {h:+.2g} / {e:+.2g}" for axis, h, e in growth]
    ours, theirs = excess(tables["fig6"], "hybrid"), excess(tables["fig6"], "eugkm", 10.0)
    better = sum(ours[place] <= theirs[place] for place in ours)
    holds = all(h < e for h, e in zip(hybrid, eugkm, strict=True))
    means = f"mean loss {np.mean(list(ours.values())):.3g} / {np.mean(list(theirs.values())):.3g}"
    text = f"Hybrid / EUGkM: growth {', '.join(shown)}; {means}"
    return holds, f"{text}; better on {better} of {len(ours)} datasets"


def _is_quicker(tables: Tables, dplloyd: str, eugkm: str) -> Found:
    found = pairs(tables["fig7"], dplloyd, eugkm)
    lines = [
        f"{SOURCES[n].title} {1000 * a.seconds:.3g} / {1000 * b.seconds:.3g}"
        for n, _, a, b in found
    ]
    quicker = [a.seconds < b.seconds for _, _, a, b in found]
    return all(quicker), "milliseconds, DPLloyd / EUGkM: " + "; ".join(lines)


for about, dplloyd, eugkm in (
    (AS_PRINTED, "dplloyd_equal", "eugkm_lloyd"),
    (BY_OURS, "dplloyd", "eugkm"),
):
    claim("6.4", "A run of DPLloyd takes less time than one of EUGkM, on all datasets", about)(
        lambda t, d=dplloyd, e=eugkm: _is_quicker(t, d, e)
    )

"""What Su et al. 2015 say about convergence (§5.3), EUGkM's growth and Hybrid (§6)."""

from __future__ import annotations

import numpy as np

from bench.papers.su2015_compare import Found, Tables, at, clearly, compare, excess, pairs, rises
from bench.papers.su2015_data import HIGH, LOW, SIX, SOURCES
from bench.papers.su2015_verdicts import claim

REACHED = 1.05


def curve(tables: Tables, name: str, method: str) -> dict[float, float]:
    """NICV by iterations."""
    found = {key[3]: r.mean for key, r in tables["fig4"].items() if key[:2] == (name, method)}
    return dict(sorted(found.items()))


@claim("5.3", "Lloyd improves much faster than Gene in the first iterations (2 to 4)")
def lloyd_is_faster(tables: Tables) -> Found:
    lines, faster = [], []
    for name in SIX:
        lloyd, gene = curve(tables, name, "lloyd"), curve(tables, name, "gene")
        faster.append(all(lloyd[t] < gene[t] for t in (2, 3, 4)))
        lines.append(f"{SOURCES[name].title} {lloyd[4]:.3g} / {gene[4]:.3g}")
    return all(faster), "after 4, Lloyd / Gene: " + "; ".join(lines)


@claim("5.3", "As iterations grow Gene generally overtakes Lloyd's average run")
def gene_overtakes(tables: Tables) -> Found:
    lines, overtaken = [], 0
    for name in SIX:
        lloyd, gene = curve(tables, name, "lloyd"), curve(tables, name, "gene")
        last = max(gene)
        overtaken += gene[last] <= lloyd[last]
        lines.append(f"{SOURCES[name].title} {lloyd[last]:.4g} / {gene[last]:.4g}")
    return overtaken > len(SIX) / 2, f"after {last:g}, Lloyd / Gene: " + "; ".join(lines)


@claim("5.3", "On Image Lloyd reaches the best (within 5 %) in three iterations, Gene in over ten")
def image_converges(tables: Tables) -> Found:
    goal = REACHED * tables["fig4"]["image", "baseline", 0.0, 0.0].mean
    needed = {}
    for method in ("lloyd", "gene"):
        means = curve(tables, "image", method)
        needed[method] = next((t for t, mean in means.items() if mean <= goal), float("inf"))
    numbers = f"Lloyd {needed['lloyd']:g}, Gene {needed['gene']:g} iterations"
    return needed["lloyd"] <= 3 and needed["gene"] > 10, numbers


@claim("6.2", "The NICV of DPLloyd falls faster with ε than that of EUGkM in low dimensions")
def dplloyd_falls_faster(tables: Tables) -> Found:
    lines, faster = [], []
    for name in LOW:
        falls = []
        for method in ("dplloyd", "eugkm"):
            found = {k[2]: r.mean for k, r in tables["fig1"].items() if k[:2] == (name, method)}
            falls.append(found[min(found)] / found[max(found)])
        faster.append(falls[0] > falls[1])
        lines.append(f"{SOURCES[name].title} {falls[0]:.3g} / {falls[1]:.3g}")
    return all(faster), "NICV at 0.05 over that at 2, DPLloyd / EUGkM: " + "; ".join(lines)


@claim("6.4", "In low dimensions Hybrid is never worse than EUGkM by more than 5 %")
def hybrid_in_low_dimensions(tables: Tables) -> Found:
    found = pairs(tables["fig5"], "hybrid", "eugkm", LOW)
    loss, name, epsilon = max((a.mean / b.mean - 1, n, e) for n, e, a, b in found)
    where = f"on {SOURCES[name].title} at ε = {epsilon:g}"
    worse = at([(n, e) for n, e, a, b in found if clearly(b, a)])
    return loss <= 0.05, f"largest loss {100 * loss:.2g} % {where}; clearly worse at: {worse}"


@claim("6.4", "In low dimensions at large ε (1, 2) Hybrid is at least as good as EUGkM")
def hybrid_at_large_epsilon(tables: Tables) -> Found:
    found = pairs(tables["fig5"], "hybrid", "eugkm", LOW, least=1)
    won = sum(a.mean <= b.mean for _, _, a, b in found)
    numbers = compare(tables["fig5"], "hybrid", "eugkm", LOW, [2.0])
    return won > len(found) / 2, f"{won} of {len(found)} points; {numbers}"


@claim("6.4", "On Adult-num and Lifesci Hybrid beats both EUGkM and DPLloyd in most cases")
def hybrid_in_high_dimensions(tables: Tables) -> Found:
    rivals = {
        (n, e): min(b.mean, tables["fig5"][n, "dplloyd", e, 0.0].mean)
        for n, e, _, b in pairs(tables["fig5"], "hybrid", "eugkm", HIGH)
    }
    won = [(n, e) for (n, e), r in rivals.items() if tables["fig5"][n, "hybrid", e, 0.0].mean <= r]
    return len(won) > len(rivals) / 2, f"{len(won)} of {len(rivals)} points: {at(won)}"


@claim("6.4", "On synthetic data Hybrid scales better than EUGkM with both d and k")
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


@claim("6.4", "A run of DPLloyd takes less time than one of EUGkM, on all datasets")
def dplloyd_is_quicker(tables: Tables) -> Found:
    found = pairs(tables["fig7"], "dplloyd", "eugkm")
    lines = [
        f"{SOURCES[n].title} {1000 * a.seconds:.3g} / {1000 * b.seconds:.3g}"
        for n, _, a, b in found
    ]
    quicker = [a.seconds < b.seconds for _, _, a, b in found]
    return all(quicker), "milliseconds, DPLloyd / EUGkM: " + "; ".join(lines)

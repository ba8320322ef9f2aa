"""What the tables say beyond van der Ende 2023: other attacks, and centres without noise."""

from __future__ import annotations

import numpy as np

from bench.papers.su2015_compare import Found, clearly
from bench.papers.su2015_runs import Result
from bench.papers.vanderende2023_claims import Tables, along, claim, ends
from bench.papers.vanderende2023_data import SOURCES
from bench.papers.vanderende2023_kinds import CLEAN


@claim(
    "beyond", "A likelihood ratio on distances to the centres finds more members than the forest"
)
def ratio_beats_forest(tables: Tables) -> Found:
    table, lines, more = tables["privacy"], [], []
    for name in SOURCES:
        pair = [table[name, f"{kind}.advantage", CLEAN, 0.0] for kind in ("lira", "forest")]
        more.append(clearly(pair[1], pair[0]))
        lines.append(f"{SOURCES[name].title} {pair[0].mean:.3f} / {pair[1].mean:.3f}")
    return all(more), "without noise, likelihood ratio / forest: " + "; ".join(lines)


@claim("beyond", "A report gives its row away (error below a tenth of that without it) at ε = 9")
def reports_betray(tables: Tables) -> Found:
    table, ratios = tables["privacy"], {}
    for name in SOURCES:
        ratios[name] = along(table, name, "posterior.ratio")[9.0].mean
    lines = [f"{SOURCES[n].title} {ends(table, n, 'posterior.ratio')}" for n in SOURCES]
    return max(ratios.values()) < 0.1, "error ratio at the least ε → 1 → 9: " + "; ".join(lines)


KINDS = {"denoised": "few", "denoised_many": "many"}


def is_gain(result: Result, sign: int = 1) -> bool:
    """Whether a difference on the same reports is clearly above 0, or below for sign −1."""
    return sign * result.mean > 2 * result.error


@claim("beyond", "Denoised centres of k-means err clearly less at most points with ε ≤ 1")
def denoising_helps(tables: Tables) -> Found:
    table, won, number, lost, lines = tables["utility"], 0, 0, [], []
    for kind, rows in KINDS.items():
        for name in SOURCES:
            gains = along(table, name, f"{kind}.gain")
            won += sum(is_gain(r) for e, r in gains.items() if e <= 1)
            number += sum(e <= 1 for e in gains)
            title = f"{SOURCES[name].title} ({rows} rows)"
            lost += [f"{title} ε = {e:g}" for e, r in gains.items() if is_gain(r, -1)]
            before = along(table, name, f"{kind}.plain_error")[0.5].mean
            lines.append(f"{title} {before:.2f} → {before - gains[0.5].mean:.2f}")
    told = f"better at {won} of {number}; worse at any ε: {', '.join(lost) or 'none'}"
    return won > number / 2, f"{told}; relative error at ε = 0.5: " + "; ".join(lines)


@claim("beyond", "Denoising never lowers the ARI of k-means by more than 0.05")
def denoising_keeps_ari(tables: Tables) -> Found:
    gains, better = [], 0
    for kind in KINDS:
        for name in SOURCES:
            found = along(tables["utility"], name, f"{kind}.ari_gain")
            gains += [r.mean for r in found.values()]
            better += sum(is_gain(r) for r in found.values())
    told = f"changes by {np.mean(gains):+.4f} on average, {min(gains):+.3f} to {max(gains):+.3f}"
    return min(gains) >= -0.05, f"{told}; clearly higher at {better} of {len(gains)} points"

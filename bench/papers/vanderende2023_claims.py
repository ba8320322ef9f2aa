"""What van der Ende 2023 says and what follows beyond it, and whether the tables agree."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import spearmanr

from bench.papers.su2015_compare import Found, clearly
from bench.papers.su2015_runs import Result, Table
from bench.papers.su2015_verdicts import CORRECTED, NO_NOISE, OURS, ClaimList
from bench.papers.vanderende2023_data import REAL, SOURCES, SYNTHETIC
from bench.papers.vanderende2023_kinds import ADMISSIBLE, CLEAN
from bench.papers.vanderende2023_points import CLUSTERERS, LABELS

Tables = dict[str, Table]
claim = ClaimList(CORRECTED)
CLAIMS, judge = claim.claims, claim.judge
RISE = 0.8


def along(table: Table, name: str, method: str) -> dict[float, Result]:
    """The results of a method by ε, without that of no noise.

    Raises KeyError where there are none: then nothing can be said.
    """
    found = {k[2]: r for k, r in table.items() if k[:2] == (name, method) and k[2] != CLEAN}
    if len(found) < 2:
        raise KeyError(f"{method} was not run on {name}")
    return dict(sorted(found.items()))


def ends(table: Table, name: str, method: str) -> str:
    """The means at the least, a middle and the largest ε."""
    found = along(table, name, method)
    shown = [min(found), 1.0, max(found)]
    return " → ".join(f"{found[e].mean:.2f}" for e in shown if e in found)


def rises(table: Table, name: str, method: str) -> bool:
    """Whether means grow with ε: rank correlation above 0.8, and clearly from end to end."""
    found = along(table, name, method)
    means = [r.mean for r in found.values()]
    return bool(
        clearly(found[min(found)], found[max(found)])
        and spearmanr(list(found), means).statistic > RISE
    )


def rising(table: Table, names: tuple[str, ...], metric: str) -> Found:
    """Whether a measure rises with ε for every clusterer and dataset."""
    fails, lines, number = [], [], 0
    for name in names:
        for kind in CLUSTERERS:
            number += 1
            if not rises(table, name, f"{kind}.{metric}"):
                fails.append(f"{LABELS[kind]} on {SOURCES[name].title}")
            lines.append(
                f"{LABELS[kind]}, {SOURCES[name].title}: " + ends(table, name, f"{kind}.{metric}")
            )
    told = f"{number - len(fails)} of {number}; least ε → 1 → largest: " + "; ".join(lines)
    return not fails, told + (f"; not: {', '.join(fails)}" if fails else "")


@claim("2.1.1", "The lower ε, the more noise: the mean distance falls with ε on every dataset")
def distance_falls(tables: Tables) -> Found:
    lines, falls = [], []
    for name in SOURCES:
        means = [r.mean for r in along(tables["distance"], name, "distance.clamped").values()]
        falls.append(all(np.diff(means) < 0))
        lines.append(f"{SOURCES[name].title} {means[0]:.3g} to {means[-1]:.3g}")
    return all(falls), "radii, from the least ε to the largest: " + "; ".join(lines)


@claim("3.1.1", "In two dimensions a report is 2/ε away on average (Eq. 3.3; within 10 %)")
def distance_is_known(tables: Tables) -> Found:
    found = along(tables["distance"], "dataset1", "distance.free")
    worst = max(abs(r.mean * e / 2 - 1) for e, r in found.items())
    clamped = along(tables["distance"], "dataset1", "distance.clamped")
    least = min(clamped)
    told = f"off by at most {100 * worst:.1f} % as drawn; clamped at ε = {least:g} it is"
    return worst <= 0.1, f"{told} {clamped[least].mean:.3g} instead of {2 / least:.3g}"


@claim("5.3.2", "Privacy costs utility: on dataset 1 ARI rises with ε for all three clusterers")
def ari_rises(tables: Tables) -> Found:
    return rising(tables["utility"], ("dataset1",), "ari")


@claim("5.3.2", "On dataset 1 AMI rises with ε for all three clusterers")
def ami_rises(tables: Tables) -> Found:
    return rising(tables["utility"], ("dataset1",), "ami")


@claim("RQ 2", "ARI rises with ε on datasets 2 and 3 too, for all three clusterers", OURS)
def ari_rises_in_more_dimensions(tables: Tables) -> Found:
    return rising(tables["utility"], SYNTHETIC[1:], "ari")


@claim("RQ 3", "ARI rises with ε on real data too, for all three clusterers", OURS)
def ari_rises_on_real_data(tables: Tables) -> Found:
    return rising(tables["utility"], REAL, "ari")


INDICES = {"ch": "Calinski–Harabasz", "silhouette": "the silhouette", "db": "Davies–Bouldin"}


def _scores_high(table: Table, metric: str, kind: str) -> Found:
    """Whether a clusterer is not the worst of the three at most points; a low Davies is good."""
    sign = -1 if metric == "db" else 1
    last, first, whole = 0, 0, 0
    for name in SOURCES:
        curves = {each: along(table, name, f"{each}.{metric}") for each in CLUSTERERS}
        for epsilon in curves[kind]:
            means = {each: sign * found[epsilon].mean for each, found in curves.items()}
            finite = {each: mean for each, mean in means.items() if math.isfinite(mean)}
            if len(finite) > 1:
                whole += 1
                last += kind not in finite or min(finite, key=finite.__getitem__) == kind
                first += kind in finite and max(finite, key=finite.__getitem__) == kind
    told = f"of {whole} points on reports best at {first}, worst (or without a score) at {last}"
    return last < whole / 2, told


for kind, metrics in (("kmeans", ("ch", "silhouette")), ("dbscan", ("silhouette", "db"))):
    for metric in metrics:
        text = f"{LABELS[kind]} scores relatively high on {INDICES[metric]}"
        claim("2.2.2", f"{text} (not the worst of the three at most points)")(
            lambda tables, m=metric, k=kind: _scores_high(tables["utility"], m, k)
        )


@claim("5.3.2", "Silhouette and Calinski–Harabasz tell the same (rank correlation over ε ≥ 0.7)")
def indices_agree(tables: Tables) -> Found:
    lines, agree = [], []
    for kind in CLUSTERERS:
        found = []
        for name in SOURCES:
            pair = [along(tables["utility"], name, f"{kind}.{m}") for m in ("silhouette", "ch")]
            values = np.array([[r.mean for r in each.values()] for each in pair])
            values = values[:, np.isfinite(values).all(axis=0)]
            found.append(float(spearmanr(*values).statistic))
        agree.append(float(np.median(found)) >= 0.7)
        lines.append(f"{LABELS[kind]} median {np.median(found):.2f}, least {min(found):.2f}")
    return all(agree), "; ".join(lines)


@claim(
    "4.4.1",
    "Noise significantly reduces the advantage of membership inference (forest; clearly at every "
    "ε ≤ 1, on most datasets)",
)
def noise_protects_members(tables: Tables) -> Found:
    table, lines, lower = tables["privacy"], [], []
    for name in SOURCES:
        clean = table[name, "forest.advantage", CLEAN, 0.0]
        noisy = along(table, name, "forest.advantage")
        at = [r for e, r in noisy.items() if e <= 1]
        lower.append(all(clearly(r, clean) for r in at))
        worst = max(r.mean for r in at)
        lines.append(f"{SOURCES[name].title} {clean.mean:.3f} / {worst:.3f}")
    told = f"on {sum(lower)} of {len(lower)}; without noise / largest with it: "
    return sum(lower) > len(lower) / 2, told + "; ".join(lines)


@claim("5.4.1", "The adversary's advantage rises with ε on datasets 1 to 3 (clearly, 0.05 to 9)")
def advantage_rises(tables: Tables) -> Found:
    table, lines, rise = tables["privacy"], [], []
    for name in SYNTHETIC:
        found = along(table, name, "forest.advantage")
        rise.append(clearly(found[min(found)], found[max(found)]))
        lines.append(f"{SOURCES[name].title} " + ends(table, name, "forest.advantage"))
    return all(rise), "least ε → 1 → largest: " + "; ".join(lines)


@claim(
    "5.3.2",
    "50 rows are not enough to measure membership inference (their spread is over twice that of "
    "2,000)",
    NO_NOISE,
)
def fifty_are_few(tables: Tables) -> Found:
    table = tables["privacy"]
    few = table["dataset1", "few.advantage", CLEAN, 0.0]
    many = table["dataset1", "forest.advantage", CLEAN, 0.0]
    numbers = f"standard deviation {few.sd:.2f} with 50 rows, {many.sd:.3f} with 2,000"
    return few.sd > 2 * many.sd, f"{numbers}; means {few.mean:.2f} and {many.mean:.2f}"


@claim("5.3.4", "Drawing again until a report is inside is better than clamping it")
def drawing_again_is_better(tables: Tables) -> Found:
    table = tables["utility"]
    ways = {
        w: along(table, "dataset1", f"truncated.{w}") for w in ("ari", "halved_ari", "full_ari")
    }
    better = [e for e, r in ways["ari"].items() if clearly(r, ways["halved_ari"][e])]
    lines = [
        f"ε = {e:g}: " + " / ".join(f"{way[e].mean:.2f}" for way in ways.values())
        for e in ways["ari"]
    ]
    told = "ARI of k-means, clamped / drawn again at the same guarantee / at the same noise: "
    return len(better) > len(lines) / 2, told + "; ".join(lines)


@claim("5.3.4", "Remapping to admissible points hurts the clustering (clearly, at most ε)")
def remapping_hurts(tables: Tables) -> Found:
    table, lines, hurt, whole = tables["utility"], [], 0, 0
    clamped = along(table, "dataset1", "remapped.clamped_ari")
    for side in ADMISSIBLE:
        found = along(table, "dataset1", f"remapped.ari_{side}")
        hurt += sum(clearly(r, clamped[e]) for e, r in found.items())
        whole += len(found)
        lines.append(f"{side} × {side} points {ends(table, 'dataset1', f'remapped.ari_{side}')}")
    told = f"clearly lower at {hurt} of {whole}; ARI of k-means at the least ε → 1 → largest: "
    clean = f"clamped {ends(table, 'dataset1', 'remapped.clamped_ari')}"
    return hurt > whole / 2, told + "; ".join([clean, *lines])


@claim("2.2.1", "The median preference is enough: it finds k clusters on the clean rows", NO_NOISE)
def median_is_enough(tables: Tables) -> Found:
    found = {n: tables["utility"][n, "ap.clusters", CLEAN, 0.0].mean for n in SOURCES}
    told = "; ".join(f"{SOURCES[n].title} {c:g} for {SOURCES[n].k}" for n, c in found.items())
    return all(c == SOURCES[n].k for n, c in found.items()), told


@claim("2.2.1", "A damping of 0.5 is enough for small data (at most 5 % of runs do not settle)")
def damping_is_enough(tables: Tables) -> Found:
    shares = {}
    for name in SOURCES:
        found = along(tables["utility"], name, "ap.unsettled")
        shares[name] = float(np.mean([r.mean for r in found.values()]))
    told = "; ".join(f"{SOURCES[n].title} {100 * s:.0f} %" for n, s in shares.items())
    return max(shares.values()) <= 0.05, told

"""What Sukpisit et al. 2019 say and what was to be reached here, and whether the tables agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from scipy.stats import spearmanr

from bench.engines_serving import CLUSTERS, DASK, LOCAL, Setup
from bench.engines_timing import Best
from bench.papers.su2015_compare import Found
from bench.papers.su2015_verdicts import CORRECTED, NO_NOISE, NOT_PRIVATE, ClaimList
from bench.papers.sukpisit2019_data import SOURCES
from bench.papers.sukpisit2019_printed import LEAST, Key, variants
from bench.papers.sukpisit2019_printed import Result as Printed
from bench.papers.sukpisit2019_runs import METHODS, ONE_START, PLAIN, Result, Table
from bench.papers.sukpisit2019_speed import (
    ENGINES,
    LABELS,
    MEASURED,
    MORE_CLUSTERS,
    ROWS,
    Curve,
    curve,
    efficiency,
    times_local,
)
from bench.papers.sukpisit2019_tables import OFTEN, along, is_good, least_epsilon, said

LINEAR = 0.7
EFFICIENT = 0.85
DEAR = 1.6
RISE = 0.8
TENTHS = {"iris": 0.29, "yeast": 8.6}


@dataclass(frozen=True)
class Tables:
    """Everything that was measured."""

    budget: Table
    speed: dict[Setup, Best]
    printed: dict[Key, Printed] = field(default_factory=dict)


claim = ClaimList(CORRECTED)
CLAIMS, judge = claim.claims, claim.judge


def quiet_curve(tables: Tables, engine: str) -> Curve:
    """The curve of an engine. Raises ValueError where a busy machine leaves nothing to judge."""
    found = curve(tables.speed, engine)
    if not found.is_quiet:
        raise ValueError("the second core was busy")
    return found


@claim("IV", "Execution time falls as processes are added (measured: from one to two)")
def time_falls(tables: Tables) -> Found:
    found = [quiet_curve(tables, engine) for engine in ENGINES]
    told = [
        f"{LABELS[c.engine]} {c.measured[1].seconds:.3g} → {c.measured[2].seconds:.3g} s"
        for c in found
    ]
    falls = [c.measured[2].seconds < c.measured[1].seconds for c in found]
    return all(falls), "; ".join(told)


@claim("V", "Speed-up is at least 70 % of linear at two processes (measured)")
def linear_at_two(tables: Tables) -> Found:
    found = [quiet_curve(tables, engine) for engine in ENGINES]
    told = [f"{LABELS[c.engine]} {c.efficiency:.0%}" for c in found]
    return all(c.efficiency >= LINEAR for c in found), "; ".join(told)


@claim("V", "Speed-up is at least 70 % of linear up to ten processes")
def linear_up_to_ten(tables: Tables) -> Found:
    found = [quiet_curve(tables, engine) for engine in ENGINES]
    told = [f"{LABELS[c.engine]} {c.model.efficiency(10):.0%}" for c in found]
    return None, f"on two cores no ten processes run; by the model at ten: {'; '.join(told)}"


def is_used(tables: Tables, engine: str, clusters: int) -> Found:
    """Whether one more process is worth nearly one. Raises ValueError on a busy machine."""
    one, two = (tables.speed[Setup(engine, p, p, ROWS, clusters)] for p in MEASURED)
    if not (one.is_quiet and two.is_quiet):
        raise ValueError("the second core was busy")
    used = efficiency((one, two))
    return used >= EFFICIENT, (
        f"{used:.1%}: {one.seconds:.3g} s and {two.seconds:.3g} s, "
        f"the best of {one.fits} each in turns; the machine gave {two.machine:.0%}"
    )


for clusters in (CLUSTERS, MORE_CLUSTERS):
    for engine, two in ((LOCAL, "Two threads of the pool"), (DASK, "Two processes of Dask")):
        claim("ours", f"{two} are used to at least 85 % (K = {clusters})")(
            partial(is_used, engine=engine, clusters=clusters)
        )


@claim("ours", "A fit on Dask takes at most 1.6 times the CPU time of the thread pool")
def dask_is_cheap(tables: Tables) -> Found:
    times = times_local(tables.speed, DASK)
    told = ", ".join(f"{t:.2f} with {p} process{'es' * (p > 1)}" for p, t in times.items())
    return max(times.values()) <= DEAR, told


@claim(
    "Table I",
    "Plain k-means has the silhouettes of Table I (within 0.02, one random start)",
    NO_NOISE,
)
def plain_is_the_same(tables: Tables) -> Found:
    told, near = [], []
    for name, source in SOURCES.items():
        once, best = (tables.budget[name, kind, 0.0] for kind in (ONE_START, PLAIN))
        near.append(abs(once.silhouette - source.plain) <= 0.02)
        told.append(
            f"{source.title} {once.silhouette:.4f} (best of ten {best.silhouette:.4f}) "
            f"for {source.plain:.4f}"
        )
    return all(near), "; ".join(told)


def _one_cluster_as_printed(tables: Tables, name: str) -> Found:
    # One step from K rows has noise of the first scale alone.
    mine = [r for r in variants(tables.printed, name, LEAST) if r.key[2] > 1]
    least = min(r.one for r in mine)
    return (
        least > 0.5,
        f"at least {least:.0%} of the runs of every variant of two iterations and more",
    )


for name, source in SOURCES.items():
    claim(
        "IV",
        f"At ε = 0.1 noise puts all rows of {source.title} into a single cluster (most runs)",
        NOT_PRIVATE,
    )(partial(_one_cluster_as_printed, name=name))


@claim("IV", "At ε = 0.1 noise puts all rows into a single cluster (in most runs of `sukpisit`)")
def one_cluster_at_a_tenth(tables: Tables) -> Found:
    found = {name: tables.budget[name, "sukpisit", 0.1] for name in SOURCES}
    told = [f"{SOURCES[n].title} NCM {r.ncm:.1f} of {SOURCES[n].k}" for n, r in found.items()]
    return all(r.ncm < 1.5 for r in found.values()), "; ".join(told)


@claim("Table II", "At the paper's ε all K clusters are kept (nine of ten runs)", NOT_PRIVATE)
def printed_keeps_k(tables: Tables) -> Found:
    told, kept = [], []
    for name, source in SOURCES.items():
        mine = [r for e in source.private for r in variants(tables.printed, name, e)]
        kept += [r.populated >= OFTEN for r in mine]
        shares = [r.populated for r in mine]
        told.append(f"{source.title} {min(shares):.0%} to {max(shares):.0%}")
    decided = all(kept) if all(kept) or not any(kept) else None
    return decided, (
        f"{'; '.join(told)} of runs, by start and number of iterations, which the paper does not "
        "print"
    )


@claim(
    "Table II", "More budget, better silhouette (least to largest of the paper's ε)", NOT_PRIVATE
)
def printed_more_is_better(tables: Tables) -> Found:
    told, better = [], []
    for name, source in SOURCES.items():
        ends = (min(source.private), max(source.private))
        low, high = (
            {r.key[1:3]: r for r in variants(tables.printed, name, e) if r.populated >= 0.5}
            for e in ends
        )
        pairs = [(low[key].silhouette, high[key].silhouette) for key in low if key in high]
        rises = sum(a < b for a, b in pairs)
        told.append(f"{source.title} {rises} of {len(pairs)}")
        better.append(rises > len(pairs) / 2 if pairs else None)
    decided = None if None in better else all(better)
    return decided, f"variants whose silhouette rises: {'; '.join(told)}"


@claim("Table II", "More budget, better silhouette (`sukpisit`, rank correlation over ε ≥ 0.8)")
def more_is_better(tables: Tables) -> Found:
    told, better = [], []
    for name, source in SOURCES.items():
        found = along(tables.budget, name, "sukpisit")
        there = {e: r.silhouette for e, r in found.items() if r.populated}
        if len(there) < len(found) / 2:
            better.append(False)
            told.append(f"{source.title}: hardly a run has all {source.k} clusters")
            continue
        rank = float(spearmanr(list(there), list(there.values())).statistic)
        better.append(rank >= RISE)
        shown = (f"{there[e]:.3f} at ε = {e:g}" for e in (min(there), max(there)))
        told.append(f"{source.title} {rank:.2f}: {', '.join(shown)}")
    return all(better), "; ".join(told)


@claim("Table II", "`sukpisit` keeps all K clusters in nine of ten runs at the paper's ε")
def corrected_keeps_k(tables: Tables) -> Found:
    told, kept = [], []
    for source, found in _at_paper(tables, "sukpisit"):
        kept += [r.populated >= OFTEN for r in found]
        told.append(f"{source.title} " + ", ".join(f"{r.populated:.0%}" for r in found))
    return all(kept), "runs with all K: " + "; ".join(told)


def _at_paper(tables: Tables, method: str) -> list[tuple[object, list[Result]]]:
    return [
        (source, [tables.budget[name, method, e] for e in sorted(source.private)])
        for name, source in SOURCES.items()
    ]


@claim("IV", "The least ε that keeps K clusters differs from dataset to dataset (`auto`)")
def least_differs(tables: Tables) -> Found:
    found = {name: least_epsilon(tables.budget, name, "auto") for name in SOURCES}
    told = "; ".join(
        f"{SOURCES[n].title} {said(e)}, in the paper {SOURCES[n].least:g}" for n, e in found.items()
    )
    return len(set(found.values())) == len(found), told


@claim("ours", "On Iris `auto` is good at a tenth of the paper's least ε (0.29)")
def good_on_iris(tables: Tables) -> Found:
    return _good(tables, "iris")


@claim("ours", "On Yeast `auto` is good at a tenth of the paper's least ε (8.6)")
def good_on_yeast(tables: Tables) -> Found:
    return _good(tables, "yeast")


def _good(tables: Tables, name: str) -> Found:
    source, epsilon = SOURCES[name], TENTHS[name]
    result = tables.budget[name, "auto", epsilon]
    least = least_epsilon(tables.budget, name, "auto")
    others = [
        f"`{m}` {said(least_epsilon(tables.budget, name, m))}" for m in METHODS if m != "auto"
    ]
    numbers = (
        f"all {source.k} in {result.populated:.0%} of {result.point.runs} runs (by distance in the "
        f"cube {result.cube_populated:.0%}), silhouette {result.silhouette:.3f}, the paper's "
        f"{source.private[source.least]:.4f} at ε = {source.least:g}; "
        f"least ε {said(least)}; others: {', '.join(others)}"
    )
    return is_good(result, source), numbers


@claim("ours", "`auto` needs less ε than the corrected method on every dataset")
def auto_needs_less(tables: Tables) -> Found:
    told, less = [], []
    for name, source in SOURCES.items():
        for where, cube in ((source.title, False), ("in the cube", True)):
            pair = [least_epsilon(tables.budget, name, m, cube=cube) for m in ("auto", "sukpisit")]
            less.append(pair[0] < pair[1])
            told.append(f"{where} {said(pair[0])} / {said(pair[1])}")
    return all(less), "least ε, `auto` / `sukpisit`: " + "; ".join(told)

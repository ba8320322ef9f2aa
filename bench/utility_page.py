"""The page of benchmarks: every table on it is made from the tables in the repository."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import utility_k, utility_time
from bench.utility_data import MADE, MEASURED, SOURCES
from bench.utility_points import DELTA, EPSILONS, MAIN, MIDDLES, PEER, REFERENCE, TARGETS, Target
from bench.utility_runs import CAPPED, UNFIT, Result, Table

NAMES = {PEER: "diffprivlib (repaired: equal true ε)"}
NOTHING = "Not measured yet."
END = "<!-- end -->"


@dataclass(frozen=True)
class Tables:
    """Everything that was measured."""

    points: Table
    choices: list[utility_k.Choice]
    timings: list[utility_time.Timing]


@dataclass(frozen=True)
class Verdict:
    """A target and what was measured: `result` is None where nothing was."""

    target: Target
    result: Result | None

    @property
    def value(self) -> float:
        """The mean or the median ratio, whichever the target is about."""
        if self.result is None:
            return float("inf")
        return self.result.median if self.target.by == "median" else self.result.ratio

    @property
    def word(self) -> str:
        """Reached, missed, or not measured."""
        if self.result is None:
            return "not measured"
        enough = self.result.found >= self.target.found if self.target.found else True
        return "reached" if self.value <= self.target.at_most and enough else "missed"

    @property
    def numbers(self) -> str:
        """What the verdict rests on."""
        if self.result is None:
            return "–"
        text = f"{self.value:.4f} ± {self.result.error:.4f}, {self.result.runs} runs"
        if self.target.by == "median":
            text = f"median {self.value:.4f}, {self.result.runs} runs"
        if self.result.found >= 0:
            text += f", every cluster in {round(self.result.found * self.result.runs)}"
        return text


def judge(table: Table, method: str = MAIN) -> list[Verdict]:
    """Every target, with the pure result where the method does not use δ."""
    verdicts = []
    for target in TARGETS:
        keys = [(target.dataset, method, d, target.epsilon) for d in (target.delta, 0.0)]
        found = (table[key] for key in keys if key in table and table[key].has_runs)
        verdicts.append(Verdict(target, next(found, None)))
    return verdicts


def targets(tables: Tables) -> str:
    """What is aimed at, and whether it was reached."""
    lines = ["| dataset | ε | δ | at most | measured | |", "|---|---|---|---|---|---|"]
    for verdict in judge(tables.points):
        target = verdict.target
        wanted = f"{target.at_most:g}" + (" (median)" if target.by == "median" else "")
        if target.found:
            wanted += f", every cluster in {target.found:.0%}"
        row = SOURCES[target.dataset].title, f"{target.epsilon:g}", f"{target.delta:g}", wanted
        lines.append(f"| {' | '.join(row)} | {verdict.numbers} | **{verdict.word}** |")
    return "\n".join(lines)


def references(tables: Tables) -> str:
    """The datasets and the NICV that ratios are taken to."""
    lines = [
        "| dataset | rows × columns | k | bounds | NICV of k-means | from the true middles |",
        "|---|---|---|---|---|---|",
    ]
    for name in MEASURED:
        source = SOURCES[name]
        base = tables.points.get((name, REFERENCE, 0.0, 0.0))
        better = tables.points.get((name, MIDDLES, 0.0, 0.0))
        row = [source.title, f"{source.n:,} × {source.d}", f"{source.k}", source.bounds]
        row.append(f"{base.nicv:.5g}" if base else "–")
        row.append(f"× {better.ratio:.4f}" if better else "–")
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def ratios(tables: Tables, epsilon: float) -> str:
    """Mean ratio of every method at one ε, a row for each dataset and form."""
    methods = _methods(tables.points)
    heads = [NAMES.get(method, method) for method in methods]
    lines = [f"| dataset | δ | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for name in MEASURED:
        for delta in (0.0, DELTA):
            found = [tables.points.get((name, method, delta, epsilon)) for method in methods]
            if any(found):
                cells = " | ".join(_cell(result) for result in found)
                lines.append(f"| {SOURCES[name].title} | {delta:g} | {cells} |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def _cell(result: Result | None) -> str:
    if result is None:
        return ""
    if not result.has_runs:
        return "–" if result.state == UNFIT else result.state
    text = f"{_short(result.ratio)} ± {_short(result.error, '.1g')}"
    return text + (f" ({result.runs} runs)" if result.state == CAPPED else "")


def _short(value: float, near: str = ".3f") -> str:
    return f"{value:{near}}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def clusters(tables: Tables) -> str:
    """The share of runs that found every cluster, and the median ratio, on data made of them."""
    methods = _methods(tables.points)
    heads = [NAMES.get(method, method) for method in methods]
    lines = [f"| dataset | ε | δ | {' | '.join(heads)} |", "|---" * (len(heads) + 3) + "|"]
    for name in MADE:
        for epsilon in EPSILONS:
            for delta in (0.0, DELTA):
                found = [tables.points.get((name, method, delta, epsilon)) for method in methods]
                if any(result and result.has_runs for result in found):
                    cells = " | ".join(_share(result) for result in found)
                    lines.append(f"| {SOURCES[name].title} | {epsilon:g} | {delta:g} | {cells} |")
    return "\n".join(lines) if len(lines) > 2 else NOTHING


def _share(result: Result | None) -> str:
    if result is None or not result.has_runs:
        return _cell(result)
    return f"{result.found:.0%}, median {_short(result.median)}"


def _methods(table: Table) -> list[str]:
    """Methods in the order of the table, the main one first."""
    found = dict.fromkeys(key[1] for key in table if key[1] not in (REFERENCE, MIDDLES))
    return sorted(found, key=lambda method: method != MAIN)


def choices(tables: Tables) -> str:
    """How often the number of clusters was found."""
    return _listed(map(utility_k.line, tables.choices)) or NOTHING


def timings(tables: Tables) -> str:
    """Time and memory with their targets."""
    return _listed(utility_time.lines(tables.timings)) or NOTHING


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(line.split())}" for line in lines)


def picture(tables: Tables) -> str:
    """The figure, once there is one."""
    return "![Ratio against ε](../bench/figures/utility.png)" if tables.points else NOTHING


PARTS = {
    "targets": targets,
    "references": references,
    "figure": picture,
    "ratios at ε = 1": lambda tables: ratios(tables, EPSILONS[0]),
    "ratios at ε = 0.1": lambda tables: ratios(tables, EPSILONS[1]),
    "clusters": clusters,
    "choice of k": choices,
    "time": timings,
}


def written(page: str, tables: Tables) -> str:
    """The page with every part made again from the tables."""
    for name, make in PARTS.items():
        begin = f"<!-- {name}: written by `python -m bench utility docs` -->\n"
        if page.count(begin) != 1:
            raise ValueError(f"the page must have the part {name!r} once")
        before, _, after = page.partition(begin)
        page = before + begin + make(tables) + "\n" + after[after.index(END) :]
    return page


def rewrite(page: Path, tables: Tables) -> None:
    """Make the tables of the page again."""
    text = written(page.read_text(encoding="utf-8"), tables)
    page.write_text(text, encoding="utf-8")

"""The page about methods and the table of datasets, from docstrings, settings and a plan.

python -m bench methods          # writes docs/methods.md and the table of docs/data.md
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

from bench.data import sources
from sfumato import plan
from sfumato.methods import METHODS, NEEDS_DELTA

DOCS = Path(__file__).parents[1] / "docs"
PAGE, DATA = DOCS / "methods.md", DOCS / "data.md"
N, D, K, EPSILON, DELTA = 50_000, 4, 8, 1.0, 1e-6
PAGES = {"auto": "auto.md", "balcan": "balcan.md", "maxcover": "maxcover.md"}
_DATA = re.compile(r"(\|---\|---\|---\|\n).*?(<!-- end: data -->)", re.DOTALL)
INTRO = f"""# Methods

Written by `python -m bench methods` from the docstrings, the settings and a plan: do not edit. All methods ask the same curator, so their guarantees are the same; they differ in what they ask. [How to choose](choosing.md#method) one; [what was measured](benchmarks.md); [other kinds of clusters](shapes.md), [k-median](kmedian.md) and [mixtures](mixture.md) are estimators of their own.

## Predicted error

For {N:,} rows, {D} columns, {K} centres, ε = {EPSILON:g}, and where noted δ = {DELTA:g}: the mean squared distance of a centre in the cube [−1, 1]^d, if clusters are found ([what the numbers mean](planner.md)).

| method | error | passes | what it does there |
|---|---|---|---|
"""  # noqa: E501


def built_in() -> list[str]:
    """Names of the methods of this library, without those of other packages."""
    return [name for name in METHODS if METHODS[name].__module__.startswith("sfumato.")]


def predicted() -> str:
    """A line of the table for each method."""
    pure = {row.method: row for row in plan(n=N, d=D, k=K, epsilon=EPSILON).rows}
    given = plan(n=N, d=D, k=K, epsilon=EPSILON, delta=DELTA)
    other = {row.method: row for row in given.rows}
    lines = ""
    for name in built_in():
        row = (other if name in NEEDS_DELTA else pure)[name]
        error = "–" if row.error is None else f"{row.error:.1e}"
        mark = " (δ)" if name in NEEDS_DELTA else ""
        passes = "–" if row.passes is None else row.passes
        lines += f"| [`{name}`](#{name}){mark} | {error} | {passes} | {row.note} |\n"
    return lines


def section(name: str) -> str:
    """A method by its docstring, with its settings."""
    method = METHODS[name]
    text = f"\n## {name}\n\n{_prose(inspect.getdoc(method) or '')}\n\n"
    fields = dataclasses.fields(method) if dataclasses.is_dataclass(method) else ()
    if fields:
        text += f"Settings of `sfumato.methods.{method.__name__}`, also as `sfumato fit --set`: "
        text += ", ".join(f"`{field.name}={_default(field)}`" for field in fields) + ".\n\n"
    if name in NEEDS_DELTA:
        text += "It has no pure mode: δ must be above 0.\n\n"
    if name in PAGES:
        text += f"More: [{name}]({PAGES[name]}).\n"
    return text.rstrip("\n") + "\n"


def _default(field: dataclasses.Field[object]) -> str:
    return "…" if field.default is dataclasses.MISSING else repr(field.default)


def _prose(text: str) -> str:
    """The paragraphs before the first section of a docstring, each on one line."""
    text = re.split(r"\n\w+\n-{3,}\n", text)[0].strip()
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def page() -> str:
    """The page about methods."""
    return INTRO + predicted() + "".join(map(section, built_in()))


def data_page(text: str) -> str:
    """The page about data with its table."""
    lines = "".join(f"| `{s.name}` | {s.licence} | {s.cite} |\n" for s in sources().values())
    return _DATA.sub(lambda found: f"|---|---|---|\n{lines}{found[2]}", text, count=1)


def main(_: list[str]) -> None:
    """Write both pages."""
    PAGE.write_text(page(), encoding="utf-8")
    DATA.write_text(data_page(DATA.read_text("utf-8")), encoding="utf-8")

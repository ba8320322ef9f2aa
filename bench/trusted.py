"""The size of the code that must be trusted for a guarantee, chapter by chapter.

    python -m bench trusted            # writes the tables of docs/trusted.md
    python -m bench trusted --check    # says whether they are up to date

Lines of code are lines without blank lines, comments, docstrings and imports. The words of the page
are written by hand; the tables stand between markers.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sfumato"
PAGE = ROOT / "docs" / "trusted.md"

CHAPTERS: dict[str, tuple[str, str]] = {
    "accounting": (
        "Accounting",
        "_base/validation.py _accounting/budget.py _accounting/gaussian_dp.py "
        "_accounting/composition.py _accounting/guarantee.py _accounting/receipt.py "
        "_accounting/parallel.py _accounting/text.py _accounting/html.py _accounting/__init__.py",
    ),
    "sampling": (
        "Sampling",
        "_core/sampling/stream.py _core/sampling/exact.py _core/sampling/additive.py "
        "_core/sampling/joint.py _core/sampling/choice.py _core/sampling/bernoulli.py "
        "_core/sampling/source.py _core/sampling/__init__.py",
    ),
    "mechanisms": (
        "Mechanisms and the curator",
        "_core/mechanisms.py _core/private_data.py _core/curator.py _core/answers.py "
        "_core/parts.py _core/declared.py _core/__init__.py",
    ),
    "queries": (
        "Core queries",
        "_core/queries/cells.py _core/queries/counts.py _core/queries/first_below.py "
        "_core/queries/moments.py _core/queries/privtree.py _core/queries/projection.py "
        "_core/queries/breakdown.py _core/queries/closeness.py _core/queries/__init__.py "
        "_core/releases/counts.py "
        "_core/releases/first_below.py _core/releases/breakdown.py _core/releases/closeness.py "
        "_core/releases/moments.py _core/releases/privtree.py _core/releases/__init__.py",
    ),
    "kernels": (
        "Kernels",
        "_base/types.py _lattice/box.py _lattice/kernels/dispatch.py _lattice/kernels/gaps.py "
        "_lattice/kernels/numpy_loops.py _lattice/kernels/projection.py "
        "_lattice/kernels/numba_loops.py _lattice/kernels/verify.py "
        "_lattice/kernels/__init__.py _lattice/__init__.py",
    ),
    "memory": (
        "Rows in memory",
        "engines/_open.py engines/_memory.py engines/_threads.py engines/_progress.py "
        "engines/_rows.py engines/_frames.py engines/_groups.py _base/labels.py "
        "engines/_parts.py engines/__init__.py",
    ),
    "estimator": (
        "Estimator",
        "_private_fit.py _private_stream.py _private_kmeans.py _private_kmedian.py "
        "_released_model.py _released_centers.py _base/distances.py _base/files.py "
        "_base/__init__.py",
    ),
    "schema": (
        "Tables with a schema",
        "_schema/schema.py _schema/encoding.py _schema/kinds.py _schema/levels.py _schema/cells.py "
        "_schema/weight.py _schema/types.py _schema/words.py _schema/toml.py engines/_cells.py "
        "_core/weighted.py _schema/__init__.py",
    ),
    "steps": (
        "Steps in front of a fit",
        "_pipeline.py _rowwise.py",
    ),
    "bounds": (
        "Private bounds",
        "_core/queries/histograms.py _core/releases/histograms.py _private_bounds/estimate.py "
        "_private_bounds/__init__.py",
    ),
    "groups": (
        "Rows per group",
        "_core/queries/group_sizes.py _core/releases/group_sizes.py",
    ),
    "mixtures": (
        "Mixtures",
        "_core/queries/scatter.py _core/releases/scatter.py _private_mixture.py "
        "_released_mixture.py",
    ),
    "ledger": (
        "Durable ledgers",
        "_ledger/durable.py _ledger/modes.py _ledger/store.py _ledger/sqlite.py "
        "_ledger/postgres.py _ledger/ledger.py _ledger/books.py _ledger/__init__.py",
    ),
    "papers": (
        "The papers' queries",
        "_core/queries/counts_each.py _core/releases/counts_each.py "
        "_core/queries/cubes.py _core/queries/choose.py _core/releases/choose.py "
        "_core/releases/sample_aggregate.py "
        "_core/queries/max_cover.py _core/releases/max_cover.py _lattice/kernels/costs.py "
        "_lattice/kernels/cubes.py _lattice/kernels/cover.py _lattice/kernels/numba_cover.py",
    ),
    "engines": (
        "Files and engines",
        "engines/_elsewhere.py engines/_files.py engines/formats/_storage.py "
        "engines/formats/_table.py engines/formats/_text.py "
        "engines/formats/_records.py engines/formats/_csv.py engines/formats/_npy.py "
        "engines/formats/_parquet.py engines/formats/__init__.py engines/_partitions.py "
        "engines/_dask.py engines/_dask_worker.py engines/_spark.py "
        "engines/_spark_worker.py engines/_compss.py",
    ),
    "local": (
        "Local model",
        "_core/local/lattice.py _core/local/one_column.py "
        "_core/local/ldp.py _core/local/randomizer.py _core/local/__init__.py "
        "local/_transformer.py local/_ndlaplace.py local/_mechanisms.py local/_clustering.py "
        "local/__init__.py",
    ),
}
"""The files of each chapter, in the order in which to read them."""

MUST_BE_LISTED = (
    "_core",
    "_accounting",
    "_lattice",
    "_ledger",
    "_schema",
    "engines",
    "_private_fit.py",
    "_private_stream.py",
    "_private_kmeans.py",
    "_private_kmedian.py",
    "_private_mixture.py",
)
"""What holds rows, noise or budget: every file there belongs to a chapter."""

FOR_TESTS = frozenset({"_core/testing.py"})
"""Holds exact numbers of made-up rows. No part of a fit imports it."""

NOT_ON_THE_DEFAULT_PATH = frozenset(
    """
    _base/__init__.py _pipeline.py _rowwise.py _private_kmedian.py
    _accounting/text.py _accounting/html.py _accounting/parallel.py _released_model.py
    _released_centers.py _core/queries/cubes.py
    _core/queries/breakdown.py _core/releases/breakdown.py
    _core/queries/closeness.py _core/releases/closeness.py
    _base/types.py _base/files.py _base/labels.py _base/distances.py _core/parts.py
    _core/declared.py engines/_parts.py
    _lattice/kernels/numba_loops.py _lattice/kernels/verify.py
    _core/sampling/choice.py _core/sampling/bernoulli.py engines/_progress.py
    engines/_rows.py engines/_frames.py engines/_groups.py engines/__init__.py
    """.split()
)
"""Files of the chapters below in which a plain fit calls no function."""

DEFAULT_CHAPTERS = (
    "accounting",
    "sampling",
    "mechanisms",
    "queries",
    "kernels",
    "memory",
    "estimator",
)


@dataclass(frozen=True)
class Size:
    """Lines, and lines of code."""

    lines: int = 0
    code: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.lines + other.lines, self.code + other.code)


def files_of(chapter: str) -> list[str]:
    """The files of a chapter, in reading order."""
    return CHAPTERS[chapter][1].split()


def default_path() -> list[str]:
    """The trusted files that an array, NumPy's kernels, `auto` and a receipt need."""
    read = [name for chapter in DEFAULT_CHAPTERS for name in files_of(chapter)]
    return [name for name in read if name not in NOT_ON_THE_DEFAULT_PATH]


def size_of(name: str) -> Size:
    """Count one file."""
    text = (SOURCE / name).read_text(encoding="utf-8")
    lines = text.splitlines()
    left_out = set(_not_code(ast.parse(text)))
    code = sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in left_out
        for number, line in enumerate(lines, 1)
    )
    return Size(len(lines), code)


def _not_code(tree: ast.Module) -> Iterator[int]:
    """The numbers of the lines of docstrings and imports."""
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            text and isinstance(node.value.value, str)
        ):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def total(names: Iterable[str]) -> Size:
    """Count several files."""
    return sum((size_of(name) for name in names), Size())


def is_marker(name: str) -> bool:
    """Whether a file only marks a package."""
    return name.endswith("__init__.py") and size_of(name).code == 0


def summary() -> str:
    """The table of all chapters, and of the default path."""
    path = set(default_path())
    lines = [
        "| chapter | files | lines | lines of code | of these on the default path |",
        "|---|---:|---:|---:|---:|",
    ]
    everything: list[str] = []
    for key, (title, _) in CHAPTERS.items():
        names = files_of(key)
        everything += names
        lines.append(f"| [{title}](#{_anchor(title)}) | {_cells(names, path)} |")
    lines.append(f"| **all** | {_cells(everything, path)} |")
    return "\n".join([*lines, f"| **the default path** | {_cells(default_path(), path)} |"])


def _cells(names: list[str], path: set[str]) -> str:
    size, there = total(names), total(name for name in names if name in path)
    shown = sum(not is_marker(name) for name in names)
    return f"{shown} | {size.lines:,} | {size.code:,} | {there.code:,}"


def _anchor(title: str) -> str:
    return title.lower().replace("'", "").replace(" ", "-")


def table(chapter: str) -> str:
    """The files of a chapter with their sizes. A star marks the default path."""
    path = set(default_path())
    lines = ["| file | lines | lines of code | |", "|---|---:|---:|---|"]
    for name in files_of(chapter):
        if not is_marker(name):
            size, star = size_of(name), "★" if name in path else ""
            link = f"[`{name}`](../src/sfumato/{name})"
            lines.append(f"| {link} | {size.lines:,} | {size.code:,} | {star} |")
    return "\n".join(lines)


def written(page: str) -> str:
    """The page with the tables as they are now."""
    page = between(page, "summary", summary())
    for chapter in CHAPTERS:
        page = between(page, chapter, table(chapter))
    return page


def between(page: str, name: str, text: str) -> str:
    """Put a text between the two markers of that name."""
    begin, end = f"<!-- {name}: written by `python -m bench trusted` -->\n", f"\n<!-- end of {name}"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"the page has no markers of {name}")
    return before + begin + text + end + after


def main(words: list[str]) -> None:
    """Write the tables of the page, or compare them with the code."""
    parser = argparse.ArgumentParser(prog="python -m bench trusted", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, say what is old")
    options = parser.parse_args(words)
    old = PAGE.read_text(encoding="utf-8")
    new = written(old)
    if not options.check:
        PAGE.write_text(new, encoding="utf-8")
        print(summary())
    elif new != old:
        sys.exit(f"{PAGE.name} is not up to date: run `python -m bench trusted`")

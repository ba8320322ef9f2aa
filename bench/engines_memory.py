"""Memory of a fit of one large Parquet file, which every pass reads again.

`python -m bench engines memory` makes 30 million rows of 8 columns (1.9 GB) in the folder that
SFUMATO_BENCH_FOLDER names, fits them, and deletes them. What the table has is not measured again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.engines_files import COLUMNS, fit_alone, folder, made
from bench.growing_tables import append_row, read_rows
from bench.papers.su2015_verdicts import put

TABLE = Path(__file__).parent / "tables" / "engines_memory.csv"
PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
BEGIN = "<!-- memory: written by `python -m bench engines memory` -->"
END = "<!-- end of memory -->"
HEAD = ["rows", "columns", "method", "threads", "passes", "seconds", "cpu_seconds", "peak_mb"]
ROWS = 30_000_000
METHODS = ("dplloyd", "auto")
MOST_MB = 600


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench engines memory", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--keep", action="store_true", help="leave the file where it was made")
    parser.add_argument("--rows", type=int, default=ROWS, help="so many rows (give as --rows=N)")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(argv)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(int(r["rows"]), r["method"], int(r["threads"])) for r in read_rows(TABLE)}
    wanted = [m for m in METHODS if (options.rows, m, options.threads) not in done]
    path = folder() / f"memory-{options.rows}.parquet"
    try:
        for method in wanted:
            found = fit_alone(method, [made(path, options.rows)], options.threads)
            numbers = [f"{found[name]:.4g}" for name in HEAD[4:]]
            append_row(TABLE, HEAD, [options.rows, COLUMNS, method, options.threads, *numbers])
    finally:
        if not options.keep:
            path.unlink(missing_ok=True)
    print(shown())
    if options.rows == ROWS:
        put(PAGE, shown(), BEGIN, END)


def shown() -> str:
    """What the page shows; seconds on the clock are left out, they tell of the neighbours."""
    lines = [
        f"| rows | method | passes | CPU seconds | peak of memory, at most {MOST_MB} MB |",
        "|---|---|---|---|---|",
    ]
    for row in read_rows(TABLE):
        numbers = f"{row['passes']} | {float(row['cpu_seconds']):.0f} | {row['peak_mb']} MB"
        lines.append(f"| {int(row['rows']):,} x {row['columns']} | `{row['method']}` | {numbers} |")
    return "\n".join(lines)

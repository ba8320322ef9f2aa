"""All five papers: `python -m bench papers` does what their tables lack, and writes their pages.

Every point is written when it is measured, so that whatever was stopped goes on where it was.
`--quick` does a few runs of each, into build/bench.
"""

from __future__ import annotations

import argparse
from importlib import import_module

PAPERS = ("su2015", "sukpisit2019", "nguyen2021", "vanderende2023", "edler2023")


def main(argv: list[str]) -> None:
    """Run the papers one after the other."""
    parser = argparse.ArgumentParser(prog="bench papers", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*PAPERS, []], help="all by default")
    parser.add_argument("--quick", action="store_true", help="a few runs, into build/bench")
    parser.add_argument("--processes", type=int, default=2, help="of one thread each")
    options = parser.parse_args(argv)
    words = ["all", "--processes", str(options.processes), *["--quick"] * options.quick]
    for name in options.names or PAPERS:
        import_module(f"bench.papers.{name}").main(words)

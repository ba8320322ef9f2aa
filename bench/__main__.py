"""Run one bench: `python -m bench noise`, `python -m bench speed --fresh`, `… su2015 fig1`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
# What a paper's bench is divided into has an underscore in its name.
BENCHES = {
    **{p.stem: f"bench.{p.stem}" for p in sorted(HERE.glob("*.py")) if p.stem[0] != "_"},
    **{p.stem: f"bench.papers.{p.stem}" for p in sorted(HERE.glob("papers/[!_]*.py"))},
}
BENCHES = {name: module for name, module in BENCHES.items() if "_" not in name}


def main() -> None:
    """Hand the rest of the command line to the bench that was named."""
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        sys.exit(f"usage: python -m bench NAME [options]; names: {', '.join(BENCHES)}")
    import_module(BENCHES[sys.argv[1]]).main(sys.argv[2:])


if __name__ == "__main__":
    main()

"""Run one bench: `python -m bench noise`, `python -m bench speed --fresh`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

BENCHES = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def main() -> None:
    """Hand the rest of the command line to the bench that was named."""
    if len(sys.argv) < 2 or sys.argv[1] not in BENCHES:
        sys.exit(f"usage: python -m bench NAME [options]; names: {', '.join(BENCHES)}")
    import_module(f"bench.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()

"""Prints constraints for pip: the lowest version of everything that pyproject.toml allows."""

import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
    "project"
]
ALL = [
    *PROJECT["dependencies"],
    *(x for some in PROJECT["optional-dependencies"].values() for x in some),
]


def lowest():
    """One constraint for each package; those with extras of their own cannot be constrained."""
    return sorted({x.replace(">=", "==") for x in ALL if ">=" in x and "[" not in x})


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest()) + "\n")

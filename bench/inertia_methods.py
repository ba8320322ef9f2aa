"""Methods by the names that tables give them: `balcan matlab swaps=4`, `maxcover`, `kmeans++`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.methods import METHODS, Method

KMEANS, BEST_KMEANS, LLOYD = "kmeans++", "kmeans", "lloyd"
# Without privacy: how many starts.
NONPRIVATE = {KMEANS: 1, BEST_KMEANS: 10, LLOYD: 1}
BALCAN, PUBLISHED = "balcan", "published"

# The parts of Balcan's ε: candidates, search, recovery, rounds of k-means, choice among runs.
Budget = tuple[float, ...]


def numbers(text: str) -> Budget:
    """Parts of a budget as tables write them: `0.7/0.01/0.04/0.2/0.05`."""
    return tuple(float(part) for part in text.split("/"))


def budget_text(parts: Budget) -> str:
    """How tables write the parts of a budget."""
    return "/".join(f"{part:.6g}" for part in parts)


_PARSE: dict[str, Callable[[str], Any]] = {
    "search": str,
    "weights": str,
    "law": str,
    "noise": str,
    "budget": numbers,
    "deepest": lambda text: text == "True",
    "carry": lambda text: text == "True",
    "gamma": float,
    "failure": float,
    "alpha": float,
    "r_min": float,
}


def method_of(name: str) -> Method:
    """The configured method behind a name; what is not said stays at its default."""
    kind, *words = name.split()
    set_to: dict[str, Any] = {}
    if kind == BALCAN and words and "=" not in words[0]:
        set_to["preset"] = words.pop(0)
    for word in words:
        key, _, value = word.partition("=")
        set_to[key] = _PARSE.get(key, int)(value)
    return METHODS[kind](**set_to)


def balcan(preset: str, **set_to: object) -> str:
    """The name of Balcan et al. with a preset and parameters of its own."""
    words = [f"{k}={budget_text(v) if k == 'budget' else v}" for k, v in set_to.items()]
    return " ".join([BALCAN, preset, *words])


def published(preset: str) -> str:
    """The name of the arithmetic as it was published, a simulation that is not private."""
    return f"{PUBLISHED} {preset}"

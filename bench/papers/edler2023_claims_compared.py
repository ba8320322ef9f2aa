"""What Edler 2023 says of its algorithm beside others, and what goes beyond it."""

from __future__ import annotations

from bench.papers.edler2023_claims import (
    Found,
    Tables,
    along,
    both,
    claim,
    clearly,
    mostly,
    versus,
)
from bench.papers.edler2023_tables import Row, typical

COMPARED = ("fig5.4", "fig5.5", "fig5.6", "fig5.7", "fig5.8")
ON_MNIST, ON_BLOBS = COMPARED[:2], COMPARED[2:]


def pairs_of(tables: Tables, one: str, two: str, parts: tuple[str, ...]) -> list[tuple[Row, Row]]:
    """The rows of two series at every place of some figures."""
    return [pair for part in parts for pair in both(tables, part, one, two)]


def wins(tables: Tables, one: str, two: str, parts: tuple[str, ...]) -> tuple[int, int, int]:
    """At how many places of the figures one series is clearly below another, above it, and all."""
    pairs = pairs_of(tables, one, two, parts)
    return sum(clearly(a, b) for a, b in pairs), sum(clearly(b, a) for a, b in pairs), len(pairs)


def said(tables: Tables, one: str, two: str, parts: tuple[str, ...]) -> str:
    """The comparison in numbers."""
    below, above, whole = wins(tables, one, two, parts)
    factor = typical([a.ours / b.ours for a, b in pairs_of(tables, one, two, parts)])
    return f"clearly lower at {below} of {whole} places, clearly higher at {above}; × {factor:.3g}"


CHAPTER4 = ("fig4.2", "fig4.3", "fig4.4", "fig4.5", "fig4.6")
DIFFER = {"fig4.2": -1, "fig4.3": -1, "fig4.4": 1, "fig4.6": 1}


@claim("4.4.2", "Python and Matlab are similar; Python is better on MNIST, Matlab on blobs")
def python_and_matlab(tables: Tables) -> Found:
    """Undecided where both are one thing; similar: within a quarter on average."""
    pairs = {part: both(tables, part, "python", "matlab") for part in CHAPTER4}
    if all(a.ours == b.ours for found in pairs.values() for a, b in found):
        return None, "the two differ in the range of their noise, which the guarantee fixes here"
    factors = {part: typical([a.ours / b.ours for a, b in found]) for part, found in pairs.items()}
    similar = all(0.8 < factor < 1.25 for factor in factors.values())
    right = all((factors[part] - 1) * sign > 0 for part, sign in DIFFER.items())
    told = ", ".join(f"{part} × {factor:.3g}" for part, factor in factors.items())
    return similar and right, f"Python over Matlab: {told}"


@claim("5.5", "K-means++ without privacy is always better")
def nonprivate_is_best(tables: Tables) -> Found:
    pairs = pairs_of(tables, "kmeans", "python", COMPARED)
    return mostly(pairs), said(tables, "kmeans", "python", COMPARED)


@claim("5.5", "On MNIST the algorithm is not much worse than k-means++ (theirs: 5 % at ε = 1)")
def close_on_mnist(tables: Tables) -> Found:
    pairs = both(tables, "fig5.4", "python", "kmeans")
    last = pairs[-1]
    return last[0].ours < 1.1 * last[1].ours, f"ε: {versus(pairs)}"


@claim("5.5", "On MNIST it is better than private k-means (theirs diffprivlib, ours dplloyd)")
def better_than_dplloyd_on_mnist(tables: Tables) -> Found:
    pairs = pairs_of(tables, "python", "diffprivlib", ON_MNIST)
    return mostly(pairs), said(tables, "python", "diffprivlib", ON_MNIST)


@claim("5.5", "On blobs it is about as good as private k-means (within a factor 1.25)")
def like_dplloyd_on_blobs(tables: Tables) -> Found:
    parts = ("fig5.6", "fig5.8")
    pairs = pairs_of(tables, "python", "diffprivlib", parts)
    factor = typical([a.ours / b.ours for a, b in pairs])
    return 0.8 < factor < 1.25, said(tables, "python", "diffprivlib", parts)


@claim("5.5", "It handles many columns better than private k-means (500 columns, ε = 0.5 for both)")
def better_in_many_columns(tables: Tables) -> Found:
    pairs = both(tables, "fig5.7", "python", "dplloyd at half")
    return clearly(*pairs[-1]), f"balcan / dplloyd, columns: {versus(pairs)}"


@claim("5.5", "It is always better than the Matlab code")
def better_than_matlab(tables: Tables) -> Found:
    pairs = pairs_of(tables, "python", "matlab", COMPARED)
    return mostly(pairs), said(tables, "python", "matlab", COMPARED)


def _coreset_wins(tables: Tables, parts: tuple[str, ...]) -> Found:
    below, above, whole = wins(tables, "coreset", "python", parts)
    return below > whole / 2 and not above, said(tables, "coreset", "python", parts)


@claim("beyond", '`search="coreset"` is better than swaps at most places on blobs, worse at none')
def coreset_helps_on_blobs(tables: Tables) -> Found:
    return _coreset_wins(tables, ON_BLOBS)


@claim("beyond", '`search="coreset"` is better than swaps at most places on MNIST, worse at none')
def coreset_helps_on_mnist(tables: Tables) -> Found:
    return _coreset_wins(tables, ON_MNIST)


@claim("6.1, open", "Swapping with a part of the candidates costs no accuracy")
def a_subset_is_enough(tables: Tables) -> Found:
    lines, costs = [], []
    for series in ("mnist", "blobs"):
        rows = along(tables["subset"], series)
        times = along(tables["subset"], f"{series} seconds")
        costs += [clearly(rows[-1], row) for row in rows[:-1]]
        numbers = (f"{r.x}: {r.ours:.3g}, {t.ours:.2g} s" for r, t in zip(rows, times, strict=True))
        lines.append(f"{series}: " + "; ".join(numbers))
    return not any(costs), "candidates a swap weighs — " + ". ".join(lines)


@claim("beyond", "`auto` is the best of the private ones at every place of figures 5.4 to 5.8")
def auto_is_best(tables: Tables) -> Found:
    lost, whole = [], 0
    for part in COMPARED:
        dplloyd = "dplloyd at half" if part == "fig5.7" else "diffprivlib"
        for rival in ("python", "matlab", "coreset", dplloyd):
            for a, b in both(tables, part, "auto", rival):
                whole += 1
                if clearly(b, a):
                    lost.append(f"{part} at {a.x}: {b.ours:.3g} ({rival}) against {a.ours:.3g}")
    where = f"; not: {'; '.join(lost)}" if lost else ""
    return not lost, f"clearly worse at {len(lost)} of {whole} comparisons{where}"

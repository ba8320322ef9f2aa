"""The comparisons of Edler 2023: figures 4.2 to 4.6, 5.1, 5.2 and 5.4 to 5.8."""

from __future__ import annotations

from bench.inertia_data import MNIST, blobs
from bench.papers.edler2023_parts import (
    CH4,
    CH5,
    CHAPTER4,
    DPLLOYD,
    OURS,
    PUBLISHED4,
    PUBLISHED5,
    WITHOUT,
    Mark,
    Size,
    by_clusters,
    by_dimension,
    by_epsilon,
    by_k,
    marks_of,
    part,
)


@part("fig4.2")
def fig4_2(size: Size) -> list[Mark]:
    """Inertia against ε, MNIST."""
    return marks_of(size, CH4 | {"published": PUBLISHED4}, by_epsilon(size))


@part("fig4.3")
def fig4_3(size: Size) -> list[Mark]:
    """Inertia against k, MNIST."""
    return marks_of(size, CH4, by_k(size, MNIST))


@part("fig4.4")
def fig4_4(size: Size) -> list[Mark]:
    """Inertia against k, 64 blobs."""
    return marks_of(size, CH4, by_k(size, blobs(64, 100)))


@part("fig4.5")
def fig4_5(size: Size) -> list[Mark]:
    """Inertia against the number of columns."""
    return marks_of(size, CH4 | {"published": PUBLISHED4}, by_dimension(size))


@part("fig4.6")
def fig4_6(size: Size) -> list[Mark]:
    """Inertia against the number of blobs."""
    return marks_of(size, CH4, by_clusters(size))


@part("fig5.1")
def fig5_1(size: Size) -> list[Mark]:
    """With rounds of private k-means and without, MNIST."""
    return marks_of(size, {"with": CHAPTER4, "without": WITHOUT}, by_epsilon(size))


@part("fig5.2")
def fig5_2(size: Size) -> list[Mark]:
    """With rounds of private k-means and without, blobs."""
    return marks_of(size, {"with": CHAPTER4, "without": WITHOUT}, by_clusters(size))


@part("fig5.4")
def fig5_4(size: Size) -> list[Mark]:
    """All algorithms against ε, MNIST."""
    return marks_of(size, CH5 | OURS | {"published": PUBLISHED5}, by_epsilon(size))


@part("fig5.5")
def fig5_5(size: Size) -> list[Mark]:
    """All algorithms against k, MNIST."""
    return marks_of(size, CH5 | OURS, by_k(size, MNIST))


@part("fig5.6")
def fig5_6(size: Size) -> list[Mark]:
    """All algorithms against k, 64 blobs."""
    return marks_of(size, CH5 | OURS | {"published": PUBLISHED5}, by_k(size, blobs(64, 100)))


@part("fig5.7")
def fig5_7(size: Size) -> list[Mark]:
    """All algorithms against the number of columns; its caption gives one of them ε = 1."""
    at_half = {name: method for name, method in CH5.items() if name != "diffprivlib"} | OURS
    at_half |= {"dplloyd at half": DPLLOYD, "published": PUBLISHED5}
    peer = marks_of(size, {"diffprivlib": DPLLOYD}, by_dimension(size, 1.0))
    return marks_of(size, at_half, by_dimension(size)) + peer


@part("fig5.8")
def fig5_8(size: Size) -> list[Mark]:
    """All algorithms against the number of blobs."""
    return marks_of(size, CH5 | OURS, by_clusters(size))

"""How `auto` divides its budget, before it sees a row."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import PrivateKMeans
from sfumato.methods.auto import Auto
from sfumato.methods.base import Task

TINY = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("d", "k", "tree"), [(8, 10, "0.22"), (64, 10, "0.08"), (64, 23, "0.08"), (64, 24, "0.25")]
)
def test_beside_gaussian_steps_pure_noise_is_set_aside_for_rows_tree_and_radii(d, k, tree):
    caps = Auto().caps(Task(k, d, Fraction(2), TINY))
    pure = Fraction("0.02") + Fraction("0.98") * (Fraction(tree) + Fraction("0.05"))
    assert caps.pure == 2 * pure
    assert caps.gaussian == (2 * (1 - pure), TINY)
    assert Auto().caps(Task(k, d, Fraction(2), Fraction(0))).pure == 2


@pytest.mark.parametrize(("k", "tree"), [(3, 0.12), (24, 0.25)])
def test_beside_pure_steps_the_tree_is_larger(k, tree):
    rows = np.random.default_rng(0).normal(0.5, 0.1, (20_000, 40))
    model = PrivateKMeans(k, epsilon=10.0, bounds=(0, 1), n_rows=len(rows)).fit(rows)
    paid = sum(Fraction(line.cost) for line in model.receipt_.lines if "tree" in line.question)
    assert float(paid) == pytest.approx(10 * tree)

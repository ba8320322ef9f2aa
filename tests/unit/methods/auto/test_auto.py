"""How `auto` divides its budget, before it sees a row."""

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from sfumato import PrivateKMeans
from sfumato._accounting.budget import Caps, Ledger
from sfumato.methods._auto import Auto
from sfumato.methods._auto.budget import (
    FitBudget,
    RowCount,
    affordable,
    high_split,
    is_hopeless,
    is_tiny,
    middle_split,
    step_error,
)
from sfumato.methods._base import PlannedTask, Task

TINY = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("d", "k", "tree", "radii"),
    [
        (8, 10, "0.25", "0.1"),
        (64, 10, "0.08", "0.05"),
        (64, 23, "0.08", "0.05"),
        (64, 24, "0.25", "0.05"),
    ],
)
def test_beside_gaussian_steps_pure_noise_is_set_aside_for_rows_tree_and_radii(d, k, tree, radii):
    caps = Auto().caps(Task(k, d, Fraction(2), TINY))
    halves = [Fraction("0.98") * Fraction(part) / 2 for part in (tree, tree, radii, radii)]
    assert caps.parts == tuple(2 * part for part in (Fraction("0.02"), *halves))
    assert caps.gaussian == (2 - caps.pure, TINY)
    assert caps.epsilon == 2
    assert Auto().caps(Task(k, d, Fraction(2), Fraction(0))).pure == 2
    # Where the number of rows is declared, nothing is set aside for it.
    assert Auto().caps(Task(k, d, Fraction(2), TINY, 1000)).parts[0] == 0


@pytest.mark.parametrize(("k", "tree"), [(3, 0.12), (24, 0.25)])
def test_beside_pure_steps_the_tree_is_larger(k, tree):
    rows = np.random.default_rng(0).normal(0.5, 0.1, (20_000, 40))
    model = PrivateKMeans(k, epsilon=10.0, bounds=(0, 1), n_rows=len(rows)).fit(rows)
    paid = sum(Fraction(line.cost) for line in model.receipt_.lines if "tree" in line.query.lower())
    assert float(paid) == pytest.approx(10 * tree)


GROUP = 5


def budget_of(task, n, caps=None):
    caps = caps or Auto().caps(task)
    account = Ledger(caps.epsilon, caps.delta).reserve("test", caps)
    return FitBudget(account, task, RowCount(float(n), 0.0))


def in_groups(task, epsilon_times=1):
    return replace(task, epsilon=task.epsilon * epsilon_times, max_rows_per_group=GROUP)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 14, 26, 40])
@pytest.mark.parametrize("n", [20, 60, 300, 1000, 3000, 10_000, 100_000])
@pytest.mark.parametrize("k", [3, 8, 30])
def test_groups_with_more_budget_are_predicted_like_single_rows(d, n, k):
    task = PlannedTask(k, d, Fraction(1), Fraction(0), None, n)
    alone, together = (Auto().predict(t) for t in (task, in_groups(task, GROUP)))
    assert together.error == pytest.approx(alone.error)
    assert together.noise == pytest.approx(alone.noise)
    assert replace(together, error=0.0, noise=0.0) == replace(alone, error=0.0, noise=0.0)


@pytest.mark.parametrize("d", [8, 64])
def test_gaussian_noise_is_as_many_times_larger_as_a_group_has_rows(d):
    task, n = Task(3, d, Fraction(2), TINY), 10**5
    alone, together = (budget_of(t, n).steps(0.1) for t in (task, in_groups(task)))
    assert not alone.pure
    assert together.amount == alone.amount
    assert together.noise(0.5, d) == pytest.approx(GROUP * alone.noise(0.5, d))
    errors = [step_error(steps, d, 3, n) for steps in (alone, together)]
    assert errors[1] == pytest.approx(GROUP * errors[0])


def test_fewer_centres_are_affordable_where_groups_are_hidden():
    for d, n in ((2, 10), (8, 300), (40, 4000)):
        for delta in (Fraction(0), TINY):
            task = Task(8, d, Fraction(1), delta)
            caps = Auto().caps(task)
            alone, together = (affordable(budget_of(t, n, caps)) for t in (task, in_groups(task)))
            assert together < alone == 8
            assert affordable(budget_of(in_groups(task), GROUP * n, caps)) == 8


def test_splits_see_the_noise_of_groups():
    for d, split in ((14, middle_split), (40, high_split)):
        task = Task(3, d, Fraction(1), TINY)
        n = 3000
        alone, together = (split(budget_of(t, n)) for t in (task, in_groups(task)))
        many = split(budget_of(in_groups(task), GROUP * n))
        shown = ("tree", "radii", "mean", "moments", "inside", "full", "span", "sketch")
        assert any(getattr(alone, name) != getattr(together, name) for name in shown)
        for name in shown:
            assert getattr(many, name) == pytest.approx(getattr(alone, name)), name
        assert many.asks_radius == alone.asks_radius


def test_what_is_tiny_is_so_for_each_row_of_a_group():
    tiny = Task(3, 8, Fraction(2, 10**4), TINY)
    assert not is_tiny(tiny)
    assert is_tiny(in_groups(tiny))
    assert Auto().caps(in_groups(tiny)) == Caps(pure=tiny.epsilon)
    assert not is_tiny(in_groups(tiny, GROUP))
    hopeless = Task(3, 4, Fraction(2 * 5, 2**26), Fraction(0))
    assert not is_hopeless(hopeless)
    assert is_hopeless(in_groups(hopeless))
    huge = Task(3, 2, Fraction(10**9), Fraction(0))
    assert Auto().caps(in_groups(huge)).pure == GROUP * Auto().caps(huge).pure


@pytest.mark.parametrize("delta", [Fraction(0), TINY])
def test_one_centre_that_noise_would_hide_is_the_mean(delta):
    task = PlannedTask(1, 30, Fraction(1, 100), delta, None, 50)
    assert affordable(budget_of(task, 50)) == 0
    assert "mean alone" in Auto().predict(task).note
    model = PrivateKMeans(1, epsilon=0.01, delta=delta, bounds=(0, 1), n_rows=50)
    model.fit(np.random.default_rng(0).uniform(size=(50, 30)))
    assert "The centre is the noisy mean: ε is too small for more" in model.receipt_.notes


@pytest.mark.parametrize("bounds", [(0, 1), "private"])
def test_a_fit_tells_its_method_how_many_rows_are_hidden_together(bounds):
    class Told(Auto):
        tasks: ClassVar = []

        def caps(self, task):
            self.tasks.append(task)
            return super().caps(task)

    rows = np.random.default_rng(0).uniform(size=(400, 2))
    for groups, most in ((None, 1), (np.arange(400) // 4, 4)):
        model = PrivateKMeans(2, bounds=bounds, method=Told(), max_rows_per_group=4)
        model.fit(rows, groups=groups)
        assert Told.tasks[-1].max_rows_per_group == most

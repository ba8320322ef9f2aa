"""Categories among coordinates: distributions, and which way of asking errs less."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.queries.breakdown import Levels
from sfumato._lattice.box import REACH
from sfumato.methods import Task
from sfumato.methods._auto.budget import errors_of
from sfumato.methods._auto.levels import (
    coordinates_of,
    distributions,
    mean_part,
    most_varied,
    on_simplex,
    shares_of,
)
from tests.laws.mixed_rows import HIGH, levels_of

F = Fraction


def task_of(numbers, widths, **asked):
    d = numbers + sum(widths)
    return Task(5, d, F(1), F(1, 10**6), levels=levels_of(numbers, widths), **asked)


@given(values=st.lists(st.floats(-3, 3), min_size=1, max_size=6))
@example(values=[0.2, 0.5, 0.3])
@example(values=[-1.0, -2.0])
@example(values=[3.0, 3.0, -1.0])
@settings(max_examples=50, deadline=None)
def test_no_distribution_is_nearer(values):
    line = np.array([values])
    found = on_simplex(line)[0]
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    rng = np.random.default_rng(0)
    others = np.vstack([rng.dirichlet(np.ones(len(values)), 200), np.eye(len(values))])
    # What lies nearest has no other distribution ahead of it.
    assert ((others - found) @ (line[0] - found)).max() < 1e-9


def test_shares_and_coordinates_are_each_other():
    one = Levels(1, 3, HIGH)
    points = np.array([[7.0, HIGH, -HIGH, -HIGH], [9.0, -HIGH, 0.0, 0.0]])
    np.testing.assert_allclose(shares_of(points, one), [[1, 0, 0], [0, 0.5, 0.5]])
    np.testing.assert_allclose(coordinates_of(shares_of(points, one), one), points[:, 1:])
    np.testing.assert_allclose(distributions(points, (one,)), points)
    assert distributions(points + 9, (one,))[0, 0] == 16


def test_counts_pay_for_many_levels_of_few_categories_under_pure_noise():
    assert errors_of(task_of(6, (8, 16, 7, 14, 6, 5, 2, 41)), pure=True).by_counts
    assert not errors_of(task_of(6, (8, 16, 7, 14, 6, 5, 2, 41)), pure=False).by_counts
    assert not errors_of(task_of(6, (2,) * 20), pure=True).by_counts


def test_without_numbers_nothing_is_set_aside_for_their_sums():
    assert errors_of(task_of(0, (9, 8)), pure=True).numbers == 0
    assert mean_part(task_of(0, (9, 8)), pure=False) == 0
    assert 0 < mean_part(task_of(3, (9, 8)), pure=True) < 1


@pytest.mark.parametrize("pure", [True, False])
def test_the_division_errs_least(pure):
    """Against a search: what is set aside for numbers is the best of all parts."""
    task = task_of(3, (9, 8))
    q, c = 3, 2
    sums = (q * (q + 3) if pure else q) * 0.1 * q
    counts = 17 * (2 * HIGH / REACH) ** 2 * (2 * c * c if pure else c)
    parts = np.linspace(0.001, 0.999, 9999)
    power = 2 if pure else 1
    searched = sums / parts**power + counts / (1 - parts) ** power
    errors = errors_of(task, pure=pure)
    assert errors.counted == pytest.approx(searched.min(), rel=1e-6)
    assert errors.numbers == pytest.approx(parts[searched.argmin()], abs=2e-4)


def test_levels_that_half_of_the_rows_have_vary_most():
    levels = levels_of(1, (3, 2))
    mean = np.concatenate(
        [[0.0]] + [HIGH * (2 * np.array(s) - 1) for s in ([0.5, 0.45, 0.05], [1, 0])]
    )
    np.testing.assert_array_equal(most_varied(mean, 2, levels), np.eye(6)[[1, 2]])
    np.testing.assert_array_equal(most_varied(mean, 3, levels), np.eye(6)[[0, 1, 2]])


@pytest.mark.parametrize(
    "levels",
    [
        (Levels(2, 3, 9), Levels(6, 4, 9)),
        (Levels(2, 3, 9), Levels(5, 4, 9)),
        (Levels(5, 5, 9), Levels(2, 3, 9)),
        (Levels(2, 9, 9),),
    ],
)
def test_levels_that_are_not_the_last_columns_are_refused(levels):
    with pytest.raises(ValueError, match="one category after another"):
        Task(3, 10, F(1), F(0), levels=levels)

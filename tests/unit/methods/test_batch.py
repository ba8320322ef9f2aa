"""A later batch of a stream: what it asks, with which shares, and what it answers."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Curator
from sfumato._lattice.box import REACH
from sfumato.methods import Task
from sfumato.methods._batch import BatchStep, Measured, Reference
from tests.no_noise import NoNoise

RNG = np.random.default_rng(0)
PLACES = np.array([[-0.5, -0.5], [0.5, 0.5], [0.5, -0.5]])
ROWS = PLACES[np.arange(900) % 3] + RNG.normal(0, 0.02, (900, 2))
CENTERS = (PLACES + 0.01) * REACH


def asked(step, rows=ROWS, *, epsilon=1, delta=0, noise=None, **settings):
    """Run a step, and return what it found with its account."""
    task = Task(3, rows.shape[1], Fraction(epsilon), Fraction(delta), **settings)
    budget = {"epsilon": float(epsilon), "delta": float(delta)}
    curator = Curator(rows, bounds=(-1, 1), noise=noise or NoNoise(), **budget)
    account = curator.reserve("test", step.caps(task))
    return step(curator, task, account=account, rng=np.random.default_rng(0)), account


def test_counts_and_clipped_sums_about_the_centres():
    found, account = asked(BatchStep(CENTERS))
    np.testing.assert_array_equal(found.moved.counts, [300, 300, 300])
    means = found.moved.sums / 300 / REACH
    np.testing.assert_allclose(means, np.full((3, 2), -0.01), atol=0.004)
    assert found.compared is None
    assert [e.share.amount for e in account.entries] == [Fraction(n, 20) for n in (2, 1, 17)]
    assert 0.03 < found.radius / REACH < 0.15


def test_the_reference_is_asked_with_its_own_centres_and_radius():
    known = Reference(np.rint(CENTERS), 1000, Measured(np.ones(3), np.ones((3, 2)), 1.0, 1.0))
    found, account = asked(BatchStep(CENTERS + 2000, known))
    np.testing.assert_array_equal(found.compared.counts, [300, 300, 300])
    means = found.compared.sums / 300 / REACH
    np.testing.assert_allclose(means, np.full((3, 2), -0.01), atol=0.004)
    assert account.spent("pure")[0] == 1


def test_gaussian_noise_where_it_is_smaller():
    rows = np.tile(ROWS, (1, 20))
    centers = np.tile(CENTERS, (1, 20))
    found, account = asked(BatchStep(centers), rows, delta=Fraction(1, 10**6))
    assert account.caps.parts == (Fraction(1, 10), Fraction(1, 20))
    assert {e.share.kind for e in account.entries} == {"pure", "gdp"}
    assert account.spent("gdp")[0] == account.caps.mu2
    np.testing.assert_array_equal(found.moved.counts, [300, 300, 300])


@pytest.mark.parametrize("rows", [ROWS[:0], ROWS[:1]], ids=["no row", "one row"])
def test_few_rows_are_asked_in_the_same_way(rows):
    found, account = asked(BatchStep(CENTERS), rows)
    assert found.moved.counts.sum() == len(rows)
    assert account.spent("pure")[0] == 1


def test_a_radius_that_noise_would_hide_is_the_widest():
    found, account = asked(BatchStep(CENTERS), epsilon=Fraction(1, 10))
    assert found.radius == 2 * REACH
    assert [e.share.amount for e in account.entries] == [Fraction(1, 100), Fraction(9, 100)]


def test_a_declared_number_of_rows_is_not_estimated():
    found, _ = asked(BatchStep(CENTERS), ROWS[:0], n_rows=900)
    assert found.radius < REACH


@pytest.mark.parametrize("columns", [1, 2, 60])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1, 10**4), 1000, 10**6])
def test_noise_of_any_epsilon_can_be_drawn(epsilon, columns):
    """Nothing is refused after the first charge."""
    rows = np.tile(ROWS[:, :1], (1, columns))
    step = BatchStep(np.tile(CENTERS[:, :1], (1, columns)))
    for delta in (0, Fraction(1, 10**6)):
        found, account = asked(step, rows, epsilon=epsilon, delta=delta)
        assert all(entry.released for entry in account.entries)
        known = Reference(np.rint(step.centers), found.radius or 1, found.moved)
        asked(BatchStep(step.centers, known), rows, epsilon=epsilon, delta=delta)

"""k-prototypes with noise: its steps, its noise, its predictions."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.sampling.source import SecureNoise
from sfumato._lattice.box import REACH
from sfumato._synopsis.signed_kmeans import sphere_packing
from sfumato.methods import KPrototypes, PlannedTask, Task
from sfumato.methods._auto.levels import distributions
from sfumato.methods._dplloyd import currency
from sfumato.methods._kprototypes import _mixed_step
from tests.laws.mixed_rows import levels_of, mixed, open_mixed, run_mixed
from tests.no_noise import NoNoise

F = Fraction


def lloyd(points, rows, steps):
    """Plain Lloyd; a centre without rows stays."""
    for _ in range(steps):
        own = np.square(rows[:, None] - np.rint(points)).sum(axis=2).argmin(axis=1)
        points = np.array(
            [rows[own == j].mean(axis=0) if (own == j).any() else p for j, p in enumerate(points)]
        )
    return points, np.bincount(own, minlength=len(points))


@pytest.mark.parametrize(("numbers", "widths"), [(3, (4, 7)), (0, (4, 7)), (3, ())])
@pytest.mark.parametrize("delta", [0, "1e-2"])
def test_without_noise_it_is_lloyd(numbers, widths, delta):
    rows, levels = mixed(3000, numbers, widths), levels_of(numbers, widths)
    curator = open_mixed(rows, noise=NoNoise())
    start = sphere_packing(3, rows.shape[1], np.random.default_rng(1))
    _, centers = run_mixed(curator, KPrototypes(4), levels, epsilon=9, delta=delta)
    expected, sizes = lloyd(distributions(start, levels), rows, 4)
    np.testing.assert_allclose(centers.points, expected, atol=1)
    np.testing.assert_allclose(centers.sizes, sizes)


def test_one_cluster_is_the_mean_of_all_rows():
    rows = mixed(800, 1, (3, 4))
    curator = open_mixed(rows, noise=NoNoise())
    _, centers = run_mixed(curator, KPrototypes(2), levels_of(1, (3, 4)), k=1, epsilon=9)
    np.testing.assert_allclose(centers.points[0], rows.mean(axis=0), atol=1)
    assert centers.sizes == pytest.approx([800])


def planned(numbers, widths, **asked):
    usual = {"k": 5, "epsilon": F(1), "delta": F(0), "n": 10**5, **asked}
    d = numbers + sum(widths)
    return PlannedTask(n_features=d, levels=levels_of(numbers, widths), **usual)


@pytest.mark.parametrize("delta", [F(0), F(1, 10**6)])
@pytest.mark.parametrize(("numbers", "widths"), [(3, (4, 7)), (0, (12, 20)), (6, (2, 3, 9))])
def test_the_predicted_error_is_the_measured_one(numbers, widths, delta):
    """A step from the means of three classes of about n/3 rows, 40 times: 120 noisy centres.

    Shares that noise made negative are 0, which errs less; they are divided by a noisy sum, which
    adds as much again where one level holds all rows.
    """
    task = planned(numbers, widths, k=3, delta=delta, n=30_000)
    rows, method = mixed(30_000, numbers, widths), KPrototypes(1)
    last = rows[:, task.levels[-1].start :].argmax(axis=1)
    start, sizes = lloyd(np.array([rows[last == j].mean(axis=0) for j in range(3)]), rows, 5)
    assert sizes.min() > 9000
    noise = "gaussian" if method.caps(task).gaussian[1] else "laplace"

    def step(made):
        curator = open_mixed(rows, noise=made)
        share = curator.reserve("test", method.caps(task)).rest(currency(noise))
        return _mixed_step(curator, start, share, task, noise)[0] / REACH

    exact = step(NoNoise())
    errors = [np.square(step(SecureNoise()) - exact).sum(axis=1).mean() for _ in range(40)]
    assert 1 / 2 < np.mean(errors) / method.predict(task).error < 2.2


def test_passes_are_those_of_the_steps():
    assert KPrototypes().predict(planned(3, (4, 7))).passes == 10
    assert KPrototypes().predict(planned(0, (4, 7))).passes == 5
    assert KPrototypes(2).predict(planned(3, ())).passes == 2


def test_noise_is_gaussian_where_that_is_smaller():
    small = F(1, 10**6)
    many = planned(60, (9,) * 20, delta=small)
    assert "gaussian" in KPrototypes().predict(many).note
    assert KPrototypes().caps(many).gaussian == (F(1), small)
    assert KPrototypes().caps(replace(many, delta=F(0))).pure == 1
    few = Task(3, 2, F(4), F(1, 10**12))
    assert KPrototypes(1).caps(few).pure == 4


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="iterations"):
        KPrototypes(iterations=0)

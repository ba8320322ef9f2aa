"""DPLloyd's public parts: starts, schedules, the choice of noise, bad settings."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH
from sfumato._synopsis.signed_kmeans import sphere_packing
from sfumato.methods import DPLloyd, GkM, GkM3K, Sukpisit, Task
from sfumato.methods._dplloyd import choose_noise, noise_error, weights
from sfumato.methods.formulas import RHO, dplloyd_mse

F = Fraction


@pytest.mark.parametrize(("k", "d"), [(1, 1), (3, 2), (15, 2), (10, 8), (64, 100), (200, 2)])
def test_sphere_packing_keeps_its_distances(k, d):
    points = sphere_packing(k, d, np.random.default_rng(0)) / REACH
    assert points.shape == (k, d)
    gap = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    nearest = (gap + np.eye(k) * 9e9).min()
    border = (1 - np.abs(points)).min()
    assert border > 0
    # The largest feasible radius is bounded by the border and half the nearest pair.
    assert min(border, nearest / 2) > 0.5 * (1 if k == 1 else min(1, k ** (-1 / d) / 2))


def test_sphere_packing_is_public_randomness():
    one, same, other = (sphere_packing(5, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_schedules():
    assert weights("uniform", 3) == [1, 1, 1]
    assert weights("increasing", 3) == [1, 2, 3]
    assert weights("halving", 4) == [4, 2, 1, 1]
    assert weights("halving", 1) == [1]


def test_noise_is_chosen_by_the_smaller_predicted_error():
    def chosen(d, delta):
        return choose_noise("auto", 5, Task(3, d, F(1), delta))

    assert chosen(2, F(0)) == chosen(1000, F(0)) == "cube"
    assert chosen(2, F(1, 10**6)) == "cube"
    assert chosen(1000, F(1, 10**6)) == "gaussian"
    for d in (1, 2, 10, 100):
        assert noise_error("cube", d) < noise_error("laplace", d)


@pytest.mark.parametrize(("noise", "power"), [("laplace", 2), ("gaussian", 1)])
@pytest.mark.parametrize("d", [1, 2, 10])
def test_counts_and_sums_share_the_budget_at_the_least_error(noise, power, d):
    """The share of the counts minimises (error of the sums) + (error of the counts)."""
    curator = Curator(np.zeros((9, d)), bounds=(-1, 1), epsilon=1.0, delta=1e-3)
    task = Task(2, d, F(1), F(1, 1000))
    method = DPLloyd(iterations=1, noise=noise)
    account = curator.reserve("test", method.caps(task))
    method(curator, task, account=account, rng=np.random.default_rng(0))
    sums, counts = (float(e.share.amount) for e in account.entries)
    part = counts / (sums + counts)

    def error(x):
        return (
            d**3 / (1 - x) ** 2 + 4 * d * RHO**2 / x**2
            if power == 2
            else (d**2 / (1 - x) + 4 * d * RHO**2 / x)
        )

    assert error(part) < min(error(part * 1.02), error(part / 1.02))


@pytest.mark.parametrize("d", [1, 2, 10])
def test_equal_noise_is_that_of_the_paper(d):
    """Lap((d + 1)t/ε) on the count and on every sum: Su et al. 2015, §4.1.1 and Eq. 7."""
    curator = Curator(np.zeros((9, d)), bounds=(-1, 1), epsilon=1.0)
    task = Task(2, d, F(1), F(0))
    method = DPLloyd(iterations=5, noise="equal")
    account = curator.reserve("test", method.caps(task))
    method(curator, task, account=account, rng=np.random.default_rng(0))
    scales = {entry.query.split()[0]: F(entry.scale) for entry in account.entries}
    assert len(scales) == 2
    assert set(scales.values()) == {5 * (d + 1) * F(1), 5 * (d + 1) * F(REACH)}
    error = dplloyd_mse(1000, d, 3, 1.0)
    assert noise_error("equal", d) * (3 * 5 / 1000) ** 2 == pytest.approx(error)


@pytest.mark.parametrize(
    ("n", "k", "blocks", "small_blocks"),
    [
        (5_000, 15, 30, 111),
        (107_091, 5, 103, 7_139),
        (16_281, 2, 48, 2_714),
        (34_112, 3, 65, 3_790),
        (48_841, 5, 75, 3_256),
        (26_733, 3, 59, 2_970),
    ],
)
def test_the_number_of_blocks_is_that_of_table_1(n, k, blocks, small_blocks):
    task = Task(k, 2, F(1), F(0), n)
    curator = Curator(np.zeros((20, 2)), bounds=(-1, 1), epsilon=2.0)
    for method, expected in ((GkM(), blocks), (GkM3K(), small_blocks)):
        account = curator.reserve("test", method.caps(task))
        found = method(curator, task, account=account, rng=np.random.default_rng(0))
        assert found.notes[0].startswith(f"{expected:,} blocks")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DPLloyd(iterations=0), "iterations"),
        (lambda: DPLloyd(schedule="random"), "schedule must be one of uniform"),
        (lambda: DPLloyd(noise="none"), "noise must be one of auto"),
        (lambda: Sukpisit(max_iter=-1), "max_iter"),
        (lambda: Sukpisit(tol=-1.0), "tol"),
        (lambda: Sukpisit(tol=float("nan")), "tol"),
        (lambda: DPLloyd(noise="gaussian").caps(Task(3, 2, F(1), F(0))), "needs delta > 0"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

"""The promise of nD-Laplace by enumeration: every report, every pair of rows, on small lattices."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato._core.local.lattice import LatticeNDLaplace, LocalLattice
from sfumato._lattice.box import Box
from tests.laws.ball_chances import certain_bounds, chances, reports

CLOSE = 1e-9
"""What the quadrature may be wrong by, relatively, away from the kink; see the first test."""


class SmallLattice(LocalLattice):
    """A lattice of a few points with steps of length 1/2: small enough to enumerate."""

    reach = np.array([4, 3])
    step = Fraction(1, 2)


def small(epsilon, resample=False):
    lattice = SmallLattice(Box((-2.0, -1.5), (2.0, 1.5)))
    return LatticeNDLaplace(lattice, Fraction(epsilon), resample)


@pytest.mark.parametrize(("scale", "dim", "window"), [(0.7, 1, 8), (1.5, 2, 5), (1.0, 3, 2)])
def test_the_quadrature_lies_within_certain_bounds(scale, dim, window):
    found = chances(scale, dim, window)
    below, above = certain_bounds(scale, dim, window, cuts=24 if dim < 3 else 8)
    assert (below <= found * (1 + CLOSE)).all()
    assert (found <= above * (1 + CLOSE)).all()
    assert (above / below < 1.25).all()


def test_the_quadrature_adds_up():
    assert chances(0.7, 1, 40).sum() == pytest.approx(1, abs=1e-12)
    assert chances(1.0, 2, 45).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("scale", "dim", "window"), [(0.4, 1, 9), (0.9, 2, 8), (2.0, 2, 8)])
def test_noise_of_two_rows_differs_by_their_distance_at_most(scale, dim, window):
    """P(z) ≤ exp(‖s‖ / scale)·P(z − s) for every report z and shift s, and it is nearly reached."""
    law = chances(scale, dim, 2 * window)
    middle = law[(slice(window, 3 * window + 1),) * dim]
    tightest = 0.0
    for shift in product(range(-window, window + 1), repeat=dim):
        moved = law[tuple(slice(window - s, 3 * window + 1 - s) for s in shift)]
        loss = np.abs(np.log(middle) - np.log(moved)).max()
        promised = math.hypot(*shift) / scale
        assert loss <= promised + CLOSE
        if any(shift):
            tightest = max(tightest, loss / promised)
    assert tightest > 0.99


def losses(mechanism, kind):
    """Largest loss of any report over what is promised, for every pair of rows of a small box."""
    reach = tuple(int(r) for r in mechanism.lattice.reach)
    noise = chances(float(mechanism.scale), len(reach), 16 + math.ceil(24 * mechanism.scale))
    assert noise.sum() == pytest.approx(1, abs=1e-8)
    rows = list(product(*[range(-r, r + 1) for r in reach]))
    found = {row: np.log(reports(noise, row, reach, kind)) for row in rows}
    for a, b in product(rows, rows):
        if a != b:
            apart = math.dist(a, b) * float(mechanism.lattice.step)
            yield np.abs(found[a] - found[b]).max() / (float(mechanism.epsilon) * apart)


@pytest.mark.parametrize("epsilon", [1, 2, 6])
def test_clamped_reports_keep_the_promise(epsilon):
    assert max(losses(small(epsilon), "clamp")) <= 1 + 1e-7


@pytest.mark.parametrize("epsilon", [2, 4, 9])
def test_resampled_reports_keep_the_promise_with_half_of_epsilon(epsilon):
    assert max(losses(small(epsilon, resample=True), "resample")) <= 1 + 1e-7


def test_resampling_with_the_whole_epsilon_would_break_the_promise():
    """What the thesis draws: the chance to be inside depends on the row."""
    assert max(losses(small(1), "resample")) > 1.3


@pytest.mark.parametrize("resample", [False, True])
def test_rows_in_corners_are_accepted_least_and_no_less_than_stated(resample):
    mechanism = small(2, resample=resample)
    noise = chances(float(mechanism.scale), 2, 40)
    reach = mechanism.lattice.reach
    accepted = {}
    for row in product(*[range(-r, r + 1) for r in reach]):
        axes = [np.abs(np.arange(-40, 41) + at) <= r for at, r in zip(row, reach, strict=True)]
        accepted[row] = noise[np.ix_(*axes)].sum()
    assert accepted[4, 3] == pytest.approx(min(accepted.values()), rel=1e-12)
    assert mechanism.accepted <= accepted[4, 3]


@pytest.mark.parametrize("units", ["data", "box"])
@pytest.mark.parametrize("widths", [(1.0, 1.0), (1.0, 0.013), (3e-7, 2e-7, 2.5e-7), (1e12,)])
def test_snapped_rows_are_as_far_apart_as_the_rows_and_a_step_per_column(units, widths):
    """Distances on the lattice, in the unit that the receipt names, against those of the rows."""
    rng = np.random.default_rng(1)
    lower = np.array([0.1, -5.0, 0.3][: len(widths)]) * min(widths)
    upper = lower + widths
    lattice = LocalLattice(Box(tuple(lower.tolist()), tuple(upper.tolist())), units)
    a = rng.uniform(
        lower - 0.1 * np.array(widths), upper + 0.1 * np.array(widths), (4000, len(widths))
    )
    b = np.where(
        rng.random(a.shape) < 0.5, rng.permutation(a), a + rng.normal(size=a.shape) * lattice.steps
    )
    unit = np.ones(len(widths)) if units == "data" else (upper - lower) / 2
    rows = np.sqrt((((a - b) / unit) ** 2).sum(axis=1))
    snapped = (lattice.to_lattice(a) - lattice.to_lattice(b)) * float(lattice.step)
    assert (np.sqrt((snapped**2).sum(axis=1)) <= (rows + lattice.snap) * (1 + 2.0**-30)).all()
    scale = LatticeNDLaplace(lattice, Fraction(7)).scale
    assert scale * 7 * lattice.step == 1 + Fraction(1, 2**30)

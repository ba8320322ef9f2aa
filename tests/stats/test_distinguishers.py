"""Attacks on floating-point noise: they break NumPy's Laplace and find nothing in ours.

Two values, 0 and 1, are released with noise of scale 1, so epsilon is 1. An attack is an event
that is likelier under one value than e^epsilon allows; its two probabilities are bounded by
Clopper-Pearson, wrong with probability 1e-9 at most.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato._core.testing import ReplayedNoise

ALPHA = 1e-9
EPSILON = 1.0
STEPS = 2**20
"""Lattice steps to the unit: ours is integer noise of scale 2^20 on a grid of 2^-20."""


def numpy_laplace(value, size):
    return value + np.random.default_rng(1 + int(value)).laplace(0.0, 1.0, size)


def our_laplace(value, size):
    noise = ReplayedNoise(1 + int(value)).laplace(Fraction(STEPS), size)
    return (int(value) * STEPS + noise) / STEPS


def our_gaussian(value, size):
    noise = ReplayedNoise(3 + int(value)).gaussian(Fraction(STEPS), size)
    return (int(value) * STEPS + noise) / STEPS


def our_cube(value, size):
    noise = ReplayedNoise(5 + int(value)).cube(Fraction(STEPS), size, 1)[:, 0]
    return (int(value) * STEPS + noise) / STEPS


OURS = pytest.mark.parametrize("mechanism", [our_laplace, our_gaussian, our_cube])


def epsilon_bound(hits, misses, size):
    """Lower bound on epsilon from an event seen `hits` times under one value, `misses` other."""
    low = stats.beta.ppf(ALPHA / 2, hits, size - hits + 1) if hits else 0.0
    high = stats.beta.ppf(1 - ALPHA / 2, misses + 1, size - misses) if misses < size else 1.0
    return math.log(low / high) if low else -math.inf


def reachable(output, value):
    """Whether NumPy's inversion of a 53-bit uniform, shifted by `value`, can give `output`.

    Mironov 2012. NumPy computes log(U + U) below 1/2 and -log(2 - U - U), rounded, above it.
    """
    distance = output - value
    tail = 0.5 * math.exp(-abs(distance))
    middle = round(tail * 2**53)
    width = min(int(tail * math.ulp(max(abs(output), abs(value))) * 2**53) + 6, 4000)
    for i in range(max(1, middle - width), middle + width + 1):
        if distance <= 0:
            noise = math.log(2.0 * (i * 2.0**-53))
        else:
            uniform = 1.0 - i * 2.0**-53
            rest = (2.0 - uniform) - uniform
            if rest <= 0:
                continue
            noise = -math.log(rest)
        if value + noise == output:
            return True
    return False


def unreachable_from_zero(mechanism, value, size=3000):
    return sum(not reachable(output, 0.0) for output in mechanism(value, size).tolist())


def has_fine_bits(mechanism, value, size=100_000):
    """Count outputs that aren't multiples of 2^-53 (Haney et al. 2022): impossible near 1."""
    scaled = mechanism(value, size) * 2.0**53
    return int(np.count_nonzero(scaled != np.floor(scaled)))


def test_reachability_breaks_numpy():
    own, other = (unreachable_from_zero(numpy_laplace, value) for value in (0.0, 1.0))
    assert own == 0
    assert epsilon_bound(other, own, 3000) > 3 * EPSILON


@OURS
def test_reachability_finds_nothing_in_ours(mechanism):
    own, other = (unreachable_from_zero(mechanism, value) for value in (0.0, 1.0))
    assert epsilon_bound(other, own, 3000) < EPSILON
    assert epsilon_bound(own, other, 3000) < EPSILON
    assert epsilon_bound(3000 - own, 3000 - other, 3000) < EPSILON
    assert epsilon_bound(3000 - other, 3000 - own, 3000) < EPSILON


def test_fine_bits_break_numpy():
    near, far = (has_fine_bits(numpy_laplace, value) for value in (0.0, 1.0))
    assert far == 0
    assert epsilon_bound(near, far, 100_000) > 3 * EPSILON


@OURS
def test_fine_bits_find_nothing_in_ours(mechanism):
    assert has_fine_bits(mechanism, 0.0) == has_fine_bits(mechanism, 1.0) == 0


@OURS
def test_every_output_of_ours_lies_on_the_same_grid_for_both_values(mechanism):
    """Outputs near both values hit every residue of the grid equally, whatever the value."""
    residues = []
    for value in (0.0, 1.0):
        steps = mechanism(value, 64_000) * STEPS
        assert np.array_equal(steps, np.rint(steps))
        residues.append(np.bincount(steps.astype(np.int64) % 64, minlength=64))
    assert stats.chi2_contingency(np.array(residues)).pvalue > ALPHA


@pytest.mark.parametrize("mechanism", [our_laplace, our_cube])
def test_the_distance_to_the_value_leaks_no_more_than_epsilon(mechanism):
    """The most telling event of Laplace noise itself: the output lies beyond one of the values."""
    size = 200_000
    low, high = (np.count_nonzero(mechanism(value, size) >= 1.0) for value in (0.0, 1.0))
    bound = epsilon_bound(high, low, size)
    assert 0.9 * EPSILON < bound <= EPSILON

"""Local mechanisms against their exact distributions. Each assertion: false alarm rate 1e-9."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato._core.local.ldp import LatticeColumns, LatticeDuchi, LatticeLaplace, LatticeStaircase
from sfumato._core.local.one_column import Mixture, TwoPoint, Window
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.local import Harmony, HybridMechanism, Piecewise, SquareWave
from tests.unit.local_chances import duchi_chances, made, row_chances, staircase_level

pytestmark = pytest.mark.slow

ALPHA = 1e-9
DRAWS = 100_000
LEAST = 25
WRONG = (Fraction(115, 100), Fraction(100, 115))
BEYOND = stats.norm.isf(ALPHA / 2)


def p_value(seen, chances):
    """Chi-square of counts over cells merged, in order, until each expects LEAST draws."""
    draws, cells, count, weight = sum(seen.values()), [], 0, 0.0
    assert set(seen) <= set(chances), "a report that the mechanism never gives"
    for report in sorted(chances):
        count, weight = count + seen[report], weight + draws * float(chances[report])
        if weight >= LEAST:
            cells.append((count, weight))
            count, weight = 0, 0.0
    cells[-1] = (cells[-1][0] + count, cells[-1][1] + weight)
    found, hoped = np.array(cells).T
    return stats.chi2.sf(((found - hoped) ** 2 / hoped).sum(), len(cells) - 1)


def reports_of(mechanism, row, noise=None, draws=DRAWS):
    return mechanism.draw(noise or ReplayedNoise(7), np.tile(np.array(row, np.int64), (draws, 1)))


def counts(reports):
    return Counter(map(tuple, reports.tolist()))


def column(piece, reach):
    """A mechanism for a single column."""
    return LatticeColumns(Fraction(1), 1, "", 1, piece, reach=reach)


def signs_of(chances):
    found = Counter()
    for report, chance in chances.items():
        found[tuple(np.sign(report).tolist())] += chance
    return found


def moved(window, epsilon):
    """A window of the same numbers whose ratio is that of another epsilon."""
    odds = Fraction(math.expm1(epsilon)) * window.window / window.range
    return replace(window, near=odds / (1 + odds))


@pytest.mark.parametrize("make", [Window.piecewise, Window.square_wave], ids=lambda m: m.__name__)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("value", [0, 4, -9])
def test_guarantee_of_windows(make, epsilon, value):
    window = make(epsilon, 9)
    seen = counts(reports_of(column(window, 9), [value]))
    assert p_value(seen, row_chances(column(window, 9), [value])) > ALPHA
    for factor in WRONG:
        wrong = moved(window, epsilon * factor)
        assert p_value(seen, row_chances(column(wrong, 9), [value])) < ALPHA


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("value", [REACH, -20_000])
def test_guarantee_of_two_points(epsilon, value):
    mechanism = column(TwoPoint.of(epsilon), REACH)
    reports = reports_of(mechanism, [value], draws=400_000)
    assert p_value(counts(reports), row_chances(mechanism, [value])) > ALPHA
    for factor in WRONG:
        wrong = column(TwoPoint.of(epsilon * factor), REACH)
        assert p_value(counts(np.sign(reports)), signs_of(row_chances(wrong, [value]))) < ALPHA


def test_guarantee_of_hybrid():
    piece = Mixture.hybrid(Fraction(2), 9)
    seen = counts(reports_of(column(piece, 9), [5]))
    assert p_value(seen, row_chances(column(piece, 9), [5])) > ALPHA
    for factor in WRONG:
        wrong = replace(piece, first=moved(piece.first, 2 * factor))
        assert p_value(seen, row_chances(column(wrong, 9), [5])) < ALPHA
        wrong = replace(piece, share=1 - (1 - piece.share) * factor)
        assert p_value(seen, row_chances(column(wrong, 9), [5])) < ALPHA


def test_guarantee_of_sampled_columns():
    """Two of three columns, stretched by 3/2, where odd reports are rounded at random."""
    window = Window.piecewise(Fraction(1), 2)
    mechanism = LatticeColumns(Fraction(2), 3, "", 2, window, reach=2)
    seen = counts(reports_of(mechanism, [2, -1, 0], draws=400_000))
    assert p_value(seen, row_chances(mechanism, [2, -1, 0])) > ALPHA
    for factor in WRONG:
        wrong = replace(mechanism, column=moved(window, factor))
        assert p_value(seen, row_chances(wrong, [2, -1, 0])) < ALPHA


def test_guarantee_of_harmony():
    mechanism = LatticeColumns(Fraction(1), 3, "", 1, TwoPoint.of(Fraction(1), 50), reach=50)
    reports = reports_of(mechanism, [50, -50, 20])
    assert p_value(counts(reports), row_chances(mechanism, [50, -50, 20])) > ALPHA
    for factor in WRONG:
        wrong = replace(mechanism, column=TwoPoint.of(factor, 50))
        assert (
            p_value(counts(np.sign(reports)), signs_of(row_chances(wrong, [50, -50, 20]))) < ALPHA
        )


@pytest.mark.parametrize("row", [[7], [7, -3], [7, -7, 4], [7, -7, 0, 5]], ids=len)
def test_guarantee_of_duchi(row):
    mechanism = LatticeDuchi.of(Fraction(1), len(row), 7)
    reports = reports_of(mechanism, row, draws=400_000)
    assert p_value(counts(reports), duchi_chances(mechanism, row)) > ALPHA
    for factor in WRONG:
        wrong = LatticeDuchi.of(factor, len(row), 7)
        assert p_value(counts(np.sign(reports)), signs_of(duchi_chances(wrong, row))) < ALPHA


def staircase_chances(epsilon, mechanism, value, top):
    weights = {
        (z + value,): math.exp(-epsilon * staircase_level(z, mechanism.width, mechanism.tread))
        for z in range(-top, top + 1)
    }
    total = math.fsum(weights.values())
    return {report: weight / total for report, weight in weights.items()}


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)], ids=str)
def test_guarantee_of_staircase(epsilon):
    mechanism = LatticeStaircase.of(epsilon, 1, reach=5)
    top = math.ceil(60 / epsilon) * mechanism.width
    seen = counts(reports_of(mechanism, [3]))
    assert p_value(seen, staircase_chances(epsilon, mechanism, 3, top)) > ALPHA
    for factor in WRONG:
        assert p_value(seen, staircase_chances(epsilon * factor, mechanism, 3, top)) < ALPHA


def test_guarantee_of_laplace():
    """Two columns with half of epsilon each."""
    mechanism = LatticeLaplace(Fraction(2), 2, reach=5)
    reports = reports_of(mechanism, [3, -5])
    for j, value in enumerate([3, -5]):
        seen = counts(reports[:, [j]])
        for factor in (1.0, 1.15, 1 / 1.15):
            weights = {(z + value,): math.exp(-abs(z) * factor / 10) for z in range(-600, 601)}
            total = math.fsum(weights.values())
            chances = {report: weight / total for report, weight in weights.items()}
            assert (p_value(seen, chances) > ALPHA) == (factor == 1.0)


MECHANISMS = {
    "laplace": LatticeLaplace(Fraction(3), 3),
    "staircase": LatticeStaircase.of(Fraction(3), 3),
    "piecewise": made(Piecewise(Fraction(6)), 3),
    "all columns piecewise": made(Piecewise(Fraction(3), sampled=3), 3),
    "hybrid": made(HybridMechanism(Fraction(3)), 3),
    "harmony": made(Harmony(Fraction(3)), 3),
    "duchi": LatticeDuchi.of(Fraction(3), 3),
    "square wave": made(SquareWave(Fraction(3)), 3),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mean_and_variance_on_the_whole_lattice(name):
    mechanism, row = MECHANISMS[name], np.array([REACH, -12_345, 0])
    reports = reports_of(mechanism, row).astype(float)
    error = reports.std(axis=0) / math.sqrt(DRAWS)
    assert (np.abs(reports.mean(axis=0) - mechanism.shrinks * row) < BEYOND * error).all()
    squares = (reports - mechanism.shrinks * row) ** 2
    expected = np.array([mechanism.variance(int(value)) for value in row])
    error = squares.std(axis=0) / math.sqrt(DRAWS)
    slack = BEYOND * error + 1e-9 * expected + 0.25
    assert (np.abs(squares.mean(axis=0) - expected) < slack).all()
    assert (np.abs(squares.mean(axis=0) - expected * 1.15) > slack).all()


def test_guarantees_with_secret_keys():
    window = Window.piecewise(Fraction(1), 9)
    seen = counts(reports_of(column(window, 9), [4], SecureNoise()))
    assert p_value(seen, row_chances(column(window, 9), [4])) > ALPHA
    mechanism = LatticeDuchi.of(Fraction(1), 2, 7)
    seen = counts(reports_of(mechanism, [7, -3], SecureNoise()))
    assert p_value(seen, duchi_chances(mechanism, [7, -3])) > ALPHA

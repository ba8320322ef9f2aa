"""Local mechanisms enumerated exactly on small domains, and the formulas of their papers."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato._core.local.ldp import (
    LatticeColumns,
    LatticeDuchi,
    LatticeLaplace,
    LatticeStaircase,
    agreement,
    leading,
    sampled_columns,
    single_chance,
)
from sfumato._core.local.one_column import SWITCH, Mixture, TwoPoint, Window
from sfumato._core.sampling.bernoulli import (
    bernoulli,
    divide_at_random,
    exp_below,
    majority_signs,
    subsets,
)
from sfumato._core.sampling.stream import Stream
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.local import Harmony, HybridMechanism, Piecewise, SquareWave
from tests.no_noise import NoNoise
from tests.unit.local_chances import (
    at_most,
    column_chances,
    column_ratio,
    duchi_chances,
    duchi_ratio,
    largest_ratio,
    log,
    made,
    row_chances,
    staircase_level,
    values,
)

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(7, 2)]
PIECES = {
    "two points": TwoPoint.of,
    "piecewise": Window.piecewise,
    "square wave": Window.square_wave,
    "hybrid": Mixture.hybrid,
}
UNBIASED = ("two points", "piecewise", "hybrid")

epsilons = pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
pieces = pytest.mark.parametrize("name", PIECES)


@pieces
@epsilons
def test_ratio_of_a_piece_is_at_most_its_epsilon_and_close(name, epsilon):
    reach = 30
    piece = PIECES[name](epsilon, reach)
    ratio = largest_ratio([column_chances(piece, value) for value in range(-reach, reach + 1)])
    assert at_most(ratio, epsilon)
    assert ratio <= column_ratio(piece)
    assert log(ratio) > 0.8 * epsilon
    assert name == "hybrid" or ratio == column_ratio(piece)


@pieces
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), *EPSILONS, Fraction(6)], ids=str)
def test_ratio_on_the_whole_lattice_is_at_most_epsilon_and_close(name, epsilon):
    piece = PIECES[name](epsilon)
    assert at_most(column_ratio(piece), epsilon)
    assert log(column_ratio(piece)) > 0.999 * epsilon


@pieces
@pytest.mark.parametrize("reach", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(5), Fraction(30)], ids=str)
def test_chances_sum_to_1_with_the_stated_mean_and_square(name, reach, epsilon):
    piece = PIECES[name](epsilon, reach)
    for value in range(-reach, reach + 1):
        chances = column_chances(piece, value)
        assert sum(chances.values()) == 1
        assert sum(y * p for y, p in chances.items()) == piece.mean(value)
        assert sum(y * y * p for y, p in chances.items()) == piece.square(value)
        if name in UNBIASED:
            assert piece.mean(value) == value


def some_columns(epsilon, columns, sampled, column, reach):
    return LatticeColumns(Fraction(epsilon), columns, "", sampled, column, reach=reach)


ROWS = {
    "harmony": some_columns(1, 3, 1, TwoPoint.of(Fraction(1), 2), 2),
    "two of three columns": some_columns(2, 3, 2, TwoPoint.of(Fraction(1), 2), 2),
    "one column piecewise": some_columns(2, 2, 1, Window.piecewise(Fraction(2), 3), 3),
    "all columns piecewise": some_columns(4, 2, 2, Window.piecewise(Fraction(2), 2), 2),
    "all columns square wave": some_columns(2, 2, 2, Window.square_wave(Fraction(1), 2), 2),
    "one column hybrid": some_columns(1, 2, 1, Mixture.hybrid(Fraction(1), 3), 3),
}


@pytest.mark.parametrize("name", ROWS)
def test_ratio_of_a_row_is_at_most_its_epsilon_and_close(name):
    mechanism = ROWS[name]
    distributions = [
        row_chances(mechanism, row) for row in values(mechanism.reach, mechanism.columns)
    ]
    assert all(sum(chances.values()) == 1 for chances in distributions)
    ratio = largest_ratio(distributions)
    assert at_most(ratio, mechanism.epsilon)
    assert log(ratio) > 0.7 * mechanism.epsilon


MADE = [
    made(Piecewise(Fraction(1)), 4),
    made(Piecewise(Fraction(6)), 5),
    made(Piecewise(Fraction(2), sampled=4), 4),
    made(HybridMechanism(Fraction(8)), 5),
    made(HybridMechanism(Fraction(2), sampled=3), 4),
    made(Harmony(Fraction(2)), 4),
    made(SquareWave(Fraction(2)), 4),
]


@pytest.mark.parametrize(
    "mechanism",
    MADE,
    ids=lambda mechanism: f"{mechanism.name} {mechanism.sampled}/{mechanism.columns}",
)
def test_the_columns_of_a_row_use_up_its_epsilon(mechanism):
    ratio = column_ratio(mechanism.column) ** mechanism.sampled
    assert at_most(ratio, mechanism.epsilon)
    assert log(ratio) > 0.999 * mechanism.epsilon


def test_a_row_keeps_its_mean_where_columns_are_sampled():
    mechanism = ROWS["two of three columns"]
    for row in values(2, 3):
        chances = row_chances(mechanism, row).items()
        assert [sum(y[j] * p for y, p in chances) for j in range(3)] == list(row)


def test_variance_of_a_sampled_column():
    mechanism = ROWS["one column piecewise"]
    for row in values(3, 2):
        chances = row_chances(mechanism, row).items()
        exact = sum(y[0] ** 2 * p for y, p in chances) - row[0] ** 2
        assert mechanism.variance(row[0]) == pytest.approx(float(exact))


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@epsilons
def test_ratio_of_duchi_is_at_most_its_epsilon_and_its_mean_is_the_row(columns, epsilon):
    reach = {1: 10, 2: 10, 3: 2, 4: 1}[columns]
    mechanism, rows = LatticeDuchi.of(epsilon, columns, reach), values(reach, columns)
    distributions = [duchi_chances(mechanism, row) for row in rows]
    ratio = largest_ratio(distributions)
    assert at_most(ratio, epsilon)
    assert ratio == duchi_ratio(mechanism)
    for row, chances in zip(rows, distributions, strict=True):
        assert sum(chances.values()) == 1
        mean = [sum(y[j] * p for y, p in chances.items()) for j in range(columns)]
        assert mean == list(row)


@pytest.mark.parametrize("columns", [1, 2, 3, 10, 101])
@epsilons
def test_ratio_of_duchi_on_the_whole_lattice_is_close_to_epsilon(columns, epsilon):
    mechanism = LatticeDuchi.of(epsilon, columns)
    assert at_most(duchi_ratio(mechanism), epsilon)
    assert log(duchi_ratio(mechanism)) > 0.999 * epsilon


@pytest.mark.parametrize("columns", range(1, 12))
def test_leading_signs_are_counted(columns):
    ahead = [s for s in product((-1, 1), repeat=columns) if sum(s) > 0]
    assert leading(columns) == len(ahead)
    assert agreement(columns) == Fraction(sum(s[0] for s in ahead), len(ahead))


def test_duchi_as_published_breaks_its_promise_for_two_columns():
    """Reports at a right angle are in both half spaces there: why ours has them in one."""
    up, corners = math.e / (1 + math.e), list(product((-1, 1), repeat=2))
    distributions = []
    for v in corners:
        angle = {y: y[0] * v[0] + y[1] * v[1] for y in corners}
        ahead, behind = ([y for y in corners if side * angle[y] >= 0] for side in (1, -1))
        distributions.append(
            {
                y: up * (y in ahead) / len(ahead) + (1 - up) * (y in behind) / len(behind)
                for y in corners
            }
        )
    assert largest_ratio(distributions) == pytest.approx(math.e + 1)


@epsilons
def test_formulas_of_the_papers(epsilon):
    e, half, unit = math.exp(epsilon), math.exp(epsilon / 2), REACH**2
    duchi, piecewise = TwoPoint.of(epsilon), Window.piecewise(epsilon)
    assert duchi.height / REACH == pytest.approx((e + 1) / (e - 1), rel=1e-4)
    assert (piecewise.stretch + piecewise.half) / REACH == pytest.approx(
        (half + 1) / (half - 1), rel=1e-3
    )
    for t in (0.0, 0.5, 1.0):
        value = round(t * REACH)
        two = float(duchi.square(value) - value**2) / unit
        assert two == pytest.approx(((e + 1) / (e - 1)) ** 2 - t * t, rel=1e-3)
        wide = float(piecewise.square(value) - value**2) / unit
        assert wide == pytest.approx(
            t * t / (half - 1) + (half + 3) / (3 * (half - 1) ** 2), rel=1e-3
        )


def test_the_largest_variance_of_hybrid_is_that_of_the_paper():
    for epsilon in (Fraction(1), Fraction(3)):
        e, half = math.exp(epsilon), math.exp(epsilon / 2)
        piece = Mixture.hybrid(epsilon)
        worst = max(float(piece.square(x) - x**2) for x in (0, REACH // 2, REACH)) / REACH**2
        paper = (half + 3) / (3 * half * (half - 1)) + (e + 1) ** 2 / (half * (e - 1) ** 2)
        assert worst == pytest.approx(paper, rel=1e-3)
    assert pytest.approx(0.61, abs=0.01) == SWITCH
    assert Mixture.hybrid(Fraction(3, 5)).share == 0


def test_window_of_square_wave_is_that_of_the_paper():
    for epsilon in EPSILONS:
        e = math.exp(epsilon)
        b = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
        wave = Window.square_wave(epsilon)
        assert wave.half / (2 * REACH) == pytest.approx(b, abs=1e-4)
        near = (e - 1) * 2 * b / (2 * b * e + 1)
        assert float(wave.near) == pytest.approx(near, rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "columns", "sampled"), [(1, 5, 1), (5, 5, 2), (Fraction(74, 10), 5, 2), (99, 5, 5)]
)
def test_columns_are_sampled_as_in_the_paper(epsilon, columns, sampled):
    assert sampled_columns(Fraction(epsilon), columns) == sampled


@pytest.mark.parametrize(("width", "tread"), [(6, 1), (6, 2), (6, 6), (10, 3)])
def test_staircase_falls_at_most_once_between_two_values(width, tread):
    levels = {z: staircase_level(z, width, tread) for z in range(-60, 61)}
    falls = {levels[z + s] - levels[z] for z in range(-40, 41) for s in range(-width, width + 1)}
    assert max(falls) == 1
    assert min(falls) == -1


def test_staircase_is_a_mixture_of_intervals_in_rational_arithmetic():
    """P(m) ~ size_m q^m and a uniform point of {|z| < m width + tread} make the staircase."""
    q, width, tread, top = Fraction(1, 3), 6, 2, 120
    sizes = [2 * (m * width + tread) - 1 for m in range(top)]
    norm = sum(size * q**m for m, size in enumerate(sizes))
    for z in range(-30, 31):
        level = staircase_level(z, width, tread)
        mixed = sum(q**m for m in range(level, top)) / norm
        assert abs(mixed * norm * (1 - q) / q**level - 1) < Fraction(1, 10**30)
    single = (2 * tread - 1) * (1 - q) / ((2 * tread - 1) * (1 - q) + 2 * width * q)
    for m in range(20):
        geometric, double = (1 - q) * q**m, m * (1 - q) ** 2 * q ** (m - 1) if m else 0
        assert abs(single * geometric + (1 - single) * double - sizes[m] * q**m / norm) < Fraction(
            1, 10**30
        )


def test_chance_of_a_single_geometric_number():
    q = math.exp(-0.5)
    expected = 3 * (1 - q) / (3 * (1 - q) + 12 * q)
    assert float(single_chance(Fraction(1, 2), 6, 2)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)], ids=str)
def test_staircase_has_the_least_mean_size_and_the_stated_variance(epsilon):
    mechanism = LatticeStaircase.of(epsilon, 1, reach=500)
    z = np.arange(-200_000, 200_001)
    level = np.where(
        np.abs(z) < mechanism.tread, 0, 1 + (np.abs(z) - mechanism.tread) // mechanism.width
    )
    chances = np.exp(-float(epsilon) * level)
    chances /= chances.sum()
    assert mechanism.variance(0) == pytest.approx(
        float((chances * z.astype(float) ** 2).sum()), rel=1e-9
    )
    best = (
        mechanism.width * math.exp(epsilon / 2) / math.expm1(epsilon)
    )  # Geng and Viswanath, Thm. 3
    assert float((chances * np.abs(z)).sum()) == pytest.approx(best, rel=2e-3)


def test_laplace_noise_covers_the_whole_row():
    mechanism = LatticeLaplace(Fraction(3, 2), 4)
    assert Fraction(2 * REACH * 4) / mechanism.scale == Fraction(3, 2)
    assert mechanism.variance(0) == pytest.approx(2 * float(mechanism.scale) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        LatticeLaplace(Fraction(1), 2),
        LatticeStaircase.of(Fraction(1), 2),
        made(Piecewise(Fraction(1)), 2),
        LatticeDuchi.of(Fraction(1), 2),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_without_noise_a_report_is_the_row(mechanism):
    rows = np.array([[1, -2], [REACH, -REACH]])
    reports = mechanism.draw(NoNoise(), rows)
    assert np.array_equal(reports, rows)
    assert reports is not rows


def test_exp_below_is_just_below():
    for epsilon in (Fraction(1, 2**20), Fraction(1), Fraction(64)):
        assert at_most(exp_below(epsilon), epsilon)
        assert not at_most(exp_below(epsilon) + Fraction(1, 2**250), epsilon)
    assert exp_below(Fraction(1000)) == exp_below(Fraction(64))


def test_bernoulli_draws_are_settled_to_the_last_bit():
    key = bytes(32)
    (raw,) = Stream(key).bits(np.array([0]), 2)
    for chance, up in ((Fraction(raw, 2**320), False), (Fraction(raw + 1, 2**320), True)):
        assert bernoulli(Stream(key), chance, 1)[0] == up
    assert bernoulli(Stream(key), Fraction(1), 3).all()
    assert not bernoulli(Stream(key), Fraction(0), 3).any()
    with pytest.raises(ValueError, match="from 0 to 1"):
        bernoulli(Stream(key), Fraction(3, 2), 1)


def test_random_division_rounds_to_a_neighbour():
    numbers = np.arange(-50, 51)
    drawn = divide_at_random(Stream(bytes(32)), numbers, 7)
    assert set((drawn - numbers // 7).tolist()) == {0, 1}
    assert np.array_equal(drawn[numbers % 7 == 0], numbers[numbers % 7 == 0] // 7)


def test_subsets_have_different_members_and_signs_lean():
    drawn = subsets(Stream(bytes(32)), 500, 6, 4)
    assert all(len(set(row)) == 4 for row in drawn.tolist())
    assert set(drawn.ravel().tolist()) == set(range(6))
    for size in (1, 2, 5, 8):
        signs = majority_signs(Stream(bytes(32)), 300, size)
        assert set(np.unique(signs)) <= {-1, 1}
        assert (signs.sum(axis=1) > 0).all()


def test_reports_fit_64_bits_at_the_least_epsilon_in_most_columns():
    columns = 1000
    rows = np.full((3, columns), REACH)
    epsilon = Fraction(1, 2**20)
    for mechanism in (
        made(Harmony(epsilon), columns),
        made(Piecewise(epsilon), columns),
        made(Piecewise(epsilon * 7, sampled=7), columns),
        LatticeDuchi.of(epsilon, columns),
        LatticeStaircase.of(epsilon * columns, columns),
    ):
        assert np.abs(mechanism.draw(ReplayedNoise(1), rows)).max() < 2**53

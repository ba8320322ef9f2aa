"""Covers: a row counts until it is covered, and all picks together cost the (ε, δ) charged."""

from fractions import Fraction
from itertools import product
from math import exp, expm1, isqrt, log

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato._accounting.budget import Caps, Share
from sfumato._core.curator import Curator
from sfumato._core.queries.max_cover import Grids
from sfumato._core.releases.max_cover import MAX_PICKS, Cover, Covering, largest_rate
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from tests.laws.covers import log_chance
from tests.no_noise import NoNoise

F = Fraction
LINE = Grids(1, (3000, 9000), (12_000, 20_000))
PLANE = Grids(2, (9000, 20_000), (16_000, 20_000))
BUDGETS = [(F(1, 10), F(1, 100)), (F(1), F(1, 10)), (F(4), F(1, 4)), (F(20), F(1, 1000))]


def curator_of(rows, *, width=1, noise=None, cls=Curator, epsilon=100, delta=0.9, **settings):
    rows = np.asarray(rows, dtype=float).reshape(-1, width)
    bounds = (-float(REACH), float(REACH))
    noise = noise or ReplayedNoise(3)
    return cls(rows, bounds=bounds, epsilon=epsilon, delta=delta, noise=noise, **settings)


def share_of(curator, epsilon=1, delta=0.01):
    caps = Caps(approximate=(F(epsilon), F(str(delta))))
    return curator.reserve("test", caps).rest("approximate")


class Forced(Curator):
    """Picks what a script says and writes down how likely that was."""

    def follow(self, grids, script, picks):
        self.script, self.seen = list(script), []
        self._data.draw = self.draw
        self.cover(grids, share=share_of(self, 0.001, 0.001), picks=picks)
        return self.seen

    def draw(self, _, cover):
        point = np.array(self.script[len(self.seen)])
        self.seen.append((cover.score(point), cover.classes(), cover.net.size))
        return point


def points_of(net):
    """Every point of a grid."""
    axis = net.side * np.arange(-net.half, net.half + 1)
    return [tuple(int(x) for x in point) for point in product(axis, repeat=net.n_features)]


def sequences(grids, picks):
    """Every sequence of picks that a cover can answer with."""
    return product(*[points_of(net) for net in grids.nets() for _ in range(picks)])


def chances(rows, grids, picks, rates):
    """The exact chance of every sequence, for each of some rates."""
    curator = curator_of(rows, width=grids.n_features, cls=Forced, epsilon=10**6)
    seen = [curator.follow(grids, script, picks) for script in sequences(grids, picks)]
    with mpmath.workdps(40):
        return [[mpmath.exp(log_chance(rate, one)) for one in seen] for rate in rates]


def beyond(one, other, epsilon):
    """The δ that one dataset needs against the other at this ε."""
    with mpmath.workdps(40):
        factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return mpmath.fsum(max(p - factor * q, 0) for p, q in zip(one, other, strict=True))


NEIGHBOURS = {
    "first row": ([], [700]),
    "between": ([-30_000, 500, 500, 9000], [100]),
    "corner": ([REACH, -REACH, 0], [REACH]),
    "twins": ([0] * 5, [0]),
    "group": ([-9000, 20_000], [0, 100, 30_000]),
    "group of twins": ([25_000, 25_000], [0, 0, 0]),
}


@pytest.mark.parametrize(("rows", "extra"), NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_every_sequence_of_picks_loses_no_more_than_was_charged(rows, extra):
    """All sequences on two small grids, both ways: the smallest δ at the ε that was charged."""
    rates = [largest_rate(*budget, len(extra)) for budget in BUDGETS]
    less, more = (chances(x, LINE, 2, rates) for x in (rows, rows + extra))
    for (epsilon, delta), one, other in zip(BUDGETS, less, more, strict=True):
        assert abs(mpmath.fsum(one) - 1) < 1e-30
        assert abs(mpmath.fsum(other) - 1) < 1e-30
        assert beyond(one, other, epsilon) <= delta
        # e^η of the proof page, for all rows of the group together.
        most = 1 + float(epsilon) / log(len(extra) / float(delta))
        assert max(q / p for p, q in zip(one, other, strict=True)) <= most * (1 + 1e-12)
        assert beyond(other, one, epsilon) == 0


def test_every_sequence_in_the_plane():
    rates = [largest_rate(*budget, 1) for budget in BUDGETS]
    rows = [[0, 0], [15_000, -9000], [-30_000, 30_000]]
    less, more = (chances(x, PLANE, 1, rates) for x in (rows, [*rows, [-8000, 0]]))
    for (epsilon, delta), one, other in zip(BUDGETS, less, more, strict=True):
        assert beyond(one, other, epsilon) <= delta
        assert beyond(other, one, epsilon) == 0


def test_a_row_that_was_covered_never_counts_again():
    """Not for the next pick, and not at the next radius."""
    curator = curator_of([0, 0, 30_000], cls=Forced)
    seen = curator.follow(LINE, [(0,), (24_000,), (0,), (20_000,)], 2)
    assert [score for score, _, _ in seen] == [2, 1, 0, 0]
    curator = curator_of([0, 0, 30_000], cls=Forced)
    seen = curator.follow(LINE, [(0,), (0,), (0,), (20_000,)], 2)
    assert [score for score, _, _ in seen] == [2, 0, 0, 1]
    assert seen[3][1][0].tolist() == [1]


def one_row(eta, epsilon, part, picks):
    """The exact δ of an empty table against one row that `part` of a grid covers, any picks."""
    grown = 1 + expm1(eta) * part
    missed = (1 - part) ** picks * max(0.0, 1 - exp(epsilon) / grown**picks)
    met = sum(
        (1 - part) ** (i - 1) * part * max(0.0, 1 - exp(epsilon + eta) / grown**i)
        for i in range(1, picks + 1)
    )
    return missed + met


def best_delta(eta, epsilon):
    """(3) of the proof page."""
    return -expm1(-eta) * exp(-(epsilon + eta) / expm1(eta))


@pytest.mark.parametrize(("eta", "epsilon"), [(0.05, 0.7), (0.5, 5.0), (3.0, 75.0)])
def test_the_best_possible_delta_is_reached_and_never_passed(eta, epsilon):
    for part in (0.2, 0.01, 0.0005):
        picks = int((epsilon + eta) / log(1 + expm1(eta) * part)) + 1
        found = max(one_row(eta, epsilon, part, picks + more) for more in (-1, 0, 1))
        assert found <= best_delta(eta, epsilon) * (1 + 1e-9)
    assert found > 0.97 * best_delta(eta, epsilon)


def test_the_published_constant_breaks_its_promise():
    """Theorem 16's e·ε_E·ln(1/δ_E)/2 at ε_E = 6, δ_E = 10⁻⁴; up to ε_E = 3.5 it is safe."""

    def stated(pick, delta):
        return exp(1) * pick * log(1 / delta) / 2

    epsilon, part = stated(6, 1e-4), 0.0005
    picks = int((epsilon + 3) / log(1 + expm1(3) * part)) + 1
    assert one_row(3, epsilon, part, picks) > 100 * 1e-4
    assert expm1(1.75) * log(1e4) <= stated(3.5, 1e-4)
    assert expm1(1.76) * log(1e4) > stated(3.52, 1e-4)


def worst_group(eta, epsilon, rows, steps=4000):
    """The δ of the worst grids for a group, by its rows still uncovered and the loss so far."""
    kappa, top = eta / rows, epsilon + 2 * eta + 1
    losses = np.linspace(-eta, top, steps)
    step = losses[1] - losses[0]
    values = [np.maximum(0, -np.expm1(epsilon - losses))]
    for left in range(1, rows + 1):
        value = np.maximum(0, -np.expm1(epsilon - losses))
        for i in range(steps - 2, -1, -1):
            for met in range(1, left + 1):
                chance = step / np.expm1(kappa * met)
                after = np.interp(losses[i] - kappa * met, losses, values[left - met])
                value[i] = max(value[i], np.exp(-chance) * value[i + 1] + chance * after)
        values.append(value)
    return np.interp(0, losses, values[rows])


@pytest.mark.parametrize("budget", [(F(1), F(1, 100)), (F(3), F(1, 20))])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_grids_make_a_group_lose_more(rows, budget):
    eta = float(largest_rate(*budget, rows) * rows)
    found = worst_group(eta, float(budget[0]), rows)
    assert found <= float(budget[1])
    if rows == 1:
        assert found == pytest.approx(best_delta(eta, float(budget[0])), rel=0.02)


@given(
    st.fractions(F(1, 10**9), 10**6, max_denominator=10**9),
    st.fractions(F(1, 10**12), F(99, 100), max_denominator=10**12),
    st.integers(1, 1000),
)
@example(F(1, 10), F(9, 10), 1)
@example(F(75), F(1, 10**4), 1)
@example(F(1), F(1, 10**6), 3)
def test_rates_are_the_largest_that_the_share_pays_for(epsilon, delta, rows):
    with mpmath.workdps(60):
        eta = mpmath.mpf((largest_rate(epsilon, delta, rows) * rows).numerator)
        eta /= (largest_rate(epsilon, delta, rows) * rows).denominator
        tries = mpmath.log(mpmath.mpf(rows) * delta.denominator / delta.numerator)
        amount = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        price = max(eta, mpmath.expm1(eta) * tries)
        assert price <= amount
        wider = eta * (1 + mpmath.mpf(2) ** -60)
        assert max(wider, mpmath.expm1(wider) * tries) > amount


coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from([-REACH, 0, REACH]))


@given(st.lists(st.tuples(coordinate, coordinate), max_size=6), st.tuples(coordinate, coordinate))
@example([], (0, 0))
@example([(REACH, -REACH), (0, 0), (-REACH, REACH)], (-REACH, -REACH))
@example([(100, 100)] * 3, (9_000, -12_345))
@settings(max_examples=40)
def test_one_row_adds_one_to_the_points_that_cover_it(rows, extra):
    for net in PLANE.nets():
        before, after = (
            Cover(np.array(x, dtype=np.int16).reshape(-1, 2), net) for x in (rows, [*rows, extra])
        )
        for point in points_of(net):
            place = np.array(point)
            near = sum((a - b) ** 2 for a, b in zip(point, extra, strict=True)) <= net.limit
            assert after.score(place) - before.score(place) == near


@pytest.mark.parametrize("grids", [LINE, PLANE, Grids.of(5, alpha=1.0, r_min=0.05)], ids=str)
def test_a_point_covers_what_lies_within_its_radius(grids):
    """r + t√p, compared as whole numbers: the last square inside, and the first outside."""
    for radius, side, net in zip(grids.radii, grids.sides, grids.nets(), strict=True):
        with mpmath.workdps(40):
            reach = (radius + side * mpmath.sqrt(grids.n_features)) ** 2
            assert net.limit == min(int(reach), grids.n_features * (2 * REACH) ** 2)


def test_points_are_picked_as_often_as_their_chances_say():
    """6,000 picks on a line of five points; false alarms below 1e-9 (chi-square)."""
    net = LINE.nets()[0]
    rows = np.array([[0], [0], [3000], [24_000]], dtype=np.int16)
    law = Covering("test", Share("approximate", F(8), F(1, 100)), 1, 1)
    noise, cover = ReplayedNoise(9), Cover(rows, net)
    drawn = [tuple(law.draw(noise, cover).tolist()) for _ in range(6000)]
    points = points_of(net)
    seen = [drawn.count(point) for point in points]
    assert sum(seen) == 6000

    def expected(rate):
        picks = [(cover.score(np.array(p)), cover.classes(), net.size) for p in points]
        return np.array([6000 * float(mpmath.exp(log_chance(rate, [one]))) for one in picks])

    assert chisquare(seen, expected(law.rate)).pvalue > 1e-9
    assert chisquare(seen, expected(law.rate * F(115, 100))).pvalue < 1e-9


def test_without_rows_every_point_is_equally_likely():
    """1,000 picks on a line of five points; false alarms below 1e-9 (chi-square)."""
    net, noise = LINE.nets()[0], ReplayedNoise(8)
    law = Covering("test", Share("approximate", F(1), F(1, 100)), 1, 1)
    cover = Cover(np.zeros((0, 1), dtype=np.int16), net)
    drawn = [int(law.draw(noise, cover)[0]) for _ in range(1000)]
    seen = [drawn.count(point) for (point,) in points_of(net)]
    assert sum(seen) == 1000
    assert chisquare(seen).pvalue > 1e-9
    assert chisquare(seen, [1000 * w for w in (0.3, 0.175, 0.175, 0.175, 0.175)]).pvalue < 1e-9


def test_points_that_cover_nothing_are_drawn_from_the_whole_grid():
    """600 picks where no row is: every part of a grid of 10^13 points."""
    net = Grids.of(5, alpha=1.0, r_min=0.01).nets()[0]
    law = Covering("test", Share("approximate", F(1), F(1, 100)), 1, 1)
    noise, cover = ReplayedNoise(2), Cover(np.zeros((0, 5), dtype=np.int16), net)
    drawn = np.array([law.draw(noise, cover) for _ in range(600)])
    assert (drawn % net.side == 0).all()
    assert np.abs(drawn).max() <= net.side * net.half
    for column in drawn.T:
        halves = np.bincount((column > 0).astype(int) + (column > REACH // 2), minlength=3)
        assert chisquare(halves, [300, 150, 150]).pvalue > 1e-9


@pytest.mark.parametrize("noise", [NoNoise, lambda: ReplayedNoise(4)], ids=["none", "replayed"])
def test_order_and_cut_of_rows_do_not_show(noise):
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 6000, (300, 3)).round()
    grids = Grids.of(3, alpha=1.0, r_min=0.1)
    found = []
    for x in (rows, rng.permutation(rows)):
        curator = curator_of(x, width=3, noise=noise())
        found.append(curator.cover(grids, share=share_of(curator, 50), picks=3))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.point, other.point)
        assert one.radius == other.radius
    assert [one.radius for one in found[0]] == [r for r in grids.radii for _ in range(3)]


def test_without_noise_greedy_picks_cover_the_clumps():
    rows = np.repeat([[-20_000, 0], [20_000, 20_000], [0, -25_000]], [50, 30, 10], axis=0)
    curator = curator_of(rows, width=2, noise=NoNoise())
    grids = Grids(2, (1500,), (1000,))
    picked = curator.cover(grids, share=share_of(curator), picks=3)
    for one, place in zip(picked, ([-20_000, 0], [20_000, 20_000], [0, -25_000]), strict=True):
        assert np.linalg.norm(one.point - np.array(place)) <= 1500 + 1000 * 2**0.5


def test_one_share_pays_for_all_picks_and_a_group_weighs_its_part():
    groups = np.arange(30) % 6
    for most in (1, 5):
        curator = curator_of(np.zeros((30, 1)), groups=groups, max_rows_per_group=most)
        share = share_of(curator)
        curator.cover(LINE, share=share, picks=4)
        (entry,) = share.account.entries
        assert (entry.share, entry.mechanism, entry.released) == (share, "cover", True)
        assert entry.scale == 1 / largest_rate(F(1), F(1, 100), most)
        assert 0 < entry.slack < 2**-100


class Diary:
    """Rows that write down when they are read, and what was charged by then."""

    n_features = 1
    max_rows_per_group = None

    def __init__(self):
        self.read, self.account = [], None

    def fold(self, box, kernel):
        raise AssertionError("a cover has all rows at once")

    def split(self, box, parts, key):
        self.read.append((parts, len(self.account.entries)))
        yield np.zeros((2, 1), dtype=np.int16)


def test_a_cover_is_charged_before_a_row_is_read_and_read_once():
    rows = Diary()
    curator = Curator(rows, bounds=(-1, 1), epsilon=1.0, delta=0.1)
    share = share_of(curator)
    rows.account = share.account
    curator.cover(LINE, share=share, picks=2)
    assert rows.read == [(1, 1)]


class Lattice(Grids):
    """Grids of somebody else's making."""


def test_bad_covers_are_refused_before_the_charge():
    curator = curator_of(np.zeros((3, 1)))
    caps = Caps(pure=F(1), gaussian=(F(1), F(1, 100)), approximate=(F(1), F(1, 100)))
    account = curator.reserve("test", caps)
    share = account.rest("approximate")
    pure = Share("approximate", F(1), F(0), account)

    def ask(grids, share=share, picks=1):
        return lambda: curator.cover(grids, share=share, picks=picks)

    bad = [
        (TypeError, "own queries: Grids", ask(None)),
        (TypeError, "Lattice is not one", ask(Lattice(1, (1,), (1,)))),
        (ValueError, "columns", ask(PLANE)),
        (ValueError, "picks", ask(LINE, picks=0)),
        (ValueError, "picks", ask(LINE, picks=MAX_PICKS)),
        (TypeError, "approximate share", ask(LINE, account.rest("pure"))),
        (TypeError, "approximate share", ask(LINE, account.rest("gdp"))),
        (TypeError, "δ = 0", ask(LINE, pure)),
        (ValueError, "1 to 16 columns", lambda: Grids(17, (1,), (1,))),
        (ValueError, "ascend", lambda: Grids(1, (2, 2), (1, 1))),
        (ValueError, "whole numbers", lambda: Grids(1, (0,), (1,))),
        (ValueError, "whole numbers", lambda: Grids(1, (1.5,), (1,))),
        (ValueError, "one side for each", lambda: Grids(1, (1, 2), (1,))),
        (ValueError, "lie near each row", lambda: Grids(5, (20_000,), (10,))),
        (ValueError, "alpha", lambda: Grids.of(2, alpha=0.0, r_min=0.1)),
        (ValueError, "r_min", lambda: Grids.of(2, alpha=1.0, r_min=2.0)),
        (ValueError, "radii", lambda: Grids.of(2, alpha=1e-5, r_min=0.1)),
    ]
    for kind, message, wrong in bad:
        with pytest.raises(kind, match=message):
            wrong()
    assert account.entries == ()


def test_radii_and_sides_are_the_papers():
    grids = Grids.of(5, alpha=1.0, r_min=0.05)
    assert [round(r / REACH, 3) for r in grids.radii] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
    assert grids.sides == tuple(isqrt(r * r // 5) for r in grids.radii)
    # Volume of the unit ball in 5 dimensions × (2√5)^5, but for the rounding of the side.
    assert grids.near(0) == pytest.approx(9416, rel=0.005)
    assert Grids.of(5, alpha=0.5, r_min=0.05).near(0) == pytest.approx(71_504, rel=0.005)
    assert grids.near(5) == pytest.approx(3**5)
    assert grids.work(1000) == pytest.approx(1000 * sum(grids.near(i) for i in range(6)))
    tiny = Grids.of(2, alpha=1.0, r_min=1e-9)
    assert tiny.radii[:3] == (1, 2, 4)
    assert tiny.sides[0] == 1

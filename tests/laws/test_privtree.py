"""The shape of a tree and the counts of its leaves lose no more than they were charged."""

from fractions import Fraction
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Share
from sfumato._core.queries.privtree import Branches, Domain, cuts_below
from sfumato._core.releases.privtree import DEEPEST, LOG_2, PER_PATH, PrivTreeSplits
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from tests.laws.bits import DIGITS, log_chance
from tests.laws.harness import RecordingCurator, Transcript, loss

F = Fraction
WIDE = Domain([-REACH] * 4, [REACH] * 4)
CORNER = [-REACH] * 4

pytestmark = pytest.mark.usefixtures("short_passes", "many_digits")


@pytest.fixture(scope="module")
def short_passes():
    """What a pass may hold decides nothing but the time that it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato._core.releases.privtree._BOXES", 2**6)
        yield


@pytest.fixture(scope="module")
def many_digits():
    with mpmath.workdps(DIGITS):
        yield


def curator_of(rows, d, *, key=7, **settings):
    """A curator of lattice rows, with budget to spare."""
    rows = np.asarray(rows, dtype=np.float64).reshape(-1, d)
    noise = ReplayedNoise(key)
    return RecordingCurator(rows, bounds=(-REACH, REACH), epsilon=100.0, noise=noise, **settings)


def grown(curator, domain, epsilon, max_leaves=2**10):
    """Grow a tree for twice ε; returns it and its account."""
    account = curator.reserve("law", Caps(pure=2 * epsilon))
    share, counts = account.rest("pure").evenly(2)
    return curator.grow(domain, share=share, counts=counts, max_leaves=max_leaves), account


def losses(one, other, domain, epsilon, script=None):
    """Grow on `one`, replay on `other`: what the shape and the counts lose, and their charges."""
    one.replay = script
    tree, account = grown(one, domain, epsilon)
    other.replay = one.transcript
    again, _ = grown(other, domain, epsilon)
    ours, theirs = one.transcript, other.transcript
    assert ours.queries == theirs.queries
    assert ours.mechanisms == theirs.mechanisms
    for field in ("lower", "upper", "depths"):
        np.testing.assert_array_equal(getattr(tree, field), getattr(again, field))
    steps = zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    lost, charged = [loss(*step) for step in steps], [e.share.amount for e in account.entries]
    assert len(lost) == len(charged) == 2
    return lost, charged


points = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(
    st.lists(points, max_size=30),
    st.lists(points, min_size=1, max_size=4),
    st.integers(1, 40),
    st.integers(0, 10**6),
)
@example([(i % 10, i // 3) for i in range(30)], [(3, 3)] * 4, 13, 5)
@example([], [(9, 9)], 1, 0)
@example([(0, 0)] * 30, [(0, 0)] * 3, 40, 7)
@example([(5, 5)] * 12, [(5, 5), (9, 0)], 10, 1)
def test_no_tree_loses_more_than_it_was_charged(rows, group, tenths, key):
    """Neighbours differ by a group of up to four rows, all or none of them in the same place."""
    labels = list(range(1, len(rows) + 1)) + [0] * len(group)
    most = len(group)
    larger = curator_of(rows + group, 2, key=key, groups=labels, max_rows_per_group=most)
    smaller = curator_of(rows, 2, key=key, groups=labels[: len(rows)], max_rows_per_group=most)
    for pair in ((larger, smaller), (smaller, larger)):
        for curator in pair:
            curator._data.transcript = Transcript()
        lost, charged = losses(*pair, Domain([0, 0], [9, 9]), F(tenths, 10))
        assert lost[0] <= charged[0]
        assert 0 < lost[1] <= charged[1]


def chain(depth):
    """The release of a tree that goes down to the corner, `depth` levels deep, and nowhere else."""
    bits = [[True], *[[True, False]] * (depth - 1)]
    bits.append([False, False] if depth < DEEPEST else [])
    released = [[np.array(level, dtype=bool) for level in bits], np.zeros((depth + 1, 1))]
    return Transcript(released=released)


@pytest.mark.parametrize("depth", [1, 2, 9, DEEPEST])
@pytest.mark.parametrize("epsilon", [F(1, 7), F(1), F(5)])
@pytest.mark.parametrize("rows", [1, 3])
def test_no_chain_loses_more_than_it_was_charged(epsilon, depth, rows):
    """Twins in a corner: as many as make the last splits as unlikely as they can be."""
    decay = PrivTreeSplits.fitting(Share("pure", epsilon), rows).decay
    for twins in {0, 1, decay - 1, decay, (depth - 1) * decay, depth * decay + 1}:
        labels = np.arange(twins + rows).clip(max=twins)
        settings = {"max_rows_per_group": rows}
        larger = curator_of([CORNER] * (twins + rows), 4, groups=labels, **settings)
        smaller = curator_of([CORNER] * twins, 4, groups=labels[:twins], **settings)
        lost, charged = losses(larger, smaller, WIDE, epsilon, chain(depth))
        assert lost[0] <= charged[0]
        assert lost[1] == charged[1]


def test_the_worst_tree_uses_the_charge_up():
    """No more noise than the guarantee needs: 0.2 % below the charge."""
    epsilon, depth = F(1, 100), 24
    twins = (depth - 2) * PrivTreeSplits.fitting(Share("pure", epsilon), 1).decay
    pair = [curator_of([CORNER] * n, 4) for n in (twins + 1, twins)]
    lost, charged = losses(*pair, WIDE, epsilon, chain(depth))
    assert F(998, 1000) * charged[0] < lost[0] <= charged[0]


def path_losses(law, highest):
    """The most that one row can lose on a path, over all counts of the larger dataset's nodes.

    Going down, counts never rise. The most that can still be lost below depth h, where at most c
    rows are left, is that of c − 1, or that of a split with c rows here and at most c below.
    """

    def change(count, depth, split):
        here, there = (int(law.biased(np.array([c]), depth)[0]) for c in (count, count - 1))
        if here == there:
            return mpmath.mpf(0)
        return log_chance(law.scale, here, split) - log_chance(law.scale, there, split)

    below = [mpmath.mpf(0)] * (highest + 1)
    for depth in reversed(range(DEEPEST)):
        worst = mpmath.mpf(0)
        for count in range(1, highest + 1):
            worst = max(worst, change(count, depth, True) + below[count])
            below[count] = worst
    ends = min(
        change(count, depth, False) for count in range(1, highest) for depth in range(DEEPEST)
    )
    return below[-1], -ends


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3), F(8)])
def test_the_worst_of_all_paths_loses_no_more_than_the_charge(epsilon):
    law = PrivTreeSplits.fitting(Share("pure", epsilon), 1)
    splits, ends = path_losses(law, (DEEPEST + 1) * law.decay + 1)
    charge = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    assert charge / 2 < splits <= charge
    assert 0 < ends <= charge


def all_shapes():
    """Every tree over four points in a row, as the bits of its levels."""
    yield [[False]]
    for left in (False, True):
        for right in (False, True):
            ends = [[]] if left or right else []
            yield [[True], [left, right], *ends]


def test_every_tree_over_four_points_and_every_small_dataset():
    domain, epsilon = Domain([0], [3]), F(1, 2)
    datasets = [rows for n in range(6) for rows in combinations_with_replacement(range(4), n)]
    chances = {}
    for rows in datasets:
        chances[rows] = []
        for shape in all_shapes():
            curator = curator_of(rows, 1)
            released = [[np.array(level, dtype=bool) for level in shape]]
            n_leaves = 1 + sum(map(sum, shape))
            curator.replay = Transcript(released=[*released, np.zeros((n_leaves, 1))])
            grown(curator, domain, epsilon)
            law, biased = curator.transcript.mechanisms[0], curator.transcript.exact[0]
            levels = zip(shape, biased, strict=True)
            pairs = [pair for level in levels for pair in zip(*level, strict=True)]
            chances[rows].append(sum(log_chance(law.scale, int(b), bit) for bit, b in pairs))
    for rows, logs in chances.items():
        assert abs(sum(map(mpmath.exp, logs)) - 1) < mpmath.mpf(10) ** -40
        for i in range(len(rows)):
            fewer = chances[rows[:i] + rows[i + 1 :]]
            ratios = [abs(a - b) for a, b in zip(logs, fewer, strict=True)]
            assert max(ratios) <= mpmath.mpf(1) / 2


def test_constants_lie_just_above_their_limits():
    assert 0 < mpmath.mpf(LOG_2.numerator) / LOG_2.denominator - mpmath.log(2) < 1e-10
    terms = [F(1, 2**k - 1) for k in range(1, 60)]
    # 1/(2^k − 1) ≤ 2^(1−k): the terms left out add up to at most 2^-58.
    assert 1 + sum(terms) + F(1, 2**58) <= PER_PATH < 1 + sum(terms) + F(1, 10**5)


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(26067, 10**4), F(100)])
def test_one_split_loses_no_more_than_the_proof_says(scale):
    rate = mpmath.mpf(scale.denominator) / scale.numerator
    for biased in range(-20, 200):
        lost = log_chance(scale, biased + 1, True) - log_chance(scale, biased, True)
        bound = rate / (2 * mpmath.exp(max(biased, 0) * rate) - 1)
        assert lost <= bound + mpmath.mpf(10) ** -40
        if biased <= 0:
            assert abs(lost - rate) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("scale", [F(1, 3), F(7, 2)])
def test_chances_are_those_of_discrete_laplace_noise(scale):
    q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    weights = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-600, 601)}
    for biased in range(-9, 10):
        for split in (True, False):
            chance = sum(w for z, w in weights.items() if (biased + z > 0) == split)
            assert abs(log_chance(scale, biased, split) - mpmath.log(chance)) < 1e-40


@given(st.lists(points, max_size=9), points)
@example([], (0, 0))
@example([(2, 3), (8, 7), (9, 9), (5, 5)], (5, 6))
@example([(x, 9 - x) for x in range(9)], (9, 9))
def test_one_row_moves_one_count_by_one(rows, extra):
    corners = np.array([[2, 3]], dtype=np.int32), np.array([[8, 7]], dtype=np.int32)
    query = Branches(np.array([[0, 0, -2]], dtype=np.int32), cuts_below(*corners, 3))
    states = []
    for lattice in (rows, [*rows, extra]):
        state = query.empty()
        query.add(np.array(lattice, dtype=np.int16).reshape(-1, 2), state)
        states.append(state)
    moved = states[1] - states[0]
    assert moved.sum() == np.abs(moved).sum() == 1

"""Trees against a plain definition in Python integers, and everything that must not show."""

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Overspent, Share
from sfumato._core.curator import Curator
from sfumato._core.queries.privtree import Domain
from sfumato._core.releases.privtree import DEEPEST, LOG_2, MAX_PASSES, PER_PATH, PrivTreeSplits
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._lattice.box import REACH
from sfumato._lattice.kernels import numba_loops
from sfumato._lattice.kernels.numpy_loops import add_branches
from sfumato.engines._memory import ArrayRows
from tests.no_noise import NoNoise

F = Fraction
BACKENDS = ["numpy", "numba"]
WHOLE = Domain([-REACH] * 2, [REACH] * 2)


def curator_of(rows, noise=None, **settings):
    return Curator(
        rows, bounds=(-REACH, REACH), epsilon=100.0, noise=noise or NoNoise(), **settings
    )


def grown(curator, domain=WHOLE, epsilon=1, max_leaves=2**17):
    """A tree, its shape and its counts for ε each."""
    share, counts = curator.reserve("test", Caps(pure=F(2 * epsilon))).rest("pure").evenly(2)
    return curator.grow(domain, share=share, counts=counts, max_leaves=max_leaves)


def clumps(n=3000, d=2, seed=0):
    """Rows in three narrow clumps and, one in five, anywhere."""
    rng = np.random.default_rng(seed)
    middle = rng.integers(-REACH // 2, REACH // 2, (3, d))[rng.integers(3, size=n)]
    rows = np.where(
        rng.random((n, 1)) < 0.2, rng.uniform(-REACH, REACH, (n, d)), rng.normal(middle, 300)
    )
    return np.clip(np.rint(rows), -REACH, REACH)


def as_set(tree):
    """The leaves of a tree, in no order."""
    return {
        (tuple(low), tuple(high), depth, count)
        for low, high, depth, count in zip(
            tree.lower.tolist(),
            tree.upper.tolist(),
            tree.depths.tolist(),
            tree.counts.values.tolist(),
            strict=True,
        )
    }


def slow_leaves(rows, lower, upper, decay, depth=0):
    """PrivTree without noise, by its definition, on rows that were clipped to the domain."""
    count = len(rows)
    sides = [b - a for a, b in zip(lower, upper, strict=True)]
    stays = max(-decay, count - depth * decay) <= 0
    if stays or max(sides) == 0 or depth == DEEPEST:
        yield tuple(lower), tuple(upper), depth, float(count)
        return
    axis = sides.index(max(sides))
    middle = (lower[axis] + upper[axis]) // 2
    left = [r for r in rows if r[axis] <= middle]
    right = [r for r in rows if r[axis] > middle]
    ends, starts = [*upper], [*lower]
    ends[axis], starts[axis] = middle, middle + 1
    yield from slow_leaves(left, lower, ends, decay, depth + 1)
    yield from slow_leaves(right, starts, upper, decay, depth + 1)


coordinates = st.one_of(st.sampled_from([-REACH, -3, -1, 0, 1, 2, REACH]), st.integers(-9, 9))
sides = st.tuples(coordinates, coordinates).map(sorted)
problems = st.integers(1, 4).flatmap(
    lambda d: st.tuples(
        st.lists(st.tuples(*[coordinates] * d), min_size=1, max_size=60),
        st.lists(sides, min_size=d, max_size=d),
    )
)


def decay_of(epsilon):
    return PrivTreeSplits.fitting(Share("pure", epsilon), 1).decay


# Both halves hold as many rows as are taken off at their depth: neither is split.
TIES = ([(-9,), (9,)] * decay_of(F(10)), [(-9, 9)])


@pytest.mark.parametrize("boxes", [1, 2**3, 2**18])
@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=25)
@given(problem=problems, epsilon=st.sampled_from([F(1), F(3), F(10)]))
@example(
    problem=([(-9, 4)] * 30 + [(x, -x) for x in range(20)], [(-9, 9), (-REACH, REACH)]),
    epsilon=F(3),
)
@example(problem=([(x,) for x in range(-9, 10)] * 3, [(-3, 2)]), epsilon=F(10))
@example(
    problem=([(0, 1, 2, -3)] * 50 + [(1, 1, -1, 9)] * 9, [(-1, 2), (1, 1), (0, 9), (-3, REACH)]),
    epsilon=F(10),
)
@example(problem=([(5, 5)] * 60, [(5, 5), (5, 5)]), epsilon=F(1))
@example(problem=TIES, epsilon=F(10))
def test_without_noise_it_is_the_definition(backend, boxes, problem, epsilon):
    rows, ends = problem
    lower, upper = (list(side) for side in zip(*ends, strict=True))
    decay = decay_of(epsilon)
    with pytest.MonkeyPatch.context() as patch, use_loops(backend):
        patch.setattr("sfumato._core.releases.privtree._BOXES", boxes)
        tree = grown(curator_of(np.array(rows, dtype=float)), Domain(lower, upper), epsilon)
    inside = np.clip(rows, lower, upper).tolist()
    assert as_set(tree) == set(slow_leaves(inside, lower, upper, decay))


def test_leaves_are_the_domain_cut_into_pieces():
    domain = Domain([-1000, -7, 3], [REACH, 500, 3])
    tree = grown(curator_of(clumps(2000, 3)), domain)
    assert len(tree) > 100
    volumes = [np.prod(sides, dtype=object) for sides in (tree.upper - tree.lower + 1).tolist()]
    assert sum(volumes) == (REACH + 1001) * 508
    for i, j in combinations(range(len(tree)), 2):
        above = (tree.lower[i] > tree.upper[j]) | (tree.lower[j] > tree.upper[i])
        assert above.any()
    assert tree.counts.values.sum() == 2000
    assert (tree.lower >= domain.lower).all()
    assert (tree.upper <= domain.upper).all()
    np.testing.assert_array_equal(tree.centers() - tree.halves(), tree.lower - 0.5)
    np.testing.assert_array_equal(tree.centers() + tree.halves(), tree.upper + 0.5)


def same(one, other):
    for field in ("lower", "upper", "depths"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    np.testing.assert_array_equal(one.counts.values, other.counts.values)


class Pieces:
    """The same rows in pieces, folded one after another."""

    n_features = 2
    max_rows_per_group = None

    def __init__(self, rows, cuts):
        edges = [0, *cuts, len(rows)]
        self._pieces = [ArrayRows(rows[a:b]) for a, b in pairwise(edges)]
        self.passes = 0

    def fold(self, box, kernel):
        self.passes += 1
        return sum(piece.fold(box, kernel) for piece in self._pieces)

    def split(self, box, parts, key):
        raise AssertionError("no tree splits rows")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("boxes", [1, 2**7, 2**18])
def test_neither_order_nor_cuts_nor_backend_nor_memory_show(backend, boxes, monkeypatch):
    rows = clumps()
    with use_loops("numpy"):
        whole = grown(curator_of(rows, ReplayedNoise(3)))
    assert len(whole) > 100
    monkeypatch.setattr("sfumato._core.releases.privtree._BOXES", boxes)
    monkeypatch.setattr("sfumato._core.releases.privtree._CORNERS", 100 * boxes)
    shuffled = np.random.default_rng(1).permutation(rows)
    with use_loops(backend):
        same(whole, grown(curator_of(Pieces(shuffled, [0, 1, 700, 701]), ReplayedNoise(3))))


@pytest.mark.parametrize("loop", [add_branches, numba_loops.add_branches.py_func])
def test_the_loop_counts_the_same_before_it_is_compiled(loop):
    rng = np.random.default_rng(0)
    rows = rng.integers(-9, 10, (700, 2)).astype(np.int16)
    nodes = [[0, 0, 1], [1, -2, 3], [0, 4, 5], [0, 0, -1], [0, 0, -2], [0, 0, -3], [0, 0, -1]]
    cuts = [[[0, -5], [1, 3], [0, -8]], [[1, 1], [0, 2], [1, 6]]]
    state = np.zeros((2, 4), dtype=np.int64)
    loop(rows, np.array(nodes, dtype=np.int32), np.array(cuts, dtype=np.int32), state)
    x, y = rows.T
    first, second = (x <= 0) & (y > -2), (x > 0) & (x <= 4)
    expected = [
        [x <= -5, y <= 3, y > 3, x <= -8, x > -8],
        [y <= 1, x <= 2, x > 2, y <= 6, y > 6],
    ]
    for i, (inside, (low, a, b, c, e)) in enumerate(zip((first, second), expected, strict=True)):
        leaves = [low & a, low & b, ~low & c, ~low & e]
        assert state[i].tolist() == [int((inside & leaf).sum()) for leaf in leaves]


class Stubborn(Curator):
    """Releases bits of a rule of its own, to grow trees that are rare."""

    def __init__(self, *args, rule, **settings):
        super().__init__(*args, **settings)
        self._data.draw = lambda _, exact: rule(len(exact))


def deep(n):
    """Every node at the left edge splits, however deep."""
    return np.arange(n) == 0


def bushy(n):
    """Every node splits."""
    return np.ones(n, dtype=bool)


def middling(n):
    """Up to 100 nodes of a level split."""
    return np.arange(n) < 100


@pytest.mark.parametrize("rule", [deep, bushy, middling])
@pytest.mark.parametrize("boxes", [2**6, 2**18])
def test_eight_passes_are_enough_for_any_tree(rule, boxes, monkeypatch):
    monkeypatch.setattr("sfumato._core.releases.privtree._BOXES", boxes)
    rows = Pieces(np.zeros((1, 5)), [])
    rows.n_features, rows._pieces = 5, [ArrayRows(np.zeros((1, 5)))]
    curator = Stubborn(rows, bounds=(-1, 1), epsilon=2.0, noise=NoNoise(), rule=rule)
    tree = grown(curator, Domain([-REACH] * 5, [REACH] * 5), max_leaves=2**13)
    assert rows.passes <= MAX_PASSES
    assert tree.counts.values.sum() == 1
    assert tree.depths.max() == (13 if rule is bushy else DEEPEST)
    volumes = [np.prod(sides, dtype=object) for sides in (tree.upper - tree.lower + 1).tolist()]
    assert sum(volumes) == (2 * REACH + 1) ** 5


@pytest.mark.parametrize("most", [1, 2, 3, 57, 1000])
def test_there_are_never_more_leaves_than_allowed(most):
    every = Stubborn(np.zeros((5, 2)), bounds=(-1, 1), epsilon=9.0, noise=NoNoise(), rule=bushy)
    assert len(grown(every, max_leaves=most)) == most
    tree = grown(curator_of(clumps(), ReplayedNoise(5)), max_leaves=most)
    assert len(tree) <= most
    full = grown(curator_of(clumps(), ReplayedNoise(5)))
    if len(full) > most:
        assert len(tree) == most


def test_a_single_point_and_no_rows_have_one_leaf():
    point = grown(curator_of(clumps(50)), Domain([4, 4], [4, 4]))
    assert as_set(point) == {((4, 4), (4, 4), 0, 50.0)}
    nothing = grown(curator_of(np.zeros((0, 2))))
    assert as_set(nothing) == {((-REACH, -REACH), (REACH, REACH), 0, 0.0)}


def test_both_shares_are_charged_before_a_row_is_read():
    charged = []

    class Diary(Pieces):
        def fold(self, box, kernel):
            charged.append([(e.mechanism, e.share.amount, e.scale) for e in account.entries])
            return super().fold(box, kernel)

    curator = curator_of(Diary(clumps(), []), ReplayedNoise(2))
    account = curator.reserve("test", Caps(pure=F(3)))
    share, counts = account.rest("pure").split(2, 1)
    tree = curator.grow(WHOLE, share=share, counts=counts)
    assert charged[0] == [("privtree", 2, PER_PATH / 2), ("laplace", 1, 1)]
    assert charged == charged[:1] * len(charged)
    assert account.spent("pure") == (3, 0)
    assert all(e.released for e in account.entries)
    assert tree.counts.noise_std == pytest.approx(2**0.5)


def test_a_group_needs_the_noise_for_all_its_rows():
    rows = clumps(60)
    curator = curator_of(rows, groups=np.arange(60) % 7, max_rows_per_group=5)
    account = curator.reserve("test", Caps(pure=F(2)))
    share, counts = account.rest("pure").evenly(2)
    curator.grow(WHOLE, share=share, counts=counts)
    assert [e.scale for e in account.entries] == [5 * PER_PATH, 5]


def test_decay_halves_the_chance_of_one_level_more():
    for epsilon in (F(1, 1000), F(1, 7), F(1), F(20)):
        for rows in (1, 4):
            law = PrivTreeSplits.fitting(Share("pure", epsilon), rows)
            assert law.decay >= law.scale * LOG_2 > law.decay - 1


def test_bad_trees_are_refused_before_the_charge():
    curator = curator_of(clumps(10), delta=0.1)
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    pure, gdp = account.rest("pure").evenly(2)[0], account.rest("gdp")

    class Thief(Domain):
        """A domain that could keep what it is shown."""

    ask = {"domain": WHOLE, "share": pure, "counts": pure, "max_leaves": 9}
    bad = [
        (TypeError, "Domain", {"domain": None}),
        (TypeError, "Thief", {"domain": Thief([0, 0], [1, 1])}),
        (ValueError, "columns", {"domain": Domain([0], [1])}),
        (TypeError, "pure share", {"share": gdp}),
        (TypeError, "share of an account", {"counts": 1.0}),
        (ValueError, "max_leaves", {"max_leaves": 0}),
        (ValueError, "max_leaves", {"max_leaves": 2.0}),
        (ValueError, "max_leaves", {"max_leaves": 2**21}),
        (ValueError, "epsilon", {"share": Share("pure", F(1, 10**15), account=account)}),
        (Overspent, "tree", {"share": Share("pure", F(3), account=account)}),
    ]
    for kind, message, change in bad:
        with pytest.raises(kind, match=message):
            curator.grow(**{**ask, **change})
    assert account.entries == ()


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([], []), ([0], [1, 2]), ([2], [1]), ([-REACH - 1], [0]), ([0], [REACH + 1])],
)
def test_bad_domains_are_refused(lower, upper):
    with pytest.raises(ValueError, match="domain"):
        Domain(lower, upper)
    with pytest.raises(TypeError):
        Domain([0.5], [1.0])


def test_a_split_is_as_likely_as_the_law_says():
    """40,000 bits each; false alarms below 1e-9 (6.2 deviations), a scale × 1.15 is noticed."""
    n, law = 40_000, PrivTreeSplits(F(4), 3)
    q = np.exp(-1 / 4)
    for biased, chance in ((-3, q**4 / (1 + q)), (0, q / (1 + q)), (5, 1 - q**5 / (1 + q))):
        seen = law.draw(ReplayedNoise(biased + 9), np.full(n, biased)).sum()
        deviation = np.sqrt(n * chance * (1 - chance))
        assert abs(seen - n * chance) < 6.2 * deviation
    wrong = np.exp(-1 / 4.6)
    seen = law.draw(ReplayedNoise(6), np.full(n, -3)).sum()
    chance = wrong**4 / (1 + wrong)
    assert abs(seen - n * chance) > 6.2 * np.sqrt(n * chance * (1 - chance))

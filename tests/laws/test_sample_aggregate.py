"""Sample and aggregate: one row changes one block, to the last bit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps
from sfumato._core.curator import Curator
from sfumato._core.releases import sample_aggregate as work
from sfumato._core.releases.sample_aggregate import BlockPlan, block_centers
from sfumato._lattice.box import REACH, Box
from sfumato.engines._memory import ArrayRows
from tests.laws.harness import BOX, blobs
from tests.no_noise import NoNoise

ROWS = blobs(500)
KEY = 12345


def centers_of(rows, parts=12, k=3):
    return block_centers(ArrayRows(rows).split(BOX, parts, KEY), k, KEY)


def test_order_does_not_show():
    shuffled = np.random.default_rng(0).permutation(ROWS)
    np.testing.assert_array_equal(centers_of(ROWS), centers_of(shuffled))


@given(st.floats(-1, 2), st.floats(-4, 4), st.integers(1, 3))
@example(0.5, 2.0, 1)
@example(-1.0, -4.0, 3)
@example(0.2, -2.0, 2)
@settings(max_examples=40)
def test_a_row_changes_its_own_block_only(x, y, copies):
    one, other = centers_of(ROWS), centers_of(np.vstack([ROWS, [[x, y]] * copies]))
    assert (one != other).any(axis=(1, 2)).sum() <= 1


def test_batches_do_not_show(monkeypatch):
    whole = centers_of(ROWS, parts=30)
    for cells in (1, 500, 3000):
        monkeypatch.setattr(work, "_BATCH_CELLS", cells)
        np.testing.assert_array_equal(centers_of(ROWS, parts=30), whole)


def test_short_blocks_have_an_output_that_looks_at_no_row():
    centers = centers_of(ROWS[:20], parts=50, k=3)
    sizes = [len(b) for b in ArrayRows(ROWS[:20]).split(BOX, 50, KEY)]
    short = np.array(sizes) < 3
    assert short.any()
    assert (centers[short] == 0).all()
    assert centers_of(np.zeros((0, 2)), parts=4).tolist() == np.zeros((4, 3, 2)).tolist()


def test_centres_are_lattice_points_in_canonical_order():
    centers = centers_of(ROWS)
    assert (np.abs(centers) <= REACH).all()
    for block in centers.tolist():
        assert block == sorted(block)


def test_a_block_finds_its_clusters():
    rng = np.random.default_rng(1)
    middle = np.array([[0.1, -2.5], [0.5, 0.0], [0.9, 2.5]])
    rows = np.repeat(middle, 40, axis=0) + rng.normal(0, 0.01, (120, 2))
    (found,) = centers_of(rows, parts=1)
    np.testing.assert_allclose(BOX.from_lattice(found), middle, atol=0.02)


def test_without_noise_the_answer_is_the_clipped_average():
    curator = Curator(ROWS, bounds=(BOX.lower, BOX.upper), epsilon=1.0, noise=NoNoise())
    account = curator.reserve("test", Caps(pure=Fraction(1)))
    answer = curator.block_means(3, blocks=12, share=account.rest("pure"), key=KEY)
    centers = centers_of(ROWS)
    low, high = centers.min(axis=(0, 1)), centers.max(axis=(0, 1))
    assert (answer.values >= low - 1).all()
    assert (answer.values <= high + 1).all()
    assert account.spent("pure") == (1, 0)
    assert len(account.entries) == 2 * 2 + 2


def test_edges_are_ranked_from_both_sides():
    plan = BlockPlan(1, 100, 1, 1)
    centers = np.arange(-50, 50).reshape(100, 1, 1)
    curator = Curator(np.zeros((3, 1)), bounds=(0, 1), epsilon=1.0)
    share = curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")
    lower, upper = (
        scores.argmax() - REACH
        for _, scores in plan.edge_scores(plan.edge_selections(share), centers)
    )
    assert lower == -48
    assert upper == 48
    assert plan.ranges([REACH + 9, REACH - 9]).tolist() == [[-9, 9]]


def a_share(n=1):
    curator = Curator(np.zeros((3, n)), bounds=(0, 1), epsilon=1.0)
    return curator.reserve("test", Caps(pure=Fraction(1))).rest("pure")


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3))
@example(0, 1, 1)
@example(1, 5, 1)
@example(2, 3, 3)
@example(3, 4, 2)
@settings(max_examples=30)
def test_a_replaced_block_moves_ranks_and_sums_by_no_more_than_declared(seed, k, changed):
    """Any `changed` blocks may become anything; the noise is made for exactly that."""
    rng = np.random.default_rng(seed)
    plan = BlockPlan(k, 20, 2, changed)
    one = rng.integers(-REACH, REACH + 1, (20, k, 2))
    other = one.copy()
    other[:changed] = rng.choice([-REACH, REACH], (changed, k, 2))
    edges = plan.edge_selections(a_share(2))
    for (edge, a), (_, b) in zip(
        plan.edge_scores(edges, one), plan.edge_scores(edges, other), strict=True
    ):
        assert np.abs(a - b).max() <= edge.most
        assert edge.scale == 2 * edge.most / edge.share.amount
    ranges = np.array([[-100, 50], [-REACH, REACH]])
    moved = plan.clipped_sums(one, ranges) - plan.clipped_sums(other, ranges)
    for part in plan.mean_parts(a_share(2), ranges, Box.of((0, 1), 2)):
        lost = Fraction(int(np.abs(part.pick(moved)).sum())) / part.mechanism.scale
        assert lost <= part.share.amount


def test_declared_moves_of_ranks_and_sums_are_reached():
    k, low, high = 4, np.full((4, 1), -REACH), np.full((4, 1), REACH)
    plan = BlockPlan(k, 10, 1, 1)
    rest = np.zeros((9, 4, 1), dtype=np.int64)
    one, other = (np.concatenate([block[None], rest]) for block in (low, high))
    (edge, a), _ = plan.edge_scores(plan.edge_selections(a_share()), one)
    (_, b), _ = plan.edge_scores(plan.edge_selections(a_share()), other)
    assert np.abs(a - b).max() == edge.most == k
    ranges = np.array([[-7, 9]])
    (part,) = plan.mean_parts(a_share(), ranges, Box.of((0, 1), 1))
    moved = np.abs(plan.clipped_sums(one, ranges) - plan.clipped_sums(other, ranges)).sum()
    assert Fraction(int(moved)) / part.mechanism.scale == part.share.amount


@pytest.mark.parametrize("bad", [(0, 5), (2, 0), (10**4, 10**4)])
def test_impossible_plans_are_refused(bad):
    with pytest.raises(ValueError, match="block"):
        BlockPlan(*bad, 2, 1)


def test_an_epsilon_too_small_is_refused_before_the_charge():
    curator = Curator(ROWS, bounds=(BOX.lower, BOX.upper), epsilon=1e-9)
    account = curator.reserve("test", Caps(pure=Fraction(1, 10**9)))
    with pytest.raises(ValueError, match="epsilon"):
        curator.block_means(3, blocks=12, share=account.rest("pure"), key=KEY)
    assert account.entries == ()

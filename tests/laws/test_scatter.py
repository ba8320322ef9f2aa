"""Moments of cells move by no more than declared, and reach it; rows with gaps are left out."""

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato import Curator
from sfumato._accounting.budget import Caps
from sfumato._core.queries.cells import Nearest
from sfumato._core.queries.moments import Products
from sfumato._core.queries.projection import MappedKernel, Projection
from sfumato._core.queries.scatter import COARSEST, FINEST, Scatter
from sfumato._core.sampling.additive import MAX_SCALE
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._core.weighted import RepeatedKernel
from sfumato._lattice.box import ABSENT, REACH
from tests.laws.harness import BOX, CENTERS, RecordingCurator, blobs, curator_of, loss
from tests.laws.test_curator import Diary
from tests.no_noise import NoNoise
from tests.unit import gaps

F = Fraction
CAPS = Caps(pure=F(2), gaussian=(F(1), F(1, 100)))
ROWS = blobs(60)
RADII = (1234, 1, 2 * REACH, 50)
CELLS = Nearest(CENTERS)
VALUES = (-REACH, -5000, -1, 0, 3, 9000, REACH, ABSENT)
SMALL = [*product(VALUES, repeat=2)]

coordinate = st.one_of(st.integers(-REACH, REACH), st.sampled_from(VALUES))
rows_of = st.lists(st.tuples(coordinate, coordinate), max_size=5)
bits = st.integers(COARSEST, FINEST)
TURNED = Projection(np.array([[3, -2], [1, 1]]), np.array([100, -7]), 1)
kinds = pytest.mark.parametrize("full", [True, False])


def slow_z(row, query):
    """The cell of a row and what it is there, in plain integers; None for a row with a gap."""
    if not gaps.whole(row):
        return None
    if query.through is not None:
        row = gaps.projected(row, query.through)
    cell = gaps.nearest(row, query.cells.centers)
    apart = [x - int(c) for x, c in zip(row, query.cells.centers[cell], strict=True)]
    square = sum(v * v for v in apart)
    unit = max(query.radii[cell], isqrt(square - 1) + 1 if square else 0)
    size = 2**query.bits
    return cell, [size // 2, *(abs(v) * size // unit * (1 if v > 0 else -1) for v in apart)]


def slow_lines(query, rows):
    """The integers that get noise, by their definition."""
    d = query.cells.n_features
    names = [(a, b) for a in range(d + 1) for b in range(a, d + 1)]
    names = [(a, b) for a, b in names if query.full or a == 0 or a == b]
    found = [[0] * len(names) for _ in query.radii]
    for row in rows:
        if (seen := slow_z([int(x) for x in row], query)) is not None:
            cell, z = seen
            for i, (a, b) in enumerate(names):
                found[cell][i] += (70 if a == b else 99) * z[a] * z[b]
    return found


def lines(query, rows):
    state = query.empty()
    query.add(np.array(rows, dtype=np.int16).reshape(-1, query.n_features), state)
    return query.line(state)


@kinds
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@given(rows_of, bits)
@example(SMALL, FINEST)
@example(SMALL[::-1], COARSEST)
@example([(500, -700), (501, -700), (0, 1), (ABSENT, 0), (1234, 1), (0, -1234)], FINEST)
@settings(max_examples=25, deadline=None)
def test_moments_of_cells_are_the_definition(full, backend, rows, bits):
    for through in (None, TURNED):
        query = Scatter(CELLS, RADII, full, bits, through)
        with use_loops(backend):
            assert lines(query, rows).tolist() == slow_lines(query, rows)


@kinds
@given(rows_of, bits)
@example(SMALL, FINEST)
@example([(REACH, REACH)] * 3, COARSEST)
@example([(-REACH, -REACH), (19_000, 20_000), (500, -701)], FINEST)
@settings(max_examples=25, deadline=None)
def test_one_row_and_one_group_move_no_more_than_declared(full, rows, bits):
    query = Scatter(CELLS, RADII, full, bits, TURNED if len(rows) % 2 else None)
    for row in rows:
        moved = [[int(x) for x in line] for line in lines(query, [row])]
        assert sum(any(line) for line in moved) <= 1
        declared = query.sensitivity()
        assert sum(abs(x) for line in moved for x in line) <= declared.l1
        assert sum(x * x for line in moved for x in line) <= declared.l2_squared
    together = [int(x) for x in lines(query, rows).ravel()]
    declared = query.sensitivity().times(len(rows))
    assert sum(x * x for x in together) <= declared.l2_squared


@kinds
@pytest.mark.parametrize("bits", [COARSEST, 7, FINEST])
def test_a_row_on_the_border_reaches_the_bound(full, bits):
    """Along a column nothing is rounded: only what 99/70 lacks to √2 is missing, or cut away."""
    query = Scatter(CELLS, (4096, 4096, 4096, 4096), full, bits)
    moved = sum(int(x) ** 2 for x in lines(query, [(0, 4096)]).ravel())
    declared = query.sensitivity().l2_squared
    assert moved <= declared
    assert moved > declared * F(999, 1000)


@kinds
def test_exact_answers_are_counts_sums_and_second_moments(full):
    rng = np.random.default_rng(0)
    points = np.clip(rng.normal(CENTERS[rng.integers(4, size=300)], 900), -REACH, REACH)
    rows = BOX.from_lattice(np.rint(points))
    curator = curator_of(rows, noise=NoNoise())
    share = curator.reserve("test", CAPS).rest("pure")
    radii = (9000, 9000, 9000, 9000)
    answer = curator.scatter(Scatter(CELLS, radii, full), share=share)
    lattice = BOX.to_lattice(rows).astype(float)
    own = ((lattice[:, None] - CENTERS) ** 2).sum(axis=2).argmin(axis=1)
    for j, center in enumerate(CENTERS):
        apart = lattice[own == j] - center
        assert answer.counts[j] == len(apart)
        np.testing.assert_allclose(answer.sums[j], apart.sum(axis=0), atol=3 * len(apart))
        second = apart.T @ apart
        second = second if full else np.diag(np.diag(second))
        np.testing.assert_allclose(answer.products[j], second, atol=0.01 * second.max())


@kinds
@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("most", [None, 1, 5])
def test_the_worst_neighbour_loses_what_was_charged_and_no_more(full, kind, most):
    """A row on the border of its cell; or a group of them, which moves the same cell."""
    center = BOX.from_lattice(np.array([[0, 0], [0, 4096]]))[1:]
    more = np.repeat(center, most or 1, axis=0)
    transcripts = []
    for rows, extra in ((ROWS, 0), (np.vstack([ROWS, more]), len(more))):
        people = {}
        if most:
            labels = np.append(np.arange(60), np.full(extra, 99))
            people = {"groups": labels, "max_rows_per_group": most}
        curator = curator_of(rows, **people)
        account = curator.reserve("test", CAPS)
        query = Scatter(CELLS, (4096,) * 4, full)
        curator.scatter(query, share=account.rest(kind))
        transcripts.append(curator.transcript)
    ours, theirs = transcripts
    assert ours.mechanisms == theirs.mechanisms
    (lost,) = (
        loss(*step)
        for step in zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)
    )
    (charged,) = (entry.share.amount for entry in account.entries)
    assert lost <= charged
    # Of ball noise, the direction of the noise decides how much of the bound is lost.
    assert lost > charged * F(9, 10) or kind == "pure"


@kinds
@pytest.mark.parametrize("kind", ["pure", "gdp"])
def test_the_noise_is_calibrated_to_the_sensitivity_exactly(full, kind):
    query, scales = Scatter(CELLS, RADII, full), []
    for people in ({}, {"groups": np.arange(60) % 9, "max_rows_per_group": 6}):
        curator = curator_of(ROWS, **people)
        account = curator.reserve("test", CAPS)
        curator.scatter(query, share=account.rest(kind))
        (law,), (entry,) = curator.transcript.mechanisms, account.entries
        amount, l2_squared = entry.share.amount, query.sensitivity().l2_squared
        amount = amount**2 if kind == "pure" else amount
        rows = 6 if people else 1
        assert 0 <= law.scale**2 * amount - l2_squared * rows**2 < F(l2_squared, 10**9)
        assert entry.loss <= entry.share.amount
        scales.append(law.scale)
    assert abs(scales[1] / scales[0] - 6) < F(1, 10**9)


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@kinds
def test_the_stated_deviation_is_the_measured_one(full, kind):
    """900 or more numbers of replayed noise: a scale that is off by 1.15 does not pass."""
    d, k = 40, 12
    curator = Curator(np.zeros((0, d)), bounds=(0, 1), epsilon=4.0, delta=0.1,
                      noise=ReplayedNoise(5))  # fmt: skip
    account = curator.reserve("test", CAPS)
    centers = np.random.default_rng(0).integers(-REACH, REACH, (k, d))
    radii = tuple(range(1000, 1000 + 100 * k, 100))
    answer = curator.scatter(Scatter(Nearest(centers), radii, full), share=account.rest(kind))
    squares = np.diagonal(answer.products, axis1=1, axis2=2) / answer.noise_std[:, None]
    radius = np.array(radii, dtype=float)
    sums = answer.sums / (answer.noise_std / radius)[:, None] * 99 / 140
    counts = answer.counts / (4 * answer.noise_std / radius**2)
    assert squares.std() == pytest.approx(1, rel=0.12)
    assert sums.std() == pytest.approx(1, rel=0.12)
    assert 0.3 < counts.std() < 2


@kinds
def test_a_tiny_share_is_answered_in_coarser_steps_with_the_noise_for_them(full):
    tiny, exact, laws = F(1, 10**7), [], []
    border = BOX.from_lattice(np.array([[0, 0], [0, 4096]]))[1:]
    for rows in (ROWS, np.vstack([ROWS, border])):
        curator = RecordingCurator(rows, bounds=(BOX.lower, BOX.upper), epsilon=tiny,
                                   noise=NoNoise())  # fmt: skip
        account = curator.reserve("test", Caps(pure=tiny))
        curator.scatter(Scatter(CELLS, (4096,) * 4, full), share=account.rest("pure"))
        exact.append(curator.transcript.exact[0])
        laws.append(curator.transcript.mechanisms[0])
    assert laws[0] == laws[1]
    assert MAX_SCALE // 5 < laws[0].scale <= MAX_SCALE
    moved = sum(int(x) ** 2 for x in (exact[1] - exact[0]).ravel())
    assert F(99, 100) < F(moved) / (laws[0].scale * tiny) ** 2 <= 1


@kinds
def test_views_and_weights_show_rows_that_move_no_more(full):
    query = Scatter(CELLS, RADII, full)
    state = (kernel := MappedKernel(TURNED, query)).empty()
    kernel.add(np.array(SMALL, dtype=np.int16), state)
    seen = [gaps.projected([int(x) for x in row], TURNED) for row in SMALL]
    assert query.line(state).tolist() == slow_lines(query, seen)
    state = (kernel := RepeatedKernel(query, 3)).empty()
    kernel.add(np.array([(*row, 2) for row in SMALL], dtype=np.int16), state)
    assert query.line(state).tolist() == slow_lines(query, SMALL * 2)


class Thief(Scatter):
    """A query of somebody else's making, which could keep the rows it is shown."""


def test_bad_queries_are_refused_before_the_charge():
    rows = Diary()
    curator = Curator(rows, bounds=(0, 1), epsilon=4.0, delta=0.1)
    rows.account = account = curator.reserve("test", CAPS)
    share, one = account.rest("pure"), Nearest(np.zeros((1, 2)))
    wide = Scatter(Nearest(np.zeros((1, 3))), (5,))
    many = Scatter(Nearest(np.zeros((20_000, 60))), (5,) * 20_000)
    bad = [
        (TypeError, "Thief", lambda: curator.scatter(Thief(one, (5,)), share=share)),
        (TypeError, "own queries", lambda: curator.scatter(Products(2), share=share)),
        (ValueError, "the data has 2", lambda: curator.scatter(wide, share=share)),
        (ValueError, "the data has 2", lambda: curator.scatter(many, share=share)),
        (TypeError, "share of an account", lambda: curator.scatter(Scatter(one, (5,)), share=1)),
        (ValueError, "radii", lambda: Scatter(one, (5, 5))),
        (ValueError, "radii", lambda: Scatter(one, (0,))),
        (ValueError, "radii", lambda: Scatter(one, (2.0,))),
        (ValueError, "radii", lambda: Scatter(one, (10**6,))),
        (ValueError, "bits", lambda: Scatter(one, (5,), bits=FINEST + 1)),
        (ValueError, "bits", lambda: Scatter(one, (5,), bits=COARSEST - 1)),
        (TypeError, "Nearest cells", lambda: Scatter(one, (5,), through=CELLS)),
        (ValueError, "the projection shows 2", lambda: Scatter(wide.cells, (5,), through=TURNED)),
        (TypeError, "full", lambda: Scatter(one, (5,), full=1)),
    ]
    for kind, message, ask in bad:
        with pytest.raises(kind, match=message):
            ask()
    assert account.entries == ()
    assert rows.read == []


def test_a_share_too_tiny_is_refused_before_the_charge():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=F(1, 10**15))
    account = curator.reserve("test", Caps(pure=F(1, 10**15)))
    with pytest.raises(ValueError, match="epsilon"):
        curator.scatter(Scatter(CELLS, RADII), share=account.rest("pure"))
    assert account.entries == ()


def test_approximate_shares_buy_no_moments():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0, delta=0.1)
    account = curator.reserve("test", Caps(approximate=(F(1), F(1, 100))))
    with pytest.raises(TypeError, match="approximate"):
        curator.scatter(Scatter(CELLS, RADII), share=account.rest("approximate"))


def test_queries_are_public_data():
    assert Scatter(CELLS, RADII) == Scatter(Nearest(CENTERS.copy()), list(RADII))
    assert hash(Scatter(CELLS, RADII)) == hash(Scatter(Nearest(CENTERS.copy()), list(RADII)))
    assert str(Scatter(CELLS, RADII)) == (
        "counts, sums and second moments of 4 nearest-centre cells"
    )
    assert "squares" in str(Scatter(CELLS, RADII, full=False))

"""Several counts from one pass: what each would have been alone, paid and noised by itself."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Overspent
from sfumato._core.queries.counts import MAX_NUMBERS, Counts, Cubes, Grid, Nearest
from sfumato._core.queries.counts_each import CountsBatch
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise, use_loops
from sfumato._lattice.box import REACH
from sfumato.engines._memory import ArrayRows
from tests.laws.harness import CENTERS, HALVES, SLANT, blobs, curator_of, loss, without_noise

F = Fraction
CELLS = (HALVES, Nearest(CENTERS), Grid(7, 2), HALVES, SLANT)
WEIGHTS = (1, 2, 3, 4, 5)
# A row that lies in one of the halves.
IN_HALVES = np.array([[0.507, -0.04]])
CAPS = Caps(pure=F(1, 3), gaussian=(F(1), F(1, 100)))


def opened(rows, kind="pure", noise=None, **groups):
    """A curator and one share for each query, no two of them alike."""
    curator = curator_of(rows, noise=noise or ReplayedNoise(3), **groups)
    return curator, curator.reserve("law", CAPS).rest(kind).split(*WEIGHTS)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@given(rows=st.lists(st.tuples(*[st.integers(-REACH, REACH)] * 2), max_size=9))
@example(rows=[(0, -1000), (499, -501), (500, -500), (31_500, 32_400), (REACH, REACH), (-7, 9)])
@example(rows=[])
@settings(max_examples=30, deadline=None)
def test_every_query_finds_what_it_finds_alone(backend, rows):
    lattice = np.array(rows, dtype=np.int16).reshape(-1, 2)
    queries = [Counts(cells) for cells in CELLS]
    alone = [query.empty() for query in queries]
    each = CountsBatch(tuple(queries))
    together = each.empty()
    with use_loops(backend):
        each.add(lattice, together)
        for query, state in zip(queries, alone, strict=True):
            query.add(lattice, state)
    np.testing.assert_array_equal(together, np.concatenate(alone))
    for lines, state in zip(each.lines(), alone, strict=True):
        np.testing.assert_array_equal(together[lines], state)


def test_the_rows_are_read_once(monkeypatch):
    taken, plain = [], ArrayRows.fold
    monkeypatch.setattr(ArrayRows, "fold", lambda *asked: taken.append(1) or plain(*asked))
    curator, shares = opened(blobs())
    answers = curator.counts_of_each(CELLS, share=shares)
    assert taken == [1]
    assert [len(answer.values) for answer in answers] == [cells.n_cells for cells in CELLS]


def test_without_noise_the_answers_are_those_of_each_alone():
    curator = without_noise(np.vstack([blobs(300), IN_HALVES]))
    shares = curator.reserve("test", CAPS).rest("pure").split(*WEIGHTS)
    for cells, found in zip(CELLS, curator.counts_of_each(CELLS, share=shares), strict=True):
        [share] = curator.reserve("alone", CAPS).rest("pure").split(1)
        np.testing.assert_array_equal(found.values, curator.counts(cells, share=share).values)
        assert found.values.sum() > 0


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("most", [1, 5])
def test_each_is_charged_and_noised_as_if_it_were_asked_alone(kind, most):
    groups = {"groups": np.arange(400) // most, "max_rows_per_group": most}
    curator, shares = opened(blobs(), kind, **groups)
    answers = curator.counts_of_each(CELLS, share=shares)
    other, same = opened(blobs(), kind, **groups)
    alone = [other.counts(c, share=s) for c, s in zip(CELLS, same, strict=True)]
    assert [a.noise_std for a in answers] == [a.noise_std for a in alone]
    assert shares[0].account.entries == same[0].account.entries
    assert curator.transcript.mechanisms == other.transcript.mechanisms


@pytest.mark.parametrize("kind", ["pure", "gdp"])
@pytest.mark.parametrize("most", [1, 5])
def test_no_answer_loses_more_than_its_own_share_and_each_can_lose_it_all(kind, most):
    base, more = np.full((40, 2), 0.25), np.tile(IN_HALVES, (most, 1))
    labels = np.append(np.arange(40) // most, np.full(most, 99))
    pair = []
    for rows, groups in ((base, labels[:40]), (np.vstack([base, more]), labels)):
        curator, shares = opened(rows, kind, groups=groups, max_rows_per_group=most)
        curator.counts_of_each(CELLS, share=shares)
        pair.append(curator.transcript)
    one, other = pair
    assert one.mechanisms == other.mechanisms
    steps = zip(shares, one.mechanisms, one.released, one.exact, other.exact, strict=True)
    for share, *step in steps:
        assert share.amount * F(999, 1000) <= loss(*step) <= share.amount


def test_equal_queries_have_noise_of_their_own():
    curator, _ = opened(blobs(), noise=SecureNoise())
    shares = curator.reserve("law", CAPS).rest("pure").evenly(2)
    one, other = curator.counts_of_each([Grid(20, 2)] * 2, share=shares)
    assert (one.values != other.values).mean() > 0.8


def test_what_cannot_be_paid_is_not_read():
    curator, shares = opened(blobs())
    account = shares[0].account
    with pytest.raises(Overspent):
        curator.counts_of_each([HALVES, HALVES], share=[account.rest("pure")] * 2)
    assert account.entries == ()
    assert curator.transcript.released == []


class Thief(Cubes):
    """Cubes that could keep the rows they are shown."""


LARGE = Grid(4000, 2)
REFUSED = {
    "none": (ValueError, "no query", []),
    "one share too few": (ValueError, "5 shares were given for 6", [*CELLS, HALVES]),
    "foreign": (TypeError, "Thief", [*CELLS[:4], Thief(HALVES.corners, 1000)]),
    "another width": (ValueError, "columns", [*CELLS[:4], Grid(2, 3)]),
    "too many together": (ValueError, "fit", [LARGE, LARGE, *CELLS[:3]]),
}


@pytest.mark.parametrize(("kind", "said", "cells"), REFUSED.values(), ids=REFUSED)
def test_bad_queries_are_refused_before_the_charge(kind, said, cells):
    assert LARGE.n_cells < MAX_NUMBERS < 2 * LARGE.n_cells
    curator, shares = opened(blobs(30))
    with pytest.raises(kind, match=said):
        curator.counts_of_each(cells, share=shares[: len(cells)])
    assert shares[0].account.entries == ()


def test_shares_of_others_are_refused():
    curator, shares = opened(blobs(30))
    _, others = opened(blobs(30))
    second = curator.reserve("second", CAPS).rest("pure")
    for share, said in ((others[1], "another dataset"), (second, "one account")):
        with pytest.raises(ValueError, match=said):
            curator.counts_of_each([HALVES, HALVES], share=[shares[0], share])
    assert shares[0].account.entries == ()

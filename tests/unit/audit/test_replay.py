"""Exact replay: what it returns, in both directions, and every way in which a method is broken."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sfumato._accounting.budget import Caps, Overspent
from sfumato._core.mechanisms import Laplace
from sfumato._core.queries.counts import Counts, Grid
from sfumato.audit import Pair, World, replay
from sfumato.methods import METHODS, NEEDS_DELTA, Centers, DPLloyd, PGkM
from tests.laws.test_check_method import Greedy, Peeking, PeekingQuestions, PeekingScales, Sound

ROWS = np.random.default_rng(0).uniform(-0.9, 0.9, (30, 2))


def grown(row, name="corner", rows=ROWS):
    return Pair(name, World(rows), World(np.vstack([rows, [row]])), f"a row ({name})")


CORNER = grown([1.0, 1.0])
SMALLER = {"pgkm": PGkM(candidates=20, parents=3, least_rounds=3)}


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_the_library_pass(method):
    found = replay(SMALLER.get(method, method), CORNER, epsilon=1.0, delta=1e-6)
    assert not found.broken
    assert 0 < found.lost <= found.charged == 1.0
    assert found.runs == 2


@pytest.mark.parametrize("noise", ["cube", "laplace", "gaussian"])
def test_a_corner_loses_all_that_is_charged_and_no_more(noise):
    method = DPLloyd(noise=noise, iterations=2)
    found = replay(method, CORNER, epsilon=0.5, delta=1e-6, n_runs=2)
    assert found.charged * 0.99 < found.lost <= found.charged == 0.5
    assert not found.broken


def test_a_row_without_any_number_loses_less():
    assert replay("sukpisit", grown([np.nan, np.nan]), epsilon=1.0).lost < 0.9


def test_a_group_is_charged_as_a_whole():
    groups = np.arange(30)
    members = np.ones((9, 2))
    larger = World(np.vstack([ROWS, members]), np.append(groups, [99] * 9))
    pair = Pair("group", World(ROWS, groups), larger, "a group")
    found = replay("dplloyd", pair, epsilon=1.0, max_rows_per_group=4)
    assert not found.broken
    assert found.lost > 0.9


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Peeking(), "the same answers gave another result"),
        (PeekingQuestions(), "query 1 differs"),
        (PeekingScales(), "noise 1 differs"),
    ],
)
def test_what_depends_on_rows_has_infinite_loss(method, said):
    found = replay(method, CORNER, epsilon=1.0, n_clusters=3)
    assert found.broken
    assert found.lost == float("inf")
    assert said in found.reason
    assert "With a row (corner) more" in str(found)


class Refusing(Sound):
    """Raises an error for some rows."""

    def __call__(self, curator, task, *, account, rng):
        rows = curator._data._PrivateData__rows
        if int(rows.fold(curator.box, Counts(Grid(1, task.n_features))).sum()) > 30:
            raise ValueError("too many rows")
        return super().__call__(curator, task, account=account, rng=rng)


def test_an_error_of_one_world_is_found():
    found = replay(Refusing(), CORNER, epsilon=1.0)
    assert found.broken
    assert "differs" in found.reason or "it asks" in found.reason


@dataclass(frozen=True)
class RaisingLate(Sound):
    """Raises an error for some rows after its last answer."""

    def found(self, curator, points, share):
        sizes = curator.counts(Grid(1, 2), share=share).values
        rows = curator._data._PrivateData__rows
        if int(rows.fold(curator.box, Counts(Grid(1, 2))).sum()) > 30:
            raise ValueError("too many rows")
        return Centers(points.astype(float), np.repeat(sizes, len(points)))


def test_an_error_after_the_last_answer_is_found():
    found = replay(RaisingLate(), CORNER, epsilon=1.0)
    assert "in one world it raises ValueError" in found.reason


def test_noise_that_is_too_small_is_found(monkeypatch):
    fitting = Laplace.fitting.__func__
    monkeypatch.setattr(
        Laplace, "fitting", classmethod(lambda cls, *a: cls(fitting(cls, *a).scale / 2))
    )
    monkeypatch.setattr(Laplace, "loss", lambda self, *_: Fraction(0))
    found = replay(Sound(), CORNER, epsilon=1.0)
    assert found.broken
    assert found.lost == 2.0
    assert "lost 2, more than the 1 that it was charged" in found.reason


def test_a_method_that_asks_for_more_than_the_claim_is_refused():
    with pytest.raises(Overspent):
        replay(Greedy(), CORNER, epsilon=1.0)


def test_worlds_of_files_are_refused():
    pair = Pair("file", World(b"1,2\n"), World(b"1,2\n3,4\n"), "a line")
    with pytest.raises(TypeError, match=r"the world is a file, use audit\.run"):
        replay("dplloyd", pair, epsilon=1.0)


def test_the_same_number_gives_the_same_runs():
    one, same, other = (
        replay("sukpisit", grown([0.3, 0.1]), epsilon=1.0, n_runs=2, random_state=seed)
        for seed in (1, 1, 5)
    )
    assert one == same
    assert one.lost != other.lost or one.reason == other.reason


def test_methods_without_a_pure_mode_need_a_delta():
    for method in NEEDS_DELTA:
        with pytest.raises(ValueError, match="delta"):
            replay(method, CORNER, epsilon=1.0)


def test_caps_are_what_is_charged():
    """A method may set aside less than its task offers."""

    class Half(Sound):
        def caps(self, task):
            return Caps(pure=task.epsilon / 2)

    assert replay(Half(), CORNER, epsilon=1.0).charged == 0.5

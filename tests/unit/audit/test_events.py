"""Events: learned on some fits, they hold on others. Noise here is seeded."""

import numpy as np
import pytest

from sfumato.audit._events import learn, table
from sfumato.audit._observe import Seen


def fits(values, tags=None, name="x"):
    tags = [()] * len(values) if tags is None else tags
    return [Seen((name,), np.array([v]), frozenset(t)) for v, t in zip(values, tags, strict=True)]


def found(smaller, larger):
    rng = np.random.default_rng(0)
    return learn((smaller, larger), alpha=0.01, delta=0.0, rng=rng)


def test_a_table_of_numbers_with_gaps():
    seen = [
        Seen(("a", "b"), np.array([1.0, 2.0]), frozenset()),
        Seen((), np.array([]), frozenset()),
        Seen(("b", "b"), np.array([3.0, 4.0]), frozenset()),
    ]
    expected = [[2, 1, np.nan], [np.nan] * 3, [3, np.nan, np.nan]]
    assert np.array_equal(table(seen, ("b", "a", "c")), expected, equal_nan=True)


def test_a_shift_is_found_in_both_directions():
    rng = np.random.default_rng(1)
    draws = lambda shift: fits(rng.laplace(shift, 1, 400))
    events = found(draws(0), draws(3))
    assert {event.in_larger for event in events} == {True, False}
    fresh = draws(0), draws(3)
    for event in events:
        hits, others = event.counts(fresh)
        assert hits > 4 * others
        assert "likely with the person" in str(event)


def test_a_change_of_scale_is_found():
    rng = np.random.default_rng(1)
    draws = lambda scale: fits(rng.normal(0, scale, 400))
    hits, others = max(event.counts((draws(1), draws(5))) for event in found(draws(1), draws(5)))
    assert hits > 2 * others


def test_a_tag_is_found_and_named():
    quiet, loud = fits(np.zeros(40)), fits(np.zeros(40), [("raised E: text",)] * 40)
    events = found(quiet, loud)
    assert [event.counts((quiet, loud)) for event in events] == [(40, 0), (40, 0)]
    said = sorted(map(str, events))
    assert said[0].startswith("it is not so that the fit shows “raised E: text”")
    assert said[1].startswith("the fit shows “raised E: text”")


def test_a_number_that_is_missing_in_one_world_is_found():
    there, gone = fits(np.ones(40)), fits(np.ones(40), name="y")
    assert max(event.counts((there, gone)) for event in found(there, gone)) == (40, 0)


def test_what_is_only_seen_in_a_thorough_look_is_known_by_its_name():
    plain, saved = fits(np.zeros(40)), fits(np.zeros(40), [("saved file: #",)] * 40)
    assert all(event.slow for event in found(plain, saved))
    assert not any(event.slow for event in found(plain, fits(np.ones(40))))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_numbers_that_are_none_are_events_too(value):
    usual, odd = fits(np.zeros(40)), fits(np.full(40, value))
    assert max(event.counts((usual, odd)) for event in found(usual, odd)) == (40, 0)


def test_worlds_that_are_alike_give_events_that_show_nothing():
    same = fits(np.zeros(40))
    for event in found(same, same):
        hits, others = event.counts((same, same))
        assert hits == others
    assert (
        found([Seen((), np.array([]), frozenset())] * 9, [Seen((), np.array([]), frozenset())] * 9)
        == []
    )

"""`check_method` passes every method of the library, and catches methods that break a law."""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import numpy as np
import pytest

from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import Counts, Grid, Nearest
from sfumato.methods import METHODS, Centers, DPLloyd, MaxCover, NeedsDelta, PGkM
from sfumato.testing import check_method

# With fewer candidates and picks than usual, or the exact chances of all picks take a while.
SMALLER = {"pgkm": PGkM(candidates=20, parents=3, least_rounds=3)}


@pytest.mark.parametrize("method", METHODS)
def test_the_methods_of_the_library_pass(method):
    check_method(SMALLER.get(method, METHODS[method]))


def test_more_columns_and_settings():
    check_method(DPLloyd(iterations=2, noise="laplace"), n_clusters=2, n_features=5, seed=3)


@dataclass(frozen=True)
class Sound:
    """Sizes around points that are drawn blindly. The others each do one thing wrong."""

    def caps(self, task):
        return Caps(pure=task.epsilon)

    def __call__(self, curator, task, *, account, rng):
        points = rng.integers(-1000, 1000, (task.k, task.n_features))
        return self.found(curator, points, account.rest("pure"))

    def found(self, curator, points, share):
        sizes = curator.counts(Nearest(points), share=share).values
        return Centers(points.astype(float), sizes)


class Greedy(Sound):
    def caps(self, task):
        return Caps(pure=task.epsilon * 2)


class Twice(Sound):
    """Uses one share twice."""

    def __call__(self, curator, task, *, account, rng):
        share = account.rest("pure")
        curator.counts(Grid(1, task.n_features), share=share)
        return self.found(curator, np.zeros((task.k, task.n_features), dtype=int), share)


class OwnAccount(Sound):
    def __call__(self, curator, task, *, account, rng):
        more = curator.reserve("more", Caps(pure=Fraction(1)))
        curator.counts(Grid(1, task.n_features), share=more.rest("pure"))
        return super().__call__(curator, task, account=account, rng=rng)


@dataclass(frozen=True)
class Counting(Sound):
    """Asks something else in every run."""

    runs: count = field(default_factory=count)

    def __call__(self, curator, task, *, account, rng):
        points = np.full((task.k, task.n_features), next(self.runs))
        return self.found(curator, points, account.rest("pure"))


class Unseeded(Sound):
    def __call__(self, curator, task, *, account, rng):
        rng = np.random.default_rng()
        return super().__call__(curator, task, account=account, rng=rng)


def exact_size(curator, task):
    """The exact number of rows, past the curator."""
    counted = curator._data._PrivateData__rows.fold(curator.box, Counts(Grid(1, task.n_features)))
    return int(counted.sum())


class Peeking(Sound):
    """Returns what it knows of rows."""

    def __call__(self, curator, task, *, account, rng):
        found = super().__call__(curator, task, account=account, rng=rng)
        rows = exact_size(curator, task)
        return Centers(np.clip(found.points + rows, -1000, 1000), found.sizes)


class PeekingQuestions(Sound):
    """Chooses its query by rows."""

    def __call__(self, curator, task, *, account, rng):
        rows = exact_size(curator, task)
        points = np.full((task.k, task.n_features), rows)
        return self.found(curator, points, account.rest("pure"))


class PeekingScales(Sound):
    """Divides its budget by rows."""

    def __call__(self, curator, task, *, account, rng):
        rows = exact_size(curator, task)
        first, rest = account.rest("pure").split(1 + rows % 2, 2)
        curator.counts(Grid(1, task.n_features), share=first)
        return self.found(curator, np.zeros((task.k, task.n_features), dtype=int), rest)


class Transposed(Sound):
    def __call__(self, curator, task, *, account, rng):
        found = super().__call__(curator, task, account=account, rng=rng)
        return Centers(found.points.T, found.sizes)


class Outside(Sound):
    def __call__(self, curator, task, *, account, rng):
        found = super().__call__(curator, task, account=account, rng=rng)
        return Centers(found.points + 10**6, found.sizes)


class NoEmptyTables(Sound):
    def __call__(self, curator, task, *, account, rng):
        share, rest = account.rest("pure").evenly(2)
        n = curator.counts(Grid(1, task.n_features), share=share).values[0]
        if n < 20:
            raise ZeroDivisionError("no rows")
        return self.found(curator, np.zeros((task.k, task.n_features), dtype=int), rest)


class SilentlyApproximate(Sound):
    def caps(self, task):
        if not task.delta:
            raise NeedsDelta("delta > 0")
        return Caps(pure=task.epsilon)


class WronglyApproximate(Sound):
    needs_delta = True


class NoCaps(Sound):
    def caps(self, task):
        return float(task.epsilon)


def test_a_sound_method_passes():
    check_method(Sound)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Greedy, "Greedy: caps ask for .* more than"),
        (Twice, "Twice: .*asks for more than its caps"),
        (OwnAccount, "OwnAccount: .*opens an account of its own"),
        (Counting, "Counting: two runs with the same rows, noise and rng differ"),
        (Unseeded, "Unseeded: two runs .* must come from rng"),
        (Peeking, "Peeking: with a row .* the same answers gave another result"),
        (PeekingQuestions, "PeekingQuestions: with a row .* query 1 differs"),
        (PeekingScales, "PeekingScales: with a row .* noise 1 differs"),
        (Transposed, r"Transposed: .*points of shape \(3, 2\).*got \(2, 3\)"),
        (Outside, "Outside: .*lies outside the bounds"),
        (NoEmptyTables, "NoEmptyTables: on 0 rows.* raises ZeroDivisionError: no rows"),
        (SilentlyApproximate, "SilentlyApproximate: caps raises NeedsDelta"),
        (WronglyApproximate, "WronglyApproximate: needs_delta is True, but"),
        (NoCaps, "NoCaps: caps must return Caps, got float"),
        (object, "object: a method needs caps"),
    ],
)
def test_broken_methods_are_caught(method, said):
    with pytest.raises(AssertionError, match=said):
        check_method(method)


def test_noise_that_is_too_small_is_caught(monkeypatch):
    """The exact loss is measured, whatever the curator believes."""
    from sfumato._core.mechanisms import Laplace

    fitting = Laplace.fitting.__func__

    def half(cls, *words):
        return cls(fitting(cls, *words).scale / 2)

    monkeypatch.setattr(Laplace, "fitting", classmethod(half))
    monkeypatch.setattr(Laplace, "loss", lambda self, *_: Fraction(0))
    with pytest.raises(AssertionError, match="lost 2, more than the 1 that it was charged"):
        check_method(Sound)


def test_a_method_without_a_pure_mode_is_checked_with_delta():
    check_method(MaxCover(dimensions=1), n_clusters=2)

"""The laws of the library, for methods of other packages: `check_method`.

Rows are made up here. A method that passes asks the same whatever its rows are, given the same
answers, and loses no more than it was charged. No test can show that a method is useful.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sfumato._accounting.budget import Account, Caps, Overspent
from sfumato._base.types import Floats, Ints
from sfumato._core.testing import (
    RecordingCurator,
    ReplayedNoise,
    Transcript,
    first_difference,
    loss,
    steps_of,
)
from sfumato._lattice.box import REACH
from sfumato.methods import Centers, Method, NeedsDelta, Task
from sfumato.methods._base import check_centers

__all__ = ["check_method"]

_BUDGETS = ((Fraction(1), Fraction(0)), (Fraction(1), Fraction(1, 10**6)))
_ROWS = 60


def check_method(
    method: type[Method] | Method, *, n_clusters: int = 3, n_features: int = 2, seed: int = 0
) -> None:
    """Run a method on made-up rows and their neighbours; raise `AssertionError` if it breaks a law.

    Parameters
    ----------
    method : class or instance
        The method. A class is called without arguments.
    n_clusters, n_features : int
        What the method is asked for, and the number of columns of the made-up rows.
    seed : int
        Seeds the rows, the noise and the public randomness: the same seed, the same runs.

    Examples
    --------
    >>> from sfumato.methods import DPLloyd
    >>> from sfumato.testing import check_method
    >>> check_method(DPLloyd(iterations=2))

    """
    made = method() if isinstance(method, type) else method
    if not callable(made) or not callable(getattr(made, "caps", None)):
        raise AssertionError(f"{type(made).__name__}: a method needs caps(task) and __call__")
    check = _Laws(made, type(made).__name__, seed)
    known: Caps | None = None
    for epsilon, delta in _BUDGETS:
        task = Task(n_clusters, n_features, epsilon, delta)
        if check.refuses(task):
            continue
        caps = check.caps(task)
        for each in (task, replace(task, n_rows=_ROWS)):
            check.small_tables(each)
            check.repeated(each)
            # Where δ changes nothing, or n is declared, all other queries are as before.
            pairs = 1 if each.n_rows or caps == known else None
            check.neighbours(each, islice(_row_more(n_features, seed), pairs))
        check.neighbours(replace(task, max_rows_per_group=3), [_group_more(n_features, seed)])
        known = caps


@dataclass(frozen=True)
class _Run:
    """One run: what it returned, what it was charged, and its queries and answers."""

    found: Centers
    account: Account
    transcript: Transcript

    def result(self) -> tuple[Any, ...]:
        """What two runs must have in common, bit for bit."""
        found, asked = self.found, self.transcript
        arrays = found.points.tobytes(), found.sizes.tobytes()
        return asked.queries, asked.mechanisms, found.notes, *arrays


class _Table(NamedTuple):
    """Made-up rows, (n, d), and the group of each, (n,), if there are groups."""

    rows: Floats
    groups: Ints | None = None


@dataclass(frozen=True)
class _Laws:
    """The laws for one method. Each of its runs is checked for what it returned and was charged."""

    method: Method
    name: str
    seed: int

    def expect(self, holds: bool, otherwise: str) -> None:
        """Raise an `AssertionError` that names the method."""
        if not holds:
            raise AssertionError(f"{self.name}: {otherwise}")

    def refuses(self, task: Task) -> bool:
        """Whether the method has no pure mode, and says so in the agreed way."""
        says = bool(getattr(type(self.method), "needs_delta", False))
        try:
            self.method.caps(task)
        except NeedsDelta:
            self.expect(
                says and not task.delta,
                f"caps raises NeedsDelta for δ = {float(task.delta):g}. Only a class with "
                "needs_delta = True may, and only for δ = 0",
            )
            return True
        told = "needs_delta is True, but caps raises no NeedsDelta for δ = 0"
        self.expect(bool(task.delta) or not says, told)
        return False

    def caps(self, task: Task) -> Caps:
        """Caps are within the budget, and the same whenever they are asked for."""
        caps = self.method.caps(task)
        self.expect(isinstance(caps, Caps), f"caps must return Caps, got {type(caps).__name__}")
        self.expect(
            caps.epsilon <= task.epsilon and caps.delta <= task.delta,
            f"caps ask for (ε, δ) = ({float(caps.epsilon):g}, {float(caps.delta):g}), more than "
            f"the ({float(task.epsilon):g}, {float(task.delta):g}) of the task",
        )
        self.expect(self.method.caps(task) == caps, "caps differ from one call to the next")
        return caps

    def run(
        self, table: _Table, task: Task, when: str, *, replay: Transcript | None = None
    ) -> _Run:
        """Run the method once, with budget to spare."""
        curator = RecordingCurator(
            table.rows,
            bounds=(-1.0, 1.0),
            epsilon=100.0,
            delta=0.5,
            groups=table.groups,
            max_rows_per_group=task.max_rows_per_group,
            noise=ReplayedNoise(self.seed + 1),
        )
        curator.replay = replay
        account = curator.reserve(self.name, self.caps(task))
        rng = np.random.default_rng(self.seed)
        try:
            found = self.method(curator, task, account=account, rng=rng)
        except Exception as error:
            self._same_queries(replay, curator.transcript, when, so_far=True)
            raise AssertionError(f"{self.name}: {when}, {_failure(error)}") from error
        self.expect(
            len(curator.ledger.accounts) == 1,
            f"{when}, it opens an account of its own. All queries are charged to the account it is "
            "given",
        )
        for kind in ("pure", "gdp", "approximate"):
            within = account.spent(kind) <= account.caps.of(kind)
            self.expect(within, f"{when}, it spends more than its {kind} cap")
        try:
            centers = check_centers(found, self.name, task)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"{self.name}: {when}: {error}") from None
        self.expect(
            bool((np.abs(centers.points) <= REACH).all()),
            f"{when}, a centre lies outside the bounds. Points are in lattice steps: clip them to "
            f"±{REACH}",
        )
        return _Run(centers, account, curator.transcript)

    def _same_queries(
        self, ours: Transcript | None, theirs: Transcript, when: str, *, so_far: bool = False
    ) -> None:
        """Refuse other queries or scales; `so_far` where the second run ended early."""
        if ours is not None:
            differs = first_difference(ours, theirs, so_far=so_far)
            self.expect(not differs, f"{when}, {differs}. {_ADVICE}")

    def small_tables(self, task: Task) -> None:
        """No rows, one row, and fewer rows than clusters are tables like any other."""
        rows = _rows(task.n_features, self.seed)
        for n in (0, 1, task.k - 1):
            self.run(_Table(rows[:n]), task, f"on {n} rows for {task.k} clusters")

    def repeated(self, task: Task) -> None:
        """The same rows, noise and rng give the same run."""
        table = _Table(_rows(task.n_features, self.seed))
        one, other = (self.run(table, task, "on the same rows again") for _ in range(2))
        self.expect(
            one.result() == other.result(),
            "two runs with the same rows, noise and rng differ. All public randomness must come "
            "from rng, and an instance must not change as it runs",
        )

    def neighbours(self, task: Task, pairs: Iterable[tuple[str, _Table, _Table]]) -> None:
        """A row or group more or less changes no query and no noise, and loses what was charged."""
        for what, smaller, larger in pairs:
            self.replayed(smaller, larger, task, f"with {what} more")
            self.replayed(larger, smaller, task, f"with {what} less")

    def replayed(self, one: _Table, other: _Table, task: Task, when: str) -> None:
        """Run on one table, give the same answers on the other, and compare."""
        first = self.run(one, task, when)
        second = self.run(other, task, when, replay=first.transcript)
        ours, theirs = first.transcript, second.transcript
        self._same_queries(ours, theirs, when)
        self.expect(
            first.result() == second.result(),
            f"{when}, the same answers gave another result. A method may use public numbers, "
            "released answers and rng, and nothing else",
        )
        losses = [loss(*step) for step in steps_of(ours, theirs)]
        for entry, lost in zip(first.account.entries, losses, strict=True):
            self.expect(
                lost <= entry.share.amount,
                f"{when}, the answer to {entry.query!r} lost {float(lost):g}, more than the "
                f"{float(entry.share.amount):g} that it was charged",
            )


_ADVICE = (
    "Given the same answers, a method must ask the same with the same noise: it may depend on "
    "public numbers, released answers and rng only"
)


def _failure(error: Exception) -> str:
    if isinstance(error, Overspent):
        return (
            f"it asks for more than its caps: {error}. Take shares from account.rest(…), split "
            "them, and use each once"
        )
    return f"it raises {type(error).__name__}: {error}"


def _rows(d: int, seed: int) -> Floats:
    """Three clumps in [−1, 1]^d, a few rows outside of it, and a missing cell."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-0.8, 0.8, (3, d))
    rows: Floats = middles[rng.integers(3, size=_ROWS)] + rng.uniform(-0.1, 0.1, (_ROWS, d))
    rows[:2] *= 40
    rows[2, 0] = np.nan
    return rows


def _row_more(d: int, seed: int) -> Iterator[tuple[str, _Table, _Table]]:
    """Pairs of tables that differ by one row."""
    rows = _rows(d, seed)
    corner, missing = np.ones((1, d)), np.full((1, d), np.nan)
    half = np.where(np.arange(d) % 2, np.nan, corner)
    for what, smaller, larger in (
        ("a row in a corner", rows, np.vstack([rows, corner])),
        ("a row outside the bounds", rows, np.vstack([-1e9 * corner, rows])),
        ("a row of missing cells", rows, np.vstack([rows, missing])),
        ("a row with missing cells", rows, np.vstack([rows, half])),
        ("one of many equal rows", np.tile(rows[5], (30, 1)), np.tile(rows[5], (31, 1))),
        ("the only row", rows[:0], -corner),
    ):
        yield what, _Table(smaller), _Table(larger)


def _group_more(d: int, seed: int) -> tuple[str, _Table, _Table]:
    """Two tables that differ by one group."""
    rows = _rows(d, seed)
    groups = np.arange(len(rows)) % 25
    more = np.vstack([rows, np.ones((8, d))]), np.append(groups, [99] * 8)
    return "a group of rows", _Table(rows, groups), _Table(*more)

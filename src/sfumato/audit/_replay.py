"""Exact replay: a run in one world, the same answers in the other, and what they lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._accounting.budget import Account
from sfumato._accounting.composition import epsilon_beside
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._core.testing import (
    RecordingCurator,
    ReplayedNoise,
    Transcript,
    first_difference,
    loss,
    steps_of,
)
from sfumato.audit._worlds import Pair, World
from sfumato.methods import Method, Task, method_of


@dataclass(frozen=True)
class Replay:
    """What exact replays of a method on one pair found.

    `lost` is the largest ε that the answers of one run lost all together, `charged` the ε that was
    set aside for them. `reason` says in words what breaks the promise; it is empty if nothing does.
    Where queries, noise or results differ although the answers are the same, `lost` is infinite.
    """

    method: str
    pair: str
    epsilon: float
    delta: float
    runs: int
    lost: float
    charged: float
    reason: str = ""

    @property
    def broken(self) -> bool:
        """Whether the promise is broken."""
        return bool(self.reason)

    def __str__(self) -> str:
        claim = f"{self.method}, (ε, δ) = ({self.epsilon:g}, {self.delta:g}), {self.pair}"
        if self.broken:
            return f"{claim}: broken. {self.reason}"
        share = f"at most {self.lost:.3g} of the {self.charged:.3g} that was charged"
        return f"{claim}: the answers of {self.runs} runs lost {share}."


@dataclass(frozen=True)
class Setting:
    """What every run of one audit has in common."""

    method: Method
    task: Task
    bounds: tuple[float, float]

    @classmethod
    def of(
        cls,
        method: str | Method,
        pair: Pair,
        budget: tuple[float, float],
        n_clusters: int,
        bounds: tuple[float, float],
        max_rows_per_group: int,
    ) -> Setting:
        """Check everything before the first run."""
        for world in (pair.smaller, pair.larger):
            if isinstance(world.rows, bytes):
                raise TypeError("replays take rows: the world is a file, use audit.run")
        epsilon, delta = check_epsilon(budget[0]), check_delta(budget[1])
        k = check_whole(n_clusters, "n_clusters")
        width = np.asarray(pair.larger.rows).shape[1]
        most = max_rows_per_group if pair.larger.groups is not None else 1
        task = Task(k, width, epsilon, delta, max_rows_per_group=most)
        return cls(method_of(method), task, bounds)

    @property
    def name(self) -> str:
        """What the method is called."""
        return type(self.method).__name__

    def open(self, world: World, noise: ReplayedNoise) -> RecordingCurator:
        """A curator of one world, with the budget of the claim."""
        found: RecordingCurator = self.opened(RecordingCurator, world, noise)
        return found

    def opened(self, kind: Any, world: World, noise: ReplayedNoise) -> Any:  # noqa: ANN401
        """A curator of some kind."""
        return kind(
            world.rows,
            bounds=self.bounds,
            epsilon=float(self.task.epsilon),
            delta=float(self.task.delta),
            groups=world.groups,
            max_rows_per_group=self.task.max_rows_per_group,
            noise=noise,
        )

    def run(self, curator: Any, seed: int) -> tuple[Account, tuple[Any, ...]]:  # noqa: ANN401
        """Run the method; returns its account and all that leaves, errors included."""
        account = curator.reserve(self.name, self.method.caps(self.task))
        rng = np.random.default_rng(seed)
        try:
            found = self.method(curator, self.task, account=account, rng=rng)
        # Whatever is raised leaves too.
        except Exception as error:
            return account, ("raised", type(error).__name__, str(error))
        return account, _bits(found)


def replay(
    method: str | Method,
    pair: Pair,
    *,
    epsilon: float,
    delta: float = 0.0,
    n_clusters: int = 2,
    n_runs: int = 1,
    bounds: tuple[float, float] = (-1.0, 1.0),
    max_rows_per_group: int = 1,
    random_state: int = 0,
) -> Replay:
    """Run a method in one world, give it the same answers in the other, and add up what they lost.

    Nothing here is estimated. A method whose queries, noise or results differ under the same
    answers is broken, and so is one of which an answer lost more than it was charged. Both
    directions are run.

    Parameters
    ----------
    method : str or Method
        A name of `sfumato.methods.METHODS`, or an instance: any method built on `Curator`.
    pair : Pair
        Two worlds of rows inside or outside the bounds; a world may have groups.
    epsilon, delta : float
        What is claimed.
    n_clusters : int
        What the method is asked for.
    n_runs : int
        Runs in each direction, each with other noise.
    bounds : pair of floats
        Public bounds of every column.
    max_rows_per_group : int
        Rows kept of each group, where worlds have groups.
    random_state : int
        Seeds noise and public randomness: the same number, the same runs.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.audit import Pair, World, replay
    >>> rows = np.zeros((20, 2))
    >>> pair = Pair("corner", World(rows), World(np.vstack([rows, [[1, 1]]])), "a row in a corner")
    >>> replay("dplloyd", pair, epsilon=1.0).broken
    False

    """
    setting = Setting.of(method, pair, (epsilon, delta), n_clusters, bounds, max_rows_per_group)
    told = Replay(setting.name, pair.name, epsilon, delta, 2 * n_runs, 0.0, epsilon)
    worst: _Lost | None = None
    for number in range(check_whole(n_runs, "n_runs")):
        for one, other, more in (
            (pair.smaller, pair.larger, "more"),
            (pair.larger, pair.smaller, "less"),
        ):
            when = f"With {pair.difference} {more}"
            found = _replayed(setting, one, other, random_state + number)
            if isinstance(found, str):
                return replace(told, lost=float("inf"), reason=f"{when}, {found}.")
            if found.too_much:
                reason = f"{when}, {found.too_much}."
                return replace(told, lost=found.epsilon(), reason=reason)
            if worst is None or found.part > worst.part:
                worst = found
    if worst is None:
        return told
    return replace(told, lost=worst.epsilon(), charged=float(worst.account.caps.epsilon))


@dataclass(frozen=True)
class _Lost:
    """What each answer of one run lost, in the currency of its charge."""

    account: Account
    losses: tuple[Fraction, ...]

    def _charges(self) -> Iterator[tuple[Any, Fraction]]:
        return zip(self.account.entries, self.losses, strict=True)

    @property
    def too_much(self) -> str:
        """In words, the first answer that lost more than its charge."""
        for entry, lost in self._charges():
            if lost > entry.share.amount:
                amounts = f"{float(lost):g}, more than the {float(entry.share.amount):g}"
                return f"the answer to {entry.query!r} lost {amounts} that it was charged"
        return ""

    @property
    def part(self) -> float:
        """The largest part of a currency's charges that was lost."""
        sums: dict[str, list[Fraction]] = {}
        for entry, lost in self._charges():
            both = sums.setdefault(entry.share.kind, [Fraction(0), Fraction(0)])
            both[0] += lost
            both[1] += entry.share.amount
        return max((float(lost / charged) for lost, charged in sums.values()), default=0.0)

    def epsilon(self) -> float:
        """ε of all losses together, at the δ that was set aside for Gaussian noise."""
        caps = self.account.caps
        pure, gaussian, plain = [Fraction(0)] * len(caps.parts), Fraction(0), Fraction(0)
        for entry, lost in self._charges():
            if entry.share.kind == "pure":
                pure[entry.share.part] += lost
            elif entry.share.kind == "gdp":
                gaussian += lost
            else:
                plain += lost
        if not gaussian:
            return float(sum(pure) + plain)
        return float(epsilon_beside(tuple(pure), gaussian, caps.gaussian[1]) + plain)


def _replayed(setting: Setting, one: World, other: World, seed: int) -> _Lost | str:
    """What one run lost; or in words what differs under the same answers."""
    first = setting.open(one, ReplayedNoise(seed + 1))
    account, result = setting.run(first, seed)
    second = setting.open(other, ReplayedNoise(seed + 1))
    second.replay = first.transcript
    _, again = setting.run(second, seed)
    ours, theirs = first.transcript, second.transcript
    differs = first_difference(ours, theirs)
    if differs:
        return f"{differs}, although the answers are the same"
    if result != again:
        return f"the same answers gave another result{_raised(result, again)}"
    return _Lost(account, _losses(ours, theirs))


def _losses(ours: Transcript, theirs: Transcript) -> tuple[Fraction, ...]:
    return tuple(loss(*step) for step in steps_of(ours, theirs))


def _raised(*results: tuple[Any, ...]) -> str:
    for result in results:
        if result[0] == "raised":
            return f": in one world it raises {result[1]}"
    return ""


def _bits(found: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """All that a value holds, to be compared bit for bit."""
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.shape, found.tobytes()
    if is_dataclass(found):
        return tuple(_bits(getattr(found, field.name)) for field in fields(found))
    return (repr(found),)

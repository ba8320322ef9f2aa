"""The settings of Balcan et al.: the paper's, its Matlab code's, the thesis's; and their budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from sfumato._accounting.budget import Account, Share
from sfumato._base.validation import check_positive, check_whole
from sfumato.methods._base import Task, take

Search = Literal["swaps", "coreset"]
Weights = Literal["both", "bought", "cubes"]
PresetName = Literal["paper", "matlab", "edler"]
Law = Literal["exponential", "permute_and_flip"]

BUDGET = ("candidates", "search", "recovery", "rounds", "choice among runs")

# Noise is refused beyond 2^44 lattice steps: with a margin for groups, averages need this of ε.
_LEAST = Fraction(1, 2**20)
_LEAST_PER_COLUMN = Fraction(1, 2**23)


@dataclass(frozen=True)
class Parts:
    """Parts of ε for candidates, search, recovery, rounds and the choice among runs."""

    candidates: Fraction
    search: Fraction
    recover: Fraction
    rounds: Fraction
    choice: Fraction

    @classmethod
    def of(cls, budget: Sequence[float], *, searches: bool, rounds: int, runs: int) -> Parts:
        """Divide by five weights; a phase that asks no query leaves its part to one that does.

        The search and the choice leave theirs to the candidates, rounds theirs to the recovery.
        """
        needed = (True, searches, True, bool(rounds), runs > 1)
        for name, weight, must in zip(BUDGET, budget, needed, strict=True):
            if must and not weight:
                raise ValueError(f"the budget has nothing for {name}, which this setting needs")
        weights = [check_positive(w, "budget") if w else Fraction(0) for w in budget]
        total = sum(weights, Fraction(0))
        candidates, search, recover, steps, choice = (weight / total for weight in weights)
        if not searches:
            candidates, search = candidates + search, Fraction(0)
        if runs == 1:
            candidates, choice = candidates + choice, Fraction(0)
        if not rounds:
            recover, steps = recover + steps, Fraction(0)
        return cls(candidates, search, recover, steps, choice)

    @property
    def averages(self) -> Fraction:
        """What recovery and rounds have together."""
        return self.recover + self.rounds

    def steps(self, rounds: int) -> list[Fraction]:
        """What each average has: first the recovery, then every round."""
        return [self.recover] + [self.rounds / max(rounds, 1)] * rounds

    def check(self, epsilon: Fraction, n_features: int, rounds: int, runs: int) -> None:
        """Refuse an ε for which no noise of an average could be sampled, before any charge."""
        least = max(_LEAST, n_features * _LEAST_PER_COLUMN)
        needed = least * runs / min(self.steps(rounds))
        if epsilon < needed:
            raise ValueError(
                f"epsilon = {float(epsilon):.3g} is too small for averages in {n_features} columns:"
                f" this budget needs at least {float(needed):.3g}"
            )


@dataclass(frozen=True)
class PhaseBudget:
    """What one run has of the account of a fit, and how its phases share it.

    `pure` and `gdp` are its parts of what was left after the rows were counted; averages take `gdp`
    if there is any. `before` is the pure ε that was spent before the run. With `carry`, what a
    phase leaves unspent goes to the next that takes its currency.
    """

    account: Account
    parts: Parts
    pure: Fraction
    gdp: Fraction
    before: Fraction
    carry: bool

    def candidates(self, partitions: int) -> tuple[Share, ...]:
        """Equal shares for the partitions."""
        return self._pure(self._of_run(self.parts.candidates)).evenly(partitions)

    def search(self) -> Share:
        """The share of a search; where averages are Gaussian, with all the candidates left."""
        amount = self._of_run(self.parts.search)
        if self.gdp and self.carry:
            amount += self._of_run(self.parts.candidates) - self._spent()
        return self._pure(amount)

    def averages(self, rounds: int) -> tuple[Share, ...]:
        """Shares for the recovery and every round, with all that the run has left."""
        if self.gdp:
            whole = take(self.account.rest("gdp"), self.gdp)
        else:
            carried = self._of_run(self.parts.candidates + self.parts.search) - self._spent()
            whole = self._pure(self._of_run(self.parts.averages) + carried * self.carry)
        return whole.split(*self.parts.steps(rounds))

    def _spent(self) -> Fraction:
        return self.account.spent("pure")[0] - self.before

    def _of_run(self, part: Fraction) -> Fraction:
        in_pure = 1 - self.parts.averages if self.gdp else Fraction(1)
        return self.pure * part / in_pure

    def _pure(self, amount: Fraction) -> Share:
        return take(self.account.rest("pure"), amount)


MAX_DIMENSIONS = 16
"""The most dimensions in which cubes are cut, each into 2^16 parts."""

MAX_PASSES = 4096
"""The most passes over the rows that one fit may take."""

MAX_DEPTHS = 14
"""A cube whose side has so many halvings in it still has a whole middle at the end."""

# Cubes that are cut at one depth, and coordinates of their parts; of more the fullest.
_MAX_CUBES = 2**12
_MAX_NUMBERS = 2**22
# Coordinates of the parts of all cubes that are counted in one pass.
_MAX_TOGETHER = 2**24


def max_cubes(p: int) -> int:
    """How many cubes are cut at one depth in p dimensions."""
    return max(1, min(_MAX_CUBES, _MAX_NUMBERS // (p << p)))


def together(p: int) -> int:
    """How many partitions in p dimensions are counted in one pass."""
    return max(1, _MAX_TOGETHER // (max_cubes(p) * p << p))


@dataclass(frozen=True)
class Preset:
    """Rules for every number that was not set, with L = ln(n/failure).

    `budget` weighs candidates, search, recovery, rounds of k-means, and the choice among runs.
    `failure` is that of all experiments of the thesis. It is not the δ of (ε, δ)-DP.
    """

    dimensions: Callable[[float], float]
    runs: Callable[[float], float]
    partitions: Callable[[int, float], float]
    swaps: Callable[[int, float], float]
    gamma: float
    budget: tuple[int, ...]
    law: Law
    rounds: int
    deepest: bool
    failure: float = 0.1


# The thesis's Algorithms 1 to 4, without the rounds that the Matlab code added: its §5.1.
_PAPER = Preset(
    dimensions=lambda n: 8 * math.log(n),
    runs=lambda failure: 2 * math.log(1 / failure),
    partitions=lambda k, spread: 27 * k * spread,
    swaps=lambda k, spread: 100 * k * spread,
    gamma=20.0,
    budget=(136, 17, 34, 0, 11),
    law="exponential",
    rounds=0,
    deepest=False,
)

# §4.2 and §4.3: with the budget that adds up to one.
_MATLAB = replace(
    _PAPER,
    dimensions=lambda n: math.log(n) / 2,
    runs=lambda failure: 1,
    partitions=lambda k, spread: 3,
    swaps=lambda k, spread: min(k, 20),
    gamma=2.0,
    budget=(8, 1, 2, 6, 1),
    rounds=3,
)

PRESETS: dict[PresetName, Preset] = {
    "paper": _PAPER,
    "matlab": _MATLAB,
    # Algorithms 8 to 13.
    "edler": replace(
        _MATLAB,
        gamma=1.0,
        budget=(70, 1, 4, 20, 5),
        law="permute_and_flip",
        deepest=True,
    ),
}


@dataclass(frozen=True)
class Recipe:
    """The settings of a fit that do not depend on n: those that were set, else the preset's."""

    search: Search
    weights: Weights
    gamma: float
    failure: float
    deepest: bool
    law: Law
    subset: int | None
    rounds: int
    runs: int


@dataclass(frozen=True)
class Sizes(Recipe):
    """The settings of one fit, for about n rows in d columns and k clusters."""

    dimensions: int
    partitions: int
    depths: int
    swaps: int

    @property
    def passes(self) -> int:
        """The most passes over the rows that the fit can take."""
        search = self.swaps + 1 if self.swaps > 1 else 1
        cuts = math.ceil(self.partitions / together(self.dimensions)) * self.depths
        run = cuts + search + 1 + self.rounds
        return self.runs * run + (self.runs > 1)

    def threshold(self, epsilon: float, n: float) -> float:
        """Noisy rows from which a cube is cut: γ = factor·ln(n·partitions/failure)/ε′."""
        return self.gamma * math.log(max(n, 2.0) / (self.failure / self.partitions)) / epsilon

    def check(self, task: Task, n: float, candidates: Fraction) -> None:
        """Refuse what cannot run, with the numbers it would need; `candidates` is a part of ε."""
        cuts = self.runs * self.partitions * self.depths
        gamma = self.threshold(float(candidates * task.epsilon / cuts), n)
        problems = []
        if self.dimensions > MAX_DIMENSIONS:
            problems.append(
                f"{self.dimensions} dimensions cut every cube into 2^{self.dimensions} = "
                f"{2.0**self.dimensions:.2g} parts, and {MAX_DIMENSIONS} are allowed"
            )
        if self.passes > MAX_PASSES:
            problems.append(
                f"{self.runs:,} runs of {self.partitions:,} partitions with {self.depths} depths "
                f"and {self.swaps:,} swaps take {self.passes:,} passes over the rows, and "
                f"{MAX_PASSES:,} are allowed; a cube would be cut from {gamma:.3g} rows on"
            )
        if problems:
            about = "about " if task.n_rows is None else ""
            raise ValueError(
                f"for {about}{n:,.0f} rows this cannot run: {'; '.join(problems)}. Take "
                "preset='edler', or set dimensions, runs, partitions, depths and swaps to fewer"
            )


# Whole numbers, and the least that each may be.
_LEAST_OF = dict.fromkeys(("dimensions", "runs", "partitions", "depths", "subset"), 1)
_LEAST_OF |= {"swaps": 0, "rounds": 0}

CHECKED = (*_LEAST_OF, "gamma", "failure", "deepest", "carry", "budget")
"""Settings that `checked` reads."""


def checked(value: Any, name: str) -> Any:  # noqa: ANN401  (each setting has its own type)
    """A setting as it is kept, or an error; None leaves it to the preset."""
    if value is None:
        return None
    if name in _LEAST_OF:
        return check_whole(value, name, _LEAST_OF[name])
    if name == "budget":
        return _checked_budget(value)
    if name in ("deepest", "carry"):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True, False or None, got {value!r}")
    elif check_positive(value, name) >= 1 and name == "failure":
        raise ValueError(f"failure must lie between 0 and 1, got {value!r}")
    return value


def _checked_budget(budget: Sequence[float]) -> tuple[float, ...]:
    """Five weights, of which candidates and recovery are positive."""
    given = tuple(budget)
    if len(given) != len(BUDGET):
        raise ValueError(f"budget has five weights, for {', '.join(BUDGET)}; got {budget!r}")
    for name, weight in zip(BUDGET, given, strict=True):
        if weight or name in ("candidates", "recovery"):
            check_positive(weight, f"budget of {name}")
    return given

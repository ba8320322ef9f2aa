"""The numbers of Balcan et al.: the paper's, its Matlab code's, and the thesis's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato._accounting.budget import Account, Share
from sfumato._base.validation import check_positive, check_whole
from sfumato.methods._auto.budget import take
from sfumato.methods._balcan.partition import together

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
    def of(cls, weights: Sequence[Fraction], *, searches: bool, rounds: int, runs: int) -> Parts:
        """Divide by the weights; what has nothing to buy leaves its part to what has.

        The search and the choice leave theirs to the candidates, rounds theirs to the recovery.
        """
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
        """Refuse an ε for which an average could not be noised, before anything is charged."""
        least = max(_LEAST, n_features * _LEAST_PER_COLUMN)
        needed = least * runs / min(self.steps(rounds))
        if epsilon < needed:
            raise ValueError(
                f"epsilon = {float(epsilon):.3g} is too small for averages in {n_features} columns:"
                f" this budget needs at least {float(needed):.3g}"
            )


@dataclass(frozen=True)
class StepsBudget:
    """The account of a fit, after the rows are counted, and how it is meant to be spent.

    `pure` and `gdp` are what was there at the start; averages are paid in `gdp` if there is any.
    With `carry`, what a part leaves unspent goes to the next that takes its currency.
    """

    account: Account
    parts: Parts
    runs: int
    pure: Fraction
    gdp: Fraction
    carry: bool

    @classmethod
    def of(cls, account: Account, parts: Parts, runs: int, *, carry: bool) -> StepsBudget:
        """Look at what is left."""
        pure, gdp = account.rest("pure").amount, account.rest("gdp").amount
        return cls(account, parts, runs, pure, gdp, carry)

    def candidates(self, partitions: int) -> tuple[Share, ...]:
        """Equal shares for the partitions of one run."""
        return self._pure(self._of_run(self.parts.candidates)).evenly(partitions)

    def search(self, spent: Fraction) -> Share:
        """The share of a search; where averages are paid otherwise, all the candidates left."""
        amount = self._of_run(self.parts.search)
        if self.gdp and self.carry:
            amount += self._of_run(self.parts.candidates) - spent
        return self._pure(amount)

    def averages(self, spent: Fraction, rounds: int) -> tuple[Share, ...]:
        """Shares for the recovery and every round of one run, with all that the run has left."""
        if self.gdp:
            whole = take(self.account.rest("gdp"), self.gdp / self.runs)
        else:
            carried = self._of_run(self.parts.candidates + self.parts.search) - spent
            whole = self._pure(self._of_run(self.parts.averages) + carried * self.carry)
        return whole.split(*self.parts.steps(rounds))

    def spent(self) -> Fraction:
        """What has been spent of pure ε in all."""
        return self.account.spent("pure")[0]

    def _of_run(self, part: Fraction) -> Fraction:
        in_pure = 1 - self.parts.averages if self.gdp else Fraction(1)
        return self.pure * part / in_pure / self.runs

    def _pure(self, amount: Fraction) -> Share:
        return take(self.account.rest("pure"), amount)


PresetName = Literal["paper", "matlab", "edler"]
Law = Literal["exponential", "permute_and_flip"]

FAILURE = 0.1
"""The failure probability of all experiments of the thesis. It is not the δ of (ε, δ)-DP."""

MOST_DIMENSIONS = 16
"""The most dimensions in which cubes are cut, each into 2^16 parts."""

MOST_PASSES = 4096
"""The most passes over the rows that one fit may take."""

# A cube whose side has so many halvings in it still has a whole middle at the end.
_MOST_DEPTHS = 14


@dataclass(frozen=True)
class Preset:
    """Rules for every number that was not set, with L = ln(n/failure).

    `budget` weighs candidates, search, recovery, rounds of k-means, and the choice among runs.
    """

    dimensions: Callable[[float], float]
    runs: Callable[[float], float]
    partitions: Callable[[int, float], float]
    swaps: Callable[[int, float], float]
    gamma: float
    budget: tuple[Fraction, ...]
    law: Law
    rounds: int
    deepest: bool


def _parts(*numbers: int, of: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(number, of) for number in numbers)


PRESETS: dict[PresetName, Preset] = {
    # The thesis's Algorithms 1 to 4, without the rounds that the Matlab code added: its §5.1.
    "paper": Preset(
        dimensions=lambda n: 8 * math.log(n),
        runs=lambda failure: 2 * math.log(1 / failure),
        partitions=lambda k, spread: 27 * k * spread,
        swaps=lambda k, spread: 100 * k * spread,
        gamma=20.0,
        budget=_parts(136, 17, 34, 0, 11, of=198),
        law="exponential",
        rounds=0,
        deepest=False,
    ),
    # §4.2 and §4.3: with the budget that adds up to one.
    "matlab": Preset(
        dimensions=lambda n: math.log(n) / 2,
        runs=lambda failure: 1,
        partitions=lambda k, spread: 3,
        swaps=lambda k, spread: min(k, 20),
        gamma=2.0,
        budget=_parts(8, 1, 2, 6, 1, of=18),
        law="exponential",
        rounds=3,
        deepest=False,
    ),
    # Algorithms 8 to 13.
    "edler": Preset(
        dimensions=lambda n: math.log(n) / 2,
        runs=lambda failure: 1,
        partitions=lambda k, spread: 3,
        swaps=lambda k, spread: min(k, 20),
        gamma=1.0,
        budget=_parts(70, 1, 4, 20, 5, of=100),
        law="permute_and_flip",
        rounds=3,
        deepest=True,
    ),
}


@dataclass(frozen=True)
class Chosen:
    """What was set by hand; None leaves it to the preset."""

    dimensions: int | None
    runs: int | None
    partitions: int | None
    depths: int | None
    swaps: int | None


@dataclass(frozen=True)
class Sizes:
    """The whole numbers of one fit, for about n rows in d columns and k clusters."""

    dimensions: int
    runs: int
    partitions: int
    depths: int
    swaps: int
    rounds: int

    @property
    def passes(self) -> int:
        """The most passes over the rows that the fit can take."""
        search = self.swaps + 1 if self.swaps > 1 else 1
        cuts = math.ceil(self.partitions / together(self.dimensions)) * self.depths
        run = cuts + search + 1 + self.rounds
        return self.runs * run + (self.runs > 1)


def sizes_of(
    preset: Preset, chosen: Chosen, *, n: float, d: int, k: int, rounds: int, failure: float
) -> Sizes:
    """Work out every number from public ones. Where p reaches d nothing is projected."""
    n = max(n, 2.0)
    spread = math.log(n / failure)
    p = chosen.dimensions or max(1, int(preset.dimensions(n)))
    swaps = math.ceil(preset.swaps(k, spread)) if chosen.swaps is None else chosen.swaps
    return Sizes(
        dimensions=min(p, d),
        runs=chosen.runs or runs_of(preset, failure),
        partitions=chosen.partitions or math.ceil(preset.partitions(k, spread)),
        depths=min(chosen.depths or int(math.log(n)) + 1, _MOST_DEPTHS),
        swaps=swaps,
        rounds=rounds,
    )


def runs_of(preset: Preset, failure: float) -> int:
    """How many sets of centres are found and chosen from."""
    return max(1, math.ceil(preset.runs(failure)))


def check_sizes(sizes: Sizes, *, n: float, declared: bool, gamma: float) -> None:
    """Refuse what cannot run, with the numbers that it would need; γ in rows."""
    problems = []
    if sizes.dimensions > MOST_DIMENSIONS:
        problems.append(
            f"{sizes.dimensions} dimensions cut every cube into 2^{sizes.dimensions} = "
            f"{2.0**sizes.dimensions:.2g} parts, and {MOST_DIMENSIONS} are allowed"
        )
    if sizes.passes > MOST_PASSES:
        problems.append(
            f"{sizes.runs:,} runs of {sizes.partitions:,} partitions with {sizes.depths} depths "
            f"and {sizes.swaps:,} swaps take {sizes.passes:,} passes over the rows, and "
            f"{MOST_PASSES:,} are allowed; a cube would be cut from {gamma:.3g} rows on"
        )
    if problems:
        rows = f"{n:,.0f} rows" if declared else f"about {n:,.0f} rows"
        raise ValueError(
            f"for {rows} this cannot run: {'; '.join(problems)}. Take preset='edler', or set "
            "dimensions, runs, partitions, depths and swaps to fewer"
        )


BUDGET = ("candidates", "search", "recovery", "rounds", "choice among runs")

# Numbers, and the least that each may be.
LEAST = {
    "dimensions": 1,
    "runs": 1,
    "partitions": 1,
    "depths": 1,
    "swaps": 0,
    "subset": 1,
    "rounds": 0,
}


def whole_or_none(value: object, name: str) -> int | None:
    """A whole number that is large enough, or None."""
    return None if value is None else check_whole(value, name, LEAST[name])


def check_gamma(value: float | None) -> None:
    """Refuse a factor that is not positive."""
    if value is not None:
        check_positive(value, "gamma")


def check_failure(value: float | None) -> None:
    """Refuse what is not a probability between 0 and 1."""
    if value is not None and not 0 < check_positive(value, "failure") < 1:
        raise ValueError(f"failure must lie between 0 and 1, got {value!r}")


def check_flag(value: object, name: str) -> None:
    """Refuse anything but True, False and None."""
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, got {value!r}")


def check_budget(budget: Sequence[float] | None) -> tuple[float, ...] | None:
    """Five weights, of which candidates and recovery are positive."""
    if budget is None:
        return None
    given = tuple(budget)
    if len(given) != len(BUDGET):
        raise ValueError(f"budget has five weights, for {', '.join(BUDGET)}; got {budget!r}")
    for name, weight in zip(BUDGET, given, strict=True):
        if weight or name in ("candidates", "recovery"):
            check_positive(weight, f"budget of {name}")
    return given


def weights_of(budget: Sequence[float | Fraction], needed: Sequence[bool]) -> list[Fraction]:
    """The weights as exact numbers; what there is to buy must have one."""
    for name, weight, must in zip(BUDGET, budget, needed, strict=True):
        if must and not weight:
            raise ValueError(f"the budget has nothing for {name}, which this setting buys")
    return [weight if isinstance(weight, Fraction) else _exact(weight) for weight in budget]


def _exact(weight: float) -> Fraction:
    return check_positive(weight, "budget") if weight else Fraction(0)

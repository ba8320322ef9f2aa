"""How ε is divided: five parts that add up to one, and what of them is left as a fit goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.budget import Account, Share
from sfumato.methods.auto.wallet import take

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
class Purse:
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
    def of(cls, account: Account, parts: Parts, runs: int, *, carry: bool) -> Purse:
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

"""How the budget of one fit is divided: public shares of ε, and of μ² where noise is Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.budget import Account, Caps, Share
from sfumato.curator.curator import Answer, Curator
from sfumato.curator.questions import Grid
from sfumato.gdp import mu2_of
from sfumato.methods.base import Task

COUNT = Fraction(1, 50)
"""The part of ε that buys the number of rows, unless it is declared."""

# Sums get 1 and counts 0.15 of a Gaussian step: shifts matter more than sizes.
COUNTS_PER_SUM = Fraction(3, 20)

# Where noise is Gaussian: the part of ε for radii, beside that of the tree.
_RADII = Fraction(1, 20)

# Deviations below which the number of rows is bought again, and the part of ε for that.
_CLEAR = 14
_AGAIN = Fraction(1, 10)
_FEWEST = 20.0

Currency = Literal["pure", "gdp"]


def steps_currency(task: Task, pure_part: Fraction, steps: int) -> Currency:
    """The currency with the smaller noise for some clipped steps, after the pure parts are paid."""
    if not task.delta:
        return "pure"
    rest = task.epsilon * (1 - pure_part)
    # A bound on the ratio: its square must not overflow, however small ε is.
    pure = (task.n_features + 3) * float(min(steps / rest, Fraction(10**100))) ** 2
    gaussian = float(1 + COUNTS_PER_SUM) * steps / float(mu2_of(rest, task.delta))
    return "gdp" if gaussian < pure else "pure"


def caps_of(task: Task, tree: Fraction, steps: int) -> Caps:
    """Pure ε for all; or for rows, tree and radii alone, where Gaussian noise is the smaller."""
    pure = COUNT + (1 - COUNT) * (tree + _RADII)
    if steps_currency(task, pure, steps) == "pure":
        return Caps(pure=task.epsilon)
    return Caps(pure=task.epsilon * pure, gaussian=(task.epsilon * (1 - pure), task.delta))


@dataclass(frozen=True)
class Size:
    """About how many rows there are, with the deviation of its noise: 0 where it is declared."""

    n: float
    std: float

    def and_by(self, answer: Answer) -> Size:
        """What two counts of the same rows say together."""
        if not self.std:
            return self
        mine, theirs = self.std**-2, answer.noise_std**-2
        n = (mine * self.n + theirs * float(answer.values[0])) / (mine + theirs)
        return Size(max(_FEWEST, n), (mine + theirs) ** -0.5)


@dataclass(frozen=True)
class Wallet:
    """The account of a fit, and about how many rows it is for."""

    account: Account
    task: Task
    rows: Size

    @property
    def n(self) -> float:
        """About how many rows there are."""
        return self.rows.n

    @property
    def currency(self) -> Currency:
        """What means, moments and steps are paid with."""
        return "gdp" if self.account.caps.gaussian[1] else "pure"

    @property
    def epsilon(self) -> float:
        """What is left of ε before the first Gaussian answer."""
        return float(self.account.rest("pure").amount + self.account.caps.gaussian[0])

    def per_row(self, epsilon: float) -> float:
        """What noise is fitted to where `epsilon` is paid: less of it for each row of a group."""
        return epsilon / self.task.max_rows_per_group

    def pure(self, amount: float) -> Share:
        """A share of pure ε, at most what is left."""
        return take(self.rest("pure"), exact(amount))

    def rest(self, currency: Currency) -> Share:
        """All that is left of a currency."""
        return self.account.rest(currency)

    def steps(self, others: float) -> Steps:
        """What means, moments and steps can have when `others` is set aside of pure ε."""
        rest = self.rest(self.currency)
        amount = rest.amount - (exact(others) if self.currency == "pure" else 0)
        rows = self.task.max_rows_per_group
        return Steps(rest.account or self.account, self.currency, amount, rows)


@dataclass(frozen=True)
class Steps:
    """What means, moments and steps share: an amount of one currency, cut by fractions.

    `rows` is how many rows of a group are protected together.
    """

    account: Account
    currency: Currency
    amount: Fraction
    rows: int

    @property
    def pure(self) -> bool:
        """Whether the noise is pure."""
        return self.currency == "pure"

    @property
    def size(self) -> float:
        """ε, or μ, of all steps together, for each row of a group: what noise is fitted to."""
        return (float(self.amount) if self.pure else math.sqrt(self.amount)) / self.rows

    def share(self, fraction: float) -> Share:
        """A share of the amount."""
        return take(self.account.rest(self.currency), self.amount * exact(fraction))

    def last(self) -> Share:
        """All that is left, for the last step."""
        return self.account.rest(self.currency)

    def noise(self, fraction: float, n_features: int) -> float:
        """Deviation of a coordinate of a sum of vectors of length 1 that a fraction pays for."""
        if self.pure:
            return math.sqrt(n_features + 3) / (self.size * fraction)
        return math.sqrt(float(1 + COUNTS_PER_SUM) / fraction) / self.size


def exact(amount: float) -> Fraction:
    """A float as a fraction that is easy to read."""
    return Fraction(amount).limit_denominator(10**12)


def take(share: Share, amount: Fraction) -> Share:
    """Cut an amount off a share; all of it where there is no more."""
    if amount >= share.amount:
        return share
    return share.split(amount, share.amount - amount)[0]


def open_wallet(curator: Curator, task: Task, account: Account) -> Wallet:
    """Buy the number of rows, unless it is declared; twice, if it does not stand out from noise."""
    if task.n_rows is not None:
        return Wallet(account, task, Size(float(max(_FEWEST, task.n_rows)), 0.0))
    everything = Grid(1, task.n_features)
    first = curator.counts(everything, share=take(account.rest("pure"), COUNT * task.epsilon))
    rows = Size(max(_FEWEST, float(first.values[0])), first.noise_std)
    if task.n_features > 3 and rows.n < _CLEAR * rows.std:
        again = take(account.rest("pure"), _AGAIN * task.epsilon)
        rows = rows.and_by(curator.counts(everything, share=again))
    return Wallet(account, task, rows)

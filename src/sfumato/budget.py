"""Privacy budget: exact shares, the accounts they are drawn on, and the ledger of one dataset.

Two currencies simply add: pure ε, and μ² of Gaussian DP. Plain (ε, δ) charges add in both of their
numbers. A ledger of total (ε, δ) grants accounts; an account has one cap per currency, fixed before
its first answer and never moved, because re-dividing a budget after Gaussian answers were seen
would make the true δ larger than the stated one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from sfumato.gdp import mu2_of

Kind = Literal["pure", "gdp", "approximate"]

ZERO = Fraction(0)


class Overspent(RuntimeError):  # noqa: N818  (the name users catch)
    """A question, or a fit, asked for more privacy budget than is left."""


@dataclass(frozen=True)
class Share:
    """A part of an account: an amount of ε ("pure"), of μ² ("gdp") or (ε, δ) ("approximate")."""

    kind: Kind
    amount: Fraction
    delta: Fraction = ZERO
    account: Account | None = field(default=None, repr=False, compare=False)

    def split(self, *weights: float | Fraction) -> tuple[Share, ...]:
        """Divide into parts proportional to `weights`; the parts sum exactly to the whole."""
        if not weights or not all(0 < w < float("inf") for w in weights):
            raise ValueError(f"weights must be positive numbers, got {weights}")
        exact = [Fraction(w) for w in weights]
        total = sum(exact)
        return tuple(
            replace(self, amount=self.amount * w / total, delta=self.delta * w / total)
            for w in exact
        )

    def evenly(self, n: int) -> tuple[Share, ...]:
        """Divide into `n` equal parts."""
        return self.split(*[1] * n)


@dataclass(frozen=True)
class Caps:
    """What one fit may spend in each currency, decided before a row is read."""

    pure: Fraction = ZERO
    gaussian: tuple[Fraction, Fraction] = (ZERO, ZERO)
    approximate: tuple[Fraction, Fraction] = (ZERO, ZERO)

    def __post_init__(self) -> None:
        amounts = (self.pure, *self.gaussian, *self.approximate)
        if min(amounts) < 0 or max(self.gaussian[1], self.approximate[1]) >= 1:
            raise ValueError("caps must not be negative, and every δ must lie below 1")
        if (self.gaussian[0] > 0) != (self.gaussian[1] > 0):
            raise ValueError("Gaussian noise needs both an ε and a δ above 0")

    @property
    def epsilon(self) -> Fraction:
        """ε of all currencies together."""
        return self.pure + self.gaussian[0] + self.approximate[0]

    @property
    def delta(self) -> Fraction:
        """δ of all currencies together."""
        return self.gaussian[1] + self.approximate[1]

    def of(self, kind: Kind) -> tuple[Fraction, Fraction]:
        """(amount, δ) that may be charged in one currency."""
        if kind == "pure":
            return self.pure, ZERO
        if kind == "gdp":
            return (mu2_of(*self.gaussian) if self.gaussian[1] else ZERO), ZERO
        if kind == "approximate":
            return self.approximate
        raise TypeError(f"a {kind!r} guarantee does not add to differential privacy of a dataset")


@dataclass(frozen=True)
class Entry:
    """One line of an account: what was asked, what it cost, how it was noised."""

    question: str
    share: Share
    law: str
    scale: Fraction
    noise: str
    slack: float
    released: bool = False


class Account:
    """The budget of one fit. Every charge is written down before a row is read."""

    def __init__(self, ledger: Ledger, purpose: str, caps: Caps) -> None:
        self.ledger = ledger
        self.purpose = purpose
        self.caps = caps
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything charged so far, in order."""
        return tuple(self._entries)

    def spent(self, kind: Kind) -> tuple[Fraction, Fraction]:
        """(amount, δ) charged so far in one currency."""
        mine = [e.share for e in self._entries if e.share.kind == kind]
        return sum((s.amount for s in mine), ZERO), sum((s.delta for s in mine), ZERO)

    def rest(self, kind: Kind) -> Share:
        """Everything that is left in one currency, as one share."""
        amount, delta = (c - s for c, s in zip(self.caps.of(kind), self.spent(kind), strict=True))
        return Share(kind, amount, delta, self)

    def charge(self, entries: Sequence[Entry]) -> range:
        """Write the charges down, all or none; raise `Overspent` where a cap would be passed.

        Returns the positions of the entries, for `record`.
        """
        with self.ledger.lock:
            for kind in {e.share.kind for e in entries}:
                self._check(kind, [e for e in entries if e.share.kind == kind])
            first = len(self._entries)
            self._entries.extend(entries)
            return range(first, len(self._entries))

    def record(self, positions: range) -> None:
        """Note that these charges led to a release. A charge without a release stays spent."""
        with self.ledger.lock:
            for i in positions:
                self._entries[i] = replace(self._entries[i], released=True)

    def _check(self, kind: Kind, entries: list[Entry]) -> None:
        if any(e.share.amount <= 0 or e.share.delta < 0 for e in entries):
            raise ValueError("a question needs a share above 0")
        cap, used = self.caps.of(kind), self.spent(kind)
        asked = (
            sum((e.share.amount for e in entries), ZERO),
            sum((e.share.delta for e in entries), ZERO),
        )
        if any(u + a > c for u, a, c in zip(used, asked, cap, strict=True)):
            unit = {"pure": "ε", "gdp": "μ²", "approximate": "(ε, δ)"}[kind]
            what = ", ".join(e.question for e in entries)
            raise Overspent(_refusal(f"{self.purpose}: {what}", unit, cap, used, asked))


class Ledger:
    """The budget of one dataset. Grants accounts until its total is used up; refunds nothing.

    Guarantee: accounts compose by adding ε and adding δ. Inside an account pure ε adds, μ² adds,
    and (ε, δ) adds, each under a cap fixed beforehand, whatever the order of the questions.
    """

    durable = False

    def __init__(self, epsilon: Fraction, delta: Fraction = ZERO) -> None:
        if epsilon <= 0 or not 0 <= delta < 1:
            raise ValueError(f"a ledger needs ε > 0 and 0 ≤ δ < 1, got ({epsilon}, {delta})")
        self.total = (epsilon, delta)
        self.lock = threading.RLock()
        self._accounts: list[Account] = []

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every account granted so far, in order."""
        return tuple(self._accounts)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) of all accounts granted so far, used up or not."""
        caps = [a.caps for a in self._accounts]
        return sum((c.epsilon for c in caps), ZERO), sum((c.delta for c in caps), ZERO)

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that can still be granted."""
        epsilon, delta = self.spent
        return self.total[0] - epsilon, self.total[1] - delta

    def open(self, purpose: str, caps: Caps) -> Account:
        """Grant an account with these caps, or raise `Overspent`."""
        with self.lock:
            asked, used = (caps.epsilon, caps.delta), self.spent
            if any(u + a > t for u, a, t in zip(used, asked, self.total, strict=True)):
                raise Overspent(_refusal(purpose, "(ε, δ)", self.total, used, asked))
            account = Account(self, purpose, caps)
            self._accounts.append(account)
            return account

    def cancel(self, account: Account) -> None:
        """Take back an account that was never charged: no row was read for it."""
        with self.lock:
            if account in self._accounts and not account.entries:
                self._accounts.remove(account)


def _refusal(
    purpose: str,
    unit: str,
    total: tuple[Fraction, Fraction],
    used: tuple[Fraction, Fraction],
    asked: tuple[Fraction, Fraction],
) -> str:
    def show(pair: Sequence[Fraction]) -> str:
        numbers = [f"{float(x):.6g}" for x in pair]
        return f"({', '.join(numbers)})" if unit == "(ε, δ)" else numbers[0]

    left = [max(t - u, ZERO) for t, u in zip(total, used, strict=True)]
    return (
        f"{purpose}: the budget does not cover this. In {unit}: total {show(total)}, "
        f"spent {show(used)}, asked {show(asked)}, largest affordable {show(left)}"
    )

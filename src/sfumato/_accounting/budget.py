"""Privacy budget: the accounts that shares are drawn on, and the ledger of one dataset.

A ledger of total (ε, δ) grants accounts; an account has a cap for each part of its budget, fixed
before its first answer and never moved, because re-dividing a budget after Gaussian answers were
seen would make the true δ larger than the stated one. Only a ledger charges, and only accounts that
it has granted and that are still open: shares and accounts themselves are no more than a claim.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, NoReturn

from sfumato._accounting.composition import mu2_beside
from sfumato._accounting.gaussian_dp import mu2_of

Kind = Literal["pure", "gdp", "approximate"]

ZERO = Fraction(0)


def check_exact(*amounts: object) -> None:
    """Refuse floats: one NaN would pass every comparison with a cap."""
    for amount in amounts:
        if type(amount) not in (int, Fraction):
            raise TypeError(
                f"budget is counted in Fractions such as Fraction(1, 10), got {amount!r}"
            )


class Uncopied:
    """What holds budget: a copy would spend it a second time."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"this {type(self).__name__} cannot be copied or pickled: the copy would spend the "
            "same budget twice"
        )


@dataclass(frozen=True)
class Share:
    """A part of an account: an amount of ε ("pure"), of μ² ("gdp") or (ε, δ) ("approximate").

    `part` is the cap of pure ε that it is charged to, where an account has several.
    """

    kind: Kind
    amount: Fraction
    delta: Fraction = ZERO
    account: Account | None = field(default=None, repr=False, compare=False)
    part: int = 0

    def __post_init__(self) -> None:
        if type(self.kind) is not str or type(self.part) is not int:
            raise TypeError(
                "the kind of a share is a word such as 'pure', and its part a whole number, got "
                f"{self.kind!r} and {self.part!r}"
            )
        check_exact(self.amount, self.delta)

    def split(self, *weights: float | Fraction) -> tuple[Share, ...]:
        """Divide into parts proportional to `weights`; the parts sum exactly to the whole."""
        real = all(isinstance(w, Real) for w in weights)
        if not weights or not real or not all(0 < w < float("inf") for w in weights):
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
    """What one fit may spend in each currency, decided before a row is read.

    `pure` is ε of all pure charges, in `parts` if they have caps of their own: the more there are,
    the less they take from Gaussian noise. `gaussian` is the (ε, δ) set aside beside `pure`; both
    together are (ε of both, δ)-DP, by which μ² is the largest possible. `approximate` is the (ε, δ)
    of plain charges.
    """

    pure: Fraction = ZERO
    gaussian: tuple[Fraction, Fraction] = (ZERO, ZERO)
    approximate: tuple[Fraction, Fraction] = (ZERO, ZERO)
    parts: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        pairs = (self.gaussian, self.approximate)
        if type(self.parts) is not tuple:
            raise TypeError("the parts of pure ε are a tuple")
        if not self.parts:
            object.__setattr__(self, "parts", (self.pure,))
        # A list could grow after it was granted.
        if any(type(pair) is not tuple or len(pair) != 2 for pair in pairs):
            raise TypeError("caps of Gaussian and of plain charges are tuples (ε, δ)")
        amounts = (self.pure, *self.gaussian, *self.approximate, *self.parts)
        check_exact(*amounts)
        if sum(self.parts) != self.pure:
            raise ValueError("the parts of pure ε must add up to it")
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

    def of(self, kind: Kind, part: int | None = None) -> tuple[Fraction, Fraction]:
        """(amount, δ) that may be charged in one currency, of pure ε in one part or in all."""
        if kind == "pure":
            return (self.pure if part is None else self.parts[part]), ZERO
        if kind == "gdp":
            return self.mu2, ZERO
        if kind == "approximate":
            return self.approximate
        raise TypeError(f"a {kind!r} guarantee does not add to differential privacy of a dataset")

    @property
    def mu2(self) -> Fraction:
        """μ² of all Gaussian charges."""
        epsilon, delta = self.gaussian
        if not delta:
            return ZERO
        if not self.pure:
            return mu2_of(epsilon, delta)
        return mu2_beside(self.parts, self.pure + epsilon, delta)


@dataclass(frozen=True)
class Entry:
    """One line of an account: what was asked, what it cost, how it was noised.

    `loss` is what the mechanism with this scale costs at most, in the currency of the share.
    `chapter` is the part of the code that must be right for it (docs/trusted.md).
    """

    query: str
    share: Share
    mechanism: str
    scale: Fraction
    noise: str
    slack: float
    loss: Fraction
    chapter: str = "Core queries"
    released: bool = False


class Overspent(RuntimeError):  # noqa: N818  (the name users catch)
    """A query, or a fit, asked for more privacy budget than is left."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Account(Uncopied):
    """The budget of one fit, as granted by `Ledger.reserve`; the ledger alone charges it."""

    # Without slots, a method of one account could be replaced through its dictionary.
    __slots__ = ("_entries", "caps", "ledger", "purpose")

    ledger: Ledger
    purpose: str
    caps: Caps
    _entries: list[Entry]

    def __init__(self, *_: object) -> None:
        raise TypeError(
            "an account cannot be made by hand: curator.reserve(purpose, caps) grants one, or "
            "ledger.reserve(purpose, caps)"
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything charged so far, in order."""
        return tuple(self._entries)

    def spent(self, kind: Kind, part: int | None = None) -> tuple[Fraction, Fraction]:
        """(amount, δ) charged so far in one currency, of pure ε in one part or in all."""
        return _sum(self.entries, kind, part)

    def rest(self, kind: Kind, part: int = 0) -> Share:
        """Everything that is left in one currency, of pure ε in one part, as one share."""
        cap, spent = self.caps.of(kind, part), self.spent(kind, part)
        return Share(kind, cap[0] - spent[0], cap[1] - spent[1], self, part)


class Ledger(Uncopied):
    """The budget of one dataset. Grants accounts until its total is used up; refunds nothing.

    Guarantee: accounts compose by adding ε and adding δ. Inside an account pure ε adds, μ² adds,
    and (ε, δ) adds, each under a cap fixed beforehand, whatever the order of the queries.
    """

    __slots__ = ("_accounts", "_lock", "_total")

    durable = False
    chapters: tuple[str, ...] = ()

    unit: str | None = None
    """What is protected as a whole, in words, if that is declared."""

    bounds: Any = None
    """The bounds of the columns, if they are declared."""

    def __init__(self, epsilon: Fraction, delta: Fraction = ZERO) -> None:
        check_exact(epsilon, delta)
        if epsilon <= 0 or not 0 <= delta < 1:
            raise ValueError(f"a ledger needs ε > 0 and 0 ≤ δ < 1, got ({epsilon}, {delta})")
        self._total = (epsilon, delta)
        self._lock = threading.RLock()
        self._accounts: dict[Account, list[Entry]] = {}

    @property
    def total(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) of all accounts that it will ever grant."""
        return self._total

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every account granted so far and not cancelled, in order."""
        with self._lock:
            return tuple(self._accounts)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) of all accounts granted so far, used up or not."""
        caps = [a.caps for a in self.accounts]
        return sum((c.epsilon for c in caps), ZERO), sum((c.delta for c in caps), ZERO)

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that can still be granted."""
        epsilon, delta = self.spent
        return self.total[0] - epsilon, self.total[1] - delta

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Grant an account with these caps, or raise `Overspent`."""
        if type(caps) is not Caps:
            raise TypeError(f"an account is opened with Caps, got {type(caps).__name__}")
        with self._lock:
            asked, used = (caps.epsilon, caps.delta), self.spent
            if any(u + a > t for u, a, t in zip(used, asked, self.total, strict=True)):
                raise _overspent(purpose, "(ε, δ)", self.total, used, asked)
            return self._granted(purpose, caps)

    def set_aside(self, purpose: str, epsilon: Fraction, delta: Fraction) -> None:
        """Reserve (ε, δ) for good, for what another ledger charges: nobody can charge or cancel it.

        Raises `Overspent` where too little is left.
        """
        with self._lock:
            account = self.reserve(purpose, Caps(approximate=(epsilon, delta)))
            share = Share("approximate", epsilon, delta, account)
            used = Entry(purpose, share, "set aside", ZERO, "none", 0.0, ZERO)
            self._accounts[account].append(used)

    def _granted(self, purpose: str, caps: Caps) -> Account:
        """A new account that this ledger will charge."""
        account, entries = object.__new__(Account), list[Entry]()
        granted = {"ledger": self, "purpose": purpose, "caps": caps, "_entries": entries}
        for name, value in granted.items():
            object.__setattr__(account, name, value)
        self._accounts[account] = entries
        return account

    def cancel(self, account: Account) -> None:
        """Close an account that was never charged, and take it back: no row was read for it."""
        with self._lock:
            kept = {a: e for a, e in self._accounts.items() if a is not account or e}
            self._accounts = kept

    def charge(self, account: Account, entries: Sequence[Entry]) -> range:
        """Write charges to one account, all or none; raise `Overspent` where a cap is passed.

        Returns the positions of the entries, for `record`.
        """
        new = tuple(entries)
        with self._lock:
            written = self._entries_of(account)
            _check_claims(account, new)
            for kind, part in {(entry.share.kind, entry.share.part) for entry in new}:
                _check_cap(account, kind, part, written, new)
            written.extend(new)
            return range(len(written) - len(new), len(written))

    def record(self, account: Account, positions: range) -> None:
        """Note that these charges led to a release. A charge without a release stays spent."""
        with self._lock:
            written = self._entries_of(account)
            for i in positions:
                written[i] = replace(written[i], released=True)

    def _entries_of(self, account: Account) -> list[Entry]:
        """What was charged to an account that is open; what only equals one is none."""
        for granted, entries in self._accounts.items():
            if granted is account:
                return entries
        raise ValueError(
            "this account was cancelled, or this ledger never granted it: ask with a share of an "
            "account that curator.reserve(purpose, caps) grants"
        )


def _sum(
    entries: Iterable[Entry], kind: Kind, part: int | None = None
) -> tuple[Fraction, Fraction]:
    """(amount, δ) of the entries in one currency, in one part of it or in all."""
    mine = [e.share for e in entries if e.share.kind == kind and part in (None, e.share.part)]
    return sum((s.amount for s in mine), ZERO), sum((s.delta for s in mine), ZERO)


def _check_claims(account: Account, entries: Sequence[Entry]) -> None:
    for entry in entries:
        if type(entry) is not Entry or type(entry.share) is not Share:
            raise TypeError("a charge is an Entry with a Share")
        if entry.share.account is not account:
            raise ValueError("the shares of one charge belong to the account that is charged")
        if entry.share.amount <= 0 or entry.share.delta < 0:
            raise ValueError("a query needs a share above 0")
        parts = len(account.caps.parts) if entry.share.kind == "pure" else 1
        if not 0 <= entry.share.part < parts:
            raise ValueError(f"the account has {parts} parts of {entry.share.kind}, from 0 on")


def _check_cap(
    account: Account, kind: Kind, part: int, old: Sequence[Entry], new: Sequence[Entry]
) -> None:
    cap, used, asked = account.caps.of(kind, part), _sum(old, kind, part), _sum(new, kind, part)
    if any(u + a > c for u, a, c in zip(used, asked, cap, strict=True)):
        unit = {"pure": "ε", "gdp": "μ²", "approximate": "(ε, δ)"}[kind]
        what = ", ".join(entry.query for entry in new if entry.share.kind == kind)
        raise _overspent(f"{account.purpose}: {what}", unit, cap, used, asked)


def _overspent(purpose: str, unit: str, *amounts: tuple[Fraction, Fraction]) -> Overspent:
    from sfumato._accounting.text import refusal

    return Overspent(refusal(purpose, unit, *amounts))


def caps_to_dict(caps: Caps) -> dict[str, Any]:
    """Caps as exact numbers written as text."""
    return {
        "pure": [str(number) for number in caps.parts],
        "gaussian": [str(number) for number in caps.gaussian],
        "mu2": str(caps.mu2),
        "approximate": [str(number) for number in caps.approximate],
    }


def caps_from_dict(data: dict[str, Any]) -> Caps:
    """Read back what `caps_to_dict` wrote."""
    parts = tuple(Fraction(number) for number in data["pure"])
    gaussian, approximate = (
        (Fraction(data[name][0]), Fraction(data[name][1])) for name in ("gaussian", "approximate")
    )
    return Caps(sum(parts, Fraction(0)), gaussian, approximate, parts)

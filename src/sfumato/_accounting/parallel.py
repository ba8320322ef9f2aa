"""Parts side by side: a row lies in one of them, so they cost as much as the dearest.

Guarantee: neighbours differ in one part alone. Whatever that part was charged is at most what the
parts together reserved of each unit (docs/proofs/ledger.md).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Generic, TypeVar

from sfumato._accounting.budget import ZERO, Account, Caps, Ledger

_Amount = TypeVar("_Amount", int, Fraction)


class Parallel(Generic[_Amount]):
    """What each part took of each unit, and what all of them reserved: the largest of it so far."""

    def __init__(self, nothing: _Amount) -> None:
        self._nothing: _Amount = nothing
        # Parts that reserve at once must not look at the same amounts.
        self.lock = threading.RLock()
        self.process = os.getpid()
        self._taken: dict[Hashable, dict[str, _Amount]] = {}
        self._reserved: dict[str, _Amount] = {}

    def rise(self, part: Hashable, cost: Mapping[str, _Amount]) -> dict[str, _Amount]:
        """By how much the largest would rise if a part took this too; units without a rise lack."""
        taken, found = self._taken.get(part, {}), dict[str, _Amount]()
        for unit, amount in cost.items():
            reserved = self._reserved.get(unit, self._nothing)
            more = taken.get(unit, self._nothing) + amount - reserved
            if more > 0:
                found[unit] = more
        return found

    def spare(self, part: Hashable) -> dict[str, _Amount]:
        """What a part may take without a rise."""
        taken = self._taken.get(part, {})
        return {
            unit: reserved - taken.get(unit, self._nothing)
            for unit, reserved in self._reserved.items()
        }

    def take(self, part: Hashable, cost: Mapping[str, _Amount]) -> None:
        """Note that a part took this; what it rises by was reserved."""
        for unit, more in self.rise(part, cost).items():
            self._reserved[unit] = self._reserved.get(unit, self._nothing) + more
        taken = self._taken.setdefault(part, {})
        for unit, amount in cost.items():
            taken[unit] = taken.get(unit, self._nothing) + amount

    def give_back(self, part: Hashable, cost: Mapping[str, _Amount]) -> None:
        """Note that a part did not use what it took. It stays reserved, for any part."""
        taken = self._taken[part]
        for unit, amount in cost.items():
            taken[unit] -= amount


class PartLedger(Ledger):
    """The budget of one part of a dataset whose ledger is in memory."""

    __slots__ = ("_parallel", "_part", "_whole")

    def __init__(self, whole: Ledger, parallel: Parallel[Fraction], part: Hashable) -> None:
        super().__init__(*whole.total)
        self._whole, self._parallel, self._part = whole, parallel, part
        self._lock = parallel.lock

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) that this part can still be granted."""
        epsilon, delta = self._whole.left
        spare = self._parallel.spare(self._part)
        return epsilon + spare.get("epsilon", ZERO), delta + spare.get("delta", ZERO)

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Grant an account: of the whole budget it takes what it costs beyond the other parts."""
        if type(caps) is not Caps:
            raise TypeError(f"an account is opened with Caps, got {type(caps).__name__}")
        cost = _cost(caps)
        with self._lock:
            more = self._parallel.rise(self._part, cost)
            if more:
                rise = (more.get("epsilon", ZERO), more.get("delta", ZERO))
                self._whole.set_aside(f"{purpose} ({self._part})", *rise)
            self._parallel.take(self._part, cost)
            return self._granted(purpose, caps)

    def cancel(self, account: Account) -> None:
        """Close an account that was never charged. What it took is left for any part."""
        with self._lock:
            if account in self.accounts and not account.entries:
                self._parallel.give_back(self._part, _cost(account.caps))
            super().cancel(account)


def _cost(caps: Caps) -> dict[str, Fraction]:
    """What caps take of each unit."""
    return {"epsilon": caps.epsilon, "delta": caps.delta}

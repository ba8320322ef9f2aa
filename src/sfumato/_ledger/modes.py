"""How the fits of a dataset add up: three modes, each a sum of whole numbers under capacities.

A mode is chosen when a ledger is created and never changes. It turns (ε, δ) of the dataset into
capacities of some units, and the caps of a fit into what they take of each unit. Fits may be chosen
adaptively: every capacity is fixed beforehand, so each is a privacy filter (docs/proofs/ledger.md).

- `add`: ε adds and δ adds.
- `gaussian`: pure ε adds, μ² adds, and both together are (ε, δ)-DP; plain (ε, δ) charges beside.
- `zcdp`: ρ adds, ε²/2 for pure ε and μ²/2; plain (ε, δ) charges beside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from sfumato._accounting.budget import ZERO, Caps
from sfumato._accounting.composition import epsilon_beside, epsilon_of_rho, mu2_beside, rho_beside

Mode = Literal["add", "gaussian", "zcdp"]
MODES: tuple[Mode, ...] = get_args(Mode)

Amounts = dict[str, int]
"""Whole numbers of units, by unit."""

# Parts of one in which each unit is counted: δ is much smaller than ε.
_PARTS = {
    "epsilon": 10**12,
    "delta": 10**18,
    "pure": 10**12,
    "mu2": 10**12,
    "rho": 10**12,
}

PURE_PART = Fraction(3, 5)
"""The part of ε that `gaussian` sets aside for pure ε, unless told otherwise.

Fits of `auto` with δ, of which 15 to 36 % is pure, are carried in the largest number by about that.
"""


def whole(amounts: Mapping[str, Fraction], *, up: bool) -> Amounts:
    """Amounts in whole units: what is taken is rounded up, what is there is rounded down."""
    rounded = math.ceil if up else math.floor
    return {unit: rounded(amount * _PARTS[unit]) for unit, amount in amounts.items() if amount}


def fraction_of(unit: str, number: int) -> Fraction:
    """An amount of a unit as an exact number."""
    return Fraction(number, _PARTS[unit])


MOST_UNITS = 2**63 - 1
"""The most that a database can hold of a unit."""


@dataclass(frozen=True)
class Composition:
    """A mode with the (ε, δ) of a dataset.

    `pure` is the part of ε that `gaussian` sets aside for pure ε, `plain` the part of ε and of δ
    that `gaussian` and `zcdp` set aside for plain (ε, δ) charges.
    """

    mode: Mode
    epsilon: Fraction
    delta: Fraction
    pure: Fraction = PURE_PART
    plain: Fraction = ZERO

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"a ledger adds up by {', '.join(MODES)}, got {self.mode!r}")
        if self.epsilon <= 0 or not 0 <= self.delta < 1:
            raise ValueError("a ledger needs ε > 0 and 0 ≤ δ < 1")
        if not (0 <= self.pure <= 1 and 0 <= self.plain < 1):
            raise ValueError("the parts of ε for pure and for plain charges lie between 0 and 1")
        if self.mode != "add" and not self.delta:
            raise ValueError(f"the mode {self.mode} needs a δ above 0: without one, fits add up")

    def capacities(self) -> Amounts:
        """What all fits together may take of each unit."""
        if self.mode == "add":
            return whole({"epsilon": self.epsilon, "delta": self.delta}, up=False)
        plain = {"epsilon": self.epsilon * self.plain, "delta": self.delta * self.plain}
        epsilon, delta = self.epsilon - plain["epsilon"], self.delta - plain["delta"]
        if self.mode == "zcdp":
            return whole({"rho": rho_beside(epsilon, delta), **plain}, up=False)
        lump = self.pure * epsilon
        mu2 = mu2_beside((lump,), epsilon, delta)
        return whole({"pure": lump, "mu2": mu2, **plain}, up=False)

    def cost(self, caps: Caps) -> Amounts:
        """What a fit with these caps takes of each unit."""
        if self.mode == "add":
            return whole({"epsilon": caps.epsilon, "delta": caps.delta}, up=True)
        plain = dict(zip(("epsilon", "delta"), caps.approximate, strict=True))
        if self.mode == "zcdp":
            rho = sum((part**2 for part in caps.parts), caps.mu2) / 2
            return whole({"rho": rho, **plain}, up=True)
        return whole({"pure": caps.pure, "mu2": caps.mu2, **plain}, up=True)

    def worth(self, taken: Amounts) -> tuple[Fraction, Fraction]:
        """What was taken so far as (ε, δ), ε rounded up: all fits together promise no less."""
        amount = {unit: fraction_of(unit, taken.get(unit, 0)) for unit in _PARTS}
        if self.mode == "add":
            return amount["epsilon"], amount["delta"]
        delta = self.delta * (1 - self.plain)
        if self.mode == "zcdp":
            epsilon = epsilon_of_rho(amount["rho"], delta)
        elif amount["mu2"]:
            epsilon = epsilon_beside((amount["pure"],), amount["mu2"], delta)
        else:
            epsilon, delta = amount["pure"], ZERO
        return epsilon + amount["epsilon"], delta + amount["delta"]

    def fits(self, caps: Caps) -> int:
        """How many fits with these caps the whole budget carries."""
        there, cost = self.capacities(), self.cost(caps)
        return min(there.get(unit, 0) // amount for unit, amount in cost.items())

    def to_dict(self) -> dict[str, str]:
        """The composition as plain values."""
        return {
            "mode": self.mode,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "pure": str(self.pure),
            "plain": str(self.plain),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> Composition:
        """Read back what `to_dict` wrote."""
        numbers = (Fraction(data[name]) for name in ("epsilon", "delta", "pure", "plain"))
        return cls(data["mode"], *numbers)  # type: ignore[arg-type]


def covers(left: Amounts, cost: Amounts) -> bool:
    """Whether there is enough of every unit."""
    return all(left.get(unit, 0) >= amount for unit, amount in cost.items())


def scaled(caps: Caps, factor: Fraction) -> Caps:
    """The same caps with every ε so many times as large."""
    (gaussian, delta), (plain, plain_delta) = caps.gaussian, caps.approximate
    return Caps(
        pure=caps.pure * factor,
        gaussian=(gaussian * factor, delta),
        approximate=(plain * factor, plain_delta),
        parts=tuple(part * factor for part in caps.parts),
    )


def largest_affordable(composition: Composition, caps: Caps, left: Amounts) -> Fraction:
    """The largest ε with which such a fit would be covered; but for `add`, in steps of 1/1000."""
    if composition.mode == "add":
        enough = covers(left, {"delta": composition.cost(caps).get("delta", 0)})
        return fraction_of("epsilon", left.get("epsilon", 0)) if enough else ZERO
    low, high = 0, 1000
    while high - low > 1:
        middle = (low + high) // 2
        enough = covers(left, composition.cost(scaled(caps, Fraction(middle, 1000))))
        low, high = (middle, high) if enough else (low, middle)
    return caps.epsilon * low / 1000

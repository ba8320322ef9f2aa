"""The numbers of Balcan et al.: the paper's, its Matlab code's, and the thesis's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfumato.methods.balcan.partition import together

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

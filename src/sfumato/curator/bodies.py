"""The bodies that joint noise fills, and one line of such noise in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.curator.settle import arithmetic, as_real

_FACTORS = 8


@dataclass(frozen=True)
class Body:
    """The unit ball or, with a height, the ball times an interval: the sums and the count.

    It also says which uniform numbers of a line are used for what. In order: `gammas` for the
    length; one for each pair of sums and one more for their squared lengths; one for the angle of
    each pair; and one for the count.
    """

    dim: int
    height: Fraction | None = None

    @property
    def counts(self) -> int:
        """Columns before the sums."""
        return 0 if self.height is None else 1

    @property
    def gammas(self) -> int:
        """Exponentials in the length: one more than the body has dimensions."""
        return self.dim + self.counts + 1

    @property
    def pairs(self) -> int:
        """Pairs of sums; the last of an odd dimension has a cosine only."""
        return (self.dim + 1) // 2

    @property
    def logged(self) -> int:
        """How many of the uniform numbers go through a logarithm."""
        return self.gammas + self.pairs + 1

    @property
    def size(self) -> int:
        """Uniform numbers for one line."""
        return self.logged + self.pairs + self.counts


def exact_line(
    body: Body, scale: Fraction, columns: Sequence[int], raws: list[int], bits: int
) -> list[int] | None:
    """Round some columns of a line whose uniform numbers are known to so many bits, or None."""
    edge = (bits - 120) // 2
    logged, least = raws[: body.logged], 1 << (bits - edge)
    if min(logged) < least or max(logged) >= (1 << bits) - least:
        return None
    line = _Line(body, raws, bits)
    gamma, whole = line.log(slice(0, body.gammas)), line.squares()
    rounded = []
    for column in columns:
        unit, share = line.coordinate(column, scale, whole)
        shifted = unit * gamma * share + line.context.mpf(0.5)
        floor = line.context.floor(shifted)
        tolerance = line.context.ldexp(unit * (gamma + body.gammas), edge + 60 - bits)
        if not tolerance < shifted - floor < 1 - tolerance:
            return None
        rounded.append(int(floor))
    return rounded


class _Line:
    """The uniform numbers of a line, each in the middle of what is known about it."""

    def __init__(self, body: Body, raws: list[int], bits: int) -> None:
        self.body, self.bits, self.context = body, bits + 1, arithmetic(bits)
        self.middles = [2 * raw + 1 for raw in raws]

    def log(self, places: slice) -> Any:  # noqa: ANN401
        """Return -ln of the product of the uniform numbers at these places."""
        # Some factors at a time in whole numbers: far faster than each as a real number.
        few = self.middles[places]
        groups = (math.prod(few[i : i + _FACTORS]) for i in range(0, len(few), _FACTORS))
        product = self.context.fprod(self.context.mpf(group) for group in groups)
        return -self.context.log(self.context.ldexp(product, -self.bits * len(few)))

    def at(self, place: int) -> Any:  # noqa: ANN401
        """Return the uniform number at this place."""
        return self.context.ldexp(self.context.mpf(self.middles[place]), -self.bits)

    def squares(self) -> Any:  # noqa: ANN401
        """Return half the squared length of the normal numbers, of which the sums are a part."""
        first, rest = self.body.gammas, self.body.logged - 1
        if self.body.dim % 2 == 0:
            return self.log(slice(first, rest + 1))
        last = self.log(slice(rest - 1, rest)) * self._turn(rest + self.body.pairs, sine=False) ** 2
        return self.log(slice(first, rest - 1)) + last + self.log(slice(rest, rest + 1))

    def coordinate(self, column: int, scale: Fraction, whole: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """Return the unit of a column and the coordinate of the point in the body."""
        if self.body.height is not None and column == 0:
            return as_real(self.context, self.body.height), 2 * self.at(self.body.size - 1) - 1
        pair, sine = divmod(column - self.body.counts, 2)
        place = self.body.gammas + pair
        length = self.context.sqrt(self.log(slice(place, place + 1)) / whole)
        turn = self._turn(self.body.logged + pair, sine=sine == 1)
        return as_real(self.context, scale), length * turn

    def _turn(self, place: int, *, sine: bool) -> Any:  # noqa: ANN401
        turn = self.context.sinpi if sine else self.context.cospi
        return turn(2 * self.at(place))

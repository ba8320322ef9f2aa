"""Error bars: how far released numbers lie from those of the same last step without its noise.

All of it is a function of released numbers and of noise that is public: it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from scipy import optimize, special

from sfumato._base.files import array_in
from sfumato._base.types import Floats, Ints

Law = Literal["gaussian", "laplace", "cube", "ball"]
"""Shapes of noise: "cube" and "ball" are one number of a joint noise on a sum of so many columns.

"cube" is also the count beside such sums.
"""

# A count fewer deviations above 0 than this says nothing about the mean of its rows.
KNOWN = 4.0

# Points of a distribution that are averaged over.
_POINTS = 4096


@lru_cache(maxsize=256)
def deviations(law: Law, columns: int, level: float) -> float:
    """How many deviations to either side hold noise of this law with probability `level`.

    Joint noise on `columns` sums and a count is a gamma length of shape columns + 2 times a point
    inside a cube or, for the sums of clipped steps, a ball: see docs/proofs/cylinder-noise.md.
    """
    if law == "gaussian":
        return float(special.ndtri((1 + level) / 2))
    if law == "laplace":
        return -math.log1p(-level) / math.sqrt(2)
    places = (np.arange(_POINTS) + 0.5) / _POINTS
    if law == "ball":
        places = np.sqrt(special.betaincinv(0.5, (columns + 1) / 2, places))
    std = math.sqrt((columns + 2) * (columns + 3) * float(np.mean(places**2)))

    def beyond(z: float) -> float:
        return level - float(special.gammainc(columns + 2, z * std / places).mean())

    return float(optimize.brentq(beyond, 0.0, 1e3))


@dataclass(frozen=True)
class Estimate:
    """Numbers before anything shrank or clipped them, and the deviation of the noise of each.

    `columns` are those of the sums that joint noise is on; others do not look at it.
    """

    values: Floats
    stds: Floats
    law: Law
    columns: int = 1

    def interval(self, level: float) -> Floats:
        """Lower and upper ends, of shape (…, 2): noise leaves them with probability 1 − level."""
        half = deviations(self.law, self.columns, level) * self.stds
        return np.stack([self.values - half, self.values + half], axis=-1)

    def take(self, chosen: Ints, parts: Ints | int = 1) -> Estimate:
        """Some of the numbers, in this order, each divided by `parts`."""
        divisor = np.broadcast_to(np.asarray(parts, dtype=np.float64), len(chosen))
        shaped = divisor.reshape(-1, *(1,) * (self.values.ndim - 1))
        values, stds = self.values[chosen] / shaped, self.stds[chosen] / shaped
        return replace(self, values=values, stds=stds)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values."""
        found = {"values": self.values.tolist(), "stds": self.stds.tolist()}
        return {**found, "law": self.law, "columns": self.columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *shape: int) -> Estimate:
        """Read back what `to_dict` wrote, of this shape."""
        if data["law"] not in get_args(Law):
            raise TypeError(f"the law of noise {data['law']!r} is not known")
        values, stds = (array_in(data[name], *shape) for name in ("values", "stds"))
        return cls(values, stds, data["law"], int(data["columns"]))


@dataclass(frozen=True)
class Errors:
    """Error bars of a release: centres (k, d) in lattice steps, sizes (k,) in rows.

    None where a method cannot say, as of centres that were chosen by the exponential mechanism.
    """

    centers: Estimate | None
    sizes: Estimate | None

    def take(self, chosen: Ints, parts: Ints) -> Errors:
        """Those of some centres, in this order, whose sizes are divided by `parts`."""
        centers = None if self.centers is None else self.centers.take(chosen)
        return Errors(centers, None if self.sizes is None else self.sizes.take(chosen, parts))

    def times(self, unit: float) -> Errors:
        """The same with sizes in another unit."""
        if unit == 1 or self.sizes is None:
            return self
        sizes = replace(self.sizes, values=self.sizes.values * unit, stds=self.sizes.stds * unit)
        return replace(self, sizes=sizes)

    def to_dict(self) -> dict[str, Any]:
        """The error bars as plain values."""
        parts = {"centers": self.centers, "sizes": self.sizes}
        return {name: None if one is None else one.to_dict() for name, one in parts.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], k: int, d: int) -> Errors:
        """Read back what `to_dict` wrote."""
        centers, sizes = data["centers"], data["sizes"]
        return cls(
            None if centers is None else Estimate.from_dict(centers, k, d),
            None if sizes is None else Estimate.from_dict(sizes, k),
        )


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts (k,) and the deviation of their noise."""

    values: Floats
    std: float

    @property
    def known(self) -> Floats:
        """Which counts stand out from their noise: 1.0 or 0.0, (k, 1)."""
        clear = self.values > max(KNOWN * self.std, 0.0)
        return clear.astype(np.float64)[:, None]


def of_ratio(
    sums: Floats,
    stds: Floats | float,
    counts: NoisyCounts,
    *,
    start: Floats,
    widest: Floats | float,
) -> tuple[Floats, Floats]:
    """Noisy means start + sums / counts, (k, d), and their deviations: the delta method.

    stds: (k, 1) or one for all, of the sums. The noise of sum − mean·count is that of both, and is
    divided by the count. Where the count says nothing, the value is the start and the deviation
    `widest`, (k, 1) or one for all, as far as a mean can be from there.
    """
    known = counts.known > 0
    held = np.where(known, counts.values[:, None], 1.0)
    means = sums / held
    errors = np.hypot(np.broadcast_to(stds, means.shape), means * counts.std) / held
    values = np.where(known, start + means, np.broadcast_to(start, means.shape))
    return values, np.where(known, np.minimum(errors, widest), widest)


def joined_errors(errors: Errors, own: Ints, k: int) -> Errors | None:
    """Error bars of clusters of clusters: sizes add up, and centres (m, d) have weighted means.

    own: (m,), indices below k. None where those of the parts are not known.
    """
    centers, sizes = errors.centers, errors.sizes
    if centers is None or sizes is None:
        return None

    def summed(table: Floats) -> Floats:
        return np.stack([np.bincount(own, column, k) for column in table.T], axis=1)

    weights = np.maximum(sizes.values, 1.0)[:, None]
    wholes = summed(weights)
    means = summed(weights * centers.values) / wholes
    # The delta method: a part moves its cluster by its own noise, and by that of its size.
    moved = np.square(weights * centers.stds)
    moved += np.square((centers.values - means[own]) * sizes.stds[:, None])
    counts = summed(np.stack([sizes.values, np.square(sizes.stds)], axis=1))
    totals = Estimate(counts[:, 0], np.sqrt(counts[:, 1]), "gaussian")
    return Errors(Estimate(means, np.sqrt(summed(moved)) / wholes, "gaussian"), totals)

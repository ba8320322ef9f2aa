"""The state of a stream: running centres and sizes, and an alarm, all from released numbers.

Nothing here reads rows. Centres and sums are in lattice steps, counts in rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfumato._base.files import array_in
from sfumato._base.types import Floats
from sfumato._base.validation import check_positive, check_whole
from sfumato._lattice.box import REACH
from sfumato._uncertainty import Errors, Estimate
from sfumato.methods._batch import BatchFound, Measured, Reference

FALSE_ALARM = 1e-3
"""The probability at most that a batch like those before it raises the alarm."""

# How far a mean must stand out from the noise of its count to be compared.
_CLEAR = 6.0

# A radius that leaves 3 % of round clusters outside, squared, over the variance of a column: d + 5.
_BEYOND_COLUMNS = 5


class Shares(NamedTuple):
    """What running centres keep of those before, (k,), and how a sum moves them, (k,)."""

    kept: Floats
    per_sum: Floats


@dataclass(frozen=True)
class Drift:
    """How unlike the batches before it a batch is.

    `p_value` bounds the probability that a batch like those before it looks as unlike them as this
    one; `clusters` are those that stand out, by their index. All of it is post-processing.
    """

    p_value: float
    clusters: tuple[int, ...]

    @property
    def alarm(self) -> bool:
        """Whether the batch is unlike those before it."""
        return self.p_value < FALSE_ALARM

    def __str__(self) -> str:
        if not self.alarm:
            return f"no drift: this batch is like those before it (p = {self.p_value:.2g})"
        which = ", ".join(map(str, self.clusters))
        plural = "s" if len(self.clusters) > 1 else ""
        return (
            f"drift: cluster{plural} {which} changed against the batches before "
            f"(p < {max(self.p_value, 1e-99):.1g}, an alarm is false in 1 of "
            f"{1 / FALSE_ALARM:,.0f} batches)"
        )


@dataclass(frozen=True)
class Stream:
    """What a model remembers of its batches: released numbers alone.

    `epsilon` and `delta` are those of each batch. `rows` are the noisy numbers of rows of all
    batches, in order. `precisions` (k,) are inverse variances of the running centres by noise and
    sampling. `drift` compares the last batch with those before it; the first batch to be compared
    is the third.
    """

    epsilon: float
    delta: float
    rows: tuple[float, ...]
    precisions: Floats | None = None
    reference: Reference | None = None
    drift: Drift | None = None

    @property
    def n_batches(self) -> int:
        """How many batches there were."""
        return len(self.rows)

    def followed(
        self, centers: Floats, sizes: Floats, found: BatchFound, kept: float
    ) -> tuple[Stream, Floats, Floats, Shares]:
        """The stream with one more batch, its centres (k, d), its sizes (k,), and their shares.

        `kept` is the weight that earlier batches keep.
        """
        new, start = found.moved, np.rint(centers)
        # The same for all batches: rows of a cluster that moves are no less alike.
        width = (self.reference.radius if self.reference else found.radius) or 0
        per_row = width**2 / (centers.shape[1] + _BEYOND_COLUMNS)
        before = self.precisions
        if before is None:
            # The first batch counts as one that was measured as this one.
            before = _precisions(sizes, per_row, new.sum_var)
        gained = _precisions(new.counts, per_row, new.sum_var)
        total = kept * before + gained
        rows = np.maximum(new.counts, 0)
        weights = rows / (per_row * rows + new.sum_var) / np.where(total > 0, total, 1.0)
        moved = np.clip(start + new.sums * weights[:, None], -REACH, REACH)
        reference, drift = self._compared(start, found, kept)
        seen = (*self.rows, float(new.counts.sum()))
        stream = replace(self, rows=seen, precisions=total, reference=reference, drift=drift)
        carried = np.where(total > 0, kept * before / np.where(total > 0, total, 1.0), 1.0)
        return stream, moved, kept * sizes + new.counts, Shares(carried, weights)

    def _compared(
        self, start: Floats, found: BatchFound, kept: float
    ) -> tuple[Reference | None, Drift | None]:
        """The reference with this batch, and how unlike the ones before the batch is."""
        known, new = self.reference, found.compared
        if known is not None and new is not None:
            drift = drift_of(new, known.totals, known.radius, found.rows_per_neighbour)
            return replace(known, totals=known.totals.plus(new, kept)), drift
        if known is None and found.radius is not None:
            return Reference(start, found.radius, found.moved), None
        return known, None

    def to_dict(self) -> dict[str, Any]:
        """The stream as plain values."""
        known, drift = self.reference, self.drift
        return {
            "batches": self.n_batches,
            "epsilon_of_a_batch": self.epsilon,
            "delta_of_a_batch": self.delta,
            "rows": list(self.rows),
            "precisions": None if self.precisions is None else self.precisions.tolist(),
            "reference": None
            if known is None
            else {
                "centers": known.centers.tolist(),
                "radius": known.radius,
                "counts": known.totals.counts.tolist(),
                "sums": known.totals.sums.tolist(),
                "count_variance": known.totals.count_var,
                "sum_variance": known.totals.sum_var,
            },
            "drift": None
            if drift is None
            else {"p_value": drift.p_value, "alarm": drift.alarm, "clusters": [*drift.clusters]},
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], k: int, d: int) -> Stream:
        """Read back what `to_dict` wrote, for k centres in d coordinates."""
        drift = data["drift"]
        return cls(
            float(data["epsilon_of_a_batch"]),
            float(data["delta_of_a_batch"]),
            tuple(array_in(data["rows"], check_whole(data["batches"], "batches")).tolist()),
            None if data["precisions"] is None else array_in(data["precisions"], k),
            None if data["reference"] is None else _reference(data["reference"], k, d),
            None if drift is None else Drift(float(drift["p_value"]), tuple(drift["clusters"])),
        )


def running_errors(
    earlier: Errors | None,
    shares: Shares,
    new: Measured,
    points: Floats,
    sizes: Floats,
    kept: float,
) -> Errors | None:
    """Error bars of running centres (k, d) and sizes (k,): those before, and the batch's noise.

    Noise of many batches adds up to nearly normal noise. None where those before are not known.
    """
    if earlier is None or earlier.centers is None or earlier.sizes is None:
        return None
    # Sums of infinite noise were not asked for: they move nothing.
    sum_var = new.sum_var if math.isfinite(new.sum_var) else 0.0
    noise = np.square(shares.per_sum) * sum_var
    before = np.square(shares.kept[:, None] * earlier.centers.stds)
    stds = np.sqrt(before + noise[:, None])
    of_sizes = np.sqrt(np.square(kept * earlier.sizes.stds) + new.count_var)
    return Errors(Estimate(points, stds, "gaussian"), Estimate(sizes, of_sizes, "gaussian"))


def _reference(data: dict[str, Any], k: int, d: int) -> Reference:
    variances = (float(array_in([data[name]], 1)[0]) for name in ("count_variance", "sum_variance"))
    totals = Measured(array_in(data["counts"], k), array_in(data["sums"], k, d), *variances)
    centers = array_in(data["centers"], k, d)
    return Reference(centers, check_whole(data["radius"], "radius"), totals)


def _precisions(counts: Floats, per_row: float, sum_var: float) -> Floats:
    """1 / (per_row / n + sum_var / n²): inverse variances of means of n rows, 0 where none are."""
    rows = np.maximum(counts, 0)
    found: Floats = rows**2 / (per_row * rows + sum_var)
    return found


def drift_of(new: Measured, old: Measured, radius: int, together: int = 1) -> Drift:
    """Compare shares and means of the same cells, in deviations of noise and of sampling.

    At most `together` rows belong together: sampling errs as if there were as many times fewer.
    """
    far = np.maximum(_shares_apart(new, old, together), _means_apart(new, old, radius, together))
    # Noise has tails no heavier than Laplace's: P(|x| > z deviations) ≤ exp(−√2·z).
    each = np.minimum(1, 2 * len(far) * np.exp(-math.sqrt(2) * far))
    stands_out = np.flatnonzero(each < FALSE_ALARM)
    return Drift(float(each.min()), tuple(int(i) for i in stands_out))


def _shares_apart(new: Measured, old: Measured, together: int) -> Floats:
    """How far the counts (k,) are from the shares so far, in deviations."""
    a, b = new.counts, old.counts
    n, m = max(float(a.sum()), 1.0), max(float(b.sum()), 1.0)
    ratio, share = n / m, np.clip((a + b) / (n + m), 0, 1)
    # The noise of a count less its share of the noise of all counts.
    noise = (new.count_var + ratio**2 * old.count_var) * (1 - 2 * share + len(a) * share**2)
    sampling = together * n * share * (1 - share) * (1 + ratio)
    apart: Floats = np.abs(a - ratio * b) / np.sqrt(noise + sampling + 1)
    return apart


def _means_apart(new: Measured, old: Measured, radius: int, together: int) -> Floats:
    """How far the means (k, d) are from those so far, in deviations; 0 where noise hides them."""
    d, gap = new.sums.shape[1], np.zeros(new.sums.shape)
    clear, variance = np.ones(len(gap), dtype=bool), np.ones(len(gap))
    for one, sign in ((new, 1), (old, -1)):
        held = one.counts > max(_CLEAR * math.sqrt(one.count_var), 1.0)
        rows, clear = np.where(held, one.counts, 1.0), clear & held
        mean = one.sums / rows[:, None]
        gap = gap + sign * mean
        # Clipped differences are at most a radius long.
        length = d * one.sum_var + np.square(mean).sum(axis=1) * one.count_var
        variance = variance + length / rows**2 + together * radius**2 / rows
    apart: Floats = np.where(clear, np.sqrt(np.square(gap).sum(axis=1) / variance), 0.0)
    return apart


def weight_kept(half_life: float | None) -> float:
    """The weight that batches keep when one more comes: half of it after `half_life` batches."""
    if half_life is None:
        return 1.0
    return float(2.0 ** (-1 / float(check_positive(half_life, "half_life"))))

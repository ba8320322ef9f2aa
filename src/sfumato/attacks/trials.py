"""What an attack on membership achieved: counts, rates, and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


def clopper_pearson(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact interval of a rate that was seen `hits` times in `trials`."""
    left = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(stats.beta.ppf(left, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(stats.beta.ppf(1 - left, hits + 1, trials - hits))
    return low, high


@dataclass(frozen=True)
class Membership:
    """Guesses about members and others: of every attacked model, how many were called members.

    `hits[t]` of `members[t]` members and `alarms[t]` of `others[t]` others of model t.
    """

    hits: tuple[int, ...]
    members: tuple[int, ...]
    alarms: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def tpr(self) -> float:
        """Share of members that were called members."""
        return sum(self.hits) / sum(self.members)

    @property
    def fpr(self) -> float:
        """Share of others that were called members."""
        return sum(self.alarms) / sum(self.others)

    @property
    def advantage(self) -> float:
        """The adversary's advantage TPR − FPR (Yeom et al. 2018): 0 is guessing, 1 is certainty."""
        return self.tpr - self.fpr

    @property
    def by_model(self) -> tuple[float, ...]:
        """The advantage over each attacked model; its spread is the thesis's error bar."""
        counts = zip(self.hits, self.members, self.alarms, self.others, strict=True)
        return tuple(hit / inside - alarm / out for hit, inside, alarm, out in counts)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return an interval of the advantage: an exact one for each rate, at half the risk.

        Guesses are taken as independent, which those about the rows of one model nearly are.
        """
        each = (1 + confidence) / 2
        low, high = clopper_pearson(sum(self.hits), sum(self.members), each)
        least, most = clopper_pearson(sum(self.alarms), sum(self.others), each)
        return low - most, high - least


def membership_of(guesses: Sequence[tuple[object, object]]) -> Membership:
    """Count guesses: for every model those about its members, and those about others."""
    inside, outside = zip(*((np.asarray(a), np.asarray(b)) for a, b in guesses), strict=True)
    return Membership(
        hits=tuple(int(g.sum()) for g in inside),
        members=tuple(len(g) for g in inside),
        alarms=tuple(int(g.sum()) for g in outside),
        others=tuple(len(g) for g in outside),
    )

"""What an audit found: a lower bound of ε, how sure it is, and the event that shows it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from sfumato._base.types import Floats


def log_ratio(
    hits: Any,  # noqa: ANN401
    others: Any,  # noqa: ANN401
    trials: int,
    *,
    alpha: float,
    delta: float = 0.0,
) -> Floats:
    """Return log((p − δ) / q), of the least p and the most q that both counts allow; also below 0.

    p has its one-sided Clopper–Pearson limit at `alpha` / 2, from `hits` in `trials`; q has the
    other limit, from `others` in as many. Counts may be arrays of one shape.
    """
    hits, others = np.asarray(hits, dtype=np.float64), np.asarray(others, dtype=np.float64)
    least = np.where(hits > 0, stats.beta.ppf(alpha / 2, np.maximum(hits, 1), trials - hits + 1), 0)
    most = np.where(
        others < trials,
        stats.beta.ppf(1 - alpha / 2, others + 1, np.maximum(trials - others, 1)),
        1.0,
    )
    with np.errstate(divide="ignore"):
        ratio: Floats = np.log(np.maximum(least - delta, 0)) - np.log(most)
    return ratio


def epsilon_lower(
    hits: int, others: int, trials: int, *, alpha: float, delta: float = 0.0
) -> float:
    """Return a lower bound of ε that is wrong with probability at most `alpha`.

    An event was seen `hits` times in `trials` fits in one world, and `others` times in as many fits
    in the other. Each rate has its one-sided Clopper–Pearson limit at `alpha` / 2.
    """
    if not trials:
        return 0.0
    return max(0.0, float(log_ratio(hits, others, trials, alpha=alpha, delta=delta)))


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of an audit. `str(verdict)` says it in sentences.

    `epsilon_lower` is a lower bound of the true ε (at the claimed δ), wrong with probability at
    most 1 − `confidence`, over all pairs and events that were tried. `trials` is the number of fits
    in both worlds. `seen` holds (fits so far, bound so far): what the figure shows. `by_pair` has
    the bound of every pair, `skipped` why a pair was not played.
    """

    epsilon: float
    delta: float
    epsilon_lower: float
    confidence: float
    trials: int
    seconds: float
    pair: str
    event: str
    seen: tuple[tuple[int, float], ...] = ()
    by_pair: dict[str, float] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether the claimed (ε, δ) is refuted."""
        return self.epsilon_lower > self.epsilon

    @property
    def claim(self) -> str:
        """What was claimed."""
        return f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; a bound that is not finite becomes None."""
        found = {**asdict(self), "broken": self.broken, "sentence": str(self)}
        found["seen"] = [list(each) for each in self.seen]
        if not math.isfinite(self.epsilon_lower):
            found["epsilon_lower"] = None
        return found

    def __repr__(self) -> str:
        word = "broken" if self.broken else "passed"
        return (
            f"Verdict({word}, epsilon={self.epsilon:g}, epsilon_lower={self.epsilon_lower:.3g}, "
            f"trials={self.trials}, pair={self.pair!r})"
        )

    def __str__(self) -> str:
        risk = f"{1 - self.confidence:.2g}"
        fits = f"{self.trials:,} fit{'s' if self.trials != 1 else ''} in {self.seconds:.0f} s"
        if self.broken:
            text = (
                f"The claim {self.claim} is refuted: ε is at least {self.epsilon_lower:.3g}. Shown "
                f"by the pair {self.pair!r} and this event: {self.event}. {fits}; an audit of an "
                f"estimator that keeps its promise says so with probability at most {risk}."
            )
        else:
            shown = (
                f"All that the audit shows is that ε is at least {self.epsilon_lower:.3g}"
                if self.epsilon_lower > 0
                else "The audit told no two worlds apart"
            )
            where = (
                f", by the pair {self.pair!r} and this event: {self.event}"
                if self.epsilon_lower > 0
                else ""
            )
            text = (
                f"The claim {self.claim} is not refuted. {shown}{where} (wrong with probability "
                f"at most {risk}; {fits}). A passed audit is no proof."
            )
        return text + "".join(f" Not played: {name} ({why})." for name, why in self.skipped.items())

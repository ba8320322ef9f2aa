"""For tests: noise that can be replayed, curators that keep a transcript, losses of its answers.

A transcript holds exact numbers. It is for made-up rows only and is never released.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import isqrt
from typing import Any, Self, get_args

import mpmath
import numpy as np

from sfumato._accounting.budget import Ledger, Share
from sfumato._base import extra
from sfumato._base.types import Floats, Ints
from sfumato._core.curator import Curator
from sfumato._core.mechanisms import (
    Ball,
    Cube,
    Cylinder,
    Gaussian,
    Laplace,
    Mechanism,
    PerCellNoise,
)
from sfumato._core.private_data import PrivateData
from sfumato._core.releases.choose import Selection
from sfumato._core.releases.first_below import AboveThreshold, SearchPerCell
from sfumato._core.releases.max_cover import Covering
from sfumato._core.releases.privtree import PrivTreeSplits
from sfumato._core.sampling.choice import Scores, Selector, selection_rate
from sfumato._core.sampling.source import Noise
from sfumato._core.sampling.stream import Stream
from sfumato._lattice.box import Box
from sfumato._lattice.kernels import dispatch
from sfumato.engines._rows import Rows


@contextmanager
def use_loops(backend: dispatch.Backend) -> Iterator[None]:
    """Force NumPy's loops, or the compiled ones, inside a `with` block, in all threads."""
    known = get_args(dispatch.Backend)
    if backend not in known:
        raise ValueError(f"backend must be one of {known}, got {backend!r}")
    if backend == "numba" and dispatch.compiled_loops() is None:
        raise ImportError(f"numba is missing: {extra('fast')}")
    before, dispatch.backend = dispatch.backend, backend
    try:
        yield
    finally:
        dispatch.backend = before


class ReplayedNoise(Noise):
    """Noise for tests: the same key gives the same draws in the same order of calls.

    Guarantee: none. Whoever knows the key can take the noise off again.
    """

    replayable = True

    def __init__(self, key: bytes | int) -> None:
        self._key = key.to_bytes(32, "big") if isinstance(key, int) else key
        self._calls = count()

    def stream(self) -> Stream:
        """Return the random bits of the next call."""
        number = next(self._calls).to_bytes(8, "big")
        return Stream(hashlib.sha256(self._key + number).digest())


@dataclass
class Transcript:
    """Everything a curator was asked and answered, one step for each charge.

    `replay` is the transcript whose answers are released again, if there is one.
    """

    queries: list[Any] = field(default_factory=list)
    mechanisms: list[Any] = field(default_factory=list)
    exact: list[Any] = field(default_factory=list)
    released: list[Any] = field(default_factory=list)
    replay: Transcript | None = field(default=None, repr=False, compare=False)


class RecordedData(PrivateData):
    """Keeps a transcript; given one, it releases the same again whatever its own rows say.

    Guarantee: none. The transcript holds exact numbers.
    """

    def __init__(self, rows: Rows, box: Box, ledger: Ledger, noise: Noise) -> None:
        super().__init__(rows, box, ledger, noise)
        # Views share it.
        self.transcript = Transcript()

    def admit(self, query: Any, kinds: Sequence[type], *shares: Share) -> Any:  # noqa: ANN401
        """As `PrivateData.admit`, and write the query down."""
        admitted = super().admit(query, kinds, *shares)
        self.transcript.queries.append(query)
        return admitted

    def draw(self, mechanism: Any, exact: Any) -> Any:  # noqa: ANN401
        """As `PrivateData.draw`, and write down what is released, or release what is written."""
        again = self.transcript.replay is not None
        released = None if again else super().draw(mechanism, exact)
        if isinstance(mechanism, Covering | PrivTreeSplits):
            released = self._one_of_many(mechanism, released)
            if isinstance(mechanism, Covering):
                # Of a grid its size and its scores are kept, for the point that is released.
                exact = (exact.score(released), exact.classes(), exact.net.size)
            self.transcript.exact[-1].append(exact)
            return released
        if isinstance(mechanism, Selection):
            mechanism = (mechanism.share, mechanism.scale, mechanism.law)
        return self._remember(mechanism, np.array(exact), released)

    def perturb(self, mechanism: Mechanism, exact: Ints) -> Ints:
        """As `PrivateData.perturb`, and write down what is released, or release what is written."""
        again = self.transcript.replay is not None
        noisy = None if again else super().perturb(mechanism, exact)
        released: Ints = self._remember(mechanism, exact, noisy)
        return released

    def _one_of_many(self, mechanism: object, released: Any) -> Any:  # noqa: ANN401
        """All picks of a cover, or all levels of a tree, are one step of many answers."""
        mine = self.transcript
        if not mine.mechanisms or mine.mechanisms[-1] is not mechanism:
            mine.mechanisms.append(mechanism)
            mine.exact.append([])
            mine.released.append([])
        if mine.replay is not None:
            released = mine.replay.released[len(mine.released) - 1][len(mine.released[-1])]
        mine.released[-1].append(released)
        return released

    def _remember(self, mechanism: object, exact: Any, released: Any) -> Any:  # noqa: ANN401
        mine = self.transcript
        if mine.replay is not None:
            released = mine.replay.released[len(mine.released)]
        mine.mechanisms.append(mechanism)
        mine.exact.append(exact)
        mine.released.append(released)
        return released


class Recording:
    """What curators that keep a transcript share."""

    _data_type: type[PrivateData] = RecordedData
    _data: Any

    @property
    def transcript(self) -> Transcript:
        """What was asked and answered so far, in all views together."""
        found: Transcript = self._data.transcript
        return found

    @transcript.setter
    def transcript(self, transcript: Transcript) -> None:
        self._data.transcript = transcript

    @property
    def replay(self) -> Transcript | None:
        """What is released again, if anything."""
        return self.transcript.replay

    @replay.setter
    def replay(self, transcript: Transcript | None) -> None:
        self.transcript.replay = transcript


class RecordingCurator(Recording, Curator):
    """A curator that keeps a transcript, for tests.

    Guarantee: none. The transcript holds exact numbers.
    """

    def over(self, names: Iterable[str]) -> Self:
        """Open other columns of the schema; the transcript goes on."""
        found = super().over(names)
        found.transcript = self.transcript
        return found


def first_difference(ours: Transcript, theirs: Transcript, *, so_far: bool = False) -> str:
    """In words, the first query or noise that differs; `so_far` where the second run ended early.

    Empty if none does.
    """
    for what, these, those in (
        ("query", ours.queries, theirs.queries),
        ("noise", ours.mechanisms, theirs.mechanisms),
    ):
        for number, (a, b) in enumerate(zip(these, those, strict=False), 1):
            if a != b:
                return f"{what} {number} differs: {_short(a)} became {_short(b)}"
        if len(those) != len(these) and not (so_far and len(those) < len(these)):
            return f"it asks {len(those)} times in place of {len(these)}"
    return ""


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:117]}…"


def steps_of(ours: Transcript, theirs: Transcript) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Mechanism, released answer and both exact answers of every step, as `loss` takes them."""
    return zip(ours.mechanisms, ours.released, ours.exact, theirs.exact, strict=True)


def loss(law: Any, released: Any, one: Any, other: Any) -> Fraction:  # noqa: ANN401
    """Privacy loss of one answer in its own currency: ε, or μ² for Gaussian noise.

    Exact for noise, but for roots, which are cut after twelve digits; for selections and searches,
    whose probabilities are not rational, to eleven and to nine digits.
    """
    if isinstance(law, tuple):
        return selection_loss(law, released, one, other)
    if type(law) in CHOSEN:
        lost: Fraction = CHOSEN[type(law)](law, released, one, other)
        return lost
    moved = [[abs(int(x)) for x in line] for line in np.atleast_2d(one - other)]
    return sum((_line_loss(law, j, line) for j, line in enumerate(moved)), Fraction(0))


def _line_loss(law: Any, number: int, line: list[int]) -> Fraction:  # noqa: ANN401
    """What one line of an answer loses."""
    if isinstance(law, Cube):
        return max(line) / law.scale
    if isinstance(law, Ball):
        return _length(line) / law.scale
    if isinstance(law, Cylinder):
        return max(line[0] / law.height, _length(line[1:]) / law.scales[number])
    name = law.law if isinstance(law, PerCellNoise) else type(law).__name__.lower()
    scale = law.scales[number] if isinstance(law, PerCellNoise) else law.scale
    if name == Laplace.__name__.lower():
        return Fraction(sum(line)) / scale
    if name == Gaussian.__name__.lower():
        return Fraction(sum(x * x for x in line)) / scale**2
    raise TypeError(f"the loss of {law!r} is not known")


def _length(line: list[int]) -> Fraction:
    """L2 norm, exact if it is whole and never too long."""
    return Fraction(isqrt(sum(x * x for x in line) * 10**24), 10**12)


def selection_loss(law: Any, released: int, one: Ints, other: Ints) -> Fraction:  # noqa: ANN401
    """How much more likely one dataset makes the released choice than the other, in logarithms."""
    if np.array_equal(one, other):
        return Fraction(0)
    lost = abs(selection_ratio(law, released, one, other))
    if law[2] == "permute_and_flip":
        return max(Fraction(lost) - Fraction(1, 10**11), Fraction(0))
    return Fraction(lost * (1 - 1e-12))


def selection_ratio(law: Any, released: int, one: Ints, other: Ints) -> float:  # noqa: ANN401
    """Logarithm of how much more likely the first dataset makes the released choice."""
    _, scale, name = law
    if name == "permute_and_flip":
        here, there = (flip_chance(scores, released, scale) for scores in (one, other))
    else:
        here, there = (
            log_probabilities(scores, epsilon=1 / scale, sensitivity=1, monotone=True)[released]
            for scores in (one, other)
        )
    return float(here - there)


def log_probabilities(
    scores: Scores,
    *,
    epsilon: Fraction,
    sensitivity: int,
    monotone: bool,
    law: Selector = "exponential",
) -> Floats:
    """The logarithm of each candidate's probability under the law of a selection."""
    rate = selection_rate(epsilon, sensitivity, monotone)
    if law == "permute_and_flip":
        whole = [int(score) for score in scores]
        return np.array([flip_chance(whole, i, 1 / rate) for i in range(len(whole))])
    # Thousands of candidates often have few scores.
    values, where, many = np.unique(np.asarray(scores), return_inverse=True, return_counts=True)
    # Beyond 4096 a weight is 0 in float64.
    above, below, best = rate.numerator, rate.denominator, int(values[-1])
    exponents = np.array([min(above * (best - int(s)), 4096 * below) / below for s in values])
    return np.asarray(-exponents[where] - math.log(math.fsum(many * np.exp(-exponents))))


def flip_chance(scores: Scores, chosen: int, scale: Fraction) -> float:
    """Logarithm of the chance that permute-and-flip takes one candidate, of up to 10,000.

    A candidate is taken if its Bernoulli number is 1 and it is drawn among all such, which is
    ∫ Π(1 − c_j + c_j·t) dt from 0 to 1 over the chances c_j of the others: their product is a
    polynomial in t, whose terms are all positive, so that nothing cancels.
    """
    whole = [int(score) for score in scores]
    best = max(whole)
    gaps = [float((best - score) / scale) for score in whole]
    others = np.exp(-np.delete(gaps, chosen))
    terms = np.ones(1)
    # Coins that all but never come up change no digit of the sum.
    for chance in others[others > 1e-30]:
        terms = np.convolve(terms, [1 - chance, chance])
    return float(np.log(np.sum(terms / np.arange(1, len(terms) + 1))) - gaps[chosen])


_BITS = 50
_COVER = 40
_REST = 90
"""Noise of a threshold is summed until what is left out weighs less than e^-_REST."""


@lru_cache(maxsize=2**16)
def log_split(scale: Fraction, biased: int, split: bool) -> Any:  # noqa: ANN401
    """Logarithm of the chance that a node with this biased count splits, or that it does not.

    The discrete Laplace law in closed form: P(noise ≥ t) = q^t / (1 + q) for t ≥ 1, where
    q = e^(−1/scale), and P(noise ≤ −t) is the same. A node splits if its noise is at least
    1 − biased, and does not if its noise is at most −biased.
    """
    with mpmath.workdps(_BITS):
        q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        t = 1 - biased if split else biased
        return mpmath.log(q**t / (1 + q) if t >= 1 else 1 - q ** (1 - t) / (1 + q))


def bits_loss(law: PrivTreeSplits, released: Any, one: Any, other: Any) -> Fraction:  # noqa: ANN401
    """How much more likely one dataset makes all these bits than the other, to forty digits."""
    return Fraction(mpmath.nstr(abs(bits_ratio(law, released, one, other)), _BITS))


def bits_ratio(law: PrivTreeSplits, released: Any, one: Any, other: Any) -> Any:  # noqa: ANN401
    """Logarithm of how much more likely the first dataset makes all these bits."""
    with mpmath.workdps(_BITS):
        total = mpmath.mpf(0)
        for bits, *counts in zip(released, one, other, strict=True):
            for bit, a, b in zip(bits, *counts, strict=True):
                if a != b:
                    here, there = (log_split(law.scale, int(x), bool(bit)) for x in (a, b))
                    total += here - there
        return total


def log_picks(rate: Fraction, picks: Any) -> Any:  # noqa: ANN401
    """Logarithm of the chance of a whole sequence of picks: (score, classes, size) of each."""
    with mpmath.workdps(_COVER):
        tilt = mpmath.mpf(rate.numerator) / rate.denominator
        total = mpmath.mpf(0)
        for score, classes, size in picks:
            pairs = zip(*classes, strict=True)
            raised = mpmath.fsum(int(m) * mpmath.expm1(tilt * int(s)) for s, m in pairs)
            total += tilt * score - mpmath.log(size + raised)
        return total


def cover_loss(law: Covering, _points: Any, one: Any, other: Any) -> Fraction:  # noqa: ANN401
    """How much more likely one dataset makes all these picks than the other, to thirty digits.

    With a row more the picks are at most e^η times as likely, always. With a row less they can be
    more than e^ε times as likely, but only where chances to cover that row added up to more than
    ln(1/δ) and all were missed: such runs have probability δ, and the share pays for them with its
    δ. The laws find none in what they replay; if one turned up here it would be reported.
    """
    with mpmath.workdps(_COVER):
        lost = abs(cover_ratio(law, _points, one, other))
        return Fraction(mpmath.nstr(max(lost - mpmath.mpf(10) ** -30, 0), _COVER))


def cover_ratio(law: Covering, _points: Any, one: Any, other: Any) -> Any:  # noqa: ANN401
    """Logarithm of how much more likely the first dataset makes all these picks."""
    with mpmath.workdps(_COVER):
        return log_picks(law.rate, one) - log_picks(law.rate, other)


def log_crossing(scale: Fraction, threshold: int, counts: Any, released: int) -> float:  # noqa: ANN401
    """The logarithm of the chance of one first index, in float64, for counts of any size."""
    gaps = threshold - np.asarray(counts, dtype=np.int64)[: released + 1]
    window = int(np.abs(gaps).max(initial=0)) + int(scale * (_REST + len(gaps))) + 1
    z, s = np.arange(-window, window + 1), float(scale)
    terms = np.log(np.tanh(0.5 / s)) - np.abs(z) / s
    for gap in gaps[:released]:
        terms += _log_below(-gap - z - 1, s)
    for gap in gaps[released:]:
        terms += _log_below(gap + z, s)
    return float(np.logaddexp.reduce(terms))


def _log_below(a: Ints, scale: float) -> Floats:
    norm = np.log1p(np.exp(-1 / scale))
    upper = np.log1p(-np.exp(-(np.maximum(a, 0) + 1) / scale - norm))
    below: Floats = np.where(a < 0, np.minimum(a, 0) / scale - norm, upper)
    return below


def crossing_loss(law: AboveThreshold, released: int, one: Any, other: Any) -> Fraction:  # noqa: ANN401
    """How much more likely one dataset makes the released index than the other, to nine digits."""
    return Fraction(max(0.0, abs(crossing_ratio(law, released, one, other)) - 1e-9))


def crossing_ratio(law: AboveThreshold, released: int, one: Any, other: Any) -> float:  # noqa: ANN401
    """Logarithm of how much more likely the first dataset makes the released index."""
    here, there = (
        log_crossing(law.scale, law.threshold, counts, released) for counts in (one, other)
    )
    return here - there


def crossings_loss(law: SearchPerCell, released: Any, one: Any, other: Any) -> Fraction:  # noqa: ANN401
    """How much more likely one dataset makes the indices of all cells, to nine digits each."""
    lost = abs(crossings_ratio(law, released, one, other))
    return Fraction(max(0.0, lost - 1e-9 * len(law.searches)))


def crossings_ratio(law: SearchPerCell, released: Any, one: Any, other: Any) -> float:  # noqa: ANN401
    """Logarithm of how much more likely the first dataset makes the indices of all cells."""
    cells = zip(law.searches, released, one, other, strict=True)
    return sum(crossing_ratio(search, *rest) for search, *rest in cells)


CHOSEN: dict[type, Any] = {
    AboveThreshold: crossing_loss,
    SearchPerCell: crossings_loss,
    PrivTreeSplits: bits_loss,
    Covering: cover_loss,
}
"""What is lost by answers that are chosen, not perturbed, and are more than one pick."""

RATIOS: dict[type, Any] = {
    tuple: selection_ratio,
    AboveThreshold: crossing_ratio,
    SearchPerCell: crossings_ratio,
    PrivTreeSplits: bits_ratio,
    Covering: cover_ratio,
}
"""Signed logarithms of how much more likely the first dataset makes what was chosen."""

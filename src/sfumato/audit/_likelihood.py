"""The likelihood-ratio audit: of all events of a transcript, the one that tells worlds apart best.

By Neyman and Pearson no test of one world against the other is stronger than a threshold on the
ratio of their likelihoods. A curator's transcript has a known likelihood in both worlds.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np
from scipy.special import log_ndtr

from sfumato._accounting.budget import Entry, Ledger
from sfumato._base.types import Floats
from sfumato._base.validation import check_whole
from sfumato._core.mechanisms import Ball, Cube, Cylinder, Gaussian, Laplace, PerCellNoise
from sfumato._core.queries.projection import Projection, ViewedRows
from sfumato._core.releases.max_cover import Covering
from sfumato._core.sampling.source import Noise
from sfumato._core.testing import (
    RATIOS,
    RecordedData,
    RecordingCurator,
    ReplayedNoise,
    Transcript,
    steps_of,
)
from sfumato._lattice.box import Box
from sfumato.audit._replay import Setting
from sfumato.audit._verdict import Verdict, epsilon_lower
from sfumato.audit._verdict import log_ratio as ratio_of_rates
from sfumato.audit._worlds import Pair, World
from sfumato.engines._rows import Rows
from sfumato.methods import Method

_Result = TypeVar("_Result")


def likelihood_ratio(  # noqa: PLR0913
    method: str | Method,
    pair: Pair,
    *,
    epsilon: float,
    delta: float = 0.0,
    trials: int = 2000,
    alpha: float = 1e-6,
    n_clusters: int = 2,
    bounds: tuple[float, float] = (-1.0, 1.0),
    max_rows_per_group: int = 1,
    random_state: int = 0,
) -> Verdict:
    """Bound ε from below by the strongest test there is on what a curator answered.

    Each run is scored by the logarithm of the ratio of its transcript's likelihoods in the two
    worlds. The threshold, and which world is the likelier one, are chosen on half of the runs; the
    bound comes from the other half, and is wrong with probability at most `alpha`. It sees what a
    curator was asked and answered, and nothing else: a method that looks past the curator is found
    by `replay` or by `run`.

    Parameters
    ----------
    method, pair, epsilon, delta, n_clusters, bounds, max_rows_per_group
        As in `replay`.
    trials : int
        Runs in both worlds together; at least 8.
    alpha : float
        Chance that a correct method is called broken.
    random_state : int
        Seeds noise and public randomness: the same number, the same runs.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.audit import Pair, World, likelihood_ratio
    >>> rows = np.zeros((20, 2))
    >>> pair = Pair("corner", World(rows), World(np.vstack([rows, [[1, 1]]])), "a row in a corner")
    >>> likelihood_ratio("sukpisit", pair, epsilon=1.0, trials=200).broken
    False

    """
    began = time.perf_counter()
    setting = Setting.of(method, pair, (epsilon, delta), n_clusters, bounds, max_rows_per_group)
    each = check_whole(trials, "trials", least=8) // 4
    worlds = pair.smaller, pair.larger
    scores = np.array(
        [_scores(setting, worlds, which, 2 * each, random_state) for which in range(2)]
    )
    bound, event = best_event(scores, alpha=alpha, delta=delta)
    seconds = time.perf_counter() - began
    return Verdict(
        *(epsilon, delta, bound, 1 - alpha, 4 * each, seconds, pair.name, event),
        seen=((4 * each, bound),),
        by_pair={pair.name: bound},
    )


def best_event(scores: Floats, *, alpha: float, delta: float) -> tuple[float, str]:
    """A lower bound of ε from scores (2, runs), and the event it comes from.

    A score is large where the larger world, the second line, is the likelier one.
    """
    half = scores.shape[1] // 2
    learnt, rest = scores[:, :half], scores[:, half : 2 * half]
    best = -np.inf, 0.0, 1, 1
    # Which world is the likelier one, and on which side of the threshold, is learned as well.
    for sign, order in ((1, -1), (-1, 1), (1, 1), (-1, -1)):
        known = sign * learnt[::order]
        thresholds = np.unique(np.quantile(known, np.linspace(0.005, 0.995, 100), method="lower"))
        hits, others = (known[:, np.newaxis] >= thresholds[:, np.newaxis]).sum(axis=2)
        bounds = ratio_of_rates(hits, others, half, alpha=alpha, delta=delta)
        i = int(bounds.argmax())
        if bounds[i] > best[0]:
            best = float(bounds[i]), float(thresholds[i]), sign, order
    _, threshold, sign, order = best
    seen = (sign * rest[::order] >= threshold).sum(axis=1)
    hits, others = int(seen[0]), int(seen[1])
    within, without = (hits, others) if order == -1 else (others, hits)
    event = (
        f"a log-likelihood ratio of at {'least' if sign == 1 else 'most'} {sign * threshold:.3g}; "
        f"seen {within:,} times with and {without:,} times without, of {half:,} each"
    )
    return epsilon_lower(hits, others, half, alpha=alpha, delta=delta), event


def _scores(
    setting: Setting, worlds: tuple[World, World], which: int, runs: int, seed: int
) -> Floats:
    """Logarithms of likelihoods, of the larger world over the smaller, of runs in one of them."""
    one, other = worlds[which], worlds[1 - which]
    sign = 1 if which else -1
    shortcut = _agree(setting, one, other, seed)
    score = _twin_score if shortcut else _replayed_score
    found = np.empty(runs)
    for number in range(runs):
        text = f"{seed} {which} {number}".encode()
        found[number] = sign * score(setting, one, other, hashlib.sha256(text).digest())
    return found


def _replayed_score(setting: Setting, one: World, other: World, key: bytes) -> float:
    """Run in one world, and again with the same answers in the other."""
    first, second = (setting.open(world, ReplayedNoise(key)) for world in (one, other))
    seed = int.from_bytes(key[:4], "big")
    setting.run(first, seed)
    second.replay = first.transcript
    setting.run(second, seed)
    return transcript_ratio(first.transcript, second.transcript)


def _twin_score(setting: Setting, one: World, other: World, key: bytes) -> float:
    """Run once, and read every answer in both worlds."""
    noise = ReplayedNoise(key)
    curator = setting.opened(_TwinCurator, one, noise)
    curator.twin = setting.opened(_TwinCurator, other, noise)
    setting.run(curator, int.from_bytes(key[:4], "big"))
    return transcript_ratio(curator.transcript, curator.other_transcript)


def _agree(setting: Setting, one: World, other: World, seed: int) -> bool:
    """Whether reading answers in both worlds is as good as running in both.

    It is not where a query takes exact numbers of the query before, as block means do.
    """
    for number in range(3):
        key = hashlib.sha256(f"{seed} agree {number}".encode()).digest()
        twin, full = (score(setting, one, other, key) for score in (_twin_score, _replayed_score))
        if twin != full:
            return False
    return True


def transcript_ratio(ours: Transcript, theirs: Transcript) -> float:
    """Logarithm of how much likelier the first rows make all answers; infinite if others asked."""
    if ours.mechanisms != theirs.mechanisms or len(ours.exact) != len(theirs.exact):
        return float("inf")
    return sum(log_ratio(*step) for step in steps_of(ours, theirs))


class _TwinData(RecordedData):
    """Reads every answer a second time, from the rows of another world."""

    def __init__(self, rows: Rows, box: Box, ledger: Ledger, noise: Noise) -> None:
        super().__init__(rows, box, ledger, noise)
        self.kept = rows
        self.others: Rows | None = None
        self.second = Transcript(replay=self.transcript)

    def release(self, entries: Sequence[Entry], read: Callable[[Rows], _Result]) -> _Result:
        result = super().release(entries, read)
        if self.others is not None:
            mine, self.transcript = self.transcript, self.second
            try:
                read(self.others)
            finally:
                self.transcript = mine
        return result

    def seen_through(self, projection: Projection) -> Self:
        view = super().seen_through(projection)
        if self.others is not None:
            view.others = ViewedRows(self.others, self.box, projection)
        return view


class _TwinCurator(RecordingCurator):
    """A curator of one world that reads its answers in another world too."""

    _data_type = _TwinData

    @property
    def other_transcript(self) -> Transcript:
        found: Transcript = self._data.second
        return found

    @property
    def twin(self) -> Any:  # noqa: ANN401
        return self._data.others

    @twin.setter
    def twin(self, other: _TwinCurator) -> None:
        self._data.others = other._data.kept


def log_ratio(law: Any, released: Any, one: Any, other: Any) -> float:  # noqa: ANN401
    """How much more likely `one` makes what was released than `other`: a signed logarithm.

    In float64. Exact for choices and for noise on whole numbers; of joint noise that is rounded
    (Ball, Cylinder) it is the ratio of densities in the middle of the cell. A bound of ε holds
    whatever the score is: an approximate score only finds less.
    """
    if isinstance(law, Covering):
        return _log_picks(law, one) - _log_picks(law, other)
    if isinstance(one, np.ndarray) and np.array_equal(one, other):
        return 0.0
    if isinstance(law, tuple) and law[2] == "exponential":
        here, there = (_log_chance(scores, released, law[1]) for scores in (one, other))
        return here - there
    if type(law) in RATIOS:
        return float(RATIOS[type(law)](law, released, one, other))
    here, there = (
        _log_density(law, np.atleast_2d(np.asarray(released - exact, dtype=np.float64)))
        for exact in (one, other)
    )
    return here - there


def _log_chance(scores: Any, chosen: int, scale: Fraction) -> float:  # noqa: ANN401
    """As `log_probabilities`, in float64."""
    gaps = np.asarray(scores.max() - scores, dtype=np.float64) / float(scale)
    return -float(gaps[chosen]) - math.log(np.exp(-gaps).sum())


def _log_picks(law: Covering, picks: Any) -> float:  # noqa: ANN401
    """As `log_picks`, in float64: a score needs no forty digits."""
    tilt, total = float(law.rate), 0.0
    for score, (scores, many), size in picks:
        total += tilt * score - math.log(size + float(many @ np.expm1(tilt * scores)))
    return total


def _log_density(law: Any, noise: Floats) -> float:  # noqa: ANN401
    """Logarithm of the probability of noise (lines, numbers), up to a constant."""
    if isinstance(law, Cube):
        return -float(np.abs(noise).max(axis=1).sum()) / float(law.scale)
    if isinstance(law, Ball):
        return -float(np.linalg.norm(noise, axis=1).sum()) / float(law.scale)
    if isinstance(law, Cylinder):
        sums = np.linalg.norm(noise[:, 1:], axis=1) / np.array(law.scales, dtype=np.float64)
        return -float(np.maximum(np.abs(noise[:, 0]) / float(law.height), sums).sum())
    scales = law.scales if isinstance(law, PerCellNoise) else [law.scale]
    size, deviation = np.abs(noise), np.array(scales, dtype=np.float64)[:, np.newaxis]
    if isinstance(law, Laplace) or (isinstance(law, PerCellNoise) and law.law == "laplace"):
        return -float((size / deviation).sum())
    if isinstance(law, Gaussian | PerCellNoise):
        # The chance of (z − ½, z + ½]: a rounded Gaussian.
        above, below = log_ndtr((0.5 - size) / deviation), log_ndtr((-0.5 - size) / deviation)
        return float((above + np.log(-np.expm1(below - above))).sum())
    raise TypeError(f"the density of {law!r} is not known")

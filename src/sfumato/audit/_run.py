"""The black-box audit: a game on neighbour pairs, with events learned and certified apart.

The error probability is spent in advance. Look i at one of P pairs has α / (P·i·(i + 1)), half of
it for each of two events; each is certified on fits that were made after it had been chosen. So
the largest bound of all is wrong with probability at most α, however the time was divided.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfumato._base.types import Rng
from sfumato._base.validation import check_delta, check_epsilon, check_positive, check_whole
from sfumato.audit._events import Both, Event, learn
from sfumato.audit._observe import Seen, new_estimator, observe, takes_groups
from sfumato.audit._verdict import Verdict, epsilon_lower
from sfumato.audit._worlds import Pair, World
from sfumato.audit._worlds import pairs as default_pairs

ALPHA = 1e-3
MINUTES = 2.0
_PROBES = 4
_LOOK = 64
_LEAST = 8
_LOOK_PART = 0.4
_FOCUS = 2
_LATE = 1.25
_SAFE = 0.8
_PARTS = 8
_SOMETIMES = 4
_STREAM = 2306
_NO_TIME = "there was no time for it"
_OVER = "the audit was over before"


class Progress(NamedTuple):
    """How far an audit has come; `part` goes from 0 to 1."""

    part: float
    seconds: float
    trials: int
    pair: str
    epsilon_lower: float


class _Late(Exception):  # noqa: N818
    """The time is over: what is under way is not used."""


def run(  # noqa: PLR0913
    factory: Any,  # noqa: ANN401
    epsilon: float = 1.0,
    delta: float = 0.0,
    pairs: Iterable[Pair] | None = None,
    minutes: float | None = None,
    *,
    trials: int | None = None,
    alpha: float = ALPHA,
    attributes: Sequence[str] | None = None,
    n_jobs: int = 1,
    random_state: int | None = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Look for a refutation of the claim that an estimator is (ε, δ)-differentially private.

    The estimator is fitted again and again on pairs of made-up datasets that differ by one person.
    From all that a fit shows (centres, sizes, every other fitted attribute, shapes, errors,
    warnings, printed text, receipt, saved file) events are learned that are more likely in one
    world, and certified on new fits. Time is not looked at.

    Parameters
    ----------
    factory : estimator, class or callable
        An estimator with `fit`, which is cloned for every fit, or what returns a new one.
    epsilon, delta : float
        What is claimed, for adding or removing one person.
    pairs : list of Pair, optional
        Where to play; by default `audit.pairs` with the bounds of the estimator, if it has any.
    minutes : float, optional
        How long to look, about; 2 if `trials` is not given either. A look that takes a quarter
        longer than that is not used.
    trials : int, optional
        The most fits in all, in both worlds together. Without `minutes`, clocks decide nothing: an
        estimator with seeded noise gets the same verdict on every machine.
    alpha : float, default=0.001
        The most that the bound may be wrong with, over all pairs, events and looks.
    attributes : list of str, optional
        Look at these fitted attributes only, of all steps of a pipeline, and at no saved file.
    n_jobs : int, default=1
        Processes. It pays for long audits of slow fits only.
    random_state : int, optional
        Seeds the order of the fits and how events are learned, never the noise.
    progress : callable, optional
        Called with a `Progress` after every look.

    Returns
    -------
    verdict : Verdict
        Its `broken` says whether the claim is refuted. If it is not, nothing is proven.

    """
    check_epsilon(epsilon), check_delta(delta)
    if minutes is None:
        minutes = math.inf if trials is not None else MINUTES
    else:
        check_positive(minutes, "minutes")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, such as 0.001, got {alpha!r}")
    most = None if trials is None else check_whole(trials, "trials", least=4 * _LEAST)
    fits = _Fits(
        partial(new_estimator, factory),
        *(60 * float(minutes), most, check_whole(n_jobs, "n_jobs")),
        attributes,
        # A stream of its own, whatever seeds the noise.
        np.random.default_rng(None if random_state is None else (_STREAM, random_state)),
        started=time.monotonic(),
    )
    claim = _Claim(float(epsilon), float(delta), float(alpha))
    estimator = fits.make()
    if not callable(getattr(estimator, "fit", None)):
        raise TypeError(f"an estimator with `fit` is needed, got {type(estimator).__name__}")
    games, skipped = _games(list(default_for(estimator) if pairs is None else pairs), fits)
    audit = _Audit(claim, fits, games, skipped, progress)
    try:
        audit.play()
    except _Late:
        pass
    return audit.verdict()


def default_for(estimator: Any) -> list[Pair]:  # noqa: ANN401
    """Return the default pairs within the bounds of an estimator, of a step of it, or (−3, 3)."""
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    given = [value for name, value in params.items() if name.rpartition("__")[2] == "bounds"]
    for bounds in given:
        try:
            lower, upper = (np.asarray(each, dtype=np.float64) for each in bounds)
        except (TypeError, ValueError):
            continue
        if lower.shape == upper.shape and lower.ndim <= 1:
            return default_pairs(len(lower) if lower.ndim else 2, (lower, upper))
    return default_pairs()


class _Claim(NamedTuple):
    epsilon: float
    delta: float
    alpha: float


@dataclass(eq=False)
class _Fits:
    """Makes fits until the time, or their number, is used up."""

    make: Callable[[], Any]
    seconds: float
    most: int | None
    n_jobs: int
    attributes: Sequence[str] | None
    rng: Rng
    started: float
    done: int = 0
    cost: float = 0.0

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def left(self, part: float = 1.0) -> int:
        """How many fits there is time for in this part of the time."""
        by_time = _SAFE * (part * self.seconds - self.used) / max(self.cost, 1e-6)
        by_number = math.inf if self.most is None else int(part * self.most) - self.done
        return max(0, int(min(by_time, by_number)))

    def play(self, pair: Pair, trials: int, *, thorough: int) -> Both:
        """So many fits in each world, in random order. Raises `_Late` when the time is over.

        Every `thorough`-th fit is looked at thoroughly, none if it is 0.
        """
        if self.most is not None and self.done + 2 * trials > self.most:
            raise _Late
        order = self.rng.permutation(np.repeat([0, 1], trials))
        began, limit = time.monotonic(), self.seconds * _LATE - self.used
        worlds = (pair.smaller, pair.larger)
        job = partial(_observed, self.make, worlds, self.attributes, thorough)
        if self.n_jobs == 1 or trials < _PARTS:
            found = job(order, limit)
        else:
            found = self._parallel(job, order, limit)
        if found is None:
            raise _Late
        self.done += len(order)
        self.cost = (time.monotonic() - began) / len(order)
        smaller, larger = (
            [one for one, world in zip(found, order, strict=True) if world == w] for w in (0, 1)
        )
        return smaller, larger

    def _parallel(self, job: Any, order: Any, limit: float) -> list[Seen] | None:  # noqa: ANN401
        from joblib import Parallel, delayed

        parts = np.array_split(order, self.n_jobs * _PARTS)
        until = time.time() + limit
        found = Parallel(self.n_jobs)(delayed(_until)(job, part, until) for part in parts)
        if any(part is None for part in found):
            return None
        return [one for part in found for one in part]


def _until(job: Any, order: Any, until: float) -> list[Seen] | None:  # noqa: ANN401
    """Run a job in a process that has a clock of its own."""
    return job(order, until - time.time())  # type: ignore[no-any-return]


def _observed(
    make: Callable[[], Any],
    worlds: tuple[World, World],
    attributes: Sequence[str] | None,
    thorough: int,
    order: Any,  # noqa: ANN401
    limit: float,
) -> list[Seen] | None:
    """Fit in these worlds, one after the other; None if that takes too long."""
    began, found, known = time.monotonic(), list[Seen](), dict[Any, Any]()
    with tempfile.TemporaryDirectory() as folder:
        for i, world in enumerate(order):
            if time.monotonic() - began > limit:
                return None
            # Worlds come in random order: how close a look is says nothing about the world.
            close = bool(thorough) and i % thorough == 0
            seen = observe(
                *(make, worlds[world], Path(folder)), attributes=attributes, thorough=close
            )
            found.append(_once(seen, known))
    return found


def _once(seen: Seen, known: dict[Any, Any]) -> Seen:
    """The same, with names and tags that are kept once for all fits: there are many of them."""
    names = known.setdefault(seen.names, seen.names)
    return Seen(names, seen.values, known.setdefault(seen.tags, seen.tags))


@dataclass(eq=False)
class _Game:
    """One pair: what was seen so far, how often it was looked at, and the best bound."""

    pair: Pair
    seen: tuple[list[Seen], list[Seen]]
    looks: int = 0
    certified: bool = False
    bound: float = 0.0
    hint: float = 0.0
    event: str = ""
    thorough: int = _SOMETIMES
    _known: dict[Any, Any] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """Fits in each world."""
        return len(self.seen[0])

    def add(self, both: Both) -> None:
        """Keep what was seen, for the next events to be learned from."""
        for kept, fresh in zip(self.seen, both, strict=True):
            kept += [_once(one, self._known) for one in fresh]


def _games(pairs: list[Pair], fits: _Fits) -> tuple[list[_Game], dict[str, str]]:
    """Probe every pair. One that is refused in both worlds alike is left out, and why."""
    games, skipped = list[_Game](), dict[str, str]()
    names = [pair.name for pair in pairs]
    if not pairs or len(set(names)) < len(names):
        raise ValueError(f"an audit needs pairs, each with a name of its own, got {names!r}")
    for pair in pairs:
        if pair.smaller.groups is not None and not takes_groups(fits.make()):
            skipped[pair.name] = "fit takes no groups"
            continue
        try:
            both = fits.play(pair, _PROBES, thorough=1)
        except _Late:
            skipped[pair.name] = _NO_TIME
            continue
        texts = {one.tags for seen in both for one in seen}
        refusal = both[0][0].refusal
        if len(texts) == 1 and refusal:
            skipped[pair.name] = f"refused in both worlds alike: {refusal}"
        else:
            games.append(_Game(pair, ([], [])))
            games[-1].add(both)
    if not games and _NO_TIME not in skipped.values():
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        raise ValueError(f"no pair can be played with this estimator: pass others. {reasons}")
    return games, skipped


@dataclass(eq=False)
class _Audit:
    """All games of an audit, and the best bound so far."""

    claim: _Claim
    fits: _Fits
    games: list[_Game]
    skipped: dict[str, str]
    progress: Callable[[Progress], None] | None
    seen: list[tuple[int, float]] = field(default_factory=list)

    @property
    def best(self) -> _Game | None:
        """The game with the largest bound, if there is one above 0."""
        found = max(self.games, key=lambda game: game.bound, default=None)
        return found if found is not None and found.bound else None

    @property
    def bound(self) -> float:
        """The largest bound so far."""
        return self.best.bound if self.best else 0.0

    def play(self) -> None:
        """A short look at every pair; then the worst ones, with twice the fits in every look."""
        for i, game in enumerate(self.games):
            left = self.fits.left(_LOOK_PART) // (4 * (len(self.games) - i))
            size = min(_LOOK, max(_LEAST, left))
            game.add(self.fits.play(game.pair, size, thorough=_SOMETIMES))
            if self._look(game, size):
                return
        self._play_worst()

    def _play_worst(self) -> None:
        """Look again at the two worst pairs, and at the one of the others with the fewest fits.

        A pair that seemed harmless in few fits is looked at again, with twice as many of them.
        """
        while True:
            worst = sorted(self.games, key=lambda game: -game.hint)
            worst, others = worst[:_FOCUS], worst[_FOCUS:]
            worst += sorted(others, key=lambda game: game.trials)[:1]
            # What is left may be enough for the first ones only.
            while sum(max(_LEAST, game.trials // 4) for game in worst) > self.fits.left() // 2:
                worst.pop()
            if not worst:
                return
            for i, game in enumerate(worst):
                size = min(game.trials, self.fits.left() // (2 * (len(worst) - i)))
                if size >= _LEAST and self._look(game, size):
                    return

    def _look(self, game: _Game, trials: int) -> bool:
        """Learn events from all fits so far, certify them on new ones. True if the claim fell."""
        game.looks += 1
        risk = self.claim.alpha / (len(self.games) * game.looks * (game.looks + 1))
        delta = self.claim.delta
        events = learn(game.seen, alpha=risk / 2, delta=delta, rng=self.fits.rng)
        fresh = self.fits.play(game.pair, trials, thorough=game.thorough)
        hints = [(0.0, 0)]
        for event in events:
            hits, others = event.counts(fresh)
            bound = epsilon_lower(hits, others, trials, alpha=risk / len(events), delta=delta)
            hint = epsilon_lower(hits, others, trials, alpha=0.1, delta=delta)
            hints.append((hint, int(event.slow)))
            if bound > game.bound:
                game.bound, game.event = bound, _in_words(event, hits, others, trials)
        game.hint, game.thorough = max(hints)
        game.certified = True
        game.add(fresh)
        self._tell(game)
        return self.bound > self.claim.epsilon

    def _tell(self, game: _Game) -> None:
        fits, bound = self.fits, self.bound
        self.seen.append((fits.done, bound))
        if self.progress is not None:
            part = fits.used / fits.seconds
            if fits.most is not None:
                part = max(part, fits.done / fits.most)
            self.progress(Progress(min(1.0, part), fits.used, fits.done, game.pair.name, bound))

    def verdict(self) -> Verdict:
        """What was found."""
        best = self.best
        unseen = {game.pair.name: _OVER for game in self.games if not game.certified}
        return Verdict(
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            epsilon_lower=self.bound,
            confidence=1 - self.claim.alpha,
            trials=self.fits.done,
            seconds=self.fits.used,
            pair=best.pair.name if best else "",
            event=best.event if best else "",
            seen=tuple(self.seen),
            by_pair={game.pair.name: game.bound for game in self.games if game.certified},
            skipped=self.skipped | unseen,
        )


def _in_words(event: Event, hits: int, others: int, trials: int) -> str:
    """An event, and how often it was seen in each world."""
    within, without = (hits, others) if event.in_larger else (others, hits)
    return f"{event}; seen {within:,} times with and {without:,} times without, of {trials:,} each"

"""Events that are more likely in one world than in the other, learned from fits in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from sfumato._base.types import Floats, Rng
from sfumato.audit._observe import RAISED, SLOW, Seen
from sfumato.audit._verdict import log_ratio

Both = tuple[Sequence[Seen], Sequence[Seen]]
"""What fits showed in the smaller world, and in the larger one."""

_MOST_NUMBERS = 24
_MOST_TAGS = 40
_RAREST = 0.02
_LEARNED_FROM = 4000
_CUTS = 25
_HUGE = 1e100
_FIRST, _LAST = (RAISED, "warned "), "attributes "


@dataclass(frozen=True, eq=False)
class Event:
    """Something that a fit shows or does not: a score on one side of a cut."""

    about: str
    score: Any
    cut: float
    above: bool
    in_larger: bool
    slow: bool = False

    def holds(self, seen: Sequence[Seen]) -> np.ndarray:
        """For each fit, (n,), whether the event happened."""
        above: np.ndarray = self.score(seen) >= self.cut
        return above if self.above else ~above

    def counts(self, both: Both) -> tuple[int, int]:
        """How often it happened where it is more likely, and in the other world."""
        without, within = (int(self.holds(seen).sum()) for seen in both)
        return (within, without) if self.in_larger else (without, within)

    def __str__(self) -> str:
        side = "at least" if self.above else "below"
        world = "more" if self.in_larger else "less"
        known = "" if self.about.startswith("the fit shows") else f" is {side} {self.cut:.6g}"
        denied = "it is not so that " if known == "" and not self.above else ""
        return f"{denied}{self.about}{known} ({world} likely with the person)"


@dataclass(frozen=True, eq=False)
class _Number:
    """The value of one number of a fit, or its distance from a middle."""

    name: str
    middle: float | None = None

    def __call__(self, seen: Sequence[Seen]) -> Floats:
        column = table(seen, (self.name,))[:, 0]
        found = column if self.middle is None else np.abs(column - self.middle)
        return np.nan_to_num(found, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


@dataclass(frozen=True, eq=False)
class _Tag:
    """1 for a fit that has the tag."""

    tag: str

    def __call__(self, seen: Sequence[Seen]) -> Floats:
        return np.array([float(self.tag in one.tags) for one in seen])


@dataclass(frozen=True, eq=False)
class _Learned:
    """A logistic regression on numbers and tags of a fit."""

    names: tuple[str, ...]
    tags: tuple[str, ...]
    middles: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    def __call__(self, seen: Sequence[Seen]) -> Floats:
        raw = features(seen, self.names, self.tags, self.middles, self.scale)
        learned: Floats = expit(raw @ self.weights)
        return learned


def table(seen: Sequence[Seen], names: Sequence[str]) -> Floats:
    """Numbers of these names, (n, names); NaN where a fit has none."""
    found = np.full((len(seen), len(names)), np.nan)
    by_layout: dict[tuple[str, ...], list[int]] = {}
    for i, one in enumerate(seen):
        by_layout.setdefault(one.names, []).append(i)
    for layout, where in by_layout.items():
        places = {name: j for j, name in reversed(list(enumerate(layout)))}
        held = [(column, places[name]) for column, name in enumerate(names) if name in places]
        if held:
            columns, sources = map(list, zip(*held, strict=True))
            values = np.stack([seen[i].values[sources] for i in where])
            found[np.ix_(where, columns)] = values
    return found


def features(
    seen: Sequence[Seen],
    names: Sequence[str],
    tags: Sequence[str],
    middles: Floats,
    scale: Floats,
) -> Floats:
    """What the regression sees of each fit, (n, 5·names + tags).

    |x − a| − |x − b| is the sufficient statistic of a shift under Laplace noise; x and x² are
    those of a shift and of a change of scale under Gaussian noise.
    """
    raw = table(seen, names)
    missing = ~np.isfinite(raw)
    raw = np.where(missing, middles[0], np.clip(raw, -_HUGE, _HUGE))
    z, other = (raw - middles[0]) / scale, (raw - middles[1]) / scale
    apart = np.clip(np.abs(z) - np.abs(other), -30, 30)
    z = np.clip(z, -30, 30)
    flags = np.stack([_Tag(tag)(seen) for tag in tags], axis=1) if tags else raw[:, :0]
    return np.hstack([z, apart, np.abs(z), np.minimum(z * z, 200) / 10, missing, flags])


def learn(both: Both, *, alpha: float, delta: float, rng: Rng) -> list[Event]:
    """Return the best event of each direction: at most two.

    A score is learned on one half of the fits; its cut, and all other events, are chosen on the
    other half.
    """
    halves: list[list[Sequence[Seen]]] = [[], []]
    for seen in both:
        order = rng.permutation(len(seen))
        for half, part in enumerate(np.array_split(order, 2)):
            halves[half].append([seen[i] for i in part])
    first, second = ((half[0], half[1]) for half in halves)
    names, tags = _telling_names(both), _telling_tags(both)
    scores: list[tuple[str, Any]] = [(f"the fit shows “{tag}”", _Tag(tag)) for tag in tags]
    middles = _middles(first, names)
    for name, middle in zip(names, middles[0], strict=True):
        scores.append((name, _Number(name)))
        scores.append((f"|{name} − {middle:.6g}|", _Number(name, float(middle))))
    learned = _learned(first, names, tags[: _MOST_TAGS // 2], middles)
    if learned is not None:
        scores.append(("a score learned from all that a fit shows", learned))
    return _best(second, scores, alpha, delta)


def _telling_names(both: Both) -> tuple[str, ...]:
    """The numbers whose distributions differ most between the worlds."""
    alternating = zip(both[0][:_LEARNED_FROM], both[1][:_LEARNED_FROM], strict=True)
    seen = [one for pair in alternating for one in pair]
    names = sorted({name for layout in {one.names for one in seen} for name in layout})
    if not names:
        return ()
    columns = np.nan_to_num(table(seen, names), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    # Worlds alternate, and equal values stay in order: they add up to next to nothing.
    order = np.argsort(columns, axis=0, kind="stable")
    apart = np.abs(np.cumsum(np.where(order % 2, 1.0, -1.0), axis=0)).max(axis=0)
    best = np.argsort(-apart, kind="stable")[:_MOST_NUMBERS]
    return tuple(names[i] for i in best if apart[i] > 1)


def _telling_tags(both: Both) -> tuple[str, ...]:
    """The tags that are seen more often in one world than in the other."""
    rates: dict[str, float] = {}
    for sign, seen in zip((-1, 1), both, strict=True):
        for one in seen:
            for tag in one.tags:
                rates[tag] = rates.get(tag, 0.0) + sign / len(seen)
    telling = (tag for tag in rates if abs(rates[tag]) >= _RAREST)
    # Of equally good ones, an error says most and a list of attributes least.
    order = lambda tag: (-abs(rates[tag]), not tag.startswith(_FIRST), tag.startswith(_LAST), tag)  # noqa: E731
    return tuple(sorted(telling, key=order)[:_MOST_TAGS])


def _middles(both: Both, names: tuple[str, ...]) -> Floats:
    """The median of every number in each world, (2, names)."""
    found = np.zeros((2, len(names)))
    for world, seen in enumerate(both):
        for j, column in enumerate(table(seen, names).T):
            known = np.clip(column[np.isfinite(column)], -_HUGE, _HUGE)
            found[world, j] = np.median(known) if len(known) else 0.0
    return found


def _learned(
    both: Both, names: tuple[str, ...], tags: tuple[str, ...], middles: Floats
) -> _Learned | None:
    """A score that separates the worlds; None if there is nothing to learn from."""
    both = (both[0][:_LEARNED_FROM], both[1][:_LEARNED_FROM])
    if not (names or tags) or min(map(len, both)) < 2:
        return None
    raw = table([*both[0], *both[1]], names)
    raw = np.where(np.isfinite(raw), np.clip(raw, -_HUGE, _HUGE), middles[0])
    scale = np.median(np.abs(raw - middles[0]), axis=0) if names else np.ones(0)
    scale = np.where(scale > 0, scale, np.maximum(raw.std(axis=0), 1e-300))
    x = np.concatenate([features(seen, names, tags, middles, scale) for seen in both])
    spread = x.std(axis=0)
    spread[spread == 0] = 1
    y = np.repeat([0, 1], [len(both[0]), len(both[1])])
    model = LogisticRegression(C=0.1, tol=1e-3, max_iter=200).fit(x / spread, y)
    return _Learned(names, tags, middles, scale, model.coef_[0] / spread)


def _best(both: Both, scores: list[tuple[str, Any]], alpha: float, delta: float) -> list[Event]:
    """For each direction, the event with the largest bound on these fits."""
    trials = min(map(len, both))
    found: dict[bool, tuple[float, Event]] = {}
    rarest = max(_RAREST / 4, 2 / max(trials, 1))
    rates = np.geomspace(min(rarest, 0.5), 0.5, _CUTS)
    for about, score in scores:
        without, within = (np.sort(score(seen)) for seen in both)
        cuts = np.unique(
            np.quantile(np.concatenate([without, within]), [*rates, *(1 - rates)], method="higher")
        )
        above = [trials - np.searchsorted(values, cuts, "left") for values in (without, within)]
        slow = any(
            about.removeprefix("the fit shows “").removeprefix("|").startswith(name)
            for name in SLOW
        )
        for is_above in (True, False):
            less, more = above if is_above else (trials - above[0], trials - above[1])
            for in_larger, hits, others in ((True, more, less), (False, less, more)):
                bounds = log_ratio(hits, others, trials, alpha=alpha, delta=delta)
                i = int(np.argmax(bounds))
                if in_larger not in found or bounds[i] > found[in_larger][0]:
                    event = Event(about, score, float(cuts[i]), is_above, in_larger, slow)
                    found[in_larger] = (float(bounds[i]), event)
    return [event for _, event in found.values()]

"""The law of picking points that cover rows, and what all picks together cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from sfumato.box import Ints
from sfumato.budget import Entry, Share
from sfumato.curator.cover_state import Cover
from sfumato.curator.noise import Noise, selection_slack
from sfumato.curator.select_classes import choose_class
from sfumato.curator.settle import uniform_below

MAX_PICKS = 2**20
"""The most picks of one cover, at all radii together."""

# A context of its own: mpmath's global precision is anybody's to change, from any thread.
_mp: Any = mpmath.MPContext()
_mp.prec = 320
_BITS = 64


@lru_cache(256)
def largest_rate(epsilon: Fraction, delta: Fraction, rows: int) -> Fraction:
    """What a row weighs: the largest η with η ≤ ε and (e^η − 1)·ln(rows/δ) ≤ ε, over `rows`.

    Rounded down. In the paper's words η is half of ε_E.
    """
    amount = _mp.mpf(epsilon.numerator) / epsilon.denominator
    tries = _mp.log(_mp.mpf(rows) * delta.denominator / delta.numerator)
    eta = min(amount, _mp.log1p(amount / tries)) * (1 - _mp.mpf(2) ** -200)
    shift = _BITS - int(_mp.ceil(_mp.log(eta, 2)))
    whole = int(_mp.floor(_mp.ldexp(eta, shift)))
    return Fraction(whole) / Fraction(2) ** shift / rows


@dataclass(frozen=True)
class Covering:
    """Exponential mechanisms one after another: a pick has chance ∝ e^(rate · rows it covers).

    Only rows that no pick before has covered count, at any radius.

    Guarantee: all picks together, however many, are (ε, δ)-DP for the ε and δ of the share and
    neighbours that differ by up to `rows` rows: see `largest_rate`, docs/proofs/max-cover.md.
    """

    question: str
    share: Share
    rows: int
    picks: int

    def __post_init__(self) -> None:
        if self.share.kind != "approximate" or not 0 < self.share.delta < 1:
            raise TypeError(
                "a cover is bought with an approximate share, an ε and a δ above 0, "
                f"got {self.share.kind!r} with δ = {float(self.share.delta):.3g}"
            )
        if type(self.picks) is not int or not 1 <= self.picks <= MAX_PICKS:
            raise ValueError(f"1 to {MAX_PICKS:,} picks at all radii together, got {self.picks!r}")

    @property
    def rate(self) -> Fraction:
        """The logarithm of what covering one more row makes a point more likely."""
        return largest_rate(self.share.amount, self.share.delta, self.rows)

    def entry(self, n_features: int) -> Entry:
        """The line of the account that pays for all picks."""
        scale = 1 / self.rate
        return Entry(
            question=self.question,
            share=self.share,
            law="cover",
            scale=scale,
            noise=f"e-fold at {float(scale):.3g} rows",
            # A pick takes a uniform number, and one or one for each column.
            slack=self.picks * selection_slack(n_features + 2),
        )

    def draw(self, noise: Noise, cover: Cover) -> Ints:
        """Pick one point of the whole grid, in lattice steps; without noise the first of the best.

        Points that cover equally many rows are equally likely, and so are all others.
        """
        scores, many = cover.classes()
        stream, net = noise.stream(), cover.net
        if stream is None:
            first = np.zeros(net.n_features, dtype=np.int64)
            return cover.find(int(scores[-1]), 0) if len(scores) else net.points(first)
        chosen = choose_class(stream, scores, many, net.size, self.rate)
        if chosen == 0:
            sides = np.full(net.n_features, net.per_axis, dtype=np.int64)
            return net.points(uniform_below(stream, sides))
        rank = uniform_below(stream, many[chosen - 1 : chosen])
        return cover.find(int(scores[chosen - 1]), int(rank[0]))

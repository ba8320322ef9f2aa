"""How many uncovered rows every point of one grid would cover, kept up to date as rows leave.

Points that cover nothing are not written down; all others are counted in blocks. As many blocks as
memory is set aside for keep their counts; those beyond are counted again where they are needed. So
the memory does not depend on where the rows lie, and neither does any result.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np

from sfumato._accounting.budget import Entry, Share
from sfumato._base.types import Ints, Lattice, Mask
from sfumato._base.validation import check_whole
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.max_cover import Grids
from sfumato._core.releases.choose import PAPERS
from sfumato._core.sampling.choice import choose_class, selection_slack
from sfumato._core.sampling.exact import uniform_below
from sfumato._core.sampling.source import Noise
from sfumato._lattice.kernels.cover import Net, add_near, near, pairs_of, tally, tally_near
from sfumato._lattice.kernels.gaps import complete
from sfumato.engines._rows import Rows

KEPT = 2**26
"""Points whose counts are kept, eight bytes each."""

# Blocks that are counted again are looked through this many points at a time.
_LOOKED_AT = 2**20


class Cover:
    """The rows that no pick has covered, and how many of them lie near each point of a grid.

    Rows with a gap are left out.
    """

    def __init__(self, rows: Lattice, net: Net, kept: int = KEPT) -> None:
        self.net = net
        rows = np.ascontiguousarray(complete(rows))
        self._rows = rows
        self._left = np.ones(len(rows), dtype=np.bool_)
        self._pairs = pairs_of(self._rows, net)
        self._block_of = np.repeat(np.arange(len(self._pairs)), self._pairs.counts())
        # Blocks that many rows reach are dear to count again.
        dear = np.argsort(-self._pairs.counts(), kind="stable")[: max(0, kept // net.cells)]
        self._kept = np.sort(dear)
        self._loose = np.setdiff1d(np.arange(len(self._pairs)), dear)
        self._counts = np.zeros((len(self._kept), net.cells), dtype=np.int64)
        self._many = np.zeros(len(rows) + 1, dtype=np.int64)
        self._add(self._kept, self._counts, self._left, 1)
        tally(self._counts, np.arange(len(self._kept)), self._many, 1)
        self._recount(self._loose, 1)

    def classes(self) -> tuple[Ints, Ints]:
        """Every number of rows, from 1, that some point would cover, and how many points do."""
        scores = np.flatnonzero(self._many)
        return scores, self._many[scores]

    def score(self, point: Ints) -> int:
        """How many uncovered rows one point of the grid would cover."""
        return int((near(self._rows, point, self.net.limit) & self._left).sum())

    def find(self, score: int, rank: int) -> Ints:
        """The point number `rank` of those that would cover `score` rows, block by block."""
        hits = np.zeros(len(self._pairs), dtype=np.int64)
        hits[self._kept] = [np.count_nonzero(line == score) for line in self._counts]
        step = max(1, _LOOKED_AT // self.net.cells)
        for a in range(0, len(self._loose), step):
            some = self._loose[a : a + step]
            hits[some] = (self._look(some) == score).sum(axis=1)
        ends = np.cumsum(hits)
        block = int(np.searchsorted(ends, rank, side="right"))
        within = rank - int(ends[block] - hits[block])
        line = self._look(np.array([block]))[0]
        cell = np.flatnonzero(line == score)[within]
        shape = (self.net.width,) * self.net.n_features
        return self.net.points(self._pairs.origins[block] + np.unravel_index(cell, shape))

    def leave(self, point: Ints) -> None:
        """Let the rows that a point covers leave, for good, and take them off all counts."""
        leaving = near(self._rows, point, self.net.limit) & self._left
        changed = np.unique(self._block_of[leaving[self._pairs.members]])
        loose = np.intersect1d(changed, self._loose)
        self._recount(loose, -1)
        self._left &= ~leaving
        self._recount(loose, 1)
        lines = np.flatnonzero(np.isin(self._kept, changed))
        tally(self._counts, lines, self._many, -1)
        self._add(self._kept, self._counts, leaving, -1)
        tally(self._counts, lines, self._many, 1)

    def left(self) -> Lattice:
        """The rows that no pick has covered."""
        return self._rows[self._left]

    def _look(self, blocks: Ints) -> Ints:
        counts = np.zeros((len(blocks), self.net.cells), dtype=np.int64)
        self._add(blocks, counts, self._left, 1)
        return counts

    def _add(self, blocks: Ints, counts: Ints, active: Mask, sign: int) -> None:
        add_near(self._rows, active, self._pairs, blocks, self.net, counts, sign)

    def _recount(self, blocks: Ints, sign: int) -> None:
        tally_near(self._rows, self._left, self._pairs, blocks, self.net, self._many, sign)


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
    neighbours that differ by up to `rows` rows: see `largest_rate`, docs/proofs/max_cover.md.
    """

    query: str
    share: Share
    rows: int
    picks: int

    def __post_init__(self) -> None:
        if self.share.kind != "approximate" or not 0 < self.share.delta < 1:
            raise TypeError(
                "a cover takes an approximate share, an ε and a δ above 0, "
                f"got {self.share.kind!r} with δ = {float(self.share.delta):.3g}"
            )
        if type(self.picks) is not int or not 1 <= self.picks <= MAX_PICKS:
            raise ValueError(f"1 to {MAX_PICKS:,} picks at all radii together, got {self.picks!r}")

    @property
    def rate(self) -> Fraction:
        """The logarithm of what covering one more row makes a point more likely."""
        return largest_rate(self.share.amount, self.share.delta, self.rows)

    def loss(self) -> Fraction:
        """ε of all picks at the δ of the share, rounded up."""
        eta = _mp.mpf(self.rate.numerator) / self.rate.denominator * self.rows
        delta = self.share.delta
        tries = _mp.log(_mp.mpf(self.rows) * delta.denominator / delta.numerator)
        most = max(eta, _mp.expm1(eta) * tries) * (1 + _mp.mpf(2) ** -250)
        shift = 300 - int(_mp.ceil(_mp.log(most, 2)))
        return Fraction(int(_mp.ceil(_mp.ldexp(most, shift)))) / Fraction(2) ** shift

    def entry(self, n_features: int) -> Entry:
        """The line of the account for all picks."""
        scale = 1 / self.rate
        noise = f"e-fold at {float(scale):.3g} rows"
        # A pick takes a uniform number, and one or one for each column.
        slack = self.picks * selection_slack(n_features + 2)
        return Entry(self.query, self.share, "cover", scale, noise, slack, self.loss(), PAPERS)

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


@dataclass(frozen=True)
class Picked:
    """A point of a grid, in lattice steps, that was picked to cover rows, and for which radius."""

    point: Ints
    radius: int


def release_cover(data: PrivateData, grids: Grids, share: Share, picks: int) -> list[Picked]:
    """See `Curator.cover`."""
    nets = data.admit(grids, (Grids,), share).nets()
    all_picks = check_whole(picks, "picks") * len(nets)
    covering = Covering(f"{picks} {grids}", share, data.rows_per_neighbour, all_picks)

    def read(rows: Rows) -> list[Picked]:
        (left,) = rows.split(data.box, 1, 0)
        found = []
        for radius, net in zip(grids.radii, nets, strict=True):
            cover = Cover(left, net)
            for _ in range(picks):
                found.append(Picked(data.draw(covering, cover), radius))
                cover.leave(found[-1].point)
            left = cover.left()
        return found

    return data.release([covering.entry(grids.n_features)], read)

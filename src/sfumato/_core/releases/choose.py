"""Private selection: the release of one of several candidates, or some of them in turn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from sfumato._accounting.budget import Entry, Share
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.choose import SCORES, Score
from sfumato._core.sampling.choice import Selector, exponential, permute_and_flip, selection_slack
from sfumato._core.sampling.source import Noise
from sfumato.engines._rows import Rows

PAPERS = "The papers' queries"
"""The chapter of docs/trusted.md that selections belong to."""


@dataclass(frozen=True)
class Selection:
    """One draw by integer scores that a neighbour moves by at most `most`.

    Guarantee: ε-DP for the ε of its share, by the exponential mechanism or by permute-and-flip,
    which is never worse; monotone scores need half the noise of others, under either mechanism.
    """

    query: str
    share: Share
    most: int
    monotone: bool
    candidates: int = 2**16
    law: Selector = "exponential"

    def __post_init__(self) -> None:
        if self.share.kind != "pure":
            raise TypeError(f"a selection takes a pure share, got {self.share.kind!r}")
        if self.law not in get_args(Selector):
            raise ValueError(f"a selection is one of {get_args(Selector)}, got {self.law!r}")

    @property
    def scale(self) -> Fraction:
        """The difference of scores that makes a candidate e times as likely."""
        return Fraction(self.most * (1 if self.monotone else 2)) / self.share.amount

    def loss(self) -> Fraction:
        """ε of this draw."""
        return Fraction(self.most if self.monotone else 2 * self.most) / self.scale

    def entry(self) -> Entry:
        """The line of the account for this selection."""
        noise = f"e-fold at {float(self.scale / self.most):.3g} × one row"
        slack = selection_slack(self.candidates)
        return Entry(
            self.query, self.share, self.law, self.scale, noise, slack, self.loss(), PAPERS
        )

    def draw(self, noise: Noise, scores: Any) -> int:  # noqa: ANN401
        """Select one candidate."""
        draw = permute_and_flip if self.law == "permute_and_flip" else exponential
        return draw(
            noise,
            scores,
            epsilon=self.share.amount,
            sensitivity=self.most,
            monotone=self.monotone,
        )


def release_choice(
    data: PrivateData, score: Score, share: Share, picks: int, law: Selector
) -> list[int]:
    """See `Curator.choose`."""
    data.admit(score, SCORES, share)
    if not 1 <= picks <= score.n_candidates:
        raise ValueError(f"from {score.n_candidates} candidates, {picks} cannot be picked")
    most = score.sensitivity(ball=data.in_ball) * data.rows_per_neighbour
    name, of = f"one of {score}", max(2**16, score.n_candidates)
    selections = [
        Selection(name, part, most, monotone=True, candidates=of, law=law)
        for part in share.evenly(picks)
    ]

    def pick(rows: Rows) -> list[int]:
        scores = score.scores(rows.fold(data.box, score))
        left = list(range(len(scores)))
        return [left.pop(data.draw(s, scores[left])) for s in selections]

    return data.release([s.entry() for s in selections], pick)

"""One private selection: which candidates, bought with which share, how peaked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.budget import Entry, Share
from sfumato.curator.noise import Noise, selection_slack
from sfumato.curator.select import exponential


@dataclass(frozen=True)
class Selection:
    """The exponential mechanism over integer scores that a neighbour moves by at most `most`.

    Guarantee: ε-DP for the ε of its share; monotone scores need half the noise.
    """

    question: str
    share: Share
    most: int
    monotone: bool
    candidates: int = 2**16

    def __post_init__(self) -> None:
        if self.share.kind != "pure":
            raise TypeError(f"a selection is bought with a pure share, got {self.share.kind!r}")

    @property
    def scale(self) -> Fraction:
        """The difference of scores that makes a candidate e times as likely."""
        return Fraction(self.most * (1 if self.monotone else 2)) / self.share.amount

    def entry(self) -> Entry:
        """The line of the account that pays for this selection."""
        return Entry(
            question=self.question,
            share=self.share,
            law="exponential",
            scale=self.scale,
            noise=f"e-fold at {float(self.scale / self.most):.3g} × one row",
            slack=selection_slack(self.candidates),
        )

    def draw(self, noise: Noise, scores: Any) -> int:  # noqa: ANN401
        """Select one candidate."""
        return exponential(
            noise,
            scores,
            epsilon=self.share.amount,
            sensitivity=self.most,
            monotone=self.monotone,
        )

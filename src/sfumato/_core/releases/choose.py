"""One private selection: which candidates, bought with which share, how peaked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from sfumato._accounting.budget import Entry, Share
from sfumato._core.sampling.choice import Law, exponential, permute_and_flip
from sfumato._core.sampling.source import Noise, selection_slack


@dataclass(frozen=True)
class Selection:
    """One draw by integer scores that a neighbour moves by at most `most`.

    Guarantee: ε-DP for the ε of its share, by the exponential mechanism or by permute-and-flip,
    which is never worse; monotone scores need half the noise of others, under either law.
    """

    query: str
    share: Share
    most: int
    monotone: bool
    candidates: int = 2**16
    law: Law = "exponential"

    def __post_init__(self) -> None:
        if self.share.kind != "pure":
            raise TypeError(f"a selection is bought with a pure share, got {self.share.kind!r}")
        if self.law not in get_args(Law):
            raise ValueError(f"the law of a selection is one of {get_args(Law)}, got {self.law!r}")

    @property
    def scale(self) -> Fraction:
        """The difference of scores that makes a candidate e times as likely."""
        return Fraction(self.most * (1 if self.monotone else 2)) / self.share.amount

    def loss(self) -> Fraction:
        """ε of this draw."""
        return Fraction(self.most if self.monotone else 2 * self.most) / self.scale

    def entry(self) -> Entry:
        """The line of the account that pays for this selection."""
        return Entry(
            query=self.query,
            share=self.share,
            law=self.law,
            scale=self.scale,
            noise=f"e-fold at {float(self.scale / self.most):.3g} × one row",
            slack=selection_slack(self.candidates),
            loss=self.loss(),
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

"""The one room with raw rows and noise. Nothing leaves it without a charge and noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato._accounting.budget import Account, Caps, Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer, CellTotals, Tree
from sfumato._core.queries.choose import Score, check_score
from sfumato._core.queries.counts import (
    Cells,
    Counts,
    CountsBatch,
    Grid,
    Nearest,
    NearestInProjection,
    Query,
    Totals,
    check_batch,
    check_query,
)
from sfumato._core.releases import sample_aggregate as block_work
from sfumato._core.releases.choose import Selection
from sfumato._core.releases.counts import Measurement, counts_part, joint_part, sums_part
from sfumato._core.releases.first_below import Thresholds
from sfumato._core.releases.max_cover import Covers
from sfumato._core.releases.moments import Moments
from sfumato._core.releases.privtree import Trees
from sfumato._core.sampling.choice import Law
from sfumato._core.vault import Views
from sfumato._lattice.box import REACH
from sfumato.engines._rows import Rows

__all__ = ["Answer", "CellTotals", "Curator", "Tree"]


class Curator(Trees, Thresholds, Moments, Covers, Views):
    """Answers queries about the rows of one dataset until its budget is used up.

    Parameters
    ----------
    X : array, data frame, path or rows of an engine
        The dataset. It is not read before the first query is charged.
    bounds : pair (lower, upper)
        Public bounds, scalars or one value per column.
    epsilon, delta : float
        The total budget of this dataset, across all fits; `delta=0` is pure ε-DP.
    nan : {"center", "drop"}
        What becomes of cells that are not finite numbers.
    groups : array or column name, optional
        Whose rows are whose. One whole group is then protected instead of one row.
    max_rows_per_group : int
        Rows kept of each group.
    ledger : Ledger, optional
        The budget, in place of `epsilon` and `delta`.

    Guarantee: all answers together satisfy the (ε, δ) of the ledger for adding or removing one row,
    or one group, however the queries were chosen: every answer is charged before a row is read,
    its noise fits the proven sensitivity of its query, and its scale depends on public numbers.

    """

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Set a part of the budget aside for one fit; raises `Overspent` if too little is left."""
        return self.ledger.open(purpose, caps)

    def counts(self, cells: Cells, *, share: Share) -> Answer:
        """Release how many rows lie in each cell, with noise on every cell, empty ones included.

        Sensitivity: see `Counts`.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share.
        """
        query = check_query(Counts(cells), self.box.n_features)
        self._check(share)
        part = counts_part(cells, share, self._rows_per_neighbour)
        return _flat(self._release(query, part)[0])

    def counts_of_each(self, cells: Sequence[Cells], *, share: Sequence[Share]) -> list[Answer]:
        """Release what `counts` would for each of these in turn, from one pass over the rows.

        Sensitivity: see `Counts`, for each by itself.
        Guarantee: that of `counts` for each and its own share; their costs add.
        """
        if len(cells) != len(share):
            raise ValueError(f"{len(share)} shares were given for {len(cells)} queries")
        each = check_batch(cells, self.box.n_features)
        self._check(*share)
        parts = [
            replace(counts_part(c, s, self._rows_per_neighbour), lines=lines)
            for c, s, lines in zip(cells, share, each.lines(), strict=True)
        ]
        return [_flat(answer) for answer in self._release(each, *parts)]

    def sums(
        self,
        cells: Nearest | Grid | NearestInProjection,
        *,
        share: Share,
        counts: Share | None = None,
        radius: int | Sequence[int] | None = None,
        joint: bool = False,
    ) -> CellTotals:
        """Release the coordinate sums of each cell, in lattice steps, and its count if asked.

        `counts` buys the counts of the same cells from the same pass over the rows. With `radius`,
        one for all cells or one for each, rows enter relative to their centre, shortened to that
        many steps. The deviation stated is that of the widest cell, the others' is in proportion.
        `joint=True` buys sums and counts together from one pure share, with cylinder noise on
        (count, sums) or, without a radius, cube noise on (REACH·count, sums).

        Sensitivity: see `Totals`; (REACH·count, sums) moves by REACH in the largest entry, and with
        a radius (count, sums) of cell j by 1 and, in L2, by R_j.
        Guarantee: as `counts`, each part for its own share, with the scale of cell j fitted to R_j;
        cube noise and cylinder noise are ε-DP for their one share.
        """
        query = Totals(cells, radius)
        check_query(query, self.box.n_features)
        self._check(share, *([counts] if counts is not None else []))
        if joint:
            return self._joint(query, share, counts)
        parts = [sums_part(query, share, self._rows_per_neighbour, self.box)]
        if counts is not None:
            parts.append(counts_part(cells, counts, self._rows_per_neighbour))
        answers = self._release(query, *parts)
        return CellTotals(answers[0], _flat(answers[1]) if counts is not None else None)

    def _joint(self, query: Totals, share: Share, counts: Share | None) -> CellTotals:
        if share.kind != "pure" or counts is not None:
            raise ValueError("joint counts and sums take one pure share")
        part, count_std = joint_part(query, share, self._rows_per_neighbour, self.box)
        values = self._release(query, part)[0].values
        rows = values[:, 0] / (REACH if query.radius is None else 1)
        return CellTotals(Answer(values[:, 1:], part.std), Answer(rows, count_std))

    def choose(
        self, score: Score, *, share: Share, picks: int = 1, law: Law = "exponential"
    ) -> list[int]:
        """Select `picks` candidates one after another, without putting them back.

        Sensitivity: see the score; less in a view with `ball=True`. All scores of a dataset come
        from one pass over the rows.
        Guarantee: each pick is an exponential mechanism, or permute-and-flip, over the candidates
        that are left, for an equal part of the share; the parts add up to it.
        """
        score = check_score(score, self.box.n_features, picks)
        self._check(share)
        most = score.sensitivity(ball=self._in_ball) * self._rows_per_neighbour
        name, of = f"one of {score}", max(2**16, score.n_candidates)
        selections = [
            Selection(name, part, most, monotone=True, candidates=of, law=law)
            for part in share.evenly(picks)
        ]

        def pick(rows: Rows) -> list[int]:
            scores = score.scores(rows.fold(self.box, score))
            left = list(range(len(scores)))
            return [left.pop(self._draw(s, scores[left])) for s in selections]

        return self._pay([s.entry() for s in selections], pick)

    def block_means(self, k: int, *, blocks: int, share: Share, key: int) -> Answer:
        """Release the average of k centres over disjoint blocks: sample and aggregate.

        A keyed hash of a row's own values picks its block; k-means in each block gives k centres in
        canonical order. Half of the share buys, for each column, a lower and an upper quantile
        of all block centres; these are clipped to that range and averaged.

        Sensitivity: a row changes one block, so at most k of the values that a quantile ranks, and
        the sum of the clipped centres by at most k times the range in each column.
        Guarantee: 2d exponential mechanisms and d Laplace mechanisms, each for an equal part.
        """
        plan = block_work.BlockPlan(k, blocks, self.box.n_features, self._rows_per_neighbour)
        self._check(share)
        for_range, for_means = share.evenly(2)
        edges = plan.edge_selections(for_range)
        plan.check(for_means)

        def find(rows: Rows) -> tuple[Ints, Ints]:
            centers = block_work.block_centers(rows.split(self.box, blocks, key), k, key)
            chosen = [self._draw(s, scores) for s, scores in plan.edge_scores(edges, centers)]
            return centers, plan.ranges(chosen)

        centers, ranges = self._pay([s.entry() for s in edges], find)
        parts = plan.mean_parts(for_means, ranges, self.box)

        def average(_: Rows) -> list[Ints]:
            sums = plan.clipped_sums(centers, ranges)
            return [self._perturb(p.mechanism, p.pick(sums)) for p in parts]

        noisy = self._pay([p.entry() for p in parts], average)
        means = np.concatenate(noisy, axis=1).astype(np.float64) / blocks
        return Answer(means, max(p.std for p in parts) / blocks)

    def _release(self, query: Query | CountsBatch, *parts: Measurement) -> list[Answer]:
        """Fold the rows once and release every part with its own noise."""
        for part in parts:
            part.mechanism.check(part.shape)

        def read(rows: Rows) -> list[Ints]:
            exact = rows.fold(self.box, query)
            lines = exact.reshape(len(exact), -1)
            return [self._perturb(p.mechanism, p.pick(lines)) for p in parts]

        noisy = self._pay([p.entry() for p in parts], read)
        return [Answer(n.astype(np.float64), p.std) for n, p in zip(noisy, parts, strict=True)]


def _flat(answer: Answer) -> Answer:
    return Answer(answer.values[:, 0], answer.noise_std)

"""Sample and aggregate: k-means in disjoint blocks of rows, in exact integers.

What comes out of a block is a function of that block's rows, its number and the public key, to the
last bit: sums and distances are whole numbers below 2^53, whatever the sizes of other blocks. A
coordinate that is absent is taken for the mean of its column in its own block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato._accounting.budget import Share
from sfumato._base.types import Floats, Ints, Lattice
from sfumato._base.validation import check_whole, in_digits
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import Laplace
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.cells import Sensitivity
from sfumato._core.releases.choose import PAPERS, Selection
from sfumato._core.releases.counts import Measurement
from sfumato._lattice.box import ABSENT, MAX_NUMBERS, REACH, Box, has_gaps
from sfumato._lattice.kernels.gaps import filled_with_means
from sfumato.engines._rows import Rows

ITERATIONS = 10
EDGE = 0.02
"""The part of all block centres that may lie below the lower edge, and above the upper one."""

Bools = NDArray[np.bool_]

_LEVELS = 2 * REACH + 1
_BATCH_CELLS = 2**21


@dataclass(frozen=True)
class BlockPlan:
    """Everything about averaging k centres over blocks that is known before a row is read."""

    k: int
    blocks: int
    n_features: int
    rows: int

    def __post_init__(self) -> None:
        if self.k < 1 or self.blocks < 1:
            raise ValueError(f"at least one centre and one block, got {self.k} and {self.blocks}")
        if self.k * self.blocks * self.n_features > MAX_NUMBERS:
            raise ValueError(
                f"{in_digits(self.k)} centres in {in_digits(self.blocks)} blocks and "
                f"{self.n_features:,} columns have more than {MAX_NUMBERS:,} numbers: take fewer "
                "blocks"
            )

    def edge_selections(self, share: Share) -> list[Selection]:
        """Two quantiles of the block centres in each column.

        Sensitivity: a row changes one block, so k of the values that are ranked, and no rank by
        more than k. A replaced value can move a rank up or down: not monotone.
        """
        name = "an edge of the range of block centres"
        return [
            Selection(name, part, self.k * self.rows, monotone=False, candidates=_LEVELS)
            for part in share.evenly(2 * self.n_features)
        ]

    def edge_scores(
        self, edges: Sequence[Selection], centers: Ints
    ) -> Iterator[tuple[Selection, Ints]]:
        """Score every lattice value by how far its rank is from the rank that is wanted."""
        total = self.k * self.blocks
        outside = int(EDGE * total)
        for i, edge in enumerate(edges):
            counts = np.bincount(centers[:, :, i // 2].ravel() + REACH, minlength=_LEVELS)
            below = np.concatenate(([0], counts.cumsum()[:-1]))
            yield edge, -np.abs(below - (total - outside if i % 2 else outside))

    def ranges(self, chosen: Sequence[int]) -> Ints:
        """Lower and upper edge of every column, in lattice steps, from the chosen values."""
        return np.sort(np.array(chosen).reshape(self.n_features, 2) - REACH, axis=1)

    def check(self, share: Share) -> None:
        """Refuse, before any charge, noise that cannot be drawn for the widest range."""
        widest = np.tile([-REACH, REACH], (self.n_features, 1))
        for part, most in self._columns(share, widest):
            Laplace.fitting(part, most).check((self.k, 1))

    def mean_parts(self, share: Share, ranges: Ints, box: Box) -> list[Measurement]:
        """One part for each column of the summed centres.

        Sensitivity: a row changes one block, whose k clipped values in a column each move by at
        most the range of that column.
        """
        parts = []
        for i, (part, most) in enumerate(self._columns(share, ranges)):
            law = Laplace.fitting(part, most)
            noise = f"± {law.std / self.blocks * float(box.step[i]):.3g} per mean"
            name = f"means over {self.blocks} blocks of {self.k} centres"
            where = (slice(None), slice(i, i + 1))
            loss, shape = law.loss(most), (self.k, 1)
            parts.append(Measurement(name, part, law, shape, law.std, noise, loss, where, PAPERS))
        return parts

    def _columns(self, share: Share, ranges: Ints) -> list[tuple[Share, Sensitivity]]:
        """An equal part of the share for each column, and how far its sums may move."""
        widths = [max(1, int(high - low)) * self.k * self.rows for low, high in ranges]
        most = [Sensitivity(width, width * width) for width in widths]
        return list(zip(share.evenly(self.n_features), most, strict=True))

    def clipped_sums(self, centers: Ints, ranges: Ints) -> Ints:
        """Sum the centres of all blocks, clipped to the range of their column."""
        sums: Ints = np.clip(centers, ranges[:, 0], ranges[:, 1]).sum(axis=0)
        return sums


def release_block_means(data: PrivateData, k: int, blocks: int, share: Share, key: int) -> Answer:
    """See `Curator.block_means`."""
    # Whole numbers of Python: a product of NumPy's would wrap around.
    k, blocks = check_whole(k, "k"), check_whole(blocks, "blocks")
    key = check_whole(key, "key", least=0)
    plan = BlockPlan(k, blocks, data.box.n_features, data.rows_per_neighbour)
    data.admit(plan, (BlockPlan,), share)
    for_range, for_means = share.evenly(2)
    edges = plan.edge_selections(for_range)
    plan.check(for_means)

    def find(rows: Rows) -> tuple[Ints, Ints]:
        centers = block_centers(rows.split(data.box, blocks, key), k, key)
        chosen = [data.draw(s, scores) for s, scores in plan.edge_scores(edges, centers)]
        return centers, plan.ranges(chosen)

    centers, ranges = data.release([s.entry() for s in edges], find)
    parts = plan.mean_parts(for_means, ranges, data.box)

    def average(_: Rows) -> list[Ints]:
        sums = plan.clipped_sums(centers, ranges)
        return [data.perturb(p.mechanism, p.pick(sums)) for p in parts]

    noisy = data.release([p.entry() for p in parts], average)
    means = np.concatenate(noisy, axis=1).astype(np.float64) / blocks
    return Answer(means, max(p.std for p in parts) / blocks)


def block_centers(blocks: Iterator[Lattice], k: int, key: int) -> Ints:
    """Find k centres in every block, in canonical order; zeros where a block has fewer rows."""
    found: list[Ints] = []
    batch: list[Lattice] = []
    cells = 0
    for block in blocks:
        batch.append(block)
        cells = max(cells, len(block) * (k + block.shape[1]))
        if cells * len(batch) >= _BATCH_CELLS:
            found.append(_batch_centers(batch, k, key, sum(map(len, found))))
            batch, cells = [], 0
    if batch:
        found.append(_batch_centers(batch, k, key, sum(map(len, found))))
    return np.concatenate(found)


def _batch_centers(batch: list[Lattice], k: int, key: int, first: int) -> Ints:
    d = batch[0].shape[1]
    rows = np.zeros((len(batch), max(1, *map(len, batch)), d))
    inside = np.zeros(rows.shape[:2], dtype=np.bool_)
    centers = np.zeros((len(batch), k, d))
    gaps = np.zeros(rows.shape, dtype=np.bool_) if any(map(has_gaps, batch)) else None
    for i, given in enumerate(batch):
        block = filled_with_means(given)
        order = np.lexsort(block.T[::-1])
        ordered = block[order].astype(np.float64)
        rows[i, : len(block)], inside[i, : len(block)] = ordered, True
        if gaps is not None:
            gaps[i, : len(block)] = given[order] == ABSENT
            whole = ordered[~gaps[i, : len(block)].any(axis=1)]
            ordered = whole if len(whole) >= k else ordered
        if len(block) >= k:
            centers[i] = _spread_start(ordered, k, np.random.default_rng([key, first + i]))
    for _ in range(ITERATIONS):
        centers = _lloyd(rows, inside, centers, gaps)
    centers[inside.sum(axis=1) < k] = 0
    order = np.lexsort(centers.transpose(2, 0, 1)[::-1], axis=-1)
    return np.take_along_axis(centers, order[:, :, None], axis=1).astype(np.int64)


def _spread_start(rows: Floats, k: int, rng: np.random.Generator) -> Floats:
    """k-means++ on one block: rows drawn by their squared distance to those drawn before."""
    chosen = [int(rng.integers(len(rows)))]
    squared = np.full(len(rows), np.inf)
    while len(chosen) < k:
        squared = np.minimum(squared, np.square(rows - rows[chosen[-1]]).sum(axis=1))
        reached = squared.cumsum()
        place = int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
        chosen.append(min(place, len(rows) - 1))
    return rows[chosen]


def _lloyd(rows: Floats, inside: Bools, centers: Floats, gaps: Bools | None) -> Floats:
    """One step in every block; what a row does not have neither parts nor pulls centres."""
    squares = np.square(centers)
    if gaps is None:
        scores = squares.sum(axis=2)[:, None] - 2 * rows @ centers.transpose(0, 2, 1)
        nearest = scores.argmin(axis=2)
    else:
        scores = (~gaps).astype(np.float64) @ squares.transpose(0, 2, 1)
        scores -= 2 * np.where(gaps, 0, rows) @ centers.transpose(0, 2, 1)
        nearest = scores.argmin(axis=2)
        rows = np.where(gaps, np.take_along_axis(centers, nearest[:, :, None], axis=1), rows)
    member = (nearest[:, :, None] == np.arange(centers.shape[1])) & inside[:, :, None]
    sizes = member.sum(axis=1)[:, :, None]
    sums = member.transpose(0, 2, 1).astype(np.float64) @ rows
    moved: Floats = np.where(sizes > 0, np.rint(sums / np.maximum(sizes, 1)), centers)
    return moved

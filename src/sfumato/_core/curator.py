"""The curator: answers queries about one dataset until its budget is used up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from sfumato._accounting.budget import Account, Caps, Ledger, Share, Uncopied
from sfumato._base.validation import NoFeature, check_delta, check_epsilon, check_max_rows
from sfumato._core.answers import Answer, CellMoments, CellTotals, Tree
from sfumato._core.declared import Opened, declared_schema, opened_ledger
from sfumato._core.parts import (
    VIEWED,
    Opening,
    Undivided,
    divide,
    opened,
    reopened,
    undivided,
)
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.breakdown import Breakdown
from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.choose import Score
from sfumato._core.queries.closeness import Closeness
from sfumato._core.queries.counts import Cells
from sfumato._core.queries.cubes import NearestInProjection
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.queries.group_sizes import GroupSizes
from sfumato._core.queries.max_cover import Grids
from sfumato._core.queries.moments import Moment
from sfumato._core.queries.privtree import Domain
from sfumato._core.queries.projection import Projection
from sfumato._core.queries.scatter import Scatter
from sfumato._core.releases.breakdown import release_breakdown
from sfumato._core.releases.choose import release_choice
from sfumato._core.releases.closeness import release_closeness
from sfumato._core.releases.counts import release_counts, release_sums
from sfumato._core.releases.counts_each import release_batch
from sfumato._core.releases.first_below import release_first_below, release_first_below_each
from sfumato._core.releases.group_sizes import (
    check_groups,
    choose_max_rows,
    release_group_sizes,
)
from sfumato._core.releases.max_cover import Picked, release_cover
from sfumato._core.releases.moments import release_moments
from sfumato._core.releases.privtree import release_tree
from sfumato._core.releases.sample_aggregate import release_block_means
from sfumato._core.releases.scatter import release_scatter
from sfumato._core.sampling.choice import Selector
from sfumato._core.sampling.source import Noise, SecureNoise
from sfumato._lattice.box import Box, NanPolicy, columns_in
from sfumato._schema.schema import Schema
from sfumato.engines._elsewhere import names_of
from sfumato.engines._open import elsewhere, rows_of
from sfumato.engines._rows import Rows

__all__ = ["Answer", "CellMoments", "CellTotals", "Curator", "Tree"]


class Curator(Uncopied):
    """Answers queries about the rows of one dataset until its budget is used up.

    Parameters
    ----------
    X : array, data frame, path or rows of an engine
        The dataset. It is not read before the first query is charged.
    bounds : pair (lower, upper) or dict of pairs by column name
        Public bounds, scalars or one value per column; not needed where the ledger declares them.
        Columns that a dict does not name are left alone.
    epsilon, delta : float
        The total budget of this dataset, across all fits; `delta=0` is pure ε-DP.
    nan : {"ignore", "center", "drop"}
        What becomes of cells that are not finite numbers: their row counts with the columns it has,
        they go to the centre of their column, or their row is left out.
    groups : array or column name, optional
        Whose rows are whose. One whole group is then protected instead of one row.
    max_rows_per_group : int or "private"
        Rows kept of each group. "private" chooses the number here, with a twentieth of ε, which
        is charged before the groups are counted; `rows_per_neighbour` is the number.
    ledger : Ledger, path or str, optional
        The budget, in place of `epsilon` and `delta`; or where it is kept: a SQLite file, or
        postgresql://user@host/database.
    dataset : str, optional
        The name of the dataset there, if there are several.
    schema : Schema, optional
        What is public about each column, in place of `bounds`, `nan` and `groups`.

    Guarantee: all answers together satisfy the (ε, δ) of the ledger for adding or removing one row,
    or one group, however the queries were chosen: every answer is charged before a row is read,
    its noise is calibrated to the proven sensitivity of its query, and its scale depends on public
    numbers.

    """

    _data_type: type[PrivateData] = PrivateData

    def __init__(  # noqa: PLR0913
        self,
        X: Any,  # noqa: ANN401
        *,
        bounds: Any = None,  # noqa: ANN401
        epsilon: float | None = None,
        delta: float = 0.0,
        nan: NanPolicy = "ignore",
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int | str = 1,
        ledger: Opened | None = None,
        dataset: str | None = None,
        schema: Schema | None = None,
        noise: Noise | None = None,
    ) -> None:
        ledger = _budget(epsilon, delta, ledger, dataset)
        limit, noise = check_max_rows(max_rows_per_group), noise or SecureNoise()
        if schema is not None or isinstance(bounds, Mapping):
            schema = declared_schema(schema, bounds, nan, ledger)
        self._opening = Opening(X, groups, bounds, nan, noise, schema=schema, limit=limit or 1)
        try:
            self._opening, rows, box = _opened(self._opening, ledger)
            if limit is None:
                check_groups(rows, ledger)
            self._data = self._data_type(rows, box, ledger, noise)
        except NoFeature as refusal:
            self._data = undivided(refusal, self._opening, ledger)
        if limit is None:
            chosen = choose_max_rows(self._data)
            self._data = self._data.keeping(chosen.number)
            self._opening = replace(self._opening, notes=(chosen.note,), limit=chosen.number)

    @property
    def ledger(self) -> Ledger:
        """The budget of this dataset."""
        return self._data.ledger

    @property
    def box(self) -> Box:
        """The bounds, and the lattice in them."""
        return self._data.box

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._data.box.n_features

    @property
    def rows_per_neighbour(self) -> int:
        """How many rows one neighbour may take away: 1, or the most that a group may have.

        With weights, so many times the copies of a row of the largest weight.
        """
        return self._data.rows_per_neighbour

    @property
    def neighbours(self) -> str:
        """What is protected as a whole, in words."""
        return self._data.neighbours

    @property
    def source(self) -> str:
        """Where the rows come from: the chapter of docs/trusted.md about it."""
        return self._data.source

    def __repr__(self) -> str:
        epsilon, delta = (float(x) for x in self.ledger.left)
        of = "to divide" if isinstance(self._data, Undivided) else f"n_features={self.n_features}"
        return f"Curator({of}, left=({epsilon:.6g}, {delta:.3g}))"

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns, if the table gives every one of them its own."""
        return self.schema.features if self.schema else _names(self._opening, self.n_features)

    @property
    def schema(self) -> Schema | None:
        """What is declared about the columns, if they go by name."""
        return self._opening.schema

    @property
    def notes(self) -> tuple[str, ...]:
        """What a receipt says about the rows: of a part, which ones they are; what was declared."""
        return (*self._opening.notes, *(self.schema.notes() if self.schema else ()))

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Set a part of the budget aside for one fit; raises `Overspent` if too little is left."""
        return self.ledger.reserve(purpose, caps)

    def view(self, projection: Projection) -> Self:
        """Open the same rows as seen through a public linear map, which is free.

        The map is applied within every pass; no mapped copy of the rows is made. The `box` of the
        view has one unit per lattice step. Shares come from any account of this curator.

        Sensitivity: see `Projection`. A row of the table is one row of the view.
        Guarantee: that of this curator; nothing is read or released here. A view has the ledger,
        the noise, the rows and the groups of the curator it was opened from.
        """
        seen = self._data.seen_through(self._data.admit(projection, (Projection,)))
        return self._like(seen, replace(self._opening, refusal=VIEWED, schema=None))

    def over(self, names: Iterable[str]) -> Self:
        """Open the same rows with these columns of the schema, which is free.

        Sensitivity: a row of the table is one row, whichever of its columns are read.
        Guarantee: that of this curator; nothing is read or released here. What is opened has the
        ledger, the noise and the groups of this curator.
        """
        return self._like(*reopened(self._data, self._opening, self._data_type, names))

    def by(self, column: Any, *, values: Iterable[Any]) -> dict[Any, Self]:  # noqa: ANN401
        """Divide the rows by a column: one curator for each value, charged side by side.

        `column` is the name of a column, which is no feature of the parts, or has one label per
        row of an array. `values` is a public list, decided without looking at the rows. Labels are
        compared by value: 7, 7.0 and "7" are one. Rows with another label, or with none, are in no
        part; a value that no row has is a part without rows.

        Sensitivity: a row lies in one part at most, by its own label alone.
        Guarantee: that of this curator; nothing is read here. All parts of one call together
        reserve, of ε, of δ and of every other unit, the largest of what each of them does. Two
        calls, and a call and what is asked of this curator, add up. Groups are refused: their rows
        may lie in several parts.
        """
        found = divide(self._data, self._opening, self._data_type, column, values)
        return {value: self._like(*part) for value, part in found.items()}

    def _like(self, data: PrivateData, opening: Opening) -> Self:
        """A curator of the same kind with these rows and their ledger."""
        found = object.__new__(type(self))
        vars(found).update(_data=data, _opening=opening)
        return found

    def counts(self, cells: Cells, *, share: Share) -> Answer:
        """Release how many rows lie in each cell, with noise on every cell, empty ones included.

        Sensitivity: see `Counts`.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share.
        """
        return release_counts(self._data, cells, share)

    def counts_of_each(self, cells: Sequence[Cells], *, share: Sequence[Share]) -> list[Answer]:
        """Release what `counts` would for each of these in turn, from one pass over the rows.

        Sensitivity: see `Counts`, for each by itself.
        Guarantee: that of `counts` for each and its own share; their costs add.
        """
        return release_batch(self._data, cells, share)

    def breakdown(self, query: Breakdown, *, share: Share) -> list[Answer]:
        """Release how many rows of each cell lie in each bin of each column, from one pass.

        One answer for each column, of shape (cells, bins); every bin of every cell gets noise. A
        row whose value of a column is missing is in no bin of it.

        Sensitivity: see `Breakdown`: a row moves at most one count of each column by 1.
        Guarantee: as `counts`, for one share for all columns together.
        """
        return release_breakdown(self._data, query, share)

    def sums(
        self,
        cells: Nearest | Grid | NearestInProjection,
        *,
        share: Share,
        counts: Share | None = None,
        radius: int | Sequence[int] | None = None,
        columns: int | None = None,
        joint: bool = False,
    ) -> CellTotals:
        """Release the coordinate sums of each cell, in lattice steps, and its count if asked.

        `counts` is a share for the counts of the same cells, from the same pass over the rows. With
        `radius`, one for all cells or one for each, rows enter relative to their centre, clipped to
        that many steps. The deviation stated is that of the cell with the largest radius, the
        others' is in proportion. With `columns` only so many columns, the first, are summed and
        clipped. `joint=True` releases sums and counts together for one pure share, with cylinder
        noise on (count, sums) or, without a radius, cube noise on (REACH·count, sums).

        Sensitivity: see `Totals`; (REACH·count, sums) moves by REACH in the largest entry, and with
        a radius (count, sums) of cell j by 1 and, in L2, by R_j.
        Guarantee: as `counts`, each part for its own share, with the scale of cell j calibrated to
        R_j; cube noise and cylinder noise are ε-DP for their one share.
        """
        return release_sums(self._data, cells, share, counts, radius, columns, joint=joint)

    def choose(
        self, score: Score, *, share: Share, picks: int = 1, law: Selector = "exponential"
    ) -> list[int]:
        """Select `picks` candidates one after another, without putting them back.

        Sensitivity: see the score; less in a view with `ball=True`. All scores of a dataset come
        from one pass over the rows.
        Guarantee: each pick is an exponential mechanism, or permute-and-flip, over the candidates
        that are left, for an equal part of the share; the parts add up to it.
        """
        return release_choice(self._data, score, share, picks, law)

    def block_means(self, k: int, *, blocks: int, share: Share, key: int) -> Answer:
        """Release the average of k centres over disjoint blocks: sample and aggregate.

        A keyed hash of a row's own values picks its block; k-means in each block gives k centres in
        canonical order. Half of the share is for a lower and an upper quantile of all block
        centres in each column; these are clipped to that range and averaged.

        Sensitivity: a row changes one block, so at most k of the values that a quantile ranks, and
        the sum of the clipped centres by at most k times the range in each column.
        Guarantee: 2d exponential mechanisms and d Laplace mechanisms, each for an equal part.
        """
        return release_block_means(self._data, k, blocks, share, key)

    def grow(self, domain: Domain, *, share: Share, counts: Share, max_leaves: int = 2**17) -> Tree:
        """Release a tree of boxes over a domain, and how many rows lie in each of its leaves.

        Boxes with many rows are halved on their widest side again and again: `share` is for the
        bits that say which (see `PrivTreeSplits`), `counts` for the noisy counts of the leaves.
        Nodes split level by level, from the left; once there are `max_leaves` leaves no more do.

        Sensitivity: a row lies in the boxes of one path from the root to one leaf. Every bit on
        that path has a count that moves by 1; the leaves are disjoint, so one count moves by 1.
        Guarantee: all bits together are ε-DP for `share`, whatever the depth of the tree; the
        counts of the leaves as in `counts`, for their own share. Both are charged at once.
        """
        return release_tree(self._data, domain, share, counts, max_leaves)

    def first_below(self, counts: RowsBeyond, threshold: int, *, share: Share) -> int:
        """Release the index of the first edge beyond which about `threshold` rows lie, or fewer.

        The number of edges stands for none. One share is enough for any number of edges.

        Sensitivity: see `RowsBeyond`: a row moves all counts the same way, by at most 1.
        Guarantee: ε-DP for the ε of the pure share; see `AboveThreshold`.
        """
        return release_first_below(self._data, counts, threshold, share)

    def first_below_each(
        self, counts: RowsBeyond, thresholds: Sequence[int], *, share: Share
    ) -> list[int]:
        """Release what `first_below` would for the rows of each cell by themselves, at one price.

        Sensitivity: a row lies in one cell, and moves its counts as `RowsBeyond` says.
        Guarantee: ε-DP for the ε of the pure share, for all cells together; see `SearchPerCell`.
        """
        return release_first_below_each(self._data, counts, thresholds, share)

    def moments(self, moment: Moment, *, share: Share) -> Answer:
        """Release Σ x_a² of every column, or Σ x·xᵀ, about the origin of the (viewed) lattice.

        Values are in squared lattice steps. Rows enter in coarser steps, see `queries/moments.py`;
        in still coarser ones where the noise for a tiny share could not be drawn otherwise.
        `noise_std` is that of a square, on the diagonal of the matrix.

        Sensitivity: see `Squares` and `Products`; a view with `ball=True` needs no factor for
        the number of columns.
        Guarantee: for a pure share discrete Laplace noise on squares and ball noise on products,
        for a gdp share rounded Gaussian noise on either.
        """
        return release_moments(self._data, moment, share)

    def scatter(self, scatter: Scatter, *, share: Share) -> CellMoments:
        """Release count, sums and second moments of each cell, about its centre, from one pass.

        Rows enter clipped at the radius of their cell, in steps of a part of it; in coarser ones
        where the noise for a tiny share could not be drawn otherwise. Rows with gaps are left out.

        Sensitivity: see `Scatter`: a row moves the numbers of one cell, by at most one L2 bound.
        Guarantee: for a pure share ball noise on the numbers of each cell, for a gdp share rounded
        Gaussian noise on every number; one share for all of them.
        """
        return release_scatter(self._data, scatter, share)

    def closeness(self, query: Closeness, *, share: Share) -> Answer:
        """Release the count of each cell, and the sums of two scores of its rows: (cells, 3).

        Scores are 2·(min(a, R)/R)^power − 1 and 2·a/b − 1, with the distances a and b to the
        nearest and the next centre. Values and their deviation are in rows.

        Sensitivity: see `Closeness`: a row moves the three numbers of one cell, by 1 each at most.
        Guarantee: for a pure share cube noise on the numbers of each cell, for a gdp share rounded
        Gaussian noise on every number; one share for all of them.
        """
        return release_closeness(self._data, query, share)

    def group_sizes(self, sizes: GroupSizes, *, share: Share) -> Answer:
        """Release how many groups have how many rows, with noise on every size, empty ones too.

        Sensitivity: see `GroupSizes`: a whole group, whatever its rows, moves one count by 1.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share,
        in both cases for one group, not for each of its rows.
        """
        return release_group_sizes(self._data, sizes, share)

    def cover(self, grids: Grids, *, share: Share, picks: int) -> list[Picked]:
        """Pick points, `picks` at each radius from small to large, that cover many rows.

        A pick is an exponential mechanism over all points of its grid, by how many rows it covers
        that none before it did. All rows come to the driver, as many numbers each as the (viewed)
        table has columns.

        Sensitivity: see `Grids`: a row counts until it is covered, and never again.
        Guarantee: all picks together are (ε, δ)-DP for the approximate share; see `Covering`.
        """
        return release_cover(self._data, grids, share, picks)


def _names(opening: Opening, width: int) -> tuple[str, ...] | None:
    """The names of the columns of a table without a schema."""
    return names_of(elsewhere(opening.X), opening.X, opening.labels, width)


def _opened(opening: Opening, ledger: Ledger) -> tuple[Opening, Rows, Box]:
    """Open a table: with the bounds that were given, or as a schema or the ledger declares it."""
    if opening.schema is not None or ledger.bounds is not None:
        return opened(opening, ledger)
    bounds, width = opening.bounds, columns_in(opening.bounds)
    rows = rows_of(opening.X, groups=opening.labels, max_rows_per_group=opening.limit, width=width)
    return opening, rows, Box.of(bounds, rows.n_features, opening.nan)


def _budget(
    epsilon: float | None, delta: float, ledger: Opened | None, dataset: str | None
) -> Ledger:
    """The budget of a curator: a new one, or one that was opened or is to be."""
    if (ledger is None) == (epsilon is None):
        raise ValueError("a curator needs either epsilon (and delta) or a ledger")
    if ledger is None:
        return Ledger(check_epsilon(epsilon), check_delta(delta))
    if type(ledger) is Ledger and dataset is None:
        return ledger
    return opened_ledger(ledger, dataset)

"""The one room with raw rows and noise. Nothing leaves it without a charge and noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from sfumato.box import REACH, Box, Floats, Ints, NanPolicy
from sfumato.budget import Account, Caps, Entry, Ledger, Share
from sfumato.curator.mechanisms import Cube, Mechanism, independent
from sfumato.curator.noise import Noise, SecureNoise
from sfumato.curator.questions import Cells, Counts, Question, Totals, check_question
from sfumato.engines.opening import rows_of
from sfumato.guarantee import neighbours_of
from sfumato.parameters import check_delta, check_epsilon, check_whole


@dataclass(frozen=True)
class Answer:
    """Noisy numbers, in rows or lattice steps, and the standard deviation of their noise."""

    values: Floats
    noise_std: float


@dataclass(frozen=True)
class CellTotals:
    """Noisy coordinate sums of every cell and, where they were bought, its noisy count."""

    sums: Answer
    counts: Answer | None

    @property
    def sizes(self) -> Answer:
        """The counts, where they must have been bought."""
        if self.counts is None:
            raise ValueError("the counts of these cells were not bought")
        return self.counts


@dataclass(frozen=True)
class _Part:
    """Columns of a question's exact answer, the share that buys them and the noise they get."""

    name: str
    share: Share
    mechanism: Mechanism
    columns: slice
    shape: tuple[int, int]
    std: float
    noise: str


class Curator:
    """Answers questions about the rows of one dataset until its budget is used up.

    Parameters
    ----------
    X : array, data frame, path or rows of an engine
        The dataset. It is not read before the first question is charged.
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
    or one group, however the questions were chosen: every answer is charged before a row is read,
    its noise fits the proven sensitivity of its question, and its scale depends on public numbers.

    """

    def __init__(
        self,
        X: Any,  # noqa: ANN401
        *,
        bounds: Any = None,  # noqa: ANN401
        epsilon: float | None = None,
        delta: float = 0.0,
        nan: NanPolicy = "center",
        groups: Any = None,  # noqa: ANN401
        max_rows_per_group: int = 1,
        ledger: Ledger | None = None,
        noise: Noise | None = None,
    ) -> None:
        if (ledger is None) == (epsilon is None):
            raise ValueError("a curator needs either epsilon (and delta) or a ledger")
        self.ledger = ledger or Ledger(check_epsilon(epsilon), check_delta(delta))
        self.__noise: Noise = noise or SecureNoise()
        if self.ledger.durable and self.__noise.replayable:
            raise ValueError("a durable ledger needs secret noise: replayable noise is for tests")
        most = check_whole(max_rows_per_group, "max_rows_per_group")
        self.__rows = rows_of(X, groups=groups, max_rows_per_group=most)
        self.box = Box.of(bounds, self.__rows.n_features, nan)
        self._rows_per_neighbour = most if groups is not None else 1
        self.neighbours = neighbours_of(most if groups is not None else None)

    def __repr__(self) -> str:
        epsilon, delta = (float(x) for x in self.ledger.left)
        return f"Curator(n_features={self.box.n_features}, left=({epsilon:.6g}, {delta:.3g}))"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Curator cannot be copied or pickled: the copy would spend the same budget twice"
        )

    def reserve(self, purpose: str, caps: Caps) -> Account:
        """Set a part of the budget aside for one fit; raises `Overspent` if too little is left."""
        return self.ledger.open(purpose, caps)

    def counts(self, cells: Cells, *, share: Share) -> Answer:
        """Release how many rows lie in each cell, with noise on every cell, empty ones included.

        Sensitivity: see `Counts`.
        Guarantee: discrete Laplace noise for a pure share, rounded Gaussian noise for a gdp share.
        """
        question = Counts(cells)
        self._check(question, share)
        part = self._counts_part(cells, share)
        return _flat(self._release(question, part)[0])

    def sums(
        self,
        cells: Cells,
        *,
        share: Share,
        counts: Share | None = None,
        radius: int | None = None,
        joint: bool = False,
    ) -> CellTotals:
        """Release the coordinate sums of each cell, in lattice steps, and its count if asked.

        `counts` buys the counts of the same cells from the same pass over the rows. With `radius`
        rows enter relative to their centre, shortened to that many steps. `joint=True` buys sums
        and counts together from one pure share, with cube noise on (REACH·count, sums).

        Sensitivity: see `Totals`; (REACH·count, sums) moves by REACH in the largest entry.
        Guarantee: as `counts`, each part for its own share; cube noise is ε-DP for its one share.
        """
        question = Totals(cells, radius)
        if joint:
            return self._joint(question, share, counts)
        self._check(question, share, *([counts] if counts is not None else []))
        parts = [self._sums_part(question, share)]
        if counts is not None:
            parts.append(self._counts_part(cells, counts))
        answers = self._release(question, *parts)
        return CellTotals(answers[0], _flat(answers[1]) if counts is not None else None)

    def _joint(self, question: Totals, share: Share, counts: Share | None) -> CellTotals:
        self._check(question, share)
        if share.kind != "pure" or counts is not None or question.radius is not None:
            raise ValueError("joint counts and sums take one pure share, and no radius")
        shape = (question.cells.n_cells, question.n_features + 1)
        mechanism = Cube.fitting(share, self._rows_per_neighbour)
        std = mechanism.std_in(shape[1])
        noise = f"{_rows(std / REACH)}, {self._steps(std)}"
        part = _Part("counts and sums", share, mechanism, slice(None), shape, std, noise)
        values = self._release(question, part)[0].values
        return CellTotals(Answer(values[:, 1:], std), Answer(values[:, 0] / REACH, std / REACH))

    def _sums_part(self, question: Totals, share: Share) -> _Part:
        mechanism = independent(share, question.sensitivity().times(self._rows_per_neighbour))
        shape = (question.cells.n_cells, question.n_features)
        noise = self._steps(mechanism.std)
        return _Part("sums", share, mechanism, slice(1, None), shape, mechanism.std, noise)

    def _counts_part(self, cells: Cells, share: Share) -> _Part:
        sensitivity = Counts(cells).sensitivity().times(self._rows_per_neighbour)
        mechanism = independent(share, sensitivity)
        noise = _rows(mechanism.std)
        shape = (cells.n_cells, 1)
        return _Part("counts", share, mechanism, slice(0, 1), shape, mechanism.std, noise)

    def _check(self, question: Question, *shares: Share) -> None:
        check_question(question, self.box.n_features)
        for share in shares:
            if not isinstance(share, Share) or share.account is None:
                raise TypeError("a question is paid with a share of an account of this curator")
            if share.account.ledger is not self.ledger:
                raise ValueError("this share belongs to the ledger of another dataset")
            if share.amount <= 0:
                raise ValueError("a question needs a share above 0")

    def _release(self, question: Question, *parts: _Part) -> list[Answer]:
        """Check, charge, read, perturb, record: the only way out of the room."""
        for part in parts:
            part.mechanism.check(part.shape)
        account = parts[0].share.account
        if account is None or any(p.share.account is not account for p in parts):
            raise ValueError("the shares of one question come from one account")
        positions = account.charge([self._entry(question, p) for p in parts])
        exact = self.__rows.fold(self.box, question).reshape(question.cells.n_cells, -1)
        noisy = [self._perturb(p.mechanism, _pick(p, exact)) for p in parts]
        account.record(positions)
        return [Answer(n.astype(np.float64), p.std) for n, p in zip(noisy, parts, strict=True)]

    def _perturb(self, mechanism: Mechanism, exact: Ints) -> Ints:
        noise: Ints = mechanism.draw(self.__noise, exact.shape)
        return exact + noise

    def _entry(self, question: Question, part: _Part) -> Entry:
        return Entry(
            question=f"{part.name} of {question.cells}",
            share=part.share,
            law=type(part.mechanism).__name__.lower(),
            scale=part.mechanism.scale,
            noise=part.noise,
            slack=part.mechanism.slack(part.shape),
        )

    def _steps(self, std: float) -> str:
        low, high = (f"{float(std * s):.3g}" for s in (self.box.step.min(), self.box.step.max()))
        return f"± {low} per sum" if low == high else f"± {low} to {high} per sum"


def _pick(part: _Part, exact: Ints) -> Ints:
    """The columns of one part; under cube noise a count is written in units of 1/REACH rows."""
    chosen = exact[:, part.columns].copy()
    if isinstance(part.mechanism, Cube):
        chosen[:, 0] *= REACH
    return chosen


def _rows(std: float) -> str:
    return f"± {std:.3g} rows"


def _flat(answer: Answer) -> Answer:
    return Answer(answer.values[:, 0], answer.noise_std)

"""Noisy second moments of the columns, about the origin of the lattice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato._accounting.budget import Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import Ball, Gaussian, Laplace, Mechanism, independent
from sfumato._core.queries.moments import COARSEST, Moment, Squares, check_moment
from sfumato._core.releases.counts import Measurement
from sfumato._core.vault import Vault
from sfumato.engines._rows import Rows


class Moments(Vault):
    """The verb `moments`; see `Curator`.

    Guarantee: the bound of a row is the vault's own knowledge, from its box or from its view.
    """

    def moments(self, moment: Moment, *, share: Share) -> Answer:
        """Release Σ x_a² of every column, or Σ x·xᵀ, about the origin of the (viewed) lattice.

        Values are in squared lattice steps. Rows enter in coarser steps, see `moment_queries`;
        in still coarser ones where the noise for a tiny share could not be drawn otherwise.
        `noise_std` is that of a square, on the diagonal of the matrix.

        Sensitivity: see `Squares` and `Products`; a view with `ball=True` needs no factor for
        the number of columns.
        Guarantee: for a pure share discrete Laplace noise on squares and ball noise on products,
        for a gdp share rounded Gaussian noise on either.
        """
        asked = check_moment(moment, self.box.n_features)
        self._check(share)
        query, part = moments_part(asked, share, self._rows_per_neighbour, ball=self._in_ball)
        part.mechanism.check(part.shape)

        def read(rows: Rows) -> Ints:
            exact = query.line(rows.fold(self.box, query))
            return self._perturb(part.mechanism, exact)

        return Answer(query.values(self._pay([part.entry()], read)), part.std)


def moments_part(
    moment: Moment, share: Share, rows: int, *, ball: bool
) -> tuple[Moment, Measurement]:
    """Fit the noise for up to `rows` rows, in the finest steps for which it can be drawn."""
    numbers = moment.n_numbers
    for shift in range(moment.shift, COARSEST + 1):
        coarse = replace(moment, shift=shift)
        mechanism, loss = _mechanism(coarse, share, rows, ball=ball)
        if _can_be_drawn(mechanism, numbers):
            break
    std = mechanism.std_in(numbers) if isinstance(mechanism, Ball) else mechanism.std
    std = coarse.deviation(std)
    noise = f"± {std:.3g} squared steps"
    part = Measurement(str(moment), share, mechanism, slice(None), (1, numbers), std, noise, loss)
    return coarse, part


def _can_be_drawn(mechanism: Mechanism, numbers: int) -> bool:
    try:
        mechanism.check((1, numbers))
    except ValueError:
        return False
    return True


def _mechanism(
    moment: Moment, share: Share, rows: int, *, ball: bool
) -> tuple[Laplace | Gaussian | Ball, Fraction]:
    """The noise, and what it costs."""
    most = moment.sensitivity(ball=ball).times(rows)
    if isinstance(moment, Squares) or share.kind != "pure":
        noise = independent(share, most)
        return noise, noise.loss(most)
    joint = Ball.fitting(share, most.l2_squared)
    return joint, joint.loss(most.l2_squared)

"""Noisy second moments of the columns, about the origin of the lattice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato._accounting.budget import Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import Ball, Gaussian, Laplace, Mechanism, independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.moments import COARSEST, MOMENTS, Moment, Squares
from sfumato._core.releases.counts import Measurement
from sfumato.engines._rows import Rows


def release_moments(data: PrivateData, moment: Moment, share: Share) -> Answer:
    """See `Curator.moments`."""
    data.admit(moment, MOMENTS, share)
    query, part = measure_moments(data, moment, share)
    part.mechanism.check(part.shape)

    def read(rows: Rows) -> Ints:
        return data.perturb(part.mechanism, query.line(rows.fold(data.box, query)))

    return Answer(query.values(data.release([part.entry()], read)), part.std)


def measure_moments(data: PrivateData, moment: Moment, share: Share) -> tuple[Moment, Measurement]:
    """Calibrate the noise, in the finest steps for which it can be drawn."""
    numbers = moment.n_numbers
    for shift in range(moment.shift, COARSEST + 1):
        coarse = replace(moment, shift=shift)
        mechanism, loss = _mechanism(data, coarse, share)
        if _can_be_drawn(mechanism, numbers):
            break
    std = mechanism.std_in(numbers) if isinstance(mechanism, Ball) else mechanism.std
    std = coarse.deviation(std)
    noise = f"± {std:.3g} squared steps"
    shape = (1, numbers)
    return coarse, Measurement(str(moment), share, mechanism, shape, std, noise, loss)


def _can_be_drawn(mechanism: Mechanism, numbers: int) -> bool:
    try:
        mechanism.check((1, numbers))
    except ValueError:
        return False
    return True


def _mechanism(
    data: PrivateData, moment: Moment, share: Share
) -> tuple[Laplace | Gaussian | Ball, Fraction]:
    """The noise, and what it costs."""
    most = moment.sensitivity(ball=data.in_ball).times(data.rows_per_neighbour)
    if isinstance(moment, Squares) or share.kind != "pure":
        noise = independent(share, most)
        return noise, noise.loss(most)
    joint = Ball.fitting(share, most.l2_squared)
    return joint, joint.loss(most.l2_squared)

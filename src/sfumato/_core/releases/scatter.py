"""Noisy counts, sums and second moments of cells about their centres."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato._accounting.budget import Share
from sfumato._base.types import Ints
from sfumato._core.answers import CellMoments
from sfumato._core.mechanisms import Ball, Gaussian, Laplace, independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.scatter import COARSEST, Scatter
from sfumato._core.releases.counts import Measurement, in_rows
from sfumato.engines._rows import Rows


def release_scatter(data: PrivateData, scatter: Scatter, share: Share) -> CellMoments:
    """See `Curator.scatter`."""
    data.admit(scatter, (Scatter,), share)
    query, part = measure_scatter(data, scatter, share)
    part.mechanism.check(part.shape)

    def read(rows: Rows) -> Ints:
        return data.perturb(part.mechanism, query.line(rows.fold(data.box, query)))

    found = query.products(data.release([part.entry()], read))
    radii = np.array(query.radii, dtype=np.float64)
    return CellMoments(
        found[:, 0, 0],
        found[:, 0, 1:] * radii[:, None],
        found[:, 1:, 1:] * np.square(radii)[:, None, None],
        part.std * np.square(radii),
    )


def measure_scatter(
    data: PrivateData, scatter: Scatter, share: Share
) -> tuple[Scatter, Measurement]:
    """Calibrate the noise, in the finest steps for which it can be drawn."""
    shape = scatter.cells.n_cells, scatter.n_in_line
    for bits in range(scatter.bits, COARSEST - 1, -1):
        coarse = replace(scatter, bits=bits)
        mechanism, loss = _mechanism(data, coarse, share)
        try:
            mechanism.check(shape)
        except ValueError:
            continue
        break
    std = mechanism.std_in(shape[1]) if isinstance(mechanism, Ball) else mechanism.std
    std = coarse.deviation(std)
    # A count is four squares of a radius: h is half as long as a row can be.
    noise = f"{in_rows(4 * std)}, ± {std:.3g} squared radii"
    name = str(scatter)
    return coarse, Measurement(name, share, mechanism, shape, std, noise, loss, chapter="Mixtures")


def _mechanism(
    data: PrivateData, scatter: Scatter, share: Share
) -> tuple[Ball | Laplace | Gaussian, Fraction]:
    """The noise, and what it costs."""
    most = scatter.sensitivity().times(data.rows_per_neighbour)
    if share.kind != "pure":
        noise = independent(share, most)
        return noise, noise.loss(most)
    joint = Ball.fitting(share, most.l2_squared)
    return joint, joint.loss(most.l2_squared)

"""The release of how close rows are to the centres of cells."""

from __future__ import annotations

from sfumato._accounting.budget import Share
from sfumato._base.types import Ints
from sfumato._core.answers import Answer
from sfumato._core.mechanisms import Cube, independent
from sfumato._core.private_data import PrivateData
from sfumato._core.queries.closeness import Closeness
from sfumato._core.releases.counts import Measurement, in_rows
from sfumato._lattice.box import REACH
from sfumato.engines._rows import Rows


def release_closeness(data: PrivateData, query: Closeness, share: Share) -> Answer:
    """See `Curator.closeness`."""
    data.admit(query, (Closeness,), share)
    part = measure_closeness(data, query, share)
    part.mechanism.check(part.shape)

    def read(rows: Rows) -> Ints:
        return data.perturb(part.mechanism, query.line(rows.fold(data.box, query)))

    noisy = data.release([part.entry()], read)
    return Answer(noisy / REACH, part.std)


def measure_closeness(data: PrivateData, query: Closeness, share: Share) -> Measurement:
    """Calibrate the noise: cube noise for a pure share, on each number for a gdp share."""
    shape, rows = (query.cells.n_cells, 3), data.rows_per_neighbour
    if share.kind == "pure":
        cube = Cube.fitting(share, rows)
        std, loss = cube.std_in(shape[1]) / REACH, cube.loss(rows)
        return Measurement(str(query), share, cube, shape, std, in_rows(std), loss)
    most = query.sensitivity().times(rows)
    noise = independent(share, most)
    std = noise.std / REACH
    return Measurement(str(query), share, noise, shape, std, in_rows(std), noise.loss(most))

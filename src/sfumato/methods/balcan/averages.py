"""Centres in all columns: noisy averages of the rows that the search put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.box import REACH, Floats
from sfumato.budget import Share
from sfumato.curator.curator import Curator
from sfumato.curator.projection import Projection
from sfumato.curator.questions import Nearest, Through
from sfumato.methods.auto.steps import has_cube
from sfumato.methods.dplloyd import lloyd_step, move_to_means


def recovered(
    curator: Curator, projection: Projection, found: Floats, shares: Sequence[Share], law: str
) -> tuple[Floats, Floats]:
    """Average the rows nearest to each projected centre, then take rounds of private k-means.

    Edler 2023, Algorithms 5 and 6. A centre whose noisy count is too small stays at the point that
    is seen where the centre was found, the shortest of all such points.
    """
    lifted = found @ np.linalg.pinv(projection.directions).T + projection.offset
    points: Floats = np.clip(lifted, -REACH, REACH).astype(np.float64)
    cells = Through(projection, Nearest(found.astype(np.int64)))
    first, *rounds = shares
    points, sizes = move_to_means(curator, cells, points, first, drawable(law, curator, first))
    for share in rounds:
        points, sizes = lloyd_step(curator, points, share, drawable(law, curator, share))
    return points, sizes


def drawable(law: str, curator: Curator, share: Share) -> str:
    """The law itself; Laplace noise in place of cube noise that cannot be drawn for a share."""
    return "laplace" if law == "cube" and not has_cube(curator, share) else law

"""How many rows there are: declared public, or bought with a slice of the budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.box import Floats
from sfumato.budget import Share
from sfumato.curator.curator import Curator
from sfumato.curator.questions import Grid, Nearest
from sfumato.methods.base import Task

SLICE = Fraction(1, 50)
"""The part of a budget that buys the number of rows, or the sizes of the final clusters."""


def size_and_rest(curator: Curator, task: Task, share: Share) -> tuple[float, Share]:
    """The number of rows, noisy unless declared, never below 1; and the share that is left."""
    if task.n_rows is not None:
        return float(max(1, task.n_rows)), share
    slice_, rest = share.split(SLICE, 1 - SLICE)
    answer = curator.counts(Grid(1, task.n_features), share=slice_)
    return max(1.0, float(answer.values[0])), rest


def sizes_of(curator: Curator, points: Floats, share: Share) -> Floats:
    """Noisy sizes of the clusters around given centres."""
    return curator.counts(Nearest(np.rint(points).astype(np.int64)), share=share).values

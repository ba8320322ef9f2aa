"""What the tests of file readers share."""

import numpy as np


def read(layout):
    """Everything a reader yields, put together; what is not finite counts as missing."""
    blocks = list(layout.blocks())
    width = len(layout.positions)
    values = np.concatenate([np.empty((0, width)), *(block.values for block in blocks)])
    values[~np.isfinite(values)] = np.nan
    return (
        values,
        np.concatenate([np.empty((0, width), bool), *(block.text for block in blocks)]),
        np.concatenate([np.empty(0, bool), *(block.ragged for block in blocks)]),
        np.concatenate([np.empty(0, int), *(block.lines for block in blocks)]),
    )

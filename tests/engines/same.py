"""The law of all engines: the same queries, the same exact answers, the same centres."""

import numpy as np

from sfumato._core.testing import ReplayedNoise
from tests.laws.harness import curator_of, run


def run_of(rows, method):
    """Run a method on rows; returns all that was asked and answered, charged, and found."""
    curator = curator_of(rows, noise=ReplayedNoise(7))
    account, centers = run(curator, method, budget="approximate")
    return curator.transcript, account.entries, centers


def check_same(one, other):
    """Compare two runs bit for bit: exact answers, charges and centres."""
    assert one[0].queries == other[0].queries
    assert len(one[0].exact) > 0
    check_answers(one[0].exact, other[0].exact)
    assert one[1] == other[1]
    np.testing.assert_array_equal(one[2].points, other[2].points)
    np.testing.assert_array_equal(one[2].sizes, other[2].sizes)


def check_answers(one, other):
    """Compare answers, or steps of many answers, such as the levels of a tree."""
    if isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            check_answers(a, b)
    else:
        np.testing.assert_array_equal(one, other)


def random_cuts(rng, total, parts):
    """Lengths of so many parts, some of them empty."""
    edges = np.sort(rng.integers(0, total + 1, parts - 1))
    return tuple(np.diff([0, *edges, total]).tolist())

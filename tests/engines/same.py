"""The law of all engines: the same questions, the same exact answers, the same centres."""

import numpy as np

from sfumato.curator.noise import ReplayedNoise
from tests.laws.harness import curator_of, run


def run_of(rows, method):
    """Run a method on rows; returns all that was asked and answered, charged, and found."""
    curator = curator_of(rows, noise=ReplayedNoise(7))
    account, centers = run(curator, method, budget="approximate")
    return curator.transcript, account.entries, centers


def check_same(one, other):
    """Compare two runs bit for bit: exact answers, charges and centres."""
    assert one[0].questions == other[0].questions
    assert len(one[0].exact) > 0
    for a, b in zip(flat(one[0].exact), flat(other[0].exact), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one[1] == other[1]
    np.testing.assert_array_equal(one[2].points, other[2].points)
    np.testing.assert_array_equal(one[2].sizes, other[2].sizes)


def flat(answers):
    """The answers of a transcript; a tree has one for each of its levels."""
    for answer in answers:
        if isinstance(answer, list) and answer and not np.isscalar(answer[0]):
            yield from answer
        else:
            yield np.asarray(answer)


def random_cuts(rng, total, parts):
    """Lengths of so many parts, some of them empty."""
    edges = np.sort(rng.integers(0, total + 1, parts - 1))
    return tuple(np.diff([0, *edges, total]).tolist())

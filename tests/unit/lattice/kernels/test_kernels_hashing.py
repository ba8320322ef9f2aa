"""The keyed hash of a row: a function of that row alone."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato._lattice.box import REACH
from sfumato.engines._groups import hash_rows

lattices = st.integers(1, 9).flatmap(
    lambda d: arrays(
        np.int16, st.tuples(st.integers(0, 12), st.just(d)), elements=st.integers(-REACH, REACH)
    )
)


def hash_of(row, key):
    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    z = mix(key % 2**64)
    for j in range(0, len(row), 4):
        z = mix(z ^ sum((x % 2**16) << (16 * i) for i, x in enumerate(row[j : j + 4])))
    return z


@settings(max_examples=30, deadline=None)
@given(lattices, st.integers(-(2**70), 2**70), st.integers(0, 12))
@example(np.array([[-REACH, REACH, 0, -1, 7]] * 2 + [[5, 4, 3, 2, 1]], dtype=np.int16), 2**70, 1)
@example(np.arange(-40, 41, dtype=np.int16).reshape(9, 9), -1, 4)
@example(np.zeros((0, 3), dtype=np.int16), 0, 0)
def test_the_hash_of_a_row_looks_at_that_row_alone(rows, key, cut):
    hashes = hash_rows(rows, key)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [hash_of(row, key) for row in rows.tolist()]
    pieces = [hash_rows(block, key) for block in np.split(rows[::-1], [cut])]
    np.testing.assert_array_equal(np.concatenate(pieces)[::-1], hashes)


def test_hashes_spread_evenly_and_change_with_the_key():
    side = np.arange(-150, 150)
    rows = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2).astype(np.int16)
    one, two = hash_rows(rows, 1), hash_rows(rows, 2)
    assert len(np.unique(one)) == len(rows)
    assert not np.any(one == two)
    counts = np.bincount(one % np.uint64(10), minlength=10)
    assert abs(counts - 9000).max() < 7 * 90

"""Hashes of rows, and all that is chosen by them, over more rows than a block holds.

Rows are hashed in blocks of 2^14. A hash that looked at the place of its row, or at the block it
lies in, would move thousands of rows if one were added: no promise would hold.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._core.testing import use_loops
from sfumato._lattice.box import REACH, Box
from sfumato.engines._files import GroupSampler
from sfumato.engines._groups import KEY, few_of_each, hash_rows
from sfumato.engines._memory import ArrayRows
from sfumato.engines._partitions import PartedRows
from sfumato.engines._rows import block_numbers
from tests.unit.lattice.kernels.test_kernels_hashing import hash_of

N = 40_000
SIZES = [2**14 - 1, 2**14, 2**14 + 1, 2**15 + 1, N, 2**16, 2**17 + 3]
LATTICE = np.random.default_rng(0).integers(-REACH, REACH + 1, (N, 3)).astype(np.int16)
ONE = np.array([[REACH, -REACH, 7]], dtype=np.int16)
BOX = Box((0.0, -3.0, 0.0), (1.0, 3.0, 10.0))
VALUES = BOX.from_lattice(LATTICE.astype(np.float64))

backends = pytest.mark.parametrize("backend", ["numpy", "numba"])
places = pytest.mark.parametrize("place", [0, 1, 2**14 - 1, 2**14, 2**15, N], ids=str)


@backends
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])
def test_equal_rows_have_one_hash_wherever_they_lie(n, d, backend):
    row = np.arange(1, d + 1, dtype=np.int16) * -3001
    with use_loops(backend):
        assert set(hash_rows(np.tile(row, (n, 1)), 11)) == {hash_of(row.tolist(), 11)}


@backends
def test_the_hash_of_every_row_is_that_of_the_row_alone(backend):
    """Of 40,000 different rows."""
    with use_loops(backend):
        alone = [hash_rows(LATTICE[i : i + 1], 11)[0] for i in range(N)]
        np.testing.assert_array_equal(hash_rows(LATTICE, 11), alone)


@backends
@pytest.mark.parametrize("key", [0, 1, 0x5F3A_70C1_9D24_E8B7, -1, 2**64 + 5])
def test_hashes_around_the_ends_of_blocks_are_those_of_the_book(key, backend):
    with use_loops(backend):
        hashes = hash_rows(LATTICE, key)
    for end in (0, 2**14, 2**15, N):
        for i in range(max(end - 4, 0), min(end + 4, N)):
            assert int(hashes[i]) == hash_of(LATTICE[i].tolist(), key)


@backends
def test_any_order_any_slice_and_any_memory_give_the_same_hashes(backend):
    with use_loops(backend):
        hashes = hash_rows(LATTICE, 5)
        order = np.random.default_rng(1).permutation(N)
        np.testing.assert_array_equal(hash_rows(LATTICE[order], 5), hashes[order])
        np.testing.assert_array_equal(hash_rows(LATTICE[::-1], 5), hashes[::-1])
        np.testing.assert_array_equal(hash_rows(LATTICE[1::2], 5), hashes[1::2])
        for start in (1, 100, 2**14 - 1, 2**14, 2**14 + 1, 20_001):
            np.testing.assert_array_equal(hash_rows(LATTICE[start:], 5), hashes[start:])
        by_columns = np.asfortranarray(LATTICE)
        np.testing.assert_array_equal(hash_rows(by_columns, 5), hashes)
        wide = np.zeros((N, 8), dtype=np.int16)
        wide[:, 2:5] = LATTICE
        np.testing.assert_array_equal(hash_rows(wide[:, 2:5], 5), hashes)
        swapped = LATTICE.astype(">i2")
        np.testing.assert_array_equal(hash_rows(swapped, 5), hashes)
        twice = np.concatenate((LATTICE, LATTICE))
        np.testing.assert_array_equal(hash_rows(twice, 5), np.tile(hashes, 2))


@given(
    st.integers(1, 3 * 2**14), st.integers(0, 2**14), st.integers(1, 6), st.sampled_from([1, 2, 5])
)
@settings(max_examples=25, deadline=None)
@example(2**14 + 1, 2**14, 1, 1)
@example(2**14, 1, 2, 5)
def test_rows_that_move_keep_their_hashes(n, moved, step, d):
    rows = np.arange(n * d, dtype=np.int64).astype(np.int16).reshape(n, d)
    hashes = hash_rows(rows, 3)
    np.testing.assert_array_equal(
        hash_rows(np.roll(rows, moved, axis=0)[::step], 3), np.roll(hashes, moved)[::step]
    )


@places
@pytest.mark.parametrize("parts", [1, 7, 600])
def test_a_row_more_moves_no_other_row_to_another_block(place, parts):
    numbers = block_numbers(LATTICE, parts, 9)
    more = block_numbers(np.insert(LATTICE, place, ONE, axis=0), parts, 9)
    np.testing.assert_array_equal(np.delete(more, place), numbers)
    assert 0 <= more[place] < parts


class Pieces:
    """An engine in memory: rows in pieces of any size, and at most so many of each group."""

    n_features = 3

    def __init__(self, values, ends, labels=None, most=None):
        self.pieces = np.split(values, ends)
        self.n_parts = len(self.pieces)
        self.labels = [None] * self.n_parts if labels is None else np.split(labels, ends)
        self.max_rows_per_group = most

    def run(self, task):
        for part, piece in enumerate(self.pieces):
            yield task.over(part, [piece], self.labels[part])


def in_memory(values, _ends):
    return ArrayRows(values)


def in_pieces(values, ends):
    return PartedRows(Pieces(values, ends))


def multiset(rows):
    return Counter(map(bytes, np.ascontiguousarray(rows)))


@places
@pytest.mark.parametrize("rows", [in_memory, in_pieces])
@pytest.mark.parametrize("ends", [[], [30_000], [5, 2**14, 2**14 + 9]], ids=str)
def test_a_row_more_changes_one_block_by_that_row(place, rows, ends):
    values = np.insert(VALUES, place, BOX.from_lattice(ONE.astype(np.float64)), axis=0)
    before = [multiset(block) for block in in_memory(VALUES, []).split(BOX, 13, 21)]
    after = [multiset(block) for block in rows(values, ends).split(BOX, 13, 21)]
    changed = [(b - a, a - b) for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [(multiset(ONE), Counter())]


@pytest.mark.parametrize("rows", [in_memory, in_pieces])
def test_blocks_are_the_same_in_any_order(rows):
    shuffled = np.random.default_rng(2).permutation(VALUES)
    for parts in (13, 70_000):
        one = [multiset(block) for block in in_memory(VALUES, []).split(BOX, parts, 4)]
        other = [multiset(block) for block in rows(shuffled, [9, 2**14]).split(BOX, parts, 4)]
        assert one == other


# Groups of four rows on average, each spread over all blocks, and one of a thousand.
CODES = np.random.default_rng(3).integers(0, N // 4, N)
CODES[::40] = N
EVERY = np.arange(N)


def kept(lattice, codes, most):
    """The rows that each group keeps."""
    rows = few_of_each(lattice, np.arange(len(lattice)), codes, most)
    return Counter(zip(codes[rows].tolist(), map(bytes, lattice[rows]), strict=True))


def by_the_book(lattice, codes, most):
    """The rows of each group that have the least hashes, each hashed by itself."""
    hashes = [int(hash_rows(row[np.newaxis], KEY)[0]) for row in lattice]
    groups = {}
    for i, code in enumerate(codes.tolist()):
        groups.setdefault(code, []).append((hashes[i], bytes(lattice[i])))
    return Counter((code, row) for code, own in groups.items() for _, row in sorted(own)[:most])


@pytest.mark.parametrize("most", [1, 3])
def test_groups_keep_the_rows_with_the_least_hashes_of_their_own(most):
    expected = by_the_book(LATTICE, CODES, most)
    assert kept(LATTICE, CODES, most) == expected
    order = np.random.default_rng(4).permutation(N)
    assert kept(LATTICE[order], CODES[order], most) == expected
    for start in (1, 2**14, 30_000):
        turned = np.roll(LATTICE, start, axis=0), np.roll(CODES, start)
        assert kept(*turned, most) == expected


@places
def test_a_group_more_changes_no_other_group(place):
    """Of three rows, which lie together before the others, among them or behind them."""
    rows = np.repeat(ONE, 3, axis=0) - np.arange(3, dtype=np.int16)[:, np.newaxis]
    lattice = np.insert(LATTICE, [place] * 3, rows, axis=0)
    codes = np.insert(CODES, [place] * 3, -1)
    more, before = kept(lattice, codes, 2), kept(LATTICE, CODES, 2)
    assert before - more == Counter()
    assert {code for code, _ in more - before} == {-1}
    assert (more - before).total() == 2


def test_few_groups_keep_what_they_keep_among_many():
    whole = kept(LATTICE, CODES, 2)
    for part in range(3):
        mine = CODES % 3 == part
        own = kept(LATTICE[mine], CODES[mine], 2)
        assert own == Counter({key: n for key, n in whole.items() if key[0] % 3 == part})


@pytest.mark.parametrize("ends", [[], [2**14], [7, 2**14 + 1, 39_999]], ids=str)
def test_groups_that_lie_in_many_pieces_keep_the_same_rows(ends):
    pieces, codes = np.split(VALUES, ends), np.split(CODES, ends)
    fewest = GroupSampler([len(piece) for piece in pieces], 2)
    for part in reversed(range(len(pieces))):
        fewest.look(part, BOX, [pieces[part]], codes[part])
    chosen = np.concatenate(fewest.chosen())
    found = zip(CODES[chosen].tolist(), map(bytes, LATTICE[chosen]), strict=True)
    assert Counter(found) == kept(LATTICE, CODES, 2)


def test_groups_in_memory_and_in_pieces_of_whole_groups_keep_the_same_rows():
    order = np.argsort(CODES, kind="stable")
    values, codes = VALUES[order], CODES[order]
    ends = np.searchsorted(codes, [100, 6000])
    (one,) = ArrayRows(VALUES, groups=CODES, max_rows_per_group=2).split(BOX, 1, 0)
    (other,) = PartedRows(Pieces(values, ends, codes, 2)).split(BOX, 1, 0)
    assert multiset(one) == multiset(other)
    assert multiset(one) == multiset(LATTICE[few_of_each(LATTICE, EVERY, CODES, 2)])

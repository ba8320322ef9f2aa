"""Bins of columns: what they are called, what they refuse."""

import numpy as np
import pytest

from sfumato._core.queries.breakdown import ABSENT, Breakdown, Directions, Levels, Slices
from sfumato._core.queries.cells import Nearest
from sfumato._lattice.box import REACH

CELLS = Nearest(np.zeros((2, 4)))


def test_a_level_is_the_largest_coordinate_and_the_first_of_equals():
    rows = np.array([[9, -5, 5, -5], [9, 5, 5, 6], [9, 5, 5, 5], [9, -5, -5, ABSENT]])
    assert Levels(1, 3, 5).places(rows.astype(np.int16)).tolist() == [1, 2, 0, -1]


def test_a_slice_begins_at_its_edge():
    values = [-REACH, -4, -3, -2, 6, 7, REACH, ABSENT]
    rows = np.array(values, dtype=np.int16)[:, np.newaxis]
    assert Slices(0, (-3, 7)).places(rows).tolist() == [0, 0, 1, 1, 1, 2, 2, -1]


def test_a_direction_is_that_of_the_largest_product():
    rows = np.array([[3, 2], [2, 3], [-1, 0], [0, 0], [REACH, REACH], [ABSENT, 5], [5, ABSENT]])
    vectors = np.array([[REACH, 0], [0, REACH], [-REACH, -REACH]])
    places = Directions(0, vectors).places(rows.astype(np.int16)).tolist()
    assert places == [0, 1, 2, 0, 0, -1, -1]


def test_names_say_how_much_is_counted():
    query = Breakdown(CELLS, (Levels(0, 3, 9), Slices(3, (0,)), Directions(0, [[1, 2]])))
    assert str(query) == "counts of 2 nearest-centre cells by 3 columns"
    assert str(Breakdown(CELLS, query.columns[:1])).endswith("by 1 column")
    assert [str(c) for c in query.columns] == ["3 levels", "2 slices", "1 directions"]
    assert (query.n_bins, query.n_numbers) == (6, 12)
    assert query.lines() == [slice(0, 3), slice(3, 5), slice(5, 6)]


def test_edges_and_vectors_stay_as_they_were_given():
    edges, vectors = np.array([1, 2]), np.array([[1, 2]])
    slices, directions = Slices(0, edges), Directions(0, vectors)
    edges[0] = vectors[0, 0] = 9
    assert slices.edges == (1, 2)
    assert directions.vectors.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        directions.vectors[0] = 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Levels(-1, 3, 9), "start"),
        (lambda: Levels(0, 0, 9), "width"),
        (lambda: Levels(0, 3, 0), "high"),
        (lambda: Levels(0, 3, REACH + 1), "high"),
        (lambda: Levels(0.0, 3, 9), "start"),
        (lambda: Slices(True, (1,)), "column"),
        (lambda: Slices(0, (1, 1)), "ascend"),
        (lambda: Slices(0, (2, 1)), "ascend"),
        (lambda: Slices(0, (0.5,)), "edge"),
        (lambda: Slices(0, (ABSENT,)), "edge"),
        (lambda: Slices(0, (REACH + 1,)), "edge"),
        (lambda: Directions(0, np.zeros((0, 2), dtype=int)), "shape"),
        (lambda: Directions(0, [[1, 2, 3]]), "shape"),
        (lambda: Directions(0, [[1.0, 2.0]]), "whole"),
        (lambda: Directions(0, [[1, ABSENT]]), "within"),
        (lambda: Directions(-2, [[1, 2]]), "start"),
        (lambda: Breakdown(CELLS, ()), "at least one column"),
    ],
)
def test_bins_that_are_none_are_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()

"""Columns of levels: two are one weight apart, and what is not listed is missing."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato._schema.levels import MISSING_LEVEL, Category, Ordinal, on_simplex

NAN = math.nan


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_levels_are_one_weight_apart(weight):
    column = Category("a", "b", "c", weight=weight)
    _, found = column.encoded(["a", "b", "c"])
    for one, other in itertools.combinations(found, 2):
        assert np.linalg.norm(one - other) == pytest.approx(2 * weight)
    assert (np.abs(found) <= 1).all()
    np.testing.assert_allclose(column.decoded(found / weight), np.eye(3), atol=1e-12)
    assert column.nearest_codes(found / weight).tolist() == [0, 1, 2]


def test_unknown_levels_are_missing_and_no_other_level():
    column = Category("a", "b")
    codes, found = column.encoded(["a", "z", "", None, "A", 1, b"b"])
    np.testing.assert_array_equal(codes, [0, NAN, NAN, NAN, NAN, NAN, 1])
    assert np.isnan(found[1:6]).all()
    assert not np.isnan(found[[0, 6]]).any()


def test_levels_are_compared_by_value():
    column = Category(1, "2.0", "x y", "2024-01-01")
    cells = ["1.0", 2, " x y ", np.datetime64("2024-01-01"), True]
    assert column.codes(cells).tolist() == [0, 1, 2, 3, 0]
    assert column.levels == ("1", "2.0", "x y", "2024-01-01")
    assert Category(["a", "b"]).levels == ("a", "b")


def test_policies_for_missing_cells():
    cells = ["a", "z"]
    assert np.isnan(Category("a", "b", missing="drop").encoded(cells)[1][1]).all()
    middle = Category("a", "b", "c", missing="center").encoded(cells)[1][1]
    np.testing.assert_allclose(on_simplex((middle[None] / math.sqrt(0.5) + 1) / 2), 1 / 3)
    np.testing.assert_array_equal(*Category("a", "b", missing="a").encoded(cells)[1])
    codes, found = Category("a", "b", missing="level").encoded(cells)
    assert codes.tolist() == [0, 2]
    assert found.shape == (2, 3)
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(2)
    assert Category("a", "b", missing="level").coordinate_names("w")[2] == f"w={MISSING_LEVEL}"
    assert math.isnan(Category("a", "b", missing="level").nearest_codes(found)[1])


def test_ordinals_lie_in_order_on_a_line():
    column = Ordinal("low", "mid", "high")
    _, found = column.encoded(["low", "mid", "high", "higher", None])
    np.testing.assert_array_equal(found[:, 0], [-1, 0, 1, NAN, NAN])
    np.testing.assert_array_equal(column.decoded(found[:3])[:, 0], [0, 1, 2])
    assert column.decoded(np.array([[7.0], [-7.0]]))[:, 0].tolist() == [2, 0]
    np.testing.assert_array_equal(column.points(np.array([-1.0, 9.0]))[:, 0], [-1, 1])
    assert column.cell(1.4) == "mid"
    assert column.cell(NAN) is None
    assert column.in_words(np.array([1.6])) == {"level": "high", "place": 1.6}
    centred = Ordinal("low", "mid", "high", missing="center")
    assert centred.encoded(["?"])[1].tolist() == [[0.0]]


cells = st.sampled_from(["a", "b", "z", "", None, 1, 1.0, "1", 2.0**60, 2**60])


@given(st.lists(cells, min_size=1, max_size=12), st.randoms())
@example([2.0**60, 2**60, "a", None], None)
@example(["z", "a"], None)
@pytest.mark.parametrize("column", [Category("a", "b", 1, 2**60), Ordinal("a", 1, "b")])
def test_a_row_is_encoded_by_itself(column, found, random):
    whole = column.encoded(found)[1]
    alone = np.concatenate([column.encoded([cell])[1] for cell in found])
    np.testing.assert_array_equal(whole, alone)
    order = (
        list(range(len(found)))[::-1]
        if random is None
        else random.sample(range(len(found)), len(found))
    )
    moved = column.encoded([found[i] for i in order])[1]
    np.testing.assert_array_equal(moved, whole[order])


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Category("a"), "at least two levels"),
        (Category("a", "a "), "listed twice"),
        (Category(1, "1.0"), "listed twice"),
        (Category("a", "NA"), "reads as a missing cell"),
        (Category("a", "", missing="level"), "reads as a missing cell"),
        (Category("a", "b", missing="z"), "missing='z'"),
        (Ordinal("a", "b", missing="level"), "missing='level'"),
        (Ordinal("a", "b", weight=-1), "weight"),
    ],
)
def test_what_cannot_be_meant_is_refused(column, said):
    with pytest.raises(ValueError, match=said) as refused:
        column.check("x")
    assert "'x'" in str(refused.value)


points = st.lists(st.lists(st.floats(-3, 3), min_size=3, max_size=3), min_size=1, max_size=4)


@given(points)
@example([[0.2, 0.3, 0.5]])
@example([[5.0, 0.0, 0.0], [-1.0, -1.0, -1.0]])
def test_the_nearest_distribution(given):
    found = on_simplex(np.array(given, dtype=float))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    rng = np.random.default_rng(1)
    for other in rng.dirichlet(np.ones(3), 50):
        gaps = np.linalg.norm(found - given, axis=1) - np.linalg.norm(other - given, axis=1)
        assert (gaps <= 1e-9).all()

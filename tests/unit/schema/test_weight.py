"""Weights of rows: copies, units, what is refused, and the rows that do not count."""

import numpy as np
import pytest

from sfumato import Number, Schema, Weight
from sfumato._lattice.box import REACH


@pytest.mark.parametrize(
    ("weight", "most", "unit"),
    [
        (Weight(0, 3), 3, 1.0),
        (Weight(0, 20), 20, 1.0),
        (Weight(0, 21), 10, 2.1),
        (Weight(0, 1), 1, 1.0),
        (Weight(0.5, 2.5), 10, 0.25),
        (Weight(1, 3, 6), 6, 0.5),
        (Weight(0, 1000, steps=100), 100, 10.0),
    ],
)
def test_copies_of_the_largest_weight_and_what_one_weighs(weight, most, unit):
    weight.check("w")
    assert (weight.most, weight.unit) == (most, pytest.approx(unit))


@pytest.mark.parametrize(
    ("weight", "cells", "copies"),
    [
        (Weight(0, 3), [0, 1, 2, 3, 4, -1, 1.6, np.nan, np.inf], [0, 1, 2, 3, 3, 0, 2, 0, 0]),
        (Weight(1, 3), [0, 1, 2, 3, -9, np.nan], [1, 1, 2, 3, 1, 0]),
        (Weight(0, 3), ["2", " 3 ", "", "x", "1e9", "1_0", None, True], [2, 3, 0, 0, 3, 0, 0, 1]),
        (Weight(0, 100), [0, 4, 6, 50, 1e300], [0, 0, 1, 5, 10]),
    ],
    ids=["whole", "at least one", "text", "tenths"],
)  # fmt: skip
def test_a_weight_is_so_many_copies(weight, cells, copies):
    assert weight.codes(np.array(cells, dtype=object)).tolist() == copies
    for cell, own in zip(cells, copies, strict=True):
        assert weight.codes([cell]).tolist() == [own]


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (Weight(-1, 3), "at least 0"),
        (Weight(3, 3), "an upper one above it"),
        (Weight(0, np.inf), "finite"),
        (Weight("0", 3), "finite"),
        (Weight(0, 3, 101), "from 1 to 100"),
        (Weight(0, 3, -1), "from 1 to 100"),
        (Weight(0, 3, 2.0), "from 1 to 100"),
        (Weight(0, 3, missing="drop"), "nothing else"),
        (Weight(0, 3, weight=0.5), "nothing else"),
    ],
)
def test_what_is_no_weight_is_refused(weight, says):
    with pytest.raises(ValueError, match=says):
        Schema(a=Number(0, 1), w=weight)


def test_a_schema_has_one_column_of_weights_beside_a_feature():
    with pytest.raises(ValueError, match="at most one column of weights"):
        Schema(a=Number(0, 1), v=Weight(0, 1), w=Weight(0, 2))
    with pytest.raises(ValueError, match="at least one column that takes part"):
        Schema(w=Weight(0, 2))


SCHEMA = Schema(w=Weight(0, 3), a=Number(0, 1), b=Number(0, 1, missing="drop"))


def test_weights_are_no_feature_and_come_last():
    assert SCHEMA.features == ("a", "b")
    assert SCHEMA.inputs == ("a", "b", "w")
    assert (SCHEMA.dimensions, SCHEMA.width) == (2, 3)
    assert (SCHEMA.box.n_features, SCHEMA.row_box.n_features) == (2, 3)
    assert SCHEMA.coordinate_names == ("a", "b")
    assert SCHEMA.weights == Weight(0, 3)
    plain = SCHEMA.unweighted
    assert (plain.inputs, plain.weights, plain.width) == (("a", "b"), None, 2)
    assert plain.unweighted is plain
    assert SCHEMA.over(["b"]).inputs == ("b", "w")
    assert SCHEMA.without("w").weights is None
    assert "declared of w: weights of 0 to 3, in steps of 1" in SCHEMA.notes()
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA


def test_rows_carry_their_copies_as_lattice_steps():
    cells = [[0, 1, 0.5, np.nan, 0.5], [0, 1, np.nan, 0.5, np.nan], [2, 0, 3, 9, np.nan]]
    rows = SCHEMA.encode(cells)
    lattice = np.empty(rows.shape, dtype=np.int16)
    kept = SCHEMA.row_box.write_lattice(rows, lattice)
    # Of the second the weight is 0, of the third and the last a cell is missing that drops rows.
    assert kept.tolist() == [True, False, False, True, False]
    assert lattice[0].tolist() == [-REACH, -REACH, 2]
    assert lattice[3, 1:].tolist() == [0, 3]
    with pytest.raises(ValueError, match="3 columns are needed, got 2"):
        SCHEMA.encode(cells[:2])


def test_a_row_without_any_cell_does_not_count_whatever_its_weight():
    schema = Schema(a=Number(0, 1), w=Weight(0, 3))
    assert np.isnan(schema.encode([[np.nan], [3]])).all()


def test_the_order_of_columns_is_part_of_a_schema():
    one, other = Schema(a=Number(0, 1), b=Number(0, 1)), Schema(b=Number(0, 1), a=Number(0, 1))
    assert one != other
    assert one == Schema(a=Number(0.0, 1.0), b=Number(0, 1))
    assert hash(one) == hash(Schema(a=Number(0.0, 1.0), b=Number(0, 1)))

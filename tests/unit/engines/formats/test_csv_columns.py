"""Columns of text tables as cells: each record has its own, by the fast and the careful path."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._schema.kinds import Number
from sfumato._schema.levels import Category
from sfumato._schema.schema import Schema
from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats import _csv as delimited
from sfumato.engines.formats._table import points_of

RAGGED = ["1,a,5", "2", "3,b", "4,c,7,8,9", "", "5,,", "x,d,6"]


@pytest.fixture(params=[7, 4 * 2**20])
def chunk(request, monkeypatch):
    monkeypatch.setattr(delimited, "_CHARACTERS", request.param)


def cells_in(path, text, positions=(0, 1, 2), numbers=(False, False, False)):
    """All cells of some columns."""
    path.write_text(text, encoding="utf-8")
    table = layout_of(TableFile(path, header=True)).table
    blocks = list(table.columns(list(positions), list(numbers)))
    return [[cell for block in blocks for cell in block[j]] for j in range(len(positions))]


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize("quoted", [False, True])
def test_records_keep_their_cells(tmp_path, quoted):
    """Fields that are missing are empty, those beyond the last column are nobody's."""
    lines = [*RAGGED, '"6","e ""f""","7\n8"'] if quoted else RAGGED
    found = cells_in(tmp_path / "a.csv", "\n".join(["p,q,r", *lines]))
    assert found[0] == ["1", "2", "3", "4", "5", "x", *(["6"] if quoted else [])]
    assert found[1] == ["a", "", "b", "c", "", "d", *(['e "f"'] if quoted else [])]
    assert found[2] == ["5", "", "", "7", "", "6", *(["7\n8"] if quoted else [])]
    # One more field in one record and one less in the next are as many in all.
    assert cells_in(tmp_path / "b.csv", "p,q\n1,2,3\n4\n5,6", (0, 1), (False, False)) == [
        ["1", "4", "5"],
        ["2", "", "6"],
    ]


@pytest.mark.usefixtures("chunk")
def test_other_columns_are_not_read(tmp_path):
    found = cells_in(tmp_path / "a.csv", "p,q,r\nx,1,y\nz,2,w", (1,), (True,))
    assert found == [[1.0, 2.0]]
    assert cells_in(tmp_path / "b.csv", "p\n1\n\n2", (0,), (False,)) == [["1", "2"]]


@pytest.mark.usefixtures("chunk")
def test_a_field_longer_than_the_module_takes(tmp_path):
    long = "x" * 200_000
    found = cells_in(tmp_path / "a.csv", f'p,q,r\n1,"{long}",2\n3,4,5')
    assert found == [["1", "3"], [long, "4"], ["2", "5"]]


NUMBERS = Schema(p=Number(0, 10), q=Number(0, 10))
MIXED = Schema(p=Number(0, 10), q=Number(0, 10), r=Category("a", "b"))
cells = st.sampled_from(
    ["1", " 2", "3.5 ", "", "x", "1e1", "NA", "inf", "1_0", "٣", '"4"', '"5\n"', "-1", "nan"]
)


@settings(max_examples=50)
@given(st.lists(st.tuples(cells, cells), max_size=6))
@example([("1", "2"), ("", "3.5 ")])
@example([("1", "x"), ("1_0", "٣"), ('"4"', "")])
@example([("inf", "nan")])
def test_numbers_are_those_of_the_plain_reader(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("text") / "a.csv"
    path.write_text("\n".join(["p,q,r", *(f"{p},{q},a" for p, q in rows)]), encoding="utf-8")
    plain = layout_of(TableFile(path, ("p", "q"))).blocks()
    values = np.concatenate([np.empty((0, 2)), *(block.values for block in plain)])
    with np.errstate(invalid="ignore"):
        expected = np.where(np.isfinite(values), np.clip(values, 0, 10) / 5 - 1, np.nan)
    for schema in (NUMBERS, MIXED):
        layout = layout_of(path, schema=schema)
        blocks = points_of(layout.table, layout.positions, schema)
        found = np.concatenate([np.empty((0, schema.width)), *blocks])
        np.testing.assert_allclose(found[:, :2], expected)
        whole = [block.values for block in layout.blocks()]
        np.testing.assert_array_equal(np.concatenate([found[:0], *whole]), found)

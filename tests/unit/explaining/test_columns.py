"""Public bins: a cell is counted where a reader of the labels would look for it."""

import numpy as np
import pytest

from sfumato import Category, Cycle, Date, Flag, Number, Ordinal, Schema
from sfumato._core.queries.breakdown import OrMissing
from sfumato._explaining.columns import CENTRED, binned, number

LEVELS = ("low", "middle", "high", "top")
CASES = {
    "number": (
        Number(0, 16),
        {-3: "0 to 1", 0: "0 to 1", 3.5: "3 to 4", 4: "4 to 5", 99: "15 to 16"},
    ),
    "log": (Number(1, 65536, scale="log"), {1: "1 to 2", 3: "2 to 4", 60_000: "32,768 to 65,536"}),
    "from 0 on a log scale": (Number(0, 65535, scale="log"), {0: "0 to 1", 2: "1 to 3"}),
    "date": (
        Date("2020-01-01", "2020-01-17"),
        {"2020-01-01": "2020-01-01 to 2020-01-02", "2020-01-05": "2020-01-05 to 2020-01-06"},
    ),
    "cycle": (Cycle(24), {0.1: "0 to 2", 5: "4 to 6", 23.9: "22 to 24", 25: "0 to 2"}),
    "ordinal": (Ordinal(*LEVELS), {level: level for level in LEVELS}),
    "two levels": (Ordinal("a", "b"), {"a": "a", "b": "b"}),
    "category": (Category(*LEVELS), {level: level for level in LEVELS}),
    "missing is a level": (Category("a", "b", missing="level"), {"a": "a", "": "(missing)"}),
    "flag": (Flag(), {"yes": "yes", "no": "no"}),
    "flag, centred": (Flag(missing="center"), {"yes": "yes", "no": "no", "": CENTRED}),
}


def label_of(column, cell, *, gaps, slices=16):
    """Encode one cell in the middle of a table and see which bin it falls into."""
    schema = Schema(first=Number(0, 1), column=column, last=Category("u", "v"))
    points = schema.encode([[0.5], [cell], ["u"]])
    rows = schema.box.to_lattice(points)
    found = binned("column", column, schema.places["column"].start, gaps=gaps, slices=slices)
    [place] = found.bins.places(rows)
    return (*found.labels, "missing")[place]


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("gaps", [True, False])
@pytest.mark.parametrize(("column", "cells"), CASES.values(), ids=CASES)
def test_a_cell_is_in_the_bin_that_its_label_says(column, cells, gaps, weight):
    for cell, label in cells.items():
        assert label_of(column.weighing(weight), cell, gaps=gaps) == label


@pytest.mark.parametrize(
    "column", [c for c, _ in CASES.values() if c.missing == "ignore"], ids=lambda c: c.kind
)
def test_a_missing_cell_has_a_bin_of_its_own_where_it_is_absent(column):
    assert label_of(column, None, gaps=True) == "missing"


@pytest.mark.parametrize(("column", "cells"), CASES.values(), ids=CASES)
def test_there_is_a_label_for_each_bin(column, cells):
    for gaps in (True, False):
        found = binned("x", column, 0, gaps=gaps, slices=16)
        assert found.bins.bins == len(found.labels) + gaps
        assert found.with_missing == gaps == isinstance(found.bins, OrMissing)
    assert found.ordered == (column.kind in ("number", "date", "ordinal"))


def test_slices_are_as_many_as_asked_for_and_directions_at_most_twelve():
    assert len(binned("x", Number(0, 1), 0, gaps=False, slices=5).labels) == 5
    assert len(binned("x", Cycle(7), 0, gaps=False, slices=5).labels) == 5
    assert len(binned("x", Cycle(7), 0, gaps=False, slices=16).labels) == 12


def test_a_weight_too_small_for_the_lattice_leaves_fewer_slices_and_refuses_levels():
    assert len(binned("x", Number(0, 1, weight=1e-4), 0, gaps=False, slices=16).labels) == 6
    assert len(binned("x", Number(0, 1, weight=1e-9), 0, gaps=False, slices=16).labels) == 1
    with pytest.raises(ValueError, match="weight of column 'x' is too small"):
        binned("x", Ordinal(*map(str, range(50)), weight=1e-4), 0, gaps=False, slices=16)


def test_quantiles_lie_within_bins_as_if_values_were_spread_evenly():
    found = binned("x", Number(0, 40), 0, gaps=False, slices=4)
    shares = np.array([0.25, 0.5, 0.25, 0.0])
    assert found.quantile(shares, 0.5) == pytest.approx(15)
    assert found.quantile(shares, 0.25) == pytest.approx(10)
    assert found.quantile(shares, 0.0) == pytest.approx(0)
    assert found.quantile(shares, 1.0) == pytest.approx(30)
    assert found.grain(shares) == pytest.approx(10 / 8)
    assert found.quantile(np.array([0.0, 0, 0, 1]), 0.5) == pytest.approx(35)


def test_quantiles_of_a_scale_and_of_levels():
    log = binned("x", Number(1, 10_000, scale="log"), 0, gaps=False, slices=4)
    assert log.quantile(np.array([0.0, 1, 0, 0]), 0.5) == pytest.approx(10**1.5)
    assert log.said(31.6) == "31.6"
    levels = binned("x", Ordinal(*LEVELS), 0, gaps=False, slices=4)
    assert levels.quantile(np.array([0.2, 0.2, 0.5, 0.1]), 0.5) == 2
    assert levels.said(2) == "high"
    assert levels.grain(np.array([0.2, 0.2, 0.5, 0.1])) == 0
    date = binned("x", Date("2020-01-01", "2020-01-17"), 0, gaps=False, slices=4)
    assert date.said(date.quantile(np.array([0.0, 1, 0, 0]), 0.5)) == "2020-01-07"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (3.14159, "3.14"), (61.2, "61.2"), (1234.5, "1,234"), (-0.00123, "-0.00123")],
)
def test_numbers_have_three_digits(value, said):
    assert number(value) == said

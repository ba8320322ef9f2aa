"""The bench of error bars: its table, its targets, and what the documentation shows of it."""

import numpy as np
import pytest

from bench.growing_tables import read_rows
from bench.intervals import CASES, COLUMNS, MARKS, PAGE, TABLE, Case, clumps, page
from sfumato.methods import EUGkM


def totals(name):
    rows = [row for row in read_rows(TABLE) if row["data"] == name]
    return {c: sum(int(row[c]) for row in rows) for c in COLUMNS[3:]}


def test_the_page_shows_the_whole_table():
    begin, end = MARKS
    assert f"\n{begin}\n{page()}\n{end}\n" in PAGE.read_text(encoding="utf-8")
    keys = [(row["data"], row["first"]) for row in read_rows(TABLE)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_their_part(name):
    total = totals(name)
    assert 0.93 <= total["centers_in"] / total["centers"] <= 0.97
    assert 0.93 <= total["sizes_in"] / total["sizes"] <= 0.97


@pytest.mark.parametrize("method", ["auto", EUGkM()])
def test_a_fit_is_measured(method):
    case = Case("", 2, lambda: clumps(800, 2, 2), method)
    inside, numbers, sizes_inside, sizes = np.sum([case.covered(i) for i in range(3)], axis=0)
    assert (numbers, sizes) == (12, 6)
    assert inside >= 6
    assert sizes_inside >= 3

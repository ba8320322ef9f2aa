"""The bench of k-median: its table, and what the documentation shows of it."""

import numpy as np
import pytest

from bench.growing_tables import read_rows
from bench.median import (
    COLUMNS,
    DATA,
    EPSILONS,
    MARKS,
    PAGE,
    RUNS,
    TABLE,
    Data,
    measure,
    outliers,
    page,
    tails,
)


def test_the_page_shows_the_whole_table():
    rows = read_rows(TABLE)
    measured = [(row["data"], row["epsilon"]) for row in rows]
    assert measured == [(name, f"{epsilon:g}") for name in DATA for epsilon in EPSILONS]
    assert {row["runs"] for row in rows} == {str(RUNS)}
    text = PAGE.read_text(encoding="utf-8")
    begin, end = MARKS
    assert f"\n{begin}\n{page(rows)}\n{end}\n" in text
    assert f"mean of {RUNS} fits" in text


def test_what_the_page_says_of_the_table():
    rows = read_rows(TABLE)
    assert max(float(row["kmedian_mean"]) for row in rows) < 1.01
    assert 1.3 < max(float(row["plain_kmeans"]) for row in rows) < 1.4


def test_a_line_has_a_cell_for_every_column(monkeypatch):
    small = Data("small", 2, lambda: outliers(3_000, 2, 2, 0.05, 0.9))
    monkeypatch.setitem(DATA, "small", small)
    line = measure("small", 2.0, 2)
    assert len(line) == len(COLUMNS)
    assert line[:3] == ["small", "2", "2"]
    assert small.ratio(small.rows[:2]) > 1
    assert all(float(value) >= 0 for value in line[3:])


@pytest.mark.parametrize("rows", [outliers(500, 3, 4, 0.1, -1), tails(500, 3, 4)])
def test_made_rows_lie_in_the_cube(rows):
    assert rows.shape == (500, 3)
    assert (np.abs(rows) <= 1).all()

"""The bench of private bounds: its table, and what the documentation shows of it."""

import numpy as np
import pytest

from bench.bounds import BEGIN, COLUMNS, DATASETS, END, METHODS, PAGE, RUNS, TABLE, measure, page
from bench.growing_tables import read_rows
from bench.utility_data import Sample


def test_the_page_shows_the_whole_table():
    rows = read_rows(TABLE)
    measured = {(row["dataset"], row["method"]) for row in rows}
    assert measured == {(dataset, method) for dataset in DATASETS for method in METHODS}
    assert {row["runs"] for row in rows} == {str(RUNS)}
    text = PAGE.read_text(encoding="utf-8")
    assert f"\n{BEGIN}\n{page(rows)}\n{END}\n" in text
    assert f"mean of {RUNS} runs" in text


def test_private_bounds_cost_a_tenth_at_most_where_it_was_promised():
    for row in read_rows(TABLE):
        if row["dataset"] in ("adult_num", "gowalla_nyc"):
            assert float(row["ratio"]) <= 1.1, row


def test_a_line_has_a_cell_for_every_column(monkeypatch):
    monkeypatch.setattr("bench.bounds.load", _two_groups)
    line = dict(zip(COLUMNS, measure("s1", "dplloyd", 2), strict=True))
    assert line["runs"] == "2"
    assert float(line["private"]) > 0
    ratio = float(line["private"]) / float(line["declared"])
    assert float(line["ratio"]) == pytest.approx(ratio, rel=0.01)


def _two_groups(name):
    rng = np.random.default_rng(0)
    rows = rng.normal([[10.0, -20.0]] * 500 + [[30.0, -70.0]] * 500, 2.0)
    return Sample(name, rows, np.array([0.0, -100.0]), np.array([50.0, 0.0]), 2)

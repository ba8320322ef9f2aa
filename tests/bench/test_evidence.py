"""The bench of evidence: its table, its targets, and what the documentation shows of it."""

import pytest

from bench.evidence import CASES, COLUMNS, MARKS, PAGE, TABLE, Case, clumps, page, uniform
from bench.growing_tables import read_rows
from sfumato._error_bars import REAL


def totals(name):
    rows = [row for row in read_rows(TABLE) if row["data"] == name]
    return {c: sum(int(row[c]) for row in rows) for c in COLUMNS[2:]}


def test_the_page_shows_the_whole_table():
    begin, end = MARKS
    assert f"\n{begin}\n{page()}\n{end}\n" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.clear])
def test_false_alarms_are_rare(name):
    total = totals(name)
    assert total["some"] <= 0.05 * total["fits"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.clear])
def test_clear_clusters_are_found(name):
    total = totals(name)
    assert total["found"] >= 0.95 * total["clusters"]


def test_a_fit_is_measured():
    assert (Case("", clumps(3000, 2, 2), 2).evidence(1) >= REAL).all()
    assert (Case("", uniform(2000, 2), 2).evidence(1) < REAL).all()

"""The bench of bounds, scales and weights: its table, and what the documentation shows of it."""

from bench.growing_tables import read_rows
from bench.schema import CASES, COLUMNS, MARKS, PAGE, RUNS, TABLE, K, measure, page, people, plain
from sfumato import Schema


def test_the_page_shows_the_whole_table():
    rows = read_rows(TABLE)
    measured = [(row["about"], row["declared"]) for row in rows]
    assert measured == [(about, case) for about, cases in CASES.items() for case in cases]
    assert {row["runs"] for row in rows} == {str(RUNS)}
    text = PAGE.read_text(encoding="utf-8")
    for about, (begin, end) in MARKS.items():
        assert f"\n{begin}\n{page(about, rows)}\n{end}\n" in text
    assert f"mean of {RUNS} fits" in text


def test_a_line_has_a_cell_for_every_column():
    line = measure("weights", "0", 1)
    assert len(line) == len(COLUMNS)
    assert line[:3] == ["weights", "0", "1"]
    assert all(0 < float(value) <= 1 for value in line[3:])


def test_what_the_page_says_of_the_made_people():
    table, group = people()
    assert len(table) == 10_000
    assert len(set(group)) == K
    assert 200_000 < table.income.max() < 400_000
    assert (table.income < 100_000).mean() > 0.8


def test_clusters_without_privacy_are_the_same_again():
    first = read_rows(TABLE)[0]
    found = plain(Schema(CASES[first["about"]][first["declared"]]))
    assert abs(found - float(first["without_privacy"])) < 0.02

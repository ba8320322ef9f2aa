"""The bench of mixed rows: its tables, its costs, k-prototypes without privacy, its page."""

import numpy as np
import pytest

from bench import mixed
from bench.mixed import ONE_HOT, PRIVATE, PROTOTYPES, Point, cost, measure, points, prototypes
from bench.mixed_data import HIGH, SHAPES, Shape, Table, encoded, make
from sfumato._lattice.box import REACH
from sfumato.methods import Task


@pytest.mark.parametrize("name", SHAPES)
def test_tables_have_their_shape(name):
    table, shape = make(name, 1), SHAPES[name]
    assert table.numbers.shape == (shape.rows, shape.numbers)
    assert table.codes.shape == (shape.rows, len(shape.levels))
    assert (table.codes.max(axis=0) < shape.levels).all()
    assert table.codes.min() == 0
    rows, levels = encoded(table)
    assert rows.shape == (shape.rows, shape.numbers + sum(shape.levels))
    assert levels[-1].end == rows.shape[1]
    assert np.abs(rows).max() <= REACH
    assert ((rows[:, levels[0].start : levels[0].end] == HIGH).sum(axis=1) == 1).all()


def test_tables_of_another_seed_are_others_and_of_the_same_the_same():
    one, same, other = (make.__wrapped__("credit", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.codes, same.codes)
    assert (one.codes != other.codes).any()


def test_costs_are_the_definition():
    rows, centers = (
        np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]),
        np.array([[0.0, 0.0], [6.0, 8.0]]),
    )
    assert cost(rows, centers) == pytest.approx(25 / 3)


def test_k_prototypes_finds_classes_that_are_apart():
    own = np.arange(200) % mixed.K
    table = Table(own[:, None] / mixed.K, np.stack([own, own], axis=1), (mixed.K, 7))
    rows, _ = encoded(table)
    found = prototypes(table, rows, starts=20)
    assert cost(rows, found) < 0.25 * cost(rows, rows.mean(axis=0)[None])


def test_every_method_is_measured_where_it_was_not(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SHAPES, "credit", Shape(200, 2, (3, 2)))
    make.cache_clear()
    mixed.best_cost.cache_clear()
    monkeypatch.setattr(mixed, "BUILD", tmp_path)
    wanted = points(["credit"], [mixed.TUNED], 1)
    assert {p.method for p in wanted} == {*mixed.NONPRIVATE, *PRIVATE}
    mixed.main(["run", "--quick"])
    table = mixed.read(tmp_path / "mixed.csv")
    assert set(table) == {p.key for p in wanted}
    assert all(float(line["ratio"]) > 0.99 for line in table.values())
    monkeypatch.setattr(mixed, "measure", lambda point: pytest.fail("done already"))
    mixed.main(["run", "--quick"])
    assert "k-prototypes without privacy" in capsys.readouterr().out
    make.cache_clear()
    mixed.best_cost.cache_clear()


def test_the_page_shows_both_batches():
    key = Point("adult", 2, "auto", 0.5, 0.0).key
    line = {"ratio": "1.01234", "spread": "0.001", "runs": "10"}
    other = Point("adult", 3, "auto", 0.5, 0.0).key
    table = {key: line, other: line | {"ratio": "1.5"}, Point("adult", 2, PROTOTYPES).key: line}
    text = mixed.shown(table)
    assert "| 0 | 0.5 | 1.012 ± 0.001 · 1.500 ± 0.001 | – | – |" in text
    assert "adult 1.012" in text


def test_one_hot_by_hand_knows_no_levels(monkeypatch):
    seen = []
    monkeypatch.setitem(SHAPES, "credit", Shape(150, 2, (3, 2)))
    make.cache_clear()
    mixed.best_cost.cache_clear()
    monkeypatch.setattr(mixed, "Task", lambda *a, levels, **b: seen.append(levels) or Task(*a, **b))
    measure(Point("credit", 1, ONE_HOT, 1.0, 0.0, 1))
    assert seen == [()]
    make.cache_clear()
    mixed.best_cost.cache_clear()

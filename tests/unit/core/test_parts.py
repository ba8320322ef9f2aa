"""Curators of parts: which rows are in, what is refused, and that nothing is read too early."""

import datetime
from fractions import Fraction
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import sfumato
from sfumato import Curator, Overspent, PrivateKMeans
from sfumato._accounting.budget import Caps
from sfumato._core.parts import keys_of_values
from sfumato._core.queries.cells import Grid
from sfumato._core.queries.projection import Projection
from sfumato.engines import TableFile
from sfumato.engines._groups import Part
from sfumato.engines._memory import ArrayRows
from tests.engines.same import check_same, run_of
from tests.laws.harness import blobs, curator_of, run
from tests.laws.parted import KINDS, VALUES, in_part, labels_for, pandas_of, parts_of, table_of

ROWS = blobs(180)
LABELS = labels_for(len(ROWS))
FRAME = pandas_of(ROWS, LABELS)


def counts(curator, columns=2):
    """Exact counts, up to noise that is too small to be seen."""
    account = curator.reserve("test", Caps(pure=Fraction(10**6)))
    return curator.counts(Grid(1, columns), share=account.rest("pure")).values


def rich(table, **settings):
    return Curator(table, **{"bounds": (0, 1), "epsilon": 10.0**9, **settings})


@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_the_rows_of_one_label_on_every_table(kind, nan, tmp_path, monkeypatch):
    table, column = table_of(kind, ROWS, LABELS, tmp_path, monkeypatch)
    for value in VALUES:
        _, parts = parts_of(table, column, nan=nan)
        account, centers = run(parts[value], "dplloyd", budget="approximate")
        alone = curator_of(ArrayRows(ROWS[in_part(LABELS, value)]), nan=nan)
        expected, there = run(alone, "dplloyd", budget="approximate")
        check_same(
            (alone.transcript, expected.entries, there),
            (parts[value].transcript, account.entries, centers),
        )


def test_labels_are_compared_as_those_of_groups_are():
    labels = np.array(
        [7, 7.0, "7", "07", b"7", "7.5", 7.5, "x", None, np.nan, "", object()], object
    )
    parts = rich(np.zeros((len(labels), 1))).by(labels, values=[7, 7.5, "x"])
    assert [float(counts(part, 1)[0]) for part in parts.values()] == [5, 2, 1]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (np.array([1, 2, 2, 3]), ["1", 2.0, 4]),
        (np.array([1.0, 2, 2, np.nan]), [1, 2, 3]),
        (np.ma.MaskedArray([1, 2, 2, 1], mask=[0, 0, 0, 1]), [1, 2, 3]),
        (pd.Series([1, 2, 2, None], dtype="Int64", index=[3, 1, 2, 0]), [1, 2, 3]),
        (pd.Categorical(["1", "2", "2", None]), [1, 2, 3]),
        (["1", "2", "2", float("inf")], [1, 2, 3]),
        (np.array(["2020-01-01", "2020-01-02", "2020-01-02", "NaT"], "M8[ns]"),
         [datetime.date(2020, 1, 1), "2020-01-02", "2020-01-03"]),
    ],
    ids=["integers", "floats", "masked", "nullable", "categories", "list", "dates"],
)  # fmt: skip
def test_labels_of_every_type_divide_an_array(labels, values):
    parts = rich(np.zeros((4, 1))).by(labels, values=values)
    assert list(parts) == values
    assert [float(counts(part, 1)[0]) for part in parts.values()] == [1, 2, 0]


def test_objects_that_cannot_be_compared_are_in_no_part():
    class Odd:
        __hash__ = object.__hash__

        def __eq__(self, other):
            raise RuntimeError

    labels = np.array([Odd(), np.zeros(2), (1, 2), "a"], dtype=object)
    parts = rich(np.zeros((4, 1))).by(labels, values=["a"])
    assert counts(parts["a"], 1) == 1


def test_the_column_is_no_feature_and_the_other_columns_keep_their_bounds():
    frame = pd.DataFrame({"a": [1.0, 2], "year": [2020, 2021], "b": [3.0, 4]})
    whole = Curator(frame, bounds=([0, 2000, -1], [9, 2100, 5]), epsilon=1.0, nan="drop")
    part = whole.by("year", values=[2020])[2020]
    assert (part.box.lower, part.box.upper, part.box.nan) == ((0, -1), (9, 5), "drop")
    assert (part.names, part.n_features, part.source) == (("a", "b"), 2, "Rows in memory")
    assert whole.n_features == 3


def test_an_array_keeps_all_columns():
    whole = Curator(np.zeros((2, 3)), bounds=([0, 1, 2], [3, 4, 5]), epsilon=1.0)
    part = whole.by(["x", "y"], values=["x"])["x"]
    assert (part.box.lower, part.box.upper) == (whole.box.lower, whole.box.upper)


@pytest.mark.parametrize("column", ["region", 1])
def test_a_file_is_divided_by_a_name_or_a_position(column, tmp_path, monkeypatch):
    table, _ = table_of("csv", ROWS, LABELS, tmp_path, monkeypatch)
    part = rich(table, bounds=([0, 0, -3], [1, 1, 3])).by(column, values=["north"])["north"]
    assert (part.box.lower, part.box.upper, part.names) == ((0, -3), (1, 3), ("a", "b"))
    assert part.source == "Files and engines"
    assert counts(part) == in_part(LABELS, "north").sum()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_blocks_of_a_file_have_their_own_labels(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.formats._csv._CHARACTERS", 100)
    monkeypatch.setattr("sfumato.engines.formats._parquet.rows_at_once", lambda _: 7)
    labels = ["east"] * 90 + ["north"] * 90
    table, column = table_of(kind, ROWS, labels, tmp_path, monkeypatch)
    parts = rich(table).by(column, values=["east", "north", "south"])
    assert [float(counts(part)[0]) for part in parts.values()] == [90, 90, 0]


def test_a_list_of_columns_may_or_may_not_name_the_one_that_divides(tmp_path, monkeypatch):
    table, _ = table_of("csv", ROWS, LABELS, tmp_path, monkeypatch)
    for columns in (("b", "a"), ("b", "region", "a")):
        listed = TableFile(table.path, columns=columns)
        lower = [{"a": 0, "b": -3, "region": 0}[name] for name in columns]
        part = rich(listed, bounds=(lower, [9] * len(columns))).by("region", values=["north"])
        assert (part["north"].names, part["north"].box.lower) == (("b", "a"), (-3, 0))


def test_a_text_table_without_a_header_is_divided_by_a_position(tmp_path):
    (tmp_path / "rows.csv").write_text("1,x,2\n3,y,4\n5,x,6\n")
    file = TableFile(tmp_path / "rows.csv", header=False, columns=3)
    for bounds in ((0, 9), ([0, 0], [9, 9]), ([0, 0, 0], [9, 9, 9])):
        assert counts(rich(file, bounds=bounds).by(1, values=["x"])["x"]) == 2


def test_an_npy_file_is_divided_by_a_position(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[0.5, 1], [0.25, 2], [0.125, 2]]))
    parts = rich(tmp_path / "rows.npy").by(1, values=[1, 2])
    assert [float(counts(part, 1)[0]) for part in parts.values()] == [1, 2]


# A table with one column that is no feature.


def test_a_frame_with_a_column_of_text_answers_nothing_as_a_whole():
    whole = Curator(FRAME, bounds=(0, 1), epsilon=1.0)
    assert repr(whole) == "Curator(to divide, left=(1, 0))"
    assert whole.ledger.left == (1, 0)
    account = whole.reserve("test", Caps(pure=Fraction(1)))
    for ask in (
        lambda: whole.counts(Grid(2, 2), share=account.rest("pure")),
        lambda: whole.n_features,
        lambda: whole.box,
        lambda: PrivateKMeans(2).fit(whole),
        lambda: PrivateKMeans(2, bounds=(0, 1)).fit(FRAME),
    ):
        with pytest.raises(TypeError, match=r"cannot be clustered; .*divided by it: curator\.by"):
            ask()
    assert not account.entries


def test_bounds_of_one_column_fewer_wait_for_a_division():
    frame = pd.DataFrame({"a": [1.0, 2], "year": [2020, 2021], "b": [3.0, 4]})
    whole = Curator(frame, bounds=([0, 0], [9, 9]), epsilon=1.0)
    with pytest.raises(ValueError, match=r"one number or 3 of them.*got 2"):
        whole.box  # noqa: B018
    assert whole.by("year", values=[2020])[2020].names == ("a", "b")


@pytest.mark.parametrize(
    ("table", "bounds", "more"),
    [
        (np.zeros((2, 3)), ([0, 0], [1, 1]), {}),
        (np.array([["a", "b"]]), (0, 1), {}),
        (FRAME, (0, 1), {"groups": np.zeros(len(FRAME))}),
        (pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}), ([0], [1]), {}),
        (pd.DataFrame({"a": ["x"]}), (0, 1), {}),
    ],
    ids=["array", "array of text", "groups", "two too few", "nothing but text"],
)
def test_other_tables_are_refused_at_once(table, bounds, more):
    with pytest.raises((TypeError, ValueError)):
        Curator(table, bounds=bounds, epsilon=1.0, **more)


def test_a_second_column_of_text_is_refused_when_the_table_is_divided():
    whole = Curator(FRAME.assign(other="x"), bounds=(0, 1), epsilon=1.0)
    with pytest.raises(TypeError, match="cannot be clustered"):
        whole.by("region", values=["north"])


# What is refused.


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ([], ValueError, "at least one part"),
        ("north", TypeError, "must be a list"),
        (7, TypeError, "must be a list"),
        (["north", "north "], ValueError, "'north' and 'north ' are one"),
        ([7, "x", 7.0], ValueError, "7 and 7.0 are one"),
        (["north", None], ValueError, "in no part"),
        (["north", ""], ValueError, "in no part"),
        ([float("nan")], ValueError, "in no part"),
        ([(1, 2)], ValueError, "text, numbers or dates"),
    ],
)
def test_values_are_a_list_of_distinct_labels(values, error, says):
    with pytest.raises(error, match=says):
        Curator(FRAME, bounds=(0, 1), epsilon=1.0).by("region", values=values)


def test_values_may_come_from_any_iterable():
    assert keys_of_values(iter(["b", 1.0])) == {"b": "b", "1": 1.0}


@pytest.mark.parametrize("most", [1, 3])
def test_groups_cannot_be_divided(most):
    frame = pd.DataFrame({"a": [1.0, 2], "who": ["x", "y"], "year": [2020, 2021]})
    whole = Curator(
        frame, bounds=(0, 9999), epsilon=1.0, groups="who", max_rows_per_group=most
    )  # fmt: skip
    with pytest.raises(ValueError, match="rows of one group may lie in several parts"):
        whole.by("year", values=[2020])


def test_parts_and_views_and_opened_rows_cannot_be_divided():
    whole = Curator(ROWS, bounds=([0, -3], [1, 3]), epsilon=1.0)
    labels = np.array(LABELS, dtype=object)
    with pytest.raises(ValueError, match="cannot be divided again"):
        whole.by(labels, values=["north"])["north"].by(labels, values=["north"])
    view = whole.view(Projection(np.array([[1, 2]]), np.array([30, -40]), 1))
    with pytest.raises(ValueError, match="a view cannot be divided"):
        view.by(labels, values=["north"])
    opened = Curator(ArrayRows(ROWS), bounds=([0, -3], [1, 3]), epsilon=1.0)
    with pytest.raises(ValueError, match="opened already"):
        opened.by(labels, values=["north"])


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ("planet", "'planet' is not a column"),
        (LABELS[1:], "one label per row; their numbers differ"),
        (np.zeros((len(LABELS), 1)), "one-dimensional"),
        (3.5, "one label per row, got float"),
    ],
)
def test_a_column_that_is_not_there_is_refused(column, says):
    frame = FRAME.drop(columns="region")
    with pytest.raises((TypeError, ValueError), match=says):
        Curator(frame, bounds=(0, 1), epsilon=1.0).by(column, values=["north"])


# Reading and paying.


@pytest.mark.parametrize("kind", ["labels", "pandas", "csv", "parquet", "large csv"])
def test_nothing_is_read_before_a_query_is_charged(kind, tmp_path, monkeypatch):
    table, column = table_of(kind, ROWS, LABELS, tmp_path, monkeypatch)
    read = []
    for name in ("_groups.keys_of", "_partitions.keys_of", "_memory.write_lattice"):
        module, _, function = f"sfumato.engines.{name}".rpartition(".")
        plain = getattr(import_module(module), function)
        monkeypatch.setattr(f"{module}.{function}", partial(_noted, read, plain))
    part = rich(table, epsilon=2.0).by(column, values=["north"])["north"]
    part.reserve("test", Caps(pure=Fraction(1)))
    with pytest.raises(Overspent):
        part.reserve("test", Caps(pure=Fraction(3, 2)))
    assert read == []
    counts(rich(table).by(column, values=["north"])["north"])
    assert read


def _noted(read, plain, *given):
    read.append(plain)
    return plain(*given)


def test_an_absent_value_looks_like_any_other():
    def shown(values):
        whole = Curator(FRAME, bounds=(0, 1), epsilon=1.0, delta=1e-6)
        (part,) = whole.by("region", values=values).values()
        return repr(part), part.names, part.box, part.neighbours, part.ledger.left

    assert shown(["north"]) == shown(["nowhere"])


def test_a_part_of_no_rows_is_fitted():
    (part,) = rich(FRAME).by("region", values=["nowhere"]).values()
    model = PrivateKMeans(2, epsilon=10.0**6, random_state=0).fit(part)
    assert np.isfinite(model.cluster_centers_).all()


def test_fits_on_all_parts_cost_as_much_as_the_dearest():
    whole = Curator(FRAME, bounds=(0, 1), epsilon=2.0)
    parts = whole.by("region", values=VALUES)
    for value, epsilon in zip(VALUES, [1.0, 0.5, 1.0, 0.25], strict=True):
        model = PrivateKMeans(2, epsilon=epsilon, random_state=0).fit(parts[value])
        assert f"only the rows with region = {value}" in str(model.receipt_).replace("\n", " ")
        assert "Adding or removing one row" in str(model.receipt_)
    assert whole.ledger.spent == (1, 0)
    again = whole.by("region", values=VALUES)
    PrivateKMeans(2, epsilon=1.0, random_state=0).fit(again["south"])
    assert whole.ledger.spent == (2, 0)
    with pytest.raises(Overspent):
        PrivateKMeans(2, epsilon=0.1).fit(again["south"])
    PrivateKMeans(2, epsilon=1.0, random_state=0).fit(again["north"])
    assert whole.ledger.spent == (2, 0)


def test_the_rows_of_other_parts_are_not_kept():
    rows = ArrayRows(ROWS, part=Part(np.array(LABELS, dtype=object), "north"))
    run_of(rows, "dplloyd")
    (lattice,) = rows._lattices.values()
    assert lattice.base is None


def test_a_durable_ledger_reserves_the_largest_and_tells_parts_apart(tmp_path):
    bounds = {"a": (0, 1), "b": (-3, 3)}
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "clinic", epsilon=3.0, bounds=bounds)
    whole = Curator(FRAME, ledger=ledger)
    parts = whole.by("region", values=VALUES)
    assert parts["north"].box.upper == (1, 3)
    for value, epsilon in zip(VALUES, [1.0, 0.5, 1.0, 0.25], strict=True):
        PrivateKMeans(2, epsilon=epsilon, random_state=0).fit(parts[value], request=f"r{value}")
    assert ledger.spent == (1, 0)
    again = Curator(FRAME, ledger=ledger).by("region", values=VALUES)
    first = PrivateKMeans(2, epsilon=1.0, random_state=0).fit(again["north"], request="rnorth")
    assert (ledger.spent, first.request_) == ((1, 0), "rnorth")
    assert "Durable ledgers" in first.receipt_.chapters
    with pytest.raises(RuntimeError, match="for another fit"):
        PrivateKMeans(2, epsilon=1.0, random_state=0).fit(again[7], request="rnorth")
    PrivateKMeans(2, epsilon=1.0, random_state=0).fit(again[7])
    assert ledger.spent == (2, 0)


def test_a_durable_part_that_was_not_charged_gives_back_to_the_parts(tmp_path):
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "clinic", epsilon=1.0)
    parts = Curator(FRAME, bounds=(0, 1), ledger=ledger).by("region", values=VALUES)
    north, south = parts["north"].ledger, parts["south"].ledger
    north.cancel(north.reserve("idle", Caps(pure=Fraction(1))))
    assert ledger.left == (0, 0)
    south.reserve("fit", Caps(pure=Fraction(1)))
    north.reserve("fit", Caps(pure=Fraction(1)))
    with pytest.raises(Overspent):
        south.reserve("more", Caps(pure=Fraction(1, 10**6)))


def test_bounds_that_a_ledger_declares_for_other_columns_are_refused(tmp_path):
    ledger = sfumato.Ledger.create(tmp_path / "l.db", "c", epsilon=1.0, bounds={"a": (0, 1)})
    with pytest.raises(ValueError, match="declares bounds of a, but the columns are"):
        Curator(FRAME, ledger=ledger)


def test_nothing_that_a_curator_holds_prints_rows_or_labels():
    """A traceback with local variables, or a debugger, would show them."""
    people = pd.DataFrame({"age": [0.123456789] * 3, "region": ["atlantis"] * 3})
    curator = Curator(people, bounds=(0, 1), epsilon=1.0)
    (part,) = curator.by("region", values=["north"]).values()
    for held in (curator, part):
        shown = f"{held!r} {vars(held)!r} {vars(held._opening).keys()!r}"
        assert "0.1234" not in shown
        assert "atlantis" not in shown
    assert "atlantis" not in repr(Part(["atlantis"], "north"))

"""Laws of fits through a schema: what a record or a person more changes, and what leaves.

As in test_estimator.py: given the same answers, a fit on any other rows asks the same and leaves
the same, to the last bit; on a neighbour it loses no more than was charged.
"""

import numpy as np
import pandas as pd
import pytest

from sfumato import Category, Cycle, Date, Flag, Number, Ordinal, PrivateKMeans, Schema, Weight
from tests.laws import mixed
from tests.laws.harness import BUDGETS, PAYABLE
from tests.laws.sources import as_text
from tests.laws.watching import check_alike, check_losses, left_by, plain

COLUMNS = {
    "income": Number(0, 100_000, scale="log"),
    "ward": Category("north", "south", 3, weight=0.5),
    "grade": Ordinal("mild", "moderate", "severe", missing="center"),
    "ill": Flag(missing="drop"),
    "day": Date("2020-01-01", "2030-12-31", missing="2025-01-01"),
    "hour": Cycle(24),
    "unit": Category("a", "b", missing="level"),
    "note": Category("x", "y", weight=0),
}
EVERY_KIND = Schema(COLUMNS, w=Weight(0, 2), groups="id")
ROWS_ALONE = Schema(COLUMNS)
NAMES = [*COLUMNS, "w", "id"]


def record(i):
    """A record of every kind of column, as text, with cells that are missing or unknown."""
    rng = np.random.default_rng(i)
    pick = rng.choice
    return (
        f"{rng.uniform(100, 9e4):.2f}" if i % 7 else "",
        str(pick(["north", "south", "3", "never heard of"])),
        str(pick(["mild", "severe", "?"])),
        str(pick(["yes", "no", "1"])) if i % 11 else "",
        f"2024-{1 + i % 12:02}-{1 + i % 28:02}",
        f"{rng.uniform(0, 24):.2f}",
        str(pick(["a", "b", ""])),
        "x",
        str(pick(["0", "1", "2", "9", ""])),
        str(i % 40),
    )


RECORDS = [record(i) for i in range(120)]
CORNER = ("1e9", "south", "severe", "yes", "2031-01-01", "0", "b", "y", "7")
UNKNOWN = ("1", "planet", "worse", "no", "not a day", "noon", "c", "z", "2")
GONE = ("", "", "", "", "", "", "", "", "")
ODD = ("\udcff", "\x00", '"', "t", "\r", "1e400", "\n", "=1+1", "inf")
NEW = {"corner": CORNER, "unknown levels": UNKNOWN, "missing": GONE, "odd": ODD}
STRANGERS = {
    "no record": [],
    "one record": RECORDS[:1],
    "one value": [(*CORNER, "1")] * 30,
    "nothing but missing cells": [(*GONE, "")] * 20,
    "nothing is known": [(*UNKNOWN, str(i)) for i in range(50)],
}
BY_METHOD = [(m, b) for m, b in PAYABLE if b in ("pure", "approximate")]


def framed(records):
    """As text: a schema reads cells of any type, and pandas keeps their order."""
    columns = list(zip(*records, strict=True)) or [()] * len(NAMES)
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)), dtype=object)


def more(new, owner="new", times=1):
    """The table with somebody more, who has some equal records."""
    return framed([*RECORDS[:50], *[(*new, owner)] * times, *RECORDS[50:]])


@pytest.fixture
def check(watch, tmp_path):
    """Fit, fit again on the same answers, and compare; returns what each neighbour lost."""

    def check(data, others, *, budget="pure", neighbours=True, **settings):
        epsilon, delta = BUDGETS[budget]
        settings = {"random_state": 1, **settings}

        def fitted(rows):
            model = PrivateKMeans(3, epsilon=float(epsilon), delta=float(delta), **settings)
            # Computed when they are first wanted, from public bounds: not in every run.
            _ = model.fit(rows).box_.middle, model.box_.step
            left = left_by(model, tmp_path / "model.json")
            profiles, columns = model.cluster_profiles_, plain(model.schema_.to_dict())
            return {**left, "profiles": profiles, "columns": columns}

        one, lost = watch(fitted, data), []
        for other in others:
            again = watch(fitted, other, replay=one)
            check_alike(one, again)
            if neighbours:
                lost.append(check_losses(one, again, epsilon=epsilon, delta=delta))
        return lost

    return check


@pytest.mark.parametrize(("method", "budget"), BY_METHOD)
def test_a_record_more_is_asked_the_same_and_loses_what_was_charged(check, method, budget):
    settings = {"method": method, "budget": budget, "schema": ROWS_ALONE}
    lost = check(framed(RECORDS), [more(CORNER), more(GONE)], **settings)
    if method in ("auto", "dplloyd"):  # others count whole rows alone, or in few places
        assert any(lost[0].values())
    assert not any(lost[1].values()), "a record without any cell is no row"


@pytest.mark.parametrize("budget", ["pure", "approximate"])
@pytest.mark.parametrize("name", NEW)
def test_records_of_every_kind(check, name, budget):
    others = [more(NEW[name]), framed(RECORDS[1:])]
    check(framed(RECORDS), others, schema=ROWS_ALONE, budget=budget)
    weighted = Schema(COLUMNS, w=Weight(0, 2))
    check(framed(RECORDS), others, schema=weighted, budget=budget)


@pytest.mark.parametrize(("method", "budget"), BY_METHOD)
def test_nothing_leaves_beside_the_answers(check, method, budget):
    """Not how many rows there are, which levels they have, or what is missing."""
    names = STRANGERS if method in ("auto", "dplloyd") else ["one record", "one value"]
    others = [framed(STRANGERS[name]) for name in names]
    settings = {"method": method, "budget": budget, "schema": EVERY_KIND}
    check(framed(RECORDS), others, neighbours=False, max_rows_per_group=2, **settings)


@pytest.mark.parametrize("most", [1, 3, "private"])
@pytest.mark.parametrize("name", NEW)
def test_a_person_more_is_asked_the_same_and_loses_what_was_charged(check, name, most):
    others = [more(NEW[name], times=9), framed([r for r in RECORDS if r[-1] != "7"])]
    settings = {"schema": EVERY_KIND, "max_rows_per_group": most}
    lost = check(framed(RECORDS), others, **settings)
    assert any(lost[1].values())


def test_bounds_by_name_are_a_schema_and_read_no_other_column(check):
    """Text in another column is never looked at, whatever it is."""
    plain_bounds = {"bounds": {"income": (0, 1e5), "hour": (0, 24)}}
    lost = check(framed(RECORDS), [more(CORNER), framed(RECORDS[1:])], **plain_bounds)
    assert all(any(each.values()) for each in lost)
    others = [framed([(r[0], *["odd\n"] * 4, r[5], *["\x00"] * 4) for r in RECORDS])]
    lost = check(framed(RECORDS), others, **plain_bounds)
    assert not any(lost[0].values())
    for nan in ("center", "drop"):
        check(framed(RECORDS), [more(GONE), more(CORNER)], nan=nan, **plain_bounds)


@pytest.mark.parametrize("schema", [ROWS_ALONE, EVERY_KIND], ids=["rows", "people"])
def test_files_are_under_the_same_laws(check, tmp_path, schema):
    def filed(name, records):
        lines = [",".join(NAMES), *as_text(records, always=True)]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    before = filed("before.csv", RECORDS)
    others = [filed(f"{name}.csv", [(*NEW[name], "new"), *RECORDS]) for name in NEW]
    check(before, others, schema=schema, max_rows_per_group=1)
    strangers = [filed(f"s{i}.csv", records) for i, records in enumerate(STRANGERS.values())]
    check(before, strangers, schema=schema, neighbours=False)


def test_the_table_of_the_sources_is_fitted_in_every_frame(check):
    """One table as pandas, polars and pyarrow have it: the same transcript, the same model."""
    frames = [f for n, f in mixed.frames(mixed.RECORDS).items() if "text" not in n]
    schema = Schema({n: c for n, c in mixed.SCHEMA.columns.items()}, groups="id")
    lost = check(frames[0], frames[1:], schema=schema)
    assert not any(value for each in lost for value in each.values())

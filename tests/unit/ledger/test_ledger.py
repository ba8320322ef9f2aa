"""What a ledger is created with is checked at once: it can never be changed."""

import sqlite3

import numpy as np
import pytest

from sfumato import Curator, Ledger
from sfumato._ledger.store import LedgerError


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("dataset", 3), ("dataset", None), ("bounds_source", 3), ("parts", 2.5)),
        *(("parts", {"other": 0.5}), ("bounds", object())),
    ],
)
def test_facts_of_another_type_are_refused(tmp_path, name, wrong):
    facts = {"dataset": "d", "epsilon": 1.0} | {name: wrong}
    with pytest.raises(TypeError):
        Ledger.create(tmp_path / "ledger.db", **facts)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *(("bounds", "01"), ("bounds", (1, 0)), ("bounds", [0]), ("bounds", {"a": 3})),
        *(
            ("bounds", {"a": (0, float("nan"))}),
            ("parts", {"pure": "1/0"}),
            ("parts", {"pure": "x"}),
        ),
        *(("epsilon", 1e300), ("epsilon", 10**400), ("dataset", " ")),
    ],
)
def test_facts_that_no_fit_could_use_are_refused(tmp_path, name, wrong):
    facts = {"dataset": "d", "epsilon": 1.0} | {name: wrong}
    with pytest.raises(ValueError):
        Ledger.create(tmp_path / "ledger.db", **facts)
    assert not any(tmp_path.iterdir())


def test_a_grant_needs_a_name(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db", "d", epsilon=1.0)
    with pytest.raises(TypeError, match="the name of a person"):
        ledger.grant(3, epsilon=0.5)


@pytest.mark.parametrize("bounds", [(np.int64(0), np.int64(1)), np.array([0, 1]), (0, 1.0), [0, 1]])
def test_declared_bounds_may_be_given_again_in_any_type(tmp_path, bounds):
    ledger = Ledger.create(tmp_path / "ledger.db", "d", epsilon=1.0, bounds=(0, 1))
    Curator(np.zeros((3, 2)), bounds=bounds, ledger=ledger)
    for others in ((0, 2), "01", (0, None)):
        with pytest.raises(ValueError, match="other bounds were declared"):
            Curator(np.zeros((3, 2)), bounds=others, ledger=ledger)


@pytest.mark.parametrize("body", ["{}", "[]", "3", "no JSON", "[" * 10**5])
def test_a_store_whose_first_event_was_changed_is_refused(tmp_path, body):
    Ledger.create(tmp_path / "ledger.db", "d", epsilon=1.0)
    with sqlite3.connect(tmp_path / "ledger.db") as store:
        for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            store.execute(f"DROP TRIGGER {name}")
        store.execute("UPDATE event SET body = ?", (body,))
    store.close()
    with pytest.raises(LedgerError, match="event 1 is damaged"):
        Ledger.open(tmp_path / "ledger.db")

"""The long run on the ledger: what it runs, and when it says that something went wrong."""

from collections import Counter

import pytest

from bench.trust import Job, jobs, judged


def test_all_numbers_are_asked_for():
    found = Counter((job.what, job.store) for job in jobs())
    assert found["crowds", "sqlite"] == found["crowds", "postgres"] == 20
    assert found["kills at random", "sqlite"] == found["power cuts", "sqlite"] == 10
    assert found["kills at a point", "sqlite"] == found["kills at a point", "postgres"] + 3
    assert len({job.key for job in jobs()}) == len(list(jobs()))


CROWD = {"granted": 1000, "reserved": 1000, "charged": 1000, "left": 0, "wrong": []}
KILLS = {"wrong": [], "at": {"at random": {"killed": 100, "wrong": []}}}
CUTS = {"cuts": 100, "wrong": []}


@pytest.mark.parametrize(
    ("what", "said", "wrong"),
    [
        ("crowds", CROWD, 0),
        ("crowds", {**CROWD, "granted": 1001}, 1),
        ("crowds", {**CROWD, "charged": 999}, 1),
        ("crowds", {**CROWD, "left": 1}, 1),
        ("crowds", {**CROWD, "wrong": ["x"]}, 1),
        ("kills at random", KILLS, 0),
        ("kills at random", {**KILLS, "wrong": ["x", "y"]}, 2),
        ("kills at random", {"wrong": [], "at": {"x": {"killed": 99, "wrong": []}}}, 1),
        ("power cuts", CUTS, 0),
        ("power cuts", {**CUTS, "wrong": ["x"]}, 1),
        ("power cuts without syncing", CUTS, 1),
        ("power cuts without syncing", {**CUTS, "wrong": ["x"] * 50}, 0),
    ],
)
def test_what_went_wrong_is_counted(what, said, wrong):
    assert judged(Job(what, "sqlite", "0", ()), said)[1] == wrong

"""The bench of error bars: its table, its targets, and what the documentation shows of it."""

import math

import numpy as np
import pytest

from bench.growing_tables import read_rows
from bench.intervals import CASES, COLUMNS, FEWER, MARKS, PAGE, TABLE, Case, clumps, page
from sfumato import PrivateKMedian, PrivateWard
from sfumato._lattice.box import REACH
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
    for what in ("centers", "sizes"):
        # So few fits cannot tell better than to two deviations of their number.
        few = 2 * math.sqrt(0.95 * 0.05 / total[what]) if total["fits"] < FEWER else 0.0
        assert 0.93 - few <= total[f"{what}_in"] / total[what] <= 0.97 + few


@pytest.mark.parametrize("method", ["auto", EUGkM(), PrivateKMedian, PrivateWard])
def test_a_fit_is_measured(method):
    case = Case("", 2, lambda: clumps(800, 2, 2), method)
    inside, numbers, sizes_inside, sizes = np.sum([case.covered(i) for i in range(3)], axis=0)
    assert (numbers, sizes) == (12, 6)
    assert inside >= 6
    assert sizes_inside >= 3


def test_a_median_without_noise_is_that_of_the_exact_answer():
    case = Case("", 2, lambda: clumps(800, 2, 2), PrivateKMedian)
    curator = case.curator(0)
    model = case.model(0).fit(curator)
    centers, sizes = case.of_medians(curator.transcript, 0)
    query, exact = curator.transcript.queries[-1], np.asarray(curator.transcript.exact[-1])
    assert np.array_equal(sizes, exact[:, 0])
    # A step goes from its start along the exact sum; how far is not looked at here.
    steps = centers * REACH - query.cells.centers
    along = (steps * exact[:, 1:]).sum(axis=1)
    lengths = np.linalg.norm(steps, axis=1) * np.linalg.norm(exact[:, 1:], axis=1)
    assert along == pytest.approx(lengths)
    assert not np.allclose(centers, model.cluster_centers_)

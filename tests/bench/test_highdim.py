"""The bench of methods for many columns: its points, what it borrows, its table on the page."""

import sys

import numpy as np
import pytest

from bench import highdim, highdim_page
from bench.inertia_methods import BEST_KMEANS
from bench.inertia_runs import Point, Result, append, read
from bench.memory import forget_peak, peak
from bench.papers.su2015_verdicts import shown_on


def test_every_method_is_measured():
    full = highdim.points(highdim.FULL)
    assert len({point.key for point in full}) == len(full)
    for dataset in highdim.PLACES:
        mine = {(p.method, p.delta) for p in full if p.dataset == dataset}
        presets = {(f"balcan {name}", 0.0) for name in ("edler", "matlab", "paper")}
        assert mine >= presets | {
            ("balcan edler search=coreset", 0.0),
            ("maxcover", highdim.DELTA),
            ("dplloyd", 0.0),
            (BEST_KMEANS, 0.0),
        }
    assert {p.dataset for p in highdim.points(highdim.QUICK)} == {"blobs_64_100"}


def test_runs_are_borrowed_once(tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    wanted = [Point("blobs_64_100", 64, name, 1.0) for name in ("auto", "dplloyd")]
    append(two, Result(wanted[0].key, 20, 2.0, 0.1, 1.0))
    for _ in range(2):
        highdim.borrow(one, two, wanted)
    assert {key: result.runs for key, result in read(one).items()} == {wanted[0].key: 20}


def test_a_row_of_the_page():
    key = ("blobs_64_100", 64, "dplloyd", 1.0, 0.0)
    refused = ("blobs_64_100", 64, "balcan paper", 1.0, 0.0)
    table = {
        ("blobs_64_100", 64, BEST_KMEANS, 0.0, 0.0): Result(key, 1, 2.0),
        key: Result(key, 16, 3.0, 0.4, 0.25),
        refused: Result(refused, 0, note="too many"),
    }
    lines = highdim_page.measured(table, {("blobs_64_100", "dplloyd", 0.0): 12.3}).splitlines()
    assert lines[2] == (
        "| 64 blobs, 100,000 × 100, k = 64 | `dplloyd` | 0 | 1.500 ± 0.05 | 16 | 0.25 | 12 |"
    )
    assert "refused: too many" in lines[3]


@pytest.mark.slow
def test_memory_is_that_of_a_fit():
    # Making 160 MB of data holds more than that, as does whoever starts the process; the lattice
    # of a fit takes 40.
    held = np.ones(2**26)
    assert 30 < highdim.memory_of("blobs_4_200", 4, "dplloyd", 0.0) < 100
    del held


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak cannot begin anew")
def test_the_peak_begins_anew_after_the_data_were_made():
    forget_peak()
    before = peak()
    held = np.ones(2**26)
    assert peak() - before > 2**28
    del held
    forget_peak()
    assert peak() - before < 2**28


def test_the_page_shows_the_table():
    page = highdim_page.PAGE.read_text(encoding="utf-8")
    table = read(highdim.TABLES / "highdim.csv")
    memory = highdim.read_memory(highdim.TABLES / "highdim_memory.csv")
    shown = shown_on(page, highdim_page.BEGIN, highdim_page.END)
    assert shown == highdim_page.measured(table, memory)
    assert {key for key in table} == {point.key for point in highdim.points(highdim.FULL)}
    run = {(k[0], k[2], k[4]) for k, r in table.items() if r.runs and k[2] != BEST_KMEANS}
    assert set(memory) == run

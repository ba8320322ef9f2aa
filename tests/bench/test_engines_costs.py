"""Fits of engines in turns: servers, rounds that go on where they stopped, and the page."""

import os
import signal

import pytest

from bench import engines_costs, engines_timing
from bench.engines_serving import DASK, LOCAL, PASSES, Server, Setup, part
from bench.engines_timing import Timing, best, complete, forget, read
from bench.papers.su2015_verdicts import shown_on


def test_parts_are_equal_and_make_up_the_table():
    assert Setup(LOCAL, 2, 3, 100).sizes == [34, 33, 33]
    assert part(0, 5).shape == (5, 8)
    assert (part(0, 5) == part(0, 5)).all()
    assert (part(0, 5) != part(1, 5)).all()


@pytest.mark.slow
def test_a_server_fits_when_it_is_told_to():
    with Server(Setup(LOCAL, 1, 2, 3000)) as server:
        assert server.startup > 0
        for _ in range(2):
            found = server.fit()
            assert len(found["seconds"]) == 1 + PASSES
            assert min(found["seconds"]) > 0
            assert found["cpu"] >= 0
    with pytest.raises((RuntimeError, BrokenPipeError, ValueError)):
        server.fit()


def test_a_server_that_cannot_start_says_so():
    with pytest.raises(RuntimeError, match="ended with status 1"):
        Server(Setup("none", 1, 1, 10))


class Pretended:
    """A server whose fits take as many seconds as have been done."""

    fits: list[Setup]

    def __init__(self, setup):
        self.setup, self.startup = setup, 2.0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def fit(self):
        self.fits.append(self.setup)
        return {"seconds": [float(len(self.fits)), 0.0], "cpu": 0.5}


@pytest.fixture
def pretended(monkeypatch):
    Pretended.fits = []
    monkeypatch.setattr(engines_timing, "Server", Pretended)
    monkeypatch.setattr(engines_timing, "two_cores", lambda: 0.95)
    return Pretended.fits


def test_setups_take_turns_and_go_on_where_they_stopped(tmp_path, pretended):
    path, pair = tmp_path / "table.csv", [Setup(LOCAL, 1, 1, 10), Setup(DASK, 2, 2, 10)]
    complete(path, pair, 2)
    assert pretended == pair * 2
    complete(path, pair, 3)
    assert pretended == pair * 3
    complete(path, pair, 3)
    assert len(pretended) == 6
    found = best(read(path))
    assert [found[s].seconds for s in pair] == [1.0, 2.0]
    assert [found[s].fits for s in pair] == [3, 3]
    assert found[pair[0]].is_quiet
    forget(path, pair[:1])
    assert {t.setup for t in read(path)} == {pair[1]}


def test_a_terminated_bench_leaves_no_server(tmp_path, pretended, monkeypatch):
    left = []
    monkeypatch.setattr(Pretended, "fit", lambda self: os.kill(os.getpid(), signal.SIGTERM))
    monkeypatch.setattr(Pretended, "__exit__", lambda self, *_: left.append(self.setup))
    before, setup = signal.getsignal(signal.SIGTERM), Setup(LOCAL, 1, 1, 10)
    with pytest.raises(SystemExit, match="terminated"):
        complete(tmp_path / "table.csv", [setup], 1)
    assert left == [setup]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_core_that_slows_the_other_and_a_busy_neighbour_are_both_seen(monkeypatch):
    monkeypatch.setattr(engines_timing, "machine_efficiency", lambda: 0.0)
    assert engines_timing.two_cores() == 0.0
    monkeypatch.setattr(engines_timing, "machine_efficiency", lambda: 2.0)
    monkeypatch.setattr(engines_timing.time, "process_time", iter([0.0, 0.0]).__next__)
    assert engines_timing.two_cores() == 0.0


def test_the_least_time_of_each_part_and_the_best_machine_count():
    setup = Setup(LOCAL, 1, 1, 10)
    fits = [Timing(setup, 3.0, 1.0, 0.5, (2.0, 5.0)), Timing(setup, 4.0, 2.0, 0.8, (1.0, 6.0))]
    found = best(fits)[setup]
    assert (found.startup, found.seconds, found.cpu, found.machine) == (3.0, 6.0, 1.0, 0.8)
    assert not found.is_quiet


def test_costs_are_per_pass_and_relative_to_one_local_thread(tmp_path, pretended):
    path = tmp_path / "table.csv"
    complete(path, engines_costs.setups(), 1)
    text = engines_costs.shown(path)
    assert "| local, one thread | 2 | 0.2 | 0.1 | 1.00 |" in text
    assert "| Spark, `local[2]` | 2 | 0.8 | 0.1 | 1.00 |" in text
    assert "busy" not in text
    assert engines_costs.shown(tmp_path / "none.csv") == "Not measured yet."


def test_the_page_shows_the_costs():
    page = engines_costs.PAGE.read_text(encoding="utf-8")
    assert shown_on(page, engines_costs.BEGIN, engines_costs.END) == engines_costs.shown()

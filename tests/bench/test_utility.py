"""The bench of utility: its data, its resuming, its time cap, its targets and its page."""

import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from bench import utility, utility_k, utility_page, utility_runs, utility_time
from bench.utility_data import (
    BIG,
    MADE,
    MEASURED,
    SMALL,
    SOURCES,
    THREES,
    is_there,
    load,
    reference,
)
from bench.utility_points import (
    DELTA,
    EPSILONS,
    FULL,
    MAIN,
    MORE_EPSILONS,
    PEER,
    QUICK,
    TARGETS,
    Point,
    forms,
    methods,
    points,
    references,
)
from bench.utility_runs import CAPPED, FAILED, SLOW, UNFIT, Result, append, measure, missing, read
from sfumato.methods import METHODS, NEEDS_DELTA, DPLloyd
from sfumato.nonprivate import nicv

MADE_HERE = [name for name, source in SOURCES.items() if not source.is_file]


@pytest.mark.parametrize("name", sorted({*MADE_HERE} - {"blobs"}))
def test_data_are_what_the_list_says_and_the_same_every_time(name):
    data, source = load(name), SOURCES[name]
    assert data.rows.shape == (source.n, source.d)
    assert data.k == source.k
    assert (data.rows >= data.lower).all()
    assert (data.rows <= data.upper).all()
    assert np.array_equal(data.rows, source.make(name).rows)


def test_the_blobs_are_far_apart_and_inside_their_bounds(monkeypatch):
    few = replace(SOURCES["blobs"], n=6_400)
    monkeypatch.setitem(SOURCES, "blobs", few)
    data = few.make("blobs")
    assert data.rows.shape == (6_400, 100)
    assert data.rows.min() > data.lower.max()
    assert data.rows.max() < data.upper.min()
    assert np.allclose(np.std(data.rows - data.middles[np.arange(6_400) % 64]), 1, rtol=0.02)
    assert data.found(data.middles + 1)
    assert not data.found(np.vstack([data.middles[:63], data.middles[:1]]))


def test_the_cube_and_back():
    data = load("digits")
    assert np.allclose(data.from_cube(data.cube), data.rows)
    assert not data.found(data.rows[:10])


@pytest.mark.parametrize("name", ["digits", "three_2"])
def test_nicv_is_that_of_the_owners_tools(name):
    data = load(name)
    for centers in (data.rows[:10], data.rows.mean(axis=0)[None]):
        expected = nicv(data.rows, centers, bounds=data.bounds)
        assert data.nicv(centers) == pytest.approx(expected, rel=1e-12)


def test_the_reference_is_the_optimum_of_clear_clusters():
    data = load("three_2")
    assert reference(data) == pytest.approx(data.nicv(data.middles), rel=1e-6)
    result = measure(Point("three_2", "kmeans", 0.0, 0.0, 1), 0.0)
    assert (result.nicv, result.ratio) == (reference(data), 1.0)


def test_missing_files_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert not is_there("s1")
    wanted = [Point("s1", "dplloyd", 0.0, 1.0), Point("three_2", "dplloyd", 0.0, 1.0)]
    assert missing(wanted, {}) == wanted[1:]


def test_every_method_is_measured_in_every_form_it_has():
    assert set(methods()) == {*METHODS, PEER}
    listed = points(FULL, MEASURED, methods())
    assert len({point.key for point in listed}) == len(listed)
    for name in MEASURED:
        epsilons = {*EPSILONS, *(MORE_EPSILONS if name in SMALL else ())}
        for method in methods():
            mine = {p.key[2:] for p in listed if p.key[:2] == (name, method)}
            delta = DELTA if method in NEEDS_DELTA else 0.0
            assert {(delta, epsilon) for epsilon in epsilons} <= mine
    assert forms("dplloyd", "digits", 1.0) == (0.0, DELTA)
    assert forms("eugkm", "s1", 1.0) == forms("eugkm", "digits", 1.0) == (0.0,)


def test_a_method_that_is_added_is_measured_without_further_change(monkeypatch):
    monkeypatch.setitem(METHODS._built_in, "newcomer", DPLloyd)
    listed = [p for p in points(FULL, ["digits"], methods()) if p.method == "newcomer"]
    assert {p.delta for p in listed} == {0.0, DELTA}


def test_runs_and_time_caps_are_those_of_the_issue():
    for point in points(FULL, MEASURED, [*METHODS, MAIN]):
        assert point.runs >= (5 if point.dataset in BIG else 20)
    quick = points(QUICK, QUICK.datasets, methods())
    assert {p.runs for p in quick} == {3}
    assert max(p.cap for p in quick) <= 5
    once = references(MEASURED)
    assert {p.dataset for p in once if p.method == "kmeans_middles"} == set(MADE)


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_a_point_is_measured(delta):
    data = load("three_4")
    base = reference(data)
    result = measure(Point("three_4", "dplloyd", delta, 1.0, 3), base)
    assert (result.state, result.runs) == ("measured", 3)
    assert result.ratio == pytest.approx(result.nicv / base)
    assert result.ratio >= 1 - 1e-9
    assert result.found in (0, 1 / 3, 2 / 3, 1)
    assert result.seconds > 0


def test_mean_median_and_error_are_of_the_ratio(monkeypatch):
    data = load("three_2")
    centers = [data.middles, data.middles + 0.1, data.middles[[0, 0, 0]]]
    monkeypatch.setattr(utility_runs, "_runs", lambda point, data: ((c, 1.0) for c in centers))
    ratios = np.array([data.nicv(c) for c in centers]) / 0.01
    result = measure(Point("three_2", "dplloyd", 0.0, 1.0, 3), 0.01)
    assert result.ratio == pytest.approx(ratios.mean())
    assert result.median == pytest.approx(np.median(ratios))
    assert result.error == pytest.approx(ratios.std(ddof=1) / 3**0.5)
    assert result.found == pytest.approx(2 / 3)


def test_a_method_that_does_not_apply_is_recorded():
    result = measure(Point("digits", "eugkm", 0.0, 1.0), 1.0)
    assert result.state == UNFIT
    assert "2^64 cells" in result.note
    assert not result.has_runs


def endless(ended):
    def runs(point, data):
        for _ in range(ended):
            yield data.middles, 0.1
        while True:
            time.sleep(0.01)

    return runs


@pytest.mark.parametrize(("ended", "state"), [(0, SLOW), (2, CAPPED)])
def test_a_run_that_does_not_end_is_given_up(monkeypatch, ended, state):
    monkeypatch.setattr(utility_runs, "_runs", endless(ended))
    result = measure(Point("three_2", "dplloyd", 0.0, 1.0, 20, cap=0.3), 1.0)
    assert (result.state, result.runs) == (state, ended)


def test_no_run_begins_after_the_cap():
    point = Point("three_2", "dplloyd", 0.0, 1.0, 3)
    assert len(list(utility_runs._runs(point, load("three_2")))) == 3
    assert len(list(utility_runs._runs(replace(point, cap=0.0), load("three_2")))) == 1


def test_an_error_is_not_a_refusal(monkeypatch):
    def runs(point, data):
        yield data.middles, 0.1
        raise ValueError("in the middle")

    monkeypatch.setattr(utility_runs, "_runs", runs)
    point = Point("three_2", "dplloyd", 0.0, 1.0)
    result = measure(point, 1.0)
    assert (result.state, result.note) == (FAILED, "in the middle")
    assert missing([point], {point.key: result}) == [point]


FAKE_PEER = """
import json, sys
path, k, epsilon, runs, limit, seed = sys.argv[1:]
if float(epsilon) == 3.0:
    sys.exit(4)
for _ in range(int(runs)):
    centers = [[i / int(k)] * 64 for i in range(int(k))]
    print(json.dumps({"seconds": 0.5, "centers": centers}))
"""


@pytest.fixture
def peer(monkeypatch, tmp_path):
    (tmp_path / "utility_peer.py").write_text(FAKE_PEER)
    monkeypatch.setattr(utility_runs, "__file__", str(tmp_path / "utility_runs.py"))
    monkeypatch.setenv(utility_runs.PEER_PYTHON, sys.executable)


def test_the_peer_runs_in_its_own_python(peer):
    data = load("digits")
    result = measure(Point("digits", PEER, 0.0, 1.0, 2, 60), 1.0)
    expected = data.nicv(np.repeat(np.arange(10)[:, None] / 10 * 16, 64, axis=1))
    assert (result.runs, result.seconds) == (2, 0.5)
    assert result.nicv == pytest.approx(expected)
    assert measure(Point("digits", PEER, 0.0, 3.0, 2, 60), 1.0).state == FAILED


def result_of(dataset, method, ratio, delta=0.0, epsilon=1.0, **others):
    key = (dataset, method, delta, epsilon)
    return Result(key, "measured", 20, ratio / 8, ratio, ratio, 0.125, **others)


def test_a_table_reads_back_and_the_last_row_of_a_point_counts(tmp_path):
    path = tmp_path / "utility.csv"
    first = result_of("s1", "eugkm", 1.5, found=0.25, note="a, b")
    second = result_of("s1", "eugkm", 2.5, delta=DELTA)
    for each in (first, second, replace(first, ratio=4.0)):
        append(path, each)
    assert read(path) == {first.key: replace(first, ratio=4.0), second.key: second}
    assert read(tmp_path / "none.csv") == {}


def test_only_what_is_missing_is_measured_and_references_come_first(tmp_path, monkeypatch):
    path = tmp_path / "utility.csv"
    wanted = points(replace(QUICK, datasets=("gauss10",)), ["gauss10"], ["dplloyd"])
    append(path, replace(result_of("gauss10", "dplloyd", 1.0), runs=3))
    asked = []

    def measured(work, tasks, processes):
        asked.extend(tasks)
        return (Result(p.key, "measured", p.runs, 0.25, 1.0, 1.0) for p, _ in tasks)

    monkeypatch.setattr(utility, "in_processes", measured)
    utility.fill(path, wanted, 2)
    assert [(p.method, base) for p, base in asked[:2]] == [
        ("kmeans", 0.0),
        ("kmeans_middles", 0.25),
    ]
    assert [p for p, _ in asked[2:]] == wanted[1:]
    assert len(wanted) > 1
    utility.fill(path, wanted, 2)
    assert len(asked) == 2 + len(wanted) - 1
    assert [key[1] for key in read(path)][:2] == ["kmeans", "kmeans_middles"]
    utility.forget(path, ["gauss10"], ["dplloyd"])
    assert [key[1] for key in read(path)] == ["kmeans", "kmeans_middles"]


def test_fewer_runs_than_wanted_are_measured_again_but_not_after_the_cap():
    point = Point("digits", "dplloyd", 0.0, 1.0, 20)
    few = replace(result_of("digits", "dplloyd", 1.0), runs=3)
    assert missing([point], {point.key: few}) == [point]
    assert missing([point], {point.key: replace(few, state=CAPPED)}) == []


def test_targets_are_judged_by_mean_median_and_clusters():
    low = next(t for t in TARGETS if (t.dataset, t.epsilon, t.delta) == ("s1", 1.0, 0.0))
    many = next(t for t in TARGETS if t.found)
    assert (low.at_most, many.dataset, many.by) == (1.005, "blobs", "median")

    def word(target, result):
        table = {result.key: result}
        return next(v.word for v in utility_page.judge(table) if v.target == target)

    assert word(low, result_of("s1", MAIN, 1.005)) == "reached"
    assert word(low, result_of("s1", MAIN, 1.006)) == "missed"
    assert word(low, result_of("s1", "eugkm", 1.0)) == "not measured"
    assert word(low, replace(result_of("s1", MAIN, 1.0), state=UNFIT)) == "not measured"
    blobs = replace(result_of("blobs", MAIN, 9.0, delta=DELTA, found=0.9), median=1.02)
    assert word(many, blobs) == "reached"
    assert word(many, replace(blobs, found=0.85)) == "missed"
    assert word(many, replace(blobs, median=1.03)) == "missed"


def test_the_pure_result_counts_where_there_is_no_other():
    pure, approximate = result_of("s1", MAIN, 1.0), result_of("s1", MAIN, 2.0, delta=DELTA)
    judged = {v.target: v.word for v in utility_page.judge({pure.key: pure})}
    assert [w for t, w in judged.items() if t.dataset == "s1" and t.epsilon == 1] == ["reached"] * 2
    both = utility_page.judge({r.key: r for r in (pure, approximate)})
    assert [v.word for v in both if v.target.dataset == "s1" and v.target.epsilon == 1] == [
        "reached",
        "missed",
    ]


class Chooser:
    """Takes three clusters, four in every third run."""

    def __init__(self, n_clusters, *, epsilon, bounds, method, random_state):
        assert n_clusters == "auto"
        self.cluster_centers_ = np.zeros((4 if random_state % 3 == 2 else 3, 2))

    def fit(self, rows):
        return self


def test_the_choice_of_k_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(utility_k, "PrivateKMeans", Chooser)
    choice = utility_k.measure("three_2", "eugkm", 4)
    assert (choice.near, choice.runs, choice.chosen) == (3, 4, "3 3 3 4")
    path = tmp_path / "k.csv"
    utility_k.write(path, [choice])
    assert utility_k.read(path) == [choice]
    assert set(utility_k.NEAR) == {"s1", *THREES}
    monkeypatch.setitem(utility_k.NEAR, "three_2", 1)
    assert utility_k.measure("three_2", "eugkm", 4).near == 4


def test_timings_read_back_and_are_judged(tmp_path):
    path = tmp_path / "time.csv"
    timing = utility_time.Timing("million", MAIN, 1.5, 2.5, 1.0, 0.75)
    utility_time.write(path, [timing])
    assert utility_time.read(path) == [timing]
    words = [line.split()[0] for line in utility_time.lines([timing])]
    assert words == ["reached", "missed", "reached"]
    small = replace(timing, case="s1_size")
    assert len(utility_time.lines([small])) == 2


def test_both_jobs_of_the_timing_process(tmp_path, monkeypatch):
    case = replace(utility_time.CASES["million"], k=3, repeats=1)
    monkeypatch.setitem(utility_time.CASES, "million", case)
    path = tmp_path / "rows.npy"
    np.save(path, load("three_4").rows)
    found = utility_time.worker("time", "million", "dplloyd", str(path))
    assert min(found.values()) > 0
    found |= utility_time.worker("memory", "million", "dplloyd", str(path))
    assert utility_time.Timing("million", "dplloyd", **found).memory >= 0


def some_tables():
    results = [
        result_of("s1", MAIN, 1.25, found=1.0),
        result_of("s1", "dplloyd", 12.5, found=0.0),
        result_of("s1", "kmeans", 1.0, epsilon=0.0),
        Result(("s1", "eugkm", 0.0, 1.0), UNFIT),
        Result(("s1", "gkm", 0.0, 1.0), SLOW),
    ]
    table = {result.key: result for result in results}
    return utility_page.Tables(table, [], [])


def test_the_page_is_written_from_the_tables():
    page = utility.PAGE.read_text(encoding="utf-8")
    text = utility_page.written(page, some_tables())
    assert "| S1 | 0 | 1.250 ± 0.1 | 12.5 ± 0.1 | – | too slow |" in text
    assert "| S1 | 1 | 0 | 100%, median 1.250 | 0%, median 12.5 | – | too slow |" in text
    assert (
        "| S1 | 1 | 0 | 1.005 | 1.2500 ± 0.1250, 20 runs, every cluster in 20 | **missed** |"
        in text
    )
    assert text.split("<!--")[0] == page.split("<!--")[0]
    assert utility_page.written(text, some_tables()) == text
    with pytest.raises(ValueError, match="'targets' once"):
        utility_page.written("no marks", some_tables())


def test_the_page_shows_the_tables_of_the_repository():
    page = utility.PAGE.read_text(encoding="utf-8")
    assert utility_page.written(page, utility.tables_in(utility.TABLES)) == page


def test_the_figure_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from bench.utility_figure import draw

    draw(some_tables().points, tmp_path / "utility.png")
    assert (tmp_path / "utility.png").stat().st_size > 10_000


def test_names_on_the_command_line_are_checked():
    options = utility.parsed(["--only", "s1,a2", "--methods", "dplloyd", "--quick"])
    assert (options.only, options.methods, options.processes) == (["s1", "a2"], ["dplloyd"], 2)
    for wrong in (["--only", "s9"], ["--methods", "none"], ["everything"]):
        with pytest.raises(SystemExit):
            utility.parsed(wrong)

"""The bench of streams: its table, and what the documentation shows of it."""

import numpy as np

from bench import stream
from bench.growing_tables import read_rows
from bench.stream import BATCHES, COLUMNS, DATA, EPSILONS, MARKS, PAGE, RUNS, TABLE, WAYS
from sfumato.theory import running_noise


def test_the_page_shows_the_whole_table():
    rows = read_rows(TABLE)
    wanted = {
        (name, f"{epsilon:g}", str(run), str(batches))
        for name in DATA
        for epsilon in EPSILONS
        for run in range(RUNS)
        for batches in BATCHES
    }
    measured = [(row["data"], row["epsilon"], row["run"], row["batches"]) for row in rows]
    assert sorted(measured) == sorted(wanted)
    text = PAGE.read_text(encoding="utf-8")
    begin, end = MARKS
    assert f"\n{begin}\n{stream.page(rows)}\n{end}\n" in text
    assert f"means of {RUNS} runs" in text


def mean(data, epsilon, batches, way):
    key = (data, epsilon, batches)
    rows = [r for r in read_rows(TABLE) if (r["data"], r["epsilon"], r["batches"]) == key]
    return np.mean([float(row[way]) for row in rows])


def test_what_the_page_says_of_the_table():
    for epsilon in ("0.2", "1"):
        whole = mean("steady", epsilon, "64", "whole")
        assert abs(mean("steady", epsilon, "64", "stream") - whole) < 0.00015
        lost = {way: mean("drifting", epsilon, "64", way) for way in WAYS}
        assert lost["fading"] < 1.25 < min(lost[way] for way in WAYS if way != "fading")
        assert max(lost, key=lost.get) == "stream"
    for batches in ("4", "16", "64"):
        assert mean("steady", "0.2", batches, "stream") < mean("steady", "0.2", batches, "averaged")


def rms(batches, way, *, gaussian):
    each = [running_noise(t, batches, gaussian=gaussian)[way] for t in range(1, batches + 1)]
    return np.sqrt(np.mean(np.square(each)))


def test_the_numbers_of_batches_from_which_a_tree_pays():
    for batches, gaussian in ((1100, False), (20, True)):
        assert rms(batches, 0, gaussian=gaussian) <= rms(batches, 1, gaussian=gaussian)
    for batches, gaussian in ((1250, False), (24, True)):
        assert rms(batches, 0, gaussian=gaussian) > rms(batches, 1, gaussian=gaussian)


def test_a_run_has_a_line_for_every_number_of_batches(monkeypatch):
    monkeypatch.setattr(stream, "ROWS", 300)
    lines = stream.measure("drifting", 5.0, 0, most=4)
    assert [line[3] for line in lines] == ["1", "4"]
    assert all(len(line) == len(COLUMNS) for line in lines)
    assert all(float(cell) >= 0.9 for line in lines for cell in line[4:])


def test_matched_centres_are_averaged():
    first = np.array([[0.0, 0.0], [1.0, 1.0]])
    found = stream.averaged([first, first[::-1] + 0.2])
    np.testing.assert_allclose(found, first + 0.1)

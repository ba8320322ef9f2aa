"""The bench of Edler 2023: its data, its runs, its resuming, the thesis's numbers, its page."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bench import inertia_runs
from bench.growing_tables import read_rows
from bench.inertia_data import BLOB_RANGE, MNIST, blobs, inertia, is_there, load, shape, title
from bench.inertia_methods import BEST_KMEANS, KMEANS, LLOYD, balcan, method_of
from bench.inertia_runs import (
    BATCH,
    Batch,
    Point,
    Result,
    append,
    complete,
    measure,
    merged,
    missing,
    read,
)
from bench.papers import edler2023, edler2023_published
from bench.papers import edler2023_law as law
from bench.papers.edler2023_claims import (
    CLAIMS,
    epsilon_helps,
    judge,
    rounds_hurt_on_blobs,
    swaps_are_random,
)
from bench.papers.edler2023_claims_compared import (
    a_subset_is_enough,
    auto_is_best,
    coreset_helps_on_blobs,
    coreset_helps_on_mnist,
    nonprivate_is_best,
)
from bench.papers.edler2023_numbers import FILE, THEIRS, budget_of, place
from bench.papers.edler2023_page import COSTS, PAGE, SHOWN, X, costs, markers, table_of
from bench.papers.edler2023_parts import (
    CHAPTER4,
    EDLER,
    FULL,
    PARTS,
    PUBLISHED5,
    QUICK,
    SPREAD,
    TUNED,
    WITHOUT,
    points_of,
)
from bench.papers.edler2023_tables import Row, rows_of, theirs_at, typical, write
from bench.papers.edler2023_tables import read as read_part
from bench.papers.su2015_verdicts import as_markdown, shown_on
from bench.papers.su2015_verdicts import read as read_claims
from sfumato.methods import Balcan

SMALL = "blobs_4_20_2000"


def test_blobs_are_those_of_the_thesis():
    data = load(SMALL)
    assert shape(SMALL) == data.rows.shape == (2000, 20)
    assert data.bounds[0][0], data.bounds[1][0] == BLOB_RANGE
    assert np.array_equal(data.rows, load.__wrapped__(SMALL).rows)
    assert ((data.middles >= 0) & (data.middles <= 100)).all()
    # A standard deviation of one in every column.
    assert inertia(data, data.middles) == pytest.approx(2000 * 20, rel=0.05)
    assert inertia(data, data.rows[:1]) == pytest.approx(
        np.square(data.rows - data.rows[0]).sum(), rel=1e-6
    )
    assert shape(blobs(64, 100)) == (100_000, 100)
    assert title(blobs(64, 100, 50_000)) == "64 blobs, 50,000 × 100"


def test_missing_data_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert not is_there(MNIST)
    assert is_there(SMALL)
    wanted = [Point(MNIST, 10, "dplloyd", 1.0), Point(SMALL, 4, "dplloyd", 1.0)]
    assert {batch.point for batch in missing(wanted, {})} == {wanted[1]}


def test_names_of_methods_say_how_they_are_set():
    found = method_of(balcan("matlab", swaps=4, budget=TUNED, gamma=1.5, deepest=False))
    assert found == Balcan("matlab", swaps=4, budget=TUNED, gamma=1.5, deepest=False)
    assert method_of(EDLER) == Balcan()
    assert method_of("balcan edler search=coreset") == Balcan(search="coreset")
    assert sum(SPREAD) == pytest.approx(1)
    assert method_of(WITHOUT).rounds == 0


@pytest.mark.parametrize("method", [EDLER, CHAPTER4, "dplloyd", KMEANS, LLOYD, BEST_KMEANS])
def test_every_kind_of_point_can_be_measured(method):
    point = Point(SMALL, 4, method, 5.0)
    result = measure(Batch(point, 0, 2))
    assert result.key == point.key
    assert result.runs == 2
    assert 0 < result.mean < 2000 * 20 * 110**2
    assert result.sd >= 0


def test_a_refusal_is_kept_and_not_asked_for_again(tmp_path):
    path = tmp_path / "table.csv"
    point = Point(SMALL, 4, "balcan paper", 1.0)
    append(path, measure(Batch(point, 0, 1)))
    result = read(path)[point.key]
    assert result.runs == 0
    assert "dimensions" in result.note
    assert missing([point], read(path)) == []


def test_the_published_arithmetic_reaches_the_blobs_without_noise_to_speak_of():
    data = load(SMALL)
    best = min(
        inertia(data, edler2023_published.centers(data, 4, 1e6, "edler", seed)) for seed in range(9)
    )
    assert best == pytest.approx(2000 * 20, rel=0.1)
    noisy = edler2023_published.centers(data, 4, 0.01, "edler", 0)
    assert inertia(data, noisy) > 10 * best


def test_only_runs_that_are_missing_are_done_and_batches_add_up(tmp_path, monkeypatch):
    path, asked = tmp_path / "table.csv", []
    points = [replace(Point(SMALL, 4, m, 1.0), runs=12) for m in ("dplloyd", "auto")]
    append(path, Result(points[0].key, 12, 1.0, 0.5, 0.1))
    append(path, Result(points[1].key, 4, 2.0, 0.5, 0.1))

    def measured(left, processes):
        asked.extend(left)
        for batch in left:
            yield Result(batch.point.key, batch.runs, 5.0, 0.0, 0.4)

    monkeypatch.setattr(inertia_runs, "_measured", measured)
    complete(path, points)
    assert [(b.point, b.first, b.runs) for b in asked] == [
        (points[1], 4, BATCH),
        (points[1], 4 + BATCH, 3),
    ]
    table = read(path)
    assert [table[p.key].runs for p in points] == [12, 12]
    assert table[points[1].key].mean == pytest.approx((4 * 2.0 + 8 * 5.0) / 12)
    assert len(read_rows(path)) == 2
    complete(path, points)
    assert len(asked) == 2


def test_merged_batches_are_the_statistics_of_all_runs():
    values = np.random.default_rng(1).normal(size=(3, 5))
    key = Point(SMALL, 4, "auto", 1.0).key
    total = Result(key, 0)
    for part in values:
        total = merged(total, Result(key, 5, part.mean(), part.std(ddof=1), 1.0))
    assert total.runs == 15
    assert total.mean == pytest.approx(values.mean())
    assert total.sd == pytest.approx(values.std(ddof=1))


def test_the_numbers_of_the_thesis_are_all_there():
    assert len(read_rows(FILE)) == 389
    assert len(THEIRS["table8"]) == 104
    assert THEIRS["fig5.4"]["python", "1"] == 188063471126
    assert THEIRS["fig5.8"]["kmeans", "64"] == 9988959
    for _, x in THEIRS["table8"]:
        assert sum(budget_of(x)) == pytest.approx(1)
    assert place("python", "1.0") == ("python", "1")


def test_parts_have_every_place_of_the_thesis():
    assert {*PARTS, *law.PARTS} == {*THEIRS, "subset"}
    for name, make in PARTS.items():
        marks = make(FULL)
        places = {place(mark.series, mark.x) for mark in marks}
        assert len(places) == len(marks)
        known = {at for at in THEIRS.get(name, {}) if at[0] != "minutes" or name != "fig4.1"}
        assert known <= places
        assert len(make(QUICK)) <= len(marks)
    main = {point.key: point.runs for point in points_of("fig4.2", FULL)}
    assert {main[key] for key in main if key[2] == CHAPTER4} == {20}
    assert all(p.runs <= 3 for name in PARTS for p in points_of(name, QUICK))


def test_a_row_has_ours_theirs_and_their_ratio(tmp_path):
    marks = PARTS["fig5.4"](FULL)
    table = {m.points[0].key: Result(m.points[0].key, 5, 2e11, 1e10, 3.0) for m in marks}
    rows = {(row.series, row.x): row for row in rows_of("fig5.4", table, FULL)}
    assert rows["python", "1"].ratio == pytest.approx(2e11 / 188063471126)
    assert rows["published", "1"].theirs == rows["python", "1"].theirs
    assert math.isnan(rows["auto", "1"].ratio)
    write(tmp_path / "part.csv", list(rows.values()))
    read_again = read_part(tmp_path / "part.csv")
    assert read_again["python", "1"] == replace(rows["python", "1"], theirs=1.88063e11)
    assert math.isnan(read_again["auto", "1"].theirs)
    assert typical([2.0, 8.0, math.nan]) == pytest.approx(4)


def test_means_of_divisions_are_over_those_with_that_part():
    marks = {mark.x: mark for mark in PARTS["table5.4"](FULL)}
    for x, mark in marks.items():
        for point in mark.points:
            parts = method_of(point.method).budget
            assert parts[0] == 0.7
            assert parts[3] == pytest.approx(float(x), abs=1e-3)
    assert len(marks["0.2"].points) > 5
    minutes = next(m for m in PARTS["fig5.3"](FULL) if m.series == "minutes")
    table = {p.key: Result(p.key, 5, 2e11, 0.0, 30.0) for p in points_of("fig5.3", FULL)}
    row = next(r for r in rows_of("fig5.3", table, FULL) if r.series == "minutes")
    assert (row.x, row.ours, row.theirs) == (minutes.x, 0.5, 5.11)


def test_the_printed_probabilities_follow_from_the_printed_formula():
    for part, least in (("table5.6", 12), ("table5.7", 9)):
        ours, theirs = law.printed(part), THEIRS[part]
        near = [at for at in theirs if ours[at] == pytest.approx(theirs[at], rel=0.02)]
        assert len(near) >= least
    shares = law.corrected(100.0)
    assert shares["corrected", "0.01"] == pytest.approx(1 / (1 + math.exp(-100 * 0.01 / 11)))
    data = load(SMALL)
    assert 0 < law.gap_of(data, 4) < len(data.rows)


def part_of(**series):
    """Rows of a part: for each series its x, mean and deviation."""
    return {
        (name.replace("_", " "), x): Row(
            name.replace("_", " "), x, "m", 20, mean, sd, math.nan, 1.0
        )
        for name, curve in series.items()
        for x, (mean, sd) in curve.items()
    }


def test_claims_follow_the_tables():
    falling = {"0.1": (9.0, 0.1), "1": (5.0, 0.1)}
    rising = {"0.1": (5.0, 0.1), "1": (9.0, 0.1)}
    assert epsilon_helps({"fig4.2": part_of(python=falling)})[0]
    assert not epsilon_helps({"fig4.2": part_of(python=rising)})[0]
    worse, better = {"8": (9.0, 0.1), "64": (9.0, 0.1)}, {"8": (5.0, 0.1), "64": (5.0, 0.1)}
    assert rounds_hurt_on_blobs({"fig5.2": part_of(**{"with": worse, "without": better})})[0]
    assert not rounds_hurt_on_blobs({"fig5.2": part_of(**{"with": better, "without": worse})})[0]
    assert not swaps_are_random({"table5.5": part_of(inertia=falling)})[0]
    assert swaps_are_random({"table5.5": part_of(inertia={"0": (5.0, 1), "2": (5.1, 1)})})[0]
    enough = {"4": (5.0, 1.0), "all": (5.0, 1.0)}
    many = part_of(mnist=enough, blobs=enough, mnist_seconds=enough, blobs_seconds=enough)
    assert a_subset_is_enough({"subset": many})[0]
    costly = part_of(
        mnist={"4": (9.0, 0.1), "all": (5.0, 0.1)},
        blobs=enough,
        mnist_seconds=enough,
        blobs_seconds=enough,
    )
    assert not a_subset_is_enough({"subset": costly})[0]


def test_claims_that_compare_series():
    figures = ("fig5.4", "fig5.5", "fig5.6", "fig5.7", "fig5.8")
    rows = part_of(
        auto={"1": (1.0, 0.1), "2": (1.0, 0.1)},
        coreset={"1": (2.0, 0.1), "2": (2.0, 0.1)},
        python={"1": (3.0, 0.1), "2": (3.0, 0.1)},
        matlab={"1": (3.0, 0.1), "2": (3.0, 0.1)},
        diffprivlib={"1": (3.0, 0.1), "2": (3.0, 0.1)},
        dplloyd_at_half={"1": (3.0, 0.1), "2": (3.0, 0.1)},
    )
    tables = dict.fromkeys(figures, rows)
    assert coreset_helps_on_blobs(tables)[0]
    assert coreset_helps_on_mnist(tables)[0]
    assert auto_is_best(tables)[0]
    lost = rows | part_of(coreset={"1": (0.5, 0.1), "2": (9.0, 0.1)})
    assert not auto_is_best(tables | {"fig5.6": lost})[0]
    assert not coreset_helps_on_blobs(tables | {"fig5.6": lost})[0]
    best = rows | part_of(kmeans={"1": (0.1, 0.1), "2": (2.99, 0.1)})
    assert nonprivate_is_best(dict.fromkeys(figures, best))[0]
    close = rows | part_of(kmeans={"1": (2.99, 0.1), "2": (2.99, 0.1)})
    assert not nonprivate_is_best(dict.fromkeys(figures, close))[0]
    assert "fig5.6 at 1" in auto_is_best(tables | {"fig5.6": lost})[1]


def test_a_claim_without_rows_is_not_measured():
    assert len(CLAIMS) >= 25
    assert {claim.judge({}).verdict for claim in CLAIMS} == {"not measured"}


def test_costs_tell_the_simulation_from_the_rest():
    rows = {
        ("python", "1"): Row("python", "1", EDLER, 5, 3e11, 0.0, 2e11, 1.0),
        ("published", "1"): Row("published", "1", PUBLISHED5, 5, 2.2e11, 0.0, 2e11, 1.0),
    }
    line = costs({"fig5.4": rows}).splitlines()[2]
    assert line == "| Figure 5.4 | **1.5** | 1.5 – 1.5 | 1.1 | 1.36 |"
    assert "3.000e11 / 2.000e11 = 1.5" in table_of("fig5.4", rows)
    assert set(COSTS) <= set(PARTS)
    assert theirs_at("fig4.1", "seconds", "30") == 48


def test_the_page_shows_the_tables_and_the_claims_those_of_the_figures():
    tables, _ = edler2023.folders(quick=False)
    page = PAGE.read_text(encoding="utf-8")
    found = edler2023.tables_in(tables)
    written = read_claims(edler2023.table_of(tables, "claims"))
    assert shown_on(page, markers("claims")[0]) == as_markdown(written)
    assert written == judge(found)
    assert "not measured" not in {verdict.verdict for verdict in written}
    for name, make in SHOWN.items():
        assert shown_on(page, *markers(name)) == make(found)
    assert set(found) >= set(X)
    for sheet in ("chapter4", "tuning", "comparison"):
        assert f"edler2023_{sheet}.png" in page


def test_the_tables_of_the_parts_are_those_of_the_points():
    tables, _ = edler2023.folders(quick=False)
    points = read(edler2023.table_of(tables, "points"))
    for name in PARTS:
        again = rows_of(name, points, FULL)
        written = read_part(edler2023.table_of(tables, name))
        assert {(row.series, row.x) for row in again} == set(written)
        for row in again:
            shown = written[row.series, row.x]
            assert shown.ours == pytest.approx(row.ours, rel=1e-5)
            assert shown.runs == row.runs


@pytest.mark.slow
def test_figures_can_be_drawn_from_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    from bench.papers.edler2023_figures import SHEETS, draw

    draw(edler2023.tables_in(edler2023.folders(quick=False)[0]), tmp_path)
    for sheet in SHEETS:
        assert (tmp_path / f"edler2023_{sheet}.png").stat().st_size > 10_000

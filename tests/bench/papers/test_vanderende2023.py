"""The bench of van der Ende 2023: its data, its runs, its resuming, its claims and its page."""

import numpy as np
import pytest

from bench.papers import vanderende2023, vanderende2023_runs
from bench.papers.su2015_runs import Point, Result, append, read
from bench.papers.su2015_verdicts import as_markdown, shown_on
from bench.papers.su2015_verdicts import read as read_claims
from bench.papers.vanderende2023_beyond import denoising_helps
from bench.papers.vanderende2023_claims import (
    CLAIMS,
    ari_rises,
    distance_is_known,
    drawing_again_is_better,
    fifty_are_few,
    judge,
    rises,
)
from bench.papers.vanderende2023_data import (
    ATTACKED_ROWS,
    EIGHT,
    HALF_WIDTH,
    SOURCES,
    SYNTHETIC,
    is_there,
    load,
)
from bench.papers.vanderende2023_kinds import (
    CLEAN,
    FIRST,
    KINDS,
    Job,
    clean_labels,
    clusterer,
    mechanism,
    scaled,
)
from bench.papers.vanderende2023_points import (
    EPSILONS,
    FIGURES,
    FULL,
    QUICK,
    TABLES,
    parameters,
    parameters_as_markdown,
    read_parameters,
)
from bench.papers.vanderende2023_runs import complete, measure


@pytest.mark.parametrize("name", SYNTHETIC)
def test_synthetic_data_are_those_of_the_thesis(name):
    rows, many = load(name), load(name, ATTACKED_ROWS)
    assert rows.shape == (50, SOURCES[name].columns)
    assert many.shape == (2000, SOURCES[name].columns)
    assert np.abs(many).max() <= HALF_WIDTH
    # The same four places: rows of the large table are near rows of the small one.
    gaps = np.linalg.norm(many[:, None] - rows, axis=2).min(axis=1)
    assert np.median(gaps) < 0.6 * np.sqrt(SOURCES[name].columns)


def test_missing_data_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert is_there("dataset1")
    assert not is_there("seeds")
    monkeypatch.setattr(
        vanderende2023_runs,
        "_measured",
        lambda jobs, _: iter([]) if not jobs else pytest.fail("nothing can be measured"),
    )
    complete(tmp_path / "none.csv", [Job("seeds", "kmeans", 1.0)])


def test_real_data_are_cut_and_brought_to_the_bounds(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    rows = np.random.default_rng(0).uniform(0, [5, 6], (700, 2))
    np.savez(tmp_path / "lsun.npz", X=rows, lo=np.zeros(2), hi=np.array([5.0, 6.0]))
    load.cache_clear()
    found = load("lsun")
    assert found.shape == (500, 2)
    assert np.abs(found).max() <= HALF_WIDTH
    assert found.std() == pytest.approx(HALF_WIDTH / np.sqrt(3), rel=0.1)
    load.cache_clear()


def test_the_radius_is_one_and_parameters_are_read_off_the_scaled_points():
    assert float(mechanism(2.0).fit(load("dataset1")).guarantee_.amount) == 2.0
    points = scaled(load("dataset1"))
    assert clusterer("dbscan", points, 4).min_samples == 4
    assert clusterer("ap", points, 4).damping == 0.5
    assert len(np.unique(clean_labels("dataset1", "kmeans"))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_job_can_be_measured(kind):
    job = Job("dataset1", kind, 2.0, runs=1)
    found = {r.point.method: r for r in measure(job)}
    first = found[job.mark[1]]
    assert first.point.key == job.mark
    assert np.isfinite(first.mean)
    assert all(name.startswith(f"{kind}.") for name in found)
    assert FIRST[kind] in KINDS[kind](job, 0)


def test_without_noise_nothing_is_lost():
    found = {r.point.method: r.mean for r in measure(Job("dataset1", "kmeans", CLEAN, runs=1))}
    assert found["kmeans.ari"] == found["kmeans.ami"] == pytest.approx(1)
    assert found["kmeans.silhouette"] == pytest.approx(found["kmeans.silhouette_rows"])


def test_figures_have_the_points_of_the_thesis():
    assert set(FIGURES.values()) == set(TABLES)
    assert EPSILONS == (0.05, 0.1, 0.5, 1, 2, 3, 5, 7, 9)
    for make in TABLES.values():
        jobs = make(FULL)
        assert len({job.mark for job in jobs}) == len(jobs)
        assert {job.dataset for job in jobs} == set(EIGHT)
        assert {job.runs for job in jobs if job.epsilon != CLEAN} == {10}
        assert {job.epsilon for job in jobs} >= set(EPSILONS)
        assert len(make(QUICK)) < len(jobs)


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch):
    path, asked = tmp_path / "table.csv", []
    jobs = [Job("dataset1", "kmeans", e, runs=3) for e in (1.0, 2.0, 3.0)]
    append(path, Result(Point(*jobs[0].mark, 3), 0.5, 0.0, 0.0))
    append(path, Result(Point(*jobs[1].mark, 2), 0.5, 0.0, 0.0))

    def measured(left, processes):
        asked.extend(left)
        for job in left:
            yield [Result(Point(*job.mark, 3), 1.0, 0.0, 0.0)]

    monkeypatch.setattr(vanderende2023_runs, "_measured", measured)
    complete(path, jobs)
    assert asked == jobs[1:]
    assert [read(path)[job.mark].mean for job in jobs] == [0.5, 1.0, 1.0]
    complete(path, jobs)
    assert len(asked) == 2


def test_the_mark_of_a_job_is_written_last(tmp_path, monkeypatch):
    path, job = tmp_path / "table.csv", Job("dataset1", "distance", 1.0, runs=1)
    lines = []
    monkeypatch.setattr(vanderende2023_runs, "append", lambda _, r: lines.append(r.point.key))
    complete(path, [job], processes=1)
    assert lines[-1] == job.mark
    assert len(lines) == 2


def table(method, means, name="dataset1", sd=0.0):
    points = {e: Point(name, method, e, 0.0, 10) for e in means}
    return {p.key: Result(p, means[e], sd, 0.0) for e, p in points.items()}


def test_a_rise_is_monotone_and_clear():
    rising = {e: i / 10 for i, e in enumerate(EPSILONS)}
    assert rises(table("kmeans.ari", rising), "dataset1", "kmeans.ari")
    assert not rises(table("kmeans.ari", rising, sd=2.0), "dataset1", "kmeans.ari")
    falling = {e: -v for e, v in rising.items()}
    assert not rises(table("kmeans.ari", falling), "dataset1", "kmeans.ari")


def test_claim_about_ari():
    rising = {e: i / 10 for i, e in enumerate(EPSILONS)}
    flat = dict.fromkeys(EPSILONS, 0.5)
    good = table("kmeans.ari", rising) | table("ap.ari", rising)
    assert ari_rises({"utility": good | table("dbscan.ari", rising)})[0]
    holds, numbers = ari_rises({"utility": good | table("dbscan.ari", flat)})
    assert not holds
    assert "not: DBSCAN on dataset 1" in numbers


def test_claim_about_the_distance():
    known = {e: 2 / e for e in EPSILONS}
    clamped = table("distance.clamped", known)
    assert distance_is_known({"distance": clamped | table("distance.free", known)})[0]
    off = {e: 2.3 / e for e in EPSILONS}
    assert not distance_is_known({"distance": clamped | table("distance.free", off)})[0]


def test_claims_about_truncation_few_rows_and_denoising():
    low, high = dict.fromkeys(EPSILONS, 0.2), dict.fromkeys(EPSILONS, 0.6)
    clamped = table("truncated.ari", low) | table("truncated.full_ari", low)
    assert drawing_again_is_better({"utility": clamped | table("truncated.halved_ari", high)})[0]
    assert not drawing_again_is_better({"utility": clamped | table("truncated.halved_ari", low)})[0]
    few = table("few.advantage", {CLEAN: 0.1}, sd=0.3)
    many = table("forest.advantage", {CLEAN: 0.1}, sd=0.02)
    assert fifty_are_few({"privacy": few | many})[0]
    sure = table("few.advantage", {CLEAN: 0.1}, sd=0.01)
    assert not fifty_are_few({"privacy": sure | many})[0]
    better, worse = {}, {}
    for name in EIGHT:
        for kind in ("denoised", "denoised_many"):
            plain = table(f"{kind}.plain_error", high, name)
            better |= plain | table(f"{kind}.gain", low, name, sd=0.1)
            worse |= plain | table(f"{kind}.gain", low, name, sd=0.5)
    assert denoising_helps({"utility": better})[0]
    assert not denoising_helps({"utility": worse})[0]


def test_a_claim_without_points_is_not_measured():
    empty = {name: {} for name in TABLES}
    assert len(CLAIMS) >= 15
    assert {claim.judge(empty).verdict for claim in CLAIMS} == {"not measured"}


def test_the_page_shows_the_tables_and_the_claims_those_of_the_figures():
    tables, _ = vanderende2023.folders(quick=False)
    page = vanderende2023.PAGE.read_text(encoding="utf-8")
    written = read_claims(vanderende2023.table_of(tables, "claims"))
    assert shown_on(page, vanderende2023.BEGIN) == as_markdown(written)
    assert written == judge({n: read(vanderende2023.table_of(tables, n)) for n in TABLES})
    assert "not measured" not in {verdict.verdict for verdict in written}
    lines = read_parameters(vanderende2023.table_of(tables, "parameters"))
    shown = shown_on(page, vanderende2023.BEGIN_PARAMETERS, vanderende2023.END_PARAMETERS)
    assert shown == parameters_as_markdown(lines)
    for figure in FIGURES:
        assert f"vanderende2023_{figure}.png" in page


def test_parameters_of_the_synthetic_data_come_out_the_same():
    tables, _ = vanderende2023.folders(quick=False)
    lines = read_parameters(vanderende2023.table_of(tables, "parameters"))
    assert parameters("dataset1") in lines


@pytest.mark.slow
def test_figures_can_be_drawn_from_the_tables(tmp_path):
    pytest.importorskip("matplotlib")
    from bench.papers.vanderende2023_figures import draw

    tables, _ = vanderende2023.folders(quick=False)
    for figure, name in FIGURES.items():
        few = {
            key: result
            for key, result in read(vanderende2023.table_of(tables, name)).items()
            if key[0] in ("dataset1", "lsun")
        }
        draw(figure, few, tmp_path / f"{figure}.png")
        assert (tmp_path / f"{figure}.png").stat().st_size > 10_000

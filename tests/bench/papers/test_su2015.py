"""The bench of Su et al. 2015: its data, its resuming, its claims, and the page that shows them."""

from dataclasses import replace

import numpy as np
import pytest

from bench.papers import su2015, su2015_runs
from bench.papers.su2015 import PURE, main
from bench.papers.su2015_claims import (
    SEVEN,
    _dplloyd_and_k,
    gkm_is_worst,
    theta_ten,
    worse_than_pgkm,
)
from bench.papers.su2015_claims_hybrid import _beats_both, gene_overtakes, lloyd_is_faster
from bench.papers.su2015_claims_passing import blocks_down_to_k, increasing_is_better
from bench.papers.su2015_compare import clearly
from bench.papers.su2015_data import (
    EIGHT,
    SPACING,
    SPREAD,
    TOWNS,
    best_centers,
    is_there,
    separated,
    starts,
    synthetic,
)
from bench.papers.su2015_figures import STYLES, _styles
from bench.papers.su2015_page import SHOWN, markers, rewrite
from bench.papers.su2015_points import FIGURES, FULL, LABELS, QUICK, SLOW, STUDY_EPSILONS, added
from bench.papers.su2015_runs import Point, Result, append, complete, measure, missing, read
from bench.papers.su2015_verdicts import CLAIMS, Claim, as_markdown, shown_on
from bench.papers.su2015_verdicts import read as read_claims
from bench.papers.su2015_verdicts import write as write_claims


@pytest.mark.parametrize(("d", "k"), [(2, 2), (2, 10), (5, 7), (10, 10)])
def test_synthetic_data_are_equal_clusters_far_apart(d, k):
    data = synthetic(d, k)
    assert data.rows.shape == (10_000, d)
    assert data.k == k
    assert np.abs(data.rows).max() <= 1
    groups = [data.rows[i::k] for i in range(k)]
    assert max(map(len, groups)) - min(map(len, groups)) <= 1
    middles = np.array([group.mean(axis=0) for group in groups])
    distances = np.linalg.norm(middles[:, None] - middles, axis=2)[np.triu_indices(k, 1)]
    assert distances.min() > SPACING - 0.01
    assert np.concatenate(groups).std() > SPREAD
    assert np.isclose(data.nicv(middles), d * SPREAD**2, rtol=0.05)


def test_synthetic_data_are_the_same_every_time():
    assert np.array_equal(synthetic(3, 4).rows, synthetic(3, 4).rows)
    assert not np.array_equal(synthetic(3, 4).rows, synthetic(4, 3).rows[:, :3])


def test_the_spacing_shrinks_where_it_does_not_fit():
    points, spacing = separated(2, 60, np.random.default_rng(0))
    assert len(points) == 60
    assert 0 < spacing < SPACING
    assert separated(2, 10, np.random.default_rng(0))[1] == SPACING


def test_middles_in_a_ball_are_no_further_apart_in_more_dimensions():
    rows = synthetic(10, 5, ball=True).rows
    middles = np.array([rows[i::5].mean(axis=0) for i in range(5)])
    assert np.linalg.norm(middles, axis=1).max() < 0.81
    assert np.linalg.norm(middles[:, None] - middles, axis=2).max() < 1.7
    assert is_there("ball_2_2")


def test_the_baseline_finds_the_clusters():
    assert starts(3, 2, 5).shape == (5, 3, 2)
    found = synthetic(2, 3).nicv(best_centers("syn_2_3"))
    assert found == pytest.approx(2 * SPREAD**2, rel=0.05)
    assert measure(Point("syn_2_3", "baseline", 0.0)).mean == found


def test_missing_data_are_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    assert is_there("syn_2_2")
    assert not is_there("s1")
    points = [Point("s1", "dplloyd", 1.0), Point("syn_2_2", "dplloyd", 1.0)]
    assert missing(points, {}) == points[1:]


def result(dataset, method, mean, epsilon=1.0, setting=0.0, sd=0.0):
    return Result(Point(dataset, method, epsilon, setting), mean, sd, 0.01)


def table(*results):
    return {r.point.key: r for r in results}


def test_a_table_reads_back_and_the_last_row_of_a_point_counts(tmp_path):
    path = tmp_path / "fig.csv"
    first, second = result("s1", "gkm", 0.5, setting=0.6), result("s1", "pgkm", 0.25)
    for each in (first, second, replace(first, mean=0.125)):
        append(path, each)
    assert read(path) == table(replace(first, mean=0.125), second)
    assert read(tmp_path / "none.csv") == {}


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch):
    path, other = tmp_path / "fig.csv", tmp_path / "other.csv"
    points = [Point(f"syn_2_{k}", "dplloyd", 1.0, runs=3) for k in range(2, 6)]
    append(path, Result(points[0], 1.0, 0.0, 0.0))
    append(path, Result(replace(points[1], runs=2), 1.0, 0.0, 0.0))
    append(other, Result(points[2], 2.0, 0.0, 0.0))
    asked = []

    def measured(left, processes):
        asked.extend(left)
        return (Result(point, 3.0, 0.0, 0.0) for point in left)

    monkeypatch.setattr(su2015_runs, "_measured", measured)
    complete(path, points, [other])
    assert asked == [points[1], points[3]]
    assert [read(path)[p.key].mean for p in points] == [1.0, 3.0, 2.0, 3.0]
    complete(path, points)
    assert len(asked) == 2
    assert [line.split(",")[0] for line in path.read_text().splitlines()[1:]] == [
        p.dataset for p in points
    ]


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        ("dplloyd", 0),
        ("dplloyd_equal", 0),
        ("eugkm_lloyd", 0),
        ("hybrid_equal", 0),
        ("hybrid_forced", 0),
        ("random_start", 0),
        ("halving", 0),
        ("steps", 2),
        ("rows", 10),
        ("rounded", 0),
        ("signed", 0),
        ("slices", 4),
        ("gkm", 0),
        ("gkm", 0.5),
        ("gkm3k", 0),
        ("sag", 0.5),
        ("noise", 0.5),
        ("eugkm", 10),
        ("eugkm", 0),
        ("hybrid", 0),
        ("gene", 2),
        ("lloyd", 2),
    ],
)
def test_every_kind_of_point_can_be_measured(method, setting):
    found = measure(Point("syn_2_2", method, 1.0, setting, runs=2))
    assert 0 < found.mean < 4
    assert found.sd >= 0


def test_figures_have_the_points_of_the_paper():
    assert len({p.dataset for p in FIGURES["fig2"](FULL)}) == 81
    for make in FIGURES.values():
        points = make(FULL)
        assert len({p.key for p in points}) == len(points)
        if make.__name__ in ("printed", "studies"):
            continue
        few = {p.method for p in points if p.runs < 3}
        assert few <= {SLOW}
        assert {p.method for p in points} <= set(LABELS)
        assert len(make(QUICK)) < len(points)


def test_clearly_means_two_standard_errors():
    one = result("s1", "pgkm", 1.0, sd=20**0.5)
    assert one.error == pytest.approx(1)
    assert clearly(one, replace(one, mean=1 + 2.9))
    assert not clearly(one, replace(one, mean=1 + 2.8))


def test_claim_about_pgkm_and_s1():
    usual = [result("s1", "dplloyd_equal", 2.0, 0.1), result("s1", "pgkm", 1.0, 0.1)]
    assert worse_than_pgkm({"fig1": table(*usual)})[0]
    more = [*usual, result("image", "dplloyd_equal", 2.0), result("image", "pgkm", 1.0)]
    holds, numbers = worse_than_pgkm({"fig1": table(*more)})
    assert not holds
    assert "Image ε = 1" in numbers


def test_claim_that_gkm_is_worst():
    others = [result("s1", method, 1.0) for method in ("dplloyd_equal", "eugkm", "pgkm")]
    assert gkm_is_worst({"fig1": table(result("s1", "gkm", 2.5), *others)})[0]
    assert not gkm_is_worst({"fig1": table(result("s1", "gkm", 1.5), *others)})[0]


def grid(method, loss, setting=0.0):
    places = [(d, k) for d in (2, 9) for k in (2, 9)]
    found = [result(f"syn_{d}_{k}", "baseline", 1.0, 0.0) for d, k in places]
    return found + [result(f"syn_{d}_{k}", method, 1 + loss(d, k), 1.0, setting) for d, k in places]


def test_claims_on_heat_maps():
    more_k, more_d = (
        {"fig2": table(*grid("dplloyd_equal", loss))}
        for loss in (lambda d, k: d + 2 * k, lambda d, k: 2 * d + k)
    )
    assert _dplloyd_and_k(more_k, "fig2")[0]
    assert not _dplloyd_and_k(more_d, "fig2")[0]
    fine, coarse = grid("eugkm", lambda d, k: k, 10.0), grid("eugkm", lambda d, k: 2 * k, 50.0)
    assert theta_ten({"fig2": table(*fine, *coarse)}) == (
        True,
        "of 4 datasets θ = 10: 4, θ = 50: 0",
    )


def test_claims_on_hybrid_and_convergence():
    three = [result("adult", m, v) for m, v in (("hybrid", 1), ("eugkm", 2), ("dplloyd", 3))]
    assert _beats_both({"fig5": table(*three)}, "hybrid", "dplloyd", "adult")[0]
    curves = [
        result(name, method, mean, setting=t)
        for name in (*SEVEN, TOWNS)
        for method, mean in (("lloyd", 1.0), ("gene", 2.0))
        for t in (2, 3, 4)
    ]
    assert lloyd_is_faster({"fig4": table(*curves)})[0]
    assert not gene_overtakes({"fig4": table(*curves)})[0]
    late = [result(name, "gene", 0.5, setting=4) for name in SEVEN]
    holds, numbers = gene_overtakes({"fig4": table(*curves, *late)})
    assert holds
    assert numbers.startswith("overtaken on 6, level on 0 of 6")


def test_claims_made_in_passing():
    kinds = {"uniform": 1.0, "increasing": 1.0, "halving": 2.0}
    runs = [result(n, m, v, e) for n in EIGHT for e in STUDY_EPSILONS for m, v in kinds.items()]
    assert increasing_is_better({"studies": table(*runs)})[0]
    blocks = [result(n, "rows", float(r), setting=r) for n in EIGHT for r in (1, 10)]
    assert blocks_down_to_k({"studies": table(*blocks)})[0]
    assert not blocks_down_to_k({"studies": table(*(replace(b, mean=-b.mean) for b in blocks))})[0]


def test_a_claim_without_points_is_not_measured():
    empty = {figure: {} for figure in FIGURES}
    assert len(CLAIMS) >= 10
    assert {claim.judge(empty).verdict for claim in CLAIMS} == {"not measured"}
    assert Claim("1", "yes", lambda _: (True, "2")).judge({}).verdict == "holds"


def test_the_page_is_rewritten_from_the_table(tmp_path):
    page, path = tmp_path / "page.md", tmp_path / "claims.csv"
    text = su2015.PAGE.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    verdicts = [Claim("1", "a, b", lambda _: (False, "1; 2")).judge({})]
    write_claims(path, verdicts)
    assert read_claims(path) == verdicts
    rewrite(page, {figure: {} for figure in FIGURES}, path)
    assert shown_on(page.read_text(encoding="utf-8")) == as_markdown(verdicts)
    assert page.read_text(encoding="utf-8").split("<!--")[0] == text.split("<!--")[0]


def test_the_page_shows_the_table_and_the_table_the_figures():
    tables, _ = su2015.folders(quick=False)
    written = read_claims(su2015.table_of(tables, "claims"))
    assert shown_on(su2015.PAGE.read_text(encoding="utf-8")) == as_markdown(written)
    figures = {figure: read(su2015.table_of(tables, figure)) for figure in FIGURES}
    assert written == su2015.su2015_verdicts.judge(figures)
    page = su2015.PAGE.read_text(encoding="utf-8")
    for name, make in SHOWN.items():
        assert shown_on(page, *markers(name)) == make(figures)


def test_a_registered_method_is_one_more_line():
    points = added("fig1", ["auto"], QUICK)
    assert {p.method for p in points} == {"auto"}
    assert {p.dataset for p in points} == set(QUICK.eight)
    assert added("fig2", ["auto"], QUICK) == []
    assert list(STYLES) == list(_styles({"dplloyd"}))
    assert _styles({"dplloyd", "auto"})["auto"] != _styles({"dplloyd"})["dplloyd"]
    assert "maxcover" not in PURE


def test_a_method_without_a_figure_by_epsilon_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["fig2", "--method", "auto"])
    assert "adds a line to fig1 and fig5" in capsys.readouterr().err


def test_nothing_to_measure_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"nothing to measure.*python -m bench data"):
        main(["fig1", "--quick"])

"""The bench of Nguyen, Chaturvedi and Xu 2021: its points, its claims and its page."""

import pytest

from bench.inertia_data import TRAINING, shape
from bench.inertia_methods import LLOYD, method_of
from bench.inertia_runs import Point, Result, read
from bench.papers import nguyen2021
from bench.papers.nguyen2021 import BALCAN, DATASETS, KS, METHODS, delta_of, points
from bench.papers.nguyen2021_claims import (
    CLAIMS,
    cover_beats_balcan,
    judge,
    private_curves_are_flat,
)
from bench.papers.nguyen2021_page import PAGE, markers, numbers
from bench.papers.su2015_verdicts import as_markdown, shown_on
from bench.papers.su2015_verdicts import read as read_claims


def test_points_are_those_of_the_paper():
    assert {shape(name) for name in DATASETS} == {(50_000, 100), (60_000, 784)}
    assert delta_of(TRAINING) == pytest.approx(60_000**-1.5, rel=1e-5)
    full = points(quick=False)
    assert len(full) == len(DATASETS) * len(KS) * len(METHODS)
    assert min(point.runs for point in full) >= 5
    assert {(p.epsilon, p.delta) for p in full if p.method == LLOYD} == {(0.0, 0.0)}
    assert all(p.delta == delta_of(p.dataset) for p in full if p.method != LLOYD)
    assert method_of(BALCAN).rounds == 1
    assert {point.runs for point in points(quick=True)} == {1}


def table(**factors):
    """Costs at two k of both datasets: for each method the costs at the first and the last."""
    found = {}
    for dataset in DATASETS:
        for method, costs in factors.items():
            name = BALCAN if method == "balcan" else method
            for k, cost in zip((2, 64), costs, strict=True):
                key = Point(dataset, k, name, 1.0).key
                found[key] = Result(key, 5, cost, 0.01 * cost, 1.0)
    return found


def test_claims_follow_the_table():
    assert cover_beats_balcan(table(maxcover=(1.0, 1.0), balcan=(2.0, 2.0)))[0]
    holds, said = cover_beats_balcan(table(maxcover=(1.0, 3.0), balcan=(2.0, 2.0)))
    assert not holds
    assert "clearly lower at 2 of 4" in said
    plain = {"lloyd": (1.0, 0.6), "balcan": (1.0, 0.95)}
    assert private_curves_are_flat(table(maxcover=(1.0, 0.7), **plain))[0]
    assert not private_curves_are_flat(table(maxcover=(1.0, 0.5), **plain))[0]
    close = cover_beats_balcan(table(maxcover=(1.0, 1.99), balcan=(2.0, 2.0)))
    assert close[0]
    assert "lower at 4 of 4, clearly higher at: none" in close[1]
    assert {claim.judge({}).verdict for claim in CLAIMS} == {"not measured"}


def test_the_page_shows_the_table_and_its_claims():
    tables, _ = nguyen2021.folders(quick=False)
    page, found = PAGE.read_text(encoding="utf-8"), read(nguyen2021.table_of(tables, "fig1"))
    written = read_claims(nguyen2021.table_of(tables, "claims"))
    assert shown_on(page, markers("claims")[0]) == as_markdown(written)
    assert written == judge(found)
    assert "not measured" not in {verdict.verdict for verdict in written}
    assert shown_on(page, *markers("numbers")) == numbers(found)
    assert "nguyen2021_fig1.png" in page


def test_the_figure_can_be_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from bench.papers.nguyen2021_figures import draw

    draw(table(maxcover=(1.0, 1.0), balcan=(2.0, 2.0)), tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000

"""The bench of explanations: its measures, and the baseline's scores."""

import numpy as np
import pytest

from bench import explain as bench

TABLES = (
    np.array([[90.0, 10], [10, 90], [50, 50]]),
    np.array([[40.0, 30, 30], [30, 40, 30], [30, 30, 40]]),
    np.array([[100.0, 0], [0, 100], [0, 100]]),
    np.array([[50.0, 50], [50, 50], [50, 50]]),
)


def test_exact_histograms_in_the_exact_order_are_without_fault():
    shares = {
        (c, a): counts[c] / counts[c].sum() for a, counts in enumerate(TABLES) for c in range(3)
    }
    ranked = [np.argsort(-line).tolist() for line in bench.distances(TABLES)]
    assert ranked[0] == [2, 0, 1, 3]
    run = bench.judged(shares, ranked, TABLES)
    assert (run.tv, run.first_tv, run.top3, run.best, run.histograms) == (0, 0, 1, 1, 12)


def test_what_is_wrong_is_counted():
    shares = {(c, 3): np.array([0.7, 0.3]) for c in range(3)}
    run = bench.judged(shares, [[3, 1, 0]] * 3, TABLES)
    assert run.tv == run.first_tv == pytest.approx(0.2)
    assert run.best == 0
    assert run.top3 < 1


def test_one_row_moves_a_score_of_the_baseline_by_one_at_most():
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts = rng.integers(0, 5, (3, 3)).astype(float)
        counts[0, 0] += 1
        larger = counts.copy()
        larger[tuple(rng.integers(3, size=2))] += 1
        one, other = (bench.own_scores((table,)) for table in (counts, larger))
        assert np.abs(one - other).max() <= 1 + 1e-9


def test_with_a_large_budget_the_baseline_finds_the_best_columns(monkeypatch):
    data = bench.small()
    sizes = np.full(data.k, 500.0)
    run = bench.dpclustx(data, 1e6, sizes, np.random.default_rng(0))
    assert run.tv < 0.001
    assert run.best > 0.9
    assert run.histograms == data.k


def test_both_are_measured_and_the_page_has_a_line_for_each_budget(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"{bench.BEGIN}\nold\n{bench.END}\n")
    monkeypatch.setattr(bench, "TABLE", tmp_path / "explain.csv")
    monkeypatch.setattr(bench, "PAGE", page)
    monkeypatch.setattr(bench, "EPSILONS", (1.0,))
    monkeypatch.setattr(bench, "BATCHES", (0,))
    bench.main(["run", "--runs", "2", "--tables", "small"])
    lines = bench.TABLE.read_text().splitlines()
    assert len(lines) == 3
    bench.main(["run", "--runs", "2", "--tables", "small"])
    assert bench.TABLE.read_text().splitlines() == lines, "measured once"
    assert "| small | 1.0 |" in page.read_text()

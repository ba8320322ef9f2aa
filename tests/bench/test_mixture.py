"""The bench of mixtures: DP-EM is accounted for, and the page shows what was measured."""

import math

import numpy as np
import pytest

from bench import mixture
from bench.growing_tables import read_rows


def test_the_page_shows_what_was_measured(tmp_path, monkeypatch):
    page = tmp_path / "mixture.md"
    page.write_text(f"a\n{mixture.BEGIN}\n\n{mixture.END}\nb\n", encoding="utf-8")
    monkeypatch.setattr(mixture, "PAGE", page)
    mixture.page()
    text = page.read_text(encoding="utf-8")
    table = text.split(mixture.BEGIN)[1].split(mixture.END)[0]
    assert table in (mixture.ROOT / "docs" / "mixture.md").read_text(encoding="utf-8")
    counts = {}
    for row in read_rows(mixture.TABLE):
        key = row["table"], row["method"]
        counts[key] = counts.get(key, 0) + 1
    for name in {name for name, _ in counts}:
        assert {m: counts[name, m] for m in mixture.RUNS} == mixture.RUNS


@pytest.mark.parametrize("d", [1, 2, 10])
def test_one_row_moves_a_step_of_dp_em_by_no_more_than_its_noise_is_for(d):
    rng = np.random.default_rng(0)
    upper = np.triu_indices(d)
    corner = np.ones(d) / math.sqrt(d)
    for row in (corner, *(rng.uniform(-1, 1, (50, d)) / math.sqrt(d))):
        for shares in (np.array([1.0, 0.0]), rng.dirichlet([1, 1])):
            line = np.concatenate([[1.0], row, np.outer(row, row)[upper]])
            moved = np.outer(shares, line).ravel()
            assert np.square(moved).sum() <= 3 + 1e-9
            assert np.abs(moved).sum() <= 1 + math.sqrt(d) + (d + 1) / 2 + 1e-9


def test_dp_em_and_ours_learn_a_small_problem():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(-0.5, 0.2, (3000, 1)), rng.normal(0.5, 0.2, (3000, 1))])
    task = mixture.Problem(rows, rows[::7], (np.array([-2.0]), np.array([2.0])), 2)
    best = mixture.score("scikit-learn", task, 0)
    for method in ("pure", "delta", "dp-em pure", "dp-em delta"):
        assert best - 1.5 < mixture.score(method, task, 1) < best + 0.1

"""Methods on mixed rows: neighbours ask the same and lose no more than was charged."""

import numpy as np
import pytest

from tests.laws.mixed_rows import levels_of, mixed, open_mixed, row_of, run_mixed
from tests.laws.test_replay import check_transcripts
from tests.no_noise import NoNoise

SHAPES = {
    "high": (4, (3, 9, 2, 17)),
    "high, no numbers": (0, (6, 5, 9, 12)),
    "middle": (3, (4, 2)),
    "middle, no numbers": (0, (8, 12)),
    "low": (1, (2,)),
}
BUDGETS = {"pure": (1, 0), "both": (1, "1e-6"), "small": ("0.05", 0), "tiny": ("1e-5", 0)}
METHODS = ("auto", "kprototypes")
methods = pytest.mark.parametrize("method", METHODS)
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
budgets = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())


def check_replay(method, rows, more, levels, budget, groups=None, **settings):
    """Run on some rows, replay with more, and the other way round; returns lost and charged."""
    asked = {"epsilon": budget[0], "delta": budget[1]}
    for pair in ((rows, more), (more, rows)):
        own = [None if groups is None else groups[: len(part)] for part in pair]
        one, other = (open_mixed(p, groups=g, **settings) for p, g in zip(pair, own, strict=True))
        account, centers = run_mixed(one, method, levels, **asked)
        other.replay = one.transcript
        _, again = run_mixed(other, method, levels, **asked)
        np.testing.assert_array_equal(centers.points, again.points)
        np.testing.assert_array_equal(centers.sizes, again.sizes)
        found = check_transcripts(one, other, account)
    return found


@methods
@shapes
@budgets
def test_no_answer_loses_more_than_it_was_charged(method, shape, budget):
    q, widths = shape
    rows = mixed(600, q, widths)
    corner = row_of([32767] * q, [w - 1 for w in widths], widths)
    lost, charged = check_replay(
        method, rows, np.vstack([rows, corner]), levels_of(q, widths), budget
    )
    assert 0 < lost <= charged


@methods
@shapes
@budgets
def test_a_group_loses_no_more_than_was_charged(method, shape, budget):
    q, widths = shape
    rows = mixed(600, q, widths)
    corner = np.repeat(row_of([32767] * q, [0] * len(widths), widths), 3, axis=0)
    groups = np.append(np.arange(600), np.full(3, 999))
    settings = {"groups": groups, "max_rows_per_group": 3}
    more = np.vstack([rows, corner])
    lost, charged = check_replay(method, rows, more, levels_of(q, widths), budget, **settings)
    assert 0 < lost <= charged


@methods
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_hardly_any_rows_take_the_same_path(method, n, delta):
    q, widths = SHAPES["high"]
    curator = open_mixed(mixed(n, q, widths))
    _, centers = run_mixed(curator, method, levels_of(q, widths), delta=delta)
    assert np.isfinite(centers.points).all()


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("shape", ["high", "high, no numbers", "middle"])
def test_without_noise_the_classes_are_found(shape, delta):
    q, widths = SHAPES[shape]
    rows, levels = mixed(6000, q, widths), levels_of(q, widths)
    _, centers = run_mixed(open_mixed(rows, noise=NoNoise()), "auto", levels, delta=delta)
    own = np.square(rows[:, None] - centers.points).sum(axis=2).argmin(axis=1)
    means = np.array([rows[own == j].mean(axis=0) for j in range(3)])
    assert np.abs(means - centers.points).max() < 0.1 * 32767
    assert sorted(centers.sizes)[0] > 1500


@methods
@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "low"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_the_categories_of_centres_are_distributions(method, shape, delta):
    q, widths = SHAPES[shape]
    levels = levels_of(q, widths)
    _, centers = run_mixed(open_mixed(mixed(400, q, widths)), method, levels, delta=delta)
    for one in levels:
        shares = (centers.points[:, one.start : one.end] / one.high + 1) / 2
        assert shares.min() > -1e-9
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)

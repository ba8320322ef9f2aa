"""A mixture spends its caps, loses no more than it was charged, and fails for no row."""

import numpy as np
import pytest

from sfumato import Curator
from sfumato._core.testing import ReplayedNoise
from sfumato.methods import Task
from sfumato.methods._mixture import NormalMixture
from tests.laws.harness import BUDGETS, blobs, curator_of
from tests.laws.test_replay import GROUPS, NEIGHBOURS, ROWS, check_transcripts

budgets = pytest.mark.parametrize("budget", BUDGETS)
kinds = pytest.mark.parametrize("kind", ["full", "diag", "spherical"])


def run(curator, *, kind="full", budget="pure", k=2, seed=1):
    method = NormalMixture(kind)
    rows = curator.rows_per_neighbour
    task = Task(k, curator.box.n_features, *BUDGETS[budget], max_rows_per_group=rows)
    account = curator.reserve("law", method.caps(task))
    return account, method(curator, task, account=account, rng=np.random.default_rng(seed))


def check_replay(one, other, **asked):
    account, found = run(one, **asked)
    other.replay = one.transcript
    _, again = run(other, **asked)
    for name in ("weights", "means", "covariances"):
        ours, theirs = getattr(found.mixture, name), getattr(again.mixture, name)
        np.testing.assert_array_equal(ours, theirs)
    return check_transcripts(one, other, account)


@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize("budget", ["third", "gaussian"])
def test_no_answer_loses_more_than_it_was_charged(pair, budget):
    check_replay(*(curator_of(rows) for rows in pair), budget=budget)
    check_replay(*(curator_of(rows) for rows in pair[::-1]), budget=budget)


@kinds
@pytest.mark.parametrize("nan", ["ignore", "center", "drop"])
def test_the_same_for_every_type_and_policy(kind, nan):
    pair = NEIGHBOURS["half a row"]
    check_replay(*(curator_of(rows, nan=nan) for rows in pair), kind=kind)


@pytest.mark.parametrize("most", [1, 5])
@budgets
def test_a_whole_group_loses_no_more_than_was_charged(most, budget):
    rows = np.vstack([ROWS, np.tile([[1.0, 3.0]], (30, 1))])
    labels = np.append(GROUPS, np.full(30, 99))
    keep = labels != 99
    with_group = curator_of(rows, groups=labels, max_rows_per_group=most)
    without = curator_of(rows[keep], groups=labels[keep], max_rows_per_group=most)
    lost, charged = check_replay(with_group, without, budget=budget)
    assert 0 < lost <= charged


@budgets
@pytest.mark.parametrize("n", [0, 2, 400])
def test_it_spends_its_caps(n, budget):
    for kind in ("full", "diag"):
        account, _ = run(curator_of(blobs(400)[:n]), budget=budget, kind=kind)
        for part, cap in enumerate(account.caps.parts):
            assert account.spent("pure", part)[0] == cap
        assert account.spent("gdp")[0] == account.caps.mu2
        assert (account.caps.epsilon, account.caps.delta) in (
            BUDGETS[budget],
            (BUDGETS[budget][0], 0),
        )


@kinds
@budgets
@pytest.mark.parametrize("n", [0, 2, 50, 400])
@pytest.mark.parametrize("k", [1, 3])
def test_mixtures_are_finite_and_positive_definite(kind, budget, n, k):
    _, found = run(
        curator_of(blobs(400)[:n], noise=ReplayedNoise(n)), kind=kind, budget=budget, k=k
    )
    mixture = found.mixture
    assert mixture.means.shape == (k, 2)
    assert np.isfinite(mixture.means).all()
    assert (mixture.weights > 0).all()
    assert mixture.weights.sum() == pytest.approx(1)
    np.linalg.cholesky(mixture.covariances)
    if kind != "full":
        assert (mixture.covariances[:, 0, 1] == 0).all()
    if kind == "spherical":
        steps = curator_of(blobs(1)).box.step
        unit = np.diagonal(mixture.covariances, axis1=1, axis2=2) * steps**2
        np.testing.assert_allclose(unit[:, 0], unit[:, 1], rtol=1e-3)


@pytest.mark.parametrize("n", [0, 3000])
@pytest.mark.parametrize("budget", ["pure", "approximate"])
def test_it_spends_its_caps_in_more_columns(n, budget):
    """There `auto` has parts of its own, and a part of the Gaussian noise."""
    rows = np.random.default_rng(0).normal(0, 0.3, (3000, 5))[:n]
    curator = Curator(rows, bounds=(-1, 1), epsilon=10.0, delta=0.1, noise=ReplayedNoise(3))
    account, found = run(curator, budget=budget)
    for part, cap in enumerate(account.caps.parts):
        assert account.spent("pure", part)[0] == cap
    assert account.spent("gdp")[0] == account.caps.mu2
    assert bool(account.caps.mu2) == (budget == "approximate")
    np.linalg.cholesky(found.mixture.covariances)


def test_rows_with_gaps_are_left_out_of_the_moments():
    """Of two tables that differ in such rows alone, no moment differs."""
    whole = np.nan_to_num(blobs(400))
    holes = np.vstack([whole, np.column_stack([np.full(200, np.nan), np.full(200, 2.9)])])
    one, other = curator_of(whole), curator_of(holes)
    run(one)
    other.replay = one.transcript
    run(other)
    pairs = zip(one.transcript.exact, other.transcript.exact, strict=True)
    same = [np.array_equal(a, b) for a, b in pairs]
    lines = [np.shape(a)[-1:] == (6,) for a in one.transcript.exact]
    assert sum(lines) == 2
    assert all(s for s, line in zip(same, lines, strict=True) if line)
    assert not all(same)

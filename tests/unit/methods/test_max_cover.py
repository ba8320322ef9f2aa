"""Max cover: its parts add up, its sizes are the paper's, its work is refused in time."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import sfumato
from sfumato import Curator, PrivateKMeans
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.methods import MaxCover, NeedsDelta, Task
from sfumato.methods._base import directions_of
from sfumato.methods._max_cover import orthogonal_projection
from tests.no_noise import NoNoise

F = Fraction


def task_of(k=3, d=20, epsilon=1, delta="0.000001", n_rows=None):
    return Task(k, d, F(epsilon), F(delta), n_rows)


def clumps(n=3000, d=20, k=3, seed=0):
    rng = np.random.default_rng(seed)
    middles = rng.uniform(-0.7, 0.7, (k, d))
    return middles[np.arange(n) % k] + rng.normal(0, 0.02, (n, d)), middles


def run(rows, method, task, noise=None, seed=0):
    curator = Curator(rows, bounds=(-1, 1), epsilon=5.0, delta=0.1, noise=noise or ReplayedNoise(0))
    account = curator.reserve("test", method.caps(task))
    found = method(curator, task, account=account, rng=np.random.default_rng(seed))
    return account, found


@pytest.mark.parametrize("n_rows", [None, 3000])
def test_the_parts_add_up_to_epsilon_and_delta(n_rows):
    method, task = MaxCover(), task_of(n_rows=n_rows)
    caps = method.caps(task)
    assert (caps.epsilon, caps.delta) == (task.epsilon, task.delta)
    account, _ = run(clumps()[0], method, task)
    for kind in ("pure", "gdp", "approximate"):
        assert account.spent(kind) == caps.of(kind)
    laws = [(e.mechanism, e.share.kind) for e in account.entries]
    counted = [] if n_rows else [("laplace", "pure")]
    averages = [("gaussian", "gdp")] * 4
    assert laws == [*counted, ("cover", "approximate"), ("laplace", "pure"), *averages]
    weights = MaxCover().budget
    cover = account.spent("approximate")
    assert float(cover[0]) == pytest.approx(weights[1] / sum(weights[bool(n_rows) :]))
    assert cover[1] == task.delta / 2


def test_sizes_are_the_papers():
    method = MaxCover()
    assert [method.dimensions_for(n, 784) for n in (1.0, 60.0, 70_000.0, 1e6)] == [1, 2, 5, 6]
    assert method.dimensions_for(1e9, 3) == 3
    assert MaxCover(dimensions=4).dimensions_for(10.0, 784) == 4
    assert [MaxCover(alpha=a).picks_for(10) for a in (2.0, 1.0, 0.5, 0.3, 0.1)] == [
        10,
        10,
        10,
        20,
        40,
    ]
    assert MaxCover(picks=7).picks_for(10) == 7
    assert method.grids(task_of(), 70_000.0).radii[0] == round(0.05 * REACH)
    assert len(MaxCover(r_min="1/n").grids(task_of(d=2), 20_000.0).radii) == 16


def test_without_noise_clusters_are_found():
    rows, middles = clumps()
    _, found = run(rows, MaxCover(), task_of(), NoNoise())
    gaps = np.linalg.norm(found.points[:, None] / REACH - middles, axis=2)
    assert sorted(gaps.argmin(axis=1)) == [0, 1, 2]
    assert gaps.min(axis=1).max() < 0.02
    assert found.sizes == pytest.approx(np.full(3, 1000.0))
    assert "6 radii in 4 dimensions for about 3,000 rows" in found.notes[0]


def test_with_noise_clusters_are_found():
    rows, middles = clumps(20_000)
    _, found = run(rows, MaxCover(), task_of(), ReplayedNoise(5))
    gaps = np.linalg.norm(found.points[:, None] / REACH - middles, axis=2)
    assert gaps.min(axis=1).max() < 0.3


def test_only_the_noisy_number_of_rows_is_known(monkeypatch):
    """The sizes of grids follow the noisy count, whatever the exact one is."""
    asked = []
    plain = MaxCover.grids
    monkeypatch.setattr(MaxCover, "grids", lambda s, t, n: (asked.append(n), plain(s, t, n))[1])
    rows = clumps(500)[0]
    account, _ = run(rows, MaxCover(), task_of(), ReplayedNoise(1))
    assert asked[0] != len(rows)
    assert account.entries[0].query == "number of rows"
    run(rows, MaxCover(), task_of(n_rows=777), ReplayedNoise(1))
    assert asked[1:] == [777.0, 777.0]


def test_too_much_work_is_refused_before_the_cover_is_charged():
    method = MaxCover(alpha=0.5, work=1e6)
    curator = Curator(clumps()[0], bounds=(-1, 1), epsilon=5.0, delta=0.1, noise=NoNoise())
    with pytest.raises(ValueError, match=r"3,000 rows × up to .* grid points near each × 10 radii"):
        method.caps(task_of(n_rows=3000))
    assert curator.ledger.accounts == ()
    account = curator.reserve("test", method.caps(task_of()))
    with pytest.raises(ValueError, match="at most 1e\\+06 are allowed"):
        method(curator, task_of(), account=account, rng=np.random.default_rng(0))
    assert [e.mechanism for e in account.entries] == ["laplace"]


def test_a_pure_budget_is_refused():
    with pytest.raises(NeedsDelta, match="delta > 0"):
        MaxCover().caps(task_of(delta="0"))
    with pytest.raises(NeedsDelta):
        PrivateKMeans(3, epsilon=1.0, bounds=(-1, 1), method="maxcover").fit(clumps()[0])
    assert issubclass(NeedsDelta, ValueError)


def test_the_estimator_takes_it_and_saves_it(tmp_path):
    model = PrivateKMeans(
        3,
        epsilon=1.0,
        delta=1e-6,
        bounds=(-1, 1),
        method=MaxCover(alpha=2.0, budget=(1, 2, 3, 4, 5)),
    ).fit(clumps()[0])
    assert model.cluster_centers_.shape == (3, 20)
    assert (model.receipt_.epsilon, model.receipt_.delta) == (1.0, 1e-6)
    assert "exponential" in str(model.receipt_)
    model.save(tmp_path / "model.json")
    assert sfumato.load(tmp_path / "model.json").method == model.method


@pytest.mark.parametrize(("d", "p"), [(20, 4), (3, 3), (100, 1)])
def test_projected_rows_keep_their_length_on_average(d, p):
    """Seen through many projections; the ball is 1 + α times as wide as the box."""
    row = np.full((1, d), REACH, dtype=np.int16)
    squares = []
    for seed in range(200):
        seen = orthogonal_projection(d, p, 1.0, np.random.default_rng(seed)).see(row)
        squares.append(np.square(seen.astype(float)).sum() / REACH**2)
    expected = 1.0 if p == d else 0.25
    # A deviation of one squared length is at most √2 of it: 0.1 for the mean of 200.
    assert np.mean(squares) == pytest.approx(expected, rel=1e-3 if p == d else 0.4)


def test_projections_differ_by_public_randomness_alone():
    one, same, other = (
        orthogonal_projection(9, 3, 1.0, np.random.default_rng(s)) for s in (1, 1, 2)
    )
    assert one == same
    assert one != other
    gram = directions_of(one) @ directions_of(one).T
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-3 * gram.max()


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0},
        {"alpha": float("inf")},
        {"alpha": "1"},
        {"dimensions": 0},
        {"dimensions": 17},
        {"r_min": 2},
        {"r_min": 0.0},
        {"r_min": "n"},
        {"picks": 0},
        {"budget": (1, 2, 3)},
        {"budget": (0, 1, 1, 1, 1)},
        {"delta_cover": 1},
        {"delta_cover": 0},
        {"work": 0},
    ],
    ids=str,
)
def test_what_is_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        MaxCover(**wrong)


def test_more_rows_need_more_work():
    works = [MaxCover().grids(task_of(), n).work(n) for n in (100.0, 1000.0, 10_000.0, 100_000.0)]
    assert all(a < b for a, b in pairwise(works))

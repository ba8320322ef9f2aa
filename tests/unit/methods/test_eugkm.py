"""EUGkM and Hybrid: the grid, the shares, the synopsis, the chosen k, the branches."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.cluster import KMeans

import sfumato
from sfumato import Curator, PrivateKMeans, nonprivate
from sfumato._core.queries.counts import MAX_NUMBERS
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato._synopsis import Synopsis
from sfumato._synopsis.signed_kmeans import sphere_packings
from sfumato.methods import DPLloyd, EUGkM, Hybrid, Task
from sfumato.methods import _eugkm as module
from sfumato.methods._base import PlannedTask
from sfumato.methods.formulas import hybrid_threshold
from tests.laws.harness import BOX, BUDGETS, blobs, curator_of, run
from tests.laws.test_replay import NEIGHBOURS, check_replay
from tests.no_noise import NoNoise

F = Fraction
ROWS = blobs(2000)
BOUNDS = (BOX.lower, BOX.upper)


def model(method="eugkm", n_clusters=3, **settings):
    settings = {"epsilon": 1.0, "bounds": BOUNDS, "random_state": 0, **settings}
    return PrivateKMeans(n_clusters, method=method, **settings)


def replayed(rows=ROWS, key=1, epsilon=1.0):
    return Curator(rows, bounds=BOUNDS, epsilon=epsilon, noise=ReplayedNoise(key))


@dataclass(frozen=True)
class Declared:
    """A method whose number of rows is declared public."""

    method: object
    n_rows: int

    def caps(self, task):
        return self.method.caps(task)

    def __call__(self, curator, task, *, account, rng):
        return self.method(curator, replace(task, n_rows=self.n_rows), account=account, rng=rng)


@pytest.mark.parametrize(
    ("n", "d", "epsilon", "theta", "per_axis"),
    [
        (5000, 2, 1.0, 10.0, 22),  # (500)^(1/2)
        (5000, 2, 0.5, 10.0, 16),
        (107_000, 2, 1.0, 10.0, 103),
        (5000, 2, 1.0, 5.0, 32),
        (34_112, 3, 1.0, 10.0, 26),  # (3411.2)^(2/5)
        (48_841, 6, 1.0, 10.0, 8),  # (4884.1)^(2/8)
        (1, 2, 0.1, 10.0, 2),
        (10**6, 24, 1.0, 10.0, 2),
        (10**30, 2, 1e300, 10.0, 4472),
        (10**15, 1, 1.0, 10.0, 65_535),
    ],
)
def test_the_grid_has_the_papers_size_within_what_fits(n, d, epsilon, theta, per_axis):
    grid = EUGkM(theta).grid(n, d, epsilon)
    assert grid.per_axis == per_axis
    assert grid.n_cells <= MAX_NUMBERS


@pytest.mark.parametrize("method", [EUGkM(), Hybrid()], ids=["eugkm", "hybrid"])
@pytest.mark.parametrize("d", [25, 30, 5000])
def test_too_many_columns_are_refused_before_any_charge(method, d):
    curator = Curator(np.zeros((3, d)), bounds=(-1, 1), epsilon=1.0)
    with pytest.raises(ValueError, match=rf"2 cells on each of d = {d}.*M = 2\^{d}.*dplloyd"):
        PrivateKMeans(3, method=method).fit(curator)
    assert curator.ledger.spent == (0, 0)
    assert curator.ledger.accounts == ()


def test_the_size_is_bought_unless_declared():
    account, _ = run(curator_of(ROWS), "eugkm", budget="third")
    assert [e.share.amount for e in account.entries] == [F(1, 150), F(49, 150)]
    assert {e.mechanism for e in account.entries} == {"laplace"}
    account, centers = run(curator_of(ROWS), Declared(EUGkM(), 4000), budget="third")
    assert [e.share.amount for e in account.entries] == [F(1, 3)]
    assert "4,000 rows" in centers.notes[0]
    assert "a grid of 144 cells (12 per column)" in centers.notes[0]


@pytest.mark.parametrize("method", [EUGkM, Hybrid])
@pytest.mark.parametrize("budget", ["approximate", "gaussian"])
def test_with_a_delta_the_noise_stays_pure(method, budget):
    account, _ = run(curator_of(ROWS), method(), budget=budget)
    assert account.caps.pure == BUDGETS[budget][0]
    assert account.caps.delta == 0


@pytest.mark.parametrize("method", [EUGkM, Hybrid])
def test_a_noisy_size_below_zero_is_no_problem(method):
    for _ in range(10):
        curator = curator_of(ROWS[:0], noise=SecureNoise())
        account, centers = run(curator, method(), k=4, budget="third")
        assert account.rest("pure").amount == 0
        assert centers.points.shape == (4, 2)


def test_more_cells_than_fit_are_capped_and_told(monkeypatch):
    monkeypatch.setattr(module, "MAX_NUMBERS", 50)
    account, centers = run(curator_of(ROWS), "eugkm")
    assert len(centers.synopsis) == 49
    assert account.rest("pure").amount == 0
    assert "as many cells as fit" in centers.notes[1]


def test_centres_come_close_to_those_without_privacy():
    rng = np.random.default_rng(0)
    middles = np.stack(np.meshgrid([0.15, 0.5, 0.85], [-2.1, 0, 2.1]), axis=-1).reshape(-1, 2)
    rows = middles[rng.integers(9, size=5000)] + rng.normal(0, [0.04, 0.24], (5000, 2))
    best = KMeans(9, n_init=10, random_state=0).fit(BOX.to_cube(rows)).inertia_ / len(rows)
    for method in ("eugkm", "hybrid"):
        ratios = [
            nonprivate.nicv(
                rows,
                model(method, 9).fit(replayed(rows, key)).cluster_centers_,
                bounds=BOUNDS,
            )
            / best
            for key in range(5)
        ]
        assert max(ratios) < 1.06, method


@pytest.mark.parametrize("method", ["eugkm", "hybrid"])
def test_a_model_carries_its_synopsis(method, tmp_path):
    fitted = model(method).fit(replayed())
    synopsis = fitted.synopsis_
    assert isinstance(synopsis, Synopsis)
    assert synopsis.box == fitted.box_
    assert synopsis.weights.sum() == pytest.approx(2000, abs=300)
    assert synopsis.noise_std > 1
    fitted.save(tmp_path / "model.json")
    # Numbers of cells share a line.
    assert len((tmp_path / "model.json").read_text().splitlines()) < synopsis.weights.size
    loaded = sfumato.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.synopsis_.weights, synopsis.weights)
    np.testing.assert_array_equal(
        loaded.synopsis_.sample(9, random_state=0), synopsis.sample(9, random_state=0)
    )


def test_eugkm_is_kmeans_on_its_synopsis():
    fitted = model().fit(replayed())
    found = fitted.synopsis_.kmeans(3, random_state=5)
    order, other = (np.argsort(c[:, 0]) for c in (fitted.cluster_centers_, found.centers))
    np.testing.assert_allclose(fitted.cluster_centers_[order], found.centers[other], atol=0.02)
    np.testing.assert_allclose(fitted.cluster_sizes_[order], found.sizes[other], atol=20)


def test_the_solver_of_the_paper_takes_lloyd_steps_from_every_start():
    """The least cost that scikit-learn's k-means ends at from the same starts, without noise."""
    rows = np.random.default_rng(3).uniform(*BOUNDS, (3000, 2)) ** [2, 1]
    curator = Curator(rows, bounds=BOUNDS, epsilon=1.0, noise=NoNoise())
    synopsis = model(EUGkM(solver="lloyd"), 5).fit(curator).synopsis_
    found = synopsis.kmeans(5, n_starts=4, swaps=False, random_state=7)
    cells, weights = synopsis.layout[:], synopsis.weights
    starts = sphere_packings(4, 5, 2, np.random.default_rng(7)) / REACH
    costs = [
        KMeans(5, init=start, n_init=1, tol=0).fit(cells, sample_weight=weights).inertia_
        for start in starts
    ]
    assert max(costs) > 1.005 * min(costs)
    assert found.cost == pytest.approx(min(costs), rel=1e-3)


def test_the_solver_is_part_of_the_method():
    plain, ours = (model(EUGkM(solver=s), 9).fit(replayed()) for s in ("lloyd", "swaps"))
    np.testing.assert_array_equal(plain.synopsis_.weights, ours.synopsis_.weights)
    assert not np.array_equal(plain.cluster_centers_, ours.cluster_centers_)


def test_a_synopsis_does_not_outlive_its_fit():
    fitted = model().fit(ROWS)
    assert hasattr(fitted, "synopsis_")
    fitted.set_params(method="dplloyd").fit(ROWS)
    assert not hasattr(fitted, "synopsis_")


@pytest.mark.parametrize("method", ["eugkm", "hybrid"])
def test_the_number_of_clusters_is_chosen_at_no_cost(method, tmp_path):
    fixed = model(method).fit(replayed())
    fitted = model(method, "auto").fit(replayed())
    assert fitted.cluster_centers_.shape == (3, 2)
    assert fitted.receipt_.lines == fixed.receipt_.lines
    assert "3 clusters, chosen on the released counts by elbow" in str(fitted.receipt_)
    fitted.save(tmp_path / "model.json")
    loaded = sfumato.load(tmp_path / "model.json")
    assert loaded.n_clusters == "auto"
    np.testing.assert_array_equal(loaded.predict(ROWS[:50]), fitted.predict(ROWS[:50]))


def test_the_range_of_k_is_kept():
    for k_range, expected in (((4, 6), 4), ((2, 2), 2), ([2, 5], 3)):
        fitted = model(EUGkM(k_range=k_range), "auto").fit(replayed())
        assert len(fitted.cluster_centers_) >= expected
        assert k_range[0] <= len(fitted.cluster_centers_) <= k_range[1]


def test_configured_methods_are_saved(tmp_path):
    for method in (EUGkM(theta=5.0, k_range=(2, 9)), Hybrid(noise="laplace", k_by="gap")):
        model(method).fit(ROWS).save(tmp_path / "model.json")
        assert sfumato.load(tmp_path / "model.json").method == method


@pytest.mark.parametrize("method", ["dplloyd", "sukpisit", DPLloyd(iterations=2)])
def test_other_methods_need_a_number_of_clusters(method):
    curator = Curator(ROWS, bounds=BOUNDS, epsilon=1.0)
    with pytest.raises(ValueError, match="releases a synopsis: auto, eugkm, hybrid"):
        model(method, "auto").fit(curator)
    with pytest.raises(ValueError, match="whole number or 'auto', got 'many'"):
        model("eugkm", "many").fit(curator)
    assert curator.ledger.spent == (0, 0)


def below_and_above(k=3):
    """Declared sizes on either side of the threshold at ε = 1."""
    turning = hybrid_threshold(1, 2, k)
    return int(turning / 2), int(turning * 2)


def test_hybrid_alone_is_eugkm():
    few, _ = below_and_above()
    account, centers = run(curator_of(ROWS), Declared(Hybrid(), few))
    twin, same = run(curator_of(ROWS), Declared(EUGkM(), few))
    np.testing.assert_array_equal(centers.points, same.points)
    assert account.entries == twin.entries
    assert centers.notes[:-1] == same.notes
    assert centers.notes[-1].startswith("EUGkM alone: a step helps from ε = 2 to 1e+04")


@pytest.mark.parametrize("noise", ["cube", "laplace"])
def test_hybrid_refines_where_it_pays(noise):
    _, many = below_and_above()
    account, centers = run(curator_of(ROWS), Declared(Hybrid(noise=noise), many))
    costs = [e.share.amount for e in account.entries]
    assert costs[0] == sum(costs[1:]) == F(1, 2)
    assert {e.mechanism for e in account.entries} == {"laplace", noise}
    assert centers.notes[-1].startswith("EUGkM, then one Lloyd step: a step helps from ε = 0.5")
    assert f"{many:,} rows" in centers.notes[-1]
    assert centers.synopsis is not None


def test_the_step_of_hybrid_can_be_forced():
    few, _ = below_and_above()
    account, centers = run(curator_of(ROWS), Declared(Hybrid(refine="always"), few))
    assert {e.mechanism for e in account.entries} == {"laplace", "cube"}
    assert centers.notes[-1].startswith("EUGkM, then one Lloyd step")
    task = PlannedTask(3, 2, F(1), F(0), few)
    notes = [Hybrid(refine=refine).predict(task).note for refine in ("always", "auto")]
    assert "then one step" in notes[0]
    assert "too little ε" in notes[1]


@pytest.mark.parametrize("epsilon", [1e-9, 2e4])
def test_hybrid_asks_for_no_step_that_could_be_refused(epsilon):
    """A step whose noise cannot be drawn would be refused when the grid has been paid for."""
    curator = Curator(ROWS[:50], bounds=BOUNDS, epsilon=epsilon)
    fitted = model("hybrid", epsilon=epsilon, n_rows=10**15 if epsilon < 1 else 50).fit(curator)
    assert len(fitted.receipt_.lines) == 1
    assert any("EUGkM alone" in note for note in fitted.receipt_.notes)


@pytest.mark.parametrize("pair", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
@pytest.mark.parametrize("noise", ["cube", "laplace"])
def test_the_refining_branch_obeys_the_replay_law(noise, pair):
    method = Declared(Hybrid(noise=noise), below_and_above()[1])
    check_replay(*(curator_of(rows) for rows in pair), method, "pure")


def test_a_choice_of_k_obeys_the_replay_law():
    @dataclass(frozen=True)
    class Choosing(Declared):
        def __call__(self, curator, task, *, account, rng):
            task = replace(task, k=6, choose_k=True)
            return super().__call__(curator, task, account=account, rng=rng)

    for method in (EUGkM(), Hybrid()):
        check_replay(curator_of(ROWS), curator_of(ROWS[1:]), Choosing(method, 4000), "pure")


def test_a_task_keeps_its_places():
    """The planner fills a task in by position."""
    assert Task(3, 2, F(1), F(0), 9).n_rows == 9
    assert not Task(3, 2, F(1), F(0)).choose_k


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EUGkM(theta=0), "theta"),
        (lambda: EUGkM(theta=float("nan")), "theta"),
        (lambda: EUGkM(n_starts=0), "n_starts"),
        (lambda: EUGkM(k_range=(5, 2)), "k_range"),
        (lambda: EUGkM(k_by="magic"), "elbow, silhouette, gap"),
        (lambda: Hybrid(theta=-1.0), "theta"),
        (lambda: Hybrid(rho=0.7), "rho"),
        (lambda: Hybrid(noise="gaussian"), "noise must be one of cube, laplace"),
        (lambda: Hybrid(k_range=3), "k_range"),
        (lambda: Hybrid(refine="never"), "refine must be one of auto, always"),
        (lambda: EUGkM(solver="best"), "solver must be one of swaps, lloyd"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

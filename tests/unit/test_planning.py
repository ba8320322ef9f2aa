"""Plans: numbers worked out by hand, passes as they are taken, and what is refused."""

import json
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import sfumato
from sfumato._core.curator import Curator
from sfumato._models import MODELS
from sfumato._planning import KMEANS, OTHERS, UNPREDICTED, plan
from sfumato._private_kmeans import PrivateKMeans
from sfumato.engines._memory import ArrayRows
from sfumato.methods import METHODS, NEEDS_DELTA, DPLloyd, PlannedTask, Predicting
from sfumato.methods._dplloyd import noise_error

close = pytest.approx
USUAL = {"n": 100_000, "d": 6, "k": 5, "epsilon": 1.0}


def row(planned, method):
    return next(r for r in planned.rows if r.method == method)


def outlook(n=10_000, d=2, k=4, epsilon=1, delta=0, declared=False):
    return PlannedTask(k, d, Fraction(epsilon), Fraction(delta), n if declared else None, n)


def outlook_of(method, *words, **settings):
    """A task that a method can be asked for: some need a δ."""
    delta = Fraction(1, 10**6) if method in NEEDS_DELTA else 0
    return outlook(*words, delta=delta, **settings)


def test_every_method_is_predicted():
    assert all(isinstance(method(), Predicting) for method in METHODS.values())
    assert [r.method for r in plan(**USUAL).rows] == list(METHODS)


def test_the_default_is_the_estimators():
    assert plan(**USUAL).default == PrivateKMeans().method
    assert plan(**USUAL).default in METHODS


def test_lloyd_steps():
    # cube noise in the plane: (2 + 8·0.225²)·4·5/3 = 16.0333, and (4·5/10⁴)² = 4e-6
    assert METHODS["dplloyd"]().predict(outlook()).error == close(6.41333e-5, rel=1e-4)
    # the last of five halving steps gets 1/16
    assert METHODS["sukpisit"]().predict(outlook()).error == close(
        6.41333e-5 * 16**2 / 25, rel=1e-4
    )
    gaussian = METHODS["dplloyd"]().predict(outlook(d=1000, n=10**7, delta=1e-6))
    # (1, 10⁻⁶) needs σ = 4.2247 for sensitivity 1, and five times the variance for five steps
    expected = noise_error("gaussian", 1000) * 5 * 4.2247**2 * (4 / 10**7) ** 2
    assert gaussian.error == close(expected, rel=1e-3)
    assert gaussian.note.startswith("5 iterations with gaussian noise")


def test_grids():
    # M = (10⁴/10)^1 = 1000, 32 slices a side: 4·1024/(3·10⁸) + 2/1024
    grid = METHODS["eugkm"]().predict(outlook(declared=True))
    assert grid.error == close(4 * 1024 / 3e8 + 2 / 1024)
    assert (grid.note, grid.passes) == ("1,024 cells, an upper bound", 1)
    # Below ε = 2.07792 (see the formulas) all goes into the grid, above it half into a step.
    assert METHODS["hybrid"]().predict(outlook(epsilon=2, declared=True)).error == close(
        METHODS["eugkm"]().predict(outlook(epsilon=2, declared=True)).error
    )
    refined = METHODS["hybrid"]().predict(outlook(epsilon=4, declared=True))
    assert refined.error == close(16.0333 * (4 / (10_000 * 2)) ** 2, rel=1e-4)
    assert refined.passes == 2
    # Two slices in 30 columns are 2³⁰ cells.
    for method in ("eugkm", "hybrid"):
        refused = row(plan(n=10**6, d=30, k=5, epsilon=1.0), method)
        assert not refused.fits
        assert "d = 30" in refused.why_not


def test_blocks():
    # 40 blocks, Laplace of scale 4·k·d/(40·ε) with 2% of ε for the sizes, in the plane
    one = METHODS["gkm"]().predict(outlook(k=1, declared=True))
    assert one.error == close(4 * (8 / 40 / 0.98) ** 2)
    many = METHODS["gkm3k"]().predict(outlook(k=1))
    assert many.error == close(4 * (8 / 3333 / 0.98**2) ** 2)
    assert (one.passes, many.passes) == (2, 3)


def test_selection():
    # 8 rounds: 71 picks among 200 sets, a row costs at most 8
    assert METHODS["pgkm"]().predict(outlook(declared=True)).error == close(
        8 * math.log(200) * 71 / (10_000 * 0.98)
    )


@pytest.mark.parametrize("method", METHODS)
def test_more_rows_or_more_budget_never_hurt_and_noise_is_the_root_of_error(method):
    predict = METHODS[method]().predict
    for n, epsilon in ((10_000, 1), (10**6, 1), (10_000, 4)):
        found = predict(outlook_of(method, n, epsilon=epsilon))
        assert 0 < found.error <= predict(outlook_of(method, 1000)).error
        assert found.noise == close(math.sqrt(found.error / 2))
        assert found.memory > 0
    known, unknown = predict(outlook_of(method, declared=True)), predict(outlook_of(method))
    assert known.error <= unknown.error
    assert known.passes in (unknown.passes, unknown.passes - 1)


@pytest.mark.parametrize("method", METHODS)
def test_noise_without_end_leaves_a_corner_of_the_cube(method):
    found = METHODS[method]().predict(outlook_of(method, 1, epsilon=Fraction(1, 10**6)))
    assert found.error == close(2 * (1 + 0.45**2))


def method_named(name):
    return (OTHERS.get(name) or METHODS[name])()


def fit(name, task, rows):
    curator = Curator(rows, bounds=(-1, 1), epsilon=float(task.epsilon), delta=float(task.delta))
    method = method_named(name)
    account = curator.reserve("test", method.caps(task))
    method(curator, task, account=account, rng=np.random.default_rng(0))
    return account


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("method", [*METHODS, *OTHERS])
def test_passes_are_those_that_a_fit_takes(method, declared, k, monkeypatch):
    taken = []
    for name in ("fold", "split"):
        plain = getattr(ArrayRows, name)

        def counted(self, *words, plain=plain, **settings):
            taken.append(1)
            return plain(self, *words, **settings)

        monkeypatch.setattr(ArrayRows, name, counted)
    task = outlook_of(method, 5000, k=k, declared=declared)
    fit(method, task, np.random.default_rng(0).uniform(-1, 1, (5000, 2)))
    expected = method_named(method).predict(task).passes
    if method in ("auto", "sukpisit", "balcan", "median", "mixture"):
        assert expected / 4 <= len(taken) <= expected
    else:
        assert len(taken) == expected


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("method", ["eugkm", "hybrid"])
def test_the_grid_is_the_one_that_is_laid(method, k):
    task = outlook(5000, k=k, declared=True)
    account = fit(method, task, np.zeros((10, 2)))
    cells = METHODS[method]().predict(task).note.split(" cells")[0].replace(",", "")
    assert f"counts of a grid of {int(cells):,} cells" in account.entries[0].query


@pytest.mark.parametrize(("n", "d"), [(600_000, 3), pytest.param(10**6, 4, marks=pytest.mark.long)])
def test_memory_is_about_what_a_large_grid_takes(n, d):
    # A declared number of rows lays the same grid over a few of them.
    task, rows = outlook(n, d, k=2, declared=True), np.zeros((10, d))
    tracemalloc.start()
    try:
        fit("eugkm", task, rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / 2 < METHODS["eugkm"]().predict(task).memory < 2 * peak


def test_noise_is_told_in_the_units_of_the_bounds():
    planned = plan(**USUAL | {"d": 2}, delta=1e-6, bounds=([0, -100], [1, 300]))
    for r in planned.rows:
        assert r.noise_in_units == close((r.noise / 2, r.noise * 200))
    assert "units of the bounds" in str(planned)
    bare = plan(**USUAL)
    assert all(r.noise_in_units is None for r in bare.rows)
    assert "half-widths" in str(bare)


def test_the_best_is_one_that_can_run(monkeypatch):
    planned = plan(**USUAL)
    assert row(planned, planned.best).error == min(r.error for r in planned.rows)

    def refuse(self, task):
        raise ValueError("2^99 cells do not fit")

    monkeypatch.setattr(METHODS[planned.best], "predict", refuse)
    other = plan(**USUAL, bounds=(0, 1))
    refused = row(other, planned.best)
    assert not refused.fits
    assert refused.why_not == "2^99 cells do not fit"
    assert other.best != planned.best
    assert "2^99 cells" in str(other)
    told = next(m for m in other.to_dict()["methods"] if not m["fits"])
    assert (told["method"], told["error"], told["noise"]) == (planned.best, None, None)
    assert json.loads(other.to_json())["methods"]
    for method in METHODS.values():
        monkeypatch.setattr(method, "predict", refuse)
    assert plan(**USUAL).best == planned.default


class Silent:
    """A method of somebody else, without `predict`."""

    def caps(self, task):
        return DPLloyd().caps(task)

    def __call__(self, curator, task, *, account, rng):
        return DPLloyd()(curator, task, account=account, rng=rng)


def test_a_method_without_a_prediction_is_listed_without_numbers(monkeypatch):
    best = plan(**USUAL).best
    monkeypatch.setitem(METHODS._built_in, "silent", Silent)
    planned = plan(**USUAL, bounds=(0, 1))
    silent = row(planned, "silent")
    assert silent.fits
    assert not silent.predicted
    assert silent.note == UNPREDICTED
    assert planned.best == best
    assert "gives no prediction" in str(planned)
    told = planned.to_dict()["methods"][-1]
    assert (told["method"], told["fits"], told["error"], told["noise"]) == (
        "silent",
        True,
        None,
        None,
    )
    assert planned == plan(**USUAL, bounds=(0, 1))


def test_settings_count_in_a_prediction():
    few, many = (DPLloyd(iterations=i).predict(outlook()) for i in (1, 5))
    assert many.error == close(25 * few.error)
    assert (few.passes, many.passes) == (1, 5)


def test_what_a_method_refuses_does_not_fit(monkeypatch):
    def caps(self, task):
        raise ValueError("needs delta > 0")

    monkeypatch.setattr(METHODS["sukpisit"], "caps", caps)
    assert row(plan(**USUAL), "sukpisit").why_not == "needs delta > 0"


def test_as_data():
    planned = plan(**USUAL, delta=1e-6, bounds=(0, 1), n_rows_known=True)
    told = json.loads(planned.to_json())
    assert told == json.loads(json.dumps(planned.to_dict()))
    assert {name: told[name] for name in USUAL} == USUAL
    assert (told["delta"], told["n_rows_known"], told["lattice_bytes"]) == (1e-6, True, 1_200_000)
    assert (told["default"], told["best"], told["drowned"]) == (
        planned.default,
        planned.best,
        False,
    )
    assert [r["method"] for r in told["methods"]] == list(METHODS)
    assert all(r["fits"] and len(r["noise_in_units"]) == 6 for r in told["methods"])
    assert planned == plan(**USUAL, delta=1e-6, bounds=(0, 1), n_rows_known=True)


def test_as_a_table():
    shown = str(plan(**USUAL, delta=1e-6))
    assert shown.startswith("Plan: 100,000 rows, 6 columns, 5 centres, ε = 1, δ = 1e-06")
    for words in (*METHODS, "Default: auto.", "1.2 MB", "no privacy spent"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 100
    assert "middle" not in shown
    assert "no better than always answering the middle" in str(plan(n=10, d=2, k=5, epsilon=0.1))


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"n": 0}, ValueError, "n must be a whole number of at least 1"),
        ({"n": 1e5}, TypeError, "n must be a whole number"),
        ({"n": True}, TypeError, "n must be a whole number"),
        ({"n": 10**16}, ValueError, "n must be at most"),
        ({"d": 0}, ValueError, "d must be"),
        ({"k": "5"}, TypeError, "k must be"),
        ({"k": 10**8}, ValueError, "fewer clusters"),
        ({"epsilon": 0}, ValueError, "epsilon must be a positive"),
        ({"epsilon": None}, TypeError, "epsilon must be"),
        ({"delta": 1}, ValueError, "delta must lie in"),
        ({"bounds": (1, 0)}, ValueError, "lower bound of column 0"),
        ({"bounds": ([0, 1], [2, 3])}, ValueError, "6 of them"),
        ({"bounds": 3}, ValueError, "a pair"),
        ({"model": "auto"}, ValueError, "one of kmeans, median, mixture, density, ward"),
    ],
)
def test_what_is_refused(wrong, error, said):
    with pytest.raises(error, match=said):
        plan(**USUAL | wrong)


def test_every_model_is_planned():
    assert {KMEANS, *OTHERS} == set(MODELS)
    for model in OTHERS:
        planned = plan(**USUAL, model=model)
        (only,) = planned.rows
        assert only.method == planned.default == planned.best == model
        assert only.predicted
        assert planned.at(2.0).model == model
        assert json.loads(planned.to_json())["model"] == model
        assert "Default" not in str(planned)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize(
    ("model", "d"), [(model, d) for model in OTHERS for d in (2, 6) if (model, d) != ("density", 6)]
)
def test_errors_of_other_models_are_upper_bounds(model, d, delta):
    """Centres of a fit on tight clumps, matched with the true ones: the error is below the plan."""
    rng, n, k = np.random.default_rng(d), 20_000, 4
    middles = 0.6 * np.sign(rng.permutation(np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])))
    middles = np.hstack([middles, rng.uniform(-0.5, 0.5, (k, d - 2))])
    rows = middles[np.arange(n) % k] + rng.normal(0, 0.04, (n, d))
    settings = {"epsilon": 1.0, "delta": delta}
    made = MODELS[model](**settings, bounds=(-1, 1), random_state=0)
    if model != "density":
        made.set_params(**{"n_components" if model == "mixture" else "n_clusters": k})
    labels = made.fit(rows).predict(middles)
    if model == "density":
        cells, weights = made.synopsis_.cells, made.synopsis_.weights
        inside = [made.cell_labels_ == i for i in labels]
        found = np.array([np.average(cells[one], axis=0, weights=weights[one]) for one in inside])
    else:
        found = (made.means_ if model == "mixture" else made.cluster_centers_)[labels]
    expected = plan(n=n, d=d, k=k, **settings, model=model).rows[0].error
    assert np.square(found - middles).sum(axis=1).mean() < expected < d / 3


@pytest.mark.parametrize("delta", [0, 1e-300, 0.999])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 1e9, 1e300])
def test_extremes_give_a_plan(epsilon, delta):
    for n in (1, 10**15):
        for d in (1, 2000):
            for model in (KMEANS, *(OTHERS if n > 1 else ())):
                task = {"n": n, "d": d, "k": 3, "epsilon": epsilon, "delta": delta}
                planned = plan(**task, bounds=(0, 1), model=model)
                assert planned.to_json()
                assert str(planned)


def test_it_is_public():
    assert sfumato.plan is plan

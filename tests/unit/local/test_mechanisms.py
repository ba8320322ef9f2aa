"""The transformers of local differential privacy, planar Laplace with its remap, and areas."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from sfumato import mean_displacement
from sfumato._core.local.lattice import LocalLattice
from sfumato._core.local.randomizer import LATTICE_MECHANISMS, Randomizer
from sfumato._lattice.box import REACH, Box
from sfumato.local import (
    Duchi,
    Harmony,
    HybridMechanism,
    LaplaceMechanism,
    LocalMechanism,
    Piecewise,
    PlanarLaplace,
    SquareWave,
    Staircase,
)
from sfumato.local._ndlaplace import MAX_PRIOR
from sfumato.plots import perturbation_area

MECHANISMS = [
    LaplaceMechanism,
    Staircase,
    Piecewise,
    HybridMechanism,
    Harmony,
    Duchi,
    SquareWave,
]
mechanisms = pytest.mark.parametrize("make", MECHANISMS, ids=lambda m: m.__name__)

X = np.random.default_rng(0).uniform(size=(300, 3))
SECRET = 73.219884

EXPECTED_FAILURES = {
    "check_dtype_object": "an object array has no public numeric type: refused before a draw",
    "check_estimators_pickle": "two transforms never draw the same noise",
    "check_fit_idempotent": "two transforms never draw the same noise",
}


@mechanisms
def test_scikit_learn_contract(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            make(bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}


@mechanisms
def test_clone_pipeline_and_frames(make):
    model = clone(make(epsilon=4.0, bounds=(0, 1), truncation="clamp"))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    reports = model.set_output(transform="pandas").fit_transform(frame)
    assert reports.columns.tolist() == ["a", "b", "c"]
    assert reports.to_numpy().min() >= 0
    assert reports.to_numpy().max() <= 1
    pipeline = make_pipeline(make(bounds=(0, 1)), KMeans(2, n_init=1, random_state=0))
    assert pipeline.fit(X).predict(X).shape == (300,)


@mechanisms
def test_every_call_draws_new_noise(make):
    model = make(bounds=(0, 1)).fit(X)
    assert not np.array_equal(model.transform(X), model.transform(X))


@mechanisms
def test_receipt_promises_epsilon_between_any_two_rows(make):
    receipt = make(epsilon=0.3, bounds=(0, 1)).fit(X).receipt_
    assert receipt.guarantee.kind == "local"
    assert str(receipt.guarantee.amount) == "3/10"
    assert receipt.between_any_two == pytest.approx(0.3)
    assert "Any two rows look alike within a factor exp(0.3)" in str(receipt)
    assert "ε = " in receipt.mechanism
    assert 0 < receipt.slack < 1e-20


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (LaplaceMechanism(3, bounds=(0, 1)), "every column with ε = 1, which add up over a row"),
        (Staircase(3, bounds=(0, 1)), "every column with ε = 1, which add up over a row"),
        (SquareWave(3, bounds=(0, 1)), "every column with ε = 1, which add up over a row"),
        (Piecewise(5, bounds=(0, 1)), "2 of 3 columns, drawn at random for each row, with ε = 2.5"),
        (Piecewise(3, bounds=(0, 1), sampled=3), "every column with ε = 1, which add up"),
        (HybridMechanism(1, bounds=(0, 1)), "1 of 3 columns, drawn at random for each row"),
        (Harmony(2, bounds=(0, 1)), "1 of 3 columns, drawn at random for each row, with ε = 2"),
        (Duchi(2, bounds=(0, 1)), "all 3 columns at once with ε = 2"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_receipt_says_how_epsilon_is_divided(model, told):
    assert told in model.fit(X).receipt_.mechanism


def test_notes_tell_bias_spread_and_truncation():
    notes = " ".join(SquareWave(3, bounds=(0, 1)).fit(X).receipt_.notes)
    assert "of the way from the middle" in notes
    assert "may lie outside" in notes
    clamped = LaplaceMechanism(3, bounds=(0, 1), truncation="clamp", nan="keep").fit(X).receipt_
    assert "moved to the nearest point inside" in clamped.notes[0]
    assert "is the row" in clamped.notes[1]
    assert "one deviation of a column's report is 2.828 half-widths" in clamped.notes[2]
    assert "not hidden" in clamped.notes[3]


def test_harmony_reports_one_column_and_the_middle_of_the_others():
    reports = Harmony(1, bounds=([0, 10, -4], [2, 20, 4])).fit_transform(X)
    moved = reports != [1, 15, 0]
    assert (moved.sum(axis=1) == 1).all()
    assert moved.any(axis=0).all()


def test_reports_are_lattice_points():
    box = Box.of(([0, 10, -4], [2, 20, 4]), 3)
    lattice = LocalLattice(box, "box")
    for make in MECHANISMS:
        reports = make(2.0, bounds=([0, 10, -4], [2, 20, 4])).fit_transform(X)
        steps = (reports - box.middle) / lattice.steps
        assert np.abs(steps - np.rint(steps)).max() < 1e-6


@mechanisms
def test_bad_parameters_are_refused(make):
    for settings in (
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"truncation": "resample"},
        {"nan": "drop"},
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            make(**{"bounds": (0, 1), **settings}).fit(X)
    with pytest.raises(TypeError, match="epsilon"):
        make("one", bounds=(0, 1)).fit(X)
    with pytest.raises(ValueError, match="bounds are required"):
        make().fit(X)
    with pytest.raises(ValueError, match="a larger epsilon or fewer columns would work"):
        make(1e-7, bounds=(0, 1)).fit(X)


def test_bad_parameters_of_single_mechanisms_are_refused():
    with pytest.raises(ValueError, match="at most the 3 columns, got 4"):
        Piecewise(bounds=(0, 1), sampled=4).fit(X)
    with pytest.raises(TypeError, match="sampled must be a whole number"):
        HybridMechanism(bounds=(0, 1), sampled=1.5).fit(X)
    with pytest.raises(ValueError, match="gamma must be a positive"):
        Staircase(bounds=(0, 1), gamma=0).fit(X)
    with pytest.raises(ValueError, match="gamma must be a number above 0, at most 1"):
        Staircase(bounds=(0, 1), gamma=1.5).fit(X)
    with pytest.raises(TypeError, match="abstract"):
        LocalMechanism(bounds=(0, 1)).fit(X)


def test_mechanisms_refuse_other_lattices():
    mechanism = Duchi(bounds=(0, 1)).fit(X).plan_.mechanism
    assert type(mechanism) in LATTICE_MECHANISMS
    with pytest.raises(ValueError, match="made for 3 columns, the bounds have 2"):
        Randomizer(Box.of((0, 1), 2)).perturb(X[:, :2], mechanism)
    uneven = Box.of(([0, 0, 0], [1, 2, 3]), 3)
    with pytest.raises(ValueError, match="units='box' is needed"):
        Randomizer(uneven, units="data").perturb(X, mechanism)


@mechanisms
def test_values_never_raise_and_never_show(make):
    rows = np.array([[SECRET, np.nan, np.inf], [-1e300, 0.5, SECRET], [0.1, 0.2, 0.3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reports = make(bounds=(0, 1)).fit_transform(rows)
    assert np.isfinite(reports).all()
    with pytest.raises((TypeError, ValueError)) as caught:
        make(bounds=(0, 1)).fit(np.array([[SECRET, "x", None]], dtype=object))
    assert str(SECRET) not in str(caught.value)


def test_missing_cells_can_be_kept():
    rows = np.array([[0.1, np.nan, 0.3]] * 20)
    reports = LaplaceMechanism(bounds=(0, 1), nan="keep").fit_transform(rows)
    assert np.array_equal(np.isnan(reports), np.isnan(rows))


POINTS = np.random.default_rng(1).uniform(size=(40, 2))


def test_planar_laplace_is_nd_laplace_in_the_plane():
    model = PlanarLaplace(20.0, bounds=(0, 1), truncation="none")
    rows = np.full((20_000, 2), 0.5)
    area = perturbation_area([0.5, 0.5], model.fit_transform(rows))
    # Gamma(2, 1/20) has deviation sqrt(2)/20; a false alarm in 1e-9
    assert abs(area.radius - mean_displacement(20.0, 2)) < 6.2 * 2**0.5 / 20 / len(rows) ** 0.5
    assert model.guarantee_.kind == "metric"
    with pytest.raises(ValueError, match="2 columns, got 3; NDLaplace"):
        model.fit(X)


def test_remap_takes_the_nearest_admissible_point():
    model = PlanarLaplace(5.0, bounds=(0, 1), remap=POINTS).fit(X[:, :2])
    reports = np.array([[0.5, 0.5], [5.0, -3.0], [0.1, 0.9]])
    nearest = ((reports[:, None] - POINTS) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(model.plan_.remap(reports), POINTS[nearest])
    moved = {tuple(row) for row in model.transform(X[:, :2]).tolist()}
    assert moved <= {tuple(row) for row in POINTS.tolist()}
    assert len(moved) > 5
    assert "nearest of 40 admissible points" in str(model.receipt_)
    assert model.guarantee_ == PlanarLaplace(5.0, bounds=(0, 1)).fit(X[:, :2]).guarantee_


def test_remap_measures_as_the_guarantee_does():
    """In half-widths the second column counts a hundred times less here."""
    bounds, points = ([0, 0], [1, 100]), [[0.0, 50.0], [0.5, 60.0]]
    near = {}
    for units in ("data", "box"):
        model = PlanarLaplace(5.0, bounds=bounds, units=units, remap=points)
        model.fit(X[:, :2])
        near[units] = model.plan_.remap(np.array([[0.4, 52.0]])).tolist()
    assert near == {"data": [[0.0, 50.0]], "box": [[0.5, 60.0]]}


def test_a_prior_moves_reports_to_the_point_of_least_expected_distance():
    prior = np.random.default_rng(2).uniform(size=40) ** 3
    prior[0] = 0
    model = PlanarLaplace(8.0, bounds=(0, 1), remap=POINTS, prior=prior).fit(X[:, :2])
    reports = np.random.default_rng(3).uniform(-0.5, 1.5, size=(50, 2))
    for report, moved in zip(reports, model.plan_.remap(reports), strict=True):
        belief = prior * np.exp(-8 * np.linalg.norm(POINTS - report, axis=1))
        loss = [(belief * np.linalg.norm(POINTS - point, axis=1)).sum() for point in POINTS]
        assert np.array_equal(moved, POINTS[int(np.argmin(loss))])
    assert "public prior" in str(model.receipt_)


def test_a_right_prior_brings_reports_closer():
    rows = POINTS[np.random.default_rng(4).integers(3, size=4000)]
    prior = np.r_[np.ones(3), np.zeros(37)]
    error = {}
    for name, weights in (("nearest", None), ("bayes", prior)):
        model = PlanarLaplace(3.0, bounds=(0, 1), remap=POINTS, prior=weights)
        moved = model.fit_transform(rows)
        error[name] = np.linalg.norm(moved - rows, axis=1).mean()
    assert error["bayes"] < 0.8 * error["nearest"]


def test_remap_works_in_frames():
    frame = pd.DataFrame(X[:, :2], columns=["lon", "lat"])
    model = PlanarLaplace(5.0, bounds=(0, 1), remap=POINTS).set_output(transform="pandas")
    assert clone(model).fit_transform(frame).columns.tolist() == ["lon", "lat"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"remap": [[0, 0, 0]]}, "two numbers for each"),
        ({"remap": np.empty((0, 2))}, "minimum of 1 is required"),
        ({"remap": [[0, np.nan]]}, "remap contains NaN"),
        ({"remap": [["a", "b"]]}, "could not convert"),
        ({"prior": [1.0]}, "pass them as remap"),
        ({"remap": POINTS, "prior": [1.0]}, "each of the 40 admissible points"),
        ({"remap": POINTS, "prior": -np.ones(40)}, "weight of 0 or more"),
        ({"remap": POINTS, "prior": np.zeros(40)}, "not all of them 0"),
        ({"remap": POINTS, "prior": ["a"] * 40}, "could not convert"),
        ({"remap": np.zeros((MAX_PRIOR + 1, 2)), "prior": np.ones(MAX_PRIOR + 1)}, "up to 4096"),
        ({"remap": POINTS, "truncation": "resample"}, "'clamp' or 'none'"),
        ({"remap": POINTS, "nan": "keep"}, "nan='center'"),
    ],
)
def test_bad_remaps_are_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        PlanarLaplace(1.0, bounds=(0, 1), **settings).fit(X[:, :2])


def test_perturbation_area_is_the_mean_distance():
    area = perturbation_area([1.0, 1.0], [[1.0, 4.0], [5.0, 1.0]])
    assert area.radius == 3.5
    assert area.center.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(0, 2\)"):
        perturbation_area([1.0, 1.0], np.empty((0, 2)))
    with pytest.raises(ValueError, match="as many columns"):
        perturbation_area([1.0, 1.0], [[1.0]])


def test_perturbation_area_is_drawn():
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    from sfumato.plots import plot_perturbation_area

    axes = plot_perturbation_area([0.0, 0.0, 9.0], [[0.0, 3.0, 9.0], [4.0, 0.0, 9.0]])
    (circle,) = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert circle.radius == 3.5
    assert axes.collections[0].get_offsets().tolist() == [[0.0, 3.0], [4.0, 0.0]]
    given = Figure().add_subplot()
    assert plot_perturbation_area([0.0, 1.0], [[2.0, 3.0]], columns=(1, 0), ax=given) is given
    assert given.collections[0].get_offsets().tolist() == [[3.0, 2.0]]
    with pytest.raises(ValueError, match="two columns out of 0"):
        plot_perturbation_area([0.0], [[1.0]])


def test_a_report_of_a_bound_reaches_the_lattice():
    """A row at a bound snaps to REACH exactly, the end of every mechanism."""
    lattice = LocalLattice(Box.of((0, 1), 2), "box")
    assert lattice.to_lattice(np.array([[0.0, 1.0]])).tolist() == [[-REACH, REACH]]


def test_the_largest_epsilon_and_the_widest_bounds_raise_no_warning():
    rows = np.array([[0.2, -0.5]])
    with warnings.catch_warnings(action="error"):
        assert np.isfinite(Duchi(1.0, bounds=(-1e308, 1e308)).fit_transform(rows)).all()
        fitted = LaplaceMechanism(2**63, bounds=(0, 1)).fit(rows)
    assert "leaves no guarantee at this ε" in str(fitted.receipt_)

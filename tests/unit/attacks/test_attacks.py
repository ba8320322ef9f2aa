"""The attacks: they find what leaks, find nothing where nothing is, and say how sure they are."""

import numpy as np
import pytest
from scipy import stats
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from sfumato import LocalClustering, NDLaplace, PrivateKMeans
from sfumato.attacks import (
    Membership,
    art_attack,
    clopper_pearson,
    estimates,
    forest_factory,
    histogram_prior,
    likelihood_ratio_attack,
    reconstruction_attack,
    shadow_attack,
    uniform_prior,
)
from sfumato.attacks._membership import _halves, outputs, score
from sfumato.local._mechanisms import LaplaceMechanism

ROWS, _ = make_blobs(800, 2, centers=4, cluster_std=0.6, random_state=0)
BOUNDS = (-12, 12)
ATTACKS = [shadow_attack, likelihood_ratio_attack]


def leaking(rows):
    """Half as many centres as rows: most members lie on one."""
    return KMeans(len(rows) // 2, n_init=1, random_state=0).fit(rows)


class RandomLabels:
    """A model whose labels have nothing to do with any row."""

    def __init__(self, rows):
        self.rng = np.random.default_rng(abs(int(rows.sum() * 1e6)))

    def predict(self, rows):
        return self.rng.integers(0, 4, len(rows))


class RandomDistances(RandomLabels):
    """The same with distances."""

    def transform(self, rows):
        return self.rng.uniform(size=(len(rows), 4))


def local(rows):
    mechanism = NDLaplace(0.5, bounds=BOUNDS)
    return LocalClustering(KMeans(4, n_init=1), perturbation=mechanism).fit(rows)


def central(rows):
    return PrivateKMeans(4, epsilon=1.0, bounds=BOUNDS, method="dplloyd").fit(rows)


@pytest.mark.parametrize("attack", ATTACKS)
def test_membership_in_a_leaking_model_is_found(attack):
    found = attack(leaking, ROWS, n_models=2)
    low, high = found.interval()
    assert low > 0.4
    assert low < found.advantage < high
    assert found.advantage == pytest.approx(found.tpr - found.fpr)
    assert min(found.by_model) > 0.4


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("model", [RandomLabels, RandomDistances])
def test_nothing_is_found_in_random_answers(attack, model):
    found = attack(model, ROWS, n_models=4)
    low, high = found.interval(0.999)
    assert low < 0 < high
    assert abs(found.advantage) < 0.15


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("model", [local, central])
def test_local_and_central_models_give_little_away(attack, model):
    found = attack(model, ROWS, n_models=2)
    # A member moves four centres of hundreds of rows by far less than rows are apart. Noise is
    # new in every run: the bound is six standard deviations of guessing.
    assert abs(found.advantage) < 6 * np.sqrt(0.5 / sum(found.members))
    assert sum(found.members) == sum(found.others)


@pytest.mark.slow
def test_a_seed_fixes_an_attack_on_a_model_without_noise():
    for attack in ATTACKS:
        first, second = (attack(leaking, ROWS[:200], random_state=5) for _ in range(2))
        assert first == second
        assert attack(leaking, ROWS[:200], random_state=6) != first


@pytest.mark.slow
def test_the_forest_of_the_thesis_leaks_less_with_noise():
    clusterer = KMeans(4, n_init=1, random_state=0)
    small = {"n_models": 2, "n_trees": 20}
    clean = shadow_attack(forest_factory(clusterer, n_trees=20), ROWS, **small)
    noise = NDLaplace(0.5, bounds=BOUNDS)
    noisy = forest_factory(clusterer, perturbation=noise, scale=True, n_trees=20)
    model = noisy(ROWS[:100])
    assert model.predict_proba(ROWS).shape == (800, 4)
    assert clean.advantage > shadow_attack(noisy, ROWS, **small).advantage


def test_a_forest_answers_for_a_clusterer_that_does_not():
    rows = ROWS[:100]
    model = forest_factory(DBSCAN(eps=0.9))(rows)
    assert set(model.classes_) == set(DBSCAN(eps=0.9).fit(rows).labels_)
    chosen = forest_factory(lambda points: KMeans(len(points) // 50, n_init=1))(rows)
    assert len(chosen.classes_) == 2


class _Seen:
    """A model that keeps its training rows, and those that it was asked about."""

    def __init__(self, rows):
        self.rows, self.asked = {tuple(row) for row in rows}, set()

    def predict(self, rows):
        self.asked |= {tuple(row) for row in rows}
        return np.zeros(len(rows))


def test_no_row_is_in_two_parts_of_a_trial():
    models = []

    def make_model(rows):
        models.append(_Seen(rows))
        return models[-1]

    shadow_attack(make_model, ROWS, n_models=2, n_shadows=3)
    assert len(models) == 8
    for start in (0, 4):
        *shadows, attacked = models[start : start + 4]
        for model in (*shadows, attacked):
            assert len(model.rows) == len(model.asked - model.rows) == 200
            assert model.rows < model.asked
        assert not any(shadow.asked & attacked.asked for shadow in shadows)
    assert models[3].rows != models[7].rows


def test_every_row_is_in_half_of_the_shadows_and_no_shadow_mirrors_a_target():
    halves = _halves(101, 3, 10, np.random.default_rng(0))
    assert halves.shape == (13, 101)
    assert (halves[3:].sum(axis=0) == 5).all()
    assert set(halves.sum(axis=1)) == {50, 51}
    for target in halves[:3]:
        others = [row for row in halves if row is not target]
        agreed = [(row == target).mean() for row in others if not np.array_equal(row, target)]
        assert min(agreed) > 0.25
        assert max(agreed) < 0.75


@pytest.mark.slow
def test_one_centre_of_many_rows_tells_next_to_nothing():
    # A shadow that had just the other rows would betray the target here: its mean is opposite.
    def mean(rows):
        return KMeans(1, n_init=1, random_state=0).fit(rows)

    found = [likelihood_ratio_attack(mean, ROWS, n_models=1, random_state=s) for s in range(10)]
    assert abs(np.mean([each.advantage for each in found])) < 0.05


def test_outputs_do_not_depend_on_the_names_of_clusters():
    model = KMeans(5, n_init=1, random_state=0).fit(ROWS)
    before = outputs(model, ROWS)
    model.cluster_centers_ = model.cluster_centers_[::-1].copy()
    assert np.allclose(outputs(model, ROWS), before)
    assert before.shape == (800, 3)
    assert (np.diff(before, axis=1) >= 0).all()
    pair = KMeans(2, n_init=1, random_state=0).fit(ROWS)
    assert np.allclose(outputs(pair, ROWS)[:, 1], outputs(pair, ROWS)[:, 2])
    assert np.isfinite(score(leaking(ROWS[:50]), ROWS[:50])).all()


def test_clopper_pearson_is_exact():
    low, high = clopper_pearson(3, 10)
    assert stats.binom.sf(2, 10, low) == pytest.approx(0.025)
    assert stats.binom.cdf(3, 10, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 10)[0] == 0
    assert clopper_pearson(10, 10)[1] == 1
    for hits, trials, confidence in ((0, 1, 0.9), (1, 200, 0.95), (77, 200, 0.975), (9, 9, 0.5)):
        known = stats.binomtest(hits, trials).proportion_ci(confidence, method="exact")
        # Their root finder stops at 2e-12.
        assert clopper_pearson(hits, trials, confidence) == pytest.approx(known, abs=4e-12)


@pytest.mark.parametrize("wrong", [(4, 3), (-1, 3), (0, 0), (1, 3, 1.5), (1, 3, -0.5)])
def test_clopper_pearson_refuses_what_is_no_rate(wrong):
    with pytest.raises(ValueError, match="got"):
        clopper_pearson(*wrong)


@pytest.mark.slow
def test_the_interval_covers_the_true_advantage():
    rng, tpr, fpr, inside = np.random.default_rng(0), 0.6, 0.45, 0
    for _ in range(2000):
        hits, alarms = rng.binomial(200, tpr), rng.binomial(200, fpr)
        low, high = Membership((hits,), (200,), (alarms,), (200,)).interval()
        inside += low <= tpr - fpr <= high
    assert inside >= 0.95 * 2000
    wide = Membership((60,), (100,), (45,), (100,)).interval()
    narrow = Membership((600,), (1000,), (450,), (1000,)).interval()
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="minimum of 8"):
        shadow_attack(leaking, ROWS[:5])
    with pytest.raises(ValueError, match="n_shadows must be a whole number of at least 4"):
        likelihood_ratio_attack(leaking, ROWS, n_shadows=2)


@pytest.fixture(scope="module")
def even():
    """Rows for which the uniform prior is the truth."""
    return np.random.default_rng(0).uniform(-12, 12, (400, 2))


@pytest.mark.slow
def test_reports_tell_more_with_less_noise(even):
    prior = uniform_prior(BOUNDS, 2, size=1024)
    ratios = []
    for epsilon in (0.01, 0.3, 1.0, 10.0):
        found = reconstruction_attack(NDLaplace(epsilon, bounds=BOUNDS), even, prior)
        low, high = found.interval
        assert low <= found.ratio <= high
        ratios.append(found.ratio)
    # Without a report the error is the variance of the box: 1/3 in each column.
    assert found.without_report == pytest.approx(2 / 3, rel=0.1)
    assert ratios == sorted(ratios, reverse=True)
    assert 0.9 < ratios[0] < 1.05
    # Variance 3/ε² in each column, 12² a half-width.
    assert ratios[3] < 0.01


def test_the_posterior_mean_is_that_of_the_law():
    """On a line of three points the posterior can be written down, clamped reports included."""
    mechanism = NDLaplace(0.5, bounds=(0, 4), truncation="clamp").fit([[0.0]])
    prior = histogram_prior([[0.0], [1.0], [4.0]], [1, 2, 1])
    found = estimates(mechanism, [[1.5], [4.0], [0.0]], prior)[:, 0]
    points, weights = np.array([0.0, 1.0, 4.0]), np.array([1, 2, 1])
    # All that went beyond a bound is at the bound: ∫ exp(−ε·t) dt from the distance on.
    for guess, distance in zip(found, ([1.5, 0.5, 2.5], [4, 3, 0], [0, 1, 4]), strict=True):
        likelihood = weights * np.exp(-0.5 * np.array(distance))
        assert guess == pytest.approx(likelihood @ points / likelihood.sum(), rel=1e-3)


def test_clamped_corners_are_integrated_over(even):
    """The posterior mean from the density and by simulating the mechanism agree."""
    prior = uniform_prior(BOUNDS, 2, size=2048)
    mechanism = NDLaplace(0.3, bounds=BOUNDS).fit(even)
    rng = np.random.default_rng(1)
    rows = prior.points[rng.choice(len(prior.points), 200_000)]
    reports = mechanism.transform(rows)
    corner = (reports == 12).all(axis=1)
    edge = (reports[:, 0] == -12) & (np.abs(reports[:, 1] - 3) < 0.3)
    for chosen, report in ((corner, [12.0, 12.0]), (edge, [-12.0, 3.0])):
        mean, n = rows[chosen].mean(axis=0), chosen.sum()
        guess = estimates(mechanism, [report], prior)[0]
        # Six standard deviations of the mean, and what 64 quadrature points err by.
        assert np.abs(guess - mean).max() < 6 * 12 / np.sqrt(n) + 0.1


@pytest.mark.parametrize(
    "mechanism",
    [LaplaceMechanism(8.0, bounds=BOUNDS), NDLaplace(1.0, bounds=BOUNDS, truncation="resample")],
)
def test_other_mechanisms_are_simulated(even, mechanism):
    found = reconstruction_attack(mechanism, even, uniform_prior(BOUNDS, 2))
    assert 0.02 < found.ratio < 0.9


def test_law_and_simulation_agree(even):
    from sfumato.attacks._reconstruction import _from_simulation

    prior = uniform_prior(BOUNDS, 2)
    mechanism = NDLaplace(0.5, bounds=BOUNDS).fit(even)
    reports = mechanism.transform(even)
    ours, theirs = estimates(mechanism, reports, prior), _from_simulation(mechanism, reports, prior)
    # Fifty neighbours err by 1/√50 of the posterior's spread.
    assert np.sqrt(np.square(ours - theirs).mean()) < 1.0


def test_a_histogram_must_have_weight():
    with pytest.raises(ValueError, match="one weight for each"):
        histogram_prior([[0.0], [1.0]], [0, -1])
    assert histogram_prior([[0.0], [1.0]], [3, 1]).mean == pytest.approx([0.25])


def test_the_toolbox_agrees():
    pytest.importorskip("art")

    for model in (leaking, RandomLabels):
        ours, theirs = (attack(model, ROWS, n_models=2) for attack in (shadow_attack, art_attack))
        assert ours.interval()[0] < theirs.interval()[1]
        assert theirs.interval()[0] < ours.interval()[1]
    assert art_attack(leaking, ROWS).interval()[0] > 0.3

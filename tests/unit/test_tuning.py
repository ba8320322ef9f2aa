"""Parameters of clusterers read off points: k, eps and minPts, preference and damping."""

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sfumato import tuning
from sfumato.tuning import DistanceCurve

MIDDLES = np.array([[-9, -9], [-9, 9], [9, -9], [9, 9], [0, 0]])


def blobs(k=4, n=200, seed=0):
    return make_blobs(n, centers=MIDDLES[:k], cluster_std=0.6, random_state=seed)[0]


@pytest.mark.parametrize("criterion", ["elbow", "silhouette", "gap", "stability"])
@pytest.mark.parametrize("k", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_every_criterion_finds_clear_clusters(criterion, k):
    curve = tuning.clusters(blobs(k), k_range=(2, 8), criterion=criterion, random_state=0)
    assert curve.best == k
    assert curve.criterion == criterion
    assert list(curve.ks) == [2, 3, 4, 5, 6, 7, 8]
    assert len(curve.scores) == len(curve.costs) == 7
    assert curve.scores.argmax() == k - 2
    assert (np.diff(curve.costs) < 0).all()


@pytest.mark.slow
def test_one_cluster_can_be_taken_by_the_gap():
    rng = np.random.default_rng(0)
    curve = tuning.clusters(
        rng.uniform(size=(300, 2)), k_range=(1, 4), criterion="gap", random_state=0
    )
    # The shape of even points is that of the reference: no k has a gap worth the name.
    assert np.abs(curve.scores).max() < 0.15
    assert curve.costs[0] == pytest.approx(2 / 12, rel=0.1)


@pytest.mark.slow
def test_a_start_is_fixed_by_its_seed():
    first, second = (
        tuning.clusters(blobs(), k_range=(2, 4), criterion="gap", random_state=3) for _ in range(2)
    )
    assert np.array_equal(first.scores, second.scores)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"k_range": (2, 200)}, "below the number of points 200, got 200"),
        ({"k_range": 3}, "must be a pair"),
        ({"criterion": "knee"}, "elbow, silhouette, gap"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        tuning.clusters(blobs(), **settings)


def test_k_distances_are_those_to_the_neighbour():
    line = np.array([[0.0], [1.0], [3.0], [7.0]])
    curve = tuning.k_distances(line, neighbour=1)
    assert list(curve.distances) == [4, 2, 1, 1]
    assert list(tuning.k_distances(line, neighbour=3).distances) == [7, 7, 6, 4]
    # 2d − 1 = 1 for one column, as in the thesis.
    assert tuning.k_distances(line).neighbour == 1
    assert tuning.k_distances(blobs()).neighbour == 3


def test_the_knee_is_the_corner_of_a_bent_curve():
    bent = np.array([10, 7, 4, 1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert tuning.knee_of(bent) == 3
    assert DistanceCurve(bent, 3, 3).eps == 1
    assert tuning.knee_of(np.ones(5)) == 0


def test_dbscan_has_the_radius_of_the_knee_and_twice_the_columns():
    rows = blobs()
    model = tuning.dbscan(rows)
    assert model.min_samples == tuning.min_points(2) == 4
    assert model.eps == tuning.k_distances(rows).eps
    nearest = np.square(rows[:, None] - MIDDLES).sum(axis=2).argmin(axis=1)
    assert adjusted_rand_score(nearest, model.fit(rows).labels_) > 0.7


def test_dbscan_of_equal_points_is_one_cluster():
    assert (tuning.dbscan(np.ones((20, 2))).fit(np.ones((20, 2))).labels_ == 0).all()


def test_few_points_have_few_neighbours():
    curve = tuning.k_distances(np.eye(4))
    assert curve.neighbour == 3
    with pytest.raises(ValueError, match="below the number of points 4, got 4"):
        tuning.k_distances(np.eye(4), neighbour=4)


def test_the_preference_is_the_median_similarity_of_pairs():
    assert tuning.preference(np.array([[0.0], [1.0], [3.0]])) == -4.0
    rows = blobs(n=50)
    theirs = AffinityPropagation(random_state=0, preference=tuning.preference(rows)).fit(rows)
    assert len(theirs.cluster_centers_indices_) == 4


def test_damping_is_raised_until_the_messages_settle():
    assert tuning.damping(blobs(n=50)) == 0.5
    # These points oscillate for longer than 80 rounds at 0.5, and settle at 0.6.
    rows = make_blobs(400, centers=4, cluster_std=0.6, random_state=4)[0]
    assert tuning.damping(rows, max_iter=80) == 0.6
    model = tuning.affinity(rows, max_iter=80)
    assert model.damping == 0.6
    assert model.preference == tuning.preference(rows)
    assert model.fit(rows).n_iter_ < 80
    with pytest.warns(ConvergenceWarning):
        model.set_params(damping=0.5).fit(rows)


class Axes:
    """Axes that remember what was drawn."""

    def __init__(self):
        self.drawn = {}

    def __getattr__(self, name):
        return lambda *args, **settings: self.drawn.update({name: (args, settings)})


def test_curves_are_drawn_with_what_they_take():
    axes = Axes()
    curve = tuning.clusters(blobs(), random_state=0)
    tuning.draw(curve, axes)
    assert np.array_equal(axes.drawn["plot"][0][1], curve.scores)
    assert axes.drawn["axvline"][0] == (4,)
    axes = Axes()
    distances = tuning.k_distances(blobs())
    tuning.draw(distances, axes)
    assert axes.drawn["axhline"][0] == (distances.eps,)

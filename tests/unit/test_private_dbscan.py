"""PrivateDBSCAN: regions of dense cells, what it refuses, what it keeps."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from sfumato import Curator, Number, Overspent, PrivateDBSCAN, Schema, Weight, load
from tests.unit.test_private_kmeans import EXPECTED_FAILURES

MOONS, MOON = make_moons(20_000, noise=0.05, random_state=0)
BOUNDS = ([-1.5, -1.0], [2.5, 1.5])


@pytest.fixture(scope="module")
def fitted():
    return PrivateDBSCAN(epsilon=5.0, bounds=BOUNDS).fit(MOONS)


def test_scikit_learn_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            PrivateDBSCAN(bounds=(-10, 10)),
            expected_failed_checks=EXPECTED_FAILURES,
            on_fail=None,
            on_skip=None,
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_moons_are_found_and_what_lies_around_is_noise(fitted):
    assert fitted.n_clusters_ == 2
    np.testing.assert_allclose(fitted.cluster_sizes_, 10_000, rtol=0.05)
    assert adjusted_rand_score(MOON, fitted.predict(MOONS)) > 0.95
    assert fitted.predict([[-1.4, -0.9], [2.4, 1.4]]).tolist() == [-1, -1]


def test_rows_with_a_gap_are_in_no_cell(fitted):
    rows = [[np.nan, 1.0], [0.0, np.inf], MOONS[0]]
    assert fitted.predict(rows)[:2].tolist() == [-1, -1]
    centred = PrivateDBSCAN(epsilon=5.0, bounds=BOUNDS, nan="center").fit(MOONS)
    middle = centred.predict([[0.5, 0.25]])
    assert centred.predict([[np.nan, np.nan]]) == middle


def test_the_smallest_cluster_can_be_chosen():
    rows = np.vstack([MOONS, np.random.default_rng(0).normal([2.2, 1.2], 0.02, (600, 2))])
    settings = {"epsilon": 5.0, "bounds": BOUNDS}
    assert PrivateDBSCAN(100, **settings).fit(rows).n_clusters_ == 3
    assert PrivateDBSCAN(2000, **settings).fit(rows).n_clusters_ == 2


def test_no_rows_and_few_rows_are_no_clusters():
    for rows in (MOONS[:0], MOONS[:3]):
        model = PrivateDBSCAN(bounds=BOUNDS).fit(rows)
        assert model.n_clusters_ == 0
        assert set(model.predict(MOONS[:50])) == {-1}


def test_a_file_holds_what_was_released(fitted, tmp_path):
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert isinstance(again, PrivateDBSCAN)
    np.testing.assert_array_equal(again.predict(MOONS), fitted.predict(MOONS))
    np.testing.assert_array_equal(again.cell_labels_, fitted.cell_labels_)
    assert again.receipt_ == fitted.receipt_
    assert json.loads((tmp_path / "model.json").read_text())["model"] == "density"


def test_labels_of_rows_in_the_order_of_cells(fitted):
    """A row in the middle of a cell has the label of that cell."""
    np.testing.assert_array_equal(fitted.predict(fitted.synopsis_.cells), fitted.cell_labels_)


def test_one_budget_for_many_fits():
    curator = Curator(MOONS, bounds=BOUNDS, epsilon=1.5)
    PrivateDBSCAN(epsilon=1.0).fit(curator)
    with pytest.raises(Overspent):
        PrivateDBSCAN(epsilon=1.0).fit(curator)


def test_schemas_and_weights():
    schema = Schema(x=Number(-1.5, 2.5), y=Number(-1, 1.5), w=Weight(0, 4, steps=2))
    table = pd.DataFrame(MOONS, columns=["x", "y"]).assign(w=2.0)
    model = PrivateDBSCAN(epsilon=5.0, schema=schema).fit(table)
    assert model.n_clusters_ == 2
    np.testing.assert_allclose(model.cluster_sizes_, 20_000, rtol=0.05)
    assert adjusted_rand_score(MOON, model.predict(table)) > 0.95


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"min_cluster_size": 0}, ValueError, "min_cluster_size"),
        ({"min_cluster_size": "5"}, TypeError, "min_cluster_size"),
        ({"epsilon": -1}, ValueError, "epsilon"),
        ({"bounds": None}, (TypeError, ValueError), "bounds"),
    ],
)
def test_wrong_settings_are_refused(settings, error, said):
    with pytest.raises(error, match=said):
        PrivateDBSCAN(**{"bounds": BOUNDS, **settings}).fit(MOONS)


def test_the_box_of_a_model_has_nothing_but_bounds():
    """What a box works out once it keeps: that would tell whether there were rows."""
    bounds = ([-1.52, -1.03], [2.51, 1.54])  # of no other test: nothing is worked out before
    model = PrivateDBSCAN(bounds=bounds).fit(MOONS[:50])
    assert set(vars(model.box_)) == {"lower", "upper", "nan"}
    assert set(vars(model.synopsis_.box)) == {"lower", "upper", "nan"}


def test_cells_are_larger_where_noise_is():
    """Their number is for rows × ε per row of a group."""
    sizes = []
    for most in (1, 16):
        model = PrivateDBSCAN(epsilon=5.0, bounds=BOUNDS, max_rows_per_group=most)
        sizes.append(len(model.fit(MOONS, groups=np.arange(len(MOONS))).synopsis_))
    assert 10 < sizes[0] / sizes[1] < 22


def test_too_many_columns_are_refused_before_the_charge():
    curator = Curator(np.zeros((5, 20)), bounds=(-1, 1), epsilon=1.0)
    with pytest.raises(ValueError, match=r"2\^20 cells.*fewer columns"):
        PrivateDBSCAN(epsilon=1.0).fit(curator)
    assert curator.ledger.spent == (0, 0)

"""What a fit shows: nothing that is public goes unseen."""

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import PrivateKMeans
from sfumato.audit import World, pairs
from sfumato.audit._observe import new_estimator, observe, takes_groups

WORLD = World(np.array([[1.0, 2.0], [3.0, 4.0]]))


class Shown(BaseEstimator):
    """Does what it is told, on every fit."""

    def __init__(self, act=None):
        self.act = act

    def fit(self, X):
        self.act(self, X)
        return self


def seen(act, tmp_path, world=WORLD, **options):
    return observe(lambda: Shown(act), world, tmp_path, **options)


def numbers(found):
    return dict(zip(found.names, found.values, strict=True))


def test_numbers_shapes_and_names(tmp_path):
    def act(model, X):
        model.count_, model.flag_, model._hidden_ = len(X), True, 7
        model.table_ = np.arange(4).reshape(2, 2)
        model.long_ = np.arange(1000.0)
        model.parts_ = [{"a": 5.0}, "text 8"]
        model.plain = 9

    found = seen(act, tmp_path)
    known = numbers(found)
    assert (known["count_"], known["flag_"], known["table_[3]"]) == (2, 1, 3)
    assert (known["long_ sum"], known["long_ largest"], known["long_[63]"]) == (499500, 999, 999)
    assert known["parts_[0][a]"] == 5
    assert known["parts_[1], number 0"] == 8
    assert {"table_ has shape (2, 2)", "long_ has shape (1000,)"} <= found.tags
    assert "attributes count_, flag_, long_, parts_, table_" in found.tags
    assert not any("_hidden_" in name or "plain" in name for name in found.names)
    assert found.refusal is None


def test_centres_as_they_are_and_in_order(tmp_path):
    def act(model, X):
        model.cluster_centers_ = np.array([[5.0, 1.0], [2.0, 9.0]])
        model.cluster_sizes_ = np.array([50.0, 20.0])

    known = numbers(seen(act, tmp_path))
    assert [known[f"cluster_centers_[{i}]"] for i in range(4)] == [5, 1, 2, 9]
    assert [known[f"sorted cluster_centers_[{i}]"] for i in range(4)] == [2, 9, 5, 1]
    assert [known[f"sorted cluster_sizes_[{i}]"] for i in range(2)] == [20, 50]
    only = seen(act, tmp_path, attributes=("cluster_sizes_",))
    assert set(only.names) == {"cluster_sizes_[0]", "cluster_sizes_[1]"}


def test_errors_and_warnings_are_outputs(tmp_path):
    def act(model, X):
        warnings.warn("3 rows are odd", RuntimeWarning, stacklevel=1)
        raise ValueError(f"{tmp_path}/x has 17 rows at 0x7f00aa")

    found = seen(act, tmp_path)
    assert "raised ValueError: /x has # rows at #x" in found.tags
    assert "raised ValueError, exactly: /x has 17 rows at 0x" in found.tags
    assert "warned RuntimeWarning: # rows are odd" in found.tags
    assert numbers(found)["raised ValueError, number 0"] == 17
    assert found.refusal.startswith("raised ValueError")


def test_an_attribute_that_raises_and_printed_text(tmp_path):
    class Raising(Shown):
        @property
        def secret_(self):
            raise RuntimeError

    def act(model, X):
        sys.stdout.write(f"so many: {len(X)}\n")

    found = observe(lambda: Raising(act), WORLD, tmp_path)
    assert "secret_ raises RuntimeError" in found.tags
    assert "printed, exactly: so many: 2\n" in found.tags


def test_objects_texts_and_saved_files_in_a_thorough_look(tmp_path):
    @dataclass
    class Receipt:
        spent: float

        def __str__(self):
            return f"spent {self.spent}"

    class Saving(Shown):
        def save(self, path):
            with open(path, "w") as file:
                file.write("rows: 12")

    def act(model, X):
        model.receipt_ = Receipt(0.5)

    found = observe(lambda: Saving(act), WORLD, tmp_path)
    known = numbers(found)
    assert known["receipt_.spent"] == 0.5
    assert (known["saved file, length"], known["saved file, number 0"]) == (8, 12)
    assert "text of receipt_, exactly: spent 0.5" in found.tags
    quick = observe(lambda: Saving(act), WORLD, tmp_path, thorough=False)
    assert set(quick.names) == {"receipt_.spent"}

    def failing(model, path):
        raise OSError

    Saving.save = failing
    assert "saved file raises OSError" in observe(lambda: Saving(act), WORLD, tmp_path).tags


def test_the_steps_of_a_pipeline(tmp_path):
    model = make_pipeline(StandardScaler(), PrivateKMeans(2, bounds=(-3, 3), method="dplloyd"))
    found = observe(lambda: new_estimator(model), WORLD, tmp_path)
    known = numbers(found)
    assert known["standardscaler.mean_[0]"] == 2
    assert known["standardscaler.n_samples_seen_"] == 2
    assert "privatekmeans.cluster_centers_[3]" in known
    assert "privatekmeans.cluster_centers_ has shape (2, 2)" in found.tags


def test_rows_of_a_file_and_of_groups(tmp_path):
    made = []

    def make():
        made.append(PrivateKMeans(2, bounds=(-3, 3), method="dplloyd"))
        return made[-1]

    group, file = pairs()[5:]
    for world in (group.larger, file.smaller, file.larger):
        assert observe(make, world, tmp_path).refusal is None
    assert "group" in str(made[0].receipt_)
    assert made[2].n_features_in_ == 2


def test_a_fit_cannot_change_the_world(tmp_path):
    def act(model, X):
        X[:] = 0

    seen(act, tmp_path)
    assert WORLD.rows.sum() == 10


def test_estimators_are_made_anew():
    model = PrivateKMeans(2)
    assert new_estimator(model) is not model
    assert new_estimator(PrivateKMeans).n_clusters == 8
    assert new_estimator(lambda: model) is model

    class Bare:
        def fit(self, X):
            return None

    bare = Bare()
    assert new_estimator(bare) is not bare
    assert takes_groups(model)
    assert not takes_groups(bare)
    assert not takes_groups(make_pipeline(StandardScaler()))


def test_a_fit_that_returns_nothing_is_seen(tmp_path):
    class Bare:
        def fit(self, X):
            self.count_ = len(X)

    assert numbers(observe(Bare, WORLD, tmp_path)) == {"count_": 2}


@pytest.mark.parametrize("value", [None, object(), {1, 2}, "text", b"bytes", np.array(["a"]), []])
def test_every_kind_of_attribute_can_be_looked_at(value, tmp_path):
    def act(model, X):
        model.odd_ = value

    assert seen(act, tmp_path).refusal is None

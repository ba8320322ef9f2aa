"""What laws about whole fits share."""

import pytest

from sfumato._models import MODELS
from tests.laws.harness import BOX, BUDGETS
from tests.laws.watching import Watcher, check_alike, check_losses, left_by


@pytest.fixture
def watch(monkeypatch, capsys, caplog):
    """Runs a fit and keeps all that leaves it."""
    return Watcher(monkeypatch, capsys, caplog)


SETTINGS = {
    "kmeans": {"n_clusters": 3},
    "median": {"n_clusters": 3},
    "mixture": {"n_components": 2},
    "density": {},
    "ward": {"n_clusters": 3},
}
"""What each kind of model is asked for, if nothing else is said."""


@pytest.fixture
def check(watch, tmp_path):
    """Fit, fit again on the same answers, and compare; returns what each neighbour lost."""

    def check(data, others, *, kind="kmeans", budget="pure", neighbours=True, **settings):
        epsilon, delta = BUDGETS[budget]
        given = {"bounds": (BOX.lower, BOX.upper), "random_state": 1, **SETTINGS[kind], **settings}

        def fitted(rows, groups=None):
            model = MODELS[kind](epsilon=float(epsilon), delta=float(delta), **given)
            return left_by(model.fit(rows, groups=groups), tmp_path / "model.json")

        one, lost = watch(fitted, *data), []
        for other in others:
            again = watch(fitted, *other, replay=one)
            check_alike(one, again)
            if neighbours:
                lost.append(check_losses(one, again, epsilon=epsilon, delta=delta))
        return lost

    return check

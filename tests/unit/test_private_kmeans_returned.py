"""What a method returns is checked before a model is made of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sfumato import METHODS, PrivateKMeans
from sfumato.methods import Centers, DPLloyd, NeedsDelta

X = np.random.default_rng(0).uniform(size=(60, 2))


@dataclass(frozen=True)
class Returns:
    """A method that asks nothing and returns what it is told."""

    value: Any
    k_range: tuple[int, int] = field(default=(1, 5))

    def caps(self, task):
        return DPLloyd().caps(task)

    def __call__(self, curator, task, *, account, rng):
        return self.value


def fit(value, k=3):
    return PrivateKMeans(k, bounds=(0, 1), method=Returns(value)).fit(X)


POINTS, SIZES = np.zeros((3, 2)), np.zeros(3)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (None, TypeError, "Returns must return Centers, got NoneType"),
        ((POINTS, SIZES), TypeError, "must return Centers, got tuple"),
        (
            Centers(POINTS.tolist(), SIZES),
            TypeError,
            "points as a NumPy array of numbers, got list",
        ),
        (
            Centers(POINTS, SIZES.astype(str)),
            TypeError,
            "sizes as a NumPy array of numbers, got of",
        ),
        (Centers(POINTS.T, SIZES), ValueError, r"points of shape \(3, 2\).*got \(2, 3\)"),
        (Centers(POINTS[:2], SIZES[:2]), ValueError, r"points of shape \(3, 2\).*got \(2, 2\)"),
        (Centers(POINTS[0], SIZES), ValueError, r"points of shape \(3, 2\).*got \(2,\)"),
        (Centers(POINTS, SIZES[:2]), ValueError, r"sizes of shape \(3,\).*got \(2,\)"),
        (Centers(POINTS, SIZES[:, None]), ValueError, r"sizes of shape \(3,\).*got \(3, 1\)"),
        (Centers(POINTS + np.nan, SIZES), ValueError, "finite points"),
        (Centers(POINTS, SIZES + np.inf), ValueError, "finite sizes"),
        (Centers(POINTS, SIZES, "a note"), TypeError, "notes as a tuple of texts"),
        (Centers(POINTS, SIZES, synopsis="cells"), TypeError, "a Synopsis or None.*got str"),
    ],
)
def test_the_wrong_thing_is_refused_by_name(value, error, said):
    with pytest.raises(error, match=said):
        fit(value)


def test_what_is_right_is_taken():
    assert fit(Centers(POINTS, SIZES)).cluster_centers_.shape == (3, 2)
    assert fit(Centers(POINTS.astype(int), SIZES)).cluster_centers_.shape == (3, 2)
    assert fit(Centers(POINTS, SIZES), "auto").cluster_centers_.shape == (3, 2)
    with pytest.raises(ValueError, match=r"points of shape \(1 to 5, 2\).*got \(6, 2\)"):
        fit(Centers(np.zeros((6, 2)), np.zeros(6)), "auto")


@pytest.mark.parametrize("method", METHODS)
def test_a_refusal_tells_nothing_of_the_rows(method, monkeypatch):
    """The same words for other rows: only what was returned is looked at."""
    monkeypatch.setattr(METHODS[method], "__call__", lambda *_, **__: Centers(POINTS, SIZES[:1]))
    said = set()
    for rows in (X, X[:1], np.zeros((0, 2))):
        model = PrivateKMeans(3, bounds=(0, 1), method=method, delta=1e-6)
        with pytest.raises(ValueError, match="sizes of shape") as refused:
            model.fit(rows)
        said.add(str(refused.value))
        assert not isinstance(refused.value, NeedsDelta)
    assert len(said) == 1

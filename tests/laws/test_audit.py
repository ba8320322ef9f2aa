"""Every method passes the audits, on a few pairs and runs; `make audit` has the long ones.

All noise here is seeded, and numbers of fits end the audits: a verdict is the same in every run,
however busy the machine is.
"""

from itertools import count

import numpy as np
import pytest

from bench import broken
from bench.audit import ALPHA, BOUNDS, cells, method_of
from bench.audit_pairs import GROUP, KINDS, five, pair_of
from sfumato import PrivateKMeans, audit

CELLS = cells()
SLOW = pytest.mark.slow


def some(epsilon):
    """All kinds of pairs for ε = 1, and two for others; the rest is slow."""
    return KINDS if epsilon == 1 else KINDS[::5]


@pytest.mark.parametrize(("method", "epsilon", "delta"), CELLS)
def test_every_method_passes_exact_replay(method, epsilon, delta):
    for number, kind in enumerate(some(epsilon)):
        replayed(method, epsilon, delta, pair_of(kind, number))


@SLOW
@pytest.mark.parametrize(("method", "epsilon", "delta"), CELLS)
def test_every_method_passes_exact_replay_on_more_pairs(method, epsilon, delta):
    for kind in KINDS:
        replayed(method, epsilon, delta, pair_of(kind, 100))


def replayed(method, epsilon, delta, pair):
    found = audit.replay(
        *(method_of(method), pair),
        epsilon=epsilon,
        delta=delta,
        bounds=BOUNDS,
        max_rows_per_group=GROUP,
    )
    assert not found.broken, str(found)
    assert found.lost <= found.charged * (1 + 1e-9)


QUICK = ("dplloyd", "sukpisit", "eugkm")


@pytest.mark.parametrize("method", QUICK)
def test_likelihoods_refute_no_method(method):
    verdict = audit.likelihood_ratio(method, five()[0], epsilon=4.0, trials=200, alpha=ALPHA)
    assert not verdict.broken, str(verdict)


@pytest.mark.parametrize("method", QUICK[:2])
def test_black_boxes_refute_no_method(method, seeded_noise):
    estimator = PrivateKMeans(2, epsilon=1.0, method=method, bounds=BOUNDS, random_state=1)
    verdict = audit.run(estimator, 1.0, 0.0, five()[:1], trials=240, alpha=ALPHA)
    assert verdict.trials > 120
    assert not verdict.broken, str(verdict)


FITS = 400_000
"""Four times as many as the longest of the audits below needs."""

AT_ONCE = (
    "σ² for σ",
    "no noise for an empty cluster",
    "noise used twice",
    "bounds read from the rows",
    "an error that only some rows raise",
    "the exact number of rows",
    "a missing cell that shows",
)


@pytest.fixture
def seeded(monkeypatch, seeded_noise):
    """Seeds the noise of estimators that are broken on purpose, and of their correct twins."""
    numbers = count()
    fresh = lambda: np.random.default_rng([2306, next(numbers)])
    monkeypatch.setattr(broken, "new_rng", fresh)


@pytest.mark.parametrize(
    "what", [what if what in AT_ONCE else pytest.param(what, marks=SLOW) for what in broken.BROKEN]
)
def test_broken_estimators_are_caught(what, seeded):
    factory, delta = broken.BROKEN[what]
    verdict = audit.run(factory, 1.0, delta, broken.pairs(), alpha=1e-6, trials=FITS)
    assert verdict.broken, str(verdict)


@pytest.mark.parametrize("what", broken.CORRECT)
def test_their_correct_twins_pass(what, seeded):
    factory, delta = broken.CORRECT[what]
    verdict = audit.run(factory, 1.0, delta, broken.pairs(), trials=2_000, alpha=ALPHA)
    assert not verdict.broken, str(verdict)
    assert np.isfinite(verdict.epsilon_lower)

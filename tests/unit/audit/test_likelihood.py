"""The likelihood-ratio audit: its scores against probabilities, and bounds that are never wrong."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato._core.mechanisms import Ball, Cube, Cylinder, Gaussian, Laplace, PerCellNoise
from sfumato._core.testing import (
    RecordingCurator,
    ReplayedNoise,
    bits_ratio,
    cover_ratio,
    crossing_ratio,
    log_probabilities,
    loss,
    steps_of,
)
from sfumato.audit import Pair, World, likelihood_ratio
from sfumato.audit._likelihood import (
    _agree,
    _replayed_score,
    _twin_score,
    best_event,
    log_ratio,
)
from sfumato.audit._replay import Setting
from sfumato.methods import METHODS, DPLloyd, PGkM

ROWS = np.random.default_rng(0).uniform(-0.9, 0.9, (30, 2))
CORNER = Pair("corner", World(ROWS), World(np.vstack([ROWS, [[1.0, 1.0]]])), "a row in a corner")
THIRD = Fraction(7, 3)


def test_laplace_scores_are_those_of_the_discrete_law():
    one, other, released = np.array([[3, -1]]), np.array([[1, 0]]), np.array([[2, 5]])
    law = stats.dlaplace(float(1 / THIRD))
    wanted = law.logpmf(released - one).sum() - law.logpmf(released - other).sum()
    assert log_ratio(Laplace(THIRD), released, one, other) == pytest.approx(wanted)
    each = PerCellNoise("laplace", (THIRD,))
    assert log_ratio(each, released, one, other) == pytest.approx(wanted)


@pytest.mark.parametrize("scale", [Fraction(1, 2), THIRD, Fraction(1000)])
def test_gaussian_scores_are_those_of_rounded_noise(scale):
    one, other, released = np.array([[3, -1]]), np.array([[1, 0]]), np.array([[2, 5]])
    law = stats.norm(scale=float(scale))

    def chance(exact):
        z = np.abs(released - exact)
        return np.log(law.sf(z - 0.5) - law.sf(z + 0.5)).sum()

    wanted = chance(one) - chance(other)
    assert log_ratio(Gaussian(scale), released, one, other) == pytest.approx(wanted)


def test_joint_noise_is_scored_by_its_norm():
    one, other, released = np.array([[3, 4], [0, 0]]), np.array([[0, 0], [0, 0]]), np.zeros((2, 2))
    assert log_ratio(Cube(THIRD), released, one, other) == pytest.approx(-4 / float(THIRD))
    assert log_ratio(Ball(THIRD), released, one, other) == pytest.approx(-5 / float(THIRD))
    cylinder = Cylinder((Fraction(2), Fraction(9)), Fraction(1))
    assert log_ratio(cylinder, released, one, other) == pytest.approx(-3.0)
    wide = Cylinder((Fraction(1, 2), Fraction(9)), Fraction(1))
    assert log_ratio(wide, released, one, other) == pytest.approx(-8.0)


def test_selections_are_scored_by_their_chances():
    one, other = np.array([5, 0, 3]), np.array([5, 1, 3])
    for law in ("exponential", "permute_and_flip"):
        chances = [
            log_probabilities(s, epsilon=1 / THIRD, sensitivity=1, monotone=True, law=law)[1]
            for s in (one, other)
        ]
        found = log_ratio((None, THIRD, law), 1, one, other)
        assert found == pytest.approx(chances[0] - chances[1])
        assert found < 0


def transcripts(method, delta):
    setting = Setting.of(method, CORNER, (1.0, delta), 2, (-1.0, 1.0), 1)
    first, second = (
        setting.opened(RecordingCurator, world, ReplayedNoise(3))
        for world in (CORNER.smaller, CORNER.larger)
    )
    setting.run(first, 0)
    second.replay = first.transcript
    setting.run(second, 0)
    return first.transcript, second.transcript


SMALLER = {"pgkm": PGkM(candidates=20, parents=3, least_rounds=3)}


@pytest.mark.parametrize("method", METHODS)
def test_no_score_is_larger_than_the_loss(method):
    """Of pure noise the worst score is the loss; chosen answers lose their score."""
    seen = set()
    for law, released, one, other in steps_of(*transcripts(SMALLER.get(method, method), 1e-6)):
        score, most = log_ratio(law, released, one, other), float(loss(law, released, one, other))
        kind = type(law).__name__
        seen.add(kind)
        if kind == "Gaussian" or getattr(law, "law", "") == "gaussian":
            continue
        assert abs(score) <= most + 1e-6
        if kind in ("tuple", "Covering", "PrivTreeSplits", "AboveThreshold", "SearchPerCell"):
            assert abs(score) == pytest.approx(most, abs=1e-6)
        if kind == "Covering":
            assert score == pytest.approx(float(cover_ratio(law, released, one, other)), abs=1e-9)
    assert seen


@pytest.mark.parametrize("ratio", [bits_ratio, crossing_ratio, cover_ratio])
def test_ratios_have_a_direction(ratio):
    assert ratio.__doc__.startswith("Logarithm of how much more likely the first dataset makes")


@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "balcan"])
def test_reading_twice_is_as_good_as_running_twice(method):
    setting = Setting.of(method, CORNER, (1.0, 0.0), 2, (-1.0, 1.0), 1)
    worlds = CORNER.smaller, CORNER.larger
    assert _agree(setting, *worlds, 0)
    scores = [score(setting, *worlds, b"key") for score in (_twin_score, _replayed_score)]
    assert scores[0] == scores[1] != 0


def test_block_means_are_run_twice():
    """Their sums come from exact numbers of the query before, which one run does not read."""
    alone = np.vstack([ROWS, np.ones((1, 2))])
    pair = Pair("corner", World(ROWS[:6]), World(alone[-7:]), "a row")
    setting = Setting.of("gkm", pair, (4.0, 0.0), 2, (-1.0, 1.0), 1)
    assert not _agree(setting, pair.smaller, pair.larger, 0)


def test_events_are_found_on_one_half_and_counted_on_the_other():
    half = np.array([np.tile([0.0, 1.0], 500), np.ones(1000)])
    bound, event = best_event(half, alpha=1e-3, delta=0.0)
    assert 3 < bound < 5
    assert event == (
        "a log-likelihood ratio of at most 0; seen 0 times with and 250 times without, of 500 each"
    )
    same, event = best_event(1 - half[::-1], alpha=1e-3, delta=0.0)
    assert same == bound
    assert event == (
        "a log-likelihood ratio of at least 1; seen 250 times with and 0 times without, of 500 each"
    )
    apart = np.array([np.zeros(2000), np.ones(2000)])
    assert best_event(apart, alpha=1e-3, delta=0.0)[0] > 4
    assert best_event(apart[::-1], alpha=1e-3, delta=0.0)[0] > 4
    assert best_event(np.zeros((2, 2000)), alpha=1e-3, delta=0.0)[0] == 0.0


def test_a_learned_event_that_does_not_hold_shows_nothing():
    half = np.array([np.zeros(500), np.ones(500)])
    scores = np.hstack([half, half[::-1]])
    assert best_event(scores, alpha=1e-3, delta=0.0)[0] == 0.0


def test_a_correct_method_is_not_refuted_and_its_bound_is_not_empty():
    """Seeded, so it fails never or always."""
    verdict = likelihood_ratio(
        DPLloyd(iterations=1, noise="laplace"), CORNER, epsilon=8.0, trials=240, alpha=1e-3
    )
    assert 0.5 < verdict.epsilon_lower <= 8.0
    assert not verdict.broken
    assert verdict.trials == 240
    assert verdict.pair == "corner"


def test_noise_that_is_too_small_is_refuted(monkeypatch):
    """With a fortieth of the noise that is written down, at a risk of 10^-9."""
    draw = Laplace.draw

    def small(self, *shape):
        return draw(Laplace(self.scale / 40), *shape)

    monkeypatch.setattr(Laplace, "draw", small)
    method = DPLloyd(iterations=1, noise="laplace")
    verdict = likelihood_ratio(method, CORNER, epsilon=0.5, trials=240, alpha=1e-9)
    assert verdict.broken


def test_at_least_eight_runs_are_needed():
    with pytest.raises(ValueError, match="trials"):
        likelihood_ratio("dplloyd", CORNER, epsilon=1.0, trials=4)

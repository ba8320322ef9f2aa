"""The bound of an audit against its definition, its risk, and what a verdict says."""

import json
import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from sfumato.audit import Verdict
from sfumato.audit._verdict import epsilon_lower, log_ratio
from sfumato.plots import plot_audit


@pytest.mark.parametrize(("hits", "others", "trials"), [(30, 4, 50), (50, 0, 50), (200, 60, 1000)])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_bound_is_that_of_two_exact_tails(hits, others, trials, delta):
    bound = epsilon_lower(hits, others, trials, alpha=0.01, delta=delta)
    grid = np.linspace(0, 1, 200_001)
    # The least p under which so many hits have a tail of α/2, and the largest q.
    least = grid[stats.binom.sf(hits - 1, trials, grid) >= 0.005].min()
    most = grid[stats.binom.cdf(others, trials, grid) >= 0.005].max()
    assert bound == pytest.approx(math.log((least - delta) / most), abs=1e-3)


def test_nothing_seen_shows_nothing():
    assert epsilon_lower(0, 0, 100, alpha=0.01) == 0
    assert epsilon_lower(0, 100, 100, alpha=0.01) == 0
    assert epsilon_lower(5, 100, 100, alpha=0.01) == 0
    assert epsilon_lower(0, 0, 0, alpha=0.01) == 0
    assert epsilon_lower(100, 0, 100, alpha=0.01, delta=0.999) == 0
    assert log_ratio([0, 50], [0, 50], 100, alpha=0.01)[0] == -math.inf


@pytest.mark.parametrize("trials", [20, 200])
def test_the_bound_exceeds_the_truth_as_rarely_as_it_says(trials):
    # Randomised response: its event is exactly e^ε times as likely in one world.
    rng, epsilon, alpha, repeats = np.random.default_rng(3), 1.0, 0.2, 20_000
    right = 1 / (1 + math.exp(-epsilon))
    hits = rng.binomial(trials, right, repeats)
    others = rng.binomial(trials, 1 - right, repeats)
    wrong = (log_ratio(hits, others, trials, alpha=alpha) > epsilon).mean()
    assert wrong <= alpha
    # It does happen: the test can fail.
    assert (log_ratio(hits, others, trials, alpha=0.9) > epsilon).mean() > wrong


def verdict(bound, **changed):
    given = {"pair": "outlier", "event": "a is at least 3", "seen": ((100, 0.2), (200, bound))}
    return Verdict(1.0, 1e-6, bound, 0.999, 200, 12.3, **{**given, **changed})


def test_a_verdict_in_words():
    said = str(verdict(1.5))
    for words in ("ε = 1, δ = 1e-06 is refuted", "at least 1.5", "'outlier'", "a is at least 3"):
        assert words in said
    assert "200 fits in 12 s" in said
    assert "probability at most 0.001" in said
    said = str(verdict(0.5, skipped={"group": "fit takes no groups"}))
    for words in ("is not refuted", "no proof", "at least 0.5", "Not played: group (fit takes"):
        assert words in said
    assert "told no two worlds apart" in str(verdict(0.0))
    assert repr(verdict(1.5)).startswith("Verdict(broken, epsilon=1, epsilon_lower=1.5")
    assert verdict(1.5).broken
    assert not verdict(1.0).broken


def test_a_verdict_as_json():
    told = json.loads(json.dumps(verdict(1.5).as_dict(), allow_nan=False))
    assert told["broken"] is True
    assert told["epsilon_lower"] == 1.5
    assert told["seen"] == [[100, 0.2], [200, 1.5]]
    assert told["sentence"] == str(verdict(1.5))
    assert verdict(math.inf).as_dict()["epsilon_lower"] is None


@pytest.mark.parametrize("bound", [0.5, 1.5])
def test_a_figure_of_the_bound(bound):
    axes = plot_audit(verdict(bound))
    line, claimed = axes.get_lines()
    assert list(line.get_xdata()) == [0, 100, 200]
    assert list(line.get_ydata()) == [0, 0.2, bound]
    assert set(claimed.get_ydata()) == {1.0}
    assert ("not refuted" in axes.get_title()) == (bound < 1)
    assert len(axes.get_legend().get_texts()) == 2
    given = Figure().add_subplot()
    assert plot_audit(verdict(bound), given) is given

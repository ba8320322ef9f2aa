"""The game: broken estimators are found out, others are not, and the risk is what is said.

All noise here is seeded, and numbers of fits end the audits: a verdict is the same in every run.
"""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import PrivateKMeans, audit
from sfumato.methods import DPLloyd

PAIRS = {pair.name: pair for pair in audit.pairs()}


def counter(act, seed=0):
    """A factory of estimators that release `act(rows, rng)`, all with one seeded generator."""
    rng = np.random.default_rng(seed)

    class Released:
        def fit(self, X):
            self.noisy_ = act(X, rng)
            return self

    return Released


def laplace(epsilon, seed=0):
    return counter(lambda X, rng: len(X) + rng.laplace(0, 1 / epsilon), seed)


def response(epsilon, seed=0):
    """Randomised response to whether there are rows in a corner: exactly ε-DP, and no less."""
    right = 1 / (1 + math.exp(-epsilon))
    return counter(lambda X, rng: float((X[-1].min() > 2.5) == (rng.random() < right)), seed)


def played(factory, *names, epsilon=1.0, trials=2000, **options):
    pairs = [PAIRS[name] for name in names or ("empty",)]
    return audit.run(factory, epsilon, pairs=pairs, trials=trials, **options)


@pytest.mark.parametrize("make", [laplace, response])
def test_half_as_much_again_is_found_out(make):
    verdict = played(make(1.5), trials=20_000)
    assert verdict.broken
    assert 1 < verdict.epsilon_lower < 1.5
    assert verdict.trials < 20_000
    assert verdict.pair == "empty"
    assert "noisy_" in verdict.event
    bounds = [bound for _, bound in verdict.seen]
    assert bounds == sorted(bounds)


def test_the_claim_is_nearly_reached_and_not_refuted():
    verdict = played(response(1.0), trials=8000)
    assert 0.75 < verdict.epsilon_lower <= 1


@pytest.mark.slow
def test_the_bound_is_wrong_as_rarely_as_it_says():
    # At a risk of one half: the truth is 1 exactly, and every look could exceed it.
    wrong = [played(response(1.0, seed), trials=300, alpha=0.5).broken for seed in range(30)]
    assert sum(wrong) <= 15
    # It does happen if the risk is not divided: the test can fail.
    assert any(
        played(response(1.0, seed), trials=300, alpha=0.99).epsilon_lower > 0.6 for seed in range(9)
    )


def test_pairs_that_nobody_looked_at_any_more_have_no_bound():
    verdict = played(counter(lambda X, rng: len(X)), "empty", "duplicate", trials=1000)
    assert verdict.broken
    assert set(verdict.by_pair) == {"empty"}
    assert verdict.skipped == {"duplicate": "the audit was over before"}
    assert "Not played: duplicate (the audit was over before)" in str(verdict)


def test_delta_is_allowed():
    rare = counter(lambda X, rng: float(len(X) > 60 and rng.random() < 0.3))
    assert played(rare).broken
    assert not played(rare, delta=0.31).broken


def raising(X, rng):
    if np.isnan(X).any():
        raise ValueError("NaN")
    return 0.0


def warning(X, rng):
    warnings.warn(f"{len(X)} rows", UserWarning, stacklevel=1)
    return 0.0


@pytest.mark.parametrize(
    ("act", "name", "said"),
    [
        (raising, "nan", "raised ValueError"),
        (warning, "duplicate", "warned UserWarning"),
        (lambda X, rng: np.zeros(len(X)), "two-rows", "has shape"),
        (lambda X, rng: np.nan if len(X) == 61 else 0.0, "empty", "noisy_"),
        (lambda X, rng: f"{len(X)} rows", "outlier", "noisy_"),
    ],
)
def test_whatever_a_fit_shows_can_give_it_away(act, name, said):
    verdict = played(counter(act), name, trials=600)
    assert verdict.broken
    assert said in verdict.event
    assert verdict.pair == name


def test_what_is_saved_can_give_it_away():
    class Saving:
        def fit(self, X):
            self._n = len(X)

        def save(self, path):
            with open(path, "w") as file:
                file.write(f"rows: {self._n}")

    verdict = played(Saving, trials=1500)
    assert verdict.broken
    assert "saved file" in verdict.event
    assert not played(Saving, trials=1500, attributes=()).broken


class NeedsFour(BaseEstimator):
    def fit(self, X):
        if len(X) < 4:
            raise ValueError("too few rows")
        return self


def test_a_refusal_in_both_worlds_is_no_event():
    verdict = played(NeedsFour(), "two-rows", "empty", "group", "quoting", trials=300)
    assert not verdict.broken
    assert verdict.epsilon_lower == 0
    assert set(verdict.by_pair) == {"empty"}
    assert "refused in both worlds alike: raised TypeError" in verdict.skipped["quoting"]
    assert "refused in both worlds alike: raised ValueError" in verdict.skipped["two-rows"]
    assert verdict.skipped["group"] == "fit takes no groups"
    with pytest.raises(ValueError, match=r"no pair can be played.*two-rows: refused in both"):
        played(NeedsFour, "two-rows")


def test_worse_pairs_get_more_fits_and_no_pair_is_given_up():
    seen = []
    played(laplace(1.4), *list(PAIRS)[:4], trials=6000, progress=seen.append)
    assert seen[-1].part == pytest.approx(1, abs=0.2)
    assert seen[-1].trials <= 6000
    assert [one.trials for one in seen] == sorted(one.trials for one in seen)
    assert {one.pair for one in seen[:4]} == set(list(PAIRS)[:4])
    fits = dict.fromkeys(list(PAIRS)[:4], 0)
    for before, one in pairwise(seen[3:]):
        fits[one.pair] += one.trials - before.trials
    assert min(fits.values()) > 0
    assert sum(sorted(fits.values())[2:]) > 2 * sum(sorted(fits.values())[:2])


class Clock:
    """Stands for the module `time`: goes on by what a fit takes, and not otherwise."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


def slow_on(clock, monkeypatch):
    """A factory of estimators that take 50 ms on this clock."""
    from sfumato.audit import _run

    def slow(X, rng):
        clock.now += 0.05
        return 0.0

    monkeypatch.setattr(_run, "time", clock)
    return counter(slow)


def test_an_audit_without_time_returns(monkeypatch):
    verdict = audit.run(slow_on(Clock(), monkeypatch), minutes=1e-9)
    assert verdict.epsilon_lower == 0
    assert verdict.trials == 0
    assert set(verdict.skipped.values()) >= {"there was no time for it"}


@pytest.mark.parametrize(("minutes", "seconds"), [(0.1, 6), (0.5, 30), (None, 120)])
def test_an_audit_takes_about_as_long_as_was_said(minutes, seconds, monkeypatch):
    factory = slow_on(Clock(), monkeypatch)
    verdict = audit.run(factory, minutes=minutes, pairs=[PAIRS["empty"]])
    assert seconds / 2 < verdict.seconds <= 1.25 * seconds
    assert not verdict.broken


def test_clocks_decide_nothing_if_only_a_number_of_fits_is_given(monkeypatch):
    clock = Clock()
    slow = slow_on(clock, monkeypatch)
    before = audit.run(slow, pairs=[PAIRS["empty"]], trials=600)
    clock.monotonic = lambda: 1e6 * clock.now
    after = audit.run(slow, pairs=[PAIRS["empty"]], trials=600)
    assert after.seconds > 1e5 * before.seconds
    assert after.seen == before.seen
    assert after.trials > 500


def test_the_same_seed_plays_the_same_game():
    first, again = (played(laplace(1.2), trials=600, random_state=4) for _ in range(2))
    assert (first.seen, first.event) == (again.seen, again.event)


@pytest.mark.slow
def test_processes_see_the_same():
    verdict = played(NeedsFour(), "two-rows", "empty", trials=200, n_jobs=2)
    assert set(verdict.by_pair) == {"empty"}
    leak = make_pipeline(StandardScaler())
    assert played(leak, "outlier", trials=300, n_jobs=2).broken


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"delta": 1}, "delta must lie"),
        ({"minutes": 0}, "minutes must be"),
        ({"trials": 3}, "trials must be"),
        ({"alpha": 0}, "alpha must lie"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"pairs": []}, "needs pairs"),
        ({"pairs": [PAIRS["nan"]] * 2}, "name of its own"),
    ],
)
def test_what_makes_no_sense_is_refused(changed, said):
    with pytest.raises(ValueError, match=said):
        audit.run(laplace(1), **{"epsilon": 1.0, **changed})


def test_something_without_fit_is_refused():
    with pytest.raises(TypeError, match="an estimator with `fit` is needed, got int"):
        audit.run(lambda: 5)


@pytest.mark.parametrize(
    ("bounds", "columns", "highest"),
    [((0, 8), 2, 8), (([0, 0, 0], [1, 2, 4]), 3, 4), ("private", 2, 3), ({"a": (0, 1)}, 2, 3)],
)
def test_default_pairs_lie_in_the_bounds_of_the_estimator(bounds, columns, highest):
    from sfumato.audit._run import default_for

    model = make_pipeline(StandardScaler(), PrivateKMeans(bounds=bounds))
    rows = default_for(model)[2].smaller.rows
    assert rows.shape[1] == columns
    assert rows[:, -1].max() < highest
    assert rows[:, -1].max() > highest / 5


def test_a_scaler_before_a_private_fit_is_found_out(seeded_noise):
    method = DPLloyd(iterations=1)
    model = PrivateKMeans(3, bounds=(-3, 3), method=method, random_state=1)
    model = make_pipeline(StandardScaler(), model)
    verdict = played(model, "outlier", trials=400, attributes=("mean_", "scale_"))
    assert verdict.broken
    assert "standardscaler." in verdict.event


@pytest.mark.slow
def test_a_scaler_is_found_out_by_centres_and_sizes_alone(seeded_noise):
    model = make_pipeline(StandardScaler(), PrivateKMeans(3, bounds=(-3, 3), random_state=1))
    shown = ("cluster_centers_", "cluster_sizes_")
    verdict = audit.run(model, 1.0, attributes=shown, trials=20_000)
    assert verdict.broken
    assert verdict.pair == "outlier"


@pytest.mark.slow
def test_ours_is_not_refuted(seeded_noise):
    model = PrivateKMeans(2, bounds=(-3, 3), method=DPLloyd(iterations=1), random_state=1)
    verdict = played(model, "empty", "group", "quoting", trials=200)
    assert not verdict.broken
    assert set(verdict.by_pair) == {"empty", "group", "quoting"}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "dplloyd"])
def test_ours_is_not_refuted_on_any_pair(method, seeded_noise):
    model = PrivateKMeans(3, bounds=(-3, 3), method=method, random_state=1)
    verdict = audit.run(model, trials=800)
    assert not verdict.broken
    assert set(verdict.by_pair) | set(verdict.skipped) == set(PAIRS)
    assert "refused" not in str(verdict)


def test_the_risk_of_all_looks_adds_up_to_no_more_than_alpha(monkeypatch):
    from sfumato.audit import _run

    risks, bound = [], _run.epsilon_lower

    def recorded(hits, others, trials, *, alpha, delta):
        # A hint, which decides nothing, has a risk of 0.1.
        risks.extend([alpha] if alpha != 0.1 else [])
        return bound(hits, others, trials, alpha=alpha, delta=delta)

    monkeypatch.setattr(_run, "epsilon_lower", recorded)
    verdict = played(laplace(0.5), *list(PAIRS)[:3], trials=20_000, alpha=0.01)
    assert len(risks) == 2 * len(verdict.seen) > 20
    assert 0.005 < sum(risks) <= 0.01


def test_events_are_certified_on_fits_that_they_were_not_learned_from(monkeypatch):
    from sfumato.audit import _run
    from sfumato.audit._events import Event

    learned, learn, counts = {}, _run.learn, Event.counts

    def recorded(both, *, alpha, delta, rng):
        learned.update((id(one.values), one) for seen in both for one in seen)
        return learn(both, alpha=alpha, delta=delta, rng=rng)

    def checked(self, both):
        assert not any(id(one.values) in learned for seen in both for one in seen)
        return counts(self, both)

    monkeypatch.setattr(_run, "learn", recorded)
    monkeypatch.setattr(Event, "counts", checked)
    assert played(laplace(0.5), trials=1000).trials > 500
    assert len(learned) > 100


def test_refusals_with_other_words_are_an_event():
    def counting(X, rng):
        raise ValueError(f"{len(X)} rows are too few")

    verdict = played(counter(counting), "two-rows", trials=600)
    assert verdict.broken
    assert "rows are too few" in verdict.event


@pytest.mark.parametrize("trials", [32, 50, 77])
def test_no_more_fits_than_were_allowed(trials):
    assert played(laplace(1), *list(PAIRS)[:5], trials=trials).trials <= trials

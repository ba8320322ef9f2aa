"""Audits by one run. All noise is seeded."""

import math

import numpy as np
import pytest
from scipy import stats

from sfumato import PrivateKMeans, audit
from sfumato.audit._canaries import one_run_epsilon, one_run_p_value


def cells(m, noise):
    """Noisy counts of m cells, with one canary in each."""

    def release(rows):
        counts = np.zeros(m)
        counts[rows[:, 0].astype(int)] += 1
        return noise(counts)

    return release


def rows(m):
    return np.arange(m, dtype=float)[:, None]


def response(epsilon, seed):
    """Randomised response of every canary: the theorem is exact for it."""
    rng, right = np.random.default_rng(seed), 1 / (1 + math.exp(-epsilon))
    return lambda counts: np.where(rng.random(len(counts)) < right, counts, 1 - counts)


def laplace(epsilon, seed=0):
    rng = np.random.default_rng(seed)
    return lambda counts: counts + rng.laplace(0, 1 / epsilon, len(counts))


def test_the_value_of_the_paper():
    # Steinke, Nasr, Jagielski 2023, appendix D: 75 of 100 guesses, 1,000 canaries.
    assert one_run_epsilon(75, 100, 1000, alpha=0.05, delta=1e-4) == pytest.approx(0.673, abs=5e-4)


@pytest.mark.parametrize(("right", "made"), [(0, 5), (4, 5), (12, 17), (17, 17)])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_tail_against_its_definition(right, made, delta):
    q = 1 / (1 + math.exp(-0.7))
    law = [math.comb(made, i) * q**i * (1 - q) ** (made - i) for i in range(made + 1)]
    steps = [sum(law[right - i : right]) / i for i in range(1, right + 1)]
    tail = sum(law[right:]) + 2 * 40 * delta * max(steps, default=0)
    assert one_run_p_value(right, made, 40, 0.7, delta) == pytest.approx(min(tail, 1), rel=1e-9)


def test_the_bound_is_where_the_tail_is_alpha():
    bound = one_run_epsilon(90, 100, 200, alpha=0.01)
    assert one_run_p_value(90, 100, 200, bound) == pytest.approx(0.01, rel=1e-6)
    assert one_run_epsilon(50, 100, 200, alpha=0.01) == 0
    assert one_run_epsilon(90, 100, 200, alpha=0.01, delta=1e-4) < bound
    assert one_run_epsilon(100, 100, 200, alpha=0.01) < 50
    with pytest.raises(ValueError, match="right"):
        one_run_epsilon(3, 2, 5, alpha=0.1)


def test_the_bound_exceeds_the_truth_as_rarely_as_it_says():
    m, alpha, runs = 200, 0.1, 400
    found = [
        audit.canaries(
            cells(m, response(1.0, seed)), rows(m), epsilon=1.0, alpha=alpha, random_state=seed
        ).broken
        for seed in range(runs)
    ]
    # More would have a probability of 1e-4 if every run were wrong with probability α; seeded.
    assert sum(found) <= stats.binom.ppf(1 - 1e-4, runs, alpha)
    assert sum(found) > 0


def test_half_as_much_again_is_found_out():
    m = 10_000
    release = lambda epsilon: cells(m, laplace(epsilon))
    verdict = audit.canaries(release(1.5), rows(m), epsilon=1.0, random_state=1)
    assert verdict.broken
    assert verdict.epsilon_lower < 1.5
    assert "10,000 canaries" in str(verdict)
    assert verdict.trials == 1
    honest = audit.canaries(release(1.0), rows(m), epsilon=1.0, random_state=1)
    assert 0.5 < honest.epsilon_lower < 1
    exact = audit.canaries(
        cells(100, lambda counts: counts), rows(100), epsilon=1.0, random_state=1
    )
    assert exact.epsilon_lower > 1


def test_delta_costs_power_and_no_more():
    m = 2000
    release = lambda: cells(m, laplace(3.0))
    bounds = [
        audit.canaries(release(), rows(m), epsilon=1.0, delta=d, random_state=1).epsilon_lower
        for d in (0.0, 1e-6, 1e-2)
    ]
    assert bounds[0] > bounds[1] > 1 > bounds[2]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("make", [audit.GridCounts, audit.GridSums])
def test_our_counts_and_sums_pass(make, delta, seeded_noise):
    m = 1024 if make is audit.GridCounts else 6
    release = make(m, 1.0, delta)
    assert len(release.rows) == (1024 if make is audit.GridCounts else 64)
    verdict = audit.canaries(release, epsilon=1.0, delta=delta, random_state=1)
    assert not verdict.broken


def test_four_times_the_budget_is_found_out_in_our_counts(seeded_noise):
    verdict = audit.canaries(audit.GridCounts(4096, 4.0), epsilon=1.0, random_state=1)
    assert verdict.broken


def test_a_synopsis_of_ours_passes_and_eight_times_the_budget_does_not(seeded_noise):
    def release(epsilon):
        model = PrivateKMeans(
            2, epsilon=epsilon, bounds=(0, 1), method="eugkm", n_rows=int(10_000 / epsilon)
        ).set_params(random_state=1)
        return audit.SynopsisCounts(model, 1000, (0.0, 1.0))

    assert release(1).rows.shape == (1000, 2)
    assert not audit.canaries(release(1), epsilon=1.0, random_state=1).broken
    assert audit.canaries(release(8), epsilon=1.0, random_state=1).broken


@pytest.mark.parametrize(
    "changed", [{"guesses": 0}, {"guesses": 2}, {"alpha": 0}, {"rows": np.zeros(3)}]
)
def test_what_makes_no_sense_is_refused(changed):
    given = {"rows": rows(10), "epsilon": 1.0, **changed}
    with pytest.raises(ValueError, match="canaries need rows"):
        audit.canaries(cells(10, laplace(1)), given.pop("rows"), **given)


def test_one_score_per_canary():
    with pytest.raises(ValueError, match="one score for each of 5 canaries"):
        audit.canaries(lambda inside: np.zeros(3), rows(5), epsilon=1.0)

"""The laws of replay, spending and shape on every branch of `balcan`."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.curator import Curator
from sfumato._core.sampling.source import SecureNoise
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.methods import Balcan, Task
from tests.laws.harness import RecordingCurator
from tests.laws.test_replay import check_transcripts
from tests.no_noise import NoNoise

PURE = (Fraction(1), Fraction(0))
GAUSSIAN = (Fraction(1), Fraction(1, 10**6))
HUGE = (Fraction(10**9), Fraction(0))
TINY = (Fraction(1, 10**4), Fraction(0))


@dataclass(frozen=True)
class Case:
    """A method that takes one branch, its task, and words of the receipt's notes that show it."""

    method: Balcan
    shown: tuple
    budget: tuple = PURE
    n: int = 600
    d: int = 12
    k: int = 3


CASES = {
    "edler": Case(Balcan(), ("preset edler", "3 partitions in 3 dimensions", "swaps with")),
    "edler, Gaussian": Case(Balcan(), ("preset edler", "swaps with"), GAUSSIAN),
    "matlab": Case(Balcan("matlab"), ("preset matlab",)),
    "paper": Case(
        Balcan("paper", dimensions=2, runs=2, partitions=2, depths=4, swaps=3, gamma=0.1),
        ("preset paper", "2 partitions in 2 dimensions"),
    ),
    "coreset": Case(Balcan(search="coreset"), ("by weight, then Lloyd steps on the noisy",)),
    "coreset, Gaussian": Case(Balcan(search="coreset"), ("then Lloyd steps",), GAUSSIAN),
    "bought": Case(Balcan(search="coreset", weights="bought"), ("candidates by weight",)),
    "cubes": Case(Balcan(search="coreset", weights="cubes"), ("clusters of the noisy counts",)),
    "cubes, Gaussian": Case(
        Balcan(search="coreset", weights="cubes"), ("clusters of the noisy counts",), GAUSSIAN
    ),
    "three runs": Case(Balcan(runs=3, partitions=1), ("1 partitions",)),
    "three runs, Gaussian": Case(Balcan(runs=3, partitions=1), ("1 partitions",), GAUSSIAN),
    "subset": Case(Balcan(subset=2, swaps=4), ("4 swaps",)),
    "no swap": Case(Balcan(swaps=0), ("3 random ones of",)),
    "one swap": Case(Balcan(swaps=1), ("1 swaps",)),
    "no round": Case(Balcan(rounds=0), ("preset edler",)),
    "nothing carried": Case(Balcan(carry=False), ("preset edler",)),
    "Laplace": Case(Balcan(noise="laplace"), ("preset edler",)),
    "not projected": Case(Balcan(), ("partitions in 2 dimensions",), d=2),
    "one column": Case(Balcan(), ("partitions in 1 dimensions",), d=1),
    "more clusters than cubes": Case(Balcan(), ("swaps with",), n=60, k=9),
    "one cluster": Case(Balcan(), ("1 swaps",), k=1),
    "many depths": Case(Balcan(depths=50, gamma=0.2, partitions=1), ("of 14 depths",)),
    "huge": Case(Balcan(depths=4, partitions=1), ("4 of 4 depths",), HUGE),
    "tiny": Case(Balcan(), ("0 of",), TINY),
}

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def rows_of(case, spread=0.1):
    """Three clumps in [−1, 1]^d."""
    rng = np.random.default_rng(case.d)
    middles = rng.uniform(-0.7, 0.7, (3, case.d))
    return middles[rng.integers(3, size=case.n)] + rng.normal(0, spread, (case.n, case.d))


def curator_of(rows, noise=None, cls=RecordingCurator, **settings):
    noise = noise or ReplayedNoise(11)
    return cls(rows, bounds=(-1, 1), epsilon=2 * 10**9, delta=0.5, noise=noise, **settings)


def run(curator, case, n_rows=None, seed=2):
    task = Task(case.k, case.d, *case.budget, n_rows)
    account = curator.reserve("law", case.method.caps(task))
    rng = np.random.default_rng(seed)
    return account, case.method(curator, task, account=account, rng=rng)


@cases
def test_every_branch_is_taken_and_told(case):
    _, found = run(curator_of(rows_of(case)), case)
    told = " ".join(found.notes)
    for words in case.shown:
        assert words in told


@cases
def test_every_branch_spends_all_of_its_caps_and_returns_k_centres(case):
    account, found = run(curator_of(rows_of(case)), case)
    for kind in ("pure", "gdp"):
        assert account.spent(kind) == account.caps.of(kind)
    assert (account.caps.epsilon, account.caps.delta) <= case.budget
    assert all(entry.released for entry in account.entries)
    assert found.points.shape == (case.k, case.d)
    assert found.sizes.shape == (case.k,)
    assert np.isfinite(found.points).all()
    assert np.isfinite(found.sizes).all()
    assert (np.abs(found.points) <= REACH).all()


@cases
@pytest.mark.parametrize("extra", [1.0, -1e9, np.nan])
def test_a_neighbour_loses_no_more_than_was_charged(case, extra):
    rows = rows_of(case)
    more = np.vstack([rows, np.full((1, case.d), extra)])
    for one, other in ((rows, more), (more, rows)):
        first, second = curator_of(one), curator_of(other)
        account, found = run(first, case)
        second.replay = first.transcript
        _, again = run(second, case)
        np.testing.assert_array_equal(found.points, again.points)
        np.testing.assert_array_equal(found.sizes, again.sizes)
        check_transcripts(first, second, account)


@cases
@pytest.mark.parametrize("n", [0, 1, 7])
def test_few_rows_are_answered_like_many(case, n):
    case = replace(case, n=n)
    account, found = run(curator_of(rows_of(case)), case)
    assert len(account.entries) > 0
    assert np.isfinite(found.points).all()


@cases
def test_a_declared_number_of_rows_is_not_bought(case):
    rows = rows_of(case)
    account, _ = run(curator_of(rows), case, n_rows=case.n)
    assert "halves of 1 cubes" in account.entries[0].query
    assert account.spent("pure") == account.caps.of("pure")


@cases
def test_groups_lose_no_more_than_was_charged(case):
    rows = rows_of(case)
    labels = np.arange(len(rows)) // 3
    keep = labels != 5
    settings = {"max_rows_per_group": 3}
    first = curator_of(rows, groups=labels, **settings)
    second = curator_of(rows[keep], groups=labels[keep], **settings)
    account, _ = run(first, case)
    second.replay = first.transcript
    run(second, case)
    check_transcripts(first, second, account)


@pytest.mark.parametrize("name", ["edler", "matlab", "coreset", "cubes", "bought", "three runs"])
def test_without_noise_the_clumps_are_found(name):
    case = replace(CASES[name], n=3000)
    rows = rows_of(case, spread=0.02)
    gaps = []
    for seed in range(5):
        _, found = run(curator_of(rows, noise=NoNoise()), case, seed=seed)
        gaps.append(np.abs(rows[:, None] * REACH - found.points).max(axis=2).min(axis=1).max())
    assert min(gaps) < 0.1 * REACH


def test_without_noise_each_swap_is_the_best_one_and_the_cheapest_set_is_taken():
    case = replace(CASES["subset"], method=Balcan(swaps=4))
    curator = curator_of(rows_of(case), noise=NoNoise())
    run(curator, case)
    transcript = curator.transcript
    choices = [
        (scores, picked)
        for law, scores, picked in zip(
            transcript.mechanisms, transcript.exact, transcript.released, strict=True
        )
        if isinstance(law, tuple)
    ]
    assert len(choices) == 5
    assert all(max(scores) <= 0 for scores, _ in choices)
    assert all(scores[picked] == max(scores) for scores, picked in choices)
    *swaps, last = (max(scores) for scores, _ in choices)
    assert last == max(swaps)


def test_sizes_and_means_have_noise_of_their_own():
    """Neither the exact count nor the exact sum of a cluster can be told from a centre."""
    case = replace(CASES["edler"], method=Balcan(rounds=0))
    curator = curator_of(rows_of(case), noise=SecureNoise())
    _, found = run(curator, case)
    exact, released = curator.transcript.exact[-1], curator.transcript.released[-1]
    assert (exact[:, 0] % REACH == 0).all()
    assert (released[:, 0] % REACH != 0).any()
    assert (released != exact).mean() > 0.9
    np.testing.assert_allclose(found.sizes, released[:, 0] / REACH)
    kept = (found.sizes > 100) & (np.abs(found.points).max(axis=1) < REACH)
    means = released[:, 1:] / found.sizes[:, None]
    np.testing.assert_allclose(found.points[kept], means[kept])


def test_no_size_of_an_answer_depends_on_what_was_not_released():
    """The same noise on other rows may end elsewhere; the first query of all is the same."""
    case = CASES["edler"]
    rows = rows_of(case)
    one, other = (curator_of(r, cls=Curator) for r in (rows, rows[:1]))
    first, second = run(one, case, n_rows=600)[0], run(other, case, n_rows=600)[0]
    assert first.entries[0].query == second.entries[0].query
    assert first.entries[0].scale == second.entries[0].scale

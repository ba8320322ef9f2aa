"""The laws of replay, spending and shape on every branch of `auto`."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from sfumato.methods import Auto, Task
from tests.laws.harness import RecordingCurator
from tests.laws.test_replay import check_transcripts
from tests.no_noise import NoNoise

PURE = (Fraction(1), Fraction(0))
GAUSSIAN = (Fraction(1), Fraction(1, 10**6))
LAX = (Fraction(1), Fraction(1, 100))


@dataclass(frozen=True)
class Case:
    """A task that leads to one branch, and words of the receipt's notes that show it."""

    n: int
    d: int
    k: int
    budget: tuple
    shown: tuple
    clumped: bool = False
    choose_k: bool = False


CASES = {
    "grid": Case(1000, 2, 3, PURE, ("a grid of", "spread out", "one clipped step")),
    "grid alone": Case(200, 2, 3, PURE, ("a grid of", "no further step")),
    "tree": Case(
        2000, 2, 3, PURE, ("PrivTree with", "in clumps", "one clipped step"), clumped=True
    ),
    "line": Case(1000, 1, 3, PURE, ("a grid of",)),
    "three columns": Case(1000, 3, 3, GAUSSIAN, ("a grid of",)),
    "choose k": Case(1000, 2, 6, PURE, ("chosen on the released counts",), choose_k=True),
    "columns": Case(3000, 5, 3, PURE, ("in 5 of 5 columns, as far",)),
    "columns, Gaussian": Case(3000, 8, 3, LAX, ("in 8 of 8 columns, as far",)),
    "all columns": Case(500, 6, 3, PURE, ("in all columns", "leaves")),
    "some columns": Case(4000, 14, 3, PURE, ("in 12 of 14 columns",)),
    "some columns, Gaussian": Case(4000, 14, 3, GAUSSIAN, ("in 12 of 14 columns", "3 clipped")),
    "choose k in columns": Case(3000, 5, 6, PURE, ("chosen on the released",), choose_k=True),
    "random directions": Case(900, 30, 3, PURE, ("random directions",)),
    "main axes": Case(20_000, 26, 3, PURE, ("main axes of a sketch",)),
    "main axes, Gaussian": Case(4000, 30, 3, GAUSSIAN, ("main axes of a sketch",)),
    "span": Case(1100, 30, 3, GAUSSIAN, ("main axes of a sketch", "2 in all columns")),
    "many in random directions": Case(9000, 26, 30, PURE, ("16 random directions",)),
    "fewer": Case(700, 30, 8, PURE, ("repeated to make 8",)),
    "mean": Case(60, 30, 3, PURE, ("the noisy mean",)),
    "mean, Gaussian": Case(60, 30, 3, GAUSSIAN, ("the noisy mean",)),
    "hopeless": Case(300, 4, 3, (Fraction(1, 10**11), Fraction(0)), ("the middle of the bounds",)),
    "tiny": Case(300, 4, 3, (Fraction(1, 10**6), Fraction(0)), ("ε is too small",)),
    "tiny, Gaussian": Case(300, 30, 3, (Fraction(1, 10**6), Fraction(1, 10**6)), ("too small",)),
    "huge": Case(300, 2, 3, (Fraction(10**9), Fraction(0)), ("cells", "step")),
    "huge in many columns": Case(300, 30, 3, (Fraction(10**9), Fraction(0)), ("leaves",)),
}

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def rows_of(case):
    """Three clumps, wide or narrow, in [−1, 1]^d."""
    rng = np.random.default_rng(case.d)
    middles = rng.uniform(-0.7, 0.7, (3, case.d))
    spread = 0.01 if case.clumped else 0.25
    return middles[rng.integers(3, size=case.n)] + rng.normal(0, spread, (case.n, case.d))


def curator_of(rows, noise=None, **settings):
    noise = noise or ReplayedNoise(11)
    return RecordingCurator(
        rows, bounds=(-1, 1), epsilon=2 * 10**9, delta=0.5, noise=noise, **settings
    )


def run(curator, case, n_rows=None):
    together = {"max_rows_per_group": curator.rows_per_neighbour}
    task = Task(case.k, case.d, *case.budget, n_rows, choose_k=case.choose_k, **together)
    account = curator.reserve("law", Auto().caps(task))
    found = Auto()(curator, task, account=account, rng=np.random.default_rng(2))
    return account, found


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
    assert account.caps.epsilon == min(case.budget[0], 1000)
    assert account.caps.delta <= case.budget[1]
    assert all(entry.released for entry in account.entries)
    k = len(found.points)
    assert k == case.k or (case.choose_k and 1 <= k <= case.k)
    assert found.points.shape == (k, case.d)
    assert found.sizes.shape == (k,)
    assert np.isfinite(found.points).all()
    assert np.isfinite(found.sizes).all()
    assert (np.abs(found.points) <= REACH).all()


def neighbours():
    """A row more: at a corner, far outside, missing. With many rows the last two are slow."""
    for name, case in CASES.items():
        for extra in (1.0, -1e9, np.nan):
            marks = [pytest.mark.slow] if case.n >= 9000 and extra != 1.0 else []
            yield pytest.param(case, extra, marks=marks, id=f"{name}-{extra}")


@pytest.mark.parametrize(("case", "extra"), list(neighbours()))
def test_a_neighbour_loses_no_more_than_was_charged(case, extra):
    rows = rows_of(case)
    more = np.vstack([rows, np.full((1, case.d), extra)])
    for one, other in ((rows, more), (more, rows)):
        first, second = curator_of(one), curator_of(other)
        account, found = run(first, case)
        second.replay = first.transcript
        _, again = run(second, case)
        np.testing.assert_array_equal(found.points, again.points)
        check_transcripts(first, second, account)


@cases
@pytest.mark.parametrize("n", [0, 1, 7])
def test_few_rows_are_answered_like_many(case, n):
    case = replace(case, n=n)
    account, found = run(curator_of(rows_of(case)), case)
    assert len(account.entries) > 0
    assert np.isfinite(found.points).all()


@cases
def test_a_declared_number_of_rows_is_taken_as_declared(case):
    rows = rows_of(case)
    account, found = run(curator_of(rows), case, n_rows=case.n)
    counted, _ = run(curator_of(rows), case)
    assert len(account.entries) < len(counted.entries) or "number of rows" in found.notes[0]


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


@pytest.mark.parametrize("case", [c for c in CASES.values() if not c.budget[1]])
def test_groups_of_m_rows_with_m_times_the_budget_are_treated_like_rows(case):
    """Noise is for m rows: all that it is compared with must be as if ε were m times smaller."""
    rows, m = rows_of(case), 4
    larger = replace(case, budget=(case.budget[0] * m, case.budget[1]))
    alone, found = run(curator_of(rows), case)
    groups = curator_of(rows, groups=np.arange(len(rows)), max_rows_per_group=m)
    together, again = run(groups, larger)
    assert found.notes == again.notes
    for one, other in zip(alone.entries, together.entries, strict=True):
        assert one.query == other.query
        assert float(other.share.amount) == pytest.approx(m * float(one.share.amount), rel=1e-9)
        assert float(other.scale) == pytest.approx(float(one.scale), rel=1e-9)
    np.testing.assert_array_equal(found.points, again.points)


def test_hardly_any_rows_in_few_columns_get_one_mean():
    case = Case(5, 3, 4, (Fraction(1, 4), Fraction(0)), ())
    _, found = run(curator_of(rows_of(case)), case, n_rows=5)
    assert found.notes == ("All 4 centres are the noisy mean: ε is too small for more",)


def test_without_noise_every_branch_finds_the_clumps():
    for name in ("grid", "tree", "columns", "main axes, Gaussian"):
        case = CASES[name]
        rows = rows_of(replace(case, clumped=True))
        _, found = run(curator_of(rows, noise=NoNoise()), case)
        nearest = np.abs(rows[:, None] * REACH - found.points).max(axis=2).min(axis=1)
        assert nearest.max() < 0.1 * REACH, name

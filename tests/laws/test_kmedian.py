"""The laws of replay, spending and shape on every branch of k-median, and of whole fits."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfumato import PrivateKMedian
from sfumato._lattice.box import REACH
from sfumato.methods import Task
from sfumato.methods._kmedian import KMedian
from sfumato.testing import check_method
from tests.laws import test_estimator_schema as mixed
from tests.laws.harness import BOX, BUDGETS
from tests.laws.test_auto import CASES, curator_of, rows_of
from tests.laws.test_estimator import GROUPED, LABELS, NEIGHBOURS, ROWS, STRANGERS
from tests.laws.test_replay import check_transcripts
from tests.laws.watching import check_alike, check_losses, left_by

SMALL = {name: case for name, case in CASES.items() if case.n < 9000}
SLOW = pytest.mark.slow
cases = pytest.mark.parametrize("case", SMALL.values(), ids=SMALL)


def run(curator, case, n_rows=None):
    together = {"max_rows_per_group": curator.rows_per_neighbour}
    task = Task(case.k, case.d, *case.budget, n_rows, choose_k=case.choose_k, **together)
    account = curator.reserve("law", KMedian().caps(task))
    found = KMedian()(curator, task, account=account, rng=np.random.default_rng(2))
    return account, found


@pytest.mark.parametrize("d", [2, pytest.param(5, marks=SLOW)])
def test_the_laws_of_methods(d):
    check_method(KMedian, n_features=d)


@cases
def test_every_branch_spends_all_of_its_caps_and_returns_k_centres(case):
    account, found = run(curator_of(rows_of(case)), case)
    for kind in ("pure", "gdp"):
        assert account.spent(kind) == account.caps.of(kind)
    k = len(found.points)
    assert k == case.k or (case.choose_k and 1 <= k <= case.k)
    assert found.points.shape == (k, case.d)
    assert np.isfinite(found.sizes).all()
    assert (np.abs(found.points) <= REACH).all()
    told = " ".join(found.notes)
    for words in case.shown:
        assert words in told


@cases
@pytest.mark.parametrize("extra", [1.0, *(pytest.param(x, marks=SLOW) for x in (-1e9, np.nan))])
def test_a_neighbour_loses_no_more_than_was_charged(case, extra):
    rows = rows_of(case)
    more = np.vstack([rows, np.full((1, case.d), extra)])
    first, second = curator_of(rows), curator_of(more)
    account, found = run(first, case)
    second.replay = first.transcript
    _, again = run(second, case)
    np.testing.assert_array_equal(found.points, again.points)
    check_transcripts(first, second, account)


@cases
@pytest.mark.parametrize("n", [0, *(pytest.param(n, marks=SLOW) for n in (1, 7))])
def test_few_rows_are_answered_like_many(case, n):
    account, found = run(curator_of(rows_of(replace(case, n=n))), case)
    assert len(account.entries) > 0
    assert np.isfinite(found.points).all()


@pytest.mark.parametrize("name", ["grid", "tree", "columns", "all columns"])
def test_groups_lose_no_more_than_was_charged(name):
    rows = rows_of(CASES[name])
    labels = np.arange(len(rows)) // 3
    keep = labels != 5
    first = curator_of(rows, groups=labels, max_rows_per_group=3)
    second = curator_of(rows[keep], groups=labels[keep], max_rows_per_group=3)
    account, _ = run(first, CASES[name])
    second.replay = first.transcript
    run(second, CASES[name])
    check_transcripts(first, second, account)


@pytest.fixture
def check(watch, tmp_path):
    """Fit, fit again on the same answers, and compare."""

    def check(data, others, *, budget="pure", neighbours=True, **settings):
        epsilon, delta = BUDGETS[budget]
        settings = {"random_state": 1, "epsilon": float(epsilon), "delta": float(delta), **settings}

        def fitted(rows, groups=None):
            model = PrivateKMedian(**{"n_clusters": 3, **settings})
            return left_by(model.fit(rows, groups=groups), tmp_path / "model.json")

        one = watch(fitted, *data)
        for other in others:
            again = watch(fitted, *other, replay=one)
            check_alike(one, again)
            if neighbours:
                check_losses(one, again, epsilon=Fraction(epsilon), delta=Fraction(delta))

    return check


BOUNDS = {"bounds": (BOX.lower, BOX.upper)}


@pytest.mark.parametrize("budget", ["pure", pytest.param("approximate", marks=SLOW)])
def test_a_fit_asks_a_neighbour_the_same_and_nothing_leaves_beside_the_answers(check, budget):
    check((ROWS,), [(rows,) for rows in NEIGHBOURS.values()], budget=budget, **BOUNDS)
    strangers = [(rows,) for rows in STRANGERS.values()]
    check((ROWS,), strangers, neighbours=False, budget=budget, **BOUNDS)
    check((ROWS,), strangers[:2], neighbours=False, n_clusters="auto", **BOUNDS)


def test_a_group_more_is_asked_the_same(check):
    check((ROWS, LABELS), GROUPED.values(), max_rows_per_group=4, **BOUNDS)


def test_a_record_more_of_a_table_of_every_kind_is_asked_the_same(check):
    table, more = mixed.framed(mixed.RECORDS), mixed.more(mixed.CORNER)
    check((table,), [(more,)], schema=mixed.EVERY_KIND, max_rows_per_group=2)
    strangers = [(mixed.framed(records),) for records in mixed.STRANGERS.values()]
    check((table,), strangers, schema=mixed.EVERY_KIND, neighbours=False)

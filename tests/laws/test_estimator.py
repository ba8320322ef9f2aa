"""Laws of the whole public path: what a fit or a command asks, loses, says and leaves behind.

Given the same answers, a run on any other rows asks the same and leaves the same, to the last bit:
what leaves is made of released answers and public settings alone. On a neighbour it also loses no
more than was charged.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sfumato._private_bounds.estimate import estimate_bounds
from sfumato.methods import METHODS
from tests.laws.harness import BOX, PAYABLE, blobs
from tests.laws.watching import check_alike, check_losses, plain

# Every cell is a number, and all lies inside: neighbours bring what is not there.
ROWS = np.clip(np.nan_to_num(blobs(200)), BOX.lower, BOX.upper)
CORNER, MISSING, FAR = [[1.0, 3.0]], [[np.nan, np.inf]], [[1e9, -1e9]]

NEIGHBOURS = {
    "a row more": np.vstack([ROWS, CORNER]),
    "a row less": ROWS[:-1],
    "not a number": np.vstack([ROWS, MISSING]),
    "half a row": np.vstack([[[0.5, np.nan]], ROWS]),
    "far outside": np.vstack([FAR, ROWS]),
}
# So unlike that whatever is taken from the rows themselves shows.
STRANGERS = {
    "no row": ROWS[:0],
    "one row": ROWS[:1],
    "two rows, half of them missing": np.vstack([ROWS[:1], MISSING]),
    "five times as many": blobs(1000, seed=9),
    "one value": np.full((64, 2), 0.5),
}
BY_METHOD = [(m, b) for m, b in PAYABLE if b in ("pure", "approximate")]
GIVEN, PRIVATE = (BOX.lower, BOX.upper), "private"

by_method = pytest.mark.parametrize(("method", "budget"), BY_METHOD)
budgets = pytest.mark.parametrize("budget", ["pure", "approximate"])
bounds_of_both_kinds = pytest.mark.parametrize("bounds", [GIVEN, PRIVATE], ids=["given", "private"])


def alone(tables, *names):
    """Rows without groups: those of these names, or all."""
    return [(tables[name],) for name in names or tables]


@by_method
def test_a_neighbour_is_asked_the_same_and_loses_what_was_charged(check, method, budget):
    lost = check((ROWS,), alone(NEIGHBOURS), method=method, budget=budget)
    costs = {name: any(each.values()) for name, each in zip(NEIGHBOURS, lost, strict=True)}
    assert not costs.pop("not a number"), "a row without any number was looked at"
    assert all(costs.values()), "a row that costs nothing was not looked at"
    missing = alone(NEIGHBOURS, "not a number", "half a row")
    check((ROWS,), missing, method=method, budget=budget, nan="drop")
    lost = check((ROWS,), missing, method=method, budget=budget, nan="center")
    assert all(any(each.values()) for each in lost), "a row that costs nothing was not looked at"


@by_method
def test_nothing_leaves_beside_the_answers(check, method, budget):
    """Whatever the rows are: not their number, not their kind, not a warning."""
    check((ROWS,), alone(STRANGERS), method=method, budget=budget, neighbours=False)


@budgets
def test_nothing_leaves_of_rows_that_are_dropped(check, budget):
    settings = {"budget": budget, "nan": "drop"}
    check((ROWS,), alone(NEIGHBOURS), **settings)
    check((ROWS,), alone(STRANGERS), neighbours=False, **settings)


@by_method
def test_a_declared_number_of_rows_is_never_compared_with_the_rows(check, method, budget):
    settings = {"method": method, "budget": budget, "n_rows": 150}
    check((ROWS,), alone(NEIGHBOURS, "a row more"), **settings)
    check((ROWS,), alone(STRANGERS, "one row"), neighbours=False, **settings)


@budgets
@pytest.mark.parametrize(
    "method", [name for name, cls in METHODS.items() if hasattr(cls, "k_range")]
)
def test_the_number_of_clusters_is_chosen_on_the_answers(check, method, budget):
    few = METHODS[method](k_range=(2, 4))
    settings = {"method": few, "budget": budget, "n_clusters": "auto"}
    check((ROWS,), alone(NEIGHBOURS, "a row more", "not a number"), **settings)
    check((ROWS,), alone(STRANGERS, "one row", "one value"), neighbours=False, **settings)


@by_method
def test_bounds_that_are_released(check, method, budget):
    settings = {"method": method, "budget": budget, "bounds": PRIVATE}
    lost = check((ROWS,), alone(NEIGHBOURS, "far outside", "a row more"), **settings)
    assert all(each["pure"] > 0 for each in lost)
    check((ROWS,), alone(STRANGERS, "one row", "one value"), neighbours=False, **settings)


LABELS = np.arange(len(ROWS)) % 60
LESS = LABELS != 7
WITH_ONE_MORE = np.append(LABELS, np.full(9, 99))
GROUPED = {
    "a group more": (np.vstack([ROWS, np.tile(CORNER, (9, 1))]), WITH_ONE_MORE),
    "a group less": (ROWS[LESS], LABELS[LESS]),
    "a group of missing rows": (np.vstack([ROWS, np.tile(MISSING, (9, 1))]), WITH_ONE_MORE),
}


@by_method
def test_a_group_more_is_asked_the_same_and_loses_what_was_charged(check, method, budget):
    settings = {"method": method, "budget": budget, "max_rows_per_group": 4}
    check((ROWS, LABELS), GROUPED.values(), **settings)


@bounds_of_both_kinds
@pytest.mark.parametrize("most", [1, 4, 50, PRIVATE])
def test_groups_of_any_size(check, most, bounds):
    for nan in ("ignore", "center", "drop"):
        settings = {"max_rows_per_group": most, "bounds": bounds, "nan": nan}
        check((ROWS, LABELS), GROUPED.values(), **settings)


@by_method
def test_rows_per_group_that_are_released(check, method, budget):
    settings = {"method": method, "budget": budget, "max_rows_per_group": PRIVATE}
    lost = check((ROWS, LABELS), GROUPED.values(), **settings)
    assert all(each["pure"] > 0 for each in lost)


@bounds_of_both_kinds
@pytest.mark.parametrize("most", [4, PRIVATE])
def test_nothing_leaves_of_groups_beside_the_answers(check, bounds, most):
    """Not how many there are, how large they are, or what they are called."""
    others = [
        (ROWS, np.zeros(len(ROWS), dtype=np.int64)),
        (ROWS, np.array([f"group {i}" for i in range(len(ROWS))])),
        (ROWS, [None] * len(ROWS)),
        (ROWS[:0], LABELS[:0]),
        (ROWS[:3], LABELS[:3]),
    ]
    for budget in ("pure", "approximate"):
        settings = {"budget": budget, "bounds": bounds, "max_rows_per_group": most}
        check((ROWS, LABELS), others, neighbours=False, **settings)


def framed(rows, labels=None):
    """The same as a data frame, groups in a column of their own."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    return (frame,) if labels is None else (frame.assign(who=labels), "who")


@bounds_of_both_kinds
def test_data_frames_leave_the_names_of_their_columns_alone(check, bounds):
    check(framed(ROWS), [framed(rows) for rows in NEIGHBOURS.values()], bounds=bounds)
    # Whole numbers, until there is a cell that is missing.
    numbers = [{"a": [0, 1, 1], "b": [1, 2, 3]}, {"a": [0, 1, None], "b": [1, 2, 3]}]
    strangers = [framed(STRANGERS["one row"]), *((pd.DataFrame(each),) for each in numbers)]
    check(framed(ROWS), strangers, bounds=bounds, neighbours=False)
    grouped = [framed(*each) for each in GROUPED.values()]
    check(framed(ROWS, LABELS), grouped, bounds=bounds, max_rows_per_group=4)


def test_bounds_alone_lose_what_was_charged(watch):
    def released(rows):
        return {"bounds": plain(estimate_bounds(rows, epsilon=0.5))}

    one = watch(released, ROWS)
    for other in NEIGHBOURS.values():
        again = watch(released, other, replay=one)
        check_alike(one, again)
        check_losses(one, again, epsilon=Fraction(1, 2), delta=0)
    for other in STRANGERS.values():
        check_alike(one, watch(released, other, replay=one))

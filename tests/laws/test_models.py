"""Laws of every kind of model beside k-means: what a fit asks, loses, says and leaves behind."""

import numpy as np
import pandas as pd
import pytest

from sfumato import Number, Schema
from sfumato._models import MODELS
from tests.laws.conftest import SETTINGS
from tests.laws.harness import BOX
from tests.laws.test_estimator import (
    CORNER,
    GROUPED,
    LABELS,
    NEIGHBOURS,
    PRIVATE,
    ROWS,
    STRANGERS,
    alone,
    bounds_of_both_kinds,
    budgets,
)

KINDS = [kind for kind in MODELS if kind != "kmeans"]
WIDE = np.hstack([ROWS, ROWS[::-1], np.clip(2 * ROWS, BOX.lower, BOX.upper)])
models = pytest.mark.parametrize("kind", KINDS)


def test_every_kind_of_model_is_under_law():
    assert set(SETTINGS) == set(MODELS)


@models
@budgets
def test_a_neighbour_is_asked_the_same_and_loses_what_was_charged(check, kind, budget):
    lost = check((ROWS,), alone(NEIGHBOURS), budget=budget, kind=kind)
    assert all(any(each.values()) for each in lost[:2]), "a row that costs nothing was not read"


@models
@budgets
@bounds_of_both_kinds
def test_nothing_leaves_beside_the_answers(check, kind, budget, bounds):
    """Whatever the rows are: not their number, not their kind, not a warning."""
    check((ROWS,), alone(STRANGERS), budget=budget, neighbours=False, bounds=bounds, kind=kind)


@models
@budgets
def test_a_group_more_is_asked_the_same_and_loses_what_was_charged(check, kind, budget):
    settings = {"budget": budget, "max_rows_per_group": 4}
    check((ROWS, LABELS), GROUPED.values(), **settings, kind=kind)


@models
@budgets
def test_in_more_columns(check, kind, budget):
    bounds = (BOX.lower * 3, BOX.upper * 3)
    more = np.vstack([WIDE, np.tile(CORNER, (1, 3))])
    check((WIDE,), [(more,), (WIDE[1:],)], budget=budget, bounds=bounds, kind=kind)
    check((WIDE,), [(WIDE[:1],)], budget=budget, bounds=bounds, neighbours=False, kind=kind)


@models
def test_columns_with_a_schema(check, kind):
    schema = Schema(a=Number(0, 1), b=Number(-3, 3))
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    more = pd.DataFrame(NEIGHBOURS["a row more"], columns=["a", "b"])
    check((frame,), [(more,)], bounds=None, schema=schema, kind=kind)


@models
def test_private_bounds_are_charged(check, kind):
    lost = check((ROWS,), alone(NEIGHBOURS, "far outside"), bounds=PRIVATE, kind=kind)
    assert all(each["pure"] > 0 for each in lost)

"""PrivateKMeans and Curator with rows per group that are chosen privately."""

from fractions import Fraction

import numpy as np
import pytest

import sfumato
from sfumato import Curator, PrivateKMeans
from sfumato.engines._memory import ArrayRows


def model(**settings):
    return PrivateKMeans(**{"n_clusters": 2, "bounds": (0, 1), "random_state": 0, **settings})


FIVES = np.repeat(np.arange(4000), 5)
PEOPLE = np.random.default_rng(0).uniform(size=(len(FIVES), 2))


def test_rows_per_group_are_chosen_with_a_twentieth():
    fitted = model(max_rows_per_group="private", epsilon=2.0).fit(PEOPLE, groups=FIVES)
    first, *others = fitted.receipt_.lines
    assert (first.query, first.cost) == ("rows per group", "1/10")
    assert sum(Fraction(line.cost) for line in others) == Fraction(19, 10)
    assert fitted.receipt_.epsilon == 2.0
    assert "max_rows_per_group 5, chosen with ε 0.1" in fitted.receipt_.notes
    assert fitted.receipt_.guarantee.neighbours == "one group of at most 5 rows"
    assert "Rows per group" in fitted.receipt_.chapters
    assert fitted.max_rows_per_group == "private"


def test_rows_per_group_and_bounds_together():
    settings = {"max_rows_per_group": "private", "bounds": "private", "epsilon": 2.0}
    fitted = model(**settings).fit(PEOPLE, groups=FIVES)
    first, second, *others = fitted.receipt_.lines
    assert (first.query, first.cost) == ("rows per group", "1/10")
    assert second.query == "histograms of columns by half octaves"
    # The scale of the bounds is that of five rows in two columns.
    assert Fraction(second.scale) == 5 * 2 / Fraction(second.cost)
    bounds = [line for line in (second, *others) if line.query.startswith("histograms")]
    assert sum(Fraction(line.cost) for line in bounds) == Fraction(1, 2)
    assert fitted.receipt_.epsilon == 2.0
    assert fitted.receipt_.notes[:2] == (
        "max_rows_per_group 5, chosen with ε 0.1",
        "bounds estimated with ε 0.5",
    )


SLOW = [pytest.param("pgkm", marks=pytest.mark.slow)]


@pytest.mark.parametrize("method", [*sorted(set(sfumato.METHODS) - {"pgkm"}), *SLOW])
def test_every_method_takes_rows_per_group_that_are_chosen(method):
    """As many as there can be: no method refuses a number once it was paid for."""
    groups = np.repeat(np.arange(20), 1100)
    rows = np.random.default_rng(1).uniform(size=(len(groups), 2))
    settings = {"method": method, "epsilon": 400.0, "delta": 1e-6}
    fitted = model(max_rows_per_group="private", **settings).fit(rows, groups=groups)
    assert fitted.receipt_.guarantee.neighbours == "one group of at most 1024 rows"


def test_a_curator_chooses_rows_per_group_once():
    settings = {"bounds": (0, 1), "groups": FIVES, "max_rows_per_group": "private"}
    curator = Curator(PEOPLE, epsilon=4.0, **settings)
    assert curator.rows_per_neighbour == 5
    for _ in range(2):
        fitted = model(epsilon=1.0).fit(curator)
        assert fitted.receipt_.epsilon == 1.0
        assert "max_rows_per_group 5, chosen with ε 0.2" in fitted.receipt_.notes
        assert fitted.receipt_.guarantee.neighbours == "one group of at most 5 rows"
    assert curator.ledger.left == (Fraction(9, 5), 0)
    with pytest.raises(ValueError, match="where the Curator is made"):
        model(max_rows_per_group="private").fit(curator)


@pytest.mark.parametrize("bounds", [(0, 1), "private"])
def test_rows_per_group_cannot_be_chosen_without_groups(bounds):
    with pytest.raises(ValueError, match="needs groups: whose rows are whose"):
        model(max_rows_per_group="private", bounds=bounds).fit(PEOPLE)


def test_rows_that_are_open_have_groups_of_their_own():
    rows = ArrayRows(PEOPLE, groups=FIVES, max_rows_per_group=2)
    fitted = model(max_rows_per_group="private", epsilon=2.0).fit(rows)
    assert fitted.receipt_.guarantee.neighbours == "one group of at most 5 rows"
    with pytest.raises(ValueError, match="bounds are required"):
        model(max_rows_per_group="private", bounds=None).fit(rows)

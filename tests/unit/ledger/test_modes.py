"""How fits add up: capacities and costs in whole units, rounded to the safe side."""

from fractions import Fraction

import pytest

from sfumato._accounting.budget import Caps
from sfumato._accounting.composition import epsilon_beside, epsilon_of_rho
from sfumato._ledger.modes import (
    MODES,
    Composition,
    covers,
    fraction_of,
    largest_affordable,
    scaled,
    whole,
)
from sfumato.methods import Task
from sfumato.methods._auto import Auto

THIRD = Fraction(1, 3)
DELTA = Fraction(1, 10**6)
PURE = Caps(pure=Fraction(1, 10))
GAUSSIAN = Caps(gaussian=(Fraction(1, 10), Fraction(1, 10**9)))
PLAIN = Caps(approximate=(Fraction(1, 10), Fraction(1, 10**9)))


def test_what_is_taken_is_rounded_up_and_what_is_there_down():
    amounts = {"epsilon": THIRD, "delta": THIRD, "rho": Fraction(0)}
    up, down = whole(amounts, up=True), whole(amounts, up=False)
    assert up == {"epsilon": 333333333334, "delta": 333333333333333334}
    assert down == {"epsilon": 333333333333, "delta": 333333333333333333}
    assert fraction_of("epsilon", up["epsilon"]) > THIRD > fraction_of("epsilon", down["epsilon"])


@pytest.mark.parametrize("mode", MODES)
def test_capacities_are_worth_no_more_than_the_budget(mode):
    composition = Composition(mode, Fraction(1), DELTA, plain=Fraction(1, 5))
    epsilon, delta = composition.worth(composition.capacities())
    assert Fraction(99, 100) < epsilon <= 1
    assert delta <= DELTA


@pytest.mark.parametrize("caps", [PURE, GAUSSIAN, PLAIN])
@pytest.mark.parametrize("mode", MODES)
def test_fits_that_are_covered_are_worth_no_more_than_the_budget(mode, caps):
    composition = Composition(mode, Fraction(2), DELTA, plain=Fraction(1, 5))
    n, cost, there = composition.fits(caps), composition.cost(caps), composition.capacities()
    assert n > 0
    assert covers(there, {unit: n * amount for unit, amount in cost.items()})
    assert not covers(there, {unit: (n + 1) * amount for unit, amount in cost.items()})
    assert composition.worth({unit: n * a for unit, a in cost.items()})[0] <= 2


def test_costs_by_their_formulas():
    add = Composition("add", Fraction(1), DELTA)
    assert add.cost(PURE) == {"epsilon": 10**11}
    assert add.cost(GAUSSIAN) == {"epsilon": 10**11, "delta": 10**9}
    gaussian = Composition("gaussian", Fraction(1), DELTA)
    assert gaussian.cost(PURE) == {"pure": 10**11}
    mu2 = GAUSSIAN.of("gdp")[0]
    assert gaussian.cost(GAUSSIAN) == whole({"mu2": mu2}, up=True)
    zcdp = Composition("zcdp", Fraction(1), DELTA)
    assert zcdp.cost(PURE) == {"rho": 5 * 10**9}
    assert zcdp.cost(GAUSSIAN) == whole({"rho": mu2 / 2}, up=True)


def test_worth_is_that_of_the_accountants():
    taken = {"pure": 10**11, "mu2": 10**10, "rho": 10**10}
    gaussian = Composition("gaussian", Fraction(1), DELTA).worth(taken)
    assert gaussian == (epsilon_beside((Fraction(1, 10),), Fraction(1, 100), DELTA), DELTA)
    assert Composition("zcdp", Fraction(1), DELTA).worth(taken) == (
        epsilon_of_rho(Fraction(1, 100), DELTA),
        DELTA,
    )
    assert Composition("gaussian", Fraction(1), DELTA).worth({"pure": 10**11}) == (
        Fraction(1, 10),
        0,
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_largest_affordable_fit_is_covered(mode):
    composition = Composition(mode, Fraction(1), DELTA)
    asked = scaled(PURE, Fraction(100))
    left = {unit: amount // 7 for unit, amount in composition.capacities().items()}
    epsilon = largest_affordable(composition, asked, left)
    assert epsilon > 0
    assert covers(left, composition.cost(scaled(asked, epsilon / asked.epsilon)))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (("sum", 1, 0), "adds up by"),
        (("add", 0, 0), "ε > 0"),
        (("add", 1, 1), "δ < 1"),
        (("zcdp", 1, 0), "needs a δ"),
        (("gaussian", 1, DELTA, 2), "between 0 and 1"),
        (("gaussian", 1, DELTA, THIRD, 1), "between 0 and 1"),
    ],
)
def test_what_cannot_be_composed_is_refused(given, match):
    mode, *numbers = given
    with pytest.raises(ValueError, match=match):
        Composition(mode, *map(Fraction, numbers))


def test_a_composition_is_read_back():
    made = Composition("gaussian", THIRD, DELTA, Fraction(1, 7), Fraction(1, 9))
    assert Composition.from_dict(made.to_dict()) == made


def test_capacities_of_a_third_are_rounded_down():
    there = Composition("add", THIRD, THIRD).capacities()
    assert there == {"epsilon": 333333333333, "delta": 333333333333333333}


@pytest.mark.parametrize(("columns", "k"), [(6, 5), (100, 10), (100, 40)])
def test_every_mode_carries_more_fits_of_auto_than_adding(columns, k):
    """Fits of (0.1, 10⁻⁷) in a budget of (1, 10⁻⁶): the numbers of docs/ledger.md."""
    caps = Auto().caps(Task(k, columns, Fraction(1, 10), Fraction(1, 10**7)))
    total = (Fraction(1), Fraction(1, 10**6))
    fits = {mode: Composition(mode, *total).fits(caps) for mode in MODES}
    assert fits["add"] == 10
    assert 16 <= fits["gaussian"] <= 19
    assert 67 <= fits["zcdp"] <= 81
    worth = epsilon_beside((10 * caps.pure,), 10 * caps.mu2, total[1])
    assert 0.42 <= round(float(worth), 2) <= 0.58

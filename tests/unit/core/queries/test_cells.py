"""Grids and centres as queries: what they are made of is checked before anything is asked."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sfumato import Curator
from sfumato._accounting.budget import Caps
from sfumato.methods import Grid, Nearest


def test_the_cells_of_a_grid_do_not_wrap():
    """2^64 cells are 0 in the integers of NumPy, which would fit."""
    with pytest.raises(ValueError, match=r"65534\^4 cells"):
        Grid(np.int64(2**16 - 2), np.int64(4))
    with pytest.raises(ValueError, match=r"2\^64 cells"):
        Grid(np.int64(2), np.int64(64))


@pytest.mark.parametrize("wrong", [2.0, True, "2", Decimal(2), np.timedelta64(2, "s"), None])
def test_a_grid_is_made_of_whole_numbers(wrong):
    with pytest.raises(TypeError, match="whole numbers"):
        Grid(wrong, 2)
    with pytest.raises(TypeError, match="whole numbers"):
        Grid(2, wrong)


def test_a_grid_of_too_many_axes_is_refused_at_once():
    with pytest.raises(ValueError, match="at most 20,000,000 fit"):
        Grid(2, 10**400)


@pytest.mark.parametrize("wrong", ["x", [[0], [0, 1]], Fraction(10**400), [[None, {}]], int])
def test_centres_are_numbers(wrong):
    with pytest.raises(ValueError, match="centres must be"):
        Nearest(wrong)


@pytest.mark.parametrize(
    "wrong", [{"k": 2.5}, {"k": 0}, {"blocks": float("nan")}, {"key": "x"}, {"key": -1}]
)
def test_blocks_are_refused_before_a_charge(wrong):
    curator = Curator(np.zeros((9, 2)), bounds=(0, 1), epsilon=1)
    account = curator.reserve("blocks", Caps(pure=Fraction(1)))
    with pytest.raises((TypeError, ValueError), match="whole number"):
        curator.block_means(**({"k": 2, "blocks": 3, "key": 1} | wrong), share=account.rest("pure"))
    assert not account.entries

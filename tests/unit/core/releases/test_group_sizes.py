"""How many rows of each group are kept: by made tables of groups, with noise and without."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Curator, Ledger
from sfumato._core.answers import Answer
from sfumato._core.queries.group_sizes import SIZES
from sfumato._core.releases.group_sizes import best_limit
from sfumato._core.testing import ReplayedNoise

PARETO = np.minimum((np.random.default_rng(0).pareto(1.2, 20_000) + 1).astype(int), 5000)
# Sizes of groups: at which ε, and the number that is right, or the least and the most.
MADE = {
    "one row each": (np.ones(2000, dtype=int), 1.0, (1, 1)),
    "one row each, a large ε": (np.ones(2000, dtype=int), 10.0, (1, 1)),
    "five rows each": (np.full(2000, 5), 1.0, (5, 5)),
    "nine rows each, between two sizes": (np.full(2000, 9), 1.0, (10, 10)),
    "more rows than any size": (np.full(2000, 5000), 1.0, (1024, 1024)),
    "one group has thousands": (np.append(np.full(5000, 3), 5000), 1.0, (3, 3)),
    "a heavy tail": (PARETO, 1.0, (8, 40)),
    "a heavy tail and a large ε": (PARETO, 10.0, (80, 320)),
    "a heavy tail and a small ε": (PARETO, 0.1, (1, 5)),
    "half of the rows are those of a tenth": (
        np.repeat([1, 9], [9000, 1000]),
        10.0,
        (10, 10),
    ),
    "too few groups to tell": (np.full(20, 7), 1.0, (1, 1)),
    "no groups": (np.zeros(0, dtype=int), 1.0, (1, 1)),
}


def chosen(sizes, epsilon, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    curator = Curator(
        np.zeros((len(labels), 1)),
        bounds=(0, 1),
        groups=labels,
        max_rows_per_group="private",
        epsilon=epsilon,
        noise=ReplayedNoise(seed),
    )
    return curator.rows_per_neighbour


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("seed", range(3))
def test_made_tables(name, seed):
    sizes, epsilon, (least, most) = MADE[name]
    assert least <= chosen(sizes, epsilon, seed) <= most


def answered(counts, std=1.0):
    return Answer(np.array(counts, dtype=np.float64), std)


@pytest.mark.parametrize(
    ("counts", "epsilon", "number"),
    [
        # Of 600 rows 300, 400, 500 or all are kept; the noise of each is 50·m/(ε·kept).
        ([200, 0, 0, 100], 1000.0, 4),
        ([200, 0, 0, 100], 0.25, 1),
        ([200, 0, 0, 0], 1000.0, 1),
        ([0, 0, 0, 300], 0.1, 4),
        ([0, 0, 0, 0], 1.0, 1),
        ([-50, -50, -50, -50], 1.0, 1),
        ([300, -40, 0, 5], 1000.0, 1),
        ([-20, 300, 0, 0], 1000.0, 2),
    ],
)
def test_what_is_left_out_is_weighed_against_noise(counts, epsilon, number):
    assert best_limit(answered(counts), (1, 2, 3, 4), epsilon) == number


def test_many_sizes_that_are_rare_each_stand_out_together():
    counts = np.zeros(len(SIZES))
    counts[12:] = 9.0
    alone = counts.copy()
    alone[13:] = 0.0
    assert best_limit(answered(counts, 2.0), SIZES, 1e6) > SIZES[11]
    assert best_limit(answered(alone, 2.0), SIZES, 1e6) == 1


def test_noise_alone_seldom_stands_out():
    """At most once in 300 draws, by the union bound; 2000 draws have fewer than 25."""
    rng = np.random.default_rng(1)
    noise = rng.laplace(size=(2000, len(SIZES)))
    found = [best_limit(answered(one, 2**0.5), SIZES, 1.0) for one in noise]
    assert sum(number > 1 for number in found) < 25


def test_an_account_of_its_own_and_a_note():
    curator = Curator(
        np.zeros((40, 1)),
        bounds=(0, 1),
        groups=np.arange(40),
        max_rows_per_group="private",
        epsilon=2.0,
    )
    (account,) = curator.ledger.accounts
    assert (account.purpose, float(account.caps.epsilon)) == ("max_rows_per_group", 0.1)
    assert curator.ledger.left == (Fraction(19, 10), 0)
    m = curator.rows_per_neighbour
    assert curator.notes == (f"max_rows_per_group {m}, chosen with ε 0.1",)
    assert curator.neighbours.startswith(f"one group of at most {m} row")


def test_without_groups_there_is_nothing_to_choose():
    with pytest.raises(ValueError, match="needs groups"):
        Curator(np.zeros((4, 1)), bounds=(0, 1), max_rows_per_group="private", epsilon=1.0)


@pytest.mark.parametrize("word", ["auto", "Private", "4", ""])
def test_other_words_are_refused(word):
    with pytest.raises(TypeError, match="whole number or 'private'"):
        Curator(np.zeros((4, 1)), bounds=(0, 1), max_rows_per_group=word, epsilon=1.0)


@pytest.mark.parametrize("most", [None, 5])
def test_a_ledger_that_lasts_declares_the_number(tmp_path, most):
    ledger = Ledger.create(tmp_path / "a.db", "a", epsilon=1.0, max_rows_per_group=most)
    with pytest.raises(ValueError, match="no place in a ledger that lasts"):
        Curator(
            np.zeros((4, 1)),
            bounds=(0, 1),
            groups=[1, 1, 2, 2],
            max_rows_per_group="private",
            ledger=ledger,
        )
    assert ledger.spent == (0, 0)

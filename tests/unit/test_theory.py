"""Lower bounds, Theorem 15 and Table 1 of Nguyen, Chaturvedi and Xu 2021, by hand."""

import math
from itertools import combinations, product

import pytest

from sfumato import plan
from sfumato.theory import (
    NOTHING,
    _codes,
    additive_errors,
    approximate_floor,
    cube_floor,
    max_cover_bound,
    pure_floor,
    running_noise,
    smallest_radius_cost,
)

close = pytest.approx


def test_codes_are_there():
    """Greedy codes, taken word by word, are at least as large as Gilbert's bound says."""
    for d in (2, 5, 8):
        for t, size in _codes(d):
            code = []
            for word in product((0, 1), repeat=d):
                apart = (sum(a != b for a, b in zip(word, w, strict=True)) for w in code)
                if all(gap >= t for gap in apart):
                    code.append(word)
            pairs = combinations(code, 2)
            gaps = [sum(a != b for a, b in zip(*pair, strict=True)) for pair in pairs]
            assert min(gaps, default=t) >= t
            assert len(code) >= round(math.exp(size))


def test_without_delta():
    # 16 columns, one centre: all 65,536 corners at distance 1. L = ln(65535/2)/2 = 5.198.
    codes = dict(_codes(16))
    assert math.exp(codes[1]) == close(65_536)
    at_one = 5 * 1 / (8 * 16)
    found = pure_floor(1, 16, 1.0)
    assert found.cost >= at_one
    t = round(found.distance * 16)
    times = math.floor((math.log(math.exp(codes[t]) - 1) - math.log(2)) / 2)
    assert found.cost == close(times * t / (8 * 16))
    assert found.rows == times
    assert all(
        found.cost >= math.floor(max(math.log((math.exp(s) - 1) / 2), 0) / 2) * t / 128
        for t, s in codes.items()
        if math.exp(s) > 3
    )


def test_with_delta():
    # L = ln((e − 1)/(4·10⁻⁶))/2 = 6.485; |W| ≥ 10·(1 + (e − 1)·10⁶) = 1.7·10⁷ = 2^24.04.
    found = approximate_floor(10, 784, 1.0, 1e-6)
    assert found.rows == 60
    t = round(found.distance * 784)
    assert found.cost == close(10 * 6 * t / (8 * 784))
    needed = math.log(10 * (1 + math.expm1(1) * 1e6))
    codes = dict(_codes(784))
    assert codes[t] >= needed > codes[t + 1]
    assert approximate_floor(10, 24, 1.0, 1e-6) == NOTHING
    assert approximate_floor(10, 25, 1.0, 1e-6).distance == 1 / 25


def test_scaling_and_few_rows():
    whole = pure_floor(10, 784, 0.1)
    assert pure_floor(10, 784, 0.1, diameter2=4 * 784).cost == close(whole.cost * 4 * 784)
    few = pure_floor(10, 784, 0.1, n=whole.rows // 2)
    assert few.rows <= whole.rows // 2
    assert few.cost < whole.cost
    assert cube_floor(70_000, 10, 784, 1.0).cost == pure_floor(10, 784, 1, diameter2=3136).cost
    assert cube_floor(70_000, 10, 784, 1.0, 1e-6).cost == close(9360)
    assert pure_floor(10, 784, 1.0, n=5) == NOTHING


def test_more_budget_lowers_the_floor():
    for d in (100, 784):
        assert pure_floor(10, d, 0.1).cost > pure_floor(10, d, 1.0).cost > pure_floor(10, d, 9).cost
        loose, tight = (approximate_floor(10, d, 1.0, delta) for delta in (1e-3, 1e-6))
        assert loose.rows < tight.rows


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 1e9, 1e300])
@pytest.mark.parametrize("d", [1, 2, 2**20])
def test_extremes(epsilon, d):
    for delta in (0.0, 1e-300, 0.999):
        assert 0 <= cube_floor(10**15, 3, d, epsilon, delta).cost < math.inf


def test_theorem_15():
    bound = max_cover_bound(1000, 5, 100, alpha=0.5, shares=(0.1, 0.2, 0.5), delta=1e-3)
    assert bound.multiplicative == close(1.5 * (8 + 6 / 0.25) * 2)
    assert bound.additive == close(
        {
            "cover": 5 * math.log(1000) * math.log(20_000) / 0.1,
            "counts": 5 * math.log(1000) / 0.2,
            "averages": 5 * math.sqrt(100 * math.log(1000)) / 0.5,
            "sizes": 5 * math.log(10**6) / 0.5,
        }
    )
    # The golden ratio is where the theorem ends.
    assert max_cover_bound(9, 1, 1, alpha=0.618, shares=(1, 1, 1), delta=0.1).multiplicative > 1e4
    ended = max_cover_bound(9, 1, 1, alpha=0.6181, shares=(1, 1, 1), delta=0.1)
    assert ended.multiplicative == math.inf


def test_table_1_and_the_smallest_radius():
    rows = additive_errors(10, 784, 0.5)
    assert [error for _, error in rows.values()] == close(
        [884, 10**1.5 + 784 * 10**1.5, 10 + 784 * 10**1.5, 280]
    )
    # A row may move by 2·0.05 in a ball of radius Δ: 0.01·Δ² each.
    assert smallest_radius_cost(1000, 0.05, 1.0) == close(10)


def test_a_plan_tells_its_floor_where_there_is_one():
    planned = plan(n=70_000, d=784, k=10, epsilon=1.0, delta=1e-6)
    assert planned.floor.cost == close(9360)
    assert planned.to_dict()["least_cost"] == planned.floor.cost
    assert "cost ≥ 9.4e+03" in " ".join(str(planned).split())
    small = plan(n=1000, d=2, k=3, epsilon=1.0)
    assert small.floor == NOTHING
    assert "Lower bound" not in str(small)


def test_running_totals_by_adding_up_and_by_a_tree():
    # 5 = 101 in binary: a sum of four batches and one of one, at 3 levels.
    assert running_noise(5, 7) == (math.sqrt(5), 3 * math.sqrt(2))
    assert running_noise(5, 7, gaussian=True) == close((math.sqrt(5), math.sqrt(6)))
    assert running_noise(1, 1) == (1.0, 1.0)

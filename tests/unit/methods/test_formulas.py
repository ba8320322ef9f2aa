"""The paper's formulas against numbers worked out by hand, their identities and their limits."""

import math

import pytest

from sfumato.methods.formulas import (
    RHO,
    dplloyd_mse,
    eug_cells,
    eugkm_bias,
    eugkm_mse,
    eugkm_variance,
    gkm_noise,
    hybrid_mse,
    hybrid_threshold,
)

close = pytest.approx
SHAPES = [(d, k) for d in (1, 2, 4, 6, 8, 10, 100) for k in (1, 2, 5, 10)]


def test_cells():
    assert eug_cells(10_000, 2, 1) == close(1000)
    assert eug_cells(1000, 2, 0.5) == close(50)
    # (10⁶/10)^(12/8) = 10^7.5
    assert eug_cells(10**6, 6, 1) == close(10**7.5)
    assert eug_cells(10_000, 2, 1, theta=100) == close(100)


def test_dplloyd():
    # 2·2·(1 + 0.45²)·(4·5·3/10000)² = 4·1.2025·3.6e-5
    assert dplloyd_mse(10_000, 2, 4, 1) == close(4 * 1.2025 * 3.6e-5)
    # 2·6·(1 + 0.5²)·(3·1·7/(1000·0.5))²
    assert dplloyd_mse(1000, 6, 3, 0.5, iterations=1, rho=0.25) == close(15 * 0.042**2)


def test_eugkm():
    # 2·2·1000·4⁰/(3·10⁸)
    assert eugkm_variance(10_000, 2, 4, 1, 1000) == close(4e-5 / 3)
    # 2·4·625·√9/(3·10⁶·0.25)
    assert eugkm_variance(1000, 4, 9, 0.5, 625) == close(0.02)
    assert eugkm_bias(2, 1000) == close(0.002)
    # 4/√625
    assert eugkm_bias(4, 625) == close(0.16)
    assert eugkm_mse(1000, 4, 9, 0.5, 625) == close(0.18)
    assert eugkm_mse(10_000, 2, 4, 1) == close(4e-5 / 3 + 0.002)


def test_hybrid():
    # 8·2·1.2025·(4·3/10000)²
    assert hybrid_mse(10_000, 2, 4, 1) == close(16 * 1.2025 * 1.44e-6)
    assert hybrid_mse(10_000, 2, 4, 1) == close(dplloyd_mse(10_000, 2, 4, 0.5, iterations=1))
    # d = 2: X = 16·1.2025·(12/n)², Y = 4/(3·10·n), X/Y = 20779.2/n
    assert hybrid_threshold(10_000, 2, 4) == close(2.07792)


def test_gkm():
    # Laplace of scale 2·2·3·2/(100·0.5) = 0.48 on each of two coordinates
    assert gkm_noise(10**5, 2, 3, 0.5, 100) == close(2 * 2 * 0.48**2)
    assert gkm_noise(10**5, 2, 3, 0.5) == close(gkm_noise(0, 2, 3, 0.5, 100))


@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("n", [100, 10_000, 10**7])
def test_at_the_threshold_refining_is_as_good_as_the_noise_of_the_grid(n, d, k):
    epsilon = hybrid_threshold(n, d, k)
    x = 8 * d * (1 + 4 * RHO**2) * (k * (d + 1) / n) ** 2
    y = 2 * d * k ** ((d - 2) / d) / (3 * 10 ** (2 * d / (2 + d)) * n ** (4 / (2 + d)))
    assert epsilon == close((x / y) ** ((2 + d) / (2 * d)))

    def grid(epsilon):
        return eugkm_variance(n, d, k, epsilon, eug_cells(n, d, epsilon))

    assert hybrid_mse(n, d, k, epsilon) == close(grid(epsilon))
    assert hybrid_mse(n, d, k, 2 * epsilon) < grid(2 * epsilon)
    assert hybrid_mse(n, d, k, epsilon / 2) > grid(epsilon / 2)


@pytest.mark.parametrize(("d", "k"), SHAPES)
@pytest.mark.parametrize("n", [0, -5])
def test_without_rows_every_error_is_infinite(n, d, k):
    assert eug_cells(n, d, 1) == 0
    assert dplloyd_mse(n, d, k, 1) == math.inf
    assert eugkm_variance(n, d, k, 1, 4) == math.inf
    assert eugkm_mse(n, d, k, 1) == math.inf
    assert hybrid_mse(n, d, k, 1) == math.inf
    assert hybrid_threshold(n, d, k) == math.inf
    assert gkm_noise(n, d, k, 1) == math.inf


@pytest.mark.parametrize("epsilon", [0, 5e-324, 1e-300, 1e300, 1.7e308])
def test_extreme_budgets_give_numbers(epsilon):
    for n in (0, 1, 10**15):
        for d, k in SHAPES:
            errors = [f(n, d, k, epsilon) for f in (dplloyd_mse, eugkm_mse, hybrid_mse, gkm_noise)]
            errors += [eug_cells(n, d, epsilon), eugkm_bias(d, eug_cells(n, d, epsilon))]
            assert all(error >= 0 for error in errors)

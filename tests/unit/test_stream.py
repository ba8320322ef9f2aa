"""The state of a stream: running centres, weights of batches, and the alarm."""

import math

import numpy as np
import pytest

from sfumato._lattice.box import REACH
from sfumato._stream import (
    FALSE_ALARM,
    Drift,
    Shares,
    Stream,
    drift_of,
    running_errors,
    weight_kept,
)
from sfumato._uncertainty import Errors, Estimate
from sfumato.methods._batch import BatchFound, Measured, Reference

CENTERS = np.array([[0.0, 0.0], [9000.0, -9000.0]])
FIRST = Stream(1.0, 0.0, (300.0,))


def found(counts, sums, *, sum_var=1e4, radius=700, compared=None):
    moved = Measured(np.array(counts, float), np.array(sums, float), 9.0, sum_var)
    return BatchFound(moved, compared, radius, 1)


def test_two_batches_of_the_same_size_count_alike():
    one = found([100, 200], [[7000, 0], [0, -14_000]])
    stream, centers, sizes, _ = FIRST.followed(CENTERS, np.array([100.0, 200.0]), one, 1.0)
    # A mean of 70 steps beside one of 0.
    np.testing.assert_allclose(centers, [[35, 0], [9000, -9035]])
    np.testing.assert_array_equal(sizes, [200, 400])
    assert stream.n_batches == 2
    assert stream.rows == (300, 300)
    stream, centers, sizes, _ = stream.followed(
        centers, sizes, found([100, 200], np.zeros((2, 2))), 1
    )
    np.testing.assert_allclose(centers, [[35, 0], [9000, -9035]])
    np.testing.assert_array_equal(sizes, [300, 600])


def test_weights_are_inverse_variances_of_noise_and_of_sampling():
    per_row, noise = 700**2 / 7, 4e6
    one = found([50, 0], [[5000, 0], [0, 0]], sum_var=noise)
    _, centers, _, _ = FIRST.followed(CENTERS, np.array([100.0, 200.0]), one, 1.0)
    new, old = 1 / (per_row / 50 + noise / 50**2), 1 / (per_row / 100 + noise / 100**2)
    np.testing.assert_allclose(centers[0], [100 * new / (new + old), 0])


def test_a_batch_of_clusters_that_moved_counts_as_any():
    stream, centers, sizes, _ = FIRST.followed(
        CENTERS, np.array([100.0, 200.0]), found([100, 200], np.zeros((2, 2))), 1.0
    )
    moved = found([100, 200], [[70_000, 0], [0, 0]], radius=2000)
    _, centers, _, _ = stream.followed(centers, sizes, moved, 1.0)
    np.testing.assert_allclose(centers[0], [700 / 3, 0], rtol=1e-3)


def test_a_cluster_without_rows_stays_whatever_its_noise():
    for count in (0, -40):
        one = found([count, 200], [[9e5, -9e5], [0, 0]])
        stream, centers, _, _ = FIRST.followed(CENTERS, np.array([0.0, 200.0]), one, 1.0)
        np.testing.assert_array_equal(centers[0], CENTERS[0])
        assert np.isfinite(stream.precisions).all()


def test_centres_stay_inside_the_bounds():
    one = found([10, 10], np.full((2, 2), 1e9))
    _, centers, _, _ = FIRST.followed(CENTERS, np.zeros(2), one, 1.0)
    assert np.abs(centers).max() == REACH


def test_after_a_half_life_a_batch_counts_half():
    assert weight_kept(None) == 1
    assert weight_kept(3) ** 3 == pytest.approx(0.5)
    stream, centers, sizes = FIRST, CENTERS, np.array([100.0, 200.0])
    for sums in (np.zeros((2, 2)), [[7000, 0], [0, 0]]):
        stream, centers, sizes, _ = stream.followed(centers, sizes, found([100, 200], sums), 0.5)
    # 1 of 1 + 1/2 + 1/4.
    np.testing.assert_allclose(centers[0], [70 / 1.75, 0])
    np.testing.assert_allclose(sizes, [175, 350])


def test_a_half_life_is_a_positive_number():
    for wrong in (0, -1, float("nan"), "two"):
        with pytest.raises((ValueError, TypeError), match="half_life"):
            weight_kept(wrong)


def test_a_stream_is_read_back_as_it_was_written():
    stream, centers, sizes, _ = FIRST.followed(
        CENTERS, np.ones(2), found([90, 110], np.ones((2, 2))), 1.0
    )
    assert stream.drift is None
    same = found([90, 110], np.ones((2, 2)), compared=stream.reference.totals)
    stream, _, _, _ = stream.followed(centers, sizes, same, 1.0)
    assert stream.drift == Drift(1.0, ())
    again = Stream.from_dict(stream.to_dict(), 2, 2)
    assert again.to_dict() == stream.to_dict()
    np.testing.assert_array_equal(again.reference.totals.counts, [180, 220])


@pytest.mark.parametrize(
    ("name", "value"), [("rows", [1.0]), ("precisions", [1.0]), ("reference", {"radius": 3})]
)
def test_a_damaged_stream_is_refused(name, value):
    stream, *_ = FIRST.followed(CENTERS, np.ones(2), found([9, 9], np.ones((2, 2))), 1.0)
    with pytest.raises((TypeError, LookupError)):
        Stream.from_dict({**stream.to_dict(), name: value}, 2, 2)


RADIUS, STD = 3000, 1000
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def answered(rng, n, *, epsilon=1.0, shares=SHARES, shift=0.0):
    """What a batch of n rows of clusters with these shares might answer, in two columns."""
    counts = rng.multinomial(n, shares)
    scale = 2 / epsilon
    noisy = counts + rng.laplace(0, scale, len(counts))
    sums = rng.normal(0, 1, (len(counts), 2)) * STD * np.sqrt(counts)[:, None]
    sums += np.array([shift, 0]) * counts[:, None]
    noise = rng.laplace(0, RADIUS * scale, sums.shape)
    return Measured(noisy, sums + noise, 2 * scale**2, 2 * (RADIUS * scale) ** 2)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("n", [0, 30, 3000])
def test_batches_alike_raise_no_more_alarms_than_stated(n, epsilon):
    """Seeded: 1,000 batches in nine settings, of which 1 in each may raise the alarm."""
    rng = np.random.default_rng(int(n + 1000 * epsilon))
    alarms = 0
    for _ in range(1000):
        old = answered(rng, 5000, epsilon=epsilon).plus(answered(rng, 5000, epsilon=epsilon))
        alarms += drift_of(answered(rng, n, epsilon=epsilon), old, RADIUS).alarm
    assert alarms <= 1000 * FALSE_ALARM


def test_other_shares_and_other_means_raise_the_alarm():
    rng = np.random.default_rng(0)
    old = answered(rng, 9000)
    moved = drift_of(answered(rng, 3000, shift=2000), old, RADIUS)
    assert moved.alarm
    assert moved.clusters == (0, 1, 2, 3)
    assert "clusters 0, 1, 2, 3 changed" in str(moved)
    grown = drift_of(answered(rng, 3000, shares=np.array([0.4, 0.3, 0.1, 0.2])), old, RADIUS)
    assert grown.clusters == (2, 3)
    assert "no drift" in str(drift_of(answered(rng, 3000), old, RADIUS))


def test_rows_of_one_group_are_no_evidence_of_their_own():
    rng = np.random.default_rng(1)
    old, new = answered(rng, 9000), answered(rng, 3000, shares=np.array([0.4, 0.3, 0.1, 0.2]))
    assert drift_of(new, old, RADIUS).p_value < drift_of(new, old, RADIUS, together=50).p_value


def test_answers_without_noise_are_compared():
    exact = Measured(SHARES * 1000, np.zeros((4, 2)), 0.0, 0.0)
    assert drift_of(exact, exact, RADIUS) == Drift(1.0, ())
    nothing = Measured(np.zeros(4), np.zeros((4, 2)), 0.0, 0.0)
    assert drift_of(nothing, nothing, RADIUS) == Drift(1.0, ())


def test_a_reference_is_made_by_the_first_batch_that_sums():
    counts_alone = found([9, 9], np.zeros((2, 2)), sum_var=float("inf"), radius=None)
    stream, centers, sizes, _ = FIRST.followed(CENTERS, np.ones(2), counts_alone, 1.0)
    assert stream.reference is None
    np.testing.assert_array_equal(centers, CENTERS)
    stream, *_ = stream.followed(centers, sizes, found([9, 9], np.zeros((2, 2))), 1.0)
    assert isinstance(stream.reference, Reference)
    np.testing.assert_array_equal(stream.reference.centers, CENTERS)


def test_running_errors_add_up_by_the_weights_of_batches():
    """Two equal batches: half of each noise, so that deviations fall by √2."""
    one = found([100, 200], np.zeros((2, 2)))
    _, centers, sizes, shares = FIRST.followed(CENTERS, np.array([100.0, 200.0]), one, 1.0)
    noise = math.sqrt(one.moved.sum_var)
    first = Errors(
        Estimate(CENTERS, np.tile(noise * shares.per_sum[:, None] * 2, (1, 2)), "gaussian"),
        Estimate(np.array([100.0, 200.0]), np.full(2, math.sqrt(one.moved.count_var)), "gaussian"),
    )
    np.testing.assert_allclose(shares.kept, 0.5)
    bars = running_errors(first, shares, one.moved, centers, sizes, 1.0)
    np.testing.assert_allclose(bars.centers.stds, first.centers.stds / math.sqrt(2))
    np.testing.assert_allclose(bars.sizes.stds, math.sqrt(2) * first.sizes.stds)
    assert running_errors(None, shares, one.moved, centers, sizes, 1.0) is None


def test_a_batch_that_moves_nothing_adds_no_error_to_centres():
    shares = Shares(np.ones(2), np.zeros(2))
    first = Errors(*(Estimate(np.ones(shape), np.ones(shape), "ball") for shape in ((2, 2), 2)))
    nothing = Measured(np.ones(2), np.zeros((2, 2)), 4.0, float("inf"))
    bars = running_errors(first, shares, nothing, np.ones((2, 2)), np.ones(2), 0.5)
    np.testing.assert_array_equal(bars.centers.stds, np.ones((2, 2)))
    np.testing.assert_allclose(bars.sizes.stds, math.sqrt(0.25 + 4))

"""The randomizer and its lattice, without noise and with replayed noise."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sfumato._core.local.lattice import LatticeNDLaplace, LocalLattice
from sfumato._core.local.randomizer import Randomizer
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH, Box
from tests.no_noise import NoNoise

BOX = Box((0.0, -10.0), (1.0, 10.0))
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(BOX.lower, BOX.upper, (70_000, 2))


def make_randomizer(noise=None, *, units="data", box=BOX, missing="center"):
    return Randomizer(box, units=units, missing=missing, noise=noise or NoNoise())


def mechanism_of(randomizer, epsilon=3, resample=False):
    return LatticeNDLaplace(randomizer.lattice, Fraction(epsilon), resample)


def test_one_step_for_all_columns_or_one_for_each():
    data, cube = LocalLattice(BOX, "data"), LocalLattice(BOX, "box")
    assert data.steps.tolist() == [20 / 65534] * 2
    assert data.reach.tolist() == [round(REACH / 20), REACH]
    assert float(data.step) == 20 / 65534
    assert cube.steps.tolist() == [1 / 65534, 20 / 65534]
    assert cube.reach.tolist() == [REACH, REACH]
    assert cube.step == Fraction(1, REACH)
    assert cube.diameter == pytest.approx(np.sqrt(8), rel=1e-12)


@pytest.mark.parametrize("units", ["data", "box"])
def test_without_noise_a_report_is_its_row_to_half_a_step(units):
    randomizer = make_randomizer(units=units)
    for clamp in (True, False):
        reports = randomizer.perturb(ROWS, mechanism_of(randomizer), clamp=clamp)
        off = np.abs(reports - ROWS) / randomizer.lattice.steps
        # The bound of a narrow column need not be a whole number of steps away from its centre.
        assert off.max() <= 0.5 + 1e-9


def test_rows_outside_are_clipped_and_cells_that_are_no_numbers_centred():
    rows = np.array([[9.0, -99.0], [np.nan, np.inf], [-np.inf, 1e308], [0.25, 5.0]])
    randomizer = make_randomizer()
    reports = randomizer.perturb(rows, mechanism_of(randomizer), clamp=True)
    step = 20 / 65534
    wanted = [[1, -10], [0.5, 0], [0.5, 10], [0.25, 5]]
    np.testing.assert_allclose(reports, wanted, atol=step / 2 + 1e-12)
    kept = make_randomizer(missing="keep")
    assert (
        np.isnan(kept.perturb(rows, mechanism_of(kept))).tolist() == (~np.isfinite(rows)).tolist()
    )


@pytest.mark.parametrize("units", ["data", "box"])
def test_clamping_is_post_processing(units):
    """With the same noise a clamped report is the clamped report, and nothing else changes."""
    wide, narrow = (make_randomizer(ReplayedNoise(1), units=units) for _ in range(2))
    free = wide.perturb(ROWS, mechanism_of(wide))
    clamped = narrow.perturb(ROWS, mechanism_of(narrow), clamp=True)
    reach = narrow.lattice.reach * narrow.lattice.steps
    near = np.clip(free, narrow.lattice.box.middle - reach, narrow.lattice.box.middle + reach)
    np.testing.assert_array_equal(clamped, np.clip(near, BOX.lower, BOX.upper))
    assert (clamped != free).any(axis=1).mean() > 0.2


def test_replayed_noise_is_added_to_the_lattice_rows():
    randomizer = make_randomizer(ReplayedNoise(2))
    mechanism = mechanism_of(randomizer)
    reports = randomizer.perturb(ROWS, mechanism)
    noise = ReplayedNoise(2)
    sizes = [2**16, len(ROWS) - 2**16]
    drawn = np.concatenate([noise.ball(mechanism.scale, rows, 2) for rows in sizes])
    points = randomizer.lattice.to_lattice(ROWS) + drawn
    wanted = points * randomizer.lattice.steps + BOX.middle
    np.testing.assert_array_equal(reports, wanted)


def test_a_report_depends_on_its_own_row_only():
    """With the same noise: other rows may be anything, and the report stays the same."""
    others = ROWS.copy()
    others[1:] = RNG.uniform(-99, 99, others[1:].shape)
    others[5] = np.nan
    for resample in (False, True):
        first, second = (make_randomizer(ReplayedNoise(3)) for _ in range(2))
        same = first.perturb(ROWS[:1], mechanism_of(first, resample=resample))
        again = second.perturb(ROWS[:1], mechanism_of(second, resample=resample))
        np.testing.assert_array_equal(same, again)
    first, second = (make_randomizer(ReplayedNoise(3)) for _ in range(2))
    a, b = first.perturb(ROWS, mechanism_of(first)), second.perturb(others, mechanism_of(second))
    np.testing.assert_array_equal(a[0], b[0])
    assert not np.array_equal(a[6], b[6])


def test_resampled_reports_are_inside_and_each_row_draws_again_for_itself():
    box = Box((0.0, 0.0), (1.0, 0.5))
    randomizer = make_randomizer(ReplayedNoise(4), box=box)
    mechanism = mechanism_of(randomizer, epsilon=4, resample=True)
    corners = np.tile([[0.0, 0.0], [1.0, 0.5], [0.5, 0.25]], (3000, 1))
    reports = mechanism.draw(ReplayedNoise(4), randomizer.lattice.to_lattice(corners))
    assert (np.abs(reports) <= randomizer.lattice.reach).all()
    # What was inside at once is not drawn again, and reports at the border are rare.
    first = randomizer.lattice.to_lattice(corners) + ReplayedNoise(4).ball(mechanism.scale, 9000, 2)
    inside = (np.abs(first) <= randomizer.lattice.reach).all(axis=1)
    np.testing.assert_array_equal(reports[inside], first[inside])
    assert 0.1 < inside.mean() < 0.9
    assert (np.abs(reports) == randomizer.lattice.reach).any(axis=1).mean() < 0.01


def test_resampling_ends(monkeypatch):
    """A source that never leads inside ends after the stated number of draws, by clamping."""

    class Outwards(NoNoise):
        drawn = 0

        def ball(self, scale, rows, dim):
            self.drawn += rows
            return np.full((rows, dim), 10**6)

    noise = Outwards()
    monkeypatch.setattr("sfumato._core.local.lattice._PROPOSALS", 16)
    randomizer = make_randomizer(box=Box((0.0,), (1.0,)))
    mechanism = mechanism_of(randomizer, epsilon=50, resample=True)
    reports = mechanism.draw(noise, np.zeros((3, 1), np.int64))
    assert reports.ravel().tolist() == [REACH] * 3
    tries = np.log(2.0**-100) / np.log1p(-mechanism.accepted)
    assert 3 * tries <= noise.drawn <= 3 * (tries + 16)


def test_mechanisms_from_outside_are_refused():
    @dataclass(frozen=True)
    class Foreign(LatticeNDLaplace):
        """A subclass could draw anything."""

    randomizer = make_randomizer()
    with pytest.raises(TypeError, match="not a mechanism"):
        randomizer.perturb(ROWS, Foreign(randomizer.lattice, Fraction(1)))


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        (np.zeros((3, 3)), ValueError, "2 columns"),
        (np.zeros(2), ValueError, "2 columns"),
        (np.zeros((3, 2), dtype=object), TypeError, "numbers"),
        (np.zeros((3, 2), dtype=complex), TypeError, "numbers"),
    ],
)
def test_rows_of_another_kind_are_refused(rows, error, said):
    randomizer = make_randomizer()
    with pytest.raises(error, match=said):
        randomizer.perturb(rows, mechanism_of(randomizer))


def test_a_law_of_another_lattice_is_refused():
    randomizer = make_randomizer(units="box")
    with pytest.raises(ValueError, match="another lattice"):
        randomizer.perturb(ROWS, mechanism_of(make_randomizer()))
    with pytest.raises(ValueError, match="'center' or 'keep'"):
        Randomizer(BOX, missing="drop")


def test_no_rows_and_many_columns():
    randomizer = make_randomizer()
    assert randomizer.perturb(ROWS[:0], mechanism_of(randomizer)).shape == (0, 2)
    many = Box((0.0,) * 3000, (1.0,) * 3000)
    randomizer = make_randomizer(ReplayedNoise(5), box=many)
    reports = randomizer.perturb(np.full((60, 3000), 0.5), mechanism_of(randomizer, epsilon=3000))
    lengths = np.sqrt(((reports - 0.5) ** 2).sum(axis=1))
    # Gamma(3000) / 3000, 60 of them: within eight deviations.
    assert abs(lengths.mean() - 1) < 8 / np.sqrt(3000 * 60)


def test_the_slack_is_stated_for_a_block():
    randomizer = make_randomizer()
    assert 0 < mechanism_of(randomizer).slack(randomizer.lattice) < 1e-20
    with_box = make_randomizer(box=Box((0.0, 0.0), (1.0, 1.0)))
    assert 0 < mechanism_of(with_box, 9, resample=True).slack(with_box.lattice) < 1e-18

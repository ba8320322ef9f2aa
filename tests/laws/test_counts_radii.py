"""Cells with radii of their own: each row is cut to its cell's, each cell's noise fits its own."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import isqrt

import numpy as np
import pytest

from sfumato._accounting.budget import Caps
from sfumato._core.mechanisms import Cylinder, PerCellNoise
from sfumato._core.queries.counts import Nearest, Totals
from sfumato._core.testing import ReplayedNoise
from sfumato._lattice.box import REACH
from tests.laws.harness import BOX, blobs, curator_of, exact, loss, without_noise
from tests.unit import gaps

F = Fraction
CELLS = Nearest(np.array([[-REACH, -REACH], [0, 0], [REACH, REACH]]))
RADII = (40, 3_000, 700)
KINDS = ("joint", "laplace", "gaussian")


def ask(curator, kind, *, cells=CELLS, radii=RADII):
    """Buy sums within radii for the whole of an account; returns the account and the totals."""
    account = curator.reserve("test", Caps(pure=F(1), gaussian=(F(1), F(1, 100))))
    share = account.rest("gdp" if kind == "gaussian" else "pure")
    if kind == "joint":
        return account, curator.sums(cells, share=share, radius=radii, joint=True)
    for_sums, for_counts = share.evenly(2)
    return account, curator.sums(cells, share=for_sums, counts=for_counts, radius=radii)


def test_each_cell_reaches_its_own_radius_and_no_row_more():
    query = Totals(CELLS, RADII)
    for cell, (radius, declared) in enumerate(zip(RADII, query.sensitivities(), strict=True)):
        inward = -1 if cell == 2 else 1
        center = CELLS.centers[cell]
        along = [center + inward * np.array([x, 0]) for x in (radius, radius + 1, 9_000)]
        diagonal = [center + inward * np.array([x, x]) for x in (radius, 3 * radius, 9_000)]
        moved = [exact(query, [row])[cell] for row in (*along, *diagonal)]
        assert [int(line[0]) for line in moved] == [1] * len(moved)
        squares = [sum(int(x) ** 2 for x in line[1:]) for line in moved]
        sums = [sum(abs(int(x)) for x in line[1:]) for line in moved]
        assert max(squares) == declared.l2_squared == radius**2
        assert declared.l1 - 2 < max(sums) <= declared.l1 == isqrt(2 * radius**2)


def test_the_widest_cell_sets_the_sensitivity_of_the_whole():
    apart, alike = Totals(CELLS, RADII), Totals(CELLS, max(RADII))
    assert apart.sensitivity() == alike.sensitivity()
    assert alike.sensitivities() == (alike.sensitivity(),) * 3
    assert apart.radii == RADII
    assert alike.radii == (max(RADII),) * 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radii", [RADII, list(RADII), np.array(RADII), 700])
def test_without_noise_the_sums_are_the_definition(kind, radii):
    rows = blobs(200)
    lattice = BOX.to_lattice(rows).tolist()
    limits = [radii] * 3 if isinstance(radii, int) else RADII
    expected = sum(gaps.by_nearest(row, CELLS.centers, limits) for row in lattice)
    _, totals = ask(without_noise(rows), kind, radii=radii)
    np.testing.assert_array_equal(totals.sizes.values, expected[:, 0])
    np.testing.assert_array_equal(totals.sums.values, expected[:, 1:])


def replayed(kind, pair, **settings):
    """(loss, charge) of every answer about two neighbours, which see the same noise."""
    curators = [curator_of(rows, **settings, groups=labels) for rows, labels in pair]
    accounts = [ask(curator, kind)[0] for curator in curators]
    one, other = (c.transcript for c in curators)
    assert one.queries == other.queries
    assert one.mechanisms == other.mechanisms
    steps = zip(one.mechanisms, one.released, one.exact, other.exact, strict=True)
    charges = [e.share.amount for e in accounts[0].entries]
    return list(zip((loss(*step) for step in steps), charges, strict=True))


ROWS = blobs(60)
FAR = {"narrow": [0.0, -2.0], "wide": [0.5, -1.0], "corner": [1.0, -3.0], "middle": [0.5, 0.0]}


@pytest.mark.parametrize("extra", FAR.values(), ids=FAR.keys())
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_loses_no_more_than_was_charged_and_all_of_it_where_it_is_cut(kind, extra):
    losses = replayed(kind, [(ROWS, None), (np.vstack([ROWS, [extra]]), None)])
    assert all(0 <= lost <= charge for lost, charge in losses)
    lost, charge = losses[0]
    if kind == "joint":
        assert lost == charge
    elif extra != FAR["middle"]:
        # Laplace noise is made for the diagonal; these rows lie along an axis, or on the diagonal.
        assert lost > charge * (F(2, 3) if kind == "laplace" else F(9, 10))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 4])
def test_a_group_in_several_cells_loses_no_more_than_was_charged(kind, most):
    own, used = np.arange(len(ROWS)), []
    for group in combinations_with_replacement(FAR.values(), 4):
        rows, labels = np.vstack([ROWS, group]), np.append(own, [999] * 4)
        losses = replayed(kind, [(ROWS, own), (rows, labels)], max_rows_per_group=most)
        assert all(0 <= lost <= charge for lost, charge in losses)
        used.append(losses[0][0] / losses[0][1])
    if kind == "joint":
        assert set(used) == {1}
    else:
        assert max(used) > F(9, 10)


def test_scales_are_in_proportion_to_the_radii():
    for kind, mechanism in (
        ("joint", Cylinder),
        ("laplace", PerCellNoise),
        ("gaussian", PerCellNoise),
    ):
        curator = curator_of(ROWS, groups=np.arange(60), max_rows_per_group=5)
        account, _ = ask(curator, kind)
        law, amount = curator.transcript.mechanisms[0], account.entries[0].share.amount
        assert isinstance(law, mechanism)
        assert account.entries[0].scale == law.scale == max(law.scales)
        if kind == "joint":
            assert law.height == 5 / amount
            assert law.scales == tuple(5 * r / amount for r in RADII)
        elif kind == "laplace":
            assert law.scales == tuple(5 * isqrt(2 * r * r) / amount for r in RADII)
        else:
            for scale, r in zip(law.scales, RADII, strict=True):
                assert 0 <= scale**2 - 25 * r * r / amount < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_the_stated_deviation_is_the_measured_one_in_proportion_to_the_radius(kind):
    """3,600 cells without a row, by turns narrow and wide: 3,600 draws of each kind of sum."""
    cells = Nearest(np.arange(7_200).reshape(-1, 2))
    radii = np.tile([300, 9_000], 1_800)
    curator = curator_of(np.zeros((0, 2)), noise=ReplayedNoise(11))
    _, totals = ask(curator, kind, cells=cells, radii=radii)
    for radius in (300, 9_000):
        values = totals.sums.values[radii == radius]
        assert values.std() == pytest.approx(totals.sums.noise_std * radius / 9_000, rel=0.1)
    assert totals.sizes.values.std() == pytest.approx(totals.sizes.noise_std, rel=0.1)


def test_receipts_name_the_radii_and_the_law():
    laws = {"joint": "cylinder", "laplace": "laplace", "gaussian": "gaussian"}
    for kind, law in laws.items():
        account, _ = ask(curator_of(ROWS), kind)
        assert "clipped at 0.0012 to 0.092 × the half width" in account.entries[0].query
        assert "of the widest cell" in account.entries[0].noise
        assert account.entries[0].mechanism == law


@pytest.mark.parametrize(
    ("radii", "message"),
    [
        ((5, 5), "2 radii were given for 3 cells"),
        ((0, 5, 5), "whole number"),
        ((5, 5, 10**9), "whole number"),
        ((5, 5.5, 5), "whole number"),
        ((5, True, 5), "whole number"),
        ("555", "whole number"),
        (True, "whole number"),
    ],
)
@pytest.mark.parametrize("joint", [False, True])
def test_bad_radii_are_refused_before_the_charge(radii, message, joint):
    curator = curator_of(ROWS)
    account = curator.reserve("test", Caps(pure=F(1)))
    with pytest.raises(ValueError, match=message):
        curator.sums(CELLS, share=account.rest("pure"), radius=radii, joint=joint)
    assert account.entries == ()


def test_queries_with_equal_radii_are_equal():
    assert Totals(CELLS, list(RADII)) == Totals(CELLS, np.array(RADII)) == Totals(CELLS, RADII)
    assert hash(Totals(CELLS, list(RADII))) == hash(Totals(CELLS, RADII))
    assert Totals(CELLS, RADII) != Totals(CELLS, (40, 3_000, 701))

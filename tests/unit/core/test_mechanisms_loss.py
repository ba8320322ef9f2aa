"""What a mechanism costs is compared with the share that pays for it, before the charge."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato import Curator
from sfumato._accounting.budget import Caps
from sfumato._accounting.gaussian_dp import root_above, root_below
from sfumato._core import mechanisms
from sfumato._core.queries.cells import Sensitivity
from sfumato._core.queries.choose import Cost
from sfumato._core.queries.counts import Grid, Nearest
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.queries.histograms import LogBins
from sfumato._core.queries.max_cover import Grids
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.privtree import Domain
from sfumato._core.releases import choose, first_below, max_cover, privtree
from sfumato._core.releases.histograms import HistogramCurator
from sfumato._lattice.box import REACH

F = Fraction

CAPS = Caps(pure=F(1), gaussian=(F(1), F(1, 10**6)), approximate=(F(1), F(1, 10**6)))
CENTERS = np.array([[0, 0], [900, -500], [-20_000, 7]])


class Unread:
    """Rows of which a fold is a failure of the test."""

    n_features = 2
    max_rows_per_group = 3

    def fold(self, box, kernel):
        raise AssertionError("a row was read")

    def split(self, box, parts, key):
        raise AssertionError("a row was read")


def part(account, kind, denominator=7):
    """An odd share, so that roots are not whole."""
    share = account.rest(kind)
    return share.split(1, denominator - 1)[0]


def nearest():
    return Nearest(CENTERS)


QUERIES = {
    "counts": lambda c, s: c.counts(Grid(5, 2), share=s("pure")),
    "counts with Gaussian noise": lambda c, s: c.counts(Grid(5, 2), share=s("gdp")),
    "sums": lambda c, s: c.sums(nearest(), share=s("pure"), radius=77),
    "sums by radii": lambda c, s: c.sums(nearest(), share=s("gdp"), radius=(7, 700, 70)),
    "joint in a cube": lambda c, s: c.sums(nearest(), share=s("pure"), joint=True),
    "joint in radii": lambda c, s: c.sums(nearest(), share=s("pure"), radius=77, joint=True),
    "squares": lambda c, s: c.moments(Squares(2), share=s("pure")),
    "products": lambda c, s: c.moments(Products(2), share=s("pure")),
    "products, Gaussian": lambda c, s: c.moments(Products(2), share=s("gdp")),
    "choose": lambda c, s: c.choose(Cost(np.array([CENTERS, CENTERS + 1])), share=s("pure")),
    "search": lambda c, s: c.first_below(
        RowsBeyond(nearest(), np.array([10, 50])), 3, share=s("pure")
    ),
    "search in each cell": lambda c, s: c.first_below_each(
        RowsBeyond(nearest(), np.array([10, 50]), each=True), [3, 0, 9], share=s("pure")
    ),
    "tree": lambda c, s: c.grow(
        Domain((-REACH, -REACH), (REACH, REACH)), share=s("pure"), counts=s("pure")
    ),
    "cover": lambda c, s: c.cover(Grids(2, (1000,), (500,)), share=s("approximate"), picks=2),
    "blocks": lambda c, s: c.block_means(2, blocks=5, share=s("pure"), key=1),
}


def curator():
    return Curator(Unread(), bounds=(0, 1), epsilon=9.0, delta=0.1)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_every_query_pays_for_what_it_costs(query):
    """The rows are reached: what the mechanism costs is within its share."""
    asked = curator()
    account = asked.reserve("test", CAPS)
    with pytest.raises(AssertionError, match="a row was read"):
        query(asked, lambda kind: part(account, kind))
    for entry in account.entries:
        assert F(99, 100) * entry.share.amount < entry.loss <= entry.share.amount


def halved(cls):
    """The same mechanism with noise that is a little too small."""
    fitting = cls.fitting.__func__

    def planted(own, *args):
        right = fitting(own, *args)
        changed = {
            name: tuple(x * F(99, 100) for x in value)
            if isinstance(value, tuple)
            else value * F(99, 100)
            for name, value in vars(right).items()
            if name in ("scale", "scales", "height")
        }
        return type(right)(**{**vars(right), **changed})

    return classmethod(planted)


PLANTED = {
    "counts": mechanisms.Laplace,
    "counts with Gaussian noise": mechanisms.Gaussian,
    "sums": mechanisms.Laplace,
    "sums by radii": mechanisms.PerCellNoise,
    "joint in a cube": mechanisms.Cube,
    "joint in radii": mechanisms.Cylinder,
    "products": mechanisms.Ball,
    "tree": privtree.PrivTreeSplits,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_scale_is_refused_and_nothing_is_charged_or_read(name, monkeypatch):
    monkeypatch.setattr(PLANTED[name], "fitting", halved(PLANTED[name]))
    asked = curator()
    account = asked.reserve("test", CAPS)
    with pytest.raises(RuntimeError, match=r"nothing was charged and no row was read|decay"):
        QUERIES[name](asked, lambda kind: part(account, kind))
    assert account.entries == ()


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("choose", choose.Selection),
        ("search", first_below.AboveThreshold),
        ("search in each cell", first_below.AboveThreshold),
    ],
)
def test_a_wrong_scale_of_a_choice_is_refused(name, law, monkeypatch):
    right = law.scale.fget
    monkeypatch.setattr(law, "scale", property(lambda self: right(self) * F(99, 100)))
    asked = curator()
    account = asked.reserve("test", CAPS)
    with pytest.raises(RuntimeError, match="nothing was charged"):
        QUERIES[name](asked, lambda kind: part(account, kind))
    assert account.entries == ()


def test_a_wrong_rate_of_a_cover_is_refused(monkeypatch):
    right = max_cover.largest_rate
    monkeypatch.setattr(max_cover, "largest_rate", lambda *args: right(*args) * F(101, 100))
    asked = curator()
    account = asked.reserve("test", CAPS)
    with pytest.raises(RuntimeError, match="nothing was charged"):
        QUERIES["cover"](asked, lambda kind: part(account, kind))
    assert account.entries == ()


def test_a_wrong_scale_of_bounds_is_refused(monkeypatch):
    monkeypatch.setattr(mechanisms.Laplace, "fitting", halved(mechanisms.Laplace))
    histograms = HistogramCurator(Unread(), ledger=curator().ledger)
    account = histograms.reserve("test", CAPS)
    with pytest.raises(RuntimeError, match="nothing was charged"):
        histograms.histogram(LogBins(2), share=part(account, "pure"))
    assert account.entries == ()


def test_losses_are_those_of_the_definitions():
    most = Sensitivity(6, 20)
    assert mechanisms.Laplace(F(3)).loss(most) == 2
    assert mechanisms.Gaussian(F(2)).loss(most) == 5
    assert mechanisms.Cube(F(REACH)).loss(4) == 4
    assert mechanisms.Ball(F(2)).loss(36) == 3
    assert mechanisms.Cylinder((F(10), F(20)), F(1)).loss((5, 40), 3) == 6
    assert mechanisms.PerCellNoise("laplace", (F(3), F(1))).loss([most, Sensitivity(5, 25)]) == 5


@pytest.mark.parametrize("square", [F(2), F(1, 3), F(10**40 + 1, 7), F(16, 9)])
def test_roots_are_rounded_to_their_sides(square):
    assert root_below(square) ** 2 <= square <= root_above(square) ** 2
    assert root_above(square) - root_below(square) < root_above(square) / 2**60

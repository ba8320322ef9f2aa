"""What is too large is refused by its numbers: before any charge, and before anything is made."""

import time
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato
from bench.memory import forget_peak, peak
from sfumato import Category, Curator, Number, PrivateKMeans, Schema, plan
from sfumato._accounting.budget import Caps
from sfumato._core.queries.counts import MAX_NUMBERS, Cubes, Grid
from sfumato._core.queries.moments import Products
from sfumato._core.queries.privtree import Domain
from sfumato._synopsis.curve import MOST_CHOSEN, check_range
from sfumato.cli import app
from sfumato.local import LaplaceMechanism, NDLaplace, Staircase
from sfumato.methods import METHODS, Auto, DPLloyd, EUGkM, KPrototypes, PGkM, Sukpisit
from sfumato.methods._base import MAX_CLUSTERS, MAX_EPSILON, MAX_ROWS

F = Fraction
ROWS = np.random.default_rng(0).uniform(-1, 1, (300, 2))
# Seconds of the processor, which a busy machine does not make more. A refusal takes a few
# milliseconds (see docs/limits.md).
SOON = 1.0
LITTLE = 10 * 2**20


def refused(ask, error, *said, curator=None):
    """Ask, and see it refused with these words: soon, without memory, and unspent."""
    forget_peak()
    before, start = peak(), time.process_time()
    with pytest.raises(error) as caught:
        ask()
    assert time.process_time() - start < SOON
    assert peak() - before < LITTLE
    for words in said:
        assert words in str(caught.value)
    if curator is not None:
        assert not any(account.entries for account in curator.ledger.accounts)


def asked(method, rows=ROWS, epsilon=1.0, delta=1e-6, **settings):
    """A curator, and a fit on it that is still to be asked for."""
    curator = Curator(rows, bounds=(-1, 1), epsilon=epsilon, delta=delta)
    settings = {"n_clusters": 3, "epsilon": epsilon, "delta": delta} | settings
    model = PrivateKMeans(method=method, random_state=0, **settings)
    return curator, lambda: model.fit(curator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "k", [MAX_CLUSTERS + 1, 10**5, 10**30, 10**5000], ids=["one more", "5", "30", "5000"]
)
def test_no_method_takes_more_clusters_than_are_found(method, k):
    curator, fit = asked(method, n_clusters=k)
    number = f"{k:,}" if k < 10**18 else "about 10^"
    said = (f"{number}", "clusters were asked for", "at most 10,000", "fewer clusters")
    refused(fit, ValueError, *said, curator=curator)


@pytest.mark.parametrize("method", ["gkm", "gkm3k", "pgkm", "maxcover"])
def test_methods_that_compare_all_pairs_take_fewer(method):
    curator, fit = asked(method, n_clusters=1001)
    refused(fit, ValueError, "1,001 clusters", "at most 1,000", "method='auto'", curator=curator)


@pytest.mark.parametrize("method", METHODS)
def test_more_rows_than_exist_are_not_declared(method):
    for n_rows in (MAX_ROWS + 1, 10**400):
        curator, fit = asked(method, n_rows=n_rows)
        refused(fit, ValueError, "n_rows must be at most 1,000,000,000,000,000", curator=curator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [MAX_EPSILON + 1, 1e300])
def test_an_epsilon_beyond_meaning_is_refused_or_left_unspent(method, epsilon):
    curator, fit = asked(method, epsilon=epsilon)
    if method == "auto":
        assert np.isfinite(fit().cluster_centers_).all()
        assert curator.ledger.spent[0] <= 1000
        return
    refused(fit, ValueError, "is more than 1,000,000,000", "a smaller one", curator=curator)


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("dplloyd", "sukpisit")])
@pytest.mark.parametrize("delta", [1e-300, 0.0])
def test_an_epsilon_that_no_noise_is_large_enough_for(method, delta):
    curator, fit = asked(method, epsilon=1e-300, delta=delta)
    refused(fit, ValueError, curator=curator)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_bounds_of_any_size_are_fitted(method, scale):
    settings = {"epsilon": 1.0, "delta": 1e-300, "bounds": (-scale, scale), "random_state": 0}
    model = PrivateKMeans(3, method=method, **settings).fit(ROWS * scale)
    assert (np.abs(model.cluster_centers_) <= scale).all()


@pytest.mark.parametrize("method", METHODS)
def test_ten_thousand_columns_are_fitted_or_refused_before_the_charge(method):
    rows = np.zeros((5, 10_000))
    curator, fit = asked(method, rows, n_clusters=2)
    if method in ("gkm", "gkm3k", "eugkm", "hybrid"):
        refused(fit, ValueError, "10", "method=", curator=curator)
    elif method != "pgkm":  # which takes seconds
        assert fit().cluster_centers_.shape == (2, 10_000)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: DPLloyd(iterations=1001), "iterations must be at most 1,000, got 1,001"),
        (lambda: Sukpisit(max_iter=10**9), "max_iter must be at most 1,000"),
        (lambda: KPrototypes(iterations=10**30), "iterations must be at most 1,000"),
        (lambda: EUGkM(n_starts=10**9), "n_starts must be at most 10,000"),
        (lambda: PGkM(least_rounds=10**9), "least_rounds must be at most 1,000"),
        (lambda: Auto(k_range=(2, MOST_CHOSEN + 1)), "at most 1,000 are allowed"),
        (lambda: check_range((2, 10**400)), "about 10^400"),
    ],
)
def test_settings_that_would_run_for_days(make, said):
    refused(make, ValueError, said)


def verbs(curator, share):
    """Queries that are too large, each with a part of what is said."""
    half, other = share.evenly(2)
    wide = np.zeros((1, 10_000), dtype=np.int64)
    return [
        (lambda: curator.counts(Grid(np.int64(16), 16), share=share), "16^16 cells"),
        (lambda: curator.counts(Grid(2, 10**9), share=share), "2^1,000,000,000 cells"),
        (lambda: curator.counts(Grid(65_535, 2), share=share), "65535^2 cells"),
        (lambda: curator.sums(Grid(4000, 2), share=share, joint=True), "48,000,000 numbers"),
        (lambda: curator.counts(Cubes(wide, 2), share=share), "2^10000 children"),
        (lambda: curator.moments(Products(10**9), share=share), "1,000,000,000,000,000,000"),
        (
            lambda: curator.block_means(
                np.int64(2**32), blocks=np.int64(2**32), share=share, key=1
            ),
            "4,294,967,296 blocks",
        ),
        (
            lambda: curator.grow(
                Domain((0, 0), (1, 1)), share=half, counts=other, max_leaves=2**40
            ),
            "1 to 1,048,576",
        ),
    ]


@pytest.mark.parametrize("which", range(8))
def test_queries_are_sized_in_whole_numbers_of_python(which):
    curator = Curator(ROWS, bounds=(-1, 1), epsilon=1.0)
    share = curator.reserve("test", Caps(pure=F(1))).rest("pure")
    ask, said = verbs(curator, share)[which]
    refused(ask, ValueError, said, curator=curator)


@pytest.mark.parametrize("per_axis", [1, 2, 3, 4472, 4473, 65_535])
@pytest.mark.parametrize("n_features", [1, 2, 3, 15, 24, 25, 64, 10_000])
def test_a_grid_is_accepted_exactly_if_its_cells_fit(per_axis, n_features):
    cells = prod([per_axis] * n_features)
    if cells <= MAX_NUMBERS:
        assert Grid(np.int64(per_axis), np.int64(n_features)).n_cells == cells
    else:
        with pytest.raises(ValueError, match="at most 20,000,000 fit"):
            Grid(np.int64(per_axis), np.int64(n_features))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"k": 10**5}, "100,000 clusters"),
        ({"d": 10**9, "bounds": (0, 1)}, "4,000,000,004 numbers"),
        ({"d": 10**400}, "about 10^400 columns"),
        ({"n": 10**400}, "about 10^400"),
    ],
)
def test_plans_of_what_cannot_be(settings, said):
    usual = {"n": 1000, "d": 2, "k": 4, "epsilon": 1.0}
    refused(lambda: plan(**usual | settings), ValueError, said)


def test_a_plan_says_why_a_method_cannot_run():
    rows = plan(n=10**6, d=2, k=5000, epsilon=1e300, delta=1e-6).rows
    why = {row.method: row.why_not for row in rows}
    assert not why.pop("auto")
    assert all("epsilon = 1e+300" in said for said in why.values())


@pytest.mark.parametrize("cls", [NDLaplace, LaplaceMechanism, Staircase])
def test_the_local_model_refuses_no_epsilon_but_what_cannot_be_drawn(cls):
    refused(
        lambda: cls(epsilon=1e-300, bounds=(-1, 1)).fit_transform(ROWS),
        ValueError,
        "larger epsilon",
    )
    told = cls(epsilon=1e300, bounds=(-1, 1)).fit_transform(ROWS)
    np.testing.assert_allclose(told, ROWS, atol=1e-4)


def test_bounds_are_estimated_of_so_many_columns_only():
    rows = np.zeros((5, 10_000))
    refused(lambda: sfumato.estimate_bounds(rows, epsilon=1.0), ValueError, "81,850,000 numbers")


def test_a_category_may_have_a_hundred_thousand_levels():
    start = time.process_time()
    schema = Schema(a=Number(0, 1), b=Category([f"level {i}" for i in range(10**5)]))
    assert time.process_time() - start < 10 * SOON
    assert schema.width == 10**5 + 1
    with pytest.raises(ValueError, match="'level 1' of column 'b' is listed twice"):
        Schema(b=Category("level 0", "level 1", "level 1"))


def test_the_command_line_refuses_in_one_line(tmp_path):
    path = tmp_path / "rows.csv"
    np.savetxt(path, ROWS, delimiter=",", header="a,b", comments="")
    command = ["fit", str(path), "-k", "100000", "--epsilon", "1", "--bounds", "-1,1", "--header"]
    command += ["--output", str(tmp_path / "model.json")]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code not in (0, 1)
    assert "100,000 clusters were asked for" in ended.output.replace("\n", " ")
    assert "Traceback" not in ended.output

"""Balcan et al.: presets, corrections of the published arithmetic, refusals, the docs page."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato._accounting.budget import Caps
from sfumato._core.curator import Curator
from sfumato._lattice.box import REACH
from sfumato.methods import Balcan, Task
from sfumato.methods._balcan.config import PRESETS, max_cubes, together
from sfumato.methods._balcan.run import (
    Cutting,
    gaussian_projection,
    into_ball,
    partition,
    shifted_cube,
)
from sfumato.methods._base import to_view
from tests.no_noise import NoNoise

F = Fraction
PAGE = Path(__file__).parents[4] / "docs" / "balcan.md"
MNIST = Task(10, 784, F(1), F(0), 70_000)
ROWS = np.random.default_rng(0).normal(0, 0.3, (900, 10))


def run(method, *, delta=0, n_rows=900, rows=ROWS, k=4, noise=None, epsilon=1):
    curator = Curator(rows, bounds=(-1, 1), epsilon=1000, delta=0.5, noise=noise)
    task = Task(k, rows.shape[1], F(epsilon), F(delta), n_rows)
    account = curator.reserve("test", method.caps(task))
    return account, method(curator, task, account=account, rng=np.random.default_rng(1))


def entries(account, words):
    return [e for e in account.entries if words in e.query]


# The five corrections: what was published is planted in tests/mutants/balcan.py.


@pytest.mark.parametrize("preset", PRESETS)
def test_the_shares_add_up_to_epsilon(preset):
    """(a) The Matlab code spent 1.5 ε, and within its candidates 1.5 times their share."""
    parts = Balcan(preset).parts()
    total = parts.candidates + parts.search + parts.recover + parts.rounds + parts.choice
    assert total == 1
    settings = {"dimensions": 2, "runs": 2, "partitions": 3, "swaps": 2}
    account, _ = run(Balcan(preset, carry=False, **settings))
    assert account.spent("pure") == (1, 0)
    cubes = sum(e.share.amount for e in entries(account, "cubes"))
    assert 0 < cubes <= Balcan(preset, **settings).parts().candidates


def test_the_budget_is_that_of_the_thesis():
    assert Balcan("matlab", runs=2).parts().candidates == F(4, 9)
    assert Balcan("edler", runs=2).parts().choice == F(1, 20)
    assert Balcan(budget=(2, 1, 1, 1, 0)).parts().candidates == F(2, 5)
    without = Balcan("matlab", rounds=0, runs=2).parts()
    assert (without.recover, without.rounds) == (F(4, 9), 0)


def test_averages_are_noised_for_all_columns_and_divided_by_the_noisy_count():
    """(b) The thesis noised every column as if it were the only one, Matlab by the exact count."""
    account, found = run(Balcan(rounds=0, noise="laplace"))
    (sums,) = (e for e in entries(account, "sums of") if e.mechanism == "laplace")
    assert sums.scale == 10 * REACH / sums.share.amount
    account, found = run(Balcan(rounds=0))
    (joint,) = entries(account, "counts and sums")
    assert (joint.mechanism, joint.scale) == ("cube", REACH / joint.share.amount)
    assert (found.sizes != np.rint(found.sizes)).all()


def test_the_projection_ends_in_a_ball_that_holds_the_cube():
    """(c) Rows have a known range where they are counted, whatever the directions."""
    rng = np.random.default_rng(0)
    for d, p in ((30, 4), (3, 3)):
        projection = gaussian_projection(d, p, rng)
        assert projection.ball
        corners = (rng.choice([-1, 1], (500, d)) * REACH).astype(np.int16)
        seen = projection.see(corners).astype(np.int64)
        lengths = np.sqrt(np.square(seen).sum(axis=1))
        assert lengths.max() <= REACH
        assert lengths.max() > 0.99 * REACH
    whole = to_view(gaussian_projection(3, 3, rng), np.eye(3) * REACH)
    np.testing.assert_allclose(whole, np.eye(3) * REACH / np.sqrt(3), rtol=1e-4, atol=1)


def test_lengths_are_kept_on_average():
    squares = [
        np.square(
            to_view(gaussian_projection(50, 5, np.random.default_rng(s)), np.full(50, REACH))
        ).sum()
        for s in range(400)
    ]
    assert np.mean(squares) == pytest.approx(REACH**2, rel=0.15)


def test_candidates_outside_the_ball_come_to_its_surface():
    far = np.array([[REACH, REACH], [-3.0 * REACH, 0.0], [0.0, 0.0], [100.0, -7.0]])
    inside = into_ball(far)
    assert (np.square(inside).sum(axis=1) <= REACH**2).all()
    assert np.linalg.norm(inside[:2], axis=1) == pytest.approx(REACH, abs=2)
    np.testing.assert_array_equal(inside[2:], far[2:])


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_selections_know_the_diameter_of_the_ball_and_of_the_cube(law):
    """(d) Swaps: the squared diameter of the ball. Among runs: that of the whole cube, 4d."""
    # With so large an ε every run finds candidates, whatever the noise.
    account, _ = run(Balcan(law=law, runs=2), epsilon=100)
    swaps, runs = entries(account, "swaps of"), entries(account, "2 sets of 4 centres")
    assert len(swaps) == 8
    for entry in swaps:
        assert entry.mechanism == law
        assert entry.scale == (2 * REACH) ** 2 / entry.share.amount
    (choice,) = runs
    assert choice.scale == 10 * (2 * REACH) ** 2 / choice.share.amount


def test_one_run_leaves_its_choice_to_the_candidates():
    """(d) There is nothing to choose."""
    assert Balcan("edler").parts().candidates == F(3, 4)
    assert Balcan("matlab").parts().candidates == F(1, 2)
    assert Balcan("edler").parts().choice == 0
    account, _ = run(Balcan())
    assert not entries(account, "1 sets of")


@pytest.mark.parametrize("delta", [0, F(1, 10**6)])
def test_a_depth_has_its_part_of_epsilon_and_not_half_of_it(delta):
    """(e) One row changes one cube of a depth; the paper halves ε′ for replacement."""
    method = Balcan(partitions=2, depths=5)
    account, _ = run(method, delta=delta)
    scales = {e.scale for e in entries(account, "cubes")}
    assert scales == {2 * 5 / F(3, 4)}


def test_the_number_of_rows_is_declared_or_estimated():
    declared, _ = run(Balcan())
    bought, _ = run(Balcan(), n_rows=None)
    assert "cubes" in declared.entries[0].query
    assert bought.entries[0].query == "number of rows"
    assert bought.entries[0].share.amount == F(1, 50)


def test_what_partitions_leave_goes_to_the_averages():
    carried, kept = (run(Balcan(rounds=0, carry=carry))[0] for carry in (True, False))
    first, second = (entries(a, "counts and sums")[0].share.amount for a in (carried, kept))
    assert second == F(6, 25)
    assert first > second
    assert kept.entries[-1].query == "counts of 4 nearest-centre cells"
    gaussian, _ = run(Balcan(), delta=F(1, 10**6))
    assert sum(e.share.amount for e in entries(gaussian, "swaps")) > F(1, 100)


# Cubes.


def opened(rows, noise=None):
    curator = Curator(rows, bounds=(-1, 1), epsilon=1000, noise=noise or NoNoise())
    view = curator.view(gaussian_projection(rows.shape[1], rows.shape[1], np.random.default_rng(0)))
    return view, curator.reserve("test", Caps(pure=F(100))).rest("pure")


@pytest.mark.parametrize("p", [1, 2, 5])
def test_the_first_cube_holds_the_ball(p):
    for seed in range(50):
        corners, side = shifted_cube(p, 9, np.random.default_rng(seed))
        assert side % 2**9 == 0
        assert corners.max() <= -REACH
        assert corners.min() + side > REACH


def test_cubes_are_cut_where_the_rows_are():
    rows = np.vstack([np.full((80, 2), 0.5), np.full((40, 2), -0.7), np.full((5, 2), 0.9)])
    view, share = opened(rows)
    corners, side = shifted_cube(2, 10, np.random.default_rng(3))
    [cut] = partition(view, [Cutting(corners, side, share.evenly(10), 20.0)])
    assert len(cut.levels) == 11
    assert [len(level) for level in cut.levels[-3:]] == [2, 2, 2]
    near = into_ball(cut.levels[-1]) * np.sqrt(2) / REACH
    assert np.abs(np.sort(near, axis=0) - [[-0.7, -0.7], [0.5, 0.5]]).max() < 0.01
    assert cut.counts.sum() == 125
    assert len(cut.counts) == len(cut.leaves) == len(cut.volumes)
    assert len(cut.candidates(None)) == sum(map(len, cut.levels))
    np.testing.assert_array_equal(cut.candidates(2), cut.levels[-1])
    assert len(cut.candidates(3)) == 4


def test_no_rows_leave_the_first_cube_alone():
    view, share = opened(np.zeros((0, 2)))
    corners, side = shifted_cube(2, 4, np.random.default_rng(3))
    shares = share.evenly(4)
    [cut] = partition(view, [Cutting(corners, side, shares, 1.0)])
    assert [len(level) for level in cut.levels] == [1]
    assert len(cut.leaves) == 4
    assert shares[0].account.spent("pure")[0] == shares[0].amount


def test_of_too_many_cubes_the_fullest_are_cut():
    assert max_cubes(16) == 4
    assert max_cubes(2) == 4096
    rng = np.random.default_rng(0)
    view, share = opened(rng.uniform(-1, 1, (400, 12)))
    corners, side = shifted_cube(12, 4, rng)
    [cut] = partition(view, [Cutting(corners, side, share.evenly(4), 0.5)])
    assert max(len(level) for level in cut.levels) == max_cubes(12) == 85


def test_partitions_are_counted_together_and_end_where_each_ends_alone():
    rows = np.random.default_rng(5).normal(0, 0.2, (300, 3))
    assert [together(p) for p in (2, 5, 6, 7, 16)] == [512, 25, 10, 4, 4]

    def cut(seeds, gammas):
        view, share = opened(rows)
        shares = share.evenly(3)
        cuttings = [
            Cutting(*shifted_cube(3, 6, np.random.default_rng(seed)), part.evenly(6), gamma)
            for seed, gamma, part in zip(seeds, gammas, shares, strict=False)
        ]
        return partition(view, cuttings), share.account

    found, account = cut([1, 2, 3], [200.0, 5.0, 40.0])
    alone = [cut([seed], [gamma]) for seed, gamma in ((1, 200.0), (2, 5.0), (3, 40.0))]
    for one, ([other], _) in zip(found, alone, strict=True):
        for name in ("leaves", "counts", "volumes"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert [len(level) for level in one.levels] == [len(level) for level in other.levels]
        assert one.noise_std == other.noise_std
    ended = [len(one.levels) for one in found]
    assert len(set(ended)) == 3, "some end before others"
    spent = sum(account.spent("pure")[0] for _, account in alone)
    assert account.spent("pure")[0] == spent


# What cannot run, and what cannot be set.


def test_the_paper_is_refused_before_anything_is_charged():
    with pytest.raises(ValueError, match=r"2\^89 = 6.2e\+26 parts.* 285,346 passes") as refused:
        Balcan("paper").caps(MNIST)
    assert "a cube would be cut from 1.37e+08 rows on" in str(refused.value)
    assert "preset='edler'" in str(refused.value)
    curator = Curator(ROWS, bounds=(-1, 1), epsilon=1.0)
    model = sfumato.PrivateKMeans(4, epsilon=1.0, n_rows=900, method=Balcan("paper"))
    with pytest.raises(ValueError, match="cannot run"):
        model.fit(curator)
    assert curator.ledger.spent == (0, 0)


def test_without_a_declared_number_of_rows_the_noisy_one_decides():
    method = Balcan("paper", runs=1, partitions=2, swaps=2)
    task = Task(2, 40, F(1), F(0))
    method.caps(task)
    curator = Curator(np.zeros((5000, 40)), bounds=(-1, 1), epsilon=1.0)
    account = curator.reserve("test", method.caps(task))
    with pytest.raises(ValueError, match=r"for about [45],\d{3} rows this cannot run: 40 dim"):
        method(curator, task, account=account, rng=np.random.default_rng(0))
    assert account.spent("pure") == (F(1, 50), 0)


def test_too_small_an_epsilon_is_refused_before_anything_is_charged():
    for epsilon, d in ((F(1, 10**6), 2), (F(1, 1000), 5000)):
        with pytest.raises(ValueError, match="too small for averages"):
            Balcan().caps(Task(2, d, epsilon, F(0)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "thesis"}, "preset must be one of paper"),
        ({"search": "greedy"}, "search must be one of"),
        ({"weights": "none"}, "weights must be one of"),
        ({"law": "laplace"}, "law must be one of"),
        ({"noise": "loud"}, "noise must be one of"),
        ({"dimensions": 0}, "dimensions"),
        ({"runs": 0}, "runs"),
        ({"partitions": 2.5}, "partitions"),
        ({"depths": 0}, "depths"),
        ({"swaps": -1}, "swaps"),
        ({"subset": 0}, "subset"),
        ({"rounds": -1}, "rounds"),
        ({"gamma": 0}, "gamma"),
        ({"failure": 1}, "failure must lie between 0 and 1"),
        ({"failure": 0}, "failure"),
        ({"deepest": 1}, "deepest must be True, False or None"),
        ({"carry": "yes"}, "carry"),
        ({"budget": (1, 1, 1)}, "five weights"),
        ({"budget": (0, 1, 1, 1, 1)}, "budget of candidates"),
        ({"budget": (1, 1, 0, 1, 1)}, "budget of recovery"),
        ({"budget": (1, -1, 1, 1, 1)}, "budget of search"),
        ({"budget": (1, 0, 1, 1, 1)}, "nothing for search"),
        ({"budget": (1, 1, 1, 0, 1)}, "nothing for rounds"),
        ({"budget": (1, 1, 1, 1, 0), "runs": 2}, "nothing for choice among runs"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Balcan(**settings)


def test_gaussian_noise_needs_delta():
    with pytest.raises(ValueError, match="needs delta"):
        Balcan(noise="gaussian").caps(MNIST)


def test_settings_are_saved_and_loaded(tmp_path):
    method = Balcan("matlab", search="coreset", budget=(0.4, 0.1, 0.5, 0, 0), rounds=0)
    model = sfumato.PrivateKMeans(3, bounds=(-1, 1), method=method).fit(ROWS)
    model.save(tmp_path / "model.json")
    assert sfumato.load(tmp_path / "model.json").method == method


# The page.


def _table():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def _shown(method, name):
    """What the page should say of a number: its value for MNIST."""
    if name in ("law", "gamma", "deepest"):
        return (
            f"{getattr(method.recipe(), name):g}"
            if name == "gamma"
            else str(getattr(method.recipe(), name))
        )
    if name == "budget":
        weights = PRESETS[method.preset].budget
        return ", ".join(str(F(weight, sum(weights))) for weight in weights)
    return f"{getattr(method.sizes(MNIST, MNIST.n_rows), name):,}"


def test_the_page_shows_the_presets_as_they_are():
    table = _table()
    names = ("dimensions", "runs", "partitions", "depths", "swaps", "rounds")
    assert set(table) >= {*names, "gamma", "law", "deepest", "budget"}
    for column, preset in enumerate(PRESETS):
        for name in (*names, "gamma", "law", "deepest", "budget"):
            cell = table[name][column]
            value = re.search(r"\(([\d,]+)\)$", cell)
            assert (value.group(1) if value else cell) == _shown(Balcan(preset), name), name
    text = PAGE.read_text("utf-8")
    assert f"{Balcan('paper').sizes(MNIST, 70_000).passes:,} passes" in text

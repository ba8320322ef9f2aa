"""A row of a table with weights is at most so many equal rows, for every query, from files on."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato import Category, Curator, Number, Schema, Weight
from sfumato._accounting.budget import Caps
from sfumato._core.queries.breakdown import Breakdown, Slices
from sfumato._core.queries.cells import Grid, Nearest
from sfumato._core.queries.choose import Cost, Swaps
from sfumato._core.queries.closeness import Closeness
from sfumato._core.queries.counts import Counts
from sfumato._core.queries.first_below import RowsBeyond
from sfumato._core.queries.moments import Products, Squares
from sfumato._core.queries.projection import MappedKernel, Projection
from sfumato._core.testing import RecordingCurator, ReplayedNoise
from sfumato._core.weighted import RepeatedKernel, WeightedRows, repeated, weighted
from sfumato._lattice.box import ABSENT, REACH
from sfumato.engines._open import rows_of
from sfumato.methods import NEEDS_DELTA
from tests.laws.harness import BOX, CENTERS, PAYABLE, QUERIES_UNDER_LAW, exact, run
from tests.laws.sources import as_text
from tests.laws.test_replay import check_replay, check_transcripts
from tests.no_noise import NoNoise
from tests.unit.cuts import tiny

MOST = 3
CELLS = Nearest(CENTERS)
KERNELS = {
    **QUERIES_UNDER_LAW,
    "breakdown": Breakdown(CELLS, (Slices(0, (-5, 9)), Slices(1, (0,)))),
    "closeness": Closeness(CELLS, (1234, 1, 60_000, 50)),
    "beyond": RowsBeyond(CELLS, (5, 600, 30_000)),
    "beyond, each": RowsBeyond(CELLS, (5, 600, 30_000), each=True),
    "squares": Squares(2, 3),
    "products": Products(2, 3),
    "cost": Cost(np.array([CENTERS[:2], CENTERS[2:]])),
    "swaps": Swaps(CENTERS, CENTERS[:2]),
    "mapped": MappedKernel(Projection(np.array([[1, 2], [2, -1]]), np.array([30, -40]), 1),
                           Counts(Grid(3, 2))),
}  # fmt: skip
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())

POINTS = [(-REACH, -REACH), (0, 0), (500, -700), (ABSENT, 9), (REACH, REACH)]
COPIES = {ABSENT: 0, -REACH: 0, -1: 0, 0: 0, 1: 1, 2: 2, 3: 3, 4: 3, 100: 3, REACH: 3}
"""What a last column says, and how often a row is shown."""


def summed(kernel, rows):
    """What a kernel makes of lattice rows with their copies, as curators ask for it."""
    repeats = RepeatedKernel(kernel, MOST)
    state = repeats.empty()
    repeats.add(np.array(rows, dtype=np.int16).reshape(-1, 3), state)
    return value(kernel, state)


def value(kernel, state):
    """A state as numbers that can be compared: costs are in two limbs."""
    return np.array(kernel.scores(state), dtype=object) if hasattr(kernel, "scores") else state


@kernels
@pytest.mark.parametrize("said", COPIES)
def test_a_row_moves_a_sum_by_its_copies_and_never_by_more(kernel, said):
    base = [(*point, copies) for point, copies in product(POINTS, (0, 1, 3))]
    before = summed(kernel, base)
    for point in POINTS:
        alone = value(kernel, exact(kernel, [point]))
        for grown in ([*base, (*point, said)], [(*point, said), *base]):
            np.testing.assert_array_equal(summed(kernel, grown) - before, COPIES[said] * alone)


@kernels
@given(st.lists(st.tuples(st.sampled_from(POINTS), st.sampled_from([*COPIES])), max_size=12))
@example([])
@example([((REACH, REACH), REACH), ((0, 0), ABSENT), ((0, 0), 2)])
@settings(max_examples=20, deadline=None)
def test_a_weighted_table_is_the_table_of_all_copies(kernel, rows):
    copies = [point for point, said in rows for _ in range(COPIES[said])]
    expected = value(kernel, exact(kernel, copies))
    np.testing.assert_array_equal(summed(kernel, [(*p, said) for p, said in rows]), expected)


@pytest.mark.parametrize(
    "name", [name for name in KERNELS if name.startswith(("counts", "totals"))]
)
@pytest.mark.parametrize("rows", [1, 4])
def test_a_group_of_weighted_rows_moves_what_is_declared_for_all_their_copies(name, rows):
    query, reached = KERNELS[name], 0
    base = summed(query, [(*point, 2) for point in POINTS])
    for group in product(POINTS[:3] + POINTS[4:], repeat=rows):
        moved = summed(query, [*((*p, 2) for p in POINTS), *((*p, REACH) for p in group)]) - base
        counts = moved if isinstance(query, Counts) else moved[..., 0]
        declared = Counts(query.cells).sensitivity().times(rows * MOST)
        assert np.abs(counts).sum() <= declared.l1
        reached = max(reached, int(np.abs(counts).sum()))
        if not isinstance(query, Counts):
            declared, sums = query.sensitivity().times(rows * MOST), moved[..., 1:].astype(object)
            assert np.abs(sums).sum() <= declared.l1
            assert (sums**2).sum() <= declared.l2_squared
    assert reached == rows * MOST


def test_large_blocks_are_cut_and_each_row_is_shown_once():
    class Shown:
        def __init__(self):
            self.blocks = []

        def add(self, rows, state):
            self.blocks.append(rows.copy())

    rows = np.column_stack([np.arange(9000), np.arange(9000), np.arange(9000) % 101])
    for most in (1, 3, 100):
        kernel = Shown()
        RepeatedKernel(kernel, most).add(rows.astype(np.int16), np.zeros(1))
        assert max(map(len, kernel.blocks)) <= 2**14
        expected = repeated(rows.astype(np.int16), most)
        np.testing.assert_array_equal(np.concatenate(kernel.blocks), expected)
        assert len(expected) == np.minimum(rows[:, 2], most).sum()


# Through the curator, from a table on.

SCHEMA = Schema(a=Number(0, 1), b=Number(-3, 3), w=Weight(0, MOST))
NEW = {
    "the most": ("1", "3", "3", 3),
    "more than the most": ("0", "-3", "1e300", 3),
    "infinitely much": ("1", "3", "inf", 0),
    "one copy": ("1", "3", "1", 1),
    "no copy": ("1", "3", "0", 0),
    "a negative weight": ("1", "3", "-7", 0),
    "a missing weight": ("1", "3", "", 0),
    "a word for a weight": ("1", "3", "three", 0),
    "the most, half a row": ("", "3", "3.0", 3),
    "the most, no cell": ("", "x", "3", 0),
}
"""A record more, as text, and the copies that it counts as."""


def table(n=150, seed=0):
    """Records of two clusters with weights of every kind."""
    rng = np.random.default_rng(seed)
    middle = np.array([[0.2, -2.0], [0.7, 1.0]])[rng.integers(2, size=n)]
    rows = middle + rng.normal(0, [0.05, 0.3], (n, 2))
    weights = np.array(["0", "1", "2", "3", "1.4", "9", "", "-2"])[rng.integers(8, size=n)]
    return [(repr(float(a)), repr(float(b)), w) for (a, b), w in zip(rows, weights, strict=True)]


RECORDS = table()


def framed(records):
    frame = pd.DataFrame(records, columns=["a", "b", "w"])
    return frame.apply(pd.to_numeric, errors="coerce")


def filed(folder, name, records):
    path = folder / f"{name}.csv"
    path.write_text("\n".join(["b,w,a", *as_text([(b, w, a) for a, b, w in records])]) + "\n")
    return path


def curator(rows, schema=SCHEMA, **settings):
    given = {"epsilon": 10.0, "delta": 0.1, "noise": ReplayedNoise(7), **settings}
    return RecordingCurator(rows, schema=schema, **given)


def shown(rows):
    """Every row that a query could be shown, with how often."""
    (block,) = weighted(rows, SCHEMA).split(SCHEMA.box, 1, 3)
    return Counter(map(tuple, block.tolist()))


BEFORE = shown(rows_of(framed(RECORDS), schema=SCHEMA))


@pytest.mark.parametrize("name", NEW)
def test_a_record_more_in_a_file_or_a_frame_is_so_many_equal_rows(name, tmp_path):
    *record, copies = NEW[name]
    for place in (0, 70, len(RECORDS)):
        grown = [*RECORDS[:place], tuple(record), *RECORDS[place:]]
        path = filed(tmp_path, str(place), grown)
        found = [shown(rows_of(framed(grown), schema=SCHEMA)), shown(rows_of(path, schema=SCHEMA))]
        with tiny():
            found.append(shown(rows_of(path, schema=SCHEMA)))
        for after in found:
            assert not BEFORE - after
            assert sorted((after - BEFORE).values()) == [copies] * bool(copies)


def test_copies_are_the_weights_and_are_summed_exactly():
    words = {"": 0, "-2": 0, "1.4": 1, "9": 3, **{str(i): i for i in range(4)}}
    assert BEFORE.total() == sum(words[w] for *_, w in RECORDS)
    opened = curator(framed(RECORDS), noise=NoNoise())
    share = opened.reserve("law", Caps(pure=Fraction(1))).rest("pure")
    assert opened.counts(Grid(1, 2), share=share).values.tolist() == [BEFORE.total()]


@pytest.mark.parametrize(
    ("method", "budget"), [p for p in PAYABLE if p[1] in ("pure", "approximate")]
)
def test_a_record_more_loses_no_more_than_was_charged(method, budget):
    few = ("the most", "more than the most", "a missing weight")
    names = NEW if method in ("auto", "dplloyd", "eugkm") else few
    one = curator(framed(RECORDS))
    assert one.rows_per_neighbour == MOST
    account, centers = run(one, method, budget=budget)
    for name in names:
        *record, copies = NEW[name]
        other = curator(framed([*RECORDS, tuple(record)]))
        other.replay = one.transcript
        _, again = run(other, method, budget=budget)
        np.testing.assert_array_equal(centers.points, again.points)
        lost, _ = check_transcripts(one, other, account)
        assert copies or not lost, "a row of no copies is no row"


def test_the_charge_is_used_up_by_a_row_of_the_largest_weight():
    lost = {}
    for name in ("the most", "one copy"):
        grown = framed([*RECORDS, NEW[name][:3]])
        lost[name], charged = check_replay(
            curator(framed(RECORDS)), curator(grown), "dplloyd", "pure"
        )
    assert charged * Fraction(99, 100) < lost["the most"] <= charged
    assert lost["one copy"] <= charged / MOST


PEOPLE = Schema(a=Number(0, 1), b=Number(-3, 3), w=Weight(0, MOST), groups="who")


def owned(records, owners):
    return framed(records).assign(who=owners)


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("method", ["dplloyd", "auto", "eugkm", "gkm", "maxcover"])
def test_a_person_more_loses_no_more_than_was_charged(method, most):
    budget = "approximate" if method in NEEDS_DELTA else "pure"
    owners = [i % 40 for i in range(len(RECORDS))]
    crowd = owned([*RECORDS, *[("1", "3", "1e9")] * 9], [*owners, *["new"] * 9])
    settings = {"schema": PEOPLE, "max_rows_per_group": most}
    one, other = curator(owned(RECORDS, owners), **settings), curator(crowd, **settings)
    assert one.rows_per_neighbour == most * MOST
    assert one.neighbours == f"one group of at most {most} row{'s' * (most > 1)}"
    lost, charged = check_replay(one, other, method, budget)
    assert 0 < lost <= charged
    if method == "dplloyd":
        assert lost > charged * Fraction(99, 100)


def test_rows_per_group_that_are_chosen_keep_their_copies():
    many, owners = RECORDS * 20, [i % 300 for i in range(20 * len(RECORDS))]
    one = curator(owned(many, owners), schema=PEOPLE, max_rows_per_group="private")
    limit = int(one.neighbours.split()[-2])
    assert one.rows_per_neighbour == limit * MOST > MOST
    crowd = owned([*many, *[("1", "3", "9")] * 99], [*owners, *["new"] * 99])
    for each in (one, one.over(["b"]), one.over(["b", "a"])):
        assert (each.rows_per_neighbour, each.neighbours) == (limit * MOST, one.neighbours)
    fixed = {"schema": PEOPLE, "max_rows_per_group": limit}
    lost, charged = check_replay(
        curator(owned(many, owners), **fixed), curator(crowd, **fixed), "dplloyd", "pure"
    )
    assert charged * Fraction(99, 100) < lost <= charged


def test_blocks_by_hash_change_in_one_block_alone():
    parts, key = 7, 11

    def blocks(records):
        rows = weighted(rows_of(framed(records), schema=SCHEMA), SCHEMA)
        return [Counter(map(tuple, b.tolist())) for b in rows.split(SCHEMA.box, parts, key)]

    before = blocks(RECORDS)
    for *record, copies in NEW.values():
        after = blocks([*RECORDS, tuple(record)])
        moved = [now - then for then, now in zip(before, after, strict=True)]
        assert sorted(m.total() for m in moved) == [0] * (parts - 1) + [copies]


def test_a_view_and_a_part_have_the_copies_of_their_rows():
    frame = framed(RECORDS).assign(region=["north", "south"] * 75)
    whole = curator(frame)
    view = whole.view(Projection(np.array([[1, 2]]), np.array([30, -40]), 1))
    part = whole.by("region", values=["north"])["north"]
    assert view.rows_per_neighbour == part.rows_per_neighbour == MOST
    share = part.reserve("law", Caps(pure=Fraction(1))).rest("pure")
    part.counts(Grid(1, 2), share=share)
    assert part.transcript.mechanisms[0].scale == MOST
    assert (
        part.transcript.exact[0].sum()
        == shown(rows_of(frame[frame.region == "north"], schema=SCHEMA)).total()
    )


def test_levels_of_categories_count_with_their_weights():
    schema = Schema(c=Category("x", "y"), w=Weight(0, 5))
    frame = pd.DataFrame({"c": ["x", "y", "z", "x"], "w": [5, 2, 4, 9]})
    opened = curator(frame, schema=schema, noise=NoNoise())
    share = opened.reserve("law", Caps(pure=Fraction(1))).rest("pure")
    query = Breakdown(Nearest(np.zeros((1, 2))), (Slices(0, (0,)),))
    (answer,) = opened.breakdown(query, share=share)
    assert answer.values.tolist() == [[2, 10]]


def test_copies_of_copies_are_refused():
    """They would be more than the noise is for."""
    rows = weighted(rows_of(framed(RECORDS), schema=SCHEMA), SCHEMA)
    assert isinstance(rows, WeightedRows)
    with pytest.raises(TypeError, match="have weights already"):
        Curator(rows, schema=Schema(a=Number(0, 1), w=Weight(0, 3)), epsilon=1.0)
    with pytest.raises(ValueError, match="bounds of their schema"):
        rows.fold(BOX, CELLS)
    with pytest.raises(ValueError, match="bounds of their schema"):
        rows.split(SCHEMA.row_box, 1, 0)


def test_methods_are_shown_no_more_than_the_transcript():
    """Rows of no copies leave no trace at all: not in an answer, not in a scale."""
    nothing = [tuple(record) for *record, copies in NEW.values() if not copies]
    one, other = curator(framed(RECORDS)), curator(framed([*nothing, *RECORDS, *nothing]))
    for each in (one, other):
        run(each, "auto")
    assert one.transcript.mechanisms == other.transcript.mechanisms
    for mine, theirs in zip(one.transcript.released, other.transcript.released, strict=True):
        np.testing.assert_equal(mine, theirs)

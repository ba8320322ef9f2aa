"""One record more in a file is one row more at most, one group more at most m rows. From the bytes.

Exact, without noise: all rows that a curator can see, of a source and of the same source with one
record or one whole group more. Dask, Spark and COMPSs: tests/engines/test_sources.py.
"""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sfumato.engines._files import TableFile, open_file
from sfumato.engines._memory import ArrayRows
from sfumato.engines.formats._records import _checked
from tests.laws.sources import (
    BOX,
    CELLS,
    HOSTILE,
    KINDS,
    OTHERS,
    SPELLINGS,
    TEXTS,
    TIMES,
    check_grown,
    seen,
    write_parquet,
    write_text,
)
from tests.unit.cuts import tiny

WAYS = {"memory": nullcontext, "pieces": tiny}

many = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
cells = st.sampled_from([*CELLS, *HOSTILE])
records = st.tuples(cells, cells, st.sampled_from(["a", "b"]))
layouts = st.fixed_dictionaries(
    {
        "header": st.booleans(),
        "end": st.sampled_from(["\n", "\r\n", "\r"]),
        "last": st.booleans(),
        "always": st.booleans(),
    }
)
PLAIN = {"header": False, "end": "\n", "last": True, "always": False}


def opened(folder, kind, rows, layout, cut=0, **groups):
    """What the curator sees of these records, in memory and in pieces."""
    _checked.cache_clear()
    file = write_text(folder, kind, rows, cut=cut, **layout)
    found = []
    for way in WAYS.values():
        with way():
            found.append(seen(open_file(file, **groups)))
    assert found[0] == found[1]
    return found[0]


@many
@given(
    st.sampled_from(TEXTS),
    st.lists(records, max_size=6),
    records,
    st.integers(0, 6),
    layouts,
)
@example("csv", [("1", "2", "a")] * 5, ("\n".join(["5,5,5"] * 200), "3", "a"), 2, PLAIN)
@example("csv", [("1", "2", "a")] * 5, ("1;5", "3", "a"), 0, PLAIN)
@example("csv", [("1", "2", "a")] * 5, ("x,y,who", "\n", "a"), 0, PLAIN)
@example("csv", [("1", '"', "a")] * 5, ('"\n"', '\n"', "a"), 3, {**PLAIN, "header": True})
@example("csv", [], ("1", "2", "a"), 0, PLAIN)
@example("csv", [("\ufeff1", "2", "a")] * 2, ("\ufeff3", "2", "a"), 0, PLAIN)
@example("csv.gz", [("\n", "2", "a")] * 3, ("\r", "\r\n", "a"), 3, PLAIN)
@example("tsv", [("\t", "2", "a")] * 3, ("1\t2", "5", "a"), 0, {**PLAIN, "last": False})
@example("folder", [("1", "2", "a")] * 6, ("\n\n", "5", "a"), 3, {**PLAIN, "end": "\r\n"})
@example("latin.csv", [("1", "é\n,", "a")] * 6, ('é"\n"', "\n" * 40, "a"), 3, PLAIN)
@example("wide.csv", [("1", "é\n,", "a")] * 6, ('é"\n"', "\n" * 40, "a"), 3, PLAIN)
def test_a_record_more_is_one_row_more(tmp_path_factory, kind, base, new, place, layout):
    folder = tmp_path_factory.mktemp("source")
    place = min(place, len(base))
    grown = [*base[:place], new, *base[place:]]
    before = opened(folder / "before", kind, base, layout, cut=place)
    after = opened(folder / "after", kind, grown, layout, cut=place)
    check_grown(before, after, 1)
    assert after - before == opened(folder / "alone", "csv", [new], PLAIN)


# Text that no careful writer would write.
raw = st.text(st.sampled_from('",;a1 \t'), max_size=12)


@many
@given(st.sampled_from(["csv", "csv.gz"]), st.lists(records, max_size=5), raw, st.integers(0, 5))
@example("csv", [("1", "2", "a")] * 3, '1,"2,3', 1)
@example("csv", [("1", ",", "a")] * 3, '1,"2,3', 0)
@example("csv", [("1", "2", "a")] * 3, '1,2"3', 3)
@example("csv", [("1", "2", "a")] * 3, '"1"2,3', 3)
@example("csv", [("1", "2", "a")] * 3, "1;2;3;4,5,6,7", 0)
def test_a_record_that_has_no_one_meaning_is_refused_or_one_row(
    tmp_path_factory, kind, base, new, place
):
    folder = tmp_path_factory.mktemp("source")
    grown = [*base[:place], new, *base[place:]]
    before = opened(folder / "before", kind, base, PLAIN)
    try:
        after = opened(folder / "after", kind, grown, PLAIN)
    except ValueError:
        # Refused when it is opened, before anything is charged: by its quotes alone.
        assert '"' in new
        return
    check_grown(before, after, 1)


people = st.sampled_from(sorted(SPELLINGS))


@many
@given(
    st.sampled_from(TEXTS),
    people,
    st.lists(st.tuples(cells, cells, st.sampled_from(OTHERS)), max_size=6),
    st.lists(st.tuples(cells, cells, st.integers(0, 8), st.integers(0, 9)), max_size=6),
    st.integers(1, 3),
    layouts,
)
@example("csv", "7", [("1", "2", "8")] * 3, [("5", "5", i, i) for i in range(6)], 1, PLAIN)
@example("folder", "7", [("1", "2", "8")], [("5", "5", i, 9 - i) for i in range(6)], 2, PLAIN)
@example("csv", "missing", [("1", "2", "8")] * 3, [("5", "5", i, i) for i in range(9)], 1, PLAIN)
@example("tsv", "a note", [("1", "2", "bob")] * 3, [("5", "5", i, 0) for i in range(3)], 1, PLAIN)
@example(
    "latin.csv", "a note", [("1", "2", "é")] * 3, [("5", "é", i, 0) for i in range(3)], 1, PLAIN
)
@example("wide.csv", "7", [("1", "2", "é")] * 3, [("5", "é", i, i) for i in range(6)], 1, PLAIN)
@example("csv", "bytes", [("1", "2", "\udcfe")] * 3, [("5", "5", i, 0) for i in range(3)], 1, PLAIN)
@example("csv", "day", [("1", "2", "Ann")] * 3, [("5", "5", i, 3) for i in range(3)], 2, PLAIN)
@example("csv", "big", [("1", "2", "Ann")] * 3, [("5", "5", i, 3) for i in range(3)], 2, PLAIN)
def test_a_group_more_is_m_rows_more_however_its_label_is_written(
    tmp_path_factory, kind, person, base, more, most, layout
):
    folder = tmp_path_factory.mktemp("source")
    groups = {"groups": "who" if layout["header"] else 2, "max_rows_per_group": most}
    spelled = SPELLINGS[person]
    grown = list(base)
    for x, y, how, place in more:
        grown.insert(min(place, len(grown)), (x, y, spelled[how % len(spelled)]))
    before = opened(folder / "before", kind, base, layout, len(base) // 2, **groups)
    after = opened(folder / "after", kind, grown, layout, len(grown) // 2, **groups)
    check_grown(before, after, most)
    assert (after - before).total() == min(most, len(more))


ids = st.integers(0, 9) | st.none()


@many
@given(
    st.sampled_from([KINDS, TIMES]),
    st.tuples(*[st.integers(0, 99)] * 4),
    st.lists(ids, max_size=8),
    st.lists(ids, max_size=8),
    ids,
    st.integers(1, 3),
    st.integers(0, 2),
)
@example(KINDS, (0, 1, 2, 3), [1, 2, 2, None], [2, 3], 7, 1, 2)
@example(KINDS, (4, 5, 6, 7), [1, 1, 9], [1, None, 4], 0, 2, 1)
@example(TIMES, (0, 1, 1, 0), [3, 3, 5], [3, None, 5, 6], 2, 2, 0)
@example(KINDS, (3, 0, 5, 1), [], [5] * 8, None, 3, 1)
def test_typed_files_hold_one_person_under_one_label(
    tmp_path_factory, kinds, types, first, second, new, most, more
):
    names = sorted(kinds)
    one, other, grown_one, grown_other = (names[number % len(names)] for number in types)
    bases = [[i for i in part if i != new] for part in (first, second)]
    before = typed(tmp_path_factory, kinds, (one, other), bases, most)
    grown = [[*bases[0], *[new] * more], [*[new] * (3 - more), *bases[1]]]
    after = typed(tmp_path_factory, kinds, (grown_one, grown_other), grown, most)
    check_grown(before, after, most)
    assert (after - before).total() == min(most, 3)


def typed(factory, kinds, names, parts, most):
    """What is seen of two files with ids of these types; the same in memory."""
    rng = np.random.default_rng(1)
    values = {i: rng.uniform(0, 10, 2) for i in [None, *range(10)]}
    tables = [
        (np.array([values[i] for i in part]).reshape(-1, 2), kinds[name](part))
        for part, name in zip(parts, names, strict=True)
    ]
    file = write_parquet(factory.mktemp("typed") / "parts", tables)
    found = []
    for way in WAYS.values():
        with way():
            found.append(seen(open_file(file, groups="who", max_rows_per_group=most)))
    labels = [label for _, column in tables for label in column.to_pylist()]
    together = np.concatenate([rows for rows, _ in tables])
    memory = ArrayRows(together, groups=labels, max_rows_per_group=most)
    assert found[0] == found[1] == seen(memory)
    return found[0]


def counted(file, most=1):
    """How many rows of a file with groups are counted."""
    return seen(open_file(file, groups="who", max_rows_per_group=most)).total()


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("other", sorted(KINDS))
def test_a_hundred_people_in_two_files_and_one_without_an_id(tmp_path, kind, other):
    """A row without an id makes pandas write all others as floating point."""
    values, people = np.full((101, 2), 5.0), list(range(100))
    one, both = (values[:100], KINDS[kind](people)), (values[:100], KINDS["int64"](people))
    assert counted(write_parquet(tmp_path / "a", [one, both])) == 100
    more = (values, KINDS[other]([*people, None]))
    assert counted(write_parquet(tmp_path / "b", [one, more])) == 101
    again = (values, KINDS[kind]([*people, None]))
    assert counted(write_parquet(tmp_path / "c", [again, more])) == 101


@pytest.mark.parametrize("kind", sorted(TIMES))
@pytest.mark.parametrize("other", sorted(TIMES))
def test_times_of_different_units_are_one_label(tmp_path, kind, other):
    days = [*range(7), None]
    tables = [(np.full((8, 2), 5.0), TIMES[how](days)) for how in (kind, other)]
    assert counted(write_parquet(tmp_path / "a", tables)) == 8


def test_formats_are_mixed(tmp_path):
    """Text, Parquet and an array, of the same people."""
    people = [*range(10), None]
    folder = tmp_path / "mixed"
    write_parquet(folder, [(np.full((11, 2), 5.0), KINDS["as pandas"](people))])
    lines = ["x,y,who", *(f"5,5,{'' if i is None else i}" for i in people)]
    (folder / "part-1.csv").write_text("\n".join(lines))
    assert counted(TableFile(folder, ("x", "y"))) == 11


@pytest.mark.parametrize("m", [1, 2])
def test_numbers_in_arrays_on_disk_are_labels_as_in_memory(tmp_path, m):
    rows = np.array([[1, 2, 7], [3, 4, 7], [5, 6, np.nan], [7, 8, np.inf], [9, 1, -0.0], [2, 2, 0]])
    np.save(tmp_path / "rows.npy", rows)
    found = seen(open_file(tmp_path / "rows.npy", groups=2, max_rows_per_group=m))
    assert found == seen(ArrayRows(rows[:, :2], groups=rows[:, 2], max_rows_per_group=m))
    assert found.total() == 3 * m


@given(st.lists(records, max_size=5), st.integers(0, 4))
@example([(cell, other, "a") for cell, other in zip(CELLS, reversed(CELLS), strict=True)], 0)
@example([(cell, "1", "b") for cell in HOSTILE], 1)
def test_text_is_seen_as_the_same_cells_in_memory(tmp_path_factory, base, seed):
    """No reading of ours: the cells are put into an array by Python's own float."""
    folder = tmp_path_factory.mktemp("source") / "rows"
    found = opened(folder, "csv", base, {**PLAIN, "header": bool(seed % 2)})

    def number(cell):
        cell = cell.replace("\ufeff", "")
        try:
            return float(cell) if cell.isascii() and "_" not in cell else np.nan
        except ValueError:
            return np.nan

    values = np.array([[number(x), number(y)] for x, y, _ in base]).reshape(-1, 2)
    assert found == seen(ArrayRows(values), BOX)

"""Files that are read in pieces: how they are found, cut, stamped, and what is held of them."""

import gzip
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import _files as files
from sfumato.engines import _partitions as pieces
from sfumato.engines._files import FileEngine, TableFile, in_memory_bytes, layout_of, open_file
from sfumato.engines._memory import ArrayRows
from sfumato.engines._open import is_path
from sfumato.engines._partitions import PartedRows, pieces_of
from sfumato.engines.formats import _records as records
from sfumato.engines.formats._records import spans_of
from sfumato.engines.formats._storage import StoredFile, stored
from sfumato.engines.formats._text import TextFile
from tests.unit.cuts import write_csv, write_parquet
from tests.unit.rows import BOX, VALUES, Totals, fold

EXPECTED = fold(VALUES)


@pytest.fixture
def out_of_core(monkeypatch):
    monkeypatch.setattr(files, "_IN_MEMORY", -1)
    monkeypatch.setattr(pieces, "_PIECE_CELLS", 90)
    monkeypatch.setattr(records, "_GRAIN", 1)


def test_small_files_are_kept_and_large_ones_are_not(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "rows.parquet", VALUES, [50])
    lattice = VALUES.size * 2
    for limit, kind in ((lattice, ArrayRows), (lattice - 1, PartedRows)):
        monkeypatch.setattr(files, "_IN_MEMORY", limit)
        assert type(open_file(path)) is kind
    monkeypatch.setenv("SFUMATO_LATTICE_MB", "1")
    assert in_memory_bytes() == 10**6
    assert type(open_file(path)) is ArrayRows
    monkeypatch.setenv("SFUMATO_LATTICE_MB", "0")
    assert type(open_file(path)) is PartedRows
    monkeypatch.setenv("SFUMATO_LATTICE_MB", "-1")
    with pytest.raises(ValueError, match="SFUMATO_LATTICE_MB"):
        open_file(path)


def test_gzipped_text_is_one_piece(tmp_path, out_of_core):
    plain = write_csv(tmp_path / "rows.csv", VALUES)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert len(pieces_of(layout_of(plain, header=True))) > 3
    assert len(pieces_of(layout_of(tmp_path / "rows.csv.gz", header=True))) == 1
    rows = open_file(tmp_path / "rows.csv.gz", header=True)
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), EXPECTED)


@pytest.mark.parametrize("step", [1, 2, 5, 11, 40, 1000])
@pytest.mark.parametrize("start", [0, 4])
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a,b",
        b"a,b\nc\n\nccc\r\nd",
        b"\n\n\n\n\n\n",
        b"a,b\n" + b"x" * 99 + b"\ny\n",
        b'a,b\n1,"x\n\ny\n"\n"\n",2\n3,4\n',
    ],
)
def test_spans_begin_where_records_do_and_hold_every_byte(tmp_path, text, step, start, monkeypatch):
    monkeypatch.setattr(records, "_GRAIN", 1)
    path = tmp_path / f"{len(text)}.csv"
    path.write_bytes(text)
    spans = spans_of(TextFile(StoredFile.at(str(path))), ",", start, step)
    assert b"".join(text[a:b] for a, b in spans) == text[start:]
    for a, _ in spans[1:]:
        assert text[a - 1 : a] == b"\n"
        assert text[:a].count(b'"') % 2 == 0
    assert step > 1 or len(spans) >= text[start:].count(b"\n") // 3


def test_row_groups_are_taken_together_until_there_are_enough_rows(tmp_path, monkeypatch):
    path = write_parquet(tmp_path / "rows.parquet", VALUES, list(range(10, 200, 10)))
    layout = layout_of(path)
    assert [piece.table.span for piece in pieces_of(layout)] == [(0, 20)]
    monkeypatch.setattr(pieces, "_PIECE_CELLS", 75)
    spans = [piece.table.span for piece in pieces_of(layout)]
    assert spans == [(i, min(i + 3, 20)) for i in range(0, 20, 3)]


def test_a_parquet_file_without_rows_has_a_piece(tmp_path, out_of_core):
    pq.write_table(pa.table({c: pa.array([], pa.float64()) for c in "abc"}), tmp_path / "a.parquet")
    rows = open_file(tmp_path / "a.parquet")
    assert rows.fold(BOX, Totals()).sum() == 0
    assert [len(block) for block in rows.split(BOX, 3, 1)] == [0, 0, 0]


def test_pieces_travel_by_absolute_path_and_hold_no_rows(tmp_path, monkeypatch):
    write_parquet(tmp_path / "rows.parquet", VALUES, [50])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pieces, "_PIECE_CELLS", 90)
    found = pieces_of(layout_of("rows.parquet"))
    monkeypatch.chdir("/")
    sent = [pickle.dumps(piece) for piece in found]
    assert max(map(len, sent)) < 2000
    blocks = [block for piece in sent for block in pickle.loads(piece).blocks()]
    np.testing.assert_array_equal(np.concatenate(blocks), VALUES)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_files_that_change_are_refused(tmp_path, out_of_core, kind):
    path = tmp_path / f"rows.{kind}"
    write = {
        "csv": lambda: write_csv(path, VALUES),
        "parquet": lambda: write_parquet(path, VALUES, [50]),
        "npy": lambda: np.save(path, VALUES),
    }[kind]
    write()
    rows = open_file(path, header=True)
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), EXPECTED)
    write()
    os.utime(path, ns=(1, 1))
    with pytest.raises(RuntimeError, match=f"rows.{kind} has changed since it was opened"):
        rows.fold(BOX, Totals())


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, out_of_core):
    path = write_parquet(tmp_path / "rows.parquet", VALUES, [])
    (piece,) = pieces_of(layout_of(path))
    blocks = piece.blocks()
    next(blocks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(RuntimeError, match="has changed"):
        list(blocks)


def test_a_file_is_counted_once(tmp_path):
    path = write_parquet(tmp_path / "rows.parquet", VALUES, [])
    for paths in ([path, path], [path, tmp_path], [tmp_path / "*.parquet", path]):
        with pytest.raises(ValueError, match="given twice"):
            open_file(paths)


def test_folders_are_read_in_order_of_names_and_without_marks(tmp_path):
    for name in ("b.csv", "a.csv", "_c.csv", ".d.csv", "e.txt"):
        (tmp_path / name).write_text("x\n1\n")
    (tmp_path / "inner.csv").mkdir()
    assert [file.name for file in stored(tmp_path, (".csv",))] == ["a.csv", "b.csv"]
    with pytest.raises(ValueError, match="no file was given"):
        stored([], (".csv",))


def test_names_with_marks_of_patterns_are_files_if_they_are_there(tmp_path):
    (tmp_path / "[1].csv").write_text("x\n1\n")
    (tmp_path / "1.csv").write_text("x\n1\n")
    assert [file.name for file in stored(tmp_path / "[1].csv", (".csv",))] == ["[1].csv"]
    (tmp_path / "[1].csv").unlink()
    assert [file.name for file in stored(tmp_path / "[1].csv", (".csv",))] == ["1.csv"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "csv.gz"])
def test_addresses_are_read_as_paths_are(tmp_path, out_of_core, kind):
    path = tmp_path / f"rows.{kind}"
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "parquet":
        write_parquet(path, VALUES, [50, 120])
    else:
        plain = write_csv(tmp_path / "plain.csv", VALUES)
        zipped = gzip.compress(plain.read_bytes())
        path.write_bytes(zipped if kind == "csv.gz" else plain.read_bytes())
        plain.unlink()
    rows = open_file(f"file://{path}", header=True)
    np.testing.assert_array_equal(rows.fold(BOX, Totals()), EXPECTED)
    os.utime(path, ns=(1, 1))
    with pytest.raises(RuntimeError, match="has changed"):
        rows.fold(BOX, Totals())


def test_files_read_together_have_the_same_columns(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    for other in ("y,x\n1,2\n", "x\n1\n", "3,4\n"):
        (tmp_path / "b.csv").write_text(other)
        with pytest.raises(ValueError, match=r"b\.csv has other columns than .*a\.csv"):
            open_file(tmp_path, header=True)
    write_parquet(tmp_path / "a.parquet", VALUES, [])
    pq.write_table(pa.table({"a": ["x"], "b": ["y"], "c": ["z"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="must hold numbers"):
        open_file(tmp_path / "*.parquet")


def test_what_is_a_path():
    assert all(map(is_path, ("a", ["a", "b"], ("a",), Path("a"), [Path("a")], TableFile("a"))))
    assert not any(map(is_path, ([], [[1, 2]], [1.0], np.zeros((2, 2)), None, ["a", 1])))


def test_threads_share_the_pieces(tmp_path, out_of_core, monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "2")
    both, seen = threading.Barrier(2, timeout=20), set()

    class Together(Totals):
        def add(self, rows, state):
            if threading.get_ident() not in seen:
                seen.add(threading.get_ident())
                both.wait()
            super().add(rows, state)

    rows = open_file(write_parquet(tmp_path / "rows.parquet", VALUES, [50, 100, 150]))
    np.testing.assert_array_equal(rows.fold(BOX, Together()), EXPECTED)
    assert len(seen) == 2


def test_large_states_are_not_multiplied_by_the_threads(tmp_path, out_of_core, monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", "4")
    alive, most = [0], [0]
    lock = threading.Lock()

    class Large(Totals):
        def empty(self):
            return np.zeros((8, 4), dtype=np.int64)

        def add(self, rows, state):
            with lock:
                alive[0] += 1
                most[0] = max(most[0], alive[0])
            super().add(rows, state)
            with lock:
                alive[0] -= 1

    monkeypatch.setattr(files, "_STATE_BYTES", 8 * 4 * 8)
    rows = open_file(write_parquet(tmp_path / "rows.parquet", VALUES, [50, 100, 150]))
    np.testing.assert_array_equal(rows.fold(BOX, Large()), EXPECTED)
    assert most == [1]


def test_groups_are_held_in_few_bytes(tmp_path, out_of_core):
    labels = [f"person {i % 70}" for i in range(len(VALUES))]
    path = write_parquet(tmp_path / "rows.parquet", VALUES, [50, 100], labels)
    engine = FileEngine(layout_of(path, groups="who"), 2)
    assert engine.max_rows_per_group == 2
    assert {codes.dtype for codes in engine._groups} == {np.dtype(np.uint8)}
    found = PartedRows(engine).fold(BOX, Totals())
    assert found[:, 0].sum() == 140
    np.testing.assert_array_equal(found, fold(VALUES, groups=labels, max_rows_per_group=2))


def test_groups_that_lie_in_several_pieces(tmp_path, out_of_core):
    labels = [f"p{i % 17}" if i % 5 else ["", "NA"][i % 2] for i in range(len(VALUES))]
    rows = open_file(write_csv(tmp_path / "rows.csv", VALUES, labels), groups="who", header=True)
    assert rows._engine.n_parts > 3
    local = ArrayRows(VALUES, groups=labels)
    sizes = rows.group_sizes(50)
    np.testing.assert_array_equal(sizes, local.group_sizes(50))
    assert (sizes.sum(), sizes[39]) == (18, 1), "rows without a label are one group"
    rows.fold(BOX, Totals())
    for most in (3, 2):
        other = rows.keeping(most)
        assert (rows.max_rows_per_group, other.max_rows_per_group) == (1, most)
        wanted = local.keeping(most).fold(BOX, Totals())
        np.testing.assert_array_equal(other.fold(BOX, Totals()), wanted)


def test_too_many_columns_are_refused(tmp_path, out_of_core, monkeypatch):
    monkeypatch.setattr("sfumato.engines._memory.MAX_FEATURES", 2)
    with pytest.raises(ValueError, match="3 columns; at most 2"):
        open_file(write_parquet(tmp_path / "rows.parquet", VALUES, []))

"""Tables of the benches: they grow by rows, and are replaced in one step."""

import os

import pytest

from bench.growing_tables import THREADS, append_row, in_processes, read_rows, write_rows


def test_a_table_grows_under_one_head(tmp_path):
    path = tmp_path / "new" / "table.csv"
    assert read_rows(path) == []
    append_row(path, ["a", "b"], [1, "x, y"])
    append_row(path, ["a", "b"], [2, ""])
    assert path.read_bytes() == b'a,b\n1,"x, y"\n2,\n'
    assert read_rows(path) == [{"a": "1", "b": "x, y"}, {"a": "2", "b": ""}]


def test_a_table_that_cannot_be_written_stays_as_it_was(tmp_path):
    path = tmp_path / "table.csv"
    write_rows(path, ["a"], [[1]])

    def rows():
        yield [2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(path, ["a"], rows())
    assert read_rows(path) == [{"a": "1"}]


def test_tasks_are_done_in_processes_of_one_thread(monkeypatch):
    for name in THREADS:
        monkeypatch.setenv(name, "2")
    assert list(in_processes(os.getenv, [], 2)) == []
    assert list(in_processes(os.getenv, list(THREADS), 1)) == ["1"] * len(THREADS)

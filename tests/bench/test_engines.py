"""The benches of memory and growth: what they make, keep, resume and judge."""

import pyarrow.parquet as pq
import pytest

from bench import engines, engines_files, engines_growth, engines_memory
from bench.growing_tables import read_rows


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_BENCH_FOLDER", str(tmp_path / "files"))
    monkeypatch.setenv("SFUMATO_LATTICE_MB", "0")
    monkeypatch.setattr(engines_files, "GROUP_ROWS", 500)
    monkeypatch.setattr(engines_memory, "TABLE", tmp_path / "memory.csv")
    return tmp_path


@pytest.mark.slow
def test_memory_is_measured_once_for_every_method_and_leaves_no_file(here, monkeypatch, capsys):
    engines.main(["memory", "--rows=2000"])
    rows = read_rows(engines_memory.TABLE)
    assert [row["method"] for row in rows] == ["dplloyd", "auto"]
    assert all(0 < float(row["peak_mb"]) < 2000 for row in rows)
    assert all(int(row["passes"]) >= 3 for row in rows)
    assert capsys.readouterr().out.count("| 2,000 x 8 |") == 2
    assert list((here / "files").iterdir()) == []
    monkeypatch.setattr(engines_memory, "fit_alone", None)
    engines.main(["memory", "--rows=2000"])
    assert read_rows(engines_memory.TABLE) == rows


def test_the_page_shows_the_table():
    page = engines_memory.PAGE.read_text(encoding="utf-8")
    inside = page.partition(engines_memory.BEGIN)[2].partition(engines_memory.END)[0]
    assert inside.strip() == engines_memory.shown()
    assert all(
        float(row["peak_mb"]) <= engines_memory.MOST_MB for row in read_rows(engines_memory.TABLE)
    )


def test_files_are_whole_or_absent(here, monkeypatch):
    path = engines_files.made(engines_files.folder() / "rows.parquet", 1200)
    about = pq.ParquetFile(path).metadata
    assert (about.num_rows, about.num_columns, about.num_row_groups) == (1200, 8, 3)
    first = path.read_bytes()
    assert engines_files.made(path, 1200).read_bytes() == first
    monkeypatch.setattr(engines_files, "CLUSTERS", 0)
    with pytest.raises(ValueError):
        engines_files.made(engines_files.folder() / "other.parquet", 1200)
    assert not (engines_files.folder() / "other.parquet").exists()


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_power_of_a_power_law_is_found(power, capsys):
    sizes = [1.0, 2.0, 4.0, 8.0]
    found = engines_growth.exponent(sizes, [3 * size**power for size in sizes])
    assert found == pytest.approx(power)
    engines_growth.judge("cost", found)
    assert ("met" in capsys.readouterr().out) == (power == 1)


def test_unknown_parts_are_named():
    for words in ([], ["memory", "speed"], ["--fresh"]):
        with pytest.raises(SystemExit, match="parts: memory, growth"):
            engines.main(words)

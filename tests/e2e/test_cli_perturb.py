"""`sfumato perturb`: from file to file, block by block, whole or not at all."""

import gzip
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato._core.local.randomizer import Randomizer
from sfumato.cli import _rewrite as carrying
from sfumato.engines.formats import _csv as delimited
from sfumato.engines.formats import _table as tables
from tests.e2e.cli import BOUNDS, assert_refused, files, header, run

# So little noise that a report is its row, up to a few lattice steps of 100 / 65534.
EXACT = 1e6
CLOSE = {"atol": 0.02}
LOW, HIGH = (0, 0), (100, 80)


def perturb(data, *words, epsilon=EXACT, output="noisy.csv", bounds=BOUNDS):
    given = () if epsilon is None else ("--epsilon", epsilon)
    return run("perturb", data, *given, *bounds, "-o", output, *words)


def table(path, **how):
    return np.genfromtxt(path, delimiter=",", skip_header=1, **how)


def test_writes_a_report_for_every_row(people):
    result = perturb("people.csv")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    with open("noisy.csv") as file:
        assert file.readline() == "age,hours\n"
    np.testing.assert_allclose(table("noisy.csv"), people.clip(LOW, HIGH), **CLOSE)
    assert "1,000 reports written to noisy.csv" in result.stdout
    words = " ".join(result.stdout.split())
    assert "Two points r apart, in the units of the data, look alike within a factor" in words


def test_the_noise_is_new_in_every_run_and_as_wide_as_promised(people):
    for output in ("a.csv", "b.csv"):
        assert (
            perturb("people.csv", "--truncation", "none", epsilon=0.5, output=output).exit_code == 0
        )
    first, second = table("a.csv"), table("b.csv")
    assert (first != second).all(axis=1).mean() > 0.99
    lengths = np.sqrt(((first - people.clip(LOW, HIGH)) ** 2).sum(axis=1))
    # A mean of 1,000 Gamma(2) / 0.5 lengths: 6.2 deviations on both sides are 1e-9.
    assert abs(lengths.mean() - 4) < 6.2 * np.sqrt(2) / 0.5 / np.sqrt(1000)
    inside = table_of_clamped()
    assert inside.min() >= 0
    assert inside[:, 1].max() <= 80


def table_of_clamped():
    assert perturb("people.csv", epsilon=0.02, output="c.csv").exit_code == 0
    return table("c.csv")


@pytest.mark.parametrize("source", ["people.csv", "people.csv.gz", "people.npy", "bare.csv"])
@pytest.mark.parametrize("target", ["out.csv", "out.csv.gz", "out.tsv", "out.parquet"])
def test_from_every_format_to_every_format(people, source, target):
    bounds = ("--bounds", "0,100", "--bounds", "1=0,80")
    first = perturb(source, *header(source), output=target, bounds=bounds)
    assert first.exit_code == 0, first.stderr
    named = "people.csv" in source or target == "out.parquet"
    words = ("--header",) if named else ("--no-header", "--columns", 2)
    again = run("perturb", target, "--epsilon", EXACT, *bounds, "-o", "back.csv", *words)
    assert again.exit_code == 0, again.stderr
    np.testing.assert_allclose(
        np.loadtxt("back.csv", delimiter=",", skiprows=int(named)), people.clip(LOW, HIGH), **CLOSE
    )
    if named:
        wanted = "age,hours" if "people.csv" in source else "0,1"
        with open("back.csv") as file:
            assert file.readline().strip() == wanted


def test_other_columns_are_carried_only_when_told(people, here):
    words = ("--columns", "hours,age")
    result = perturb("visits.csv", *words)
    assert result.exit_code == 0, result.stderr
    assert (here / "noisy.csv").read_text().startswith("age,hours\n")
    assert "Columns left out: id, town." in result.stdout
    result = perturb("visits.csv", *words, "--keep", "id")
    lines = (here / "noisy.csv").read_text().splitlines()
    assert lines[0] == "id,age,hours"
    assert [line.split(",")[0] for line in lines[1:]] == [f"p{i // 4}" for i in range(1000)]
    assert "outside the guarantee: id" in " ".join(result.stdout.split())
    assert "left out: town" in result.stdout
    # All that is not kept is perturbed if nothing else is said.
    assert perturb("visits.csv", "--keep", "id,town").exit_code == 0
    assert (here / "noisy.csv").read_text().startswith("id,age,hours,town\n")
    kept = table("noisy.csv", usecols=(1, 2))
    np.testing.assert_allclose(kept, people.clip(LOW, HIGH), **CLOSE)


def test_names_and_texts_with_delimiters_survive(here):
    (here / "in.csv").write_text('"who, where",x;y\n"Ann ""A"", Ulm",1\n"b\tc",2\n,3\n')
    result = run(
        "perturb", "in.csv", "--epsilon", EXACT, "--bounds", "0,10", "--keep", '"who, where"',
        "-o", "out.csv",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    lines = (here / "out.csv").read_text().splitlines()
    assert lines[0] == '"who, where",x;y'
    assert lines[1].startswith('"Ann ""A"", Ulm",')
    assert lines[2].startswith("b\tc,")
    assert lines[3].startswith(",")


def test_semicolons_stay_semicolons(here):
    (here / "in.csv").write_text("a;b\n1;2\n3;4\n")
    assert perturb("in.csv", "--header", bounds=("--bounds", "0,10"), output="o.csv").exit_code == 0
    assert (here / "o.csv").read_text().startswith("a;b\n")


def test_parquet_keeps_types_nulls_and_order(here):
    ids = pa.array([2**60 + 1, None, 7] * 100)
    when = pa.array(np.arange(300), pa.timestamp("ms"))
    whole = pa.table({"id": ids, "x": np.linspace(0, 10, 300), "when": when, "y": np.zeros(300)})
    pq.write_table(whole, "in.parquet", row_group_size=64)
    words = ("--epsilon", EXACT, "--bounds", "0,10", "--keep", "when", "--keep", "id")
    assert run("perturb", "in.parquet", *words, "-o", "out.parquet").exit_code == 0
    out = pq.read_table("out.parquet")
    assert out.column_names == ["id", "x", "when", "y"]
    assert out["id"].combine_chunks().equals(ids)
    assert out["when"].combine_chunks().equals(when)
    np.testing.assert_allclose(out["x"].to_numpy(), np.linspace(0, 10, 300), atol=0.01)
    assert run("perturb", "in.parquet", *words, "-o", "out.csv").exit_code == 0
    first = (here / "out.csv").read_text().splitlines()[1]
    assert first.startswith(f"{2**60 + 1},")


@pytest.fixture
def gaps(here):
    (here / "gaps.csv").write_text("id,x,y\na,1,2\nb,,4\nc,5,inf\nd,7,8\n")
    return ("--bounds", "0,10", "--keep", "id")


@pytest.mark.parametrize("target", ["o.csv", "o.parquet"])
def test_missing_cells(gaps, target):
    def rows(nan):
        result = perturb("gaps.csv", "--nan", nan, "--json", output=target, bounds=gaps)
        assert result.exit_code == 0, result.stderr
        if target == "o.csv":
            return table(target, usecols=(1, 2)), json.loads(result.stdout)
        out = pq.read_table(target)
        assert out["id"].to_pylist() == (["a", "d"] if nan == "drop" else list("abcd"))
        assert out["x"].null_count == (1 if nan == "keep" else 0)
        columns = [out[name].to_numpy(zero_copy_only=False) for name in "xy"]
        return np.column_stack(columns).astype(float), json.loads(result.stdout)

    centered, said = rows("center")
    np.testing.assert_allclose(centered, [[1, 2], [5, 4], [5, 5], [7, 8]], **CLOSE)
    assert (said["rows"], said["rows_left_out"]) == (4, 0)
    kept, said = rows("keep")
    np.testing.assert_allclose(kept, [[1, 2], [np.nan, 4], [5, np.nan], [7, 8]], **CLOSE)
    assert "which cells are missing is not hidden" in said["receipt"]["notes"]
    dropped, said = rows("drop")
    np.testing.assert_allclose(dropped, [[1, 2], [7, 8]], **CLOSE)
    assert (said["rows"], said["rows_left_out"]) == (2, 2)
    assert any("left out" in note for note in said["receipt"]["notes"])


def test_json(people):
    words = ("--level", 1, "--radius", 4, "--units", "box", "--truncation", "resample", "--json")
    result = perturb("people.csv", *words, epsilon=None)
    said = json.loads(result.stdout)
    assert said["written_to"] == "noisy.csv"
    assert said["columns"] == ["age", "hours"]
    assert said["kept"] == said["left_out"] == []
    assert said["receipt"]["guarantee"]["kind"] == "metric"
    assert said["receipt"]["guarantee"]["epsilon"] == "1/4"
    assert "half-widths" in said["receipt"]["guarantee"]["in_words"]
    assert any("ε/2" in note for note in said["receipt"]["notes"])


def test_a_table_without_rows_stays_one(here):
    (here / "in.csv").write_text("a,b\n")
    for target in ("o.csv", "o.parquet"):
        bounds = ("--bounds", "0,1")
        assert perturb("in.csv", "--header", bounds=bounds, output=target).exit_code == 0
    assert (here / "o.csv").read_text() == "a,b\n"
    assert pq.read_table("o.parquet").schema.names == ["a", "b"]


def test_never_writes_over_its_input(people, here):
    os.symlink("people.csv", "link.csv")
    os.link("people.csv", "twin.csv")
    (here / "bounds.csv").write_text('{"age": [0, 100], "hours": [0, 80]}')
    before = files(here)
    for output in ("people.csv", "link.csv", "twin.csv", "./people.csv"):
        assert_refused(perturb("people.csv", output=output), "is an input")
    own = ("--bounds-file", "bounds.csv")
    assert_refused(perturb("people.csv", bounds=own, output="bounds.csv"), "is an input")
    assert files(here) == before


@pytest.mark.parametrize("target", ["noisy.csv", "noisy.csv.gz", "noisy.parquet"])
def test_appears_whole_or_not_at_all(people, here, monkeypatch, target):
    assert perturb("people.csv", output=target).exit_code == 0
    before = files(here)
    monkeypatch.setattr(delimited, "_CHARACTERS", 2000)
    right, calls = Randomizer.perturb, []

    def breaks(self, rows, mechanism, *, clamp=False):
        calls.append(len(rows))
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return right(self, rows, mechanism, clamp=clamp)

    monkeypatch.setattr(Randomizer, "perturb", breaks)
    assert_refused(perturb("people.csv", output=target), "No space left")
    assert len(calls) == 3
    assert files(here) == before


@pytest.mark.parametrize("source", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("target", ["noisy.csv", "noisy.parquet"])
def test_holds_one_block_at_a_time(people, monkeypatch, source, target):
    """Memory is flat: a block is read, perturbed and written before the next one is read."""
    pq.write_table(pa.table({"age": people[:, 0], "hours": people[:, 1]}), "people.parquet")
    monkeypatch.setattr(delimited, "_CHARACTERS", 1000)
    monkeypatch.setattr(tables, "_BLOCK_CELLS", 160)
    monkeypatch.setattr(tables, "_FEWEST", 1)
    events = []

    def spy(home, name, note):
        right = getattr(home, name)

        def spied(*args, **kwargs):
            found = right(*args, **kwargs)
            events.append((note, len(found) if note == "perturb" else None))
            return found

        monkeypatch.setattr(home, name, spied)

    def reading(layout, **how):
        for block in blocks(layout, **how):
            events.append(("read", len(block[0])))
            yield block

    blocks = carrying._blocks
    monkeypatch.setattr(carrying, "_blocks", reading)
    spy(Randomizer, "perturb", "perturb")
    spy(carrying.TextOut if target.endswith("csv") else carrying.ParquetOut, "write", "write")
    assert perturb(source, "--on-bad-row", "policy", output=target).exit_code == 0
    turns = [note for note, _ in events]
    assert turns == ["read", "perturb", "write"] * (len(turns) // 3)
    sizes = [size for note, size in events if note == "perturb"]
    assert sum(sizes) == 1000
    assert len(sizes) >= 12
    assert max(sizes) <= 100


def test_progress_is_shown_on_a_terminal_only(people, monkeypatch):
    shown = []

    class Terminal:
        def __enter__(self):
            return shown.append

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(delimited, "_CHARACTERS", 2000)
    monkeypatch.setattr("sfumato.cli._rewrite.progress", lambda doing: Terminal())
    assert perturb("people.csv").exit_code == 0
    assert shown[-1] == 1000
    assert shown == sorted(shown)
    assert len(shown) > 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", 1), "bounds are required"),
        (("--bounds", "0,100"), "either epsilon, or level and radius"),
        (("--bounds", "0,100", "--epsilon", 0), "epsilon must be a positive"),
        (("--bounds", "0,100", "--epsilon", 1, "--radius", 2), "epsilon=1.0, radius=2.0"),
        (("--bounds", "0,100", "--level", 1), "got level=1.0"),
        (("--bounds", "0,100", "--epsilon", 1, "--truncation", "fold"), "fold"),
        (("--bounds", "0,100", "--epsilon", 1, "--keep", "name"), "no column 'name'"),
        (
            ("--bounds", "0,100", "--epsilon", 1, "--columns", "age", "--keep", "age"),
            "kept as it is",
        ),
        (("--bounds", "0,100", "--epsilon", 1, "--keep", "age,hours"), "no column is left"),
        (("--bounds", "0,100", "--epsilon", 1, "-o", "noisy.txt"), "must end in .csv"),
        (("--bounds", "0,100", "--epsilon", 1, "-o", "nowhere/noisy.csv"), "no such directory"),
        (
            ("--bounds", "0,100", "--epsilon", 1e-6, "--truncation", "resample"),
            "'clamp' would work",
        ),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(people, here, words, said):
    before = files(here)
    output = () if "-o" in words else ("-o", "noisy.csv")
    assert_refused(run("perturb", "people.csv", "--header", *words, *output), said)
    assert files(here) == before


def test_text_is_refused_by_place_and_never_echoed(here):
    (here / "in.csv").write_text("age,hours\n20,secretive\n30,40\n")
    assert_refused(perturb("in.csv"), "line 2", "hours")
    assert "secretive" not in perturb("in.csv").stderr
    assert not (here / "noisy.csv").exists()
    assert perturb("in.csv", "--on-bad-row", "policy").exit_code == 0
    np.testing.assert_allclose(table("noisy.csv"), [[20, 40], [30, 40]], **CLOSE)


def test_zipped_tables_say_nothing_of_when_they_were_made(people, here):
    assert perturb("people.csv", output="noisy.csv.gz").exit_code == 0
    packed = (here / "noisy.csv.gz").read_bytes()
    assert packed[3:8] == bytes(5), "no name, no time"
    assert gzip.decompress(packed).startswith(b"age,hours\n")

"""`sfumato fit` over many files and on engines: what it takes, what it shows, how it is stopped."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.cli import _inputs as cli_engine
from sfumato.engines import _files as files
from sfumato.engines._files import open_file
from tests.e2e.cli import BOUNDS, assert_refused, fit
from tests.e2e.cli import files as all_files

NAMES = ["age", "hours"]
FIT = ("fit", "-k", "2", "--epsilon", "5", "-o", "model.json", "--force", "--json", *BOUNDS)


@pytest.fixture
def parts(people, here):
    """The people in three Parquet files of a folder, beside a mark that its writer left."""
    (here / "parts").mkdir()
    for i, rows in enumerate(np.array_split(people, 3)):
        table = pa.table({"age": rows[:, 0], "hours": rows[:, 1]})
        pq.write_table(table, here / "parts" / f"part-{i}.parquet")
    (here / "parts" / "_SUCCESS").touch()
    return sorted(f"parts/{name}" for name in os.listdir("parts") if name != "_SUCCESS")


@pytest.mark.parametrize("how", ["folder", "pattern", "list", "address", "far pattern"])
def test_many_files_are_one_table(parts, here, how):
    data = {
        "folder": ["parts"],
        "pattern": ["parts/part-*.parquet"],
        "list": parts,
        "address": [f"file://{here}/parts"],
        "far pattern": [f"file://{here}/parts/part-?.parquet"],
    }[how]
    shown = fit(data[0], *data[1:], *BOUNDS, "--json", "--n-rows", "1000", epsilon=10**6)
    told = json.loads(shown.stdout)
    assert told["feature_names"] == NAMES
    assert sum(told["cluster_sizes"]) == pytest.approx(1000, abs=0.1)
    model = sfumato.PrivateKMeans(2, epsilon=1e6, bounds=((0, 0), (100, 80)), n_rows=1000)
    assert model.fit(data).cluster_sizes_.sum() == pytest.approx(1000, abs=0.1)
    assert model.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["parts/*.csv"], "no file matches parts/*.csv"),
        (["parts/part-0.parquet", "parts"], "part-0.parquet was given twice"),
        (["parts", "bare.csv"], "does the first line of bare.csv name the columns"),
        (["parts", "people.npy"], "people.npy has other columns than"),
        (["file:///nowhere/at/all.parquet"], "no such file: file:///nowhere/at/all.parquet"),
        (["file:///*/rows.parquet"], "only the last part may be a pattern"),
        (["nothing://here/rows.parquet"], "nothing://here/rows.parquet is no address"),
        (["empty"], "empty is a directory without a data file"),
        (["parts", "-o", "parts/part-1.parquet"], "is an input"),
        (["parts", "--workers", "2"], "add --engine dask"),
        (["parts", "--scheduler", "tcp://here:1"], "add --engine dask"),
        (["parts", "--engine", "dask", "--workers", "0"], "--workers must be a whole number"),
        (["parts", "--engine", "hadoop"], "--engine"),
        (["parts", "--engine", "compss"], 'pip install ".[compss]"'),
    ],
)
def test_what_cannot_be_opened_is_refused(parts, here, monkeypatch, words, said):
    monkeypatch.setattr(
        cli_engine, "find_spec", lambda name: None if name == "pycompss" else object()
    )
    (here / "empty").mkdir()
    (here / "empty" / "_SUCCESS").touch()
    before = all_files(here / "parts")
    assert_refused(fit(words[0], *words[1:], *BOUNDS), said)
    assert all_files(here / "parts") == before
    assert not (here / "model.json").exists()


@pytest.mark.parametrize("engine", ["dask", "spark", "compss"])
def test_every_engine_is_opened_with_what_was_asked_and_closed(people, monkeypatch, engine):
    heard = []

    @contextmanager
    def open_files(file, **asked):
        heard.append((file, asked))
        groups, most = asked["groups"], asked["max_rows_per_group"]
        yield open_file(file, groups=groups, max_rows_per_group=most)
        heard.append("closed")

    module = type(sys)(f"sfumato.engines._{engine}")
    setattr(module, f"open_{engine}_files", open_files)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli_engine, "find_spec", lambda name: object())
    words = ("--columns", "age,hours", "--groups", "id", "--max-rows-per-group", "4", "--header")
    cluster = ("--engine", engine, "--workers", "2", "--scheduler", "tcp://here:1")
    told = json.loads(fit("visits.csv", *BOUNDS, *words, *cluster, "--json").stdout)
    assert told["feature_names"] == NAMES
    assert told["receipt"]["guarantee"]["neighbours"] == "one group of at most 4 rows"
    file = files.TableFile(("visits.csv",), ("age", "hours"), header=True, names=("hours",))
    asked = {
        "groups": "id",
        "max_rows_per_group": 4,
        "workers": 2,
        "scheduler": "tcp://here:1",
        "schema": None,
    }
    assert heard == [(file, asked), "closed"]
    # Chosen by the fit, whatever the number with which the rows were opened.
    words = (*words[:5], "private", "--header", "--force")
    told = json.loads(fit("visits.csv", *BOUNDS, *words, *cluster, "--json").stdout)
    assert told["receipt"]["queries"][0]["query"] == "rows per group"
    assert heard[2:] == [(file, {**asked, "max_rows_per_group": 1}), "closed"]


# Reads for as long as a test may take, so that it is certainly interrupted while it reads.
SLOW = """
import sys, time
from sfumato.engines import _partitions as pieces
from sfumato.cli import app
blocks = pieces.Piece.blocks
def slowly(self):
    for block in blocks(self):
        sys.stderr.write("reading\\n")
        time.sleep(0.3)
        yield block
pieces.Piece.blocks = slowly
app(sys.argv[1:])
"""


@pytest.mark.parametrize("mb", ["0", "128"])
def test_an_interrupt_leaves_no_process_and_no_file(parts, here, mb):
    for i in range(3, 40):
        os.link("parts/part-0.parquet", f"parts/part-{i:02}.parquet")
    before = {path.name for path in here.iterdir()}
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, *FIT, "parts"],
        env={**os.environ, "SFUMATO_LATTICE_MB": mb, "SFUMATO_THREADS": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr.readline() == "reading\n"
    os.killpg(child.pid, signal.SIGINT)
    out, said = child.communicate(timeout=60)
    assert child.returncode not in (0, None)
    assert out == ""
    assert "Traceback" not in said
    assert {path.name for path in here.iterdir()} == before
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


def test_a_bar_is_shown_on_a_terminal_only(parts):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "SFUMATO_LATTICE_MB": "0", "TERM": "xterm", "COLUMNS": "120"}
    seen = []

    def read():
        while True:
            try:
                seen.append(os.read(ours, 65_536))
            except OSError:
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    command = [sys.executable, "-c", SLOW.replace("0.3", "0.05"), *FIT, "parts"]
    shown = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    deadline = time.monotonic() + 20
    while reader.is_alive() and time.monotonic() < deadline:
        reader.join(0.1)
    text = b"".join(seen).decode()
    assert shown.returncode == 0
    assert json.loads(shown.stdout)["feature_names"] == NAMES
    assert "fitting parts, pass 1, " in text
    assert "of 3 parts" in text
    plain = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert set(plain.stderr.splitlines()) == {"reading"}

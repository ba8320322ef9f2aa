"""The code of docs/scaling.md, each block as a program of its own, on workers of this machine."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scaling.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("sfumato fit")]
# Other machines, and storage elsewhere, are not to be had here.
ELSEWHERE = ("s3://", "--scheduler")
ENGINES = {"dask": "dask", "spark": "spark", "compss": "compss"}
BEFORE = """from sfumato import PrivateKMeans

model = PrivateKMeans(10, epsilon=1.0, bounds=(0, 1))
"""


def engine_of(code):
    return next((engine for word, engine in ENGINES.items() if word in code), "one machine")


def marked(code):
    """On one machine nothing is shared; what starts a cluster waits for the others that do."""
    engine = engine_of(code)
    shared = [pytest.mark.xdist_group(engine)] if engine in ("dask", "spark") else []
    return pytest.param(code, id=engine, marks=shared)


@pytest.fixture
def folder(tmp_path):
    """Two files of rows in [0, 1], and whose they are."""
    rng = np.random.default_rng(0)
    (tmp_path / "rows").mkdir()
    for part in range(2):
        table = {"x": rng.uniform(size=300), "y": rng.uniform(size=300)}
        table["person"] = rng.integers(100, size=300)
        pq.write_table(pa.table(table), tmp_path / "rows" / f"{part}.parquet")
    return tmp_path


def ran(words, folder):
    paths = [str(ROOT / "src"), str(ROOT / "tests" / "engines" / "standin")]
    python = {"PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, **python}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_code_for_every_engine():
    assert [engine_of(code) for code in PROGRAMS] == [
        *("one machine", "dask", "dask", "spark", "spark", "compss", "one machine")
    ]
    assert len(COMMANDS) > 4


@pytest.mark.parametrize("code", [marked(code) for code in PROGRAMS])
def test_a_program_runs(code, folder):
    here = code.replace("spark://host:7077", "local[2]").replace("=4", "=2")
    program = folder / "program.py"
    program.write_text(BEFORE + here, "utf-8")
    ran([sys.executable, program.name], folder)


@pytest.mark.parametrize(
    "line", [marked(line) for line in COMMANDS if not any(word in line for word in ELSEWHERE)]
)
def test_a_command_runs(line, folder):
    command = shlex.split(line.replace("--workers 4", "--workers 2"))[1:]
    ran([sys.executable, "-c", "from sfumato.cli import app; app()", *command], folder)
    assert (folder / "model.json").exists()

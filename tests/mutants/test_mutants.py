"""Plants known bugs, one at a time, and sees each one caught by the test that is meant to.

A suite that has never failed on a known bug is no evidence. Each mutant is a copy of the package
with one change; the named test must fail on it (and passes on the package itself, as part of the
suite).
"""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.mutants.forked import run_test

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sfumato"
OURS = {"forked", "mutant", "test_mutants"}

pytestmark = pytest.mark.mutants

# Every other file of this folder has a list of its own.
LISTS = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in OURS)
MUTANTS = {
    name: m for stem in LISTS for name, m in import_module(f"tests.mutants.{stem}").MUTANTS.items()
}


@pytest.fixture(scope="session")
def compiled_loops():
    """Compiled loops beside the package's source, where copies of the package find them."""
    load = "from sfumato._lattice.kernels import numba_cover, numba_loops"
    subprocess.run(
        [sys.executable, "-c", load], env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    )


def plant(mutant, folder):
    """Copy the package with the bug in it.

    Compiled loops are copied, unless the bug is in what they were compiled from: it would not show.
    """
    stale = [f"{Path(mutant.file).stem}.*.pyc"]
    if mutant.file.startswith("_lattice/"):
        stale.append("*.nb?")
    copy = folder / "sfumato"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns(*stale))
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutant.right) == 1, "the line to change must be there once"
    path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.usefixtures("compiled_loops")
def test_mutant_is_caught(name, tmp_path):
    mutant = MUTANTS[name]
    assert "::" in mutant.caught_by, "one test is meant to catch it"
    plant(mutant, tmp_path)
    output = tmp_path / "output.txt"
    code = run_test(mutant.caught_by, tmp_path, ROOT, output)
    printed = output.read_text(encoding="utf-8")
    assert code == 1, f"not caught: {printed[-3000:]}"
    assert f"FAILED {mutant.caught_by}" in printed


def test_the_copy_is_what_is_tested(tmp_path):
    """Mutants are imported from the copy, not from the installed package."""
    package = tmp_path / "sfumato"
    package.mkdir()
    (package / "__init__.py").write_text("WHERE = 'copy'\n")
    test = tmp_path / "test_where.py"
    test.write_text("import sfumato\n\ndef test_it():\n    assert sfumato.WHERE == 'copy'\n")
    output = tmp_path / "output.txt"
    assert run_test(str(test), tmp_path, ROOT, output) == 0, output.read_text()

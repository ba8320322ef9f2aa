"""Places where a ledger cannot be written: a clear error before any charge, and no harm."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sfumato._ledger.books import flaws_in
from sfumato._ledger.ledger import Ledger
from tests.ledger.checks import wrongs
from tests.ledger.fits import answer, made

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and users of POSIX")

# Runs fits until one is refused, and says how many were answered, and why no more were.
CHILD = """
import json, os, resource, signal, sys
# A user who may write nowhere would compile the loops anew.
sys.modules["numba"] = None
from sfumato._accounting.budget import Overspent
from sfumato._ledger import sqlite
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError
from tests.ledger.fits import answer

path, kind, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
heard = []
try:
    if kind == "user":
        os.setgid(number)
        os.setuid(number)
    ledger = Ledger.open(path)
    if kind == "size":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, resource.RLIM_INFINITY))
    for i in range(1000):
        value = answer(ledger, f"request {i}", lambda *words: heard.append([*words, ""]))
        heard.append(["answered", f"request {i}", value])
except (LedgerError, Overspent) as error:
    print(json.dumps({"error": str(error), "heard": heard}))
"""


def child(path, kind, number):
    shown = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), kind, str(number)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


@pytest.mark.parametrize("room", [20, 60_000, 150_000, 153_000])
def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path, room):
    path = tmp_path / "ledger.db"
    made(path, 10_000).store.close()
    said = child(path, "size", room)
    assert "Nothing was charged" in said["error"]
    heard = [tuple(line) for line in said["heard"]]
    assert wrongs(str(path), heard) == []
    # Where there is room again, it goes on.
    assert answer(Ledger.open(path), "another")


def as_nobody():
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    return 65534


@pytest.fixture
def shared():
    """A folder that everybody may enter; those of pytest are for its own user."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-shared-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "named"),
    [(0o644, 0o777, "ledger.db"), (0o666, 0o755, "house")],
)
def test_a_place_that_cannot_be_written(shared, file_mode, folder_mode, named):
    user = as_nobody()
    folder = shared / "house"
    folder.mkdir()
    path = folder / "ledger.db"
    made(path, 10).store.close()
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    said = child(path, "user", user)
    assert f"{named} cannot be written" in said["error"]
    assert said["heard"] == []
    assert flaws_in(Ledger.open(path).store) == []


def test_a_place_that_somebody_else_may_write(shared):
    user = as_nobody()
    folder = shared / "house"
    folder.mkdir()
    path = folder / "ledger.db"
    made(path, 3).store.close()
    path.chmod(0o666)
    folder.chmod(0o777)
    said = child(path, "user", user)
    # Three fits are covered; the fourth is refused, for its budget and not for its place.
    assert "does not cover" in said["error"]
    assert len(Ledger.open(path).store.events(kind="release")) == 3

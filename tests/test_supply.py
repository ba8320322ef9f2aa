"""What the package takes from outside, and what it does with it: imports, calls, network, locks."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sfumato
from sfumato._base import extra

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sfumato"
FILES = sorted(SOURCE.rglob("*.py"))
LOCK = ROOT / "requirements" / "dev.txt"
PUBLIC = sorted(
    f"sfumato.{path.stem if path.is_file() else path.name}"
    for path in SOURCE.iterdir()
    if not path.name.startswith("_") and path.suffix in ("", ".py")
)

# Modules that run code from data, draw numbers of their own, start programs or open connections.
MODULES = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "code"),
    *("random", "secrets", "subprocess", "pty", "socket", "ssl", "urllib", "http", "ftplib"),
    *("requests", "smtplib", "webbrowser", "ctypes", "logging", "runpy"),
}
CALLS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
METHODS = {"os.system", "os.popen", "os.execv", "os.spawnv", "os.fork", "pd.read_pickle"}
PUBLIC_RANDOMNESS = {"default_rng", "Generator"}
# The environment decides how fast a fit is, and which Python a cluster of this machine runs.
# An audit fits in processes of its own, if it is asked to.
# The studio opens the browser of its user.
PROCESSES = {"audit/_run.py": {"joblib"}, "cli/_studio.py": {"webbrowser"}}
ENVIRONMENT = {"engines/_threads.py", "engines/_spark.py"}


def dotted(node):
    """The name of what is called or read, such as os.environ.get."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def called(node):
    """What is wrong with a call: its name, or the argument that is missing or too much."""
    name = dotted(node.func)
    given = {k.arg: ast.unparse(k.value) for k in node.keywords}
    if name in CALLS | METHODS:
        yield name
    if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
        yield f"{name} without allow_pickle=False"
    if given.get("allow_pickle", "False") != "False":
        yield "allow_pickle"
    if given.get("shell", "False") != "False":
        yield "shell"


def found(text, name=""):
    """What a source file must not do."""
    for node in ast.walk(ast.parse(text)):
        wrong = MODULES - PROCESSES.get(name, set())
        yield from (m for m in imported(node) if m.split(".")[0] in wrong)
        if isinstance(node, ast.Call):
            yield from called(node)
        if isinstance(node, ast.Attribute):
            read = dotted(node)
            if read in ("os.environ", "os.getenv", "os.environb") and name not in ENVIRONMENT:
                yield read
            if dotted(node.value) in ("np.random", "numpy.random"):
                yield from () if node.attr in PUBLIC_RANDOMNESS else [read]


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(SOURCE)) for f in FILES])
def test_no_file_runs_data_draws_its_own_numbers_or_connects(path):
    name = path.relative_to(SOURCE).as_posix()
    assert list(found(path.read_text("utf-8"), name)) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "def f():\n    from urllib.request import urlopen",
        "import random",
        "eval(x)",
        "exec(x)",
        "np.load(f)",
        "np.load(f, allow_pickle=True)",
        "np.lib.format.read_array(f, allow_pickle=True)",
        "run(x, shell=True)",
        "os.system(x)",
        "np.random.normal()",
        "from yaml import load",
        "os.environ['HOME']",
        "os.getenv('HOME')",
    ],
)
def test_such_things_would_be_found(text):
    assert list(found(text)) != []


WATCHED = """
import sys
def watch(event, args):
    if event.startswith("socket.") and event not in {"socket.__new__", "socket.gethostname"}:
        raise SystemExit(f"network: {event} {args}")
    if event == "open" and WRITES:
        path, mode, flags = args
        if str(path) != "/dev/null" and (set(mode or "") & set("wax+") or (flags or 0) & 3):
            raise SystemExit(f"written: {path}")
    if event in {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"}:
        raise SystemExit(f"started: {event} {args}")
sys.addaudithook(watch)
"""


def watched(code, folder, *, writes=False):
    """Run code in an empty folder: connections and programs end it, and what it writes, too."""
    home = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", f"WRITES = {writes}\n{WATCHED}\n{code}"],
        cwd=folder,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
    )


def test_public_modules_are_found():
    assert {"sfumato.audit", "sfumato.cli", "sfumato.engines", "sfumato.plots"} <= set(PUBLIC)


def test_an_import_neither_connects_nor_writes_nor_starts_a_program(tmp_path):
    names = [f"sfumato.{name}" for name in sfumato.__all__]
    code = f"import sfumato, {', '.join(PUBLIC)}\n{'; '.join(names)}\nprint('done')"
    ran = watched(code, tmp_path, writes=True)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_fit_and_the_command_line_do_not_connect(tmp_path):
    code = """
import numpy as np, sfumato
rows = np.random.default_rng(0).uniform(size=(500, 2))
model = sfumato.PrivateKMeans(2, epsilon=1.0, bounds=(0, 1)).fit(rows)
model.predict(rows)
from typer.testing import CliRunner
from sfumato.cli import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print("done")
"""
    ran = watched(code, tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import socket; socket.create_connection(('localhost', 9))", "network"),
        ("open('a.txt', 'w')", "written"),
        ("import subprocess; subprocess.run(['true'])", "started"),
    ],
)
def test_such_an_import_would_be_found(code, said, tmp_path):
    assert said in watched(code, tmp_path, writes=True).stderr


def texts():
    """All that a user may read: pages, messages, docstrings, and how this is built."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *FILES]
    return {p: p.read_text("utf-8") for p in [*pages, *(ROOT / "bench").rglob("*.py")]}


# An index may have another package of this name: nothing is published there.
INDEX = re.compile(r"""(?:install|add|uvx|pipx run)\s+(?:-\S+\s+)*["']?sfumato(?![\w/-])""")


def test_no_text_advises_to_install_our_name_from_an_index():
    assert [p.name for p, text in texts().items() if INDEX.search(text)] == []
    assert INDEX.search("needs numba: pip install 'sfumato[fast]'")
    assert INDEX.search("`pip install sfumato`")
    assert INDEX.search("pip install --upgrade sfumato==1")
    assert not INDEX.search('pip install ".[fast]" in a clone of sfumato')


def test_extras_that_are_named_are_there():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {e for text in texts().values() for e in re.findall(r"\bextra\('(\w+)'\)", text)}
    assert named == {"fast", "parquet", "plots", "postgres", "report", "studio"}
    assert named < set(extras["optional-dependencies"])
    assert extra("fast") == (
        'install the extra "fast" of this repository, pip install ".[fast]" in a clone of it'
    )


def locked():
    """The packages of the lock, with the number of their hashes."""
    blocks = re.split(
        r"^(?=[\w.-]+(?:\[[\w,-]+\])?==)", LOCK.read_text("utf-8"), flags=re.MULTILINE
    )
    return {
        re.match(r"[\w.-]+", block).group().lower(): block.count("--hash=sha256:")
        for block in blocks
        if "==" in block
    }


def test_every_package_of_the_lock_has_hashes_and_no_address():
    text = LOCK.read_text("utf-8")
    assert all(locked().values())
    assert not re.search(r"://|^\s*-(?!-hash)|^/|\s/|@ ", text, re.MULTILINE)


def test_the_lock_has_all_that_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["dist"]]
    for name in ("dask", "fast", "parquet", "postgres", "spark"):
        wanted += extras[name]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in wanted} - {"sfumato"}
    assert names <= set(locked())

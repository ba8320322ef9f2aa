"""The plan of the house, as far as a test can check it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato
from sfumato.methods import METHODS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sfumato"
FILES = sorted(SOURCE.rglob("*.py"))
ids = [str(f.relative_to(SOURCE)) for f in FILES]
files = pytest.mark.parametrize("path", FILES, ids=ids)

# Queries of which one row moves the answer by so much.
SENSITIVE = {
    "counts": ("Counts", "Totals", "Each"),
    "first_below": ("Farther",),
    "choose": ("Cost", "Swaps"),
    "projection": ("Projection",),
    "max_cover": ("Grids",),
    "moments": ("Squares", "Products"),
    "privtree": ("Branches",),
    "histograms": ("Histogram",),
}
MECHANISMS = {
    "mechanisms": None,
    "vault": None,
    "releases/choose": None,
    "releases/first_below": None,
    "releases/privtree": ("Splits", "Trees"),
    "releases/max_cover": ("Covering", "Covers"),
    "local/ldp": None,
    "local/ndlaplace": ("LatticeNDLaplace",),
    "local/randomizer": ("Randomizer",),
}
VERBS = {
    "curator": "Curator",
    "vault": "Views",
    "releases/moments": "Moments",
    "releases/first_below": "Thresholds",
    "releases/max_cover": "Covers",
    "releases/privtree": "Trees",
    "releases/histograms": "Survey",
}

TRUSTED_NOISE = {
    "_core/sampling/source.py",
    "_core/sampling/additive.py",
    "_core/sampling/stream.py",
}


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path):
    """Every module that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@files
def test_only_the_core_draws_noise(path):
    """What import-linter does not see: names in the text, and modules of others."""
    name = str(path.relative_to(SOURCE))
    text = path.read_text(encoding="utf-8")
    if name not in TRUSTED_NOISE:
        assert "urandom" not in text
    assert not re.search(r"np\.random\.(?!Generator|default_rng)", text)
    assert not imports(path) & {"random", "secrets", "logging", "pickle"}


@files
def test_sizes(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 450
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                assert body[-1].end_lineno - body[0].lineno + 1 <= 40, node.name
        if isinstance(node, ast.ClassDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            assert not body or body[-1].end_lineno - body[0].lineno + 1 <= 150, node.name


@files
def test_names(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            assert not re.search(r"^Base|Manager|Utils|Helper|Impl$", node.name), node.name
        if isinstance(node, ast.FunctionDef):
            assert node.args.kwarg is None, f"{node.name} takes **kwargs"


@files
def test_no_promises_left_open(path):
    assert not re.search(r"NotImplementedError|TODO|FIXME|XXX", path.read_text(encoding="utf-8"))


def classes(name):
    return {n.name: n for n in tree(SOURCE / name).body if isinstance(n, ast.ClassDef)}


def test_queries_state_their_sensitivity_and_mechanisms_their_guarantee():
    for file, names in SENSITIVE.items():
        for name in names:
            assert "Sensitivity:" in ast.get_docstring(classes(f"_core/queries/{file}.py")[name])
    for file, names in MECHANISMS.items():
        for name, node in classes(f"_core/{file}.py").items():
            if names is None or name in names:
                assert "Guarantee:" in ast.get_docstring(node), name


def test_verbs_state_both():
    for file, name in VERBS.items():
        verbs = classes(f"_core/{file}.py")[name]
        assert "Guarantee:" in ast.get_docstring(verbs)
        for node in verbs.body:
            takes_share = isinstance(node, ast.FunctionDef) and any(
                a.arg == "share" for a in node.args.kwonlyargs
            )
            if takes_share:
                assert "Sensitivity:" in ast.get_docstring(node), node.name
                assert "Guarantee:" in ast.get_docstring(node), node.name


def test_there_are_few_files():
    assert len(FILES) <= 150


def test_every_query_and_sampler_has_a_proof_page():
    pages = {p.stem for p in (ROOT / "docs" / "proofs").glob("*.md")}
    assert {
        "counts",
        "totals",
        "first-below",
        "local-mechanisms",
        "local-nd-laplace",
        "cost",
        "cubes",
        "max-cover",
        "swaps",
        "through",
        "block-means",
        "view",
        "moments",
        "priv-tree",
        "private-bounds",
        "exact-kernels",
        "discrete-laplace",
        "rounded-gaussian",
        "cube-noise",
        "ball-noise",
        "cylinder-noise",
        "selection",
        "stream",
        "composition",
    } <= pages


def test_methods_take_shares_from_their_account_only():
    for path in (SOURCE / "methods").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ".reserve(" not in text
        assert "Share(" not in text
        assert ".fold(" not in text


def test_readme_lists_exactly_the_methods():
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert table == list(METHODS)


def test_public_names_are_there():
    for name in sfumato.__all__:
        assert getattr(sfumato, name) is not None
    assert dir(sfumato) == sorted(sfumato.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sfumato.nothing


def test_importing_the_package_is_cheap():
    code = "import sys, sfumato; print({'numpy', 'sklearn', 'scipy'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_readme_commands_are_the_ones_that_ci_runs():
    readme = (ROOT / "README.md").read_text("utf-8")
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in ("make demo", "make test"):
        assert command in readme
        assert command in ci

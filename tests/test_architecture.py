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

# What travels to the rows, wherever they are.
TRAVELLERS = {
    "_core/queries/counts.py",
    "_core/queries/cells.py",
    "_core/queries/cells.py",
    "_core/queries/cells.py",
    "_core/queries/first_below.py",
    "_core/queries/max_cover.py",
    "_core/queries/choose.py",
    "_core/queries/projection.py",
    "_core/queries/moments.py",
    "_core/queries/privtree.py",
    "_core/queries/histograms.py",
}
SENSITIVE = {
    "questions": ("Counts", "Totals", "Each"),
    "farther": ("Farther",),
    "scores": ("Cost", "Swaps"),
    "projection": ("Projection",),
    "cover_questions": ("Grids",),
    "moment_questions": ("Squares", "Products"),
    "tree_questions": ("Branches",),
    "rulers": ("Histogram",),
}
VERBS = {
    "curator": "Curator",
    "views": "Views",
    "moments": "Moments",
    "thresholds": "Thresholds",
    "covers": "Covers",
    "trees": "Trees",
    "bounds": "Survey",
}

UNSEEN = ("noise", "samplers", "stream", "shares", "budget", "mechanisms", "curator.curator")

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


def room(path):
    return path.relative_to(SOURCE).parts[0]


ALLOWED = {
    "_lattice/box.py": set(),
    "_accounting/gaussian_dp.py": set(),
    "_base/validation.py": set(),
    "_accounting/budget.py": {"budget", "gdp"},
    "_accounting/budget.py": {"shares"},
    "_accounting/guarantee.py": {"budget", "gdp"},
    "_accounting/receipt.py": {"budget", "guarantee", "gdp"},
    "nonprivate.py": {"box"},
    "_private_bounds/trim.py": {"box", "curator.rulers"},
    "local/_clustering.py": {"box", "curator.local_laws"},
    "local/_clustering.py": {"box", "guarantee", "local_receipt", "parameters", "reports"},
    "tuning.py": {"box", "nonprivate", "parameters", "synopsis.choice"},
    "evaluate.py": {"box", "localclustering", "nonprivate"},
    "attacks": {"attacks", "box", "localclustering", "parameters", "reports"},
    "plots.py": {"box"},
    "plots.py": {"areas"},
    "_planning.py": {"gdp", "methods"},
    "_planning.py": {"box", "estimators", "methods", "parameters", "predictions", "theory"},
    "theory.py": set(),
    "engines": {"box", "engines"},
    "methods": {
        "box",
        "budget",
        "curator.cover_questions",
        "curator.curator",
        "curator.moment_questions",
        "curator.projection",
        "curator.questions",
        "curator.scores",
        "curator.tree_questions",
        "gdp",
        "methods",
        "parameters",
        "synopsis",
    },
    "synopsis": {"box", "methods.starts", "parameters", "synopsis", "writing"},
    "curator": {"box", "budget", "curator", "engines", "gdp", "guarantee", "parameters"},
}


@files
def test_rooms_import_only_what_the_plan_allows(path):
    if room(path) not in ALLOWED:
        return
    for name in imports(path):
        if name.startswith("sfumato."):
            inside = name.removeprefix("sfumato.")
            allowed = ALLOWED[room(path)]
            assert any(inside == a or inside.startswith(a + ".") for a in allowed), name


@files
def test_only_the_curator_draws_noise(path):
    name = str(path.relative_to(SOURCE))
    noisy = {n for n in imports(path) if re.search(r"curator\.(noise|samplers|stream|settle)", n)}
    assert not noisy or room(path) == "curator", name
    text = path.read_text(encoding="utf-8")
    if name not in TRUSTED_NOISE:
        assert "urandom" not in text
    assert not re.search(r"np\.random\.(?!Generator|default_rng)", text)
    assert not imports(path) & {"random", "secrets", "logging", "pickle"}


@files
def test_questions_and_engines_never_see_noise_or_budget(path):
    """They travel to workers, which must hold neither."""
    name = str(path.relative_to(SOURCE))
    if room(path) != "engines" and name not in TRAVELLERS:
        return
    for forbidden in UNSEEN:
        assert not any(forbidden in n for n in imports(path) if n.startswith("sfumato")), name


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


def test_questions_state_their_sensitivity_and_mechanisms_their_guarantee():
    for file, names in SENSITIVE.items():
        for name in names:
            assert "Sensitivity:" in ast.get_docstring(classes(f"curator/{file}.py")[name]), name
    mechanisms = ("mechanisms", "knorm", "selection", "crossing", "splits", "cover_law", "vault")
    for file in (*mechanisms, "local_rows", "local_noise", "local_mixture"):
        for name, node in classes(f"curator/{file}.py").items():
            assert "Guarantee:" in ast.get_docstring(node), name
    for file, name in VERBS.items():
        verbs = classes(f"curator/{file}.py")[name]
        assert "Guarantee:" in ast.get_docstring(verbs)
        for node in verbs.body:
            takes_share = isinstance(node, ast.FunctionDef) and any(
                a.arg == "share" for a in node.args.kwonlyargs
            )
            if takes_share:
                assert "Sensitivity:" in ast.get_docstring(node), node.name
                assert "Guarantee:" in ast.get_docstring(node), node.name


def test_the_local_door_states_its_guarantee():
    for file, name in (("local_laws", "NDLaplaceLaw"), ("randomizer", "Randomizer")):
        assert "Guarantee:" in ast.get_docstring(classes(f"curator/{file}.py")[name]), name


def test_every_question_and_sampler_has_a_proof_page():
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

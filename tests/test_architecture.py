"""The architecture, as far as a test can check it."""

import ast
import re
import subprocess
import sys
from importlib import import_module
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
    "counts": ("Counts", "Totals"),
    "counts_each": ("CountsBatch",),
    "breakdown": ("Breakdown",),
    "first_below": ("RowsBeyond",),
    "choose": ("Cost", "Swaps", "Guesses"),
    "projection": ("Projection",),
    "max_cover": ("Grids",),
    "moments": ("Squares", "Products"),
    "scatter": ("Scatter",),
    "closeness": ("Closeness",),
    "privtree": ("Branches",),
    "histograms": ("Histogram",),
    "group_sizes": ("GroupSizes",),
}
MECHANISMS = {
    "mechanisms": None,
    "private_data": None,
    "releases/choose": None,
    "releases/first_below": None,
    "releases/privtree": ("PrivTreeSplits",),
    "releases/max_cover": ("Covering",),
    "local/ldp": None,
    "local/lattice": ("LatticeNDLaplace",),
    "local/randomizer": ("Randomizer",),
}
VERBS = {
    "curator": "Curator",
    "releases/histograms": "HistogramCurator",
}

# Modules beside the queries and the releases that hold none: no proof or law has their name.
NO_QUERY = {"__init__"}

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


def length_without_docstrings(node):
    """Lines of a class from its name to its end, less its docstring and those of its methods."""
    texts = [
        part.body[0]
        for part in ast.walk(node)
        if isinstance(part, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(part)
    ]
    length = node.end_lineno - node.lineno + 1
    return length - sum(text.end_lineno - text.lineno + 1 for text in texts)


def test_the_length_of_a_class_counts_its_code():
    text = 'class A:\n    """One\n    two."""\n\n    def f(self):\n        """F."""\n        pass\n'
    (node,) = ast.parse(text).body
    assert length_without_docstrings(node) == 4


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
            assert length_without_docstrings(node) <= 150, node.name


@files
def test_names(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            assert not re.search(r"^Base|Manager|Utils|Helper|Impl$", node.name), node.name
        if isinstance(node, ast.FunctionDef):
            by_name = path.name == "schema.py" and node.name == "__init__"  # Schema(age=Number(…))
            assert node.args.kwarg is None or by_name, f"{node.name} takes **kwargs"


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
    assert len(FILES) <= 270


STEMS = sorted(
    {
        path.stem
        for folder in ("queries", "releases")
        for path in (SOURCE / "_core" / folder).glob("*.py")
        if path.stem not in NO_QUERY
    }
)


@pytest.mark.parametrize("stem", STEMS)
def test_a_query_has_one_name_in_its_code_its_proof_and_its_laws(stem):
    assert (ROOT / "docs" / "proofs" / f"{stem}.md").is_file()
    laws = {path.stem for path in (ROOT / "tests" / "laws").glob("test_*.py")}
    assert any(law == f"test_{stem}" or law.startswith(f"test_{stem}_") for law in laws)


def test_every_sampler_has_a_proof_page():
    pages = {p.stem for p in (ROOT / "docs" / "proofs").glob("*.md")}
    assert {
        "local-mechanisms",
        "local-nd-laplace",
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
        assert "curator.reserve(" not in text
        assert "Share(" not in text
        assert ".fold(" not in text


def modules_of(folder):
    """Each folder below one, with the names of its modules, without underscores at the start."""
    found = {}
    for path in folder.rglob("*.py"):
        parts = [part.lstrip("_") for part in path.relative_to(folder).with_suffix("").parts]
        names = found.setdefault(tuple(parts[:-1]), {parts[-2] if parts[1:] else folder.name})
        if path.stem != "__init__":
            names.add(parts[-1])
    return found


def module_of(test, modules):
    """The module that a test file is about: the longest whose name its own begins with."""
    *folder, name = test.removesuffix(".py").split("/")
    topic = name.removeprefix("test_") + "_"
    fits = [m for m in modules.get(tuple(folder), ()) if topic.startswith(m + "_")]
    return max(fits, key=len, default=None)


MIRRORS = {"unit": modules_of(SOURCE), "bench": modules_of(ROOT / "bench")}


@pytest.mark.parametrize("folder", MIRRORS)
def test_tests_lie_where_their_modules_do(folder):
    tests = sorted((ROOT / "tests" / folder).rglob("test_*.py"))
    assert tests
    names = [path.relative_to(ROOT / "tests" / folder).as_posix() for path in tests]
    assert [name for name in names if module_of(name, MIRRORS[folder]) is None] == []


@pytest.mark.parametrize(
    ("test", "module"),
    [
        ("core/sampling/test_joint.py", "joint"),
        ("core/sampling/test_joint_rare.py", "joint"),
        ("methods/auto/test_auto.py", "auto"),
        ("test_sfumato_version.py", "sfumato"),
        ("core/sampling/test_jointly.py", None),
        ("core/sampling/test_budget.py", None),
        ("sampling/test_joint.py", None),
        ("test_rows.py", None),
    ],
)
def test_misplaced_tests_are_found(test, module):
    assert module_of(test, MIRRORS["unit"]) == module


def test_the_longest_name_is_the_module_that_is_tested():
    modules = {(): {"joint", "joint_noise"}}
    assert module_of("test_joint_noise_rare.py", modules) == "joint_noise"


def without_example(text):
    """Names of tests of random examples that have none which is written down."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            calls = {ast.unparse(d).split("(")[0] for d in node.decorator_list}
            if "given" in calls and "example" not in calls:
                found.append(node.name)
    return found


def test_random_tests_have_explicit_examples():
    """Planted bugs are looked for with these alone: a lucky draw is no evidence."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert [name for f in files for name in without_example(f.read_text("utf-8"))] == []
    assert without_example("@given(x)\ndef test_a(x): pass\n") == ["test_a"]
    assert without_example("@example(1)\n@given(x)\ndef test_a(x): pass\n") == []


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


MUTANTS = sorted(
    path.stem
    for path in (ROOT / "tests" / "mutants").glob("*.py")
    if path.stem not in {"forked", "mutant", "test_mutants"}
)


@pytest.mark.parametrize("stem", MUTANTS)
def test_planted_bugs_name_lines_and_tests_that_are_there(stem):
    for name, mutant in import_module(f"tests.mutants.{stem}").MUTANTS.items():
        assert (SOURCE / mutant.file).read_text("utf-8").count(mutant.right) == 1, name
        file, _, test = mutant.caught_by.partition("::")
        found = re.findall(r"def (test_\w+)\(", (ROOT / file).read_text("utf-8"))
        assert not test or test.partition("[")[0] in found, name

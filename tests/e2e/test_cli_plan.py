"""`sfumato plan`: what it prints, and how it refuses."""

import json
import subprocess
import sys

import pytest

import sfumato
from sfumato.methods import METHODS
from tests.e2e.cli import assert_refused, files, run

USUAL = {"--n": "100000", "--d": "6", "-k": "5", "--epsilon": "1"}


def plan(*words, **changed):
    given = USUAL | {f"--{name}" if name != "k" else "-k": value for name, value in changed.items()}
    return run("plan", *(word for pair in given.items() for word in pair), *words)


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_of_all_methods(here, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = plan("--delta", "1e-6", "--bounds", "0,1")
    assert shown.exit_code == 0
    for words in (*METHODS, "100,000 rows", "δ = 1e-06", "Default: auto.", "No data was read"):
        assert words in shown.stdout
    assert "units of the bounds" in " ".join(shown.stdout.split())
    assert max(map(len, shown.stdout.splitlines())) <= width
    assert not files(here)


@pytest.mark.parametrize("model", ["median", "mixture", "density", "ward"])
def test_other_models_have_a_line(model):
    shown = plan("--model", model, d="2")
    assert shown.exit_code == 0
    assert model in shown.stdout
    assert "Default" not in shown.stdout
    told = json.loads(plan("--json", "--model", model).stdout)
    assert [row["method"] for row in told["methods"]] == [model]
    assert told == sfumato.plan(n=100_000, d=6, k=5, epsilon=1.0, model=model).to_dict()


def test_json_is_the_plan():
    told = json.loads(plan("--json", "--bounds", "0,10").stdout)
    assert told == json.loads(
        sfumato.plan(n=100_000, d=6, k=5, epsilon=1.0, bounds=(0, 10)).to_json()
    )
    known = json.loads(plan("--json", "--n-rows-known", "--delta", "1e-6").stdout)
    assert (known["n_rows_known"], known["delta"]) == (True, 1e-6)
    assert known["methods"][0]["noise_in_units"] is None


def test_bounds_for_each_column_in_order():
    told = json.loads(plan("--json", "--bounds", "0,1", "--bounds", "-50,50", d=2).stdout)
    narrow, wide = told["methods"][0]["noise_in_units"]
    assert wide == pytest.approx(100 * narrow)


@pytest.mark.parametrize(
    ("words", "changed", "said"),
    [
        ([], {"n": 0}, "--n must be a whole number of at least 1"),
        ([], {"n": "many"}, "--n"),
        ([], {"n": 10**16}, "n must be at most"),
        ([], {"d": 0}, "--d must be"),
        ([], {"k": -1}, "-k must be"),
        ([], {"epsilon": 0}, "epsilon must be a positive"),
        (["--delta", 1], {}, "delta must lie in"),
        (["--bounds", "1,0"], {}, "lower bound of column 0"),
        (["--bounds", "age=0,1"], {}, "two numbers LOW,HIGH"),
        (["--bounds", "1"], {}, "two numbers LOW,HIGH"),
        (["--bounds", "0,1", "--bounds", "0,1"], {}, "once for all columns or 6 times"),
        (["data.csv"], {}, "data.csv"),
    ],
)
def test_refusals(words, changed, said):
    assert_refused(plan(*words, **changed), said)


def test_help_is_instant_and_complete():
    shown = run("plan", "-h").stdout
    for option in (*USUAL, "--delta", "--bounds", "--n-rows-known", "--json"):
        assert option in shown
    assert "plan" in run().stdout
    heavy = {"numpy", "scipy", "sklearn", "numba", "mpmath", "cryptography"}
    code = (
        "import sys; sys.argv = ['sfumato', 'plan', '--help']\n"
        "from sfumato.cli import app\n"
        "try: app()\n"
        f"finally: print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stderr.splitlines()[-1] == "[]"

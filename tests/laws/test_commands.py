"""Laws of the command line: given the same answers, a command prints and writes the same.

On any other file with the same columns; on a neighbour it also loses no more than was charged.
"""

import sys
from datetime import datetime

import numpy as np
import pytest

from sfumato._report import dossier
from tests.e2e.cli import run
from tests.laws.harness import BUDGETS
from tests.laws.test_estimator import GROUPED, LABELS, NEIGHBOURS, ROWS, STRANGERS
from tests.laws.watching import Watcher, check_alike, check_losses

GIVEN = ("--bounds", "a=0,1", "--bounds", "b=-3,3")
PRIVATE = ("--bounds", "private", "--columns", "a,b")
BOUNDS = pytest.mark.parametrize("bounds", [GIVEN, PRIVATE], ids=["given", "private"])
FIT = ("fit", "-k", 3, "-o", "model.json", "--force", "--random-state", 1)


def table(rows, labels=None):
    """The text of a table with a header; cells that are not numbers are left empty."""
    cells = [[repr(float(x)) if np.isfinite(x) else "" for x in row] for row in rows]
    if labels is None:
        lines = [["a", "b"], *cells]
    else:
        named = zip(cells, labels, strict=True)
        lines = [["a", "b", "id"], *([*row, f"p{label}"] for row, label in named)]
    return "".join(",".join(line) + "\n" for line in lines)


@pytest.fixture
def check(monkeypatch, capsys, caplog, tmp_path):
    """Run a command, run it again on the same answers, and compare all that it left."""
    monkeypatch.setenv("COLUMNS", "100")
    watch = Watcher(monkeypatch, capsys, caplog)

    def check(words, data, others, *, budget="pure", neighbours=True, aside=True, model=()):
        epsilon, delta = BUDGETS[budget]
        spend = ["--epsilon", float(epsilon), *(["--delta", float(delta)] if delta else [])]

        def called(text):
            # A folder of its own, so that names of files are the same.
            folder = tmp_path / f"run {len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            monkeypatch.chdir(folder)
            (folder / "data.csv").write_text(text)
            result = run(words[0], *model, "data.csv", *spend, *words[1:])
            assert result.exit_code == 0, result.output
            written = {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "data.csv"}
            said = {"stderr": result.stderr} if aside else {}
            return {"stdout": result.stdout, "written": written, **said}

        one = watch(called, table(*data))
        assert one.left["stdout"]
        for other in others:
            again = watch(called, table(*other), replay=one)
            check_alike(one, again)
            if neighbours:
                check_losses(one, again, epsilon=epsilon, delta=delta)

    return check


def complete(*data):
    """Whether every cell is a number. Of others `fit` says so on standard error, for the owner."""
    return bool(np.isfinite(data[0]).all())


def check_all(check, words, data, others, **settings):
    """Standard error is compared where no cell is missing, everything else always."""
    for aside in (True, False):
        mine = [other for other in others if complete(*other) == aside]
        check(words, data, mine, aside=aside, **settings)


def check_both(check, words, budget="pure"):
    """Neighbours lose what was charged; of strangers nothing leaves either."""
    check_all(check, words, (ROWS,), [(rows,) for rows in NEIGHBOURS.values()], budget=budget)
    strangers = [(rows,) for rows in STRANGERS.values()]
    check_all(check, words, (ROWS,), strangers, budget=budget, neighbours=False)


@BOUNDS
@pytest.mark.parametrize("shown", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("budget", ["pure", "approximate"])
def test_fit_prints_and_writes_the_answers_alone(check, bounds, shown, budget):
    check_both(check, (*FIT, *bounds, *shown), budget)


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 11, 1, 12, tzinfo=tz)


def test_a_report_has_the_answers_alone(check, monkeypatch):
    monkeypatch.setattr(sys.modules[dossier.__module__], "datetime", Noon)
    check_both(check, (*FIT, *GIVEN, "--report", "report.html"))


SCHEMA = """
[columns.a]
kind = "number"
lower = 0
upper = 1
missing = "drop"
[columns.b]
kind = "cycle"
period = 2
"""


@pytest.mark.parametrize("shown", [(), ("--json",)], ids=["text", "json"])
def test_fit_with_a_schema_prints_and_writes_the_answers_alone(check, shown, tmp_path_factory):
    schema = tmp_path_factory.mktemp("declared") / "schema.toml"
    schema.write_text(SCHEMA)
    check_both(check, (*FIT, "--schema", schema, *shown))
    schema.write_text('groups = "id"\n' + SCHEMA)
    words = (*FIT, "--schema", schema, "--max-rows-per-group", 4, *shown)
    check_all(check, words, (ROWS, LABELS), GROUPED.values())


@pytest.mark.parametrize("shown", [(), ("--json", "-o", "said.json")], ids=["text", "json"])
@pytest.mark.parametrize("declared", [GIVEN, "schema"], ids=["bounds", "schema"])
@pytest.mark.parametrize("command", ["explain", "quality"])
def test_explain_and_quality_print_and_write_the_answers_alone(
    check, command, shown, declared, tmp_path_factory, monkeypatch
):
    folder = tmp_path_factory.mktemp("fitted")
    monkeypatch.chdir(folder)
    (folder / "data.csv").write_text(table(ROWS))
    (folder / "schema.toml").write_text(SCHEMA)
    words = ("--schema", "schema.toml") if declared == "schema" else declared
    assert run("fit", "data.csv", "--epsilon", 1, *FIT[1:], *words).exit_code == 0
    neighbours = [(rows,) for rows in NEIGHBOURS.values()]
    check_all(check, (command, *shown), (ROWS,), neighbours, model=[folder / "model.json"])


@pytest.mark.parametrize("method", ["dplloyd", "gkm", "hybrid", "balcan", "maxcover"])
def test_fit_by_other_methods(check, method):
    check_both(check, (*FIT, *GIVEN, "--method", method, "--nan", "drop"), "approximate")


@BOUNDS
@pytest.mark.parametrize("shown", [(), ("--json",)], ids=["text", "json"])
def test_fit_of_groups(check, bounds, shown):
    columns = () if bounds is PRIVATE else ("--columns", "a,b")
    words = (*FIT, *bounds, *columns, "--groups", "id", "--max-rows-per-group", 4, *shown)
    check_all(check, words, (ROWS, LABELS), GROUPED.values())
    others = [(ROWS, np.zeros(len(ROWS), dtype=int)), (ROWS[:3], LABELS[:3])]
    check(words, (ROWS, LABELS), others, neighbours=False)


@pytest.mark.parametrize("shown", [(), ("--json",)], ids=["text", "json"])
def test_bounds_prints_and_writes_the_answers_alone(check, shown):
    check_both(check, ("bounds", "--columns", "a,b", "-o", "bounds.json", *shown))


@pytest.mark.parametrize("command", [(*FIT, *GIVEN), (*FIT, *PRIVATE)], ids=["given", "private"])
def test_fit_says_nothing_of_missing_cells(check, command):
    check(command, (ROWS,), [(NEIGHBOURS["not a number"],)])

"""A thousand values are planted in rows, and are in nothing that leaves: see `canaries.py`."""

import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest

import sfumato
from sfumato import (
    Category,
    Curator,
    Date,
    LocalClustering,
    NDLaplace,
    Number,
    PrivateKMeans,
    Schema,
    estimate_bounds,
    load,
    plan,
)
from tests.e2e.cli import run
from tests.fuzz.canaries import Canaries

PLANTED = Canaries()

SCHEMA = Schema(
    a=Number(0, 1),
    b=Number(0, 1),
    kind=Category("x", "y"),
    seen=Date("1990-01-01", "2010-01-01"),
    groups="who",
)


def check(data, digits=12):
    found = PLANTED.found_in(data, digits)
    assert not found, found


def check_model(model, path):
    """Nothing that a model shows, says, saves or holds has a planted value."""
    model.save(path)
    check(path.read_bytes())
    check(pickle.dumps(model))
    check(repr(vars(model)))
    for text in (repr(model), str(model), str(model.receipt_), model.receipt_.to_json()):
        check(text)
    check(repr(load(path)))


def test_planted_values_are_found_where_they_are():
    cells, frame = PLANTED.cells, PLANTED.frame()
    for data in (
        cells.tobytes(),
        cells.astype(">f8").tobytes(),
        cells.astype("f4").tobytes(),
        cells[:, 0].astype(">f4").tobytes(),
        repr(cells[7, 1]),
        f"{cells[7, 1] * 100:.15g} %",
        json.dumps(cells.tolist()),
        str(PLANTED.ids[3]),
        PLANTED.ids.tobytes(),
        PLANTED.words[5].encode("utf-16"),
        frame.to_csv(),
        pickle.dumps(frame),
    ):
        assert PLANTED.found_in(data)
    assert PLANTED.found_in(f"got {cells[7, 1]:.9g}", digits=8)
    assert not PLANTED.found_in(np.random.default_rng(1).bytes(10**5))


@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "auto", "maxcover", "balcan"])
def test_models_hold_no_row(tmp_path, method):
    model = PrivateKMeans(3, bounds=(0, 1), method=method, delta=1e-6).fit(PLANTED.cells)
    check_model(model, tmp_path / "model.json")


def test_models_of_tables_hold_no_row(tmp_path):
    model = PrivateKMeans(3, schema=SCHEMA, max_rows_per_group="private").fit(PLANTED.frame())
    check_model(model, tmp_path / "model.json")
    model = PrivateKMeans(2, bounds="private").fit(PLANTED.frame()[["a", "b", "who"]], groups="who")
    check_model(model, tmp_path / "model.json")


def test_curators_plans_and_explanations_show_no_row():
    frame = PLANTED.frame()
    curator = Curator(frame, schema=SCHEMA, epsilon=3)
    model = PrivateKMeans(2).fit(curator)
    explanation = model.explain(curator)
    for shown in (curator, curator.ledger, explanation, explanation.receipt, SCHEMA):
        check(repr(shown)), check(str(shown))
    check(explanation.to_json())
    check(str(plan(n=1000, d=2, k=3, epsilon=1)))
    check(repr(estimate_bounds(PLANTED.cells, epsilon=1)))
    parts = Curator(PLANTED.cells, bounds=(0, 1), epsilon=1).by(
        np.resize(PLANTED.ids, 200), values=[1]
    )
    check(repr(parts)), check(str(PrivateKMeans(2).fit(parts[1]).receipt_))


class Failing:
    """A method that is charged, and fails."""

    def caps(self, task):
        return sfumato.METHODS["dplloyd"]().caps(task)

    def __call__(self, curator, task, *, account, rng):
        sfumato.METHODS["dplloyd"]()(curator, task, account=account, rng=rng)
        raise RuntimeError("failed")


def _objects():
    return PLANTED.frame()[["a", "kind"]].to_numpy()


FITTED = PrivateKMeans(2, bounds=(0, 1), method="dplloyd")
REFUSED = {
    "text": lambda m: PrivateKMeans(bounds=(0, 1)).fit(PLANTED.frame()),
    "objects": lambda m: PrivateKMeans(bounds=(0, 1)).fit(_objects()),
    "ragged": lambda m: PrivateKMeans(bounds=(0, 1)).fit([*PLANTED.cells.tolist(), [1]]),
    "one column": lambda m: PrivateKMeans(bounds=(0, 1)).fit(PLANTED.cells[:, 0]),
    "complex": lambda m: PrivateKMeans(bounds=(0, 1)).fit(PLANTED.cells * 1j),
    "bounds": lambda m: PrivateKMeans(bounds=([0] * 3, [1] * 3)).fit(PLANTED.cells),
    "groups": lambda m: PrivateKMeans(bounds=(0, 1)).fit(PLANTED.cells, groups=PLANTED.ids),
    "groups by name": lambda m: PrivateKMeans(bounds=(0, 1)).fit(PLANTED.frame(), groups="kind"),
    "types": lambda m: PrivateKMeans(schema=Schema(kind=Date("2000", "2001"))).fit(_objects()),
    "by": lambda m: Curator(PLANTED.cells, bounds=(0, 1), epsilon=1).by(
        PLANTED.words[9:], values=["x"]
    ),
    "failing": lambda m: PrivateKMeans(2, bounds=(0, 1), method=Failing()).fit(PLANTED.cells),
    "predict text": lambda m: m.predict(_objects()),
    "predict one row": lambda m: m.predict(PLANTED.cells[0]),
    "predict complex": lambda m: m.predict(PLANTED.cells * 1j),
    "predict masked": lambda m: m.predict(np.ma.masked_array(PLANTED.frame()[["kind", "kind"]])),
    "predict more": lambda m: m.predict(PLANTED.frame()),
    "score a table": lambda m: m.score(PLANTED.frame()[["kind", "seen"]]),
    "perturb": lambda m: NDLaplace(1, bounds=(0, 1)).fit_transform(_objects()),
    "reports": lambda m: LocalClustering(perturbation="done").fit(_objects()),
    "reports of one": lambda m: LocalClustering(perturbation="done").fit(PLANTED.cells[0]),
    "explain": lambda m: m.explain(PLANTED.frame()),
    "bounds by rows": lambda m: estimate_bounds(_objects(), epsilon=1),
}


@pytest.fixture(scope="module")
def fitted():
    return PrivateKMeans(2, bounds=(0, 1), method="dplloyd").fit(PLANTED.cells)


@pytest.mark.parametrize("name", REFUSED)
def test_errors_name_no_cell(name, fitted, caplog):
    """With all that they came from, whether a traceback prints it or not."""
    caplog.set_level(logging.DEBUG, logger="sfumato")
    shown = warnings.catch_warnings(record=True, action="always")
    with shown as warned, pytest.raises(Exception) as caught:
        REFUSED[name](fitted)
    error = caught.value
    check("".join(traceback.format_exception(error)), digits=8)
    while error is not None:
        check(repr(error) + str(error) + repr(error.args), digits=8)
        check(repr(getattr(error, "__notes__", "")), digits=8)
        error = error.__cause__ or error.__context__
    check(caplog.text + "".join(str(w.message) for w in warned), digits=8)


def test_commands_print_and_keep_no_cell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PLANTED.frame().to_csv("rows.csv", index=False)
    PLANTED.frame().to_parquet("rows.parquet")
    SCHEMA.write("schema.toml")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    declared = ("--schema", "schema.toml")
    spent = ("--ledger", "ledger.db", "--epsilon", "1", "--on-bad-row", "policy")
    create = ("--dataset", "d", "--epsilon", "9", "--max-rows-per-group", "1")
    fit = ("fit", "rows.csv", *declared, *spent, "-k", "2", "-o")
    codes = []
    for words in (
        ("ledger", "create", "ledger.db", *create),
        (*fit, "model.json", "--json", "--request", "one"),
        ("fit", "rows.parquet", *declared, *spent, "-k", "2", "-o", "other.json", "--json"),
        (*fit, "model.json", "--force"),
        ("fit", "rows.csv", "--bounds", "0,1", "-k", "2", "--epsilon", "1", "-o", "no.json"),
        ("bounds", "rows.csv", "--columns", "a,b", "--groups", "who", *spent, "--json"),
        ("explain", "model.json", "rows.csv", *spent, "--json"),
        ("explain", "model.json", "rows.csv", *spent),
        ("perturb", "rows.csv", "--columns", "a,b", "--bounds", "0,1", "--epsilon", "1",
         "-o", "p.csv"),
        ("predict", "model.json", "rows.csv", "-o", "labels.csv", "--json"),
        ("predict", "rows.csv", "model.json", "-o", "labels.csv"),
        ("plan", "--n", "1000", *declared, "-k", "2", "--epsilon", "1", "--json"),
        ("schema", "show", "schema.toml", "--json"),
        *(("ledger", verb, "ledger.db", "--json") for verb in ("show", "history", "releases")),
        ("ledger", "verify", "ledger.db"),
        ("ledger", "export", "ledger.db"),
    ):  # fmt: skip
        ended = run(*words)
        codes.append(ended.exit_code)
        check(ended.stdout), check(ended.stderr, digits=8)
    assert codes.count(0) == len(codes) - 2, codes
    assert not any((tmp_path / "temporary").iterdir())
    for path in tmp_path.iterdir():
        if path.is_file() and path.stem != "rows":
            check(path.read_bytes())


WATCHED = """
import os, signal, sys
from sfumato import Curator, PrivateKMeans, Ledger, Schema
from sfumato._ledger.durable import DurableLedger

written, charge = [], DurableLedger.charge

def watch(event, args):
    if event == "open" and isinstance(args[0], str) and args[2] & (os.O_WRONLY | os.O_RDWR):
        print(args[0], flush=True)

def killed(self, *args):
    found = charge(self, *args)
    if self.count == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    type(self).count += 1
    return found

DurableLedger.count, DurableLedger.charge = 0, killed
ledger = Ledger.create("ledger.db", "d", epsilon=1, max_rows_per_group=1)
sys.addaudithook(watch)
curator = Curator("rows.csv", schema=Schema.read("schema.toml"), ledger=ledger)
PrivateKMeans(2, method="dplloyd").fit(curator)
"""


def test_a_killed_fit_leaves_no_cell(tmp_path):
    """While it runs it writes to its ledger alone, and nothing is left behind."""
    PLANTED.frame().to_csv(tmp_path / "rows.csv", index=False)
    SCHEMA.write(tmp_path / "schema.toml")
    (tmp_path / "temporary").mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    assert ended.returncode == -9, ended.stderr
    check(ended.stdout + ended.stderr, digits=8)
    strange = [n for n in ended.stdout.split() if "ledger.db" not in n and "__pycache__" not in n]
    assert not strange
    assert not any((tmp_path / "temporary").iterdir())
    left = {path.name for path in tmp_path.iterdir()} - {"rows.csv", "schema.toml", "temporary"}
    assert left
    assert all(name.startswith("ledger.db") for name in left)
    for name in left:
        check((tmp_path / name).read_bytes())

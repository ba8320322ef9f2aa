"""Odd arguments and files: a result, or a refusal before anything is charged.

Cases are made of seeds. What went wrong once is a case that is written down.
"""

import os
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from tests.fuzz.calls import Case
from tests.fuzz.commands import Command, Typed, faults_of, make_files, run_here
from tests.fuzz.harness import attempt
from tests.fuzz.odd import LABELS, TABLES
from tests.fuzz.operations import Given

SEED = 20261118
FEW, MANY = 300, 8000
FEW_COMMANDS, MANY_COMMANDS = 60, 2000
PROCESSES = 24

HUGE = 10**400

KNOWN = [
    ("fit", {"epsilon": HUGE}),
    ("fit", {"epsilon": Fraction(HUGE)}),
    ("fit", {"delta": -HUGE}),
    ("fit", {"epsilon": np.timedelta64(3, "s")}),
    ("fit", {"n_clusters": np.timedelta64(3, "s")}),
    ("fit", {"n_rows": HUGE}),
    ("fit", {"epsilon": 5e-324, "method": "auto"}),
    ("fit", {"bounds": (0, HUGE)}),
    ("fit", {"bounds": np.array(1)}),
    ("fit", {"bounds": (0, np.longdouble("1e4000"))}),
    ("fit", {"bounds": pd.Series([0, 1], ["x", "y"])}),
    ("plan", {"bounds": {"a": (0, 1)}}),
    ("box", {"bounds": {0, 1}}),
    ("box", {"bounds": np.ma.masked_array([0, 5], mask=[1, 0])}),
    ("box", {"bounds": np.array([0, 1j])}),
    ("fit by schema", {"epsilon": 5e-324}),
    ("reserve", {"pure": Fraction(1, HUGE)}),
    ("share", {"weights": Decimal("NaN")}),
    ("counts", {"q_m": 1000.0}),
    ("counts", {"q_d": HUGE}),
    ("counts", {"q_m": np.int64(65535), "q_d": np.int64(64)}),
    ("counts", {"q_d": Decimal("NaN")}),
    ("counts of nearest", {"q_c": Fraction(HUGE)}),
    ("counts of nearest", {"q_c": np.longdouble("1e4000")}),
    ("block means", {"k": 2.5}),
    ("block means", {"blocks": float("nan")}),
    ("block means", {"key": "x"}),
    ("block means", {"key": Decimal("sNaN")}),
    ("number", {"upper": HUGE}),
    ("number", {"weight": Decimal("0.5")}),
    ("number", {"weight": Fraction(1, 2)}),
    ("weights", {"upper": HUGE}),
    ("category", {"missing": np.complex128(1)}),
    ("category", {"groups": 3}),
    ("schema from facts", {"kind": {}}),
    ("schema from anything", {"data": []}),
    ("schema from anything", {"data": np.array([1, 2])}),
    ("ledger", {"bounds": "01"}),
    ("ledger", {"bounds": (1, 0)}),
    ("ledger", {"bounds": {"a": 3}}),
    ("ledger", {"dataset": 3}),
    ("ledger", {"person": 3}),
    ("ledger", {"parts": 2.5}),
    ("ledger", {"parts": {"pure": "1/0"}}),
    ("ledger", {"epsilon": 1e300}),
    ("reserve", {"pure": HUGE}),
    ("flag", {"weight": 5e-324}),
    ("weights", {"source": [1]}),
    ("local clustering", {"perturbation": {}}),
    ("group sizes", {"q_d": csr_matrix([[1]])}),
    ("mean_displacement", {"d": HUGE}),
    ("LaplaceMechanism", {"epsilon": 2**63}),
    ("Duchi", {"bounds": (-1e308, 1e308)}),
    ("local clustering", {"perturbation": "done"}),
]

KNOWN_TABLES = [
    *(("use", {"verb": verb}, table) for verb in ("predict", "score") for table in TABLES),
    *(("use", {"kind": "schema", "verb": "transform"}, table) for table in TABLES),
    *((name, {}, table) for name in ("fit", "fit by schema", "perturb") for table in TABLES),
    *(("local clustering", {"perturbation": "done"}, table) for table in TABLES),
    *(("use", {"verb": verb}, "no row") for verb in ("fit_predict", "fit_transform")),
    *(("fit", {"groups": 1}, table) for table in ("pandas series", "arrow array", "polars lazy")),
]


def check(case):
    found = attempt(case).faults()
    assert not found, f"{case}: {found}"


@pytest.mark.parametrize(("name", "odd"), KNOWN, ids=lambda value: str(value)[:40])
def test_what_was_found_once_is_refused(name, odd):
    check(Case(name, odd, Given(SEED, "plain")))


def test_every_table_is_read_or_refused():
    for number, (name, odd, table) in enumerate(KNOWN_TABLES):
        check(Case(name, odd, Given((SEED, number), table, "name")))


def test_all_labels_are_read_or_refused():
    for number, labels in enumerate(LABELS):
        for table in ("plain", "pandas", "no row"):
            for name in ("fit", "by", "estimate_bounds"):
                odd = {} if name == "by" else {"groups": 1}
                check(Case(name, odd, Given((SEED, number), table, labels)))


def test_odd_arguments_are_refused_before_a_charge():
    for number in range(FEW):
        check(Case.of((SEED, number)))


@pytest.mark.slow
def test_many_odd_arguments_are_refused_before_a_charge():
    for number in range(FEW, MANY):
        check(Case.of((SEED, number)))


def test_a_seed_makes_the_same_case():
    assert [str(Case.of((1, i))) for i in range(40)] == [str(Case.of((1, i))) for i in range(40)]
    assert len({str(Case.of((1, i))) for i in range(40)}) > 30


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)


FIT = ("fit", "good.csv", "-k", "2", "--epsilon", "1", "--header", "-o", "out.json")
KNOWN_COMMANDS = [
    Typed(*FIT, "--bounds", "0,1", "--columns", "a\nb"),
    Typed(*FIT, "--bounds-file", "deep.json"),
    Typed(*FIT, "--bounds-file", "digits.json"),
    Typed(*FIT, "--schema", "deep.toml"),
    Typed(*FIT, "--schema", "digits.toml"),
    Typed("predict", "deep.json", "good.csv", "-o", "out.csv", "--header"),
    *(
        Typed("predict", f"model-{stem}.json", "good.csv", "-o", "out.csv", "--header")
        for stem in ("names", "numbers", "zero", "guarantee", "shape", "wide", "empty", "infinite")
    ),
    *(Typed("ledger", verb, "edited.db") for verb in ("show", "export", "history", "verify")),
    Typed("ledger", "create", "new.db", "--dataset", "d", "--epsilon", "1e300"),
    Typed(
        "ledger",
        "create",
        "new.db",
        "--dataset",
        "d",
        "--epsilon",
        "1",
        "--bounds-file",
        "list.json",
    ),
]


def check_command(command):
    found, _, printed, _ = run_here(command)
    assert not found, f"{command}: {found}\n{printed[-500:]}"


@pytest.mark.usefixtures("here")
def test_odd_commands_are_refused_in_words():
    for command in KNOWN_COMMANDS:
        check_command(command)
    for number in range(FEW_COMMANDS):
        check_command(Command((SEED, number)))


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_many_odd_commands_are_refused_in_words():
    for number in range(FEW_COMMANDS, MANY_COMMANDS):
        check_command(Command((SEED, number)))


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_odd_commands_are_refused_in_processes_of_their_own():
    """As a user runs them, where an error that is not caught would print a traceback."""
    for number in range(PROCESSES):
        command = Command((SEED, 1, number))
        if any("\0" in word for word in command.words):
            continue
        ended = subprocess.run(
            [sys.executable, "-c", "from sfumato.cli import app; app()", *command.words],
            capture_output=True,
            timeout=600,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        printed = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        found = faults_of(command, ended.returncode, printed)
        assert not found, f"{command}: {found}\n{printed[-500:]}"

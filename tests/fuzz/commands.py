"""Command lines with odd words and files of all sorts: each is made of a seed alone."""

import gzip
import io
import json
import os
import sqlite3
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.main import get_command

import sfumato
from sfumato import Category, Number, PrivateKMeans, Schema
from sfumato.cli import app
from tests.fuzz.harness import SECRET, SECRET_TEXT, TRACES, Ended, TooSlow, at_most, counted_charges
from tests.fuzz.odd import rows

GOOD = "a,b\n" + "".join(f"{x},{y}\n" for x, y in rows(np.random.default_rng(0)).tolist())
DEEP = "[" * 5000 + "]" * 5000

TABLES = {
    "good.csv": GOOD,
    "empty.csv": "",
    "header.csv": "a,b\n",
    "ragged.csv": f"a,b\n{SECRET},1,2\n3\n",
    "quotes.csv": f'a,b\n"{SECRET_TEXT},1\n2,3\n',
    "text.csv": f"a,b\n{SECRET_TEXT},1\n2,{SECRET_TEXT}\n",
    "latin.csv": "a,b\né,1\n".encode("latin-1") + b"\xff\xfe,2\n",
    "utf16.csv": GOOD.encode("utf-16"),
    "bom.csv": b"\xef\xbb\xbf" + GOOD.encode(),
    "nul.csv": b"a,b\n\x00\x01,2\n",
    "twice.csv": f"a,a\n{SECRET},1\n",
    "semi.csv": f"a;b\n{SECRET};1\n",
    "huge.csv": f"a,b\n1e999,-1e999\n{'9' * 5000},{SECRET}\n",
    "long.csv": "a,b\n" + "x" * 100_000 + ",1\n",
    "groups.csv": "who,a,b\n" + "".join(f"{SECRET_TEXT}{i // 3},0.{i},0.5\n" for i in range(24)),
    "good.tsv": GOOD.replace(",", "\t"),
    "fake.csv.gz": GOOD,
    "good.csv.gz": gzip.compress(GOOD.encode()),
    "cut.csv.gz": gzip.compress(GOOD.encode())[:-20],
    "fake.parquet": GOOD,
    "fake.npy": GOOD,
    "rows.json": json.dumps({"a": SECRET_TEXT}),
    "noextension": GOOD,
}

JSONS = {
    "broken": '{"a": [0,',
    "empty": "",
    "deep": DEEP,
    "list": "[1, 2]",
    "number": "3",
    "null": "null",
    "twice": '{"a": [0, 1], "a": [0, 2], "b": [0, 1]}',
    "huge": '{"a": [0, 1e999], "b": [0, 1]}',
    "digits": '{"a": [0, ' + "9" * 5000 + '], "b": [0, 1]}',
    "words": '{"a": ["x", "y"], "b": {}}',
    "nested": '{"a": [[0], [1]], "b": [0, 1]}',
    "names": '{"": [0, 1], "\\u0000": [0, 1]}',
    "bytes": b"\xff\xfe\x00{",
    "nan": '{"a": [NaN, 1], "b": [0, Infinity]}',
    "good": '{"a": [0, 1], "b": [0, 1]}',
    "pair": "[[0, 0], [1, 1]]",
    "reversed": '{"a": [1, 0], "b": [0, 1]}',
}

TOMLS = {
    "good": '[columns.a]\nkind = "number"\nlower = 0\nupper = 1\n'
    '[columns.b]\nkind = "number"\nlower = 0\nupper = 1\n',
    "broken": "[columns.a\nkind",
    "empty": "",
    "kind": '[columns.a]\nkind = "nothing"\n',
    "types": '[columns]\na = 3\n[groups]\nx = 1\n',
    "numbers": '[columns.a]\nkind = "number"\nlower = inf\nupper = nan\n',
    "digits": '[columns.a]\nkind = "number"\nlower = 0\nupper = ' + "9" * 5000 + "\n",
    "deep": "columns = " + DEEP,
    "twice": "[columns.a]\nkind = 'flag'\n[columns.a]\nkind = 'flag'\n",
    "levels": '[columns.a]\nkind = "category"\nlevels = [1, "1", []]\n',
    "date": '[columns.a]\nkind = "date"\nfirst = 2020-01-01\nlast = 1999-01-01\n',
    "bytes": b"\xff\xfe\x00",
    "missing": '[columns.a]\nkind = "flag"\nmissing = [1]\n',
    "groups": '[columns.a]\nkind = "number"\nlower = 0\nupper = 1\n[columns]\ngroups = 1\n',
}  # fmt: skip

ODD_NAMES = ("-dash.csv", "new\nline.csv", "ünï.csv", " .csv", "a=b,c.csv", "[x]*.csv", "%s{}.csv")
LONG = "x" * 300 + ".csv"


def make_files(here):
    """Files of all sorts in a folder, which is the one that commands run in."""
    for name, text in {**TABLES, **{name: GOOD for name in ODD_NAMES}}.items():
        data = text.encode() if isinstance(text, str) else text
        (here / name).write_bytes(data)
    for stem, text in JSONS.items():
        (here / f"{stem}.json").write_bytes(text.encode() if isinstance(text, str) else text)
    for stem, text in TOMLS.items():
        (here / f"{stem}.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    table = rows(np.random.default_rng(0))
    np.save(here / "good.npy", table)
    np.save(here / "objects.npy", np.array([[SECRET_TEXT, None]], dtype=object), allow_pickle=True)
    np.save(here / "flat.npy", table[:, 0])
    np.save(here / "complex.npy", table.astype(complex))
    pq.write_table(pa.table({"a": table[:, 0], "b": table[:, 1]}), here / "good.parquet")
    pq.write_table(pa.table({"a": [[SECRET]], "b": [SECRET_TEXT]}), here / "lists.parquet")
    (here / "cut.parquet").write_bytes((here / "good.parquet").read_bytes()[:-9])
    (here / "cut.npy").write_bytes((here / "good.npy").read_bytes()[:150])
    (here / "folder").mkdir()
    os.symlink("nowhere", here / "dangling.csv")
    _models(here, table)
    _ledgers(here)


def _models(here, table):
    PrivateKMeans(2, bounds=(0, 1), method="eugkm").fit(table).save(here / "model.json")
    schema = Schema(a=Number(0, 1), b=Category("x", "y"))
    mixed = [[x, "xy"[i % 2]] for i, (x, _) in enumerate(table.tolist())]
    PrivateKMeans(2, schema=schema, method="dplloyd").fit(mixed).save(here / "mixed.json")
    good = json.loads((here / "model.json").read_text())
    wrong = {
        "format": {**good, "format": 99},
        "centers": {**good, "cluster_centers": "none"},
        "ragged": {**good, "cluster_centers": [[1], [1, 2]]},
        "shape": {**good, "cluster_centers": [[[1]]]},
        "sizes": {**good, "cluster_sizes": [None, {}]},
        "bounds": {**good, "bounds": {"lower": [0, 0], "upper": [0]}},
        "nobounds": {**good, "bounds": []},
        "numbers": {**good, "bounds": {"lower": [0, 0], "upper": [1, 10**400]}},
        "receipt": {**good, "receipt": {}},
        "guarantee": {
            **good, "receipt": {**good["receipt"], "guarantee": {"kind": 3, "epsilon": "1/0"}}
        },
        "zero": {
            **good,
            "receipt": {
                **good["receipt"], "guarantee": {**good["receipt"]["guarantee"], "epsilon": "1/0"}
            },
        },
        "method": {**good, "method": 3},
        "settings": {**good, "method": {"name": "eugkm", "settings": {"nothing": 1}}},
        "unknown": {**good, "method": {"name": "nothing", "settings": {}}},
        "schema": {**good, "schema": 3},
        "synopsis": {**good, "synopsis": {"weights": []}},
        "names": {**good, "feature_names": 3},
        "nan": {**good, "nan": "nothing"},
        "k": {**good, "n_clusters": "many", "epsilon": "x", "delta": None},
        "empty": {**good, "cluster_centers": [], "cluster_sizes": []},
        "wide": {**good, "cluster_centers": [[1, 2, 3]], "cluster_sizes": [1]},
        "infinite": {**good, "cluster_centers": [[float("nan"), float("inf")]]},
        "notes": {**good, "receipt": {**good["receipt"], "notes": 3, "queries": [{}]}},
    }  # fmt: skip
    for stem, model in wrong.items():
        (here / f"model-{stem}.json").write_text(json.dumps(model))
    (here / "model-cut.json").write_text((here / "model.json").read_text()[:-100])


def _ledgers(here):
    sfumato.Ledger.create(here / "good.db", "d", epsilon=1000.0)
    (here / "fake.db").write_text(GOOD)
    (here / "empty.db").write_bytes(b"")
    (here / "cut.db").write_bytes((here / "good.db").read_bytes()[:3000])
    broken = bytearray((here / "good.db").read_bytes())
    broken[4096:5000] = b"\xff" * 904
    (here / "broken.db").write_bytes(broken)
    with sqlite3.connect(here / "other.db") as other:
        other.execute("CREATE TABLE rows (x TEXT)")
        other.execute("INSERT INTO rows VALUES (?)", (SECRET_TEXT,))
    other.close()
    for stem, change in {
        "edited": "UPDATE event SET body = '{}'",
        "text": "UPDATE event SET body = 'no JSON'",
        "kind": "UPDATE event SET kind = 'nothing'",
    }.items():
        sfumato.Ledger.create(here / f"{stem}.db", "d", epsilon=1.0)
        with sqlite3.connect(here / f"{stem}.db") as other:
            for (trigger,) in other.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
                other.execute(f"DROP TRIGGER {trigger}")
            other.execute(change)
        other.close()


WORDS = (
    *("", "0", "-1", "1", "2", "2.5", "nan", "inf", "-inf", "1e-300", "1e300", "1e999", "x"),
    *("auto", "private", "9" * 400, "9" * 5000),
    *("a", "b", "c", "a,b", "a,a", ",", '"', "--", "-", "é", "\x00"),
    *("0,1", "1,0", "a=0,1", "a=", "=", "a=x,y", "0,nan", "0,1e999", "a=0,1,2", "[]", "{}", "None"),
    *("True", "1/0", "0x10", "1_000", "١", "\n", "a\nb", "%s", "iterations=3", "x=1"),
)  # fmt: skip

FILES = (
    *TABLES, *ODD_NAMES, LONG, "good.npy", "objects.npy", "flat.npy", "complex.npy", "cut.npy",
    "good.parquet", "lists.parquet", "cut.parquet", "folder", "dangling.csv", "nothing.csv", ".",
    "/dev/null", "*.csv", "good.db", "model.json", "file://x",
)  # fmt: skip
MODELS = (
    *(f"model-{stem}.json" for stem in (
        "format", "centers", "ragged", "shape", "sizes", "bounds", "nobounds", "numbers", "receipt",
        "guarantee", "zero", "method", "settings", "unknown", "schema", "synopsis", "names", "nan",
        "k", "empty", "wide", "infinite", "notes", "cut",
    )),
    "model.json", "mixed.json", *(f"{stem}.json" for stem in JSONS), "good.csv", "folder", "none",
)  # fmt: skip
DBS = ("good.db", "fake.db", "empty.db", "cut.db", "broken.db", "other.db", "edited.db", "text.db",
       "kind.db", "nothing.db", "folder", "", "/dev/null", "sqlite:///good.db")  # fmt: skip
BOUND_FILES = (*(f"{stem}.json" for stem in JSONS), "good.csv", "folder", "none")
SCHEMAS = (*(f"{stem}.toml" for stem in TOMLS), "good.csv", "folder", "none")
OUTS = ("out.json", "out.csv", "good.csv", "folder", "/dev/null", "none/out", "-", "", LONG, "\x00")

READ = {"--columns": WORDS, "--sep": (*WORDS, ",", ";", "tab"), "--header": (), "--no-header": ()}
LIMITS = {"--bounds": WORDS, "--bounds-file": BOUND_FILES, "--schema": SCHEMAS}
CHARGED = {"--ledger": DBS, "--dataset": WORDS, "--as": WORDS, "--purpose": WORDS,
           "--yes-epsilon": ()}  # fmt: skip
GROUPED = {"--groups": (*WORDS, "who"), "--max-rows-per-group": WORDS,
           "--on-bad-row": ("policy", "refuse", *WORDS)}  # fmt: skip
PLAIN = {"--epsilon": WORDS, "--delta": WORDS, "--json": (), "--force": (), "--nothing": WORDS}

COMMANDS = {
    "fit": (
        ("fit", FILES, "-k", "2", "--epsilon", "1", "--bounds", "0,1", "--header", "--method",
         "dplloyd", "-o", "out.json", "--force"),
        {**PLAIN, **READ, **LIMITS, **CHARGED, **GROUPED, "-k": WORDS, "--method": WORDS,
         "--set": WORDS, "--nan": WORDS, "--n-rows": WORDS, "--random-state": WORDS, "-o": OUTS,
         "--engine": ("local", "nowhere"), "--workers": WORDS, "--request": WORDS},
    ),
    "bounds": (
        ("bounds", FILES, "--epsilon", "1", "--header", "-o", "out.json", "--force"),
        {**PLAIN, **READ, **CHARGED, **GROUPED, "-o": OUTS},
    ),
    "perturb": (
        ("perturb", FILES, "--epsilon", "1", "--bounds", "0,1", "--header", "-o", "out.csv"),
        {**PLAIN, **READ, **LIMITS, "--level": WORDS, "--radius": WORDS, "--truncation": WORDS,
         "--units": WORDS, "--keep": WORDS, "--nan": WORDS, "-o": OUTS},
    ),
    "predict": (
        ("predict", MODELS, FILES, "-o", "out.csv", "--header"),
        {**PLAIN, **READ, "--schema": SCHEMAS, "-o": OUTS},
    ),
    "sample": (
        ("sample", MODELS, "-n", "5", "-o", "out.csv", "--force"),
        {**PLAIN, "-n": ("0", "-1", "x", "", "2.5"), "--random-state": WORDS, "-o": OUTS},
    ),
    "explain": (
        ("explain", MODELS, FILES, "--epsilon", "1", "--header"),
        {**PLAIN, **READ, **CHARGED, **GROUPED, "--schema": SCHEMAS, "-o": OUTS},
    ),
    "quality": (
        ("quality", MODELS, FILES, "--epsilon", "1", "--header"),
        {**PLAIN, **READ, **CHARGED, **GROUPED, "--level": WORDS, "--clip": WORDS, "-o": OUTS},
    ),
    "check": (("check", FILES, "--header"), {**PLAIN, **READ, **LIMITS}),
    "plan": (
        ("plan", "--n", "1000", "--d", "2", "-k", "3", "--epsilon", "1"),
        {**PLAIN, "--n": WORDS, "--d": WORDS, "-k": WORDS, "--bounds": WORDS, "--schema": SCHEMAS},
    ),
    "schema": (
        ("schema", ("init", "init", "show", "nothing"), FILES),
        {**PLAIN, "-o": OUTS, "--schema": SCHEMAS},
    ),
    "schema file": (("schema", "show", SCHEMAS), {**PLAIN, "-o": OUTS}),
    "ledger": (
        ("ledger", ("show", "history", "verify", "grant", "price", "releases", "export"), DBS),
        {**PLAIN, "--dataset": WORDS, "--to": WORDS, "--as": WORDS, "--get": WORDS, "-o": OUTS,
         "--fits": BOUND_FILES, "--new-mark": ()},
    ),
    "ledger create": (
        ("ledger", "create", ("new.db", *DBS), "--dataset", "d", "--epsilon", "1"),
        {**PLAIN, "--dataset": WORDS, "--mode": ("zcdp", "gaussian", *WORDS), "--pure": WORDS,
         "--plain": WORDS, "--max-rows-per-group": WORDS, "--bounds-file": BOUND_FILES,
         "--schema": SCHEMAS, "--bounds-from": WORDS},
    ),
    "words": ((("fit", "nothing", "", "-h", "--version", "--", "ledger", "schema"),), PLAIN),
}  # fmt: skip

OWNERS = ("check", "schema")
"""Commands that say exact things to the owner of a file (docs/the-promise.md)."""


class Typed:
    """A command line, to be run in a folder of `make_files`."""

    def __init__(self, *words):
        self.words = list(words)

    def __str__(self):
        return " ".join(repr(word[:60]) for word in self.words)

    @property
    def is_owners(self):
        """Whether its output is for the owner of the rows."""
        return self.words[:1] in [[name] for name in OWNERS]


class Command(Typed):
    """A command line that is made of its seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)

        def pick(values):
            return values[int(rng.integers(len(values)))]

        usual, options = COMMANDS[pick(list(COMMANDS))]
        good = {FILES: "good.csv", MODELS: "model.json", DBS: "good.db"}
        words = []
        for word in usual:
            if not isinstance(word, tuple):
                words.append(word)
            elif word in good and rng.uniform() < 0.6:
                words.append(good[word])
            else:
                words.append(pick(word))
        for _ in range(int(rng.choice(4, p=[0.15, 0.45, 0.25, 0.15]))):
            option = pick(list(options))
            words.append(option)
            if options[option]:
                words.append(pick(options[option]))
        if rng.uniform() < 0.05 and len(words) > 2:
            del words[int(rng.integers(1, len(words)))]
        super().__init__(*words)


def faults_of(command, code, printed, error=None, charges=0):
    """What is wrong with how a command ended; `printed` is all its output."""
    found = []
    if error is not None:
        found.append(f"raises {type(error).__name__}: {error}")
    elif code not in (0, 2, 3):
        found.append(f"exits with {code}")
    if "Traceback" in printed or "recursion depth" in printed:
        found.append("prints a traceback")
    if any(trace in printed for trace in TRACES) and not command.is_owners:
        found.append("prints a cell")
    if charges and code == 2:
        found.append(f"is refused after {charges} charges")
    return found


@cache
def _built():
    """The commands, put together once: that takes longer than most of them do."""
    return get_command(app)


def run_here(command):
    """Run a command in this process; returns what was wrong, and what it printed."""
    ended, printed = Ended(), io.StringIO()
    error, code = None, 0
    with counted_charges(ended), redirect_stdout(printed), redirect_stderr(printed):
        try:
            with at_most():
                _built().main(command.words, prog_name="sfumato")
        except SystemExit as end:
            code = end.code or 0
        except (Exception, TooSlow) as raised:
            error, code = raised, 1
    for name in ("out.json", "out.csv", "new.db", "new.db-wal", "new.db-shm"):
        Path(name).unlink(missing_ok=True)
    found = faults_of(command, code, printed.getvalue(), error, ended.charges)
    return found, code, printed.getvalue(), error

"""The commands and their options: each command is a class, each of its fields an option.

Nothing heavy is loaded here, so that help is instant.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

Nan = StrEnum("Nan", ["IGNORE", "CENTER", "DROP"])
ReportNan = StrEnum("ReportNan", ["CENTER", "KEEP", "DROP"])
Truncation = StrEnum("Truncation", {"CLAMP": "clamp", "RESAMPLE": "resample", "NONE": "none"})
Units = StrEnum("Units", {"DATA": "data", "BOX": "box"})
BadRow = StrEnum("BadRow", ["REFUSE", "POLICY"])
EngineName = StrEnum("EngineName", ["AUTO", "LOCAL", "DASK", "SPARK", "COMPSS"])

_FORMATS = ".csv, .tsv (both also .gz), .npy or .parquet."
_BOUNDS = (
    "Public bounds of all columns, or of one; may be repeated. Choose them without looking at the "
    "data: what lies outside is clipped."
)


def _option(metavar: str, help: str, *names: str) -> Any:  # noqa: ANN401
    """An option that takes a value; without names its name is that of its field."""
    return Option(*names, metavar=metavar, help=help)


Data = Annotated[Path, Argument(metavar="DATA", help=f"A file of rows: {_FORMATS}")]
Out = Annotated[Path, _option("FILE", "Where to write.", "--output", "-o")]
Force = Annotated[bool, Option("--force", help="Overwrite a file that is there.")]
Epsilon = Annotated[float, _option("ε", "The privacy budget, all of it spent.", "--epsilon")]
Delta = Annotated[float, _option("δ", "0 is pure ε-DP; above 0 allows Gaussian noise.")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What every command takes."""

    as_json: Annotated[bool, Option("--json", help="Print JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class Reading(Command):
    """How files are read."""

    columns: Annotated[
        list[str] | None,
        _option(
            "A,B,…",
            "Columns to read, by name or position from 0. Default: all. With --no-header one "
            "number N says that there are N columns.",
        ),
    ] = None
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="Whether the first line of a text table names the columns. Say so, or name "
            "columns in --columns or --bounds: it is not guessed.",
            show_default=False,
        ),
    ] = None
    sep: Annotated[
        str | None,
        _option(
            "CHARACTER",
            "What separates the fields of a text table: , ; | or tab. Default: as in the "
            "header; without one a comma, in .tsv a tab.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Bounded(Reading):
    """Which bounds the columns have."""

    bounds: Annotated[list[str] | None, _option("[COLUMN=]LOW,HIGH", _BOUNDS)] = None
    bounds_file: Annotated[
        Path | None, _option("FILE", 'Bounds as JSON: {"age": [17, 90], …} or [lower, upper].')
    ] = None


@dataclass(frozen=True, kw_only=True)
class Refusing(Reading):
    """Whether files with bad rows are refused."""

    on_bad_row: Annotated[
        BadRow,
        Option(
            help="refuse: read the file once before anything is spent, and stop if a cell holds "
            "text or a row has too few or too many fields. policy: treat such cells as missing."
        ),
    ] = BadRow.REFUSE


@dataclass(frozen=True, kw_only=True)
class Grouped(Refusing):
    """Which rows belong to one person."""

    groups: Annotated[
        str | None,
        _option(
            "COLUMN",
            "The column with the person of each row: protects a person with all their rows.",
        ),
    ] = None
    max_rows_per_group: Annotated[
        str, _option("M", "With --groups: rows of a group used; `private` chooses in a fit (ε/20).")
    ] = "1"


@dataclass(frozen=True, kw_only=True)
class Charged(Command):
    """Which budget is charged."""

    ledger: Annotated[
        str | None,
        _option("LEDGER", "Charge a ledger that lasts: a SQLite file, or postgresql://…"),
    ] = None
    dataset: Annotated[str | None, _option("NAME", "With --ledger: name of the dataset.")] = None
    person: Annotated[
        str | None, _option("NAME", "With --ledger: charge this person's grant.", "--as")
    ] = None
    purpose: Annotated[str, _option("TEXT", "With --ledger: what it is for; it is kept.")] = ""
    yes_epsilon: Annotated[
        bool, Option("--yes-epsilon", help="Spend an ε above 10 without being asked.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Cluster invented people, to see what it is like. Needs no data."""


@dataclass(frozen=True, kw_only=True)
class Check(Bounded):
    """Say what is wrong with a file. Exact numbers, for its owner: no privacy, no charge."""

    data: Data


@dataclass(frozen=True, kw_only=True)
class Fit(Grouped, Bounded, Charged):
    """Find private centres of the rows of files. Writes a model with its receipt."""

    data: Annotated[
        list[str],
        Argument(
            metavar="DATA…",
            help=f"Files of rows: {_FORMATS} Also a folder, a pattern, or an address such as "
            "s3://bucket/rows/*.parquet.",
        ),
    ]
    k: Annotated[
        str,
        _option(
            "K",
            "Number of centres, or `auto`: chosen on what is released, at no further cost.",
            "--n-clusters",
            "-k",
        ),
    ]
    epsilon: Epsilon
    output: Out
    force: Force = False
    request: Annotated[
        str | None,
        _option("NAME", "With --ledger: the same name brings back the same release, for free."),
    ] = None
    bounds: Annotated[
        list[str] | None,
        _option("[COLUMN=]LOW,HIGH", f"{_BOUNDS} `private` estimates them with a quarter of ε."),
    ] = None
    delta: Delta = 0.0
    method: Annotated[
        str, _option("NAME", "A clustering method by name; `sfumato methods` lists them all.")
    ] = "auto"
    settings: Annotated[
        list[str] | None,
        _option(
            "NAME=VALUE",
            "A setting of the method, such as iterations=3; may be repeated. `sfumato "
            "methods` lists the settings of every method and their defaults.",
            "--set",
        ),
    ] = None
    nan: Annotated[
        Nan, Option(help="Missing cells: count the rest of the row, centre them, or drop the row.")
    ] = Nan.IGNORE
    n_rows: Annotated[
        int | None,
        _option("N", "Declare the number of rows public. It is never compared with the data."),
    ] = None
    random_state: Annotated[
        int | None,
        _option("SEED", "Seeds public randomness (starts), never the noise: two fits differ."),
    ] = None
    engine: Annotated[
        EngineName,
        Option(help="Where the rows are read: this machine (auto, local), or a cluster."),
    ] = EngineName.AUTO
    workers: Annotated[
        int | None, _option("N", "With a cluster of its own: how many processes to start.")
    ] = None
    scheduler: Annotated[
        str | None,
        _option(
            "ADDRESS",
            "A cluster that is running: tcp://host:8786 (Dask), spark://host:7077 (Spark).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Bounds(Grouped, Charged):
    """Estimate bounds of the columns of a file privately, where none are known. Spends ε."""

    data: Data
    epsilon: Epsilon
    output: Annotated[
        Path | None, _option("FILE", "Where to write, for --bounds-file.", "--output", "-o")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Perturb(Refusing, Bounded):
    """Perturb each row on its own with nD-Laplace noise, so that near points look alike."""

    data: Data
    output: Out
    epsilon: Annotated[
        float | None,
        _option(
            "ε", "ε per unit of distance: two points r apart look alike within a factor e^(εr)."
        ),
    ] = None
    level: Annotated[
        float | None,
        _option("L", "In place of --epsilon, with --radius: alike within e^L, so ε = L/R."),
    ] = None
    radius: Annotated[
        float | None, _option("R", "Points within this public distance are alike within e^L.")
    ] = None
    truncation: Annotated[
        Truncation,
        Option(
            help="Reports outside the bounds: move them to the border, draw again (with ε/2, which "
            "keeps the guarantee), or leave them."
        ),
    ] = Truncation.CLAMP
    units: Annotated[
        Units,
        Option(
            help="Distances in the units of the data, or in half-widths of each column's bounds."
        ),
    ] = Units.DATA
    keep: Annotated[
        list[str] | None,
        _option("A,B,…", "Columns to copy as they are, unprotected. All others are left out."),
    ] = None
    nan: Annotated[
        ReportNan,
        Option(
            help="Missing cells go to the centre of their column; or stay missing, or their row is "
            "left out, which both reveal that they were missing."
        ),
    ] = ReportNan.CENTER


@dataclass(frozen=True, kw_only=True)
class Predict(Reading):
    """Label every row of a file with its nearest centre. For rows of your own: no release."""

    model: Annotated[Path, Argument(metavar="MODEL", help="A model that `fit` wrote.")]
    data: Data
    output: Out


@dataclass(frozen=True, kw_only=True)
class Plan(Command):
    """Predict the error, memory and passes of every method. Needs no data, costs no privacy."""

    n: Annotated[int, _option("N", "Expected number of rows; roughly.", "--n")]
    d: Annotated[int, _option("D", "Number of columns.", "--d")]
    k: Annotated[int, _option("K", "Number of centres.", "--n-clusters", "-k")]
    epsilon: Epsilon
    delta: Delta = 0.0
    bounds: Annotated[
        list[str] | None,
        _option(
            "LOW,HIGH",
            "Bounds of all columns, or repeated for each in order: states noise in their units.",
        ),
    ] = None
    n_rows_known: Annotated[
        bool,
        Option(
            "--n-rows-known",
            help="The fit will declare --n-rows, so that no method spends budget on a count.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Methods(Command):
    """List the clustering methods, with their settings and defaults."""


Store = Annotated[
    str, Argument(metavar="LEDGER", help="A SQLite file, or postgresql://user@host/database.")
]
Mode = StrEnum("Mode", ["ADD", "GAUSSIAN", "ZCDP"])


@dataclass(frozen=True, kw_only=True)
class LedgerCommand(Command):
    """What every command about a ledger takes."""

    ledger: Store
    dataset: Annotated[
        str | None, _option("NAME", "The dataset; not needed where there is one alone.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class LedgerCreate(Command):
    """Create the ledger of a dataset: what all fits on it together may spend. It never changes."""

    ledger: Store
    dataset: Annotated[str, _option("NAME", "The name of the dataset.")]
    epsilon: Annotated[float, _option("ε", "What all fits together may spend.")]
    delta: Delta = 0.0
    mode: Annotated[
        Mode,
        Option(
            help="How fits add up. add: ε and δ add. gaussian: pure ε and μ² add, for fits with δ. "
            "zcdp: ρ adds, for many small fits."
        ),
    ] = Mode.ADD
    pure: Annotated[
        float | None, _option("PART", "With gaussian: the part of ε for pure charges, 0.6.")
    ] = None
    plain: Annotated[
        float | None,
        _option("PART", "With gaussian, zcdp: the part of (ε, δ) for plain charges (max cover)."),
    ] = None
    max_rows_per_group: Annotated[
        int | None,
        _option("M", "Protect a person with at most M rows, not one row; fits use --groups."),
    ] = None
    bounds_file: Annotated[
        Path | None, _option("FILE", 'Public bounds as JSON: {"age": [17, 90], …}.')
    ] = None
    bounds_from: Annotated[str, _option("TEXT", "Where the bounds come from, in a sentence.")] = ""
    fit_epsilon: Annotated[
        float | None, _option("ε", "Say how many fits of this ε each mode would carry.")
    ] = None
    fit_delta: Annotated[float, _option("δ", "The δ of such a fit.")] = 0.0


@dataclass(frozen=True, kw_only=True)
class LedgerShow(LedgerCommand):
    """Show total, spent and left of every dataset, or of one."""


@dataclass(frozen=True, kw_only=True)
class LedgerHistory(LedgerCommand):
    """Show who spent what for what."""


@dataclass(frozen=True, kw_only=True)
class LedgerVerify(Command):
    """Check every event, hash, balance and charge. Ends with 4 if anything is wrong."""

    ledger: Store
    new_mark: Annotated[
        bool, Option("--new-mark", help="Accept a SQLite file as complete whose mark was lost.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class LedgerGrant(LedgerCommand):
    """Set a part of the budget aside for one person, who charges it with `fit --as`."""

    to: Annotated[str, _option("NAME", "Whom it is for.")]
    epsilon: Annotated[float, _option("ε", "How much of the budget.")]
    delta: Annotated[
        float | None, _option("δ", "How much of δ; by default the same part as of ε.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class LedgerPrice(LedgerCommand):
    """Say what planned fits would cost together, before anything is spent."""

    fits: Annotated[
        Path,
        Argument(
            metavar="FITS",
            help='Fits in JSON, such as [{"k": 5, "columns": 6, "epsilon": 0.1, "times": 10}], or '
            "[[fits]] in TOML.",
        ),
    ]
    person: Annotated[str | None, _option("NAME", "Out of this person's grant.", "--as")] = None


@dataclass(frozen=True, kw_only=True)
class LedgerReleases(LedgerCommand):
    """List what was released, or bring one release back, for free."""

    get: Annotated[str | None, _option("ID", "A request, or 8 of its first characters.")] = None
    output: Annotated[Path | None, _option("FILE", "Where to write it.", "--output", "-o")] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class LedgerExport(Command):
    """Write every event and release as JSON."""

    ledger: Store
    output: Annotated[Path | None, _option("FILE", "Where to write.", "--output", "-o")] = None
    force: Force = False


COMMANDS: dict[type[Command], str] = {
    Demo: "_demo.run",
    Check: "_inspect.run",
    Fit: "_fit.run",
    Bounds: "_plan.run_bounds",
    Perturb: "_rewrite.run",
    Predict: "_fit.run_predict",
    Plan: "_plan.run",
    Methods: "_methods.run",
    LedgerCreate: "_ledger.run_create",
    LedgerShow: "_ledger.run_show",
    LedgerHistory: "_ledger.run_history",
    LedgerVerify: "_ledger.run_verify",
    LedgerGrant: "_ledger.run_grant",
    LedgerPrice: "_ledger.run_price",
    LedgerReleases: "_ledger.run_releases",
    LedgerExport: "_ledger.run_export",
}
"""The function that runs each command. Its module is loaded when it runs."""

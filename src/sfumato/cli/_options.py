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
ModelKind = StrEnum("ModelKind", ["KMEANS", "MEDIAN", "MIXTURE", "DENSITY", "WARD"])
EngineName = StrEnum("EngineName", ["AUTO", "LOCAL", "DASK", "SPARK", "COMPSS"])

_FORMATS = ".csv, .tsv (both also .gz), .npy or .parquet."
_BOUNDS = (
    "Public bounds of all columns, or of one; may be repeated. Choose them without looking at the "
    "data: what lies outside is clipped."
)


def option(metavar: str, help: str, *names: str) -> Any:  # noqa: ANN401
    """An option that takes a value; without names its name is that of its field."""
    return Option(*names, metavar=metavar, help=help)


Data = Annotated[Path, Argument(metavar="DATA", help=f"A file of rows: {_FORMATS}")]
Out = Annotated[Path, option("FILE", "Where to write.", "--output", "-o")]
Force = Annotated[bool, Option("--force", help="Overwrite a file that is there.")]
Epsilon = Annotated[float, option("ε", "The privacy budget, all of it spent.", "--epsilon")]
Schema = Annotated[
    Path | None,
    option("FILE", "A schema: kinds, bounds and levels of columns. See `sfumato schema`."),
]
Model = Annotated[Path, Argument(metavar="MODEL", help="A model that `fit` wrote.")]
OfModel = Annotated[
    Path | None,
    option("FILE", "The schema of the model, which holds it already: another one is refused."),
]
Delta = Annotated[float, option("δ", "0 is pure ε-DP; above 0 allows Gaussian noise.")]


@dataclass(frozen=True, kw_only=True)
class Command:
    """What every command takes."""

    as_json: Annotated[bool, Option("--json", help="Print JSON on standard output.")] = False


@dataclass(frozen=True, kw_only=True)
class Reading(Command):
    """How files are read."""

    columns: Annotated[
        list[str] | None,
        option(
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
            "columns in --columns, --bounds or --schema: it is not guessed.",
            show_default=False,
        ),
    ] = None
    sep: Annotated[
        str | None,
        option(
            "CHARACTER",
            "What separates the fields of a text table: , ; | or tab. Default: as in the "
            "header; without one a comma, in .tsv a tab.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        option("NAME", "How a text table is encoded, as cp1252 or utf-16. Default: utf-8."),
    ] = None
    decimal: Annotated[
        str | None,
        option(
            "CHARACTER",
            "The decimal mark of a text table: . or , (with another --sep). Default: a point.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Bounded(Reading):
    """Which bounds the columns have."""

    bounds: Annotated[list[str] | None, option("[COLUMN=]LOW,HIGH", _BOUNDS)] = None
    bounds_file: Annotated[
        Path | None, option("FILE", 'Bounds as JSON: {"age": [17, 90], …} or [lower, upper].')
    ] = None


@dataclass(frozen=True, kw_only=True)
class Described(Bounded):
    """What is declared about the columns: bounds, or a schema in their place."""

    schema: Schema = None


@dataclass(frozen=True, kw_only=True)
class Refusing(Reading):
    """Whether files with bad rows are refused."""

    on_bad_row: Annotated[
        BadRow,
        Option(
            help="refuse: read the file once before anything is spent, and stop if a cell is no "
            "number, or not as the schema declares, or a row has too few or too many fields. "
            "policy: treat such cells as missing."
        ),
    ] = BadRow.REFUSE


@dataclass(frozen=True, kw_only=True)
class Grouped(Refusing):
    """Which rows belong to one person."""

    groups: Annotated[
        str | None,
        option(
            "COLUMN",
            "The column with the person of each row: protects a person with all their rows.",
        ),
    ] = None
    max_rows_per_group: Annotated[
        str,
        option(
            "M",
            "With --groups: how many rows of a group are used. In a fit, `private` chooses the "
            "number with a twentieth of ε.",
        ),
    ] = "1"


@dataclass(frozen=True, kw_only=True)
class Charged(Command):
    """Which budget is charged."""

    ledger: Annotated[
        str | None,
        option("LEDGER", "Charge a ledger that lasts: a SQLite file, or postgresql://…"),
    ] = None
    dataset: Annotated[str | None, option("NAME", "With --ledger: name of the dataset.")] = None
    person: Annotated[
        str | None, option("NAME", "With --ledger: charge this person's grant.", "--as")
    ] = None
    purpose: Annotated[str, option("TEXT", "With --ledger: what it is for; it is kept.")] = ""
    yes_epsilon: Annotated[
        bool, Option("--yes-epsilon", help="Spend an ε above 10 without being asked.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Cluster invented people, to see what it is like. Needs no data."""

    report: Annotated[
        Path | None, option("FILE", "Write a report too, a page for the browser.")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Check(Described):
    """Say what is wrong with a file. Exact numbers, for its owner: no privacy, no charge."""

    data: Data


@dataclass(frozen=True, kw_only=True)
class Fit(Grouped, Described, Charged):
    """Find private clusters of the rows of files. Writes a model with its receipt."""

    data: Annotated[
        list[str],
        Argument(
            metavar="DATA…",
            help=f"Files of rows: {_FORMATS} Also a folder, a pattern, or an address such as "
            "s3://bucket/rows/*.parquet.",
        ),
    ]
    epsilon: Annotated[
        float | None,
        option("ε", "The privacy budget, all of it spent; needed unless --append.", "--epsilon"),
    ] = None
    output: Annotated[
        Path | None,
        option("FILE", "Where to write; with --append by default MODEL.", "--output", "-o"),
    ] = None
    append: Annotated[
        Path | None,
        option(
            "MODEL",
            "Take the rows in as one more batch of this k-means model, at the ε of its batches: "
            "no row of an earlier batch may be in it.",
        ),
    ] = None
    k: Annotated[
        str | None,
        option(
            "K",
            "Number of clusters, needed unless --model density finds it; or `auto`: chosen on what "
            "is released, at no further cost.",
            "--n-clusters",
            "-k",
        ),
    ] = None
    force: Force = False
    report: Annotated[
        Path | None, option("FILE", "Also write a report, one page of HTML: see `sfumato report`.")
    ] = None
    request: Annotated[
        str | None,
        option("NAME", "With --ledger: the same name brings back the same release, for free."),
    ] = None
    bounds: Annotated[
        list[str] | None,
        option("[COLUMN=]LOW,HIGH", f"{_BOUNDS} `private` estimates them with a quarter of ε."),
    ] = None
    delta: Delta = 0.0
    model: Annotated[
        ModelKind,
        Option(help="k-means or k-median centres, a mixture, clusters of any shape, a tree."),
    ] = ModelKind.KMEANS
    method: Annotated[
        str | None,
        option("NAME", "A k-means method by name, auto by default; `sfumato methods` lists all."),
    ] = None
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "A setting of the method, such as iterations=3, or of another --model, such as "
            "n_leaves=100; may be repeated. `sfumato methods` lists the settings of every method.",
            "--set",
        ),
    ] = None
    nan: Annotated[
        Nan, Option(help="Missing cells: count the rest of the row, centre them, or drop the row.")
    ] = Nan.IGNORE
    n_rows: Annotated[
        int | None,
        option("N", "Declare the number of rows public. It is never compared with the data."),
    ] = None
    random_state: Annotated[
        int | None,
        option("SEED", "Seeds public randomness (starts), never the noise: two fits differ."),
    ] = None
    engine: Annotated[
        EngineName,
        Option(help="Where the rows are read: this machine (auto, local), or a cluster."),
    ] = EngineName.AUTO
    workers: Annotated[
        int | None, option("N", "With a cluster of its own: how many processes to start.")
    ] = None
    scheduler: Annotated[
        str | None,
        option(
            "ADDRESS",
            "A cluster that is running: tcp://host:8786 (Dask), spark://host:7077 (Spark).",
        ),
    ] = None
    half_life: Annotated[
        float | None,
        option("N", "For --append later: after N batches a batch counts half. Default: never."),
    ] = None
    max_batches: Annotated[
        int | None,
        option("N", "For --append later: the most batches; needed with --groups, whose ε add up."),
    ] = None

    @property
    def target(self) -> Path:
        """Where the model is written."""
        target = self.output or self.append
        if target is None:
            raise ValueError("--output FILE is needed: where to write the model; see --help")
        return target

    @property
    def spending(self) -> float:
        """The ε of the fit."""
        if self.epsilon is None:
            raise ValueError("--epsilon ε is needed: the budget of this fit, such as 1; see --help")
        return self.epsilon


@dataclass(frozen=True, kw_only=True)
class Bounds(Grouped, Charged):
    """Estimate bounds of the columns of a file privately, where none are known. Spends ε."""

    data: Data
    epsilon: Epsilon
    output: Annotated[
        Path | None, option("FILE", "Where to write, for --bounds-file.", "--output", "-o")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Perturb(Refusing, Bounded):
    """Perturb each row on its own with nD-Laplace noise, so that near points look alike."""

    data: Data
    output: Out
    epsilon: Annotated[
        float | None,
        option(
            "ε", "ε per unit of distance: two points r apart look alike within a factor e^(εr)."
        ),
    ] = None
    level: Annotated[
        float | None,
        option("L", "In place of --epsilon, with --radius: alike within e^L, so ε = L/R."),
    ] = None
    radius: Annotated[
        float | None, option("R", "Points within this public distance are alike within e^L.")
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
        option("A,B,…", "Columns to copy as they are, unprotected. All others are left out."),
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

    model: Model
    data: Data
    output: Out
    schema: OfModel = None


@dataclass(frozen=True, kw_only=True)
class Sample(Command):
    """Draw synthetic rows from what a fit released, in the columns of its rows. Costs nothing."""

    model: Model
    n: Annotated[int, option("N", "How many rows.", "--n", "-n")]
    output: Annotated[
        Path,
        option(
            "FILE", "Where to write: .csv or .tsv, both also .gz, or .parquet.", "--output", "-o"
        ),
    ]
    force: Force = False
    schema: OfModel = None
    random_state: Annotated[int | None, option("SEED", "The same rows again.")] = None


@dataclass(frozen=True, kw_only=True)
class Explain(Grouped, Charged):
    """Say what tells the clusters of a model apart, column by column, privately. Spends ε."""

    model: Model
    data: Data
    epsilon: Epsilon
    delta: Delta = 0.0
    columns: Annotated[
        list[str] | None,
        option("A,B,…", "Columns to explain the clusters by. Default: all that are declared."),
    ] = None
    schema: Annotated[
        Path | None,
        option(
            "FILE",
            "A schema that declares more columns than the model's. Default: the model's.",
        ),
    ] = None
    output: Annotated[
        Path | None, option("FILE", "Where to write it, as JSON.", "--output", "-o")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Quality(Grouped, Charged):
    """Measure how good the clusters of a model are for rows, privately. Spends ε."""

    model: Model
    data: Data
    epsilon: Epsilon
    delta: Delta = 0.0
    level: Annotated[
        float, option("P", "The chance that an interval holds the value without noise.")
    ] = 0.95
    clip: Annotated[
        float | None,
        option(
            "DISTANCE",
            "Where distances are cut for the cost, in the cube [-1, 1]^d of the bounds. "
            "The smaller, the less noise.",
        ),
    ] = None
    output: Annotated[
        Path | None, option("FILE", "Where to write it, as JSON.", "--output", "-o")
    ] = None
    force: Force = False

"""Options of the command line, each described once. Loads nothing heavy."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Nan(Enum):
    """What becomes of cells that are not finite numbers."""

    CENTER = "center"
    DROP = "drop"


class ReportNan(Enum):
    """What becomes of cells that are not finite numbers when rows are perturbed."""

    CENTER = "center"
    KEEP = "keep"
    DROP = "drop"


class Truncation(Enum):
    """What becomes of reports outside the bounds."""

    CLAMP = "clamp"
    RESAMPLE = "resample"
    NONE = "none"


class Units(Enum):
    """What distances are measured in."""

    DATA = "data"
    BOX = "box"


class BadRow(Enum):
    """What becomes of a file with rows that are not rows of numbers."""

    REFUSE = "refuse"
    POLICY = "policy"


class EngineName(Enum):
    """Where the passes over the rows are run."""

    AUTO = "auto"
    LOCAL = "local"
    DASK = "dask"
    SPARK = "spark"
    COMPSS = "compss"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA…",
        help="Files of rows: .csv, .tsv (both also .gz), .npy or .parquet. Also a folder, a "
        "pattern, or an address such as s3://bucket/rows/*.parquet.",
    ),
]
EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="Where the rows are read: this machine (auto, local), or a cluster."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", help="With a cluster of its own: how many processes to start."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A cluster that is running: tcp://host:8786 (Dask), spark://host:7077 (Spark).",
    ),
]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A file of rows: .csv, .tsv (both also .gz), .npy or .parquet."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `fit` wrote.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,…",
        help="Columns to read, by name or position from 0. Default: all. With --no-header one "
        "number N says that there are N columns.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text table names the columns. Say so, or name columns "
        "in --columns or --bounds: it is not guessed.",
        show_default=False,
    ),
]
Sep = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What separates the fields of a text table: , ; | or tab. Default: as in the header; "
        "without one a comma, in .tsv a tab.",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COLUMN=]LOW,HIGH",
        help="Public bounds of all columns, or of one; may be repeated. Choose them without "
        "looking at the data: what lies outside is clipped.",
    ),
]
FitBounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COLUMN=]LOW,HIGH",
        help="Public bounds of all columns, or of one; may be repeated. Choose them without "
        "looking at the data: what lies outside is clipped. "
        "`private` buys them with a quarter of ε.",
    ),
]
BoundsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help='Bounds as JSON: {"age": [17, 90], …} or [lower, upper].'),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Out = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
MaybeOut = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write, for --bounds-file."),
]
K = Annotated[int, typer.Option("--n-clusters", "-k", metavar="K", help="Number of centres.")]
FitK = Annotated[
    str,
    typer.Option(
        "--n-clusters",
        "-k",
        metavar="K",
        help="Number of centres, or `auto`: chosen on what is released, at no further cost.",
    ),
]
Epsilon = Annotated[
    float, typer.Option(metavar="ε", help="The privacy budget of this fit, all of it spent.")
]
Price = Annotated[float, typer.Option("--epsilon", metavar="ε", help="What the answer costs.")]
Delta = Annotated[
    float, typer.Option(metavar="δ", help="0 is pure ε-DP; above 0 allows Gaussian noise.")
]
MethodName = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="A clustering method by name; `sfumato methods` lists them all."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as iterations=3; may be repeated. `sfumato methods` "
        "lists the settings of every method and their defaults.",
    ),
]
NRows = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Declare the number of rows public. It is never compared with the data."
    ),
]
NanOption = Annotated[
    Nan,
    typer.Option(help="Missing cells go to the centre of their column, or their row is dropped."),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column that says whose rows are whose: protects a person with all their rows.",
    ),
]
MaxRows = Annotated[
    int, typer.Option(metavar="M", help="With --groups: how many rows of a group are used.")
]
OnBadRow = Annotated[
    BadRow,
    typer.Option(
        help="refuse: read the file once before anything is spent, and stop if a cell holds text "
        "or a row has too few or too many fields. policy: treat such cells as missing."
    ),
]
RandomState = Annotated[
    int | None,
    typer.Option(
        metavar="SEED", help="Seeds public randomness (starts), never the noise: two fits differ."
    ),
]
Rows = Annotated[int, typer.Option("--n", metavar="N", help="Expected number of rows; roughly.")]
Dimensions = Annotated[int, typer.Option("--d", metavar="D", help="Number of columns.")]
PlanBounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="Bounds of all columns, or repeated for each in order: tells noise in their units.",
    ),
]
RowsKnown = Annotated[
    bool,
    typer.Option(
        "--n-rows-known", help="The fit will declare --n-rows, so that no method buys a count."
    ),
]
PerUnit = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="ε",
        help="ε per unit of distance: two points r apart look alike within a factor e^(εr).",
    ),
]
Level = Annotated[
    float | None,
    typer.Option(
        metavar="L", help="In place of --epsilon, with --radius: alike within e^L, so ε = L/R."
    ),
]
Radius = Annotated[
    float | None,
    typer.Option(metavar="R", help="Points within this public distance are alike within e^L."),
]
TruncationOption = Annotated[
    Truncation,
    typer.Option(
        help="Reports outside the bounds: move them to the border, draw again (with ε/2, to keep "
        "the promise), or leave them."
    ),
]
UnitsOption = Annotated[
    Units,
    typer.Option(
        help="Distances in the units of the data, or in half-widths of each column's bounds."
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,…",
        help="Columns to carry through as they are, unprotected. All others are left out.",
    ),
]
ReportNanOption = Annotated[
    ReportNan,
    typer.Option(
        help="Missing cells go to the centre of their column; or stay missing, or their row is "
        "left out, which both tell that they were."
    ),
]

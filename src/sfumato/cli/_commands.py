"""Plans, reports and audits, commands of ledgers and schemas, and the table of all commands.

Nothing heavy is loaded here, so that help is instant.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sfumato.cli._options import (
    Bounds,
    Check,
    Command,
    Data,
    Delta,
    Demo,
    Epsilon,
    Explain,
    Fit,
    Force,
    Model,
    ModelKind,
    Out,
    Perturb,
    Predict,
    Quality,
    Reading,
    Sample,
    option,
)

Store = Annotated[
    str, Argument(metavar="LEDGER", help="A SQLite file, or postgresql://user@host/database.")
]
Mode = StrEnum("Mode", ["ADD", "GAUSSIAN", "ZCDP"])


@dataclass(frozen=True, kw_only=True)
class Plan(Command):
    """Predict the error, memory and passes of every method. Needs no data, costs no privacy."""

    n: Annotated[int, option("N", "Expected number of rows; roughly.", "--n")]
    k: Annotated[int, option("K", "Number of centres.", "--n-clusters", "-k")]
    epsilon: Epsilon
    d: Annotated[int | None, option("D", "Number of columns; or give --schema.", "--d")] = None
    schema: Annotated[
        Path | None, option("FILE", "A schema, in place of --d: a category takes several columns.")
    ] = None
    delta: Delta = 0.0
    model: Annotated[
        ModelKind, Option(help="What will be fitted: k-means has methods to choose from.")
    ] = ModelKind.KMEANS
    bounds: Annotated[
        list[str] | None,
        option(
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


@dataclass(frozen=True, kw_only=True)
class Report(Command):
    """Write a report of a model: one page of HTML to look at, print and sign. Costs nothing."""

    model: Model
    output: Out
    dossier: Annotated[
        Path | None, option("FILE", "Also write the same for machines, as JSON.")
    ] = None
    sign: Annotated[
        Path | None,
        option("KEY", "Sign both with this private key, in PEM: `sfumato keygen` makes one."),
    ] = None
    explanation: Annotated[
        Path | None, option("FILE", "What `sfumato explain -o FILE` wrote about this model.")
    ] = None
    title: Annotated[str | None, option("TEXT", "The title of the page.")] = None
    ledger: Annotated[
        str | None, option("LEDGER", "Name the entry of the ledger that keeps this model.")
    ] = None
    bounds_from: Annotated[
        str | None,
        option("TEXT", "Where the bounds come from, in a sentence, if no schema or ledger says."),
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Receipt(Command):
    """Print the receipt of a model again."""

    model: Model


@dataclass(frozen=True, kw_only=True)
class Verify(Command):
    """Check signatures, digests and receipts of what was published. Ends with 4 if one is wrong."""

    files: Annotated[
        list[Path],
        Argument(metavar="FILE…", help="Reports, models and dossiers; of one model, if several."),
    ]
    key: Annotated[
        Path | None, option("KEY", "The public key of the owner, in PEM: who signed it.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Sign(Command):
    """Sign a model, a dossier or a report, in place."""

    file: Annotated[Path, Argument(metavar="FILE", help="A model, a dossier or a report.")]
    key: Annotated[Path, option("KEY", "The private key of the owner, in PEM.")]


@dataclass(frozen=True, kw_only=True)
class Keygen(Command):
    """Make a key to sign with: a private key, and beside it the public one."""

    key: Annotated[
        Path, Argument(metavar="KEY", help="Where to write: owner.pem, and owner.pub.pem.")
    ]
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class Audit(Command):
    """Try to refute the promise of an estimator, on made-up rows. Ends with 4 if it succeeds."""

    epsilon: Annotated[float, option("ε", "What is claimed.")] = 1.0
    delta: Annotated[float, option("δ", "What is claimed; 0 is pure ε-DP.")] = 0.0
    method: Annotated[
        str | None, option("NAME", "A method of PrivateKMeans to audit. Default: auto.")
    ] = None
    settings: Annotated[
        list[str] | None, option("NAME=VALUE", "A setting of the method; may be repeated.", "--set")
    ] = None
    k: Annotated[int, option("K", "Number of centres.", "--n-clusters", "-k")] = 3
    demo: Annotated[
        bool,
        Option(
            "--demo",
            help="Audit a pipeline that breaks its promise: StandardScaler reads exact means and "
            "deviations before PrivateKMeans adds noise.",
        ),
    ] = False
    estimator: Annotated[
        str | None,
        option(
            "MODULE:NAME",
            "Audit an estimator of your own, or a class or function that makes one. This imports "
            "and runs the module, which is looked for in the working directory first.",
        ),
    ] = None
    pairs: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Play on this pair of datasets only; may be repeated: outlier, empty, duplicate, "
            "two-rows, nan, group, quoting. Default: all.",
            "--pair",
        ),
    ] = None
    attributes: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Look at this fitted attribute only, such as cluster_centers_; may be repeated. "
            "Default: at all of them, errors, warnings, texts and saved files.",
            "--attribute",
        ),
    ] = None
    minutes: Annotated[
        float | None, option("MINUTES", "How long to try.  [default: 2, unless --trials is given]")
    ] = None
    trials: Annotated[int | None, option("N", "The most fits.")] = None
    alpha: Annotated[
        float, option("α", "The most that a violation may be reported with, if there is none.")
    ] = 0.001
    jobs: Annotated[int, option("N", "Processes.")] = 1
    output: Annotated[
        Path | None, option("FILE", "Where to write the verdict, as JSON.", "--output", "-o")
    ] = None
    figure: Annotated[
        Path | None, option("FILE", "Where to draw how the bound grew: .png, .svg or .pdf.")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class LedgerCommand(Command):
    """What every command about a ledger takes."""

    ledger: Store
    dataset: Annotated[
        str | None, option("NAME", "The dataset; not needed where there is one alone.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class LedgerCreate(Command):
    """Create the ledger of a dataset: what all fits on it together may spend. It never changes."""

    ledger: Store
    dataset: Annotated[str, option("NAME", "The name of the dataset.")]
    epsilon: Annotated[float, option("ε", "What all fits together may spend.")]
    delta: Delta = 0.0
    mode: Annotated[
        Mode,
        Option(
            help="How fits add up. add: ε and δ add. gaussian: pure ε and μ² add, for fits with δ. "
            "zcdp: ρ adds, for many small fits."
        ),
    ] = Mode.ADD
    pure: Annotated[
        float | None, option("PART", "With gaussian: the part of ε for pure charges, 0.6.")
    ] = None
    plain: Annotated[
        float | None,
        option("PART", "With gaussian, zcdp: the part of (ε, δ) for plain charges (max cover)."),
    ] = None
    max_rows_per_group: Annotated[
        int | None,
        option("M", "Protect a person with at most M rows, not one row; fits use --groups."),
    ] = None
    bounds_file: Annotated[
        Path | None, option("FILE", 'Public bounds as JSON: {"age": [17, 90], …}.')
    ] = None
    schema: Annotated[
        Path | None, option("FILE", "Public bounds of the numbers of a schema, in place of a file.")
    ] = None
    bounds_from: Annotated[str, option("TEXT", "Where the bounds come from, in a sentence.")] = ""
    fit_epsilon: Annotated[
        float | None, option("ε", "Say how many fits of this ε each mode would carry.")
    ] = None
    fit_delta: Annotated[float, option("δ", "The δ of such a fit.")] = 0.0


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

    to: Annotated[str, option("NAME", "Whom it is for.")]
    epsilon: Annotated[float, option("ε", "How much of the budget.")]
    delta: Annotated[
        float | None, option("δ", "How much of δ; by default the same part as of ε.")
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
    person: Annotated[str | None, option("NAME", "Out of this person's grant.", "--as")] = None


@dataclass(frozen=True, kw_only=True)
class LedgerReleases(LedgerCommand):
    """List what was released, or bring one release back, for free."""

    get: Annotated[str | None, option("ID", "A request, or 8 of its first characters.")] = None
    output: Annotated[Path | None, option("FILE", "Where to write it.", "--output", "-o")] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class LedgerExport(Command):
    """Write every event and release as JSON."""

    ledger: Store
    output: Annotated[Path | None, option("FILE", "Where to write.", "--output", "-o")] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class SchemaInit(Reading):
    """Write a template of a schema for a file, for its owner. No value of a row is in it."""

    data: Data
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header",
            help="Whether the first line of a text table names the columns. Default: guessed.",
            show_default=False,
        ),
    ] = None
    output: Annotated[
        Path | None, option("FILE", "Where to write. Default: standard output.", "--output", "-o")
    ] = None
    force: Force = False


@dataclass(frozen=True, kw_only=True)
class SchemaShow(Command):
    """Show what a schema declares."""

    schema: Annotated[Path, Argument(metavar="SCHEMA", help="A schema in TOML.")]


@dataclass(frozen=True, kw_only=True)
class Studio(Command):
    """Open a page in the browser of this machine: plan, spend, and look at releases."""

    data: Annotated[Path, option("FOLDER", "Where the files of rows are.")] = Path()
    ledger: Annotated[
        str | None,
        option(
            "LEDGER",
            "Where budgets are kept: a SQLite file, or postgresql://… Default: a file in the "
            "folder, made when the first dataset is registered.",
        ),
    ] = None
    port: Annotated[int, option("PORT", "A port of this machine; 0 is any that is free.")] = 0
    no_open: Annotated[
        bool, Option("--no-open", help="Print the link, and do not open the browser.")
    ] = False


COMMANDS: dict[type[Command], str] = {
    Demo: "_demo.run",
    Check: "_inspect.run",
    Fit: "_fit.run",
    Bounds: "_plan.run_bounds",
    Perturb: "_rewrite.run",
    Explain: "_model.run_explain",
    Quality: "_quality.run",
    Predict: "_fit.run_predict",
    Sample: "_model.run_sample",
    Report: "_report.run",
    Receipt: "_report.run_receipt",
    Verify: "_report.run_verify",
    Sign: "_report.run_sign",
    Keygen: "_report.run_keygen",
    Plan: "_plan.run",
    Methods: "_methods.run",
    Audit: "_audit.run",
    Studio: "_studio.run",
    LedgerCreate: "_ledger.run_create",
    LedgerShow: "_ledger.run_show",
    LedgerHistory: "_ledger.run_history",
    LedgerVerify: "_ledger.run_verify",
    LedgerGrant: "_ledger.run_grant",
    LedgerPrice: "_ledger.run_price",
    LedgerReleases: "_ledger.run_releases",
    LedgerExport: "_ledger.run_export",
    SchemaInit: "_schema.run_init",
    SchemaShow: "_schema.run_show",
}
"""The function that runs each command. Its module is loaded when it runs."""

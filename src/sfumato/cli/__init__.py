"""The command line. Every command loads what it needs when it runs, so that help is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli import _options as o
from sfumato.cli._app import Commands

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    # Plain help reads better on 80 columns, and leaves [lower, upper] as it is written.
    rich_markup_mode=None,
    # A pretty traceback prints local variables, and those hold rows.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sfumato {version('sfumato')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Differentially private clustering: the shapes in a dataset without the people in it."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def demo(as_json: o.Json = False) -> None:
    """Cluster invented people, to see what it is like. Needs no data."""
    from sfumato.cli._demo import run

    run(as_json=as_json)


@app.command()
def check(
    data: o.Data,
    columns: o.Columns = None,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    header: o.Header = None,
    sep: o.Sep = None,
    as_json: o.Json = False,
) -> None:
    """Say what is wrong with a file. Exact numbers, for its owner: no privacy, no charge."""
    from sfumato.cli._inputs import Reading
    from sfumato.cli._inspect import run

    raise typer.Exit(
        run(
            data,
            reading=Reading(columns, header, sep),
            bounds=bounds,
            bounds_file=bounds_file,
            as_json=as_json,
        )
    )


@app.command()
def fit(  # noqa: PLR0913  (a command line is its signature)
    data: o.Files,
    k: o.FitK,
    epsilon: o.Epsilon,
    output: o.Out,
    bounds: o.FitBounds = None,
    bounds_file: o.BoundsFile = None,
    delta: o.Delta = 0.0,
    method: o.MethodName = "auto",
    settings: o.Settings = None,
    columns: o.Columns = None,
    header: o.Header = None,
    sep: o.Sep = None,
    nan: o.NanOption = o.Nan.CENTER,
    n_rows: o.NRows = None,
    groups: o.Groups = None,
    max_rows_per_group: o.MaxRows = 1,
    on_bad_row: o.OnBadRow = o.BadRow.REFUSE,
    random_state: o.RandomState = None,
    engine: o.EngineOption = o.EngineName.AUTO,
    workers: o.Workers = None,
    scheduler: o.Scheduler = None,
    as_json: o.Json = False,
) -> None:
    """Find private centres of the rows of files. Writes a model with its receipt."""
    from sfumato.cli._fit import Request, run
    from sfumato.cli._inputs import Reading, Where

    request = Request(
        data=tuple(data),
        output=output,
        k=k,
        epsilon=epsilon,
        delta=delta,
        bounds=bounds,
        bounds_file=bounds_file,
        method=method,
        settings=settings,
        reading=Reading(columns, header, sep),
        n_rows=n_rows,
        nan="drop" if nan is o.Nan.DROP else "center",
        groups=groups,
        max_rows_per_group=max_rows_per_group,
        refuse=on_bad_row is o.BadRow.REFUSE,
        random_state=random_state,
        where=Where(engine.value, workers, scheduler),
    )
    run(request, as_json=as_json)


@app.command()
def bounds(  # noqa: PLR0913  (a command line is its signature)
    data: o.Data,
    epsilon: o.Price,
    output: o.MaybeOut = None,
    columns: o.Columns = None,
    header: o.Header = None,
    sep: o.Sep = None,
    groups: o.Groups = None,
    max_rows_per_group: o.MaxRows = 1,
    on_bad_row: o.OnBadRow = o.BadRow.REFUSE,
    as_json: o.Json = False,
) -> None:
    """Buy bounds of the columns of a file, where none are known. Costs ε, beside that of a fit."""
    from sfumato.cli._inputs import Reading
    from sfumato.cli._plan import Request
    from sfumato.cli._plan import run_private_bounds as run

    request = Request(
        data=data,
        epsilon=epsilon,
        output=output,
        reading=Reading(columns, header, sep),
        groups=groups,
        max_rows_per_group=max_rows_per_group,
        refuse=on_bad_row is o.BadRow.REFUSE,
    )
    run(request, as_json=as_json)


@app.command()
def perturb(  # noqa: PLR0913  (a command line is its signature)
    data: o.Data,
    output: o.Out,
    epsilon: o.PerUnit = None,
    level: o.Level = None,
    radius: o.Radius = None,
    bounds: o.Bounds = None,
    bounds_file: o.BoundsFile = None,
    truncation: o.TruncationOption = o.Truncation.CLAMP,
    units: o.UnitsOption = o.Units.DATA,
    columns: o.Columns = None,
    keep: o.Keep = None,
    header: o.Header = None,
    sep: o.Sep = None,
    nan: o.ReportNanOption = o.ReportNan.CENTER,
    on_bad_row: o.OnBadRow = o.BadRow.REFUSE,
    as_json: o.Json = False,
) -> None:
    """Perturb each row on its own with nD-Laplace noise, so that near points look alike."""
    from sfumato.cli._inputs import Reading
    from sfumato.cli._rewrite import Request, run

    request = Request(
        data=data,
        output=output,
        epsilon=epsilon,
        level=level,
        radius=radius,
        bounds=bounds,
        bounds_file=bounds_file,
        truncation=truncation.value,
        units=units.value,
        reading=Reading(columns, header, sep),
        keep=keep,
        nan=nan.value,
        refuse=on_bad_row is o.BadRow.REFUSE,
    )
    run(request, as_json=as_json)


@app.command()
def predict(
    model: o.Model,
    data: o.Data,
    output: o.Out,
    columns: o.Columns = None,
    header: o.Header = None,
    sep: o.Sep = None,
    as_json: o.Json = False,
) -> None:
    """Label every row of a file with its nearest centre. Rows that you bring stay yours."""
    from sfumato.cli._fit import run_predict as run
    from sfumato.cli._inputs import Reading

    run(model, data, output, reading=Reading(columns, header, sep), as_json=as_json)


@app.command()
def plan(
    n: o.Rows,
    d: o.Dimensions,
    k: o.K,
    epsilon: o.Epsilon,
    delta: o.Delta = 0.0,
    bounds: o.PlanBounds = None,
    n_rows_known: o.RowsKnown = False,
    as_json: o.Json = False,
) -> None:
    """Predict the error, memory and passes of every method. Needs no data, costs no privacy."""
    from sfumato.cli._plan import run

    run(
        n=n,
        d=d,
        k=k,
        epsilon=epsilon,
        delta=delta,
        bounds=bounds,
        n_rows_known=n_rows_known,
        as_json=as_json,
    )


@app.command()
def methods(as_json: o.Json = False) -> None:
    """List the clustering methods, with their settings and defaults."""
    from sfumato.cli._methods import run

    run(as_json=as_json)

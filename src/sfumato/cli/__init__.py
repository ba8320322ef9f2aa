"""The command line. Every command loads what it needs when it runs, so that help is instant."""

from __future__ import annotations

from inspect import Signature, signature
from typing import Annotated

import typer

from sfumato.cli._app import Commands
from sfumato.cli._commands import COMMANDS
from sfumato.cli._options import Command

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


ledger = typer.Typer(rich_markup_mode=None)
app.add_typer(ledger, name="ledger")


@ledger.callback(invoke_without_command=True)
def about_ledgers(context: typer.Context) -> None:
    """Budgets that last: create them, share them, see who spent what for what."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


schema = typer.Typer(rich_markup_mode=None)
app.add_typer(schema, name="schema")


@schema.callback(invoke_without_command=True)
def about_schemas(context: typer.Context) -> None:
    """What is public about a table, in a file: kinds of columns, their bounds and levels."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _add(command: type[Command]) -> None:
    """Add a command: what it requires is listed first, --json last."""
    options = sorted(
        signature(command).parameters.values(),
        key=lambda option: (option.default is not option.empty, option.name == "as_json"),
    )
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    name = command.__name__.lower()
    for prefix, group in (("ledger", ledger), ("schema", schema), ("", app)):
        if name.startswith(prefix):
            group.command(name.removeprefix(prefix))(command)
            break


for _command in COMMANDS:
    _add(_command)

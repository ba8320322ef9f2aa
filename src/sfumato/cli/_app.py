"""How commands run and end: a refusal is one line on standard error and an exit code."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from sfumato.cli._commands import COMMANDS

WRONG_INPUT = 2
BUDGET_REFUSED = 3
VIOLATION = 4
INTERRUPTED = 130


_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


def command_line() -> str:
    """The command that runs, as it was typed; a password in an address is left out."""
    hidden = [re.sub(r"(://[^/@:]*):[^@]*@", r"\1:…@", word) for word in _words.get()]
    return shlex.join(["sfumato", *hidden])


class Commands(TyperGroup):
    """The commands, with every refusal reported in the same way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Read what comes before the name of a command."""
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot print ε must not lose a model whose budget is spent.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        _words.set(tuple(args))
        with _refusals():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Read the options of a command, then run it."""
        with _refusals():
            request = super().invoke(ctx)
            if request is not None:
                module, _, name = COMMANDS[type(request)].partition(".")
                run = getattr(import_module(f"sfumato.cli.{module}"), name)
                raise typer.Exit(run(request) or 0)


@contextmanager
def _refusals() -> Iterator[None]:
    """End with one line on standard error, unless the error is a bug."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        refusal = _refusal(error)
        if refusal is None:
            raise
        message, code = refusal
        typer.echo(". ".join([message, *getattr(error, "__notes__", ())]), err=True)
        raise typer.Exit(code) from None


def _refusal(error: BaseException) -> tuple[str, int] | None:
    """The message for an error and the code to exit with; None if it is passed on as it is."""
    if isinstance(error, KeyboardInterrupt):
        return "sfumato: interrupted", INTERRUPTED
    if isinstance(error, typer.Exit | typer.Abort | BrokenPipeError):
        return None
    if hasattr(error, "format_message"):
        command = getattr(getattr(error, "ctx", None), "command_path", "sfumato")
        message = error.format_message().rstrip(".")
        return f"{command}: {message}. Try {command} --help", WRONG_INPUT

    import zlib

    from sfumato._accounting.budget import Overspent

    if isinstance(error, Overspent):
        return f"sfumato: {error}", BUDGET_REFUSED
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"sfumato: {error.strerror}{where}", WRONG_INPUT
    if isinstance(error, EOFError | zlib.error):
        return "sfumato: a compressed file is damaged or incomplete", WRONG_INPUT
    if isinstance(error, ValueError | OSError | ImportError | RuntimeError):
        return f"sfumato: {error}", WRONG_INPUT
    return None


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2))


@contextmanager
def progress(doing: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal what is being done, and how many rows have been read."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"{doing} …")) as status:
        yield lambda rows: status.update(Text(f"{doing} … {rows:,} rows"))


@contextmanager
def passes(doing: str) -> Iterator[None]:
    """Show on a terminal the progress of each pass over the rows."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    from sfumato.engines._progress import watch

    text = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(SpinnerColumn(), text, BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task(f"{doing} …", total=None)

        def show(number: int, done: int, total: int) -> None:
            text = f"{doing}, pass {number}, {done:,} of {total:,} parts"
            bar.update(task, description=text, completed=done, total=total)

        with watch(show):
            yield

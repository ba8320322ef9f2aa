"""How commands end: one line on standard error and an exit code, never a traceback over data."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

WRONG_INPUT = 2
BUDGET_REFUSED = 3


class Commands(TyperGroup):
    """The commands, with every refusal reported in the same way."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run a command; ends the process like click does."""
        for stream in (sys.stdout, sys.stderr):
            # A terminal without ε must not cost a model that is already paid for.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except Exception as error:
            refusal = _refusal(error)
            if refusal is None or not standalone_mode:
                raise
            message, code = refusal
            typer.echo(message, err=True)
        if standalone_mode:
            sys.exit(code)
        return code


def _refusal(error: Exception) -> tuple[str, int] | None:
    """What to say about an error and the code to exit with; None if it is a bug."""
    if hasattr(error, "format_message"):
        command = getattr(getattr(error, "ctx", None), "command_path", "sfumato")
        message = error.format_message().rstrip(".")
        return f"{command}: {message}. Try {command} --help", WRONG_INPUT
    if isinstance(error, typer.Abort):
        return "sfumato: interrupted", 1

    import zlib

    from sfumato.budget import Overspent

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
    """Show on a terminal that something is under way, and how many rows it has seen."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"{doing} …")) as status:
        yield lambda rows: status.update(Text(f"{doing} … {rows:,} rows"))

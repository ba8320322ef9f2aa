"""`sfumato schema`: templates of schemas for the owners of files, and what a schema declares."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from sfumato._base.files import write_whole
from sfumato._schema.schema import Schema
from sfumato._schema.toml import BLANK, key_of, value_of
from sfumato.cli import _commands as c
from sfumato.cli._app import print_json, progress
from sfumato.cli._guess import Guess, Look, cells_in, guess
from sfumato.cli._inputs import check_output, file_of
from sfumato.cli._show import console, counted
from sfumato.engines._files import TableFile, table_of
from sfumato.engines.formats import _table as tables
from sfumato.engines.formats._csv import Delimited

_MOST_ROWS = 100_000

_HEAD = """\
# What is public about {file}.
# Fill in every "?" from public knowledge: a code book, a law, the range of an instrument. Do not
# look it up in the rows: what is written here gets published with every model. Kinds were guessed
# and may be wrong. Columns that have no table here are left alone.
#
# Kinds: number, category (levels), ordinal (levels in order), flag (yes or no), date, and cycle (a
# number that begins again after its period, as hours of a day do). One column may be a weight: how
# much a row counts, from lower to upper. Any other column may also have:
#   weight = 0.5          how much it counts, from 0 to 1; with 0 it only explains clusters
#   missing = "drop"      missing cells: "ignore" (the default), "drop" their rows, put them in the
#                         "center" of the column, or a value that takes their place
#   source = "code book"  where its bounds or levels come from; receipts say it
# A number may have scale = "log", "sqrt" or "asinh" where ratios say more than differences.
"""
_KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "number": (
        ("lower", "the least that is possible"),
        ("upper", "the largest that is possible; what lies outside is clipped"),
    ),
    "category": (("levels", 'all that are possible, as ["a", "b"]; others count as missing'),),
    "flag": (),
    "date": (
        ("first", 'the earliest that is possible, as "2020-01-31"'),
        ("last", "the latest that is possible; what lies outside is clipped"),
    ),
}


def run_init(request: c.SchemaInit) -> None:
    """Print or write a template. Nothing of a row is in it."""
    if request.output is not None:
        check_output(request.output, request.data, force=request.force)
    file = file_of(request, request.data, guess=True)
    table = table_of(file)
    looks = _looks(request, table, _positions(file, table))
    guesses = {look.name: guess(look) for look in looks}
    persons = [look.name for look in looks if look.like_id and look.repeats]
    text = template(request.data.name, guesses, persons)
    typer.echo(_said(file, table), err=True)
    if request.output is not None:
        write_whole(request.output, text)
    blanks = sum(len(_KINDS[found.kind]) for found in guesses.values() if found.kind)
    if request.as_json:
        where = (
            {"template": text} if request.output is None else {"written_to": str(request.output)}
        )
        print_json({**where, "blanks": blanks, **_as_json(guesses, persons)})
    elif request.output is None:
        typer.echo(text, nl=False)
    else:
        console().print(
            f"Template written to {request.output}, with {counted(blanks, 'blank')} to fill in.",
            soft_wrap=True,
        )


def _positions(file: TableFile, table: tables.Table) -> list[int]:
    """The columns that were asked for, or all; of several with one name the first."""
    asked = file.columns if isinstance(file.columns, tuple) else table.usual
    found = [
        tables.position_of(table, column) if isinstance(column, str) else column for column in asked
    ]
    names = [table.names[i] for i in found]
    return [i for place, i in enumerate(found) if table.names[i] not in names[:place]]


def _looks(request: c.SchemaInit, table: tables.Table, positions: list[int]) -> list[Look]:
    looks = [Look(table.names[i]) for i in positions]
    rows = 0
    with progress(f"looking at {request.data.name}") as on_rows:
        for block in cells_in(table, positions):
            for look, cells in zip(looks, block.columns, strict=True):
                look.add(cells[: _MOST_ROWS - rows])
            rows += len(block.lines)
            on_rows(rows)
            if rows >= _MOST_ROWS:
                break
    return looks


def _said(file: TableFile, table: tables.Table) -> str:
    """What the owner should know about a guess."""
    first = ""
    if file.header == "guess" and isinstance(table, Delimited):
        taken = "the names of the columns" if table.named else "a row: columns go by position"
        first = f" Its first line was taken for {taken}; --header or --no-header says so."
    return (
        f"Kinds were guessed from rows (the first {_MOST_ROWS:,} at most), for the owner of the "
        "file and outside the guarantee. No value of a row and no number of levels is in the "
        f"template.{first}"
    )


def _as_json(guesses: dict[str, Guess], persons: list[str]) -> dict[str, Any]:
    return {
        "kinds": {name: found.kind for name, found in guesses.items() if found.kind},
        "left_out": {name: found.left_out for name, found in guesses.items() if found.left_out},
        "groups": persons,
    }


def template(file: str, guesses: dict[str, Guess], persons: list[str]) -> str:
    """A schema to be filled in, as TOML."""
    parts = [_HEAD.format(file=value_of(file))]
    parts.append(
        "# May one person have several rows? Name the column that says whose they are:\n"
        + "\n".join(f"# groups = {value_of(name)}" for name in persons or ["person_id"])
        + "\n"
    )
    parts += [_column(name, found) for name, found in guesses.items()]
    return "\n".join(parts)


def _column(name: str, found: Guess) -> str:
    if found.left_out:
        return f"# {value_of(name)} is left out: {found.left_out}.\n"
    lines = [f'kind = "{found.kind}"']
    lines += [_fact(fact, about) for fact, about in _KINDS[found.kind]]
    if found.formats:
        others = ", ".join(map(value_of, found.formats[1:]))
        note = f"  # or {others}: they fit too" if others else ""
        lines.append(f"format = {value_of(found.formats[0])}{note}")
    lines += [f"# {found.hint}"] if found.hint else []
    return "\n".join([f"[columns.{key_of(name)}]", *lines]) + "\n"


def _fact(fact: str, about: str) -> str:
    return f'{fact} = "{BLANK}"'.ljust(14) + f"  # {about}"


def run_show(request: c.SchemaShow) -> None:
    """Print what a schema declares."""
    schema = Schema.read(request.schema)
    if request.as_json:
        more = {"dimensions": schema.dimensions, "coordinates": list(schema.coordinate_names)}
        print_json({**schema.to_dict(), **more})
        return
    out = console()
    columns = counted(len(schema.columns), "column")
    dimensions = counted(schema.dimensions, "coordinate")
    out.print(f"{request.schema.name}: {columns}, {dimensions} of a row", soft_wrap=True)
    out.print(_shown(schema))
    out.print(
        'Protects one row; with groups = "COLUMN" one person with all their rows.'
        if schema.groups is None
        else f"Protects a person with all their rows: {schema.groups!r} says whose rows are whose."
    )


def _shown(schema: Schema) -> Table:
    """One line for each column; what is nowhere declared has no place."""
    columns = schema.columns.values()
    extra = {
        "weight": any(column.weight != 1 for column in columns),
        "missing": any(column.missing != "ignore" for column in columns),
        "source": any(column.source for column in columns),
    }
    table = Table()
    table.add_column("column", overflow="fold")
    table.add_column("kind", no_wrap=True)
    table.add_column("declared", overflow="fold", ratio=2)
    for title in [title for title, wanted in extra.items() if wanted]:
        table.add_column(title, overflow="fold", ratio=1 if title == "source" else None)
    for name, column in schema.columns.items():
        values = {
            "weight": f"{column.weight:g}",
            "missing": str(column.missing),
            "source": column.source,
        }
        shown = [value for title, value in values.items() if extra[title]]
        table.add_row(name, column.kind, column.public(), *shown)
    return table

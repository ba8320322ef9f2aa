"""What options mean: files with what is declared about them, bounds, places to write, engines."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from sfumato._base import extra
from sfumato._base.files import read_whole
from sfumato._base.validation import PRIVATE, check_max_rows, check_whole
from sfumato._core.curator import Curator
from sfumato._lattice.box import Box
from sfumato._ledger.ledger import Ledger
from sfumato._models import load
from sfumato._private_kmeans import PrivateKMeans
from sfumato._schema.schema import Schema
from sfumato.cli import _options as o
from sfumato.engines._files import TableFile, layout_of, table_of
from sfumato.engines.formats._csv import Header
from sfumato.engines.formats._table import Layout, position_of

_TABS = ("tab", "\\t")


Columns = tuple[str, ...] | int | None
"""Names or positions of columns, their number, or nothing said about them."""


def file_of(
    request: o.Reading,
    paths: Path | Sequence[str],
    *,
    names: tuple[str, ...] = (),
    guess: bool = False,
) -> TableFile:
    """The files with what is declared about them: by options, by bounds, by `names` of columns.

    With `guess`, for the owner of the file only, a header that is not declared is guessed.
    """
    bounded: Columns = None
    if isinstance(request, o.Bounded):
        names, bounded = _columns_bounded(request)
    asked = columns_asked(request.columns)
    columns: Columns = asked
    if request.header is False and asked is None:
        columns = bounded
    elif request.header is False and asked is not None and len(asked) == 1:
        columns = int(asked[0]) if asked[0].isdecimal() else asked
    header: Header = "guess" if guess and request.header is None else request.header
    path = paths if isinstance(paths, Path) else tuple(paths)
    sep = "\t" if request.sep in _TABS else request.sep
    file = TableFile(path, columns, header, sep, names, request.encoding, request.decimal)
    return _narrowed(file, bounded) if columns is None and isinstance(bounded, tuple) else file


def _narrowed(file: TableFile, bounded: tuple[str, ...]) -> TableFile:
    """The file with the columns that bounds name, in its own order; others are left alone."""
    table = table_of(file)
    return replace(file, columns=tuple(sorted({position_of(table, name) for name in bounded})))


def columns_asked(texts: list[str] | None) -> tuple[str, ...] | None:
    """Split what --columns was given at commas; a name with a comma goes in double quotes."""
    if not texts:
        return None
    try:
        found = next(csv.reader([",".join(texts)], skipinitialspace=True))
    except csv.Error:
        found = []
    fields = [field.strip() for field in found]
    if not fields or not all(fields):
        raise ValueError(
            "--columns must be names or positions with commas between them, got "
            f"{','.join(texts)!r}"
        )
    return tuple(fields)


def _columns_bounded(request: o.Bounded) -> tuple[tuple[str, ...], Columns]:
    """The columns that bounds name, and all columns if each has bounds of its own."""
    texts = request.bounds or []
    if texts and request.bounds_file is not None:
        raise ValueError("bounds come from --bounds or from --bounds-file, not from both")
    if request.bounds_file is None:
        names = tuple(text.rpartition("=")[0] for text in texts if "=" in text)
        alone = len(names) == len(texts)
        return names, (names or None) if alone else None
    data = bounds_in(request.bounds_file)
    if isinstance(data, dict):
        return tuple(data), tuple(data) or None
    sides = data if isinstance(data, list) else []
    return (), next((len(side) for side in sides if isinstance(side, list)), None)


def bounds_in(file: Path) -> Any:  # noqa: ANN401
    """What a file for --bounds-file holds."""
    try:
        return json.loads(read_whole(file))
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is not JSON") from None


def declared_in(request: o.Described) -> Schema:
    """The schema that was named; refuses options that say what it says already."""
    given = {"--bounds": request.bounds, "--bounds-file": request.bounds_file}
    given |= {"--columns": request.columns, "--groups": getattr(request, "groups", None)}
    twice = [name for name, value in given.items() if value]
    if twice:
        raise ValueError(
            f"--schema declares the columns, their bounds and the groups: leave {twice[0]} out, or "
            f"change {request.schema}"
        )
    if request.schema is None:
        raise ValueError("--schema is needed")
    return Schema.read(request.schema)


def load_model(path: Path, schema: Path | None) -> Any:  # noqa: ANN401
    """A model that `fit` wrote; refuses a schema that is not the one it was fitted with."""
    model = load(path)
    if schema is not None and Schema.read(schema) != model.schema_:
        own = "without a schema" if model.schema_ is None else "with another schema, which it holds"
        raise ValueError(f"{path} was fitted {own}: leave --schema out")
    return model


def left_alone(layout: Layout) -> list[str]:
    """The columns of a table with names that are not read."""
    table, used = layout.table, {*layout.positions, layout.owner}
    return [table.names[i] for i in table.usual if i not in used] if table.named else []


def max_rows_of(request: o.Grouped, groups: str | None) -> int | str:
    """How many rows of a group are used, or "private"; refused where there are no groups."""
    text = request.max_rows_per_group
    if text != PRIVATE and not text.lstrip("+-").isdecimal():
        raise ValueError(f"--max-rows-per-group must be a whole number or private, got {text!r}")
    most = text if text == PRIVATE else check_whole(int(text), "--max-rows-per-group")
    if most != 1 and groups is None:
        raise ValueError(
            "--max-rows-per-group needs --groups COLUMN, which has the person of each row, or a "
            "schema that names it"
        )
    return most


Pair = tuple[float, float]

_ADVICE = "write --bounds LOW,HIGH for all columns or --bounds COLUMN=LOW,HIGH for one"


def box_of(request: o.Bounded, layout: Layout) -> Box | None:
    """Build the box of the columns that are read; None if no bounds were given at all."""
    if request.bounds_file is not None:
        pairs = _from_file(layout, request.bounds_file)
    elif request.bounds:
        pairs = _from_texts(layout, request.bounds)
    else:
        return None
    without = [name for name, pair in zip(layout.names, pairs, strict=True) if pair is None]
    if without:
        columns = f"column{'s' if len(without) > 1 else ''} {listed(without, 10, 'columns')}"
        raise ValueError(f"there are no bounds for {columns}; {_ADVICE}")
    known = [pair for pair in pairs if pair is not None]
    for name, (low, high) in zip(layout.names, known, strict=True):
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"bounds of column {name!r} must be two finite numbers, the lower one first, got "
                f"{low:g},{high:g}"
            )
    return Box(tuple(low for low, _ in known), tuple(high for _, high in known))


def needed_box(request: o.Bounded, layout: Layout, others: str = "") -> Box:
    """The box of the columns that are read; refuses if no bounds were given."""
    box = box_of(request, layout)
    if box is None:
        raise ValueError(
            "bounds are required, and come from outside the data: --bounds LOW,HIGH, "
            f"--bounds COLUMN=LOW,HIGH for each column, or --bounds-file FILE{others}"
        )
    return box


def listed(names: Sequence[str], most: int, things: str = "") -> str:
    """Names with commas, at most so many of them."""
    more = f" and {len(names) - most} more {things}".rstrip() if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _from_texts(layout: Layout, texts: list[str]) -> list[Pair | None]:
    general: Pair | None = None
    special: dict[int, Pair] = {}
    for text in texts:
        column, equals, numbers = text.rpartition("=")
        pair = pair_of(numbers.split(","), f"--bounds {text}")
        if not equals:
            if general is not None:
                raise ValueError(f"--bounds LOW,HIGH for all columns is given twice; {_ADVICE}")
            general = pair
        elif (place := layout.place_of(column)) in special:
            raise ValueError(f"--bounds for column {column!r} is given twice")
        else:
            special[place] = pair
    return [special.get(i, general) for i in range(len(layout.positions))]


def _from_file(layout: Layout, file: Path) -> list[Pair | None]:
    data = bounds_in(file)
    width = len(layout.positions)
    if isinstance(data, dict):
        special = {
            layout.place_of(name): pair_of(pair, f"{file}: {name}") for name, pair in data.items()
        }
        return [special.get(i) for i in range(width)]
    if not isinstance(data, list) or len(data) != 2:
        raise ValueError(
            f'{file} must hold {{"column": [low, high], …}} or [lower, upper], each one number or '
            "one per column"
        )
    lower, upper = ([side] * width if not isinstance(side, list) else side for side in data)
    if len(lower) != width or len(upper) != width:
        raise ValueError(
            f"{file} must hold one number or {width} of them, one per column, on each side, got "
            f"{len(lower)} lower and {len(upper)} upper bounds"
        )
    return [pair_of(pair, str(file)) for pair in zip(lower, upper, strict=True)]


def pair_of(values: Any, where: str, advice: str = f"; {_ADVICE}") -> Pair:  # noqa: ANN401
    """Two numbers as they were typed or written."""
    try:
        low, high = (float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: two numbers LOW,HIGH are needed{advice}") from None
    return low, high


def check_output(target: Path, *inputs: Path, force: bool = True) -> None:
    """Refuse a place that cannot be written to, before anything is spent or read.

    Without `force` a file that is there is not overwritten.
    """
    for source in inputs:
        if target.resolve() == source.resolve() or (
            target.exists() and source.exists() and target.samefile(source)
        ):
            raise ValueError(f"{target} is an input: choose another file for --output")
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a directory: choose a file for --output")
    if target.exists() and not target.is_file():
        raise ValueError(f"{target} is no regular file: choose another one for --output")
    if target.exists() and not force:
        raise FileExistsError(f"{target} is there already: add --force to overwrite it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no such directory for --output: {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"the directory of --output cannot be written to: {target.parent}")


# The extra of each engine, and a package that comes with it.
_PACKAGES = {"dask": "distributed", "spark": "pyspark", "compss": "pycompss"}


def check_engine(request: o.Fit) -> None:
    """Refuse what does not go together, and an engine that is not installed."""
    if request.workers is not None:
        check_whole(request.workers, "--workers")
    engine = request.engine.value
    if engine not in _PACKAGES:
        if request.workers is not None or request.scheduler is not None:
            raise ValueError(
                "--workers and --scheduler are for a cluster: add --engine dask, spark or compss; "
                "on one machine SFUMATO_THREADS sets the number of threads"
            )
    elif find_spec(_PACKAGES[engine]) is None:
        raise ImportError(f"--engine {engine} is not installed: {extra(engine)}")


def fit_on(request: o.Fit, model: PrivateKMeans, file: TableFile) -> None:
    """Fit a model to files on the engine that was asked for."""
    engine, schema = request.engine.value, model.schema
    groups = request.groups if schema is None else schema.groups
    if engine not in _PACKAGES:
        _fit(request, model, file, groups)
        return
    open_files = getattr(import_module(f"sfumato.engines._{engine}"), f"open_{engine}_files")
    with open_files(
        file,
        groups=groups,
        max_rows_per_group=check_max_rows(model.max_rows_per_group) or 1,
        workers=request.workers,
        scheduler=request.scheduler,
        schema=schema,
    ) as rows:
        # Names for the model: a cluster's rows have none.
        rows.columns = layout_of(file, groups=groups, schema=schema).given_names or ()
        _fit(request, model, rows, None)


def _fit(request: o.Fit, model: PrivateKMeans, source: Any, groups: str | None) -> None:  # noqa: ANN401
    """Fit, with a budget of its own or one that lasts."""
    ledger = ledger_of(request)
    if ledger is None:
        _taking(request, model)(source, groups=groups)
        return
    curator = Curator(
        source,
        bounds=model.bounds,
        nan=model.nan,
        groups=groups,
        max_rows_per_group=model.max_rows_per_group,
        ledger=ledger,
        schema=model.schema,
    )
    _taking(request, model)(curator, request=request.request)


def _taking(request: o.Fit, model: PrivateKMeans) -> Any:  # noqa: ANN401
    """What takes the rows in: a fit, or one more batch."""
    return model.fit if request.append is None else model.partial_fit


def ledger_of(request: o.Charged) -> Ledger | None:
    """The ledger that is charged, if one was named."""
    if request.ledger is not None:
        return Ledger.open(
            request.ledger, request.dataset, person=request.person, purpose=request.purpose
        )
    for name in ("dataset", "person", "purpose", "request"):
        if getattr(request, name, None):
            shown = "as" if name == "person" else name
            raise ValueError(f"--{shown} goes with --ledger: where the budget is kept")
    return None


def with_declared_bounds(request: o.Fit) -> o.Fit:
    """The request with the bounds that its ledger declares, unless it gives bounds itself."""
    ledger = ledger_of(request)
    if ledger is None or request.schema is not None:
        return request
    if PRIVATE in (request.bounds or []):
        raise ValueError(
            "--bounds private has no place in a ledger: run `sfumato bounds … --ledger …` first, "
            "then fit with --bounds-file"
        )
    if request.bounds or request.bounds_file is not None or ledger.bounds is None:
        return request
    declared = ledger.bounds
    if not isinstance(declared, dict):
        lower, upper = declared
        if not isinstance(lower, list):
            return replace(request, bounds=[f"{lower!r},{upper!r}"])
        pairs = zip(lower, upper, strict=True)
        declared = {str(position): list(pair) for position, pair in enumerate(pairs)}
    return replace(request, bounds=[f"{n}={low!r},{high!r}" for n, (low, high) in declared.items()])


# Above, an ε promises next to nothing, and is asked about.
_LARGE = 10


def check_large(request: o.Charged, epsilon: float) -> None:
    """Ask, or refuse, before an ε is spent that protects next to nothing."""
    if epsilon <= _LARGE or request.yes_epsilon:
        return
    times = f"{math.exp(min(epsilon, 700)):,.0f}" if epsilon < 30 else f"e^{epsilon:g}"
    after = 100 / (1 + math.exp(-min(epsilon, 700)))
    meaning = (
        f"ε = {epsilon:g} protects next to nothing: an outcome may be {times} times as likely with "
        f"a person's row as without it. Who was 50 % sure that the row is there may be {after:.6g} "
        "% sure afterwards"
    )
    if not sys.stdin.isatty():
        raise ValueError(f"{meaning}. Add --yes-epsilon if that is what you want")
    if not typer.confirm(f"{meaning}. Spend it?", err=True):
        raise ValueError("nothing was spent")

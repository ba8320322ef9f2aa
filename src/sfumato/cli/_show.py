"""What commands print for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table

from sfumato._accounting.text import sentences_of, table_of
from sfumato._error_bars import doubts
from sfumato._released_model import to_dict
from sfumato._schema.kinds import Number
from sfumato._schema.schema import Schema
from sfumato._schema.words import in_words, number

if TYPE_CHECKING:
    from sfumato._accounting.receipt import Receipt
    from sfumato._private_kmeans import PrivateKMeans

MOST_ROWS = 40
_MOST_COLUMNS = 12
_WIDEST = 20
# The columns for the number of a cluster and its size, with their borders.
_MARGIN = 44


def console() -> Console:
    """Standard output. Names from a file are text, never markup."""
    return Console(markup=False, emoji=False, highlight=False)


def counted(count: int, one: str, many: str = "") -> str:
    """A number with the word for what it counts."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def table_with(*titles: str) -> Table:
    """A table of columns of a file by name, and numbers under these titles."""
    table = Table()
    table.add_column("column", overflow="ellipsis", no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right")
    return table


def print_centers(out: Console, model: PrivateKMeans, names: Sequence[str]) -> None:
    """Print the centres, and how many of them and of the columns are not shown."""
    box, centers = model.box_, model.cluster_centers_
    table = Table()
    table.add_column("cluster", justify="right")
    table.add_column("noisy size", justify="right")
    columns = centers[:MOST_ROWS].T.tolist()
    shown: list[list[str]] = []
    space = out.width - _MARGIN
    stds = getattr(model, "cluster_centers_std_", None)
    bars = [[None] * len(centers)] * len(columns) if stds is None else stds.T.tolist()
    ends = zip(box.lower, box.upper, strict=True)
    for name, pair, values, bar in zip(names, ends, columns, bars, strict=True):
        cells = [with_bar(number(x, *pair), std) for x, std in zip(values, bar, strict=False)]
        space -= min(_WIDEST, max(map(len, (name, *cells)))) + 3
        if shown and (space < 0 or len(shown) == _MOST_COLUMNS):
            break
        table.add_column(
            name, justify="right", overflow="ellipsis", no_wrap=True, max_width=_WIDEST
        )
        shown.append(cells)
    sizes, real = _sizes(model), _evidence(model)
    if real:
        table.add_column("evidence", justify="right")
    for i, row in enumerate(zip(*shown, strict=True)):
        table.add_row(str(i), sizes[i], *row, *real[i : i + 1])
    out.print(table)
    more = {"centres": len(centers) - MOST_ROWS, "columns": len(names) - len(shown)}
    _print_hidden(out, more)


def with_bar(text: str, std: float | None) -> str:
    """A number with one deviation of its noise, if that is known."""
    return text if std is None else f"{text} ± {std:.2g}"


def _sizes(model: PrivateKMeans) -> list[str]:
    """The noisy sizes of the centres that are shown."""
    sizes = [f"{round(x):,}" for x in model.cluster_sizes_[:MOST_ROWS]]
    stds = getattr(model, "cluster_sizes_std_", None)
    return sizes if stds is None else [with_bar(x, s) for x, s in zip(sizes, stds, strict=False)]


def _evidence(model: PrivateKMeans) -> list[str]:
    """The evidence of the centres that are shown, rounded down; nothing where it is unknown."""
    found = getattr(model, "evidence_", None)
    return [] if found is None else [f"{int(100 * x) / 100:.2f}" for x in found[:MOST_ROWS]]


def _bars_of(model: PrivateKMeans, schema: Schema, name: str) -> list[float | None]:
    """The deviation of a column of each centre that is shown, where it is one number."""
    stds, shown = getattr(model, "cluster_centers_std_", None), model.cluster_sizes_[:MOST_ROWS]
    place = schema.number_names.index(name) if name in schema.number_names else None
    if stds is None or place is None or not isinstance(schema.columns[name], Number):
        return [None] * len(shown)
    return [float(x) for x in stds[:MOST_ROWS, place]]


def print_doubts(out: Console, model: Any) -> None:  # noqa: ANN401
    """Print which clusters may be made by noise, if it is known and there are any."""
    sentence = doubts(model.evidence_) if hasattr(model, "evidence_") else ""
    if sentence:
        out.print(f"Warning: {sentence}")


def print_sizes(out: Console, model: Any, names: Sequence[str]) -> None:  # noqa: ANN401
    """Print the noisy size of every cluster, and of regions of a grid how far they reach."""
    regions = model.schema_ is None and hasattr(model, "cell_labels_")
    table = Table()
    for title in ("cluster", "noisy size", *(names if regions else ())):
        table.add_column(title, justify="right")
    for i, size in enumerate(model.cluster_sizes_[:MOST_ROWS]):
        table.add_row(str(i), f"{round(size):,}", *(_reach(model, i) if regions else ()))
    out.print(table)
    _print_hidden(out, {"clusters": len(model.cluster_sizes_) - MOST_ROWS})


def print_mixture(out: Console, model: Any, names: Sequence[str]) -> None:  # noqa: ANN401
    """Print the weight of every component, and without a schema its mean in each column."""
    plain = model.schema_ is None
    table = Table()
    for title in ("component", "weight", *(names[:_MOST_COLUMNS] if plain else ())):
        table.add_column(title, justify="right")
    ends = list(zip(model.box_.lower, model.box_.upper, strict=True))
    for i, weight in enumerate(model.weights_[:MOST_ROWS]):
        means = zip(model.means_[i][:_MOST_COLUMNS], ends, strict=False) if plain else ()
        table.add_row(str(i), f"{weight:.1%}", *(number(x, *pair) for x, pair in means))
    out.print(table)
    more = {"components": len(model.weights_) - MOST_ROWS, "columns": len(names) - _MOST_COLUMNS}
    _print_hidden(out, more if plain else {"components": more["components"]})


def _reach(model: Any, label: int) -> Iterator[str]:  # noqa: ANN401
    """From where to where a region of a grid reaches in each column, in the user's units."""
    cells, half = model.synopsis_.cells[model.cell_labels_ == label], model.synopsis_.widths[0] / 2
    lows, highs = cells.min(axis=0) - half, cells.max(axis=0) + half
    for ends in zip(lows, highs, model.box_.lower, model.box_.upper, strict=True):
        yield f"{number(ends[0], *ends[2:])} to {number(ends[1], *ends[2:])}"


def _print_hidden(out: Console, more: dict[str, int]) -> None:
    """Print how many centres and columns are not shown."""
    hidden = [f"{count} more {things}" for things, count in more.items() if count > 0]
    if hidden:
        out.print(f"… and {' and '.join(hidden)}, all of them in the model file.")


def print_profiles(out: Console, model: PrivateKMeans, schema: Schema) -> None:
    """Print the centres in the user's words: a line for each, or if that is too wide a column."""
    profiles = model.cluster_profiles_[:MOST_ROWS]
    lines = [["cluster", *map(str, range(len(profiles)))]]
    lines.append(["noisy size", *_sizes(model)])
    for name in schema.features[:MOST_ROWS]:
        column = schema.columns[name]
        words = [in_words(column, profile[name]) for profile in profiles]
        lines.append([name, *map(with_bar, words, _bars_of(model, schema, name))])
    if real := _evidence(model):
        lines.append(["evidence", *real])
    columns = list(zip(*lines, strict=True))
    if _width(columns) <= out.width:
        _print_cells(out, columns)
    else:
        titles, *rest = columns
        while rest:
            held = next(
                (n for n in range(len(rest), 1, -1) if _width_of(titles, *rest[:n]) <= out.width), 1
            )
            _print_cells(out, list(zip(titles, *rest[:held], strict=True)))
            rest = rest[held:]
    more = {"centres": len(model.cluster_sizes_), "columns": len(schema.features)}
    _print_hidden(out, {things: count - MOST_ROWS for things, count in more.items()})


def _width(lines: Sequence[Sequence[str]]) -> int:
    """The width of a table of these lines."""
    return _width_of(*zip(*lines, strict=True))


def _width_of(*columns: Sequence[str]) -> int:
    return 1 + sum(min(_WIDEST, max(map(len, column))) + 3 for column in columns)


def _print_cells(out: Console, lines: Sequence[Sequence[str]]) -> None:
    """A table with its titles in the first line."""
    table = Table()
    first, *others = lines
    for i, title in enumerate(first):
        justify: Literal["left", "right"] = "right" if i else "left"
        table.add_column(
            title, justify=justify, overflow="ellipsis", no_wrap=True, max_width=_WIDEST
        )
    for line in others:
        table.add_row(*line)
    out.print(table)


def print_receipt(out: Console, receipt: Receipt) -> None:
    """Print what was asked and spent, and what is promised."""
    out.print(table_of(receipt))
    for sentence in sentences_of(receipt):
        out.print(sentence)


def shown(model: PrivateKMeans) -> dict[str, Any]:
    """A model without its synopsis, which has a number for each cell: too long for a screen."""
    found = {name: value for name, value in to_dict(model).items() if name != "synopsis"}
    evidence = getattr(model, "evidence_", None)
    return found if evidence is None else {**found, "evidence": evidence.tolist()}

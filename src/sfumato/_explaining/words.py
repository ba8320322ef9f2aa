"""Explanations as sentences and as a table: `told` is an `Explanation`, `column` one of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato._schema.kinds import Date
from sfumato._schema.levels import Ordinal

CERTAIN = 2.0
"""Deviations of the noise by which a difference must stand out to be told."""

NOTICEABLE = 0.05
"""How far a cluster must be from the rest in a column, from 0 to 1, for that to be told."""

FIRST, NEXT, NAMED = 3, 3, 4
"""Differences in the first sentence and in the second; columns that are named as alike."""


def sentences_of(told: Any, cluster: int) -> tuple[str, str]:  # noqa: ANN401
    """The two sentences about a cluster."""
    size, std = float(told.sizes[cluster]), told.size_std
    if size < 3 * std:
        most = amount(max(size, 0) + CERTAIN * std, std, told.unit, "fewer than")
        return (
            f"Cluster {cluster}, {most}: too few to describe with this much noise.",
            "A larger epsilon, or fewer clusters, would show more.",
        )
    by_name = {column.name: column for column in told.columns}
    ranked = [by_name[name] for name, _, _ in told.ranked(cluster)]
    alone = len(told.sizes) == 1
    found = [(c.name, summary(c, cluster) if alone else difference(c, cluster)) for c in ranked]
    told_of = [words for _, words in found if words]
    head = f"Cluster {cluster}, {amount(size, std, told.unit)}"
    alike = [name for name, words in found if not words]
    if not told_of:
        return (
            f"{head}: much like the rest in every column that was counted.",
            "Where it differs, it does by little, or by less than the noise.",
        )
    first = f"{head}: {listed(told_of[:FIRST])}."
    return first, _second(told_of[FIRST : FIRST + NEXT], alike)


def _second(more: list[str], alike: list[str]) -> str:
    if more:
        return f"Also, {listed(more)}."
    if not alike:
        return "No other column was counted."
    names = " and ".join(", ".join(part) for part in (alike[:-1], alike[-1:]) if part)
    if len(alike) > NAMED:
        names = f"the other {len(alike)} columns"
    return f"In {names} it is much like the rest, as far as the noise lets one see."


def difference(column: Any, i: int) -> str:  # noqa: ANN401
    """How a cluster differs from the rest in a column; empty where it hardly does, or by noise."""
    if column.score[i] < NOTICEABLE:
        return ""
    return _by_missing(column, i) or _by_median(column, i) or _by_bin(column, i)


def summary(column: Any, i: int) -> str:  # noqa: ANN401
    """What a cluster is like in a column."""
    if column.binned.ordered:
        return f"median {column.name} {median(column, i)}"
    bin_ = int(column.shares[i].argmax())
    share = percent(column.shares[i, bin_], column.share_std[i, bin_])
    return f"{column.name} is {column.labels[bin_]} for {share}"


def _by_median(column: Any, i: int) -> str:  # noqa: ANN401
    if not column.binned.ordered:
        return ""
    here, there = column.median[i], column.rest_median[i]
    noise = column.median_std[i]
    if abs(here - there) <= CERTAIN * noise or here == there:
        return ""
    against = f"median {median(column, i)}, against {_said(column, there, noise)}"
    if column.name.lower() == "age":
        return f"{'older' if here > there else 'younger'} than the rest ({against})"
    pair = ("later", "earlier") if isinstance(column.binned.column, Date) else ("higher", "lower")
    return f"{pair[0] if here > there else pair[1]} {column.name} than the rest ({against})"


def _by_bin(column: Any, i: int) -> str:  # noqa: ANN401
    apart = column.shares[i] - column.rest[i]
    noise = np.sqrt(column.share_std[i] ** 2 + column.rest_std[i] ** 2)
    sure = np.where(np.abs(apart) > CERTAIN * noise, apart, 0.0)
    more, less = int(sure.argmax()), int(sure.argmin())
    # What there is more of is easier to read than what there is less of.
    bin_ = more if 2 * sure[more] >= -sure[less] else less
    if sure[bin_] == 0:
        return ""
    share = percent(column.shares[i, bin_], column.share_std[i, bin_])
    return _for(column, column.labels[bin_], share, column.rest[i, bin_], apart[bin_] < 0)


def _by_missing(column: Any, i: int) -> str:  # noqa: ANN401
    """Whether values are missing more often is told where it is most of the difference."""
    if column.missing is None:
        return ""
    apart = column.missing[i] - column.rest_missing[i]
    if abs(apart) <= max(CERTAIN * column.missing_std[i], column.score[i] / 2):
        return ""
    share = percent(column.missing[i], column.missing_std[i])
    return _for(column, "missing", share, column.rest_missing[i], apart < 0)


def _for(column: Any, label: str, share: str, rest: float, less: bool) -> str:  # noqa: ANN401
    only = "only " if less else ""
    return f"{column.name} is {label} for {only}{share} (for {100 * rest:.0f} % of the rest)"


def median(column: Any, i: int) -> str:  # noqa: ANN401
    """The median of a column in a cluster, with its deviation."""
    here = column.median[i]
    noise = column.median_std[i]
    said = _said(column, here, noise)
    if isinstance(column.binned.column, Date):
        days = math.ceil(noise)
        return f"{said} ± {days:,} day{'' if days == 1 else 's'}"
    if isinstance(column.binned.column, Ordinal):
        ends = [column.binned.said(c[i]) for c in (column.median_low, column.median_high)]
        return said if ends[0] == ends[1] else f"{said} (from {ends[0]} to {ends[1]})"
    if noise == 0:
        return said
    step = 10.0 ** _place(noise)
    return f"{said} ± {_rounded(math.ceil(noise / step - 1e-9) * step, _place(noise))}"


def _said(column: Any, code: float, noise: float) -> str:  # noqa: ANN401
    """A code in as many digits as its noise leaves."""
    if isinstance(column.binned.column, Date | Ordinal) or noise == 0:
        return str(column.binned.said(code))
    return _rounded(code, _place(noise))


def _place(noise: float) -> int:
    """The place of the first digit of noise, rounded up: 0 for ones, 1 for tens, −1 for tenths."""
    place = math.floor(math.log10(noise))
    return place + (math.ceil(noise / 10.0**place - 1e-9) == 10)


def _rounded(value: float, place: int) -> str:
    return f"{round(value / 10.0**place) * 10.0**place:,.{max(0, -place)}f}"


def percent(share: float, std: float) -> str:
    """A share in per cent, with its deviation; a share near 0 or 1 is not made more certain."""
    points = 100 * std
    places = 0 if points >= 0.95 else 1
    return f"{100 * share:.{places}f} ± {max(points, 0.1):.{places}f} %"


def amount(size: float, std: float, unit: str, word: str = "about") -> str:
    """A size in as many digits as its noise leaves."""
    step = 10 ** max(0, math.floor(math.log10(max(2 * std, 1.0))))
    whole = max(step, round(size / step) * step)
    return f"{word} {whole:,} {unit if whole != 1 else {'people': 'person', 'rows': 'row'}[unit]}"


def listed(words: list[str]) -> str:
    """Words in a row, with "and" before the last."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])}, and {words[-1]}"


def rendered(told: Any, width: int = 100) -> str:  # noqa: ANN401
    """Sentences about every cluster, a table of what tells it apart, and what it cost."""
    from rich.console import Console

    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        for cluster in range(len(told.sizes)):
            console.print(" ".join(told.sentences(cluster)), markup=False)
        console.print(_table(told))
        if told.left_out:
            console.print(f"Not counted: {', '.join(told.left_out)}.", markup=False)
        console.print(f"Cost: ε = {told.receipt.epsilon:.6g}" + _delta(told.receipt), markup=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _delta(receipt: Any) -> str:  # noqa: ANN401
    return f", δ = {receipt.delta:.3g}." if receipt.delta else "."


def _table(told: Any) -> Any:  # noqa: ANN401
    """For each cluster the columns that tell it apart most, as a rich table."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="What tells clusters apart", title_justify="left")
    for name in ("cluster", told.unit):
        table.add_column(name, justify="right")
    for name in ("column", "in the cluster", "in the rest", "difference"):
        table.add_column(name, justify="left" if name != "difference" else "right")
    by_name = {column.name: column for column in told.columns}
    for i, size in enumerate(told.sizes):
        for j, (name, score, std) in enumerate(told.ranked(i)[:FIRST]):
            head = [str(i), f"{max(size, 0):,.0f} ± {told.size_std:,.0f}"] if j == 0 else ["", ""]
            here, rest = _cells(by_name[name], i)
            table.add_row(*head, escape(name), escape(here), escape(rest), percent(score, std))
        table.add_section()
    return table


def _cells(column: Any, i: int) -> tuple[str, str]:  # noqa: ANN401
    """What a table says of a column in a cluster, and in the rest."""
    if column.binned.ordered:
        return f"median {median(column, i)}", f"median {_rest_median(column, i)}"
    bin_ = int((column.shares[i] - column.rest[i]).argmax())
    share = percent(column.shares[i, bin_], column.share_std[i, bin_])
    return f"{column.labels[bin_]} {share}", f"{100 * column.rest[i, bin_]:.0f} %"


def _rest_median(column: Any, i: int) -> str:  # noqa: ANN401
    noise = column.median_std[i]
    return _said(column, column.rest_median[i], noise)

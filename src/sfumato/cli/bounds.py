"""Bounds as they are typed on a command line or written in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfumato.box import Box, NanPolicy
from sfumato.cli.columns import bounds_in
from sfumato.engines.tables import Layout

Pair = tuple[float, float]

_ADVICE = "write --bounds LOW,HIGH for all columns or --bounds COLUMN=LOW,HIGH for one"


def box_of(
    layout: Layout, texts: list[str] | None, file: Path | None, nan: NanPolicy = "center"
) -> Box | None:
    """Build the box of the columns that are read; None if no bounds were given at all."""
    if texts and file is not None:
        raise ValueError("bounds come from --bounds or from --bounds-file, not from both")
    if file is not None:
        pairs = _from_file(layout, file)
    elif texts:
        pairs = _from_texts(layout, texts)
    else:
        return None
    without = [name for name, pair in zip(layout.names, pairs, strict=True) if pair is None]
    if without:
        raise ValueError(f"there are no bounds for {_listing(without)}; {_ADVICE}")
    known = [pair for pair in pairs if pair is not None]
    for name, (low, high) in zip(layout.names, known, strict=True):
        _check(name, low, high)
    return Box(tuple(low for low, _ in known), tuple(high for _, high in known), nan)


def _from_texts(layout: Layout, texts: list[str]) -> list[Pair | None]:
    general: Pair | None = None
    special: dict[int, Pair] = {}
    for text in texts:
        column, equals, numbers = text.rpartition("=")
        pair = _pair(numbers.split(","), f"--bounds {text}")
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
            layout.place_of(name): _pair(pair, f"{file}: {name}") for name, pair in data.items()
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
    return [_pair(pair, str(file)) for pair in zip(lower, upper, strict=True)]


def _pair(values: Any, where: str) -> Pair:  # noqa: ANN401
    try:
        low, high = (float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: two numbers LOW,HIGH are needed; {_ADVICE}") from None
    return low, high


def _check(name: str, low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(
            f"bounds of column {name!r} must be two finite numbers, the lower one first, got "
            f"{low:g},{high:g}"
        )


def _listing(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - 10} more columns" if len(names) > 10 else ""
    return f"column{'s' if len(names) > 1 else ''} {', '.join(names[:10])}{more}"

"""Numbers of columns in the user's units, in as many digits as bounds make meaningful."""

from __future__ import annotations

import math
import sys
from typing import Any

from sfumato._schema.kinds import Column, Cycle, Flag, Number


def number(value: float, low: float, high: float) -> str:
    """A coordinate with as many digits as its bounds make meaningful."""
    size = math.floor(math.log10(min(high - low, sys.float_info.max)))
    if not -6 <= size <= 12 or max(abs(low), abs(high)) >= 1e13:
        return f"{value:.5g}"
    text = f"{value:,.{max(0, 3 - size)}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def in_words(column: Column, found: Any) -> str:  # noqa: ANN401
    """What a centre has in a column, in the user's words."""
    if isinstance(found, dict):
        leading = found.get("leading")
        return found["level"] if leading is None else f"{leading} {found['shares'][leading]:.0%}"
    if isinstance(column, Flag):
        return f"{found:.0%} yes"
    if isinstance(column, Cycle):
        return number(found, 0, column.period)
    return number(found, *column.ends) if isinstance(column, Number) else str(found)

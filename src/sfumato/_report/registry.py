"""An entry."""

from __future__ import annotations

from typing import Any


def entry(model: Any, promise: Any, *, title: Any, date: Any) -> dict[str, Any]:
    """Entry."""
    return {}

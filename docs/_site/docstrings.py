"""Docstrings are read in a terminal first: what reStructuredText would misread is escaped here."""

from __future__ import annotations

import re
from typing import Any

# A fitted attribute such as n_leaves_ would be a link; |W| would be a substitution.
_ATTRIBUTE = re.compile(r"(?<![\w:*.\\])(\w*[^\W_])_(?=[\s,.;)\]]|$)")
_QUOTED = re.compile(r"(`+[^`]+`+)")


def escaped(line: str) -> str:
    """A line of prose of a docstring as reStructuredText."""
    if line.lstrip().startswith(("..", ">>>")):
        return line
    parts = _QUOTED.split(line)
    parts[::2] = [_ATTRIBUTE.sub(r"\1\\_", part).replace("|", "\\|") for part in parts[::2]]
    return "".join(parts)


def _process(
    app: object, what: str, name: str, found: object, options: object, lines: list[str]
) -> None:
    lines[:] = map(escaped, lines)


def setup(app: Any) -> None:  # noqa: ANN401
    """After numpydoc, which has read the sections."""
    app.connect("autodoc-process-docstring", _process, priority=900)

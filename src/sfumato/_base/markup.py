"""HTML that is safe to show: every text of a user is escaped where it is put in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

Attributes = Mapping[str, object]


class Markup(str):
    """HTML that was made here, and is put in as it is."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """A text as HTML; what is HTML already stays as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(str(text), quote=True))


def element(name: str, *inside: object, attributes: Attributes | None = None) -> Markup:
    """An element with escaped contents; attributes that are None are left out."""
    said = "".join(
        f' {key}="{escaped(value)}"'
        for key, value in (attributes or {}).items()
        if value is not None
    )
    return Markup(f"<{name}{said}>{''.join(map(escaped, inside))}</{name}>")


def classed(name: str, class_: str, *inside: object) -> Markup:
    """An element with a class."""
    return element(name, *inside, attributes={"class": class_})


def joined(parts: Iterable[object]) -> Markup:
    """Parts after each other."""
    return Markup("".join(map(escaped, parts)))


def table(
    titles: Sequence[object],
    lines: Iterable[Sequence[object]],
    *,
    caption: str,
    numbers: Iterable[int] = (),
) -> Markup:
    """A table that can be scrolled with the keyboard where it is wider than the page.

    The first cell of every line names it. `numbers` are the columns that are set to the right.
    """
    right = set(numbers)

    def cell(kind: str, i: int, text: object, scope: str | None) -> Markup:
        looks = "number" if i in right else None
        return element(kind, text, attributes={"class": looks, "scope": scope})

    head = element("tr", *(cell("th", i, title, "col") for i, title in enumerate(titles)))
    body = [
        element(
            "tr",
            *(cell("td" if i else "th", i, x, None if i else "row") for i, x in enumerate(line)),
        )
        for line in lines
    ]
    whole = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *body)
    )
    scrolled = {"class": "scroll", "tabindex": 0, "role": "region", "aria-label": caption}
    return element("div", whole, attributes=scrolled)


@lru_cache(1)
def looks() -> str:
    """The style sheet of reports and of what notebooks show."""
    return files("sfumato._base").joinpath("looks.css").read_text(encoding="utf-8")


def fragment(*inside: object) -> str:
    """A piece of HTML for a notebook, with its style."""
    style = Markup(f"<style>{looks()}</style>")
    return classed("div", "sfumato", style, *inside)

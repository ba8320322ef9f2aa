"""The reference: a page for each public class, and one for the functions of each public module.

Written from `__all__` when the site is built, so that no public name can be left out.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.ext.autodoc.mock import mock

import sfumato

# Packages of extras: the reference needs what is written about them, not them.
EXTRAS = ["distributed", "pycompss", "pyspark"]
PLACE = Path(__file__).parents[1] / "reference"
# What scikit-learn adds to every estimator is on scikit-learn's own pages.
OTHERS = "BaseEstimator, object, tuple, dict, list, set, Mapping, Set, Exception, BaseException"
_VERBS = ("fit", "partial_fit", "predict", "score", "transform")
HIDDEN = "get_metadata_routing, get_params, set_params, set_output, "
HIDDEN += ", ".join(f"set_{verb}_request" for verb in _VERBS)
TITLES = {
    "Estimators": ("Private*", "LocalClustering", "pipeline", "load"),
    "Rows, budgets and plans": ("Curator", "Ledger", "Overspent", "plan", "estimate_bounds"),
    "Tables": ("Schema", "Number", "Category", "Ordinal", "Flag", "Date", "Cycle", "Weight"),
}
# Returned by the names above, and not made by hand.
RETURNED = {
    "Receipt": "sfumato._accounting.receipt",
    "Guarantee": "sfumato._accounting.guarantee",
    "Plan": "sfumato._planning",
    "Explanation": "sfumato._explaining.explanation",
    "Dendrogram": "sfumato._synopsis.dendrogram",
}


def modules() -> list[str]:
    """Public modules, but the command line, which has a page of its own."""
    home = Path(sfumato.__file__).parent
    entries = (p for p in home.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file())
    return sorted(p.stem for p in entries if p.stem[0] != "_" and p.stem != "cli")


def public_names(module: ModuleType) -> list[str]:
    """What a module says is public; without such a list what is defined there."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    found = vars(module).items()
    return [n for n, v in found if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]


def pages() -> dict[str, str]:
    """Every page of the reference by the name of its file."""
    found = {}
    names = [n for n in sfumato.__all__ if not inspect.ismodule(getattr(sfumato, n))]
    for name in names:
        found[f"sfumato.{name}"] = _page(f"sfumato.{name}", [(sfumato, name)])
    parts = modules()
    for part in parts:
        module = import_module(f"sfumato.{part}")
        mine = [n for n in public_names(module) if n not in names]
        found[f"sfumato.{part}"] = _page(f"sfumato.{part}", [(module, n) for n in mine], module)
    returned = [(import_module(home), name) for name, home in RETURNED.items()]
    found["returned"] = _page("Returned by the library", returned)
    found["index"] = _index(names, parts)
    return found


def _title(text: str, under: str) -> str:
    return f"{text}\n{under * len(text)}\n\n"


def _page(
    title: str, members: list[tuple[ModuleType, str]], module: ModuleType | None = None
) -> str:
    text = _title(title, "=")
    if module is not None:
        text += f".. automodule:: {module.__name__}\n   :no-members:\n\n"
    for home, name in members:
        text += f".. currentmodule:: {home.__name__}\n\n" + _object(getattr(home, name), name)
    return text


def _object(found: object, name: str) -> str:
    if inspect.isclass(found):
        options = f":members:\n   :inherited-members: {OTHERS}\n   :exclude-members: {HIDDEN}"
        return f".. autoclass:: {name}\n   {options}\n\n"
    if inspect.isroutine(found) and not found.__module__.startswith("sfumato"):
        theirs = f"``{found.__name__}`` of {found.__module__.partition('.')[0]}, as it is."
        return f".. py:function:: {name}{inspect.signature(found)}\n\n   {theirs}\n\n"
    kind = "autofunction" if inspect.isroutine(found) else "autodata"
    return f".. {kind}:: {name}\n\n"


def _index(names: list[str], parts: list[str]) -> str:
    text = _title("Reference", "=")
    text += "Everything public, from the docstrings. What has a leading underscore may move.\n\n"
    left = list(names)
    for title, wanted in TITLES.items():
        chosen = [
            n for w in wanted for n in left if n == w or (w[-1] == "*" and n.startswith(w[:-1]))
        ]
        left = [n for n in left if n not in chosen]
        text += _table(title, [f"sfumato.{n}" for n in chosen])
    text += _table("More", [f"sfumato.{n}" for n in left])
    text += _table("Modules", [f"sfumato.{n}" for n in parts])
    every = [*(f"sfumato.{n}" for n in names), "returned", *(f"sfumato.{n}" for n in parts)]
    listed = "\n".join(f"   {name}" for name in every)
    return f"{text}.. toctree::\n   :hidden:\n\n{listed}\n"


def _table(title: str, names: list[str]) -> str:
    lines = _title(title, "-") + ".. list-table::\n   :widths: 30 70\n\n"
    for name in names:
        lines += f"   * - :doc:`{name}`\n     - {_summary(name)}\n"
    return lines + "\n"


def _summary(name: str) -> str:
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last, None) or import_module(name)
    if not (inspect.ismodule(found) or inspect.isroutine(found) or inspect.isclass(found)):
        found = type(found)
    first = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return first.replace("`", "``").replace("````", "``")


def _write(app: object) -> None:
    PLACE.mkdir(exist_ok=True)
    with mock(EXTRAS):
        written = pages()
    for stale in PLACE.glob("*.rst"):
        if stale.stem not in written:
            stale.unlink()
    for name, text in written.items():
        file = PLACE / f"{name}.rst"
        # A page that has not changed is not built again.
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:  # noqa: ANN401
    """Write the pages when a build starts."""
    app.connect("builder-inited", _write)

"""Lists of pages: of the site from `docs/navigation.toml`, of a folder from its README."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
_LINK = re.compile(r"\[([^\[\]]+)\]\(([\w./-]+)\)")


def sections(docs: Path = DOCS) -> list[tuple[str, list[str]]]:
    """Titles and pages, as paths from the root of the repository without their suffix."""
    listed = tomllib.loads((docs / "navigation.toml").read_text("utf-8"))["section"]
    named = {page for section in listed for page in section["pages"] if "*" not in page}
    found = []
    for section in listed:
        pages: list[str] = []
        for page in section["pages"]:
            if "*" in page:
                files = sorted(docs.glob(f"{page}.md"))
                names = (file.relative_to(docs).with_suffix("").as_posix() for file in files)
                pages += [name for name in names if name not in named | {"index"}]
            else:
                pages.append(page)
        paths = [page[1:] if page.startswith("/") else f"{docs.name}/{page}" for page in pages]
        found.append((section["title"], paths))
    return found


def toctree(pages: list[str], title: str = "") -> str:
    """The directive that puts pages, named from the root, below the page it is on."""
    caption = f":caption: {title}\n" if title else ""
    lines = "\n".join(f"/{page}" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n{caption}\n{lines}\n```\n"


def with_lists(name: str, text: str, root: Path = ROOT) -> str:
    """A page with links to folders turned into links to their README, and its list of pages."""
    page = root / f"{name}.md"
    if name == "docs/index":
        return text + "".join(toctree(pages, title) for title, pages in sections(root / "docs"))
    if page.name == "README.md" and page.parent != root:
        others = sorted(page.parent.glob("*.md"))
        names = (file.relative_to(root).with_suffix("").as_posix() for file in others)
        text += toctree([other for other in names if other != name])
    return _LINK.sub(lambda link: _not_a_folder(link, page.parent), text)


def _not_a_folder(link: re.Match[str], here: Path) -> str:
    """A link to a folder leads to its README; without one it is text."""
    folder = here / link[2]
    if not folder.is_dir():
        return link[0]
    return (
        f"[{link[1]}]({link[2].rstrip('/')}/README.md)"
        if (folder / "README.md").is_file()
        else link[1]
    )


def _read(app: object, name: str, content: list[str]) -> None:
    content[0] = with_lists(name, content[0])


def _with_lists(app: object, env: Any, *_: object) -> list[str]:  # noqa: ANN401
    """Pages with lists are read in every build: a new page belongs on one of them."""
    return [name for name in env.found_docs if name == "docs/index" or name.endswith("README")]


def _redirect(app: Any, error: object) -> None:  # noqa: ANN401
    """The top of the built folder leads to the first page."""
    if error is None and app.builder.name == "html":
        page = '<!doctype html><meta charset="utf-8"><title>sfumato</title>'
        page += '<meta http-equiv="refresh" content="0; url=docs/index.html">'
        page += '<a href="docs/index.html">sfumato</a>\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Any) -> None:  # noqa: ANN401
    """Change pages as they are read; add the page at the top."""
    app.connect("env-get-outdated", _with_lists)
    app.connect("source-read", _read)
    app.connect("build-finished", _redirect)

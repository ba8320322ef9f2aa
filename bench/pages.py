"""Pages of the documentation that run from top to bottom, and the outputs that they show.

    python -m bench pages            # runs every page, and writes its examples of output anew

Blocks run in order, in an empty folder: `python` in one namespace for each page, `sh` line by line,
where every line is a command of sfumato (`# exit code 3` says how it ends, if not with 0). A `toml`
block whose first line is a comment with the name of a file is written to that file. A `text` block
shows what the block before it printed; a line with … stands for any lines. A block of kind
`text example` has noise in it: the words may differ a little, and the numbers do. A comment
`<!-- python … -->` runs like a block and is not shown: rows that the reader is taken to have.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from typer.testing import CliRunner

from sfumato.cli import app

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    "tutorial-hospital.md",
    "schema.md",
    "pipelines.md",
    "shapes.md",
    "how-we-attack-ourselves.md",
    "kmedian.md",
    "error-bars.md",
    "start-here.md",
    "tutorial-office.md",
    "choosing.md",
    "concepts.md",
    "write-a-method.md",
    *("explain.md", "parts.md", "mixture.md", "balcan.md", "maxcover.md", "local-model.md"),
    *("local-mechanisms.md", "local-clustering.md", "ledger.md", "files.md"),
    *sorted(f"gallery/{page.name}" for page in (DOCS / "gallery").glob("[a-z]*.md")),
    "streams.md",
    "one-release.md",
    "compare.md",
    "command-line.md",
    "quality.md",
    "report.md",
    "plots.md",
)
MORE = "…"

_BLOCK = re.compile(r"^(?:```|<!-- )(\w+)(?: (\w+))?\n(.*?)^(?:```|-->)$", re.DOTALL | re.MULTILINE)
_EXIT = re.compile(r"# exit code (\d+)\s*$")


@dataclass(frozen=True)
class Shown:
    """A block of output: what the page shows, what was printed, and where it is in the page."""

    text: str
    printed: str
    example: bool
    span: tuple[int, int]

    @property
    def right(self) -> bool:
        """Whether the page shows what was printed: of an example, most of its words."""
        if self.example:
            ours, theirs = _words(self.text), _words(self.printed)
            return (ours & theirs).total() > 0.6 * max(ours.total(), theirs.total(), 1)
        parts = [re.escape(part) for part in _trimmed(self.text).split(f"{MORE}\n")]
        return re.fullmatch("(?:.*\n)*?".join(parts), _trimmed(self.printed)) is not None


def run(page: str) -> Iterator[Shown]:
    """Run the blocks of a page in the current folder, and compare what they print with it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in _BLOCK.finditer(page):
        kind, mark, text = block.groups()
        if kind == "text":
            yield Shown(text, printed, mark == "example", block.span(3))
            printed = ""
        elif kind == "toml" and text.startswith("# "):
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif kind == "python":
            printed = _python(text, names)
        elif kind == "sh":
            printed = "".join(map(_command, text.replace("\\\n", " ").splitlines()))


def written(page: str) -> str:
    """A page with the outputs of its examples as they were printed just now."""
    for shown in reversed(list(run(page))):
        if shown.example:
            start, end = shown.span
            page = page[:start] + _trimmed(shown.printed) + page[end:]
        elif not shown.right:
            raise ValueError(f"the page shows:\n{shown.text}\nprinted was:\n{shown.printed}")
    return page


def _python(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, "<page>", "exec"), names)
    return out.getvalue()


def _command(line: str) -> str:
    words = shlex.split(line, comments=True)
    if not words:
        return ""
    if words[0] != "sfumato":
        raise ValueError(f"not a command of sfumato: {line}")
    expected = _EXIT.search(line)
    result = CliRunner().invoke(app, words[1:], env={"COLUMNS": "100"})
    if result.exit_code != int(expected.group(1) if expected else 0):
        raise ValueError(f"{line} ended with {result.exit_code}: {result.stderr}")
    return result.stdout + (result.stderr if result.exit_code else "")


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W\d_]{3,}", text))


def main(words: list[str]) -> None:
    """Run every page in a folder of its own, and write what it prints."""
    parser = argparse.ArgumentParser(prog="python -m bench pages", description=__doc__)
    parser.add_argument("pages", nargs="*", default=PAGES)
    for name in parser.parse_args(words).pages:
        page = DOCS / name
        with (
            tempfile.TemporaryDirectory() as folder,
            chdir(folder),
            mock.patch.dict("os.environ", {"COLUMNS": "100"}),
        ):
            text = written(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        print(f"{name}: done")

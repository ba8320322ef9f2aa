"""`sfumato studio`: a page of this machine's browser, served to this machine alone."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

import typer

from sfumato.cli import _commands as c
from sfumato.cli._app import print_json
from sfumato.studio import serve


def run(request: c.Studio) -> None:
    """Serve the page until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="sfumato-studio-") as folder:
        # Programs and their arguments are seen by all users of a machine: the browser is given a
        # file that only its owner can read, in place of the link.
        way = Path(folder) / "open.html"

        def opened(link: str) -> None:
            _say(request, link)
            if not request.no_open:
                way.touch(mode=0o600)
                way.write_text(f'<meta http-equiv="refresh" content="0; url={link}">', "utf-8")
                webbrowser.open(way.as_uri())

        serve(request.data, ledger=request.ledger, port=request.port, opened=opened)


def _say(request: c.Studio, link: str) -> None:
    if request.as_json:
        print_json({"link": link})
        return
    typer.echo(f"Studio: {link}")
    typer.echo("The link is a key to the budget: share it with nobody. Ctrl-C ends the studio.")

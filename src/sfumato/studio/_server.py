"""Serves the studio on the loopback address, and on no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from sfumato.studio._app import Studio
from sfumato.studio._folder import Folder
from sfumato.studio._guard import Keys

HOST = "127.0.0.1"
"""Not an option: whoever reaches the page with its link can spend the budget."""


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:  # noqa: ANN401
        """Listen, then say where."""
        await super().startup(sockets)
        if self.started:
            self._ready(int(self.servers[0].sockets[0].getsockname()[1]))


def server_of(studio: Studio, port: int, opened: Callable[[str], None] | None) -> uvicorn.Server:
    """A server of this machine alone; `opened` is called with the link once it listens."""

    def ready(port: int) -> None:
        if opened is not None:
            # Behind the # it is neither sent to a server nor written to a log.
            opened(f"http://{HOST}:{port}/#key={studio.keys.entry}")

    config = uvicorn.Config(
        studio.app(),
        host=HOST,
        port=port,
        access_log=False,
        log_level="error",
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    return _Server(config, ready)


def run(
    folder: Path, ledger: str | None, port: int, opened: Callable[[str], None] | None = None
) -> None:
    """Serve until interrupted; a fit that runs is finished first, so that its release is kept."""
    if not folder.is_dir():
        raise ValueError(f"--data must be a folder, got {folder}")
    if not 0 <= port < 65536:
        raise ValueError(f"--port must be a whole number from 0 to 65535, got {port}")
    studio = Studio(Folder(folder, ledger), Keys())
    try:
        server_of(studio, port, opened).run()
    except KeyboardInterrupt:
        pass
    finally:
        if studio.fits.running():
            sys.stderr.write("A fit is running: it is finished first, as its ε is spent.\n")
        studio.fits.close()

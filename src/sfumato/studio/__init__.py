"""A page of this machine's browser: plan, spend and look at releases. Needs the extra `studio`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sfumato._base import extra

__all__ = ["serve"]


def serve(
    folder: str | os.PathLike[str] = ".",
    *,
    ledger: str | None = None,
    port: int = 0,
    opened: Callable[[str], None] | None = None,
) -> None:
    """Serve the studio to this machine alone, until it is interrupted.

    Parameters
    ----------
    folder : path
        Where the files of rows are: .csv, .tsv (both also .gz), .npy, .parquet.
    ledger : str, optional
        Where budgets are kept: a SQLite file, or postgresql://… By default a file in the folder,
        made when the first dataset is registered.
    port : int
        0 is any port that is free.
    opened : callable, optional
        Called with the link of the page once it can be opened. The link is a secret.

    """
    try:
        from sfumato.studio._server import run
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ImportError(f"the studio needs Starlette and uvicorn: {extra('studio')}") from None
    run(Path(folder), ledger, port, opened)

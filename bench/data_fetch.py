"""Download one file: what an interrupted download left is continued, a wrong one is not kept."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path

BLOCK = 1 << 16
TIMEOUT = 60
TRIES = 3
_NOT_THAT_RANGE = 416


class WrongFile(ValueError):  # noqa: N818
    """A file that is not what its checksum says."""


def fetch(url: str, place: Path, sha256: str = "") -> Path:
    """Fetch a file into `place`, unless it is there; what is incomplete has the suffix .part."""
    if place.is_file():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.part")
    for attempt in range(TRIES):
        try:
            _continue(url, part)
            break
        except (OSError, EOFError) as error:
            if attempt == TRIES - 1 or isinstance(error, urllib.error.HTTPError):
                raise OSError(f"{url}: {error}; run this again to continue") from error
    found = hashlib.sha256(part.read_bytes()).hexdigest()
    if sha256 and found != sha256:
        part.unlink()
        raise WrongFile(f"{url} has SHA-256 {found}, not {sha256}: it is not kept")
    os.replace(part, place)
    return place


def _continue(url: str, part: Path) -> None:
    """Append what is missing; a server that sends all of it again starts the file anew."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            _append(answer, part, have if answer.status == 206 else 0)
    except urllib.error.HTTPError as error:
        # Nothing is beyond the end: the file was complete, or another one has taken its place.
        if error.code != _NOT_THAT_RANGE or not _is_all(error, have):
            part.unlink(missing_ok=True)
            raise


def _append(answer: object, part: Path, start: int) -> None:
    promised = answer.headers.get("Content-Length")  # type: ignore[attr-defined]
    got = 0
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        while block := answer.read(BLOCK):  # type: ignore[attr-defined]
            file.write(block)
            got += len(block)
    if promised is not None and got < int(promised):
        raise EOFError(f"{got:,} of {int(promised):,} bytes came")


def _is_all(error: urllib.error.HTTPError, have: int) -> bool:
    return (error.headers.get("Content-Range") or "").rpartition("/")[2] == str(have)

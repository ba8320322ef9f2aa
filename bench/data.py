"""Fetch the public datasets of the benches from their origins.

    python -m bench data                 # what there is, and what is here
    python -m bench data s1 mnist        # fetch these
    python -m bench data --all           # fetch all that have a plain file as their origin

Files go to the folder that SFUMATO_DATA names, or to `data`. A download that was interrupted is
continued. Arrays whose digest is not the recorded one are refused, and nothing of them is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.data_convert import CONVERT
from bench.data_fetch import WrongFile, fetch

CATALOGUE = Path(__file__).with_name("data_sources.toml")


@dataclass(frozen=True)
class Source:
    """Where a dataset comes from. `digest` is that of its arrays, `sha256` of its files."""

    name: str
    kind: str
    files: tuple[str, ...]
    bounds: tuple[Any, Any]
    licence: str
    cite: str
    digest: str
    sha256: tuple[str, ...] = ()
    dtype: str = ""


def folder() -> Path:
    """Where datasets are: SFUMATO_DATA, or `data`."""
    return Path(os.environ.get("SFUMATO_DATA", "data"))


def path_of(name: str) -> Path:
    """The file of a dataset."""
    return folder() / f"{name}.npz"


def nothing_to_measure(absent: Iterable[str]) -> None:
    """End a bench that has no data at all, with what would help."""
    names = " ".join(absent)
    sys.exit(
        f"nothing to measure: none of the datasets is in {folder()}. Set SFUMATO_DATA to the "
        f"folder that has them, or fetch them: python -m bench data {names}"
    )


def with_data(needs: Mapping[str, str]) -> list[str]:
    """Of what is asked for, what can be run: `needs` has the dataset of each, "" for none.

    Says which datasets are left out. Ends a bench where nothing can be run.
    """
    there = [name for name, needed in needs.items() if not needed or path_of(needed).is_file()]
    absent = list(dict.fromkeys(needs[name] for name in needs if name not in there))
    if absent and not there:
        nothing_to_measure(absent)
    if absent:
        print(f"left out, not in the folder that SFUMATO_DATA names: {', '.join(absent)}")
    return there


def sources(path: Path = CATALOGUE) -> dict[str, Source]:
    """Every dataset of the catalogue. `like` takes what is not said from another one."""
    listed = tomllib.loads(path.read_text("utf-8"))
    found = {}
    for name, own in listed.items():
        model = own.pop("like", "")
        if model:
            files = [url.replace(f"/{model}.", f"/{name}.") for url in listed[model]["files"]]
            own = {**listed[model], "files": files, **own}
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in own.items()}
        found[name] = Source(name=name, **fields)
    return found


def digest(arrays: dict[str, Any]) -> str:
    """SHA-256 of names, types, shapes and contents; means of clusters are left out."""
    total = hashlib.sha256()
    for name in sorted(set(arrays) - {"C"}):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def get(source: Source) -> Path:
    """Fetch, convert, compare and keep one dataset; one that is there is left as it is."""
    place = path_of(source.name)
    if place.is_file():
        return place
    origins = folder() / "origin" / source.name
    checks = source.sha256 or ("",) * len(source.files)
    files = [
        fetch(url, origins / url.rpartition("/")[2], check)
        for url, check in zip(source.files, checks, strict=True)
    ]
    arrays = _converted(source, files)
    if (found := digest(arrays)) != source.digest:
        for file in files:
            file.unlink()
        raise WrongFile(
            f"{source.name}: its arrays have the digest {found}, not {source.digest}: not kept"
        )
    _write(place, arrays)
    terms = f"{source.name}\nlicence: {source.licence}\ncite: {source.cite}\n"
    text = terms + "".join(f"from: {url}\n" for url in source.files)
    place.with_suffix(".txt").write_text(text, encoding="utf-8")
    return place


def _converted(source: Source, files: list[Path]) -> dict[str, Any]:
    try:
        if source.dtype:
            arrays = CONVERT[source.kind](files, source.dtype)
        else:
            arrays = CONVERT[source.kind](files)
    except (ValueError, IndexError, KeyError, OSError, EOFError) as error:
        for file in files:
            file.unlink()
        message = f"{source.name}: its files are not in the expected format ({error}): not kept"
        raise WrongFile(message) from error
    d = arrays["X"].shape[1]
    lo, hi = (np.broadcast_to(np.array(side, dtype=float), d).copy() for side in source.bounds)
    return {**arrays, "lo": lo, "hi": hi}


def _write(place: Path, arrays: dict[str, Any]) -> None:
    """Under its name only when it is whole."""
    data = io.BytesIO()
    np.savez_compressed(data, **arrays)
    part = place.with_name(f"{place.name}.part")
    part.write_bytes(data.getvalue())
    os.replace(part, place)


def listing(found: Iterable[Source]) -> str:
    """One line for each dataset."""
    lines = []
    for source in found:
        here = "here" if path_of(source.name).is_file() else "not here"
        lines.append(f"{source.name:16} {here:9} {source.licence}")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    """Fetch what is named, or list what there is."""
    known = sources()
    parser = argparse.ArgumentParser(
        prog="python -m bench data",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--all", action="store_true", help="every dataset of the catalogue")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    names = list(known) if options.all else options.names
    if not names:
        print(f"folder: {folder()}\n{listing(known.values())}")
        return
    failed = []
    for name in names:
        source = known[name]
        print(f"{name}\n  licence: {source.licence}\n  cite: {source.cite}", flush=True)
        try:
            print(f"  {get(source)}", flush=True)
        except (OSError, WrongFile) as error:
            failed.append(name)
            print(f"  failed: {error}", file=sys.stderr)
    if failed:
        sys.exit(f"not fetched: {', '.join(failed)}")

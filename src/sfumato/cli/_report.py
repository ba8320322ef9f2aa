"""`sfumato report`, `receipt`, `verify`, `sign`, `keygen`: what is published, and checks of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from sfumato._base.files import read_whole, write_whole
from sfumato._ledger.books import releases_in
from sfumato._ledger.durable import facts_of, open_store
from sfumato._ledger.store import digest_of
from sfumato._released_model import text_of
from sfumato._report.dossier import dossier
from sfumato._report.page import page
from sfumato._report.seal import (
    fingerprint,
    new_key,
    private_key,
    public_key,
    read_json,
    signed_json,
    signed_page,
    with_seal,
)
from sfumato._report.verify import CANNOT, agreeing, verify
from sfumato.cli import _commands as c
from sfumato.cli._app import VIOLATION, command_line, print_json
from sfumato.cli._inputs import check_output, load_model
from sfumato.cli._show import console, print_receipt

if TYPE_CHECKING:
    from sfumato.cli import _options as o


def check_report(request: o.Fit, *inputs: Path) -> None:
    """Refuse, before anything is spent, a place where no report can be written."""
    if request.report is not None:
        check_output(request.report, request.target, *inputs, force=request.force)


def write_report(model: Any, path: Path, *, title: str) -> None:  # noqa: ANN401
    """Write the report of a model that was just fitted, with the command that did it."""
    write_whole(path, page(model, title=title, command=command_line()))


def run(request: c.Report) -> None:
    """Write a report, and a dossier."""
    inputs = [*filter(None, [request.model, request.sign, request.explanation])]
    check_output(request.output, *inputs, force=request.force)
    if request.dossier is not None:
        check_output(request.dossier, request.output, *inputs, force=request.force)
    key = None if request.sign is None else private_key(request.sign)
    model = load_model(request.model, None)
    facts: dict[str, Any] = {
        "explanation": None if request.explanation is None else _json_in(request.explanation),
        "title": request.title,
        "command": command_line(),
        "ledger": None if request.ledger is None else _kept(model, request.ledger),
        "bounds_from": request.bounds_from,
    }
    # One date for both.
    twin = dossier(model, **facts)
    write_whole(request.output, page(model, signature=key, twin=twin, **facts))
    written = {"written_to": str(request.output), "signed": key is not None}
    if request.dossier is not None:
        write_whole(request.dossier, with_seal(signed_json(twin, key)))
        written["dossier"] = str(request.dossier)
    if request.as_json:
        print_json(written)
        return
    said = "signed, " if key is not None else ""
    for path in filter(None, [request.output, request.dossier]):
        console().print(
            f"{path} written, {said}from {request.model}. It cost nothing.", soft_wrap=True
        )


def _json_in(path: Path) -> dict[str, Any]:
    try:
        return read_json(read_whole(path))
    except ValueError:
        raise ValueError(f"{path} is not what `sfumato explain -o` writes") from None


def _kept(model: Any, ledger: str) -> dict[str, Any]:  # noqa: ANN401
    """The entry of a ledger that keeps this model; refused where there is none."""
    digest, store = digest_of(text_of(model)), open_store(ledger)
    for line in releases_in(store):
        if line["digest"] == digest:
            entry = {name: line[name] for name in ("dataset", "request", "at", "guarantee")}
            return entry | {"bounds_source": facts_of(store, line["dataset"]).bounds_source}
    raise ValueError(f"{ledger} keeps no release with the contents of this model")


def run_receipt(request: c.Receipt) -> None:
    """Print the receipt of a model."""
    receipt = load_model(request.model, None).receipt_
    if request.as_json:
        print_json(receipt.to_dict())
        return
    print_receipt(console(), receipt)


def run_verify(request: c.Verify) -> int:
    """Check files, and say what was checked; the exit code is 4 if something is wrong."""
    key = None if request.key is None else public_key(request.key)
    found = [verify(path, key=key) for path in request.files]
    together = agreeing(found)
    right = all(each.right for each in found) and (together is None or together.right is not False)
    if request.as_json:
        print_json(
            {
                "right": right,
                "files": [each.to_dict() for each in found],
                "same_model": None if together is None else together.right,
            }
        )
        return 0 if right else VIOLATION
    out, table = console(), Table()
    for title in ("file", "check", "", "what was found"):
        table.add_column(title)
    words = {True: "right", False: "WRONG", None: "none"}
    for each in found:
        for check in each.checks:
            table.add_row(Path(each.path).name, check.name, words[check.right], check.said)
    if together is not None:
        table.add_row("all", together.name, words[together.right], together.said)
    out.print(table)
    out.print("Nothing is wrong." if right else "Something is wrong: do not rely on it.")
    out.print(CANNOT)
    return 0 if right else VIOLATION


def run_sign(request: c.Sign) -> None:
    """Sign a file in place."""
    key = private_key(request.key)
    path, text = request.file, read_whole(request.file)
    check_output(path, request.key)
    problem = [each for each in verify(path).checks if each.right is False]
    if problem and problem[0].name not in ("digest", "signature"):
        raise ValueError(f"{path} is not signed: {problem[0].said}")
    if text.lstrip().startswith("<"):
        write_whole(path, signed_page(text, key))
    else:
        write_whole(path, with_seal(signed_json(read_json(text), key)))
    name = fingerprint(key.public_key().public_bytes_raw())
    if request.as_json:
        print_json({"signed": str(path), "key": name})
        return
    console().print(f"{path} signed with key {name}", soft_wrap=True)


def run_keygen(request: c.Keygen) -> None:
    """Make a key; only its owner may read the private one."""
    public = request.key.with_suffix(".pub.pem")
    for path in (request.key, public):
        check_output(path, force=request.force)
    private_text, public_text = new_key()
    write_whole(request.key, private_text, mode=0o600)
    write_whole(public, public_text)
    name = fingerprint(public_key(public))
    if request.as_json:
        print_json({"private": str(request.key), "public": str(public), "key": name})
        return
    out = console()
    out.print(f"Private key written to {request.key}: keep it secret.", soft_wrap=True)
    out.print(f"Public key {name} written to {public}: publish it.", soft_wrap=True)

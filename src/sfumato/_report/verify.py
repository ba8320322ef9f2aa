"""Checks of files that were published: signature, digests, arithmetic. Offline, without rows."""

from __future__ import annotations

import html
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato._accounting.receipt import Receipt
from sfumato._base.files import read_whole
from sfumato._report.arithmetic import claim_of, exact, problems_of
from sfumato._report.dossier import FORMAT
from sfumato._report.seal import (
    SEAL,
    Damaged,
    Seal,
    canonical,
    digest_of,
    fingerprint,
    holds,
    opened_page,
    read_json,
)
from sfumato._report.words import Promise

CANNOT = (
    "It cannot be checked here that the rows, the bounds and the unit of privacy were as declared, "
    "that no other release was made of the same rows, or that the program that ran was sfumato as "
    "published."
)
_DATA = re.compile(r'<script type="application/json" id="dossier">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Check:
    """One thing that was checked: whether it is right, None if there was nothing to check."""

    name: str
    right: bool | None
    said: str


@dataclass(frozen=True)
class Verified:
    """What was found in a file. `model` is the digest of the model that it is, or is about."""

    path: str
    kind: str
    checks: tuple[Check, ...]
    model: str | None = None

    @property
    def right(self) -> bool:
        """Whether nothing is wrong."""
        return all(check.right is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """What was found, as plain values."""
        return {**asdict(self), "right": self.right, "cannot_be_checked": CANNOT}


def verify(path: str | os.PathLike[str], *, key: bytes | None = None) -> Verified:
    """Check a report, a model or a dossier. `key` is the owner's public key, 32 bytes."""
    where = Path(path)
    try:
        text = read_whole(where)
    except UnicodeDecodeError:
        raise ValueError(f"{where} is not a report, a model or a dossier of sfumato") from None
    try:
        if text.lstrip().startswith("<"):
            return _page(str(where), text, key)
        return _json(str(where), read_json(text), key)
    except Damaged as error:
        return Verified(str(where), "unknown", (Check("file", False, str(error)),))


def _page(where: str, text: str, key: bytes | None) -> Verified:
    blank, seal = opened_page(text)
    data = _DATA.findall(text)
    if len(data) != 1:
        raise Damaged("the report does not hold its dossier")
    facts = read_json(data[0])
    sealed = Seal.from_dict(read_json(html.unescape(seal))) if seal else None
    checks = (
        *_sealing(sealed, blank.encode("utf-8"), key),
        *_dossier(facts),
        _words(facts, text),
    )
    return Verified(where, "report", checks, _model_in(facts))


def _json(where: str, data: dict[str, Any], key: bytes | None) -> Verified:
    sealed = Seal.from_dict(data[SEAL]) if SEAL in data else None
    content = canonical(data)
    checks = _sealing(sealed, content, key)
    if "dossier_format" in data:
        checks = (*checks, *_dossier(data), _words(data))
        return Verified(where, "dossier", checks, _model_in(data))
    if "receipt" not in data or "format" not in data:
        raise Damaged("it is not a report, a model or a dossier of sfumato")
    checks = (*checks, *_receipt(data["receipt"], "receipt"))
    return Verified(where, "model", checks, digest_of(content))


def _sealing(seal: Seal | None, content: bytes, key: bytes | None) -> tuple[Check, ...]:
    """Digest and signature of what was read."""
    if seal is None:
        digest = Check("digest", None, "the file states no digest of itself")
    elif seal.digest == digest_of(content):
        digest = Check("digest", True, "the contents have the digest that the file states")
    else:
        digest = Check("digest", False, "the contents were changed after the digest was taken")
    return digest, _signature(seal, content, key)


def _signature(seal: Seal | None, content: bytes, key: bytes | None) -> Check:
    if seal is None or not seal.signature:
        given = ", and a key was given" if key else ": anybody can have written it"
        said = f"the file is not signed{given}"
        return Check("signature", None if key is None else False, said)
    name = fingerprint(seal.key)
    if not holds(seal, content):
        return Check("signature", False, f"the signature of key {name} does not fit the contents")
    if key is None:
        said = f"signed with key {name}; whose key that is was not checked: give --key"
        return Check("signature", True, said)
    if key != seal.key:
        said = f"signed with key {name}, which is not the key that was given, {fingerprint(key)}"
        return Check("signature", False, said)
    return Check("signature", True, f"signed with the key that was given, {name}")


def _receipt(receipt: Any, name: str) -> tuple[Check, ...]:  # noqa: ANN401
    problems = problems_of(receipt)
    if problems:
        return (Check(name, False, "; ".join(problems)),)
    epsilon, delta, unit = claim_of(receipt)
    numbers = f"ε = {float(epsilon):.6g}" + (f", δ = {float(delta):.3g}" if delta else "")
    said = f"{len(receipt['queries'])} queries add up to at most {numbers} for {unit}"
    return (Check(name, True, said),)


def _dossier(facts: dict[str, Any]) -> tuple[Check, ...]:
    """Every receipt of a dossier, and that its guarantee is their sum."""
    try:
        receipts = facts["composition"]["receipts"]
        checks = [c for i, r in enumerate(receipts) for c in _receipt(r, f"receipt {i + 1}")]
        claims = [claim_of(receipt) for receipt in receipts]
        stated = facts["guarantee"]
        sums = tuple(sum((c[i] for c in claims), exact("0")) for i in range(2))
        right = sums == (exact(stated["epsilon"]), exact(stated["delta"]))
        right = right and {c[2] for c in claims} == {stated["unit_of_privacy"]}
    except (LookupError, TypeError, ValueError):
        return (Check("guarantee", False, "the dossier cannot be read"),)
    said = "is the sum of the receipts" if right else "is not the sum of the receipts"
    return (*checks, Check("guarantee", right, f"the stated guarantee {said}"))


def _words(facts: dict[str, Any], page: str | None = None) -> Check:
    """Whether the guarantee in words says the numbers of the receipts, also on the page."""
    if facts.get("dossier_format") != FORMAT:
        return Check("words", None, "written in another format: read the numbers")
    try:
        receipts = [Receipt.from_dict(each) for each in facts["composition"]["receipts"]]
        promise = Promise.of(receipts)
        right = facts["guarantee"]["in_words"] == promise.sentences()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return Check("words", False, "the dossier cannot be read")
    if page is not None:
        right = right and promise.quoted() in page
    found = "say" if right else "do not say"
    return Check("words", right, f"the words of the guarantee {found} its numbers")


def _model_in(facts: dict[str, Any]) -> str | None:
    model = facts.get("model")
    digest = model.get("sha256_of_canonical_json") if isinstance(model, dict) else None
    return digest if isinstance(digest, str) else None


def agreeing(found: list[Verified]) -> Check | None:
    """Whether files that were given together are about one model; None for one file alone."""
    if len(found) < 2:
        return None
    digests = {each.model for each in found}
    right = len(digests) == 1 and None not in digests
    said = "all files are about the same model" if right else "the files are not about one model"
    return Check("model", right, said)

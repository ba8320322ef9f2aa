"""Digests and Ed25519 signatures of models, dossiers and reports.

JSON is signed in a canonical form: keys in order, no spaces, numbers as Python writes them. It
carries its seal in the key "seal", which is no part of what is signed. A page carries it in one
meta element, whose content is empty in what is signed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato._base.files import read_whole

SEAL = "seal"
ALGORITHM = "Ed25519"
_PURPOSE = b"sfumato seal 1\n"
_META = re.compile(r'<meta name="sfumato-seal" content="([^"]*)">')
EMPTY = '<meta name="sfumato-seal" content="">'


class Damaged(ValueError):  # noqa: N818
    """A file is not what it claims to be."""


@dataclass(frozen=True)
class Seal:
    """The digest of some bytes in hexadecimal; with a signature, the key and the signature."""

    digest: str
    key: bytes = b""
    signature: bytes = b""

    def to_dict(self) -> dict[str, str]:
        """The seal as plain values."""
        found = {"sha256": self.digest}
        if self.signature:
            key, signature = (base64.b64encode(x).decode() for x in (self.key, self.signature))
            found |= {"algorithm": ALGORITHM, "public_key": key, "signature": signature}
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Seal:  # noqa: ANN401
        """Read back what `to_dict` wrote."""
        if not isinstance(data, dict) or not isinstance(data.get("sha256"), str):
            raise Damaged("the seal has no digest")
        if "signature" not in data:
            return cls(data["sha256"])
        if data.get("algorithm") != ALGORITHM:
            raise Damaged(f"the seal is not of {ALGORITHM}")
        try:
            key, signature = (
                base64.b64decode(data[name], validate=True) for name in ("public_key", "signature")
            )
        except (KeyError, TypeError, ValueError, binascii.Error):
            raise Damaged("the seal cannot be read") from None
        return cls(data["sha256"], key, signature)


def digest_of(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def canonical(data: dict[str, Any]) -> bytes:
    """JSON in the one form that is signed: without its seal."""
    plain = {name: value for name, value in data.items() if name != SEAL}
    text = json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8")


def read_json(text: str) -> dict[str, Any]:
    """JSON of which there is one reading: no key twice, no number that is none."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise Damaged("a key is there twice")
        return found

    def refuse(word: str) -> None:
        raise Damaged(f"{word} is no number")

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        canonical(data if isinstance(data, dict) else {})
    except Damaged:
        raise
    except (ValueError, RecursionError):
        raise Damaged("it is not JSON") from None
    if not isinstance(data, dict):
        raise Damaged("it is no JSON object")
    return data


def sealed(content: bytes, key: Ed25519PrivateKey | None = None) -> Seal:
    """The seal of some bytes, signed if there is a key."""
    if key is None:
        return Seal(digest_of(content))
    public = key.public_key().public_bytes_raw()
    return Seal(digest_of(content), public, key.sign(_PURPOSE + content))


def signed_json(data: dict[str, Any], key: Ed25519PrivateKey | None = None) -> dict[str, Any]:
    """The same data with a seal in place of an earlier one."""
    plain = {name: value for name, value in data.items() if name != SEAL}
    return {**plain, SEAL: sealed(canonical(plain), key).to_dict()}


def signed_page(page: str, key: Ed25519PrivateKey | None = None) -> str:
    """The same page with a seal in place of an earlier one."""
    blank, _ = opened_page(page)
    seal = json.dumps(sealed(blank.encode("utf-8"), key).to_dict()).replace('"', "&quot;")
    return blank.replace(EMPTY, EMPTY.replace('""', f'"{seal}"'))


def opened_page(page: str) -> tuple[str, str]:
    """A page whose seal is empty, and the seal; there must be one place for it."""
    found = _META.findall(page)
    if len(found) != 1:
        raise Damaged("it is not a report of sfumato: there is no place for a seal")
    return _META.sub(EMPTY, page), found[0].replace("&quot;", '"')


def holds(seal: Seal, content: bytes) -> bool:
    """Whether a signature is that of the key in the seal for these bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(seal.key).verify(seal.signature, _PURPOSE + content)
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(key: bytes) -> str:
    """A short name of a public key: half of its SHA-256, in groups of four."""
    text = digest_of(key)[:32]
    return " ".join(text[i : i + 4] for i in range(0, 32, 4))


def private_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Read the key to sign with: PEM, PKCS 8, without a password."""
    where = Path(path)
    try:
        key = serialization.load_pem_private_key(read_whole(where).encode(), password=None)
    except TypeError:
        raise ValueError(f"{where} has a password: give a key without one") from None
    except ValueError:
        raise ValueError(f"{where} is not a private key in PEM") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{where} is not an {ALGORITHM} key: sfumato report keygen makes one")
    return key


def public_key(path: str | os.PathLike[str]) -> bytes:
    """Read a public key: PEM; 32 bytes are returned."""
    where = Path(path)
    try:
        key = serialization.load_pem_public_key(read_whole(where).encode())
    except ValueError:
        raise ValueError(f"{where} is not a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"{where} is not an {ALGORITHM} key")
    return key.public_bytes_raw()


def new_key() -> tuple[str, str]:
    """A new key: private and public, both PEM."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()

"""Who may talk to the studio: this machine's own browser, from our own page, with our keys."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 2**18
"""Bytes that a request may have: declarations and settings; nothing is uploaded."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""What every answer says to the browser; a report has a policy of its own."""

ENTER = "/api/enter"
PAGE_KEY = "x-sfumato-key"


def _key() -> str:
    """256 bits of the operating system's randomness."""
    return AESGCM.generate_key(bit_length=256).hex()


@dataclass(frozen=True)
class Keys:
    """Secrets of one run of the studio.

    `entry` is in the link that opens the page. It is exchanged for `session`, a cookie that no
    script can read, and `page`, which our page keeps and sends along with every change. A browser
    sends cookies to every port of a host; `page` stays with ours.
    """

    entry: str = field(default_factory=_key, repr=False)
    session: str = field(default_factory=_key, repr=False)
    page: str = field(default_factory=_key, repr=False)


def same(given: str, wanted: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def cookie_name(port: int) -> str:
    """Two studios on one machine do not overwrite each other's cookie."""
    return f"sfumato-{port}"


class Guard:
    """Checks every request before the application sees it.

    Host and Origin must be ours: a name of another machine that resolves to this one, and a page of
    another origin, are refused. Everything under /api/ needs the session, every POST the key of the
    page as well, as JSON of a limited size.
    """

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            return
        guarded = _with_headers(send)
        refusal = self._refusal(scope, Headers(scope=scope))
        body = b"" if refusal else await _body(receive)
        if body is None:
            refusal = (413, f"A request has at most {LARGEST_BODY:,} bytes.")
        if refusal:
            status, sentence = refusal
            await JSONResponse({"error": sentence}, status)(scope, receive, guarded)
            return
        await self._app(scope, _replayed(body or b"", receive), guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        port = int(scope["server"][1])
        hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        if headers.getlist("host") not in ([host] for host in hosts):
            return 421, "This address is not the one that the studio answers to."
        origins = headers.getlist("origin")
        if origins and origins not in ([f"http://{host}"] for host in hosts):
            return 403, "This page is not the studio's own."
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "Only GET and POST are answered."
        if not scope["path"].startswith("/api/"):
            return None
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This page is not the studio's own."
        if scope["method"] == "POST":
            return self._refused_change(scope, headers, port, bool(origins))
        return self._refused_session(headers, port)

    def _refused_change(
        self, scope: Scope, headers: Headers, port: int, has_origin: bool
    ) -> tuple[int, str] | None:
        """What is wrong with a POST."""
        if not has_origin:
            return 403, "A change needs to say which page it comes from."
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "A change is sent as JSON."
        if not _is_short(headers.get("content-length", "0")):
            return 413, f"A request has at most {LARGEST_BODY:,} bytes."
        if scope["path"] == ENTER:
            return None
        if not same(headers.get(PAGE_KEY, ""), self._keys.page):
            return 401, "Open the link that the terminal shows: this page has no key."
        return self._refused_session(headers, port)

    def _refused_session(self, headers: Headers, port: int) -> tuple[int, str] | None:
        if same(_cookie(headers.getlist("cookie"), cookie_name(port)), self._keys.session):
            return None
        return 401, "Open the link that the terminal shows: this browser has no session."


def _is_short(length: str) -> bool:
    return length.isdecimal() and len(length) < 20 and int(length) <= LARGEST_BODY


def _cookie(texts: Iterable[str], name: str) -> str:
    """The value of a cookie; empty where it is missing."""
    for pair in ";".join(texts).split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too large, however long it claims to be."""
    parts, size = [], 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more; then what comes after it."""
    left = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def _with_headers(send: Send) -> Send:
    """Add what every answer says, unless the answer says it in its own way."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return guarded


def parsed(body: bytes) -> Mapping[str, object]:
    """The object that a request sends as JSON; an empty one where it sends something else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

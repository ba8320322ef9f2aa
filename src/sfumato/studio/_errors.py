"""What a page is told when something is refused or fails: never a row, never a path."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from uuid import uuid4


class Refusal(Exception):  # noqa: N818
    """A request that is answered with a sentence and a status of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message, self.status = message, status


class Redactor:
    """Takes names of folders and addresses out of sentences that a page shows."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The longest first: a folder is the beginning of a file in it.
        self._secrets = sorted({text for text in secrets if text}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The sentence without them."""
        for secret in self._secrets:
            text = text.replace(secret.rstrip("/") + "/", "").replace(secret, "the ledger")
        return text


def unexpected(error: BaseException) -> str:
    """A sentence with a number, under which the terminal has the kind of error and its message."""
    number = uuid4().hex[:8]
    notes = " ".join([str(error), *getattr(error, "__notes__", ())])
    sys.stderr.write(f"sfumato studio: error {number}: {type(error).__name__}: {notes}\n")
    return f"Something went wrong. The terminal says more, under the number {number}."

"""The report and the dossier of a release, as the command line writes them."""

from __future__ import annotations

import json
from typing import Any

from sfumato._report.dossier import dossier
from sfumato._report.page import page


def report_of(model: Any, entry: dict[str, Any]) -> str:  # noqa: ANN401
    """One page with everything inside. `entry` is the line of the ledger that keeps the release."""
    return page(model, title=f"Private clusters of {entry['name']}", ledger=entry)


def dossier_of(model: Any, entry: dict[str, Any]) -> str:  # noqa: ANN401
    """The same as data."""
    found = dossier(model, title=f"Private clusters of {entry['name']}", ledger=entry)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"

"""Reports of releases: a page, its machine-readable twin, signatures, and checks of all three."""

from sfumato._report.dossier import dossier
from sfumato._report.page import page
from sfumato._report.seal import signed_json as sign
from sfumato._report.verify import verify

__all__ = ["dossier", "page", "sign", "verify"]

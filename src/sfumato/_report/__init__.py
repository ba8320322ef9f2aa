"""Reports of releases: a page, its machine-readable twin, signatures, and checks of all three."""

from sfumato._report.dossier import dossier
from sfumato._report.page import page

__all__ = ["dossier", "page"]

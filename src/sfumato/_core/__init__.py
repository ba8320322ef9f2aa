"""The trusted core. It imports nothing here, so that workers can load queries alone."""

from __future__ import annotations

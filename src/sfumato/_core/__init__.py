"""The trusted core. It imports nothing here, so that workers can load questions alone."""

from __future__ import annotations

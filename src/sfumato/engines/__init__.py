"""Where rows come from."""

from __future__ import annotations

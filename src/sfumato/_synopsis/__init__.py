"""What cells released, and all that can be made of it without a further charge."""

from __future__ import annotations

from sfumato._synopsis.synopsis import Synopsis

__all__ = ["Synopsis"]

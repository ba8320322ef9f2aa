"""What cells released, and all that can be made of it without a further charge."""

from sfumato.synopsis.synopsis import Synopsis

__all__ = ["Synopsis"]

"""The exact chances of points that are picked to cover rows."""

from sfumato._core.testing import log_picks as log_chance

__all__ = ["log_chance"]

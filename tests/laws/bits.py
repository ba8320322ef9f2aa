"""The exact chances of the bits that shape a tree."""

from sfumato._core.testing import bits_loss
from sfumato._core.testing import log_split as log_chance

DIGITS = 50

__all__ = ["DIGITS", "bits_loss", "log_chance"]

"""The exact chances of the bits that shape a tree."""

from sfumato._core.transcript import bits_loss
from sfumato._core.transcript import log_split as log_chance

DIGITS = 50

__all__ = ["DIGITS", "bits_loss", "log_chance"]

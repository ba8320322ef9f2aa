"""Fixtures of the tests of a ledger."""

from tests.ledger.places import url  # noqa: F401

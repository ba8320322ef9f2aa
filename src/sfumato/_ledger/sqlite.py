"""A ledger in a SQLite file, which is on disk before a charge counts.

The write-ahead log is synced at every commit. Beside the file lies its high-water mark: number and
hash of the event before the last movement of budget. A file that is put back from an older copy
lacks events that the mark knows of, and is refused. Nothing on this machine can tell if the mark
was put back as well, or if no more than the last movement is lost.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato._ledger.store import LedgerError, NotCommitted, Store

_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"

SCHEMA = (
    "CREATE TABLE event (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, "
    "parent INTEGER, request TEXT, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX event_dataset ON event (dataset, kind)",
    "CREATE INDEX event_parent ON event (parent)",
    "CREATE INDEX event_request ON event (request)",
    "CREATE TABLE movement (seq INTEGER NOT NULL, dataset TEXT NOT NULL, person TEXT NOT NULL, "
    "unit TEXT NOT NULL, amount INTEGER NOT NULL)",
    "CREATE INDEX movement_balance ON movement (dataset, person, unit, amount)",
    "CREATE TABLE release (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{word} BEFORE {word} ON {table} {_APPEND_ONLY}"
        for table in ("event", "movement", "release")
        for word in ("UPDATE", "DELETE")
    ),
    "CREATE TRIGGER movement_covered BEFORE INSERT ON movement BEGIN "
    "SELECT RAISE(ABORT, 'the budget does not cover this') WHERE NEW.amount + "
    "(SELECT COALESCE(SUM(amount), 0) FROM movement WHERE dataset = NEW.dataset "
    "AND person = NEW.person AND unit = NEW.unit) < 0; END",
)

# Locks of SQLite, and the shared memory of its log, do not work across machines.
_NETWORKS = ("nfs", "cifs", "smb", "afs", "ncp", "9p", "fuse.sshfs", "glusterfs", "ceph", "lustre")

_WAIT_SECONDS = 60


class SQLiteStore(Store):
    """The events in one file."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path).absolute()
        super().__init__(str(path))
        _check_place(self.path, create=create)
        self._connect()
        if create:
            self.initialise(SCHEMA)
            _sync_folder(self.path.parent)
        if not self.has_tables():
            raise LedgerError(f"{self.path} is no ledger: sfumato ledger create makes one")
        self.check_mark()

    def _connect(self) -> None:
        self._process = os.getpid()
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            # On macOS a plain sync leaves data in the cache of the disk.
            self._connection.execute("PRAGMA fullfsync = 1")
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path} cannot be opened as a ledger: {error}") from None

    def has_tables(self) -> bool:
        """Whether the tables of a ledger are there; refuses a file with tables of others."""
        tables = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if tables and ("movement",) not in tables:
            raise LedgerError(f"{self.path} is a database, but no ledger of sfumato")
        return bool(tables)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with a ? for each value; returns its rows."""
        if self._process != os.getpid():
            # A connection must not be used, nor closed, in a process that was forked off.
            self._inherited = self._connection
            self._connect()
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def begin(self) -> None:
        """Begin a transaction that no other may overlap."""
        self.execute("BEGIN IMMEDIATE")

    def end(self, word: str) -> None:
        """COMMIT, which returns when all is on disk, or ROLLBACK."""
        if word == "COMMIT" or self._connection.in_transaction:
            self.execute(word)

    def _refusal(self, error: sqlite3.Error) -> NotCommitted:
        code = getattr(error, "sqlite_errorname", "")
        reason = {
            "SQLITE_FULL": "the disk is full",
            "SQLITE_READONLY": "it cannot be written",
            "SQLITE_BUSY": f"others have been writing to it for {_WAIT_SECONDS} seconds",
            "SQLITE_CORRUPT": "it is damaged",
            "SQLITE_NOTADB": "it is not a database",
        }.get("_".join(code.split("_")[:2]), str(error))
        return NotCommitted(f"{self.path}: {reason}. Nothing was charged")

    @property
    def mark_path(self) -> Path:
        """Where the high-water mark is."""
        return self.path.with_name(f"{self.path.name}.mark")

    def note(self, seq: int, hash_: str) -> None:
        """Set the high-water mark, inside a transaction: no other process does so meanwhile."""
        _write_mark(self.mark_path, seq, hash_)

    def check_mark(self) -> None:
        """Refuse a file that lost events which it once had."""
        known = _read_mark(self.mark_path)
        if known is None and len(self.execute("SELECT seq FROM event LIMIT 3")) < 3:
            return
        if known is None:
            raise LedgerError(
                f"{self.mark_path} is missing. It tells whether {self.path.name} was put back from "
                "an older copy, in which later charges are missing. If the ledger was moved, move "
                f"this file too; if you know that it is complete: sfumato ledger verify "
                f"{self.url} --new-mark"
            )
        found = self.execute("SELECT hash FROM event WHERE seq = ?", (known[0],))
        if not found or found[0][0] != known[1]:
            raise LedgerError(
                f"{self.path} is older than its high-water mark, or was changed: event {known[0]} "
                "is missing or differs. It was put back from a copy, and charges were lost"
            )


def _read_mark(path: Path) -> tuple[int, str] | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return int(known["seq"]), str(known["hash"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def _write_mark(path: Path, seq: int, hash_: str) -> None:
    new = path.with_name(f"{path.name}.new")
    with new.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"seq": seq, "hash": hash_}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def new_mark(path: Path) -> None:
    """Accept a file as complete: its last event becomes the high-water mark."""
    _check_place(path, create=False)
    with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True) as connection:
        last = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"
        seq, hash_ = connection.execute(last).fetchone()
    _write_mark(path.with_name(f"{path.name}.mark"), seq, hash_)


def _check_place(path: Path, *, create: bool) -> None:
    """Refuse a place where a ledger cannot be kept safely."""
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {path.parent}")
    kind = filesystem_of(path.parent, _mounts())
    if kind.startswith(_NETWORKS):
        raise LedgerError(
            f"{path.parent} is on a network file system ({kind}), where a file cannot be locked "
            "and synced safely: keep the ledger on a disk of this machine, or in PostgreSQL"
        )
    if path.exists() and not path.is_file():
        raise LedgerError(f"{path} is not a file")
    if not path.exists() and not create:
        raise LedgerError(f"there is no ledger {path}: sfumato ledger create makes one")
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise LedgerError(f"{place} cannot be written: a ledger needs its file and its folder")


def _mounts() -> str:
    """What is mounted where, on Linux; empty elsewhere."""
    try:
        return Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def filesystem_of(folder: Path, mounts: str) -> str:
    """The type of the file system that a folder is on; empty if that is not known."""
    best, kind = "", ""
    where = str(folder.resolve()).rstrip("/") + "/"
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            point = fields[1].replace("\\040", " ").rstrip("/") + "/"
            if where.startswith(point) and len(point) >= len(best):
                best, kind = point, fields[2]
    return kind


def _sync_folder(folder: Path) -> None:
    """Put the names of new files on disk. Windows has no such call, and needs none."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

"""A ledger in a SQLite file, which is on disk before a charge counts.

The write-ahead log is synced at every commit. Beside the file lies its high-water mark: number and
hash of the event before the last movement of budget. A file that is put back from an older copy
lacks events that the mark knows of, and is refused. Nothing on this machine can tell if the mark
was put back as well, or if no more than the last movement is lost.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sfumato._ledger.store import (
    ADDED,
    CLOSED,
    CLOSED_MESSAGE,
    COVERED,
    LedgerError,
    NotCommitted,
    Store,
)

_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"

SCHEMA = (
    "CREATE TABLE event (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT NOT NULL, "
    "parent INTEGER, request TEXT, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE INDEX event_dataset ON event (dataset, kind)",
    "CREATE INDEX event_parent ON event (parent)",
    "CREATE INDEX event_request ON event (request, dataset, kind)",
    "CREATE TABLE movement (seq INTEGER NOT NULL, dataset TEXT NOT NULL, person TEXT NOT NULL, "
    "unit TEXT NOT NULL, amount INTEGER NOT NULL)",
    "CREATE TABLE balance (dataset TEXT NOT NULL, person TEXT NOT NULL, unit TEXT NOT NULL, "
    f"amount INTEGER NOT NULL, PRIMARY KEY (dataset, person, unit), {COVERED})",
    "CREATE TABLE release (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{word} BEFORE {word} ON {table} {_APPEND_ONLY}"
        for table in ("event", "movement", "release")
        for word in ("UPDATE", "DELETE")
    ),
    f"CREATE TRIGGER movement_added AFTER INSERT ON movement BEGIN {ADDED.format(schema='')} END",
    f"CREATE TRIGGER event_open BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, "
    f"'{CLOSED_MESSAGE}') WHERE {CLOSED.format(event='event')}; END",
)

# Locks of SQLite, and the shared memory of its log, do not work across machines. The names are the
# beginnings of types of file systems, those in user space without "fuse.".
_NETWORKS = (
    *("nfs", "cifs", "smb", "afs", "ncp", "9p", "glusterfs", "ceph", "lustre", "beegfs", "gpfs"),
    *("ocfs2", "gfs2", "orangefs", "pvfs2", "davfs", "sshfs", "s3fs", "rclone", "gcsfuse"),
    *("blobfuse", "goofys", "vboxsf", "vmhgfs", "prl_fs"),
)

# Blanks and backslashes in a table of mounts.
_ESCAPED = re.compile(r"\\([0-7]{3})")

_WAIT_SECONDS = 60


class SQLiteStore(Store):
    """The events in one file."""

    _connection: sqlite3.Connection | None = None
    _process = 0

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        # One file has one log and one mark, by whatever link it is opened.
        self.path = Path(path).resolve()
        super().__init__(str(path))
        _check_place(self.path, create=create)
        self._connect("rwc" if create else "rw")
        if create:
            self.initialise(SCHEMA)
            _sync_folder(self.path.parent)
        if not self.has_tables():
            raise LedgerError(f"{self.path} is no ledger: sfumato ledger create makes one")
        self.check_format()
        self.check_mark()

    def _connect(self, access: str = "rw") -> sqlite3.Connection:
        self._process = os.getpid()
        address = f"{self.path.as_uri()}?mode={access}"
        try:
            connection = sqlite3.connect(
                address, _WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True
            )
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            # On macOS a plain sync leaves data in the cache of the disk.
            connection.execute("PRAGMA fullfsync = 1")
        except sqlite3.Error as error:
            raise LedgerError(f"{self.path} cannot be opened as a ledger: {error}") from None
        if mode != "wal":
            connection.close()
            raise LedgerError(f"{self.path} is where SQLite cannot keep a write-ahead log")
        self._connection = connection
        return connection

    def has_tables(self) -> bool:
        """Whether the tables of a ledger are there; refuses a file with tables of others."""
        tables = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if tables and ("movement",) not in tables:
            raise LedgerError(f"{self.path} is a database, but no ledger of sfumato")
        return bool(tables)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement with a ? for each value; returns its rows."""
        connection = self._connection
        if connection is None:
            connection = self._connect()
            self.check_mark()
        if self._process != os.getpid():
            raise LedgerError(f"{self.path} was opened by another process: open it again")
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._refusal(error) from None

    def begin(self, *, alone: bool = True) -> None:
        """Begin a transaction that no other may overlap, or one that reads a single state."""
        self.execute("BEGIN IMMEDIATE" if alone else "BEGIN")

    def end(self, word: str) -> None:
        """COMMIT, which returns when all is on disk, or ROLLBACK."""
        if word == "COMMIT" or (self._connection and self._connection.in_transaction):
            self.execute(word)

    def close(self) -> None:
        """Close the connection; the next statement opens another."""
        connection = self._connection
        if connection and self._process == os.getpid() and not connection.in_transaction:
            connection.close()
            self._connection = None

    def leave(self) -> None:
        """Close the connection.

        SQLite keeps the locks of a process in its memory. A copy of that memory believes in locks
        that it does not hold: the log could be removed while it is written to.
        """
        self.close()

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
        known = _read_mark(self.mark_path)
        if known is not None and known[0] > seq:
            raise LedgerError(self._older(known[0]))
        try:
            _write_mark(self.mark_path, seq, hash_)
        except OSError as error:
            reason = f"its high-water mark cannot be written: {error.strerror}"
            raise NotCommitted(f"{self.path}: {reason}. Nothing was charged") from None

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
            raise LedgerError(self._older(known[0]))

    def _older(self, seq: int) -> str:
        return (
            f"{self.path} is older than its high-water mark, or was changed: event {seq} is "
            "missing or differs. It was put back from a copy, and charges were lost"
        )


def _read_mark(path: Path) -> tuple[int, str] | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return int(known["seq"]), str(known["hash"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror}") from None


def _write_mark(path: Path, seq: int, hash_: str) -> None:
    new, first = path.with_name(f"{path.name}.new"), not path.exists()
    with new.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"seq": seq, "hash": hash_}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    if first:
        # Without its name on disk, a sound ledger would be refused after a power cut.
        _sync_folder(path.parent)


def new_mark(path: Path) -> None:
    """Accept a file as complete: its last event becomes the high-water mark."""
    path = path.resolve()
    _check_place(path, create=False)
    last = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as connection:
            seq, hash_ = connection.execute(last).fetchone()
    except (sqlite3.Error, TypeError):
        raise LedgerError(f"{path} is no ledger: sfumato ledger create makes one") from None
    _write_mark(path.with_name(f"{path.name}.mark"), seq, hash_)


def _check_place(path: Path, *, create: bool) -> None:
    """Refuse a place where a ledger cannot be kept safely."""
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {path.parent}")
    kind = filesystem_of(path.parent, _mounts())
    if kind.removeprefix("fuse.").startswith(_NETWORKS):
        raise LedgerError(
            f"{path.parent} is on a network file system ({kind}), where a file cannot be locked "
            "and synced safely: keep the ledger on a disk of this machine, or in PostgreSQL"
        )
    if path.exists() and not path.is_file():
        raise LedgerError(f"{path} is not a file")
    if path.exists() and path.stat().st_nlink > 1:
        raise LedgerError(
            f"{path} is a file with several names (hard links), each of which would have a log of "
            "its own, and charges would be lost: keep one name"
        )
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
            point = _ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[1]).rstrip("/") + "/"
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

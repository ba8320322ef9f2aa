"""A ledger in a file: its place, its log and its high-water mark."""

import datetime
import os
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest

from sfumato._ledger import sqlite, store
from sfumato._ledger.books import flaws_in
from sfumato._ledger.durable import open_store
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.sqlite import SQLiteStore, filesystem_of, new_mark
from sfumato._ledger.store import LedgerError, NotCommitted
from tests.ledger.fits import CAPS, COST, answer, made


@pytest.fixture
def path(tmp_path):
    """A ledger with two fits, closed: all of it is in its file and its mark."""
    place = tmp_path / "ledger.db"
    ledger = made(place, 100)
    for request in ("a", "b"):
        answer(ledger, request)
    ledger.store.close()
    return place


def test_the_log_is_synced_at_every_commit(path):
    opened = SQLiteStore(path)
    assert opened.execute("PRAGMA synchronous") == [(2,)]
    assert opened.execute("PRAGMA journal_mode") == [("wal",)]


def test_a_file_that_was_put_back_is_refused(path, tmp_path):
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    ledger = Ledger.open(path)
    answer(ledger, "c")
    answer(ledger, "d")
    ledger.store.close()
    shutil.copy(copy, path)
    with pytest.raises(LedgerError, match=r"older than its high-water mark.*put back from a copy"):
        Ledger.open(path)


def test_a_file_that_was_put_back_under_a_process_that_has_it_open_is_refused(path, tmp_path):
    copy, running = tmp_path / "copy.db", Ledger.open(path)
    shutil.copy(path, copy)
    running.store.close()
    other = Ledger.open(path)
    answer(other, "c")
    answer(other, "d")
    other.store.close()
    shutil.copy(copy, path)
    with pytest.raises(LedgerError, match="older than its high-water mark"):
        answer(running, "e")


def test_a_mark_never_moves_back(path):
    opened = SQLiteStore(path)
    last = opened.events()[-1]
    opened.note(last.seq, last.hash)
    with pytest.raises(LedgerError, match="older than its high-water mark"):
        opened.note(last.seq - 1, "x")


def test_a_missing_mark_is_refused_and_the_message_says_what_helps(path):
    mark = path.with_name("ledger.db.mark")
    mark.unlink()
    with pytest.raises(LedgerError, match=r"ledger\.db\.mark is missing.*verify .* --new-mark"):
        Ledger.open(path)
    new_mark(path)
    ledger = Ledger.open(path)
    assert ledger.spent == (2 * COST, 0)
    answer(ledger, "c")
    assert Ledger.open(path).spent == (3 * COST, 0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"seq": "x"}'])
def test_a_broken_mark_is_a_missing_one(path, text):
    path.with_name("ledger.db.mark").write_text(text)
    with pytest.raises(LedgerError, match="--new-mark"):
        Ledger.open(path)


def test_a_changed_event_below_the_mark_is_refused(path):
    mark = path.with_name("ledger.db.mark")
    mark.write_text(mark.read_text().replace('"hash": "', '"hash": "0'))
    with pytest.raises(LedgerError, match="missing or differs"):
        Ledger.open(path)


def test_the_mark_names_an_event_that_was_committed_before(tmp_path):
    """An event of the same transaction may be rolled back, and the mark would name nothing."""
    ledger = made(tmp_path / "ledger.db", 10)

    def rolled_back():
        with ledger.store.transaction() as change:
            change.append("note", {}, movements=[("", "epsilon", 1)])
            change.append("note", {}, movements=[("", "epsilon", 1)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rolled_back()
    ledger.store.close()
    assert Ledger.open(tmp_path / "ledger.db").spent == (0, 0)


def test_a_mark_that_cannot_be_written_is_told(path):
    ledger = Ledger.open(path)
    path.with_name("ledger.db.mark.new").mkdir()
    with pytest.raises(NotCommitted, match=r"mark cannot be written.*Nothing was charged"):
        ledger.reserve("small", CAPS)
    assert ledger.spent == (2 * COST, 0)


def test_a_mark_needs_a_ledger(tmp_path):
    with pytest.raises(LedgerError, match="no ledger"):
        new_mark(tmp_path / "nothing.db")
    (tmp_path / "text.db").write_text("x" * 2000)
    with pytest.raises(LedgerError, match="no ledger"):
        new_mark(tmp_path / "text.db")


def test_the_clock_does_not_matter(path, monkeypatch):
    class Back(datetime.datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.datetime(1999, 1, 1, tzinfo=zone)

    monkeypatch.setattr(store, "datetime", Back)
    ledger = Ledger.open(path)
    answer(ledger, "c")
    events = ledger.store.events()
    assert events[-1].body["at"].startswith("1999")
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert flaws_in(ledger.store) == []
    assert answer(Ledger.open(path), "c")


@pytest.mark.parametrize(
    ("content", "match"),
    [(b"no database" * 500, "cannot be opened as a ledger"), (b"", "no ledger")],
)
def test_a_file_that_is_no_ledger_is_refused(tmp_path, content, match):
    place = tmp_path / "ledger.db"
    place.write_bytes(content)
    with pytest.raises(LedgerError, match=match):
        open_store(place)
    assert place.read_bytes()[:100] == content[:100] or content == b""


def test_a_database_of_others_is_refused(tmp_path):
    place = tmp_path / "ledger.db"
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    for create in (False, True):
        with pytest.raises(LedgerError, match="no ledger of sfumato"):
            open_store(place, create=create)


def test_there_must_be_a_folder_and_a_file(tmp_path):
    with pytest.raises(LedgerError, match="there is no folder"):
        made(tmp_path / "none" / "ledger.db", 1)
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerError, match="not a file"):
        Ledger.open(tmp_path)


def test_a_file_that_is_removed_meanwhile_is_not_made_anew(path):
    ledger = Ledger.open(path)
    ledger.store.close()
    path.unlink()
    with pytest.raises(LedgerError, match="cannot be opened"):
        ledger.reserve("small", CAPS)
    assert not path.exists()


def test_a_link_leads_to_the_same_log_and_mark(path, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "link.db").symlink_to(path)
    ledger = Ledger.open(folder / "link.db")
    answer(ledger, "c")
    assert [p.name for p in folder.iterdir()] == ["link.db"]
    assert Ledger.open(path).spent == (3 * COST, 0)


def test_a_file_with_two_names_is_refused(path, tmp_path):
    os.link(path, tmp_path / "second.db")
    for name in ("ledger.db", "second.db"):
        with pytest.raises(LedgerError, match="several names"):
            Ledger.open(tmp_path / name)


def test_many_may_create_at_once(tmp_path):
    said = []

    def create():
        try:
            made(tmp_path / "ledger.db", 10)
            said.append("made")
        except LedgerError as error:
            said.append(str(error).partition(" has ")[2] or str(error))

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["a ledger of 'people' already"] * 7 + ["made"]
    assert flaws_in(open_store(tmp_path / "ledger.db")) == []


def test_a_connection_of_another_process_is_refused(path, monkeypatch):
    """Where a process was forked off by code that does not tell Python."""
    ledger = Ledger.open(path)
    monkeypatch.setattr(sqlite.os, "getpid", lambda: 1)
    with pytest.raises(LedgerError, match="opened by another process"):
        ledger.store.events()


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local xfs rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
me@host:/ /mnt/ssh fuse.sshfs rw 0 0
gluster:/v /mnt/gluster fuse.glusterfs rw 0 0
overlay /mnt/over tmpfs rw 0 0
server:/x /mnt/over nfs rw 0 0
short line
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/data", "ext4"),
        ("/home/ada", "nfs4"),
        ("/homework", "ext4"),
        ("/home/local/ada", "xfs"),
        ("/mnt/my share/x", "cifs"),
        ("/mnt/ssh", "fuse.sshfs"),
        ("/mnt/gluster/a", "fuse.glusterfs"),
        ("/mnt/over", "nfs"),
    ],
)
def test_the_file_system_of_a_folder(folder, kind):
    assert filesystem_of(Path(folder), MOUNTS) == kind
    assert filesystem_of(Path(folder), "") == ""


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.glusterfs"]
)
def test_a_network_file_system_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(sqlite, "_mounts", lambda: f"x / ext4 rw 0 0\nx {tmp_path} {kind} rw 0 0\n")
    with pytest.raises(LedgerError, match=f"network file system .{kind}.*PostgreSQL"):
        made(tmp_path / "ledger.db", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk", "zfs", ""])
def test_a_disk_of_this_machine_is_not(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(sqlite, "_mounts", lambda: f"x {tmp_path} {kind} rw 0 0\n")
    made(tmp_path / "ledger.db", 1)

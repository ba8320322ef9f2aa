"""Power cuts: what a disk may hold after one, and whether the ledger has all that it promised.

`python -m tests.ledger.powercut FOLDER` runs fits under a library that logs every write, rename and
sync (disk.c), and then cuts the power at random places of the log. Synced data is there. Of every
write after the last sync of its file, each sector of 512 bytes is kept or not. Of the names that
were made, changed or removed after the last sync of the folder, the first few are kept: file
systems write them in order. A file's sync does not keep its name. Prints one line of JSON.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from sfumato._ledger import sqlite
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError
from tests.ledger import fits
from tests.ledger.checks import wrongs

OPEN, CLOSE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, TRUNCATE_AT_OPEN = range(1, 9)
HEAD = struct.Struct("=4q")
SECTOR = 512
HERE = Path(__file__).parent


def compiled(folder):
    """The library that logs, compiled for this machine."""
    library = Path(folder) / "disk.so"
    source = HERE / "disk.c"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    return library


class File:
    """A file on a disk with a cache: what is synced, and what was done since."""

    def __init__(self):
        self.synced, self.pending = b"", []

    def sync(self):
        self.synced, self.pending = self._after(self.pending, lambda: True), []

    def torn(self, rng):
        """What is left of it after a power cut."""
        chance = rng.choice([0.0, 0.5, 0.5, 1.0])
        return self._after(self.pending, lambda: rng.random() < chance)

    def _after(self, changes, kept):
        data = bytearray(self.synced)
        for offset, new in changes:
            if new is None:
                if kept():
                    del data[offset:]
                    data.extend(bytes(offset - len(data)))
                continue
            start = offset
            while start < offset + len(new):
                end = min(start - start % SECTOR + SECTOR, offset + len(new))
                if kept():
                    data.extend(bytes(max(0, end - len(data))))
                    data[start:end] = new[start - offset : end - offset]
                start = end
        return bytes(data)


class Disk:
    """A folder as its log says it was, up to some record."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.names, self.synced, self.pending = {}, {}, []
        self.handles, self.told = {}, []

    def do(self, what, handle, offset, data):
        """One record of the log."""
        if what == OPEN:
            self._open(handle, data.decode())
        elif what == RENAME:
            old, new = (Path(name).name for name in data.decode().split("\n"))
            self._name(new, self.names[old], old)
        elif what == UNLINK:
            self._name(None, None, Path(data.decode()).name)
        elif what == CLOSE:
            self.handles.pop(handle, None)
        else:
            self._change(self.handles.get(handle), what, offset, data)

    def _open(self, handle, path):
        if path == self.folder:
            self.handles[handle] = "folder"
            return
        name = Path(path).name
        if name not in self.names:
            self._name(name, File(), None)
        self.handles[handle] = "told" if name == "told" else self.names[name]

    def _change(self, file, what, offset, data):
        if file == "folder":
            if what == SYNC:
                self.synced, self.pending = dict(self.names), []
        elif file == "told":
            self.told += data.decode().splitlines()
        elif what == SYNC:
            file.sync()
        elif what == WRITE:
            file.pending.append((offset, data))
        elif what in (TRUNCATE, TRUNCATE_AT_OPEN):
            file.pending.append((offset, None))

    def _name(self, new, file, old):
        change = (new, file, old)
        self.pending.append(change)
        _apply(self.names, change)

    def cut(self, target, rng):
        """Write to a folder what is left after a power cut."""
        names = dict(self.synced)
        for change in self.pending[: rng.randint(0, len(self.pending))]:
            _apply(names, change)
        for name, file in names.items():
            # The index of the log is in shared memory, and made anew.
            if name != "told" and not name.endswith("-shm"):
                (target / name).write_bytes(file.torn(rng))


def _apply(names, change):
    new, file, old = change
    names.pop(old, None)
    if new is not None:
        names[new] = file


def records(log):
    """The records of a log, in order."""
    data, at = Path(log).read_bytes(), 0
    while at < len(data):
        what, handle, offset, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        yield what, handle, offset, data[at : at + length]
        at += length


def work(folder, fits_made, synchronous):
    """Make a ledger and fits, and write what was promised into the log, by a file `told`."""
    if synchronous != "FULL":
        connect = sqlite.SQLiteStore._connect

        def careless(store, *given):
            connection = connect(store, *given)
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            return connection

        sqlite.SQLiteStore._connect = careless
    handle = os.open(f"{folder}/told", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def told(*words):
        os.write(handle, ("\t".join([*words, ""][:3]) + "\n").encode())

    ledger = fits.made(f"{folder}/ledger.db", 10_000)
    told("created", "")
    for i in range(fits_made):
        if i % 7 == 6:
            # The last connection that is closed empties the log into the file.
            ledger.store.close()
        if i % 5 == 4:
            account = ledger.reserve("given back", fits.CAPS)
            ledger.cancel(account)
        told("answered", f"request {i}", fits.answer(ledger, f"request {i}", told))


def logged(folder, fits_made, synchronous="FULL"):
    """The log of one run of `work`."""
    library = compiled(folder)
    files, log = Path(folder) / "files", Path(folder) / "log"
    files.mkdir()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.ledger.powercut",
            "--work",
            str(fits_made),
            synchronous,
            files,
        ],
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "DISK_FOLDER": str(files),
            "DISK_LOG": str(log),
        },
        check=True,
    )
    return files, list(records(log))


def simulated(files, log, cuts, seed):
    """Cut the power so many times; what is wrong afterwards, cut by cut."""
    rng = random.Random(seed)
    places = sorted(rng.randrange(len(log) + 1) for _ in range(cuts))
    disk, done, wrong, checked = Disk(files), 0, [], 0
    for place in places:
        while done < place:
            disk.do(*log[done])
            done += 1
        with tempfile.TemporaryDirectory(dir=_fast()) as target:
            disk.cut(Path(target), rng)
            found, promised = _after_cut(Path(target) / "ledger.db", disk.told)
        checked += promised
        wrong += [f"cut at {place}: {what}" for what in found]
    return {"cuts": len(places), "promises": checked, "wrong": wrong}


def _fast():
    """A folder in memory, if there is one: after the cut, time is not to be lost by syncing."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _after_cut(path, told):
    """What is wrong with the ledger after a cut, and how many promises it had to keep."""
    heard = [tuple(line.split("\t")) for line in told]
    try:
        if not heard:
            # It was not yet created: then it can be.
            return _created(path), 0
        store = Ledger.open(path).store
        store.close()
        return wrongs(str(path), heard[1:]), len(heard)
    except Exception as error:
        return [repr(error)], len(heard)


def _created(path):
    try:
        fits.made(path, 10_000).store.close()
    except LedgerError as error:
        if "already" not in str(error):
            return [str(error)]
    return []


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--work", nargs=2)
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--synchronous", default="FULL")
    options = parser.parse_args(argv)
    if options.work:
        work(options.folder, int(options.work[0]), options.work[1])
        return
    files, log = logged(options.folder, options.fits, options.synchronous)
    sys.stdout.write(
        json.dumps({"records": len(log), **simulated(files, log, options.cuts, options.seed)})
    )


if __name__ == "__main__":
    main(sys.argv[1:])

"""A folder of made-up tables, and a studio that serves it, for tests and screenshots."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import numpy as np

from sfumato import Ledger, Number, Schema
from sfumato.studio._app import Studio
from sfumato.studio._folder import Folder
from sfumato.studio._guard import Keys
from sfumato.studio._server import server_of

FACTS = {"age": Number(0, 100, source="a life"), "hours": Number(0, 80, source="a week")}


def people(folder, name="patients", n=3000, seed=3):
    """Write a table of invented people: three clouds of ages and hours."""
    rng = np.random.default_rng(seed)
    middles = np.array([[25, 20], [50, 60], [75, 30]])
    rows = middles[rng.integers(3, size=n)] + rng.normal(0, 4, (n, 2))
    lines = [f"{age:.2f},{hours:.2f},{i % 500}" for i, (age, hours) in enumerate(rows)]
    place = Path(folder) / f"{name}.csv"
    place.write_text("age,hours,person\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return place


def declared(folder, name="clinic", *, epsilon=3.0):
    """Write a table, and declare it as the form does."""
    place = people(folder, name)
    Schema(FACTS).write(place.with_suffix(".toml"))
    bounds = {column: list(facts.ends) for column, facts in FACTS.items()}
    ledger = Path(folder) / "sfumato-ledger.db"
    Ledger.create(ledger, name, epsilon=epsilon, bounds=bounds, bounds_source="age: a life")
    return ledger


@contextmanager
def serving(folder):
    """Run `sfumato studio` on a folder; yields the link that it prints."""
    code = "from sfumato.cli import app; app()"
    command = [sys.executable, "-c", code, "studio", "--data", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            yield line.removeprefix("Studio: ").strip()
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def held(folder):
    """A studio whose fits wait; yields its link, the event that lets them run, and its server."""
    studio, links, go = Studio(Folder(Path(folder), None), Keys()), Queue(), Event()
    fit = studio.fits._fit

    def waiting(asked):
        go.wait()
        fit(asked)

    studio.fits._fit = waiting
    server = server_of(studio, 0, links.put)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield links.get(timeout=60), go, server
    finally:
        go.set()
        server.should_exit = True
        thread.join()
        studio.fits.close()

"""What one durable step of a fit costs, beside a plain fsync of 4 KB in the same folder and run.

Steps of both stores and the plain sync take turns, and medians are compared: disks differ, and a
busy machine is slow for all. A ledger is measured when it is new, and after many fits. Results are
written as they come; what is in the table already is not measured again.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.growing_tables import append_row, read_rows
from sfumato._ledger.ledger import Ledger
from tests.ledger import servers
from tests.ledger.fits import CAPS, SUMMARY, entry, made

TABLE = Path(__file__).parent / "tables" / "ledger.csv"
COLUMNS = ["store", "fits_before", "step", "milliseconds", "times_fsync"]
BEFORE = [0, 10_000]
GOAL = 15.0

Times = dict[str, list[float]]


def timed(times: Times, step: str, work: Callable[[], object]) -> object:
    start = time.perf_counter()
    result = work()
    times.setdefault(step, []).append(1000 * (time.perf_counter() - start))
    return result


def filled(ledger: Ledger, fits: int) -> None:
    """Write reservations of earlier fits, all at once."""
    cost = ledger.facts.composition.cost(CAPS)
    moved = [("", unit, -n) for unit, n in cost.items()]
    caps = {"pure": str(CAPS.pure), "mu2": "0", "gaussian": ["0", "0"], "approximate": ["0", "0"]}
    with ledger.store.transaction() as change:
        for i in range(fits):
            body = {"request": f"earlier {i}", "settings": "", "who": "bench", "caps": caps}
            change.append("reserve", body, dataset="people", movements=moved)


def one_fit(ledger: Ledger, times: Times) -> None:
    """The four steps of a fit that are written to disk."""
    account = timed(times, "reserve", lambda: ledger.reserve("small", CAPS))
    positions = timed(times, "charge", lambda: ledger.charge(account, [entry(account)]))
    timed(times, "record", lambda: ledger.record(account, positions))
    timed(times, "release", lambda: ledger.release(account, "x" * 5000, SUMMARY))


def plain_sync(handle: int) -> None:
    os.pwrite(handle, b"x" * 4096, 0)
    os.fsync(handle)


def measured(urls: dict[str, str], folder: Path, before: int, repeats: int) -> None:
    """Measure both stores in turns, and write a row for each step."""
    ledgers = {store: made(url, 100_000) for store, url in urls.items()}
    for ledger in ledgers.values():
        filled(ledger, before)
    times: dict[str, Times] = {store: {} for store in ledgers}
    syncs: Times = {}
    handle = os.open(folder / "plain", os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(repeats):
        timed(syncs, "plain", lambda: plain_sync(handle))
        for store, ledger in ledgers.items():
            one_fit(ledger, times[store])
    os.close(handle)
    plain = statistics.median(syncs["plain"])
    append_row(TABLE, COLUMNS, ["plain file", before, "fsync of 4 KB", f"{plain:.3g}", "1"])
    for store, steps in times.items():
        for step, found in steps.items():
            median = statistics.median(found)
            cells = [store, before, step, f"{median:.3g}", f"{median / plain:.3g}"]
            append_row(TABLE, COLUMNS, cells)


def report() -> None:
    for row in read_rows(TABLE):
        print("{store}, {fits_before} fits before, {step}: {milliseconds} ms, "
              "{times_fsync} x fsync".format(**row))  # fmt: skip
        if row["step"] == "charge":
            met = "met" if float(row["milliseconds"]) <= GOAL else "missed"
            print(f"  at most {GOAL} ms for one charge: {met}")


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench ledger", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args(argv)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {int(row["fits_before"]) for row in read_rows(TABLE)}
    for before in BEFORE:
        if before not in done:
            with tempfile.TemporaryDirectory(prefix="sfumato-ledger-") as name:
                server = servers.start(Path(name) / "postgres")
                urls = {
                    "sqlite": str(Path(name) / "ledger.db"),
                    "postgres": servers.new_database(server),
                }
                try:
                    measured(urls, Path(name), before, options.repeats)
                finally:
                    servers.stop(server)
    report()

"""Evidence that the ledger holds: crowds of processes, kills and power cuts, in large numbers.

- A crowd: 50 processes make 100 charges each against a budget for 1,000; 1,000 are granted.
- Kills: processes are killed 1,000 times at random, 500 times in the middle of real fits, and 50
  times at every named point. Then no release is without its charge, and no request has two values.
- Power cuts: the disk loses or tears what was not synced, 1,000 times. No acknowledged charge is
  lost. With syncing turned off some are: a simulation that cannot fail is no evidence.

Every part runs in processes of its own (tests/ledger), on SQLite and on PostgreSQL, and its result
is written when it is there: what is in the table already is not run again. `make trust` runs all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.growing_tables import append_row, read_rows
from tests.ledger import servers
from tests.ledger.kills import points_of

TABLE = Path(__file__).parent / "tables" / "trust.csv"
COLUMNS = ["what", "store", "part", "count", "wrong", "seconds"]
STORES = {"sqlite": "", "postgres": "postgresql://"}
PARTS = 10
CROWDS, GRANTED = 20, 1000
KILLS, REAL, TIMES, CUTS = 1000, 500, 50, 1000
ASKED = {
    "kills at random": KILLS // PARTS,
    "kills of real fits": REAL // PARTS,
    "kills at a point": TIMES,
}


@dataclass(frozen=True)
class Job:
    """One row of the table: a module of tests/ledger with its options."""

    what: str
    store: str
    part: str
    command: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells whether it was done."""
        return self.what, self.store, self.part


def jobs() -> Iterator[Job]:
    """All parts, the most important first."""
    for part in range(PARTS):
        for store in STORES:
            options = ("kills", "--kills", str(KILLS // PARTS), "--seed", str(part))
            yield Job("kills at random", store, str(part), options)
            real = ("kills", "--kills", str(REAL // PARTS), "--seed", str(part), "--kmeans")
            yield Job("kills of real fits", store, str(part), real)
        # The seventh log is long enough for SQLite to empty its own log meanwhile.
        fits = "160" if part == 7 else str(14 + part)
        options = ("--fits", fits, "--cuts", str(CUTS // PARTS), "--seed", str(part))
        yield Job("power cuts", "sqlite", str(part), ("powercut", *options))
    yield Job("power cuts without syncing", "sqlite", "0", ("powercut", "--synchronous", "OFF"))
    for store, start in STORES.items():
        for point in points_of(start):
            options = ("kills", "--times", str(TIMES), "--points", point)
            yield Job("kills at a point", store, point, options)
    for part in range(CROWDS):
        for store in STORES:
            yield Job("crowds", store, str(part), ("crowd",))


def judged(job: Job, said: dict) -> tuple[int, int]:
    """How much was done, and how often it went wrong."""
    wrong = list(said["wrong"])
    if job.what == "crowds":
        counts = {said["granted"], said["reserved"], said["charged"]}
        return said["granted"], len(wrong) + (counts != {GRANTED}) + (said["left"] != 0)
    if job.what.startswith("kills"):
        (result,) = said["at"].values()
        asked = ASKED[job.what]
        return result["killed"], len(wrong) + len(result["wrong"]) + (result["killed"] != asked)
    if job.what == "power cuts without syncing":
        return said["cuts"], int(len(wrong) < said["cuts"] // 4)
    return said["cuts"], len(wrong)


def run(job: Job, address: str) -> tuple[int, int, str]:
    module, *options = job.command
    command = [sys.executable, "-m", f"tests.ledger.{module}", address, *options]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if shown.returncode:
        return 0, 1, shown.stderr
    count, wrong = judged(job, json.loads(shown.stdout))
    return count, wrong, shown.stdout if wrong else ""


def do(job: Job, folder: Path, server: object, lock: threading.Lock) -> None:
    """Run one job and write its row."""
    place = folder / f"{job.what}-{job.store}-{job.part}".replace(" ", "-").replace(":", "")
    place.mkdir()
    address = str(place) if job.command[0] == "powercut" else str(place / "ledger.db")
    if job.store == "postgres":
        with lock:
            address = servers.new_database(server)
    start = time.perf_counter()
    count, wrong, told = run(job, address)
    with lock:
        seconds = round(time.perf_counter() - start)
        append_row(TABLE, COLUMNS, [*job.key, count, wrong, seconds])
        print(f"{job.what}, {job.store}, {job.part}: {count}, wrong {wrong}, {seconds} s")
        if told:
            print(told[-3000:], file=sys.stderr)


def report() -> int:
    """Print the sums; returns how many parts went wrong."""
    sums: dict[tuple[str, str], list[int]] = {}
    for row in read_rows(TABLE):
        found = sums.setdefault((row["what"], row["store"]), [0, 0, 0])
        for i, name in enumerate(("count", "wrong", "seconds")):
            found[i] += int(row[name])
    for (what, store), (count, wrong, seconds) in sums.items():
        print(f"{what}, {store}: {count:,} in {seconds:,} s, wrong {wrong}")
    return sum(wrong for _, wrong, _ in sums.values())


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench trust", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="run everything again")
    parser.add_argument("--processes", type=int, default=2, help="parts that run at once")
    options = parser.parse_args(argv)
    if options.fresh:
        TABLE.unlink(missing_ok=True)
    done = {(row["what"], row["store"], row["part"]) for row in read_rows(TABLE)}
    todo, lock = [job for job in jobs() if job.key not in done], threading.Lock()
    if todo:
        with tempfile.TemporaryDirectory(prefix="sfumato-trust-") as name:
            server = servers.start(Path(name) / "postgres")
            try:
                with ThreadPoolExecutor(options.processes) as pool:
                    list(pool.map(lambda job: do(job, Path(name), server, lock), todo))
            finally:
                servers.stop(server)
    if report():
        sys.exit("the ledger did not hold: see the parts with something wrong")

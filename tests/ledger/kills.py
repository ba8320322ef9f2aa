"""Processes that are killed, at random or at a named point: `python -m tests.ledger.kills URL`.

A killed process says by a pipe what it had done. Prints one line of JSON with what is wrong.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from functools import partial

from sfumato import PrivateKMeans
from sfumato._ledger import sqlite
from sfumato._ledger.durable import DurableLedger
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError, Store, Transaction
from tests.ledger import fits
from tests.ledger.checks import wrongs

KINDS = ("reserve", "charge", "answer", "release")


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def _wrapped(place, name, *, before=None, after=None):
    """Replace a function by one that calls others around it, with the same arguments."""
    inner = getattr(place, name)

    def outer(*given, **named):
        if before:
            before(*given)
        result = inner(*given, **named)
        if after:
            after(*given)
        return result

    setattr(place, name, outer)


def _store_class(url):
    if url.startswith("postgres"):
        from sfumato._ledger.postgres import PostgresStore

        return PostgresStore
    return sqlite.SQLiteStore


def _around_commit(kind, when, url):
    """Die before, or after, the COMMIT of an event of one kind."""
    last = []
    _wrapped(Transaction, "append", after=lambda change, what, *_: last.append(what))

    def at(store, word):
        if word == "COMMIT" and last and last[-1] == kind:
            die()

    _wrapped(_store_class(url), "end", **{when: at})


def _between_inserts(kind, url):
    """Die when the event is inserted, and its movements, or its release, are not."""

    def at(change, table, *values):
        if table == "event" and values[1] == kind:
            die()

    _wrapped(Transaction, "_insert", after=at)


def _after_reading():
    _wrapped(fits, "read", after=die)
    _wrapped(fits.ToldRows, "fold", after=die)


def _half_a_mark(url):
    """Die when half of a high-water mark is in its temporary file."""

    def written(path, *_):
        path.with_name(f"{path.name}.new").write_text('{"se')
        die()

    sqlite._write_mark = written


POINTS = {
    "before the reservation": lambda url: _wrapped(DurableLedger, "reserve", before=die),
    "when a transaction begins": lambda url: _wrapped(_store_class(url), "begin", after=die),
    **{f"{k}: between inserts": partial(_between_inserts, k) for k in ("reserve", "release")},
    **{f"{k}: before COMMIT": partial(_around_commit, k, "before") for k in KINDS},
    **{f"{k}: after COMMIT": partial(_around_commit, k, "after") for k in KINDS},
    "after reading": lambda url: _after_reading(),
    "after the release, before it is given out": (
        lambda url: _wrapped(DurableLedger, "release", after=die)
    ),
    "a recorded release is asked for": lambda url: _wrapped(Store, "text", after=die),
}
MARK_POINTS = {
    "mark: half of it is written": _half_a_mark,
    "mark: before it is renamed": lambda url: _wrapped(sqlite.os, "replace", before=die),
    "mark: after it is renamed": lambda url: _wrapped(sqlite.os, "replace", after=die),
}


def points_of(url):
    """The named points of a store."""
    return POINTS if url.startswith("postgres") else {**POINTS, **MARK_POINTS}


# Which fits are made: small ones, or real ones.
ANSWER = [fits.answer]


def child(url, out, requests, point=None):
    """One process: answers requests and says so, until it is killed."""

    def told(word, request, value=""):
        os.write(out, f"{word}\t{request}\t{value}\n".encode())

    try:
        if point:
            points_of(url)[point](url)
        ledger = Ledger.open(url)
        for request in requests:
            try:
                told("answered", request, ANSWER[0](ledger, request, told))
            except LedgerError as error:
                told("refused", request, str(error).partition(":")[0])
    except BaseException as error:
        told("failed", "", repr(error))
    os._exit(0)


def forked(url, requests, point=None):
    """Start a child; returns its process and the end of the pipe where it is heard."""
    back, out = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(back)
        child(url, out, requests, point)
    os.close(out)
    return process, back


def said_by(process, back):
    """Whether a process was killed, and all lines that it said."""
    with os.fdopen(back) as pipe:
        lines = [tuple(line.rstrip("\n").split("\t")) for line in pipe if line.endswith("\n")]
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status), lines


def at_point(url, point, times):
    """Die at one point so many times; every request is asked again by a process that lives."""
    heard, killed, wrong = [], 0, []
    for i in range(times):
        request = f"{point} {i}"
        if point == "a recorded release is asked for":
            heard += said_by(*forked(url, [request]))[1]
        died, lines = said_by(*forked(url, [request], point))
        killed += died
        lines += said_by(*forked(url, [request]))[1]
        wrong += [line for line in lines if line[0] == "failed"]
        heard += lines
    return {"killed": killed, "wrong": wrong, "heard": heard}


def at_random(url, kills, seed, processes=2):
    """Kill one of several processes after a random while, and start another, so many times."""
    rng, heard, wrong, killed = random.Random(seed), [], [], 0

    def another():
        first = killed * 2
        return forked(url, [f"request {rng.randrange(first, first + 12)}" for _ in range(200)])

    alive = [another() for _ in range(processes)]
    while killed < kills:
        time.sleep(rng.uniform(0.0, 0.06))
        process, back = alive.pop(rng.randrange(len(alive)))
        os.kill(process, signal.SIGKILL)
        died, lines = said_by(process, back)
        killed += died
        heard += lines
        alive.append(another())
    for process, back in alive:
        os.kill(process, signal.SIGKILL)
        heard += said_by(process, back)[1]
    wrong += [line for line in heard if line[0] == "failed"]
    return {"killed": killed, "wrong": wrong, "heard": heard}


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--points", nargs="*", default=())
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--kmeans", action="store_true", help="with real fits")
    options = parser.parse_args(argv)
    url, results = options.url, {}
    if options.kmeans:
        ANSWER[0] = fits.answer_by_kmeans
        # What takes long at the first time is done before processes are forked off.
        PrivateKMeans(2, bounds=(0, 1), method="dplloyd").fit([[0, 0], [1, 1]])
    fits.made(url, 100_000).store.close()
    if options.kills:
        results["at random"] = at_random(url, options.kills, options.seed)
    for point in options.points:
        results[point] = at_point(url, point, options.times)
    heard = [line for result in results.values() for line in result["heard"]]
    for result in results.values():
        said = result.pop("heard")
        result |= {word: sum(w == word for w, *_ in said) for word in ("answered", "refused")}
    sys.stdout.write(json.dumps({"wrong": wrongs(url, heard), "at": results}))


if __name__ == "__main__":
    main(sys.argv[1:])

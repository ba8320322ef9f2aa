"""Many processes that charge one budget at once: `python -m tests.ledger.crowd URL`.

Prints one line of JSON: how many charges were granted, and what is wrong.
"""

import argparse
import json
import os
import sys
import traceback

from sfumato._accounting.budget import Overspent
from sfumato._ledger.books import flaws_in
from sfumato._ledger.durable import open_store
from sfumato._ledger.ledger import Ledger
from tests.ledger.fits import CAPS, entry, made


def charges(url, times, start):
    """One process: how many of its charges were granted."""
    ledger, granted = Ledger.open(url), 0
    os.read(start, 1)
    for _ in range(times):
        try:
            account = ledger.reserve("small", CAPS)
        except Overspent:
            continue
        ledger.charge(account, [entry(account)])
        granted += 1
    return granted


def child(url, times, start, out):
    try:
        said = {"granted": charges(url, times, start)}
    except BaseException:
        said = {"error": traceback.format_exc()}
    os.write(out, (json.dumps(said) + "\n").encode())
    os._exit(0)


def run(url, processes, times, budget):
    """All processes together."""
    made(url, budget).store.close()
    start, go = os.pipe()
    back, out = os.pipe()
    for _ in range(processes):
        if os.fork() == 0:
            os.close(go)
            child(url, times, start, out)
    os.close(out)
    os.write(go, b"x" * processes)
    with os.fdopen(back) as lines:
        said = [json.loads(line) for line in lines]
    store = open_store(url)
    events = store.events()
    left = store.balances("people")[""]["epsilon"]
    return {
        "processes": len(said),
        "granted": sum(line.get("granted", 0) for line in said),
        "reserved": sum(e.kind == "reserve" for e in events),
        "charged": sum(e.kind == "charge" for e in events),
        "left": left,
        "wrong": [line["error"] for line in said if "error" in line]
        + [flaw.what for flaw in flaws_in(store)],
    }


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--budget", type=int, default=1000)
    options = parser.parse_args(argv)
    sys.stdout.write(json.dumps(run(options.url, options.processes, options.times, options.budget)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Processes that are forked off after a ledger was opened."""

import json
import os
import subprocess
import sys

import pytest

from sfumato._ledger.ledger import Ledger
from tests.ledger.checks import wrongs
from tests.ledger.fits import COST

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# `say` is called in a child; its lines come back as a list, in order.
HEAD = """
import json, os, sys, threading, time
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import LedgerError
from tests.ledger.fits import CAPS, answer, entry, made

ledger = made(sys.argv[1], 100_000)

def forked(work):
    back, out = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            said = work()
        except LedgerError as error:
            said = str(error)
        os.write(out, json.dumps(said).encode())
        os._exit(0)
    os.close(out)
    return process, back

def heard(process, back):
    with os.fdopen(back) as pipe:
        said = json.load(pipe)
    os.waitpid(process, 0)
    return said
"""

BOTH = """
answer(ledger, "before")
def work():
    return [answer(ledger, f"child {i}") for i in range(10)]
child = forked(work)
mine = [answer(ledger, f"parent {i}") for i in range(10)]
print(json.dumps([heard(*child), mine]))
"""

PARENT_LEAVES = """
answer(ledger, "before")
asked, ask = os.pipe()
def work():
    first = answer(ledger, "child 1")
    os.read(asked, 1)
    return [first, answer(ledger, "child 2")]
child = forked(work)
time.sleep(0.3)
ledger.store.close()
os.write(ask, b"x")
print(json.dumps(heard(*child)))
"""

ACCOUNT = """
account = ledger.reserve("small", CAPS, request="shared")
def charge():
    ledger.charge(account, [entry(account)])
def cancel():
    ledger.cancel(account)
def release():
    ledger.release(account, "text", {})
said = [heard(*forked(work)) for work in (charge, cancel, release)]
ledger.charge(account, [entry(account)])
print(json.dumps(said))
"""

THREADS = """
stop = threading.Event()
def busy():
    i = 0
    while not stop.is_set():
        answer(other, f"thread {i}")
        time.sleep(0.001)
        i += 1
other = Ledger.open(sys.argv[1])
thread = threading.Thread(target=busy)
thread.start()
said = []
for i in range(5):
    said.append(heard(*forked(lambda: answer(ledger, f"child {i}"))))
stop.set()
thread.join()
print(json.dumps(said))
"""


PARTS = """
left, right = ledger.beside(["left", "right"])
left.reserve("small", CAPS)
def free():
    right.reserve("small", CAPS)
print(json.dumps(heard(*forked(free))))
right.reserve("small", CAPS)
"""


def said(url, code):
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEAD + code, url],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def test_parent_and_child_both_charge(url):
    child, parent = said(url, BOTH)
    heard = [("answered", f"child {i}", value) for i, value in enumerate(child)]
    heard += [("answered", f"parent {i}", value) for i, value in enumerate(parent)]
    assert len(heard) == 20
    assert wrongs(url, heard) == []


def test_what_a_child_charges_stays_when_its_parent_leaves(url):
    first, second = said(url, PARENT_LEAVES)
    assert wrongs(url, [("answered", "child 1", first), ("answered", "child 2", second)]) == []
    assert Ledger.open(url).spent[0] == 3 * COST


def test_an_account_belongs_to_the_process_that_reserved_it(url):
    for line in said(url, ACCOUNT):
        assert "another process reserved 'shared'" in line
    assert Ledger.open(url).spent[0] == COST
    assert wrongs(url, [("charged", "shared", "")]) == []


def test_what_parts_reserved_together_is_used_by_one_process(url):
    assert "opened by another process" in said(url, PARTS)
    assert Ledger.open(url).spent[0] == COST


def test_a_fork_waits_for_threads_that_write(url):
    answers = said(url, THREADS)
    assert wrongs(url, [("answered", f"child {i}", a) for i, a in enumerate(answers)]) == []

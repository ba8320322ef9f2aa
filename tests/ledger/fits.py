"""A fit in small, as the processes of these tests make it, in the order of a real one."""

import os
from fractions import Fraction

from sfumato._accounting.budget import Caps, Entry
from sfumato._ledger.ledger import Ledger

COST = Fraction(1, 1000)
CAPS = Caps(pure=COST)
QUERIES = 2
SUMMARY = {"method": "small", "guarantee": "ε = 0.001"}


def made(url, fits, dataset="people"):
    """A new ledger whose budget covers so many fits."""
    return Ledger.create(url, dataset, epsilon=float(fits * COST))


def entry(account, part=1):
    """A charge of one in so many parts of an account."""
    share = account.rest("pure").evenly(part)[0]
    return Entry("counts", share, "Laplace", Fraction(1), "", 0.0, share.amount)


def read(request):
    """Noisy numbers: no two readings are alike."""
    return os.urandom(8).hex()


def answer(ledger, request, told=lambda *words: None):
    """The release of a request, made or recorded; `told` hears of every step that returned."""
    found = ledger.recorded(request, "k=2")
    if found is not None:
        return found
    account = ledger.reserve("small", CAPS, request=request, settings="k=2")
    told("reserved", request)
    values = []
    for i in range(QUERIES):
        positions = ledger.charge(account, [entry(account, QUERIES - i)])
        told("charged", request)
        values.append(read(request))
        told("read", request)
        ledger.record(account, positions)
    text = " ".join(values)
    ledger.release(account, text, SUMMARY)
    return text

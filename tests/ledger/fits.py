"""A fit in small, as the processes of these tests make it, in the order of a real one."""

import os
from fractions import Fraction

import numpy as np

from sfumato import PrivateKMeans
from sfumato._accounting.budget import Caps, Entry
from sfumato._core.curator import Curator
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.store import digest_of
from sfumato._released_model import text_of
from sfumato.engines._memory import ArrayRows

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


class ToldRows(ArrayRows):
    """Rows that say when they were read."""

    def fold(self, box, kernel):
        found = super().fold(box, kernel)
        self.told("read", self.request)
        return found


def answer_by_kmeans(ledger, request, told=lambda *words: None):
    """The same by a real fit; its release is shown by its digest."""
    rows = ToldRows(np.linspace(0, 1, 40).reshape(20, 2))
    rows.told, rows.request = told, request
    curator = Curator(rows, bounds=(0, 1), ledger=ledger)
    model = PrivateKMeans(2, epsilon=float(COST), method="dplloyd", random_state=0)
    return digest_of(text_of(model.fit(curator, request=request)))

"""What must hold of a ledger whatever happened to the processes that used it."""

from collections import Counter

from sfumato._ledger.books import flaws_in
from sfumato._ledger.durable import open_store
from sfumato._ledger.store import digest_of
from tests.ledger.fits import COST


def wrongs(url, heard, dataset="people"):
    """What is wrong with a ledger, given what its processes said: (word, request, value) each."""
    store = open_store(url)
    found = [f"event {flaw.seq}: {flaw.what}" for flaw in flaws_in(store)]
    events = store.events(dataset=dataset)
    cancelled = {e.parent for e in events if e.kind == "cancel"}
    requests = {e.seq: e.request for e in events if e.kind == "reserve" and e.seq not in cancelled}
    charged, released = Counter(), {}
    for event in events:
        request = requests.get(event.parent)
        if event.kind == "charge":
            charged[request] += 1
        if event.kind == "release":
            if not charged[request]:
                found.append(f"{request} was released before it was charged")
            if request in released:
                found.append(f"{request} has two releases")
            released[request] = store.text(event.body["digest"])
    if len(set(requests.values())) < len(requests):
        found.append("a request was reserved twice")
    found += _unheard(heard, set(requests.values()), charged, released)
    left = store.balances(dataset)[""]["epsilon"]
    (total,) = (n for e in events if e.kind == "create" for _, _, n in e.body["moved"])
    if total - left != len(requests) * int(COST * 10**12):
        found.append("the balance is not what the reservations leave")
    store.close()
    return found


def _shown(text):
    """A release is given out as it is, or as its digest."""
    return () if text is None else (text, digest_of(text))


def _unheard(heard, reserved, charged, released):
    """What a process was told, or gave out, and the ledger does not have."""
    counts = Counter((word, request) for word, request, _ in heard)
    for word, request, value in heard:
        if word == "reserved" and request not in reserved:
            yield f"{request} was reserved, but is not there"
        if word == "answered" and value not in _shown(released.get(request)):
            yield f"{request} was answered by {value}, and the ledger has {released.get(request)}"
        if word in ("charged", "read") and counts[word, request] > charged[request]:
            yield f"{request} was {word} more often than there are charges"

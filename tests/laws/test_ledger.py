"""Budgets that last: whatever is asked in whatever order, no balance is overspent, nothing is lost.

A model in exact numbers is carried along. It knows what each reservation took, and the ledger must
agree with it after every step, and after it is opened again.
"""

import os
import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato._accounting.budget import Caps, Overspent
from sfumato._ledger.books import flaws_in
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.modes import MODES
from sfumato._ledger.store import LedgerError
from tests.ledger.fits import SUMMARY, entry

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
PEOPLE = ("", "ada")
# Folders in memory, if there are some: syncing is not what is tested here.
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Model:
    """What the ledger has to be: balances, and each request with its state."""

    def __init__(self, path, mode):
        self.path = path
        self.ledgers = {"": Ledger.create(path, "people", epsilon=1, delta=1e-6, mode=mode)}
        self.composition = self.ledgers[""].facts.composition
        self.left = {"": dict(self.composition.capacities())}
        self.fits = []
        self.taken = {}

    def grant(self, tenths):
        amount = Fraction(tenths, 10)
        part = {u: int(amount * n) for u, n in self.composition.capacities().items()}
        enough = all(self.left[""][unit] >= n for unit, n in part.items())
        try:
            self.ledgers[""].grant("ada", epsilon=tenths / 10)
            assert enough
        except Overspent:
            assert not enough
            return
        there = self.left.setdefault("ada", {})
        for unit, n in part.items():
            self.left[""][unit] -= n
            there[unit] = there.get(unit, 0) + n
        self.ledgers.setdefault("ada", Ledger.open(self.path, person="ada"))

    def reserve(self, person, caps, request):
        if person not in self.ledgers:
            return
        cost, left = self.composition.cost(caps), self.left[person]
        known = [fit for fit in self.fits if fit["request"] == request and not fit["cancelled"]]
        enough = all(left.get(unit, 0) >= n for unit, n in cost.items())
        try:
            account = self.ledgers[person].reserve("fit", caps, request=request)
            assert enough
            assert not known
        except Overspent:
            assert not enough
            return
        except LedgerError:
            assert known
            return
        for unit, n in cost.items():
            left[unit] -= n
        self.fits.append(
            {
                "request": request,
                "person": person,
                "ledger": self.ledgers[person],
                "account": account,
                "cost": cost,
                "cancelled": False,
                "charged": False,
                "text": None,
            }
        )

    def charge(self, fit, kind):
        account = fit["account"]
        if fit["cancelled"] or not account.rest("pure").amount:
            return
        ledger, line = fit["ledger"], entry(account, kind + 1)
        ledger.record(account, ledger.charge(account, [line]))
        fit["charged"] = True

    def cancel(self, fit):
        fit["ledger"].cancel(fit["account"])
        if not fit["charged"] and not fit["cancelled"]:
            fit["cancelled"] = True
            for unit, n in fit["cost"].items():
                self.left[fit["person"]][unit] += n

    def release(self, fit, text):
        if not fit["charged"]:
            return
        try:
            fit["ledger"].release(fit["account"], text, SUMMARY)
            assert fit["text"] is None
            fit["text"] = text
        except LedgerError:
            assert fit["text"] is not None

    def check(self, ledger):
        """The ledger agrees, and what was taken is worth no more than the budget."""
        found = ledger.store.balances("people")
        assert {p: {u: n for u, n in b.items() if n} for p, b in found.items()} == {
            p: {u: n for u, n in b.items() if n} for p, b in self.left.items()
        }
        assert min(n for balance in found.values() for n in balance.values()) >= 0
        open_ = [fit["cost"] for fit in self.fits if not fit["cancelled"]]
        for unit, capacity in self.composition.capacities().items():
            assert sum(cost.get(unit, 0) for cost in open_) <= capacity
        epsilon, delta = ledger.spent
        assert epsilon <= EPSILON
        assert delta <= DELTA

    def reopen(self):
        for person, ledger in self.ledgers.items():
            ledger.store.close()
            self.ledgers[person] = Ledger.open(self.path, person=person or None)
            self.check(self.ledgers[person])
        for fit in self.fits:
            if fit["text"] is not None:
                assert self.ledgers[""].recorded(fit["request"], "") == fit["text"]


CAPS = {
    "pure": lambda n: Caps(pure=Fraction(n, 20)),
    "gaussian": lambda n: Caps(pure=Fraction(n, 60), gaussian=(Fraction(n, 60), DELTA / 50)),
}


def step(model, what, number, which):
    """One step, of which the numbers choose what it is about."""
    fit = model.fits[number % len(model.fits)] if model.fits else None
    if what == "grant":
        model.grant(number + 1)
    elif what == "reserve":
        caps = CAPS["gaussian" if which % 2 else "pure"](number + 1)
        model.reserve(PEOPLE[which // 2 % 2], caps, f"request {which % 5}")
    elif what == "reopen":
        model.reopen()
    elif fit is not None:
        if what == "charge":
            model.charge(fit, which)
        elif what == "cancel":
            model.cancel(fit)
        else:
            model.release(fit, f"text {which}")


STEPS = ("reserve", "reserve", "charge", "cancel", "release", "grant", "reopen")
steps = st.lists(
    st.tuples(st.sampled_from(STEPS), st.integers(0, 9), st.integers(0, 9)), max_size=25
)
# Reserves, gives back, is charged and released once; then others take all that is left.
SPEND = [
    ("reserve", 9, 0),
    ("cancel", 0, 0),
    ("cancel", 0, 0),
    ("reserve", 9, 0),
    ("charge", 1, 1),
    ("cancel", 1, 0),
    ("release", 1, 3),
    ("release", 1, 4),
    ("reserve", 0, 5),
    ("grant", 2, 0),
    ("reserve", 3, 2),
    ("charge", 2, 0),
    ("reopen", 0, 0),
    ("reserve", 9, 4),
    ("reserve", 9, 8),
    ("reserve", 1, 7),
    ("reserve", 9, 3),
    ("reserve", 9, 1),
    ("reopen", 0, 0),
]
# Somebody gives back what was granted to them.
GIVE_BACK = [("grant", 4, 0), ("reserve", 0, 2), ("cancel", 0, 0), ("reopen", 0, 0)]


@settings(max_examples=30)
@given(mode=st.sampled_from(MODES), asked=steps)
@example(mode="add", asked=SPEND)
@example(mode="gaussian", asked=SPEND)
@example(mode="zcdp", asked=SPEND)
@example(mode="add", asked=GIVE_BACK)
def test_no_order_of_steps_overspends_and_a_restart_changes_nothing(mode, asked):
    with tempfile.TemporaryDirectory(dir=FAST) as folder:
        model = Model(Path(folder) / "ledger.db", mode)
        for what, number, which in asked:
            step(model, what, number, which)
            model.check(model.ledgers[""])
        model.reopen()
        assert flaws_in(model.ledgers[""].store) == []
        for ledger in model.ledgers.values():
            ledger.store.close()

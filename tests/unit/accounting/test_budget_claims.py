"""No public call passes a ledger: accounts and shares are claims, and the ledger checks them."""

import copy
import pickle
from dataclasses import replace
from fractions import Fraction
from threading import Barrier, Thread

import numpy as np
import pytest

from sfumato import PrivateKMeans
from sfumato._accounting.budget import Account, Caps, Entry, Ledger, Overspent, Share
from sfumato._core.curator import Curator
from sfumato._core.queries.counts import Grid
from sfumato._core.queries.histograms import LogBins
from sfumato._core.releases.histograms import HistogramCurator
from sfumato.methods import DPLloyd

F = Fraction
ROWS = np.random.default_rng(0).uniform(size=(50, 2))
ONE = Caps(pure=F(1))
CELLS = Grid(2, 2)


def opened():
    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0)
    return curator, curator.reserve("test", ONE)


def entry(share):
    return Entry("a query", share, "laplace", F(1), "± 1 rows", 0.0, share.amount)


class Unread:
    """Rows that nobody may read."""

    n_features, max_rows_per_group = 2, None

    def fold(self, box, kernel):
        raise AssertionError("rows were read")

    def split(self, box, parts, key):
        raise AssertionError("rows were read")


class LookAlike:
    """All that a curator may look at, and nothing that a ledger has granted."""

    def __init__(self, ledger, of=None):
        self.ledger, self.of, self.caps, self.purpose, self.entries = ledger, of, ONE, "test", ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(self.of)

    def charge(self, entries):
        return range(len(entries))

    def record(self, positions):
        pass

    def spent(self, kind):
        return F(0), F(0)


class Own(Account):
    """An account that charges itself nothing."""

    def charge(self, entries):
        return range(len(entries))

    def spent(self, kind):
        return F(0), F(0)


def test_a_cancelled_account_buys_nothing():
    curator, account = opened()
    curator.ledger.cancel(account)
    assert curator.ledger.spent == (0, 0)
    for _ in range(3):
        with pytest.raises(ValueError, match=r"cancelled.*curator\.reserve"):
            curator.counts(CELLS, share=account.rest("pure"))
    curator.counts(CELLS, share=curator.reserve("again", ONE).rest("pure"))
    curator.ledger.cancel(account)
    assert curator.ledger.left == (0, 0)


def test_a_cancelled_account_buys_no_bounds():
    curator = HistogramCurator(ROWS, ledger=Ledger(F(1)))
    account = curator.reserve("test", ONE)
    curator.ledger.cancel(account)
    with pytest.raises(ValueError, match="cancelled"):
        curator.histogram(LogBins(2), share=account.rest("pure"))


def test_an_account_that_was_charged_is_not_taken_back():
    curator, account = opened()
    half, rest = account.rest("pure").evenly(2)
    curator.counts(CELLS, share=half)
    curator.ledger.cancel(account)
    assert curator.ledger.left == (0, 0)
    curator.counts(CELLS, share=rest)
    with pytest.raises(Overspent):
        curator.counts(CELLS, share=rest)


def test_an_account_is_not_made_by_hand():
    ledger = Ledger(F(1))
    for make in (Account, Own):
        with pytest.raises(TypeError, match=r"curator\.reserve"):
            make(ledger, "test", Caps(pure=F(300)))


@pytest.mark.parametrize("make", [LookAlike, lambda ledger: object.__new__(Own)])
def test_what_was_not_granted_buys_nothing(make):
    curator = Curator(Unread(), bounds=(0, 1), epsilon=1.0)
    account = curator.reserve("test", ONE)
    fake = make(curator.ledger)
    if isinstance(fake, Own):
        said = {"ledger": curator.ledger, "purpose": "test", "caps": ONE, "_entries": []}
        for name, value in said.items():
            object.__setattr__(fake, name, value)
    with pytest.raises(ValueError, match="never granted"):
        curator.counts(CELLS, share=Share("pure", F(1), account=fake))
    assert account.entries == ()


def test_what_equals_an_account_takes_none_back():
    curator, account = opened()
    curator.counts(CELLS, share=account.rest("pure"))
    curator.ledger.cancel(LookAlike(curator.ledger, of=account))
    assert curator.ledger.accounts == (account,)
    assert curator.ledger.left == (0, 0)


def test_nothing_of_a_ledger_an_account_or_a_curator_is_assigned():
    curator, account = opened()
    other = Ledger(F(300))
    attempts = [
        (account, "caps", Caps(pure=F(300))),
        (account, "ledger", other),
        (account, "purpose", "another"),
        (account, "spent", lambda kind: (F(0), F(0))),
        (curator.ledger, "total", (F(300), F(0))),
        (curator.ledger, "accounts", ()),
        (curator.ledger, "charge", lambda account, entries: range(1)),
        (curator, "ledger", other),
        (curator, "box", None),
        (curator, "rows_per_neighbour", 0),
    ]
    for owner, name, value in attempts:
        with pytest.raises(AttributeError):
            setattr(owner, name, value)
    assert curator.ledger.left == (0, 0)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_nothing_that_holds_budget_is_copied(how):
    _, account = opened()
    for holder in (account, account.ledger):
        with pytest.raises(TypeError, match="same budget twice"):
            how(holder)
    if how is not copy.copy:
        with pytest.raises(TypeError, match="same budget twice"):
            how(account.rest("pure"))


def test_a_share_is_worth_what_its_account_holds():
    curator, account = opened()
    rest = account.rest("pure")
    for huge in (Share("pure", F(300), account=account), replace(rest, amount=F(300))):
        with pytest.raises(Overspent, match="largest affordable 1"):
            curator.counts(CELLS, share=huge)
    curator.counts(CELLS, share=rest)
    with pytest.raises(Overspent, match="largest affordable 0"):
        curator.counts(CELLS, share=copy.copy(rest))


def test_a_share_with_two_faces_buys_nothing():
    class Faces(Share):
        """Shows what is read from it first to the noise, and less to the ledger."""

    curator, account = opened()
    with pytest.raises(TypeError, match="share of an account"):
        curator.counts(CELLS, share=Faces("pure", F(1, 2), account=account))
    with pytest.raises(TypeError, match="Entry with a Share"):
        curator.ledger.charge(account, [entry(Faces("pure", F(1, 2), account=account))])
    assert account.entries == ()


@pytest.mark.parametrize("amount", [float("nan"), 0.5, float("inf"), True, np.int64(1), None])
def test_budget_is_counted_exactly(amount):
    makers = [
        lambda: Share("pure", amount),
        lambda: Share("approximate", F(1), amount),
        lambda: Caps(pure=amount),
        lambda: Caps(gaussian=(F(1), amount)),
        lambda: Ledger(amount),
        lambda: Ledger(F(1), amount),
    ]
    for make in makers:
        with pytest.raises(TypeError, match="Fraction"):
            make()


def test_the_kind_of_a_share_is_a_word():
    class Any(str):
        """Equal to every kind."""

    with pytest.raises(TypeError, match="kind of a share"):
        Share(Any("pure"), F(1))


def test_caps_stay_as_they_were_granted():
    class Cheap(Caps):
        """Says that it costs nothing."""

        @property
        def epsilon(self):
            return F(0)

    with pytest.raises(TypeError, match="tuples"):
        Caps(gaussian=[F(1), F(1, 100)])
    with pytest.raises(TypeError, match="Caps, got Cheap"):
        Ledger(F(1)).reserve("test", Cheap(pure=F(300)))


def test_the_shares_of_a_charge_belong_to_its_account():
    ledger = Ledger(F(1))
    one, other = (ledger.reserve(name, Caps(pure=F(1, 2))) for name in ("one", "other"))
    for share in (
        other.rest("pure"),
        Share("pure", F(1, 4)),
        replace(one.rest("pure"), account=None),
    ):
        with pytest.raises(ValueError, match="belong to the account"):
            ledger.charge(one, [entry(one.rest("pure").evenly(2)[0]), entry(share)])
    with pytest.raises(ValueError, match="never granted"):
        Ledger(F(1)).charge(one, [entry(one.rest("pure"))])
    assert one.entries == other.entries == ()


def test_a_curator_takes_no_ledger_but_a_ledger():
    class Open:
        durable = False
        left = (F(1), F(0))

    with pytest.raises(TypeError, match="sfumato Ledger"):
        Curator(ROWS, bounds=(0, 1), ledger=Open())


def test_a_fit_that_was_refused_costs_nothing_and_one_that_failed_costs():
    class Refuses(DPLloyd):
        def __call__(self, curator, task, *, account, rng):
            raise ValueError("not today")

    class Fails(DPLloyd):
        def __call__(self, curator, task, *, account, rng):
            curator.counts(CELLS, share=account.rest("pure").evenly(2)[0])
            raise OSError("the disk is gone")

    curator = Curator(ROWS, bounds=(0, 1), epsilon=1.0)
    for method, kind, left in ((Refuses(), ValueError, 1), (Fails(), OSError, F(1, 2))):
        with pytest.raises(kind):
            PrivateKMeans(2, epsilon=0.5, method=method).fit(curator)
        assert curator.ledger.left == (left, 0)


def test_no_thread_charges_an_account_that_another_took_back():
    for _ in range(30):
        ledger = Ledger(F(1))
        account, start, charged = ledger.reserve("test", ONE), Barrier(2), []

        def ask(ledger=ledger, account=account, start=start, charged=charged):
            start.wait()
            try:
                charged.append(ledger.charge(account, [entry(account.rest("pure"))]))
            except ValueError:
                pass

        thread = Thread(target=ask)
        thread.start()
        start.wait()
        ledger.cancel(account)
        thread.join()
        assert ledger.spent == ((1, 0) if charged else (0, 0))

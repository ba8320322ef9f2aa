"""Whole runs watched from outside: what they ask, what they lose, and everything that leaves.

A run opens vaults (a curator of histograms for bounds, a curator for the method) and keeps none of
them. They are exchanged for vaults that remember and, given an earlier run, release once more what
that one released, whatever their own rows say.
"""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.sampling.source import ReplayedNoise
from tests.laws.harness import Remembering, Transcript, loss

# Every place that opens a vault, and the vault that remembers in its stead.
DOORS = ("sfumato._private_kmeans", "sfumato._private_bounds.estimate", "sfumato.cli._plan")


class RememberingHistograms(HistogramCurator):
    """Keeps a transcript of the bounds that are released; given one, it releases the same again."""

    _remember = Remembering._remember

    def __init__(self, *args, replay=None, **settings):
        super().__init__(*args, **settings)
        self.transcript = Transcript()
        self.replay = replay

    def histogram(self, binning, **settings):
        self.transcript.queries.append(binning)
        return super().histogram(binning, **settings)

    def _perturb(self, mechanism, exact):
        return self._remember(mechanism, exact, super()._perturb(mechanism, exact))


@dataclass
class Run:
    """One run: the vaults that it opened, in order, and everything that left it."""

    replay: "Run | None" = None
    vaults: list = field(default_factory=list)
    left: dict = field(default_factory=dict)

    def watched(self, cls):
        """A class of vaults that belong to this run."""
        run = self

        class Watched(cls):
            def __init__(self, *args, **settings):
                number = len(run.vaults)
                if run.replay is not None:
                    settings["replay"] = run.replay.vaults[number].transcript
                super().__init__(*args, noise=ReplayedNoise(number + 1), **settings)
                run.vaults.append(self)

        return Watched

    @property
    def accounts(self):
        """All that was charged; both curators share a ledger."""
        return self.vaults[0].ledger.accounts

    def all(self, name):
        """One list of all transcripts, one after the other."""
        return [step for vault in self.vaults for step in getattr(vault.transcript, name)]


class Watcher:
    """Runs something with vaults that remember, and gathers all that it says."""

    def __init__(self, monkeypatch, capsys, caplog):
        self.monkeypatch, self.capsys, self.caplog = monkeypatch, capsys, caplog
        # Compilers write down every step of theirs at the lowest level.
        caplog.set_level("INFO")
        caplog.set_level("DEBUG", logger="sfumato")

    def __call__(self, action, *data, replay=None):
        """Run `action`, which returns what it left behind; with `replay`, on the same answers."""
        run = Run(replay)
        self.caplog.clear()
        self.capsys.readouterr()
        with self._doors(run), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            left = action(*data)
        assert run.vaults, "nothing was asked, or it was asked elsewhere"
        printed = self.capsys.readouterr()
        run.left = {
            **left,
            "printed": (printed.out, printed.err),
            "warned": [(w.category, str(w.message)) for w in warned],
            "logged": [(r.name, r.levelname, r.getMessage()) for r in self.caplog.records],
        }
        return run

    @contextmanager
    def _doors(self, run):
        with self.monkeypatch.context() as patch:
            for door in DOORS:
                patch.setattr(f"{door}.HistogramCurator", run.watched(RememberingHistograms))
                patch.setattr(f"{door}.Curator", run.watched(Remembering), raising=False)
            yield


def left_by(model, path):
    """Everything that a fitted model shows, says or saves."""
    model.save(path)
    return {
        **{name: plain(value) for name, value in vars(model).items()},
        "bounds_": plain(model.bounds_),
        "receipt": (model.receipt_.to_json(), str(model.receipt_)),
        "repr": repr(model),
        "saved": path.read_bytes(),
    }


def plain(value):
    """A value, taken to pieces that can be compared bit by bit, with all that hangs on it."""
    if isinstance(value, np.ndarray):
        shown = value.tolist() if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, shown
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value).__module__.startswith("sfumato"):
        return type(value).__name__, plain(vars(value))
    return value


def check_alike(one, other):
    """The same queries, with the same laws, and nothing has left beside what was released."""
    assert one.all("queries") == other.all("queries")
    assert one.all("laws") == other.all("laws")
    assert one.left.keys() == other.left.keys()
    for name, value in one.left.items():
        assert value == other.left[name], name


def check_losses(one, other, *, epsilon, delta):
    """No answer loses more than it was charged, and all together no more than was asked for.

    Returns what was lost in each currency.
    """
    steps = zip(*(one.all(name) for name in ("laws", "released", "exact")), strict=True)
    losses = [loss(*step, there) for step, there in zip(steps, other.all("exact"), strict=True)]
    entries = [entry for account in one.accounts for entry in account.entries]
    assert len(losses) == len(entries)
    for lost, entry in zip(losses, entries, strict=True):
        assert lost <= entry.share.amount
    totals = {}
    for kind in ("pure", "gdp", "approximate"):
        mine = [x for x, e in zip(losses, entries, strict=True) if e.share.kind == kind]
        totals[kind] = sum(mine, Fraction(0))
        assert totals[kind] <= sum(a.caps.of(kind)[0] for a in one.accounts)
    assert sum(account.caps.epsilon for account in one.accounts) <= epsilon
    assert sum(account.caps.delta for account in one.accounts) <= delta
    return totals

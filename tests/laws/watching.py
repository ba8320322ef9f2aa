"""Whole runs watched from outside: what they ask, what they lose, and everything that leaves.

A run opens curators (one of histograms for bounds, one for the method) and keeps none of them. They
are exchanged for curators that remember and, given an earlier run, release once more what that one
released, whatever their own rows say.
"""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato._core.releases.histograms import HistogramCurator
from sfumato._core.testing import Recording, RecordingCurator, ReplayedNoise, loss

# Every module that opens a curator.
OPENED_IN = (
    "sfumato._private_fit",
    "sfumato._private_bounds.estimate",
    "sfumato.cli._plan",
    "sfumato.cli._model",
)


class RecordingHistograms(Recording, HistogramCurator):
    """A curator of rows without bounds that keeps a transcript."""


@dataclass
class Run:
    """One run: the curators that it opened, in order, and everything that left it."""

    replay: "Run | None" = None
    curators: list = field(default_factory=list)
    left: dict = field(default_factory=dict)

    def watched(self, cls):
        """A class of curators that belong to this run."""
        run = self

        class Watched(cls):
            def __init__(self, *args, **settings):
                number = len(run.curators)
                super().__init__(*args, noise=ReplayedNoise(number + 1), **settings)
                if run.replay is not None:
                    self.replay = run.replay.curators[number].transcript
                run.curators.append(self)

        return Watched

    @property
    def accounts(self):
        """All that was charged; curators of one run share a ledger."""
        return self.curators[0].ledger.accounts

    def all(self, name):
        """One list of all transcripts, one after the other."""
        return [step for curator in self.curators for step in getattr(curator.transcript, name)]


class Watcher:
    """Runs something with curators that remember, and gathers all that it says."""

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
        with self._exchanged(run), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            left = action(*data)
        assert run.curators, "nothing was asked, or it was asked elsewhere"
        printed = self.capsys.readouterr()
        run.left = {
            **left,
            "printed": (printed.out, printed.err),
            "warned": [(w.category, str(w.message)) for w in warned],
            "logged": [(r.name, r.levelname, r.getMessage()) for r in self.caplog.records],
        }
        return run

    @contextmanager
    def _exchanged(self, run):
        with self.monkeypatch.context() as patch:
            for module in OPENED_IN:
                patch.setattr(
                    f"{module}.HistogramCurator", run.watched(RecordingHistograms), raising=False
                )
                patch.setattr(f"{module}.Curator", run.watched(RecordingCurator), raising=False)
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
    """The same queries, with the same mechanisms, and nothing has left beside what was released."""
    assert one.all("queries") == other.all("queries")
    assert one.all("mechanisms") == other.all("mechanisms")
    assert one.left.keys() == other.left.keys()
    for name, value in one.left.items():
        assert value == other.left[name], name


def check_losses(one, other, *, epsilon, delta):
    """No answer loses more than it was charged, and all together no more than was asked for.

    Returns what was lost in each currency.
    """
    steps = zip(*(one.all(name) for name in ("mechanisms", "released", "exact")), strict=True)
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

"""AUDITS: attacks on the promise itself, for any estimator with `fit`.

Two neighbouring datasets are made up, the estimator is fitted on each many times, and an event is
looked for that is more than e^ε times as likely on one as on the other. No audit proves a promise.
"""

from __future__ import annotations

from sfumato.audit._canaries import GridCounts, GridSums, SynopsisCounts, canaries
from sfumato.audit._likelihood import likelihood_ratio
from sfumato.audit._replay import Replay, replay
from sfumato.audit._run import Progress, run
from sfumato.audit._verdict import Verdict
from sfumato.audit._worlds import Pair, World, pairs

__all__ = [
    "GridCounts",
    "GridSums",
    "Pair",
    "Progress",
    "Replay",
    "SynopsisCounts",
    "Verdict",
    "World",
    "canaries",
    "likelihood_ratio",
    "pairs",
    "replay",
    "run",
]

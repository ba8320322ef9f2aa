"""Fits that a page asks for: confirmed first, charged once, run one after the other."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any
from uuid import uuid4

from sfumato import METHODS, Curator, Ledger, Overspent, PrivateKMeans
from sfumato.engines import watch
from sfumato.studio._errors import Refusal, unexpected
from sfumato.studio._folder import Dataset, Folder, opaque, schema_of, table_of

_KEPT = 200
_LONGEST_PURPOSE = 200


@dataclass(frozen=True)
class Asked:
    """What a fit is asked for, under a name that the ledger answers once."""

    request: str
    dataset: Dataset
    k: int | str
    method: str
    epsilon: float
    delta: float
    purpose: str


@dataclass(frozen=True)
class Job:
    """A fit that was confirmed: waiting, running, released, refused, or failed after a charge."""

    asked: Asked
    state: str = "waiting"
    passes: int = 0
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The state as plain values. The number of passes is the same for all rows."""
        asked = self.asked
        return {
            "request": asked.request,
            "release": opaque(asked.dataset.name, asked.request),
            "dataset": asked.dataset.number,
            "name": asked.dataset.name,
            "epsilon": asked.epsilon,
            "method": asked.method,
            "state": self.state,
            "passes": self.passes,
            "message": self.message,
        }


def budget_of(ledger: Ledger) -> dict[str, Any]:
    """Total, spent and left of a dataset, as plain numbers."""
    found = ledger.overview()
    spent, total = found["spent"], {name: found[name] for name in ("epsilon", "delta")}
    left = {name: max(total[name] - spent[name], 0.0) for name in total}
    if found["mode"] == "add":
        # What was granted to persons is not there for others.
        left = {name: found["left"].get(name, 0.0) for name in total}
    return {
        "total": total,
        "spent": spent,
        "left": left,
        "mode": found["mode"],
        "protects": found["protects"],
        "without_release": [
            {name: line[name] for name in ("at", "epsilon", "state")}
            for line in found["without_release"]
        ],
    }


class Fits:
    """Confirmations and fits of one run of the studio; one fit at a time."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._lock = folder, Lock()
        self._asked: OrderedDict[str, Asked] = OrderedDict()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._worker = ThreadPoolExecutor(1, "sfumato-fit")

    def quote(self, dataset: Dataset, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What a fit would cost, before and after. Nothing is spent, nothing is read."""
        asked = _asked(dataset, wanted)
        budget = budget_of(self._folder.open_ledger(dataset))
        schema_needed(self._folder, dataset)
        for name, symbol in (("epsilon", "ε"), ("delta", "δ")):
            left, amount = budget["left"][name], getattr(asked, name)
            if amount > left * (1 + 1e-12):
                raise Refusal(_refused(symbol, amount, left, budget["total"][name]), 409)
        with self._lock:
            self._asked[asked.request] = asked
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)
        left = budget["left"]["epsilon"]
        return {
            "request": asked.request,
            "epsilon": asked.epsilon,
            "delta": asked.delta,
            "before": left,
            "after": max(left - asked.epsilon, 0.0),
            "exact": budget["mode"] == "add",
            "total": budget["total"]["epsilon"],
            "protects": budget["protects"],
            "chance": 1 / (1 + math.exp(-min(asked.epsilon, 700))),
        }

    def spend(self, request: object) -> Job:
        """Start the fit of a confirmation. The same confirmation again is the same fit."""
        with self._lock:
            if isinstance(request, str) and request in self._jobs:
                return self._jobs[request]
            asked = self._asked.get(request) if isinstance(request, str) else None
            if asked is None:
                raise Refusal("This confirmation is not known any more: plan the fit again.", 409)
            job = self._jobs[asked.request] = Job(asked)
            while len(self._jobs) > _KEPT:
                self._jobs.popitem(last=False)
        self._worker.submit(self._run, asked)
        return job

    def job(self, request: str) -> Job:
        """A fit by its request."""
        with self._lock:
            if request not in self._jobs:
                raise Refusal("There is no such fit in this run of the studio.", 404)
            return self._jobs[request]

    def running(self) -> list[Job]:
        """Fits that have not ended."""
        with self._lock:
            return [job for job in self._jobs.values() if job.state in ("waiting", "running")]

    def close(self) -> None:
        """Wait for the fit that runs: what it charged is not lost."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _note(self, request: str, state: str, passes: int | None = None, message: str = "") -> None:
        with self._lock:
            job = self._jobs[request]
            passes = job.passes if passes is None else passes
            self._jobs[request] = replace(job, state=state, passes=passes, message=message)

    def _run(self, asked: Asked) -> None:
        """Fit; the ledger keeps the release. What a page is told does not depend on rows."""
        self._note(asked.request, "running")
        try:
            with watch(lambda number, done, total: self._note(asked.request, "running", number)):
                self._fit(asked)
        except Exception as error:
            self._note(asked.request, *self._ended(asked, error))
        else:
            self._note(asked.request, "released")

    def _fit(self, asked: Asked) -> None:
        dataset = asked.dataset
        ledger = self._folder.open_ledger(dataset, asked.purpose)
        schema = schema_needed(self._folder, dataset)
        curator = Curator(
            table_of(dataset.file),
            schema=schema,
            ledger=ledger,
            max_rows_per_group=ledger.facts.max_rows_per_group or 1,
        )
        model = PrivateKMeans(
            asked.k, epsilon=asked.epsilon, delta=asked.delta, method=asked.method
        )
        model.fit(curator, request=asked.request)

    def _ended(self, asked: Asked, error: Exception) -> tuple[str, None, str]:
        """State and sentence of a fit that has no release."""
        open_ = self._folder.open_ledger(asked.dataset).overview()["without_release"]
        if any(line["request"] == asked.request for line in open_):
            said = unexpected(error)
            return "failed", None, f"The fit ended without a release; its ε stays spent. {said}"
        if isinstance(error, Refusal):
            return "refused", None, f"Nothing was spent. {error.message}"
        if isinstance(error, Overspent | ValueError | TypeError | ImportError):
            return "refused", None, f"Nothing was spent. {self._folder.redact(str(error))}"
        return "refused", None, f"Nothing was spent. {unexpected(error)}"


def schema_needed(folder: Folder, dataset: Dataset) -> Any:  # noqa: ANN401
    """The schema of a dataset that can be fitted."""
    ledger = folder.open_ledger(dataset)
    schema = schema_of(dataset, ledger)
    if schema is None:
        raise Refusal(f"The columns of {dataset.name} are not declared yet.", 409)
    return schema


def _refused(symbol: str, asked: float, left: float, total: float) -> str:
    return (
        f"The budget does not cover this. Asked: {symbol} = {asked:g}; left: {left:.6g} of "
        f"{total:g}. Nothing was spent. Ask for at most {symbol} = {left:.6g}. A budget is never "
        "raised or given back; earlier releases can be used again for free."
    )


def _asked(dataset: Dataset, wanted: Mapping[str, Any]) -> Asked:
    """Read what a page asks for; all that can be refused without the ledger is refused here."""
    k, method = wanted.get("k"), wanted.get("method", "auto")
    if k != "auto" and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= 1000):
        raise Refusal("The number of clusters must be a whole number from 1 to 1000, or auto.")
    if method not in list(METHODS):
        raise Refusal("There is no such method.")
    amounts = []
    for name in ("epsilon", "delta"):
        value = wanted.get(name, 0.0)
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not math.isfinite(value) or value < 0:
            raise Refusal(f"{name} must be a number of at least 0.")
        amounts.append(float(value))
    if not 0 < amounts[0] <= 100:
        raise Refusal("ε must lie above 0, and at most at 100: more promises nothing.")
    if amounts[1] >= 1:
        raise Refusal("δ must lie below 1.")
    purpose = str(wanted.get("purpose", ""))[:_LONGEST_PURPOSE]
    return Asked(uuid4().hex, dataset, k, str(method), amounts[0], amounts[1], purpose)

"""Runs one call that may be refused, and says what was wrong with how it ended.

A call ends with a result or with a refusal: an error of a type that users can expect, before
anything is charged, in which no cell of a row is named.
"""

import signal
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

from sfumato import Overspent
from sfumato._accounting.budget import Ledger
from sfumato._ledger.store import LedgerError
from sfumato.engines._partitions import FileChanged

SECRET = 0.7319284651093725
"""A cell of every table. Its digits, and the text, are in no message."""

SECRET_TEXT = "qz-secret-cell"
TRACES = ("73192846", SECRET_TEXT, "7.3192846")

REFUSALS = (ValueError, TypeError, OSError, ImportError, Overspent, LedgerError, FileChanged)

BUGS = (AttributeError, LookupError, ArithmeticError, RecursionError, MemoryError, AssertionError)
"""Never, also where an error of NumPy or of a subclass is one of the refusals as well."""

LIMIT = 10.0
"""Seconds of the processor, which a busy machine does not make more."""

WAIT = 300.0
"""Seconds of the clock: for a call that waits and does nothing."""

# What scikit-learn says about names and types of columns: they are public.
_PUBLIC_WARNINGS = ("feature names", "sparse columns found")


class TooSlow(BaseException):
    """A call took longer than the limit."""


@contextmanager
def at_most(work=LIMIT, wait=WAIT):
    """Stop what takes longer; calls into compiled code end first."""

    def stop(*_):
        raise TooSlow

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, work),
        signal.SIGALRM: (signal.ITIMER_REAL, wait),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class Ended:
    """How a call ended: its error, what was charged to any ledger, and its warnings."""

    error: BaseException | None = None
    charges: int = 0
    warned: list = field(default_factory=list)

    def faults(self):
        """What is wrong, in words; nothing if the call ended well."""
        found = [f"warns: {text}" for text in self.warned]
        if self.error is None:
            return found
        kind = type(self.error).__name__
        if not isinstance(self.error, REFUSALS) or _is_bug(self.error):
            found.append(f"raises {kind}: {self.error}")
        if self.charges:
            found.append(f"raises {kind} after {self.charges} charges: {self.error}")
        if any(trace in said(self.error) for trace in TRACES):
            found.append(f"{kind} names a cell: {self.error}")
        return found


def _is_bug(error):
    from sklearn.exceptions import NotFittedError

    return isinstance(error, BUGS) and not isinstance(error, NotFittedError)


def said(error):
    """All that an error says, also of those it came from, as a traceback prints it."""
    lines = traceback.format_exception(error)
    return "".join(line for line in lines if not line.startswith('  File "'))


@contextmanager
def counted_charges(ended):
    """Count what is charged to budgets in memory and to those that last."""
    from sfumato._ledger.durable import DurableLedger

    originals = {cls: cls.__dict__["charge"] for cls in (Ledger, DurableLedger)}

    def counting(original):
        def charge(self, *args, **settings):
            positions = original(self, *args, **settings)
            ended.charges += 1
            return positions

        return charge

    for cls, original in originals.items():
        cls.charge = counting(original)
    try:
        yield
    finally:
        for cls, original in originals.items():
            cls.charge = original


def attempt(call):
    """Run a call, and keep how it ended."""
    ended = Ended()
    with warnings.catch_warnings(record=True) as warned, counted_charges(ended):
        warnings.simplefilter("always")
        try:
            with at_most():
                call()
        except (Exception, TooSlow) as error:
            ended.error = error
    texts = [f"{w.category.__name__}: {w.message}" for w in warned]
    ended.warned = [t for t in texts if not any(public in t for public in _PUBLIC_WARNINGS)]
    return ended

"""`sfumato audit`: try to refute a promise of privacy, on made-up rows."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.table import Table
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfumato import audit
from sfumato._base import extra
from sfumato._base.files import atomic_path, write_whole
from sfumato._base.validation import check_delta, check_epsilon
from sfumato._private_kmeans import PrivateKMeans
from sfumato.audit._observe import new_estimator
from sfumato.audit._run import default_for
from sfumato.cli._app import VIOLATION, print_json
from sfumato.cli._commands import Audit
from sfumato.cli._inputs import check_output
from sfumato.cli._methods import configured
from sfumato.cli._show import console
from sfumato.plots import plot_audit

_BOUNDS = (-3.0, 3.0)
_FIGURES = (".png", ".svg", ".pdf")


def run(request: Audit) -> int:
    """Audit, and say what was found; the exit code is 4 if the promise is broken."""
    _check_outputs(request)
    check_epsilon(request.epsilon), check_delta(request.delta)
    factory = _estimator(request)
    with _progress() as show:
        verdict = audit.run(
            factory,
            *(request.epsilon, request.delta, _pairs(request, factory), request.minutes),
            trials=request.trials,
            alpha=request.alpha,
            attributes=request.attributes,
            n_jobs=request.jobs,
            progress=show,
        )
    if request.output is not None:
        write_whole(request.output, json.dumps(verdict.as_dict(), indent=2) + "\n")
    if request.figure is not None:
        _draw(verdict, request.figure)
    if request.as_json:
        print_json(verdict.as_dict())
    else:
        _print(verdict, request)
    return VIOLATION if verdict.broken else 0


def _check_outputs(request: Audit) -> None:
    """Refuse, before any fit, what could not be written after the last one."""
    for path in (request.output, request.figure):
        if path is not None:
            check_output(path, force=request.force)
    if request.figure is None:
        return
    if request.figure.suffix not in _FIGURES:
        raise ValueError(f"--figure needs a name that ends in {', '.join(_FIGURES)}")
    try:
        import_module("matplotlib")
    except ImportError:
        raise ValueError(f"--figure needs matplotlib: {extra('plots')}") from None


def _estimator(request: Audit) -> Any:  # noqa: ANN401
    """What is audited."""
    ours = request.method is not None or bool(request.settings)
    if sum((ours, request.demo, request.estimator is not None)) > 1:
        raise ValueError("one of --method, --demo and --estimator is needed, not several")
    if request.estimator is not None:
        return _imported(request.estimator)
    model = PrivateKMeans(
        request.k,
        epsilon=request.epsilon,
        delta=request.delta,
        bounds=_BOUNDS,
        method=configured(request.method or "auto", request.settings),
    )
    return make_pipeline(StandardScaler(), model) if request.demo else model


def _imported(text: str) -> Any:  # noqa: ANN401
    """Import an estimator of the user's, MODULE:NAME."""
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ValueError(f"--estimator {text}: MODULE:NAME is needed, such as mine:make_model")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise ValueError(f"--estimator {text}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    if not callable(found) and not hasattr(found, "fit"):
        raise ValueError(f"--estimator {text}: neither an estimator with `fit` nor callable")
    return found


def _pairs(request: Audit, factory: Any) -> list[audit.Pair] | None:  # noqa: ANN401
    """The pairs that were named; None for all."""
    if not request.pairs:
        return None
    known = {pair.name: pair for pair in default_for(new_estimator(factory))}
    for name in request.pairs:
        if name not in known:
            raise ValueError(f"--pair must be one of {', '.join(known)}, got {name!r}")
    return [known[name] for name in dict.fromkeys(request.pairs)]


@contextmanager
def _progress() -> Iterator[Callable[[audit.Progress], None] | None]:
    """Show on a terminal how far the audit has come."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("auditing …")) as status:

        def show(now: audit.Progress) -> None:
            text = f"auditing … {now.part:.0%}, {now.trials:,} fits, last on {now.pair}"
            status.update(Text(f"{text}; ε is at least {now.epsilon_lower:.2f}"))

        yield show


def _draw(verdict: audit.Verdict, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    plot_audit(verdict, figure.add_subplot())
    with atomic_path(path) as place:
        figure.savefig(place, format=path.suffix[1:], dpi=150)


def _print(verdict: audit.Verdict, request: Audit) -> None:
    out = console()
    table = Table()
    table.add_column("pair")
    table.add_column("ε is at least", justify="right")
    for name, bound in verdict.by_pair.items():
        table.add_row(name, f"{bound:.3f}")
    out.print(table)
    out.print(str(verdict))
    for path in (request.output, request.figure):
        if path is not None:
            out.print(f"Written to {path}", soft_wrap=True)

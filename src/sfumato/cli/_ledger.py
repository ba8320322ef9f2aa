"""`sfumato ledger …`: budgets that last, who spent them, and what was released."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from sfumato._accounting.budget import Caps
from sfumato._base.files import read_whole, write_whole
from sfumato._base.validation import check_delta, check_epsilon, check_whole
from sfumato._ledger.books import (
    datasets_in,
    exported,
    flaws_in,
    history,
    overview,
    released_text,
    releases_in,
)
from sfumato._ledger.durable import NOBODY, facts_of, open_store
from sfumato._ledger.ledger import Ledger
from sfumato._ledger.modes import MODES, Amounts, Composition, covers, fraction_of
from sfumato._ledger.sqlite import new_mark
from sfumato._ledger.store import Store
from sfumato._schema.kinds import Number
from sfumato._schema.schema import Schema
from sfumato.cli import _commands as c
from sfumato.cli._app import VIOLATION, print_json
from sfumato.cli._inputs import bounds_in, check_output
from sfumato.cli._methods import configured
from sfumato.cli._show import console
from sfumato.methods import Task, method_of

_UNITS = {"epsilon": "ε", "delta": "δ", "pure": "pure ε", "mu2": "μ²", "rho": "ρ"}


def run_create(request: c.LedgerCreate) -> None:
    """Create the ledger of a dataset, and say how many fits it carries."""
    parts = {"pure": request.pure, "plain": request.plain}
    bounds, source = _declared(request)
    if bounds is not None and not source:
        raise ValueError(
            "declared bounds need --bounds-from: a sentence on where they come from; in a schema "
            "`source`, of each column"
        )
    ledger = Ledger.create(
        request.ledger,
        request.dataset,
        epsilon=request.epsilon,
        delta=request.delta,
        mode=MODES[list(c.Mode).index(request.mode)],
        parts={name: part for name, part in parts.items() if part is not None},
        max_rows_per_group=request.max_rows_per_group,
        bounds=bounds,
        bounds_source=source,
    )
    carried = _carried(request, ledger.facts.composition)
    shown = overview(ledger.store, request.dataset)
    if request.as_json:
        print_json({**shown, "fits": carried})
        return
    _print_overview(shown)
    if carried:
        each = f"ε = {request.fit_epsilon:g}, δ = {request.fit_delta:g}"
        table = Table(title=f"Fits of {each} that this (ε, δ) carries", title_justify="left")
        for title in ("mode", "fits of pure ε", "Gaussian fits, 15 % pure"):
            table.add_column(title, justify="left" if title == "mode" else "right")
        for mode, numbers in carried.items():
            table.add_row(mode, *(f"{n:,}" for n in numbers.values()))
        console().print(table)


def _declared(request: c.LedgerCreate) -> tuple[Any, str]:
    """The bounds that are declared, and where they come from: from a file, or of a schema."""
    if request.schema is None:
        bounds = None if request.bounds_file is None else bounds_in(request.bounds_file)
        return bounds, request.bounds_from
    if request.bounds_file is not None:
        raise ValueError("bounds come from --bounds-file or from --schema, not from both")
    columns = Schema.read(request.schema).columns
    numbers = {name: column for name, column in columns.items() if isinstance(column, Number)}
    if not numbers:
        raise ValueError(f"{request.schema} declares no number: a ledger keeps bounds of numbers")
    sources = {name: column.source for name, column in numbers.items()}
    known = "; ".join(f"{name}: {source}" for name, source in sources.items() if source)
    bounds = {name: list(column.ends) for name, column in numbers.items()}
    return bounds, request.bounds_from or (known if all(sources.values()) else "")


def _carried(request: c.LedgerCreate, chosen: Composition) -> dict[str, dict[str, int]]:
    """How many fits of one size each mode would carry: all pure, and Gaussian with 15 % pure."""
    if request.fit_epsilon is None:
        return {}
    epsilon, delta = check_epsilon(request.fit_epsilon), check_delta(request.fit_delta)
    sizes = {"pure": Caps(pure=epsilon)}
    if delta:
        pure = epsilon * Fraction(15, 100)
        sizes["gaussian"] = Caps(pure=pure, gaussian=(epsilon - pure, delta))
    found: dict[str, dict[str, int]] = {}
    for mode in MODES if chosen.delta else ("add",):
        one = Composition(mode, chosen.epsilon, chosen.delta, chosen.pure, chosen.plain)
        found[mode] = {name: one.fits(caps) for name, caps in sizes.items()}
    return found


def run_show(request: c.LedgerShow) -> None:
    """Print total, spent and left of every dataset, or of one."""
    store = open_store(request.ledger)
    names = datasets_in(store) if request.dataset is None else [request.dataset]
    shown = [overview(store, name) for name in names]
    if request.as_json:
        print_json({"datasets": shown})
        return
    for one in shown:
        _print_overview(one)


def _print_overview(one: dict[str, Any]) -> None:
    out = console()
    total, spent = _amount(one["epsilon"], one["delta"]), one["spent"]
    out.print(f"{one['dataset']}: {total} for all fits together; mode {one['mode']}")
    out.print(f"  protects {one['protects']}; spent so far: {_amount(**spent)}")
    if one["bounds"] is not None:
        out.print(f"  bounds {json.dumps(one['bounds'])}: {one['bounds_source']}", soft_wrap=True)
    table = Table()
    for title in ("budget of", "unit", "total", "left"):
        table.add_column(title, justify="right" if title in ("total", "left") else "left")
    lines = [("all others" if one["grants"] else "everybody", one["capacities"], one["left"])]
    lines += [(name, grant["granted"], grant["left"]) for name, grant in one["grants"].items()]
    for whose, granted, left in lines:
        for unit, amount in granted.items():
            table.add_row(whose, _UNITS[unit], f"{amount:.6g}", f"{left.get(unit, 0):.6g}")
    out.print(table)
    for line in one["without_release"]:
        out.print(
            f"Without a release: ε {line['epsilon']:g} by {line['who']} at {line['at']}, request "
            f"{line['request']}. The fit is running, or was interrupted and stays spent.",
            soft_wrap=True,
        )


def _amount(epsilon: float, delta: float) -> str:
    return f"ε = {epsilon:.6g}" + (f", δ = {delta:.3g}" if delta else "")


def run_history(request: c.LedgerHistory) -> None:
    """Print who spent what for what."""
    lines = history(_store_with(request), request.dataset)
    if request.as_json:
        print_json({"history": lines})
        return
    rows = (
        (
            _time(line["at"]),
            line["dataset"],
            line["person"] or line["who"],
            f"{line['kind']} {line['method']}".strip(),
            f"{line['epsilon']:g}",
            line["purpose"],
            line["state"],
            (line["request"] or "")[:8],
        )
        for line in lines
    )
    titles = ("time (UTC)", "dataset", "who", "what", "ε", "for", "state", "request")
    _print_table(titles, rows)


def _store_with(request: c.LedgerCommand) -> Store:
    """The store that was named, if it has the dataset that was."""
    store = open_store(request.ledger)
    if request.dataset is not None:
        facts_of(store, request.dataset)
    return store


def _time(text: str) -> str:
    """A time to the minute."""
    return text[:16].replace("T", " ")


def _print_table(titles: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    table = Table()
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title in ("time (UTC)", "ε"))
    for row in rows:
        table.add_row(*row)
    console().print(table)


def run_verify(request: c.LedgerVerify) -> int:
    """Check every event, hash, balance and charge. Ends with 4 if anything is wrong."""
    if request.new_mark:
        new_mark(Path(request.ledger))
    store = open_store(request.ledger)
    flaws, events = flaws_in(store), len(store.events())
    if request.as_json:
        found = [{"event": flaw.seq, "what": flaw.what} for flaw in flaws]
        print_json({"events": events, "flaws": found})
    elif flaws:
        for flaw in flaws:
            console().print(f"event {flaw.seq}: {flaw.what}", soft_wrap=True)
    else:
        console().print(f"{events:,} events, every hash, balance and charge in order.")
    return VIOLATION if flaws else 0


def run_grant(request: c.LedgerGrant) -> None:
    """Set a part of the budget aside for one person."""
    ledger = Ledger.open(request.ledger, request.dataset)
    ledger.grant(request.to, epsilon=request.epsilon, delta=request.delta)
    shown = overview(ledger.store, ledger.facts.dataset)
    if request.as_json:
        print_json(shown)
    else:
        _print_overview(shown)


def run_releases(request: c.LedgerReleases) -> None:
    """List what was released, or write one release again, which is free."""
    store = _store_with(request)
    if request.get is None:
        lines = releases_in(store, request.dataset)
        if request.as_json:
            print_json({"releases": lines})
            return
        titles = ("time (UTC)", "dataset", "method", "guarantee", "request")
        rows = (
            (_time(r["at"]), r["dataset"], r["method"], r["guarantee"], r["request"]) for r in lines
        )
        _print_table(titles, rows)
        return
    if request.output is None:
        raise ValueError("--get needs --output: where to write the release")
    check_output(request.output, force=request.force)
    write_whole(request.output, released_text(store, request.get))
    if request.as_json:
        print_json({"written_to": str(request.output)})
    else:
        console().print(f"Release written to {request.output}. It cost nothing.", soft_wrap=True)


def run_export(request: c.LedgerExport) -> None:
    """Write every event and release as JSON."""
    data = exported(open_store(request.ledger))
    if request.output is None:
        print_json(data)
        return
    check_output(request.output, force=request.force)
    write_whole(request.output, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    console().print(f"{len(data['events']):,} events written to {request.output}", soft_wrap=True)


def run_price(request: c.LedgerPrice) -> None:
    """Say what planned fits would cost together, before anything is spent."""
    store = open_store(request.ledger)
    facts = facts_of(store, request.dataset)
    left = dict(store.balances(facts.dataset).get(request.person or NOBODY, {}))
    lines, total = list[tuple[str, Amounts, bool]](), dict[str, int]()
    for number, fit in enumerate(_planned(request.fits), 1):
        cost = facts.composition.cost(_caps_of(fit, facts.max_rows_per_group or 1, number))
        for _ in range(check_whole(fit.get("times", 1), f"fit {number}: times")):
            covered = covers(left, cost)
            if covered:
                left = {unit: there - cost.get(unit, 0) for unit, there in left.items()}
            total = {unit: total.get(unit, 0) + cost.get(unit, 0) for unit in {**total, **cost}}
            lines.append((str(fit.get("name", fit.get("method", "auto"))), cost, covered))
    if request.as_json:
        fits = [{"fit": name, "cost": _floats(cost), "covered": yes} for name, cost, yes in lines]
        print_json({"fits": fits, "total": _floats(total), "left_after": _floats(left)})
        return
    rows = ((name, _priced(cost), "yes" if yes else "no") for name, cost, yes in lines)
    _print_table(("fit", "cost", "covered"), rows)
    console().print(
        f"Together {_priced(total)}; left after the {sum(yes for *_, yes in lines)} fits that are "
        f"covered: {_priced(left)}. Nothing was spent."
    )


def _planned(path: Path) -> list[dict[str, Any]]:
    """The fits in a file: a list in JSON, or [[fits]] in TOML."""
    try:
        text = read_whole(path)
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is neither JSON nor, with the ending .toml, TOML") from None
    fits = data.get("fits") if isinstance(data, dict) else data
    if not isinstance(fits, list) or not all(isinstance(fit, dict) for fit in fits):
        raise ValueError(
            f'{path} must hold a list of fits such as {{"k": 5, "columns": 6, "epsilon": 0.1, '
            '"delta": 1e-7, "method": "auto", "times": 10}'
        )
    return fits


def _caps_of(fit: dict[str, Any], rows: int, number: int) -> Caps:
    """The caps of a planned fit."""
    missing = [name for name in ("k", "columns", "epsilon") if name not in fit]
    if missing:
        raise ValueError(f"fit {number} has no {', '.join(missing)}")
    settings = [f"{name}={value}" for name, value in fit.get("settings", {}).items()]
    task = Task(
        check_whole(fit["k"], f"fit {number}: k"),
        check_whole(fit["columns"], f"fit {number}: columns"),
        check_epsilon(fit["epsilon"]),
        check_delta(fit.get("delta", 0.0)),
        fit.get("n_rows"),
        max_rows_per_group=rows,
    )
    return method_of(configured(fit.get("method", "auto"), settings)).caps(task)


def _floats(amounts: Amounts) -> dict[str, float]:
    return {unit: float(fraction_of(unit, number)) for unit, number in amounts.items()}


def _priced(amounts: Amounts) -> str:
    return ", ".join(f"{_UNITS[unit]} {amount:.6g}" for unit, amount in _floats(amounts).items())

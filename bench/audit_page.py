"""The page of the audits: its tables and its figure, from the table of results."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench.broken import BROKEN

mpl.use("Agg")

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURE = DOCS / "how-we-attack-ourselves.md", DOCS / "figures" / "audit.png"
BEGIN, END = "<!-- audit: written by `python -m bench audit` -->", "<!-- end of audit -->"
COLUMNS = [
    *("kind", "what", "epsilon", "delta", "place"),
    *("runs", "bound", "wrong", "seconds", "note"),
]
KINDS = ("replay", "likelihood", "black box")
# Colours that all can tell apart (Okabe and Ito), each with a mark of its own.
STYLES = {"replay": ("#000000", "|"), "likelihood": ("#0072b2", "o"), "black box": ("#e69f00", "^")}

Row = dict[str, str]


def text(rows: list[Row]) -> str:
    """All tables."""
    parts = [_methods(rows), _broken(rows), _canaries(rows)]
    return "\n\n".join(part for part in parts if part)


def _of(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


def _part(row: Row) -> float:
    """The bound over what is claimed."""
    return float(row["bound"]) / float(row["epsilon"])


def _methods(rows: list[Row]) -> str:
    names = list(dict.fromkeys(row["what"] for row in rows if row["kind"] in KINDS))
    lines = [
        "| method | replays | largest loss / charge | runs, likelihood | largest bound / claim | "
        "fits, black box | largest bound / claim | found broken |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in names:
        mine = [row for row in rows if row["what"] == name and row["kind"] in KINDS]
        cells = []
        for kind in KINDS:
            some = _of(mine, kind)
            runs = sum(int(row["runs"]) for row in some)
            cells += [f"{runs:,}", f"{max(map(_part, some)):.2f}" if some else "–"]
        wrong = sum(int(row["wrong"]) for row in mine)
        lines.append(f"| {name} | {' | '.join(cells)} | {wrong} of {len(mine)} |")
    return "\n".join(lines) if names else ""


def _broken(rows: list[Row]) -> str:
    found = _of(rows, "broken")
    if not found:
        return ""
    lines = [
        "| estimator, claimed ε = 1 | caught | ε is at least | fits | seconds | by the event |",
        "|---|---|---:|---:|---:|---|",
    ]
    for row in found:
        bad = row["what"] in BROKEN
        caught = "yes" if bad != bool(int(row["wrong"])) else "no"
        event = row["note"].split(" (")[0].replace("|", "\\|") if caught == "yes" else ""
        numbers = f"{float(row['bound']):.2f} | {int(row['runs']):,} | {row['seconds']}"
        lines.append(f"| {row['what']} | {caught} | {numbers} | {event} |")
    return "\n".join(lines)


def _canaries(rows: list[Row]) -> str:
    found = _of(rows, "canaries")
    if not found:
        return ""
    lines = ["| one run | claimed ε, δ | canaries | ε is at least |", "|---|---|---:|---:|"]
    for row in found:
        claim = f"{row['epsilon']}, {row['delta']}"
        bound = f"{float(row['bound']):.2f}"
        lines.append(f"| {row['what']} | {claim} | {int(row['runs']):,} | {bound} |")
    return "\n".join(lines)


def draw(rows: list[Row], path: Path) -> None:
    """Bounds over claims, of every method, one panel for each ε; filled marks have δ = 0."""
    mine = [row for row in rows if row["kind"] in KINDS]
    if not mine:
        return
    epsilons = sorted({row["epsilon"] for row in mine}, key=float)
    names = list(dict.fromkeys(row["what"] for row in mine))
    size = (3.6 * len(epsilons) + 1.2, 0.36 * len(names) + 1.8)
    figure, axes = plt.subplots(
        1, len(epsilons), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axis, epsilon in zip(axes[0], epsilons, strict=True):
        _panel(axis, [row for row in mine if row["epsilon"] == epsilon], names)
        axis.set_title(f"ε = {epsilon}", fontsize=10)
    axes[0][0].set_yticks(range(len(names)), names)
    axes[0][0].invert_yaxis()
    axes[0][len(epsilons) // 2].set_xlabel("loss / charge, or lower bound of ε / claimed ε")
    # Not every panel has every kind of mark.
    known = [axis.get_legend_handles_labels() for axis in axes[0]]
    marks = {label: mark for found in known for mark, label in zip(*found, strict=True)}
    axes[0][-1].legend(marks.values(), marks.keys(), loc="center right", fontsize=8)
    figure.suptitle("What every audit shows: a mark beyond 1 would be a broken promise")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _panel(axis: mpl.axes.Axes, rows: list[Row], names: list[str]) -> None:
    axis.axvline(1, color="#d55e00", linestyle="--", linewidth=1.5, label="the promise")
    for number, (kind, (colour, mark)) in enumerate(STYLES.items()):
        mine = _of(rows, kind)
        # Exact losses with and without δ are shown as one.
        claims = [None] if kind == "replay" else sorted({row["delta"] for row in mine})
        for delta in claims:
            best: dict[str, float] = {}
            for row in mine:
                if delta in (None, row["delta"]):
                    best[row["what"]] = max(best.get(row["what"], 0.0), min(_part(row), 1.3))
            places = [names.index(name) + 0.24 * (number - 1) for name in best]
            claim = {None: "", "0": ", δ = 0"}.get(delta, f", δ = {delta}")
            style = {"marker": mark, "color": colour, "linestyle": "", "label": f"{kind}{claim}"}
            fill = "white" if delta not in (None, "0") else colour
            axis.plot(list(best.values()), places, ms=10 if delta is None else 5, mfc=fill, **style)
    axis.set_xlim(-0.05, 1.95)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axis.grid(alpha=0.25)


def write_tables(rows: list[Row], page: Path = PAGE) -> None:
    """Write the tables; the page is replaced in one step."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    copy = page.with_suffix(".tmp")
    copy.write_text(f"{before}{BEGIN}\n{text(rows)}\n{END}{after}", encoding="utf-8")
    copy.replace(page)


def write(rows: list[Row], page: Path = PAGE, figure: Path = FIGURE) -> None:
    """Write tables and figure."""
    write_tables(rows, page)
    draw(rows, figure)

"""Neighbour pairs of at most 50 rows in the square [−1, 1]², for the audits of all methods."""

from __future__ import annotations

import numpy as np

from sfumato._base.types import Floats
from sfumato.audit import Pair, World

MOST = 50
GROUP = 3
"""Rows that are kept of a group."""

KINDS = ("corner", "outlier", "missing", "half missing", "duplicate", "lone", "first", "group")


def clumps(rng: np.random.Generator, n: int) -> Floats:
    """Rows (n, 2) in three clumps."""
    middles = rng.uniform(-0.8, 0.8, (3, 2))
    found: Floats = middles[rng.integers(3, size=n)] + rng.uniform(-0.1, 0.1, (n, 2))
    return found


def pair_of(kind: str, seed: int) -> Pair:
    """One pair of a kind; the seed decides everything else."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    rows = clumps(rng, int(rng.integers(1, MOST)))
    corner = rng.choice([-1.0, 1.0], (1, 2))
    if kind == "group":
        return _group_pair(rows, np.repeat(corner, 2 * GROUP, axis=0), seed)
    if kind == "duplicate":
        rows = np.repeat(rows[:1], len(rows), axis=0)
    if kind == "lone":
        rows = np.clip(rows / 8 - 0.8 * corner, -1, 1)
    if kind == "first":
        rows = rows[:0]
    row = {
        "outlier": corner * 10.0 ** rng.integers(1, 300),
        "missing": np.full((1, 2), np.nan),
        "half missing": np.where([[True, False]], np.nan, corner),
        "duplicate": rows[:1],
    }.get(kind, corner)
    at = int(rng.integers(len(rows) + 1))
    larger = np.vstack([rows[:at], row, rows[at:]])
    return Pair(f"{kind} {seed}", World(rows), World(larger), f"a row ({kind})")


def _group_pair(rows: Floats, members: Floats, seed: int) -> Pair:
    """Rows in groups of two, without and with one more group, of more rows than are kept."""
    groups = np.arange(len(rows)) // 2
    smaller = World(rows, groups)
    both = np.append(groups, np.full(len(members), 99))
    larger = World(np.vstack([rows, members]), both)
    return Pair(f"group {seed}", smaller, larger, f"a group of {len(members)} rows")


def many(number: int) -> list[Pair]:
    """So many pairs, of all kinds in turn."""
    return [pair_of(KINDS[i % len(KINDS)], i // len(KINDS)) for i in range(number)]


def five() -> list[Pair]:
    """The pairs of the audits by samples: the likelier a bug shows there, the earlier."""
    rows = clumps(np.random.default_rng(1), 40)
    tight = clumps(np.random.default_rng(2), 40) / 8 - 0.8
    corner = np.ones((1, 2))

    def grown(name: str, rows: Floats, row: Floats, difference: str) -> Pair:
        return Pair(name, World(rows), World(np.vstack([rows, row])), difference)

    return [
        grown("corner", rows, corner, "a row in a corner"),
        grown("lone", tight, corner, "the one row of a cluster of its own"),
        grown("first", rows[:0], corner, "the only row"),
        grown("duplicate", np.repeat(rows[:1], 30, axis=0), rows[:1], "one of many equal rows"),
        grown("outlier", rows, 1e9 * corner, "a row far outside the bounds"),
    ]

"""Two worlds that differ by one person: what a game of an audit is played on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._base.types import Floats, Ints
from sfumato._base.validation import check_whole


@dataclass(frozen=True, eq=False)
class World:
    """What one fit is given: rows, (n, d), or the bytes of a file; and the group of each row."""

    rows: Floats | bytes
    groups: Ints | None = None


@dataclass(frozen=True, eq=False)
class Pair:
    """Two worlds; `larger` has one person more, who is described by `difference`."""

    name: str
    smaller: World
    larger: World
    difference: str


_ROWS = 60
_FAR = 1e4
_GROUP = 8


def pairs(
    n_features: int = 2,
    bounds: Any = (-3.0, 3.0),  # noqa: ANN401
    *,
    random_state: int = 0,
) -> list[Pair]:
    """Return neighbour pairs on which estimators are known to fail, of made-up rows.

    `bounds` are those of the estimator, scalars or one value per column: rows lie within them,
    but for one that is far outside. `random_state` seeds the rows.
    """
    d = check_whole(n_features, "n_features")
    lower, upper = (np.broadcast_to(np.asarray(x, dtype=np.float64), (d,)) for x in bounds)
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()):
        raise ValueError(
            f"bounds must be finite, (lower, upper) with lower < upper, got {bounds!r}"
        )
    rng = np.random.default_rng(random_state)

    def rows(points: Any) -> Floats:  # noqa: ANN401
        """Points of the cube [−1, 1]^d, in units of the bounds."""
        return (lower + upper) / 2 + np.atleast_2d(points) * (upper - lower) / 2

    corner = np.ones((1, d))
    cloud = rng.uniform(-0.7, 0.7, (_ROWS, d))
    close = rng.uniform(-0.75, -0.65, (_ROWS, d))
    twice = np.repeat(cloud[: _ROWS // 4], 4, axis=0)
    return [
        _with("outlier", rows(cloud), rows(_FAR * corner), "a row far outside the bounds"),
        _with("empty", rows(close), rows(0.9 * corner), "the one row of a cluster of its own"),
        _with("duplicate", rows(twice), rows(twice[:1]), "one more copy of a row"),
        _with("two-rows", rows(-0.5 * corner), rows(0.5 * corner), "the second row of two"),
        _with("nan", rows(cloud), np.full((1, d), np.nan), "a row without any number"),
        _group_pair(rows(cloud), rows(np.repeat(0.9 * corner, _GROUP, axis=0))),
        _file_pair(rows(cloud), rows(0.9 * corner)[0]),
    ]


def _with(name: str, rows: Floats, row: Floats, difference: str) -> Pair:
    """A pair of rows, (n, d), without and with one row, (1, d)."""
    return Pair(name, World(rows), World(np.concatenate([rows, row])), difference)


def _group_pair(rows: Floats, members: Floats) -> Pair:
    """A pair of rows in groups of two, without and with one more group."""
    groups = np.arange(len(rows)) // 2
    both = np.concatenate([groups, np.full(len(members), groups[-1] + 1)])
    return Pair(
        "group",
        World(rows, groups),
        World(np.concatenate([rows, members]), both),
        f"a person with {len(members)} rows",
    )


def _file_pair(rows: Floats, row: Floats) -> Pair:
    """A pair of text tables, without and with a record whose first field holds lines of its own."""
    lines = [",".join(f"{x:.4f}" for x in each) for each in rows]
    line = ",".join(f"{x:.4f}" for x in row)
    quoted = "\n".join([line] * _GROUP)
    odd = ",".join([f'"{quoted}"', *line.split(",")[1:]])
    with_odd = [*lines[: len(lines) // 2], odd, *lines[len(lines) // 2 :]]
    files = ["".join(f"{line}\n" for line in each).encode() for each in (lines, with_odd)]
    difference = f"a record of a file with a quoted field of {_GROUP} lines, which look like rows"
    return Pair("quoting", World(files[0]), World(files[1]), difference)

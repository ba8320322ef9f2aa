"""Tables with a column of labels, of every kind that can be divided, and runs on their parts."""

from zlib import crc32

import numpy as np

from sfumato.engines._files import TableFile
from tests.laws.harness import curator_of, run

VALUES = ["north", "south", 7, "nowhere"]
"""A public list; no row has the last one."""

SPELLED = ["north", " south", "7.0", "east", None, "07", "North", "south", ""]
"""Labels as rows have them. The keys of three are in the list twice; others are in no part."""

KEYS = ["north", "south", "7", "east", "", "7", "North", "south", ""]

KINDS = ("labels", "pandas", "polars", "pyarrow", "csv", "parquet", "large csv", "large parquet")


def labels_for(n):
    return [SPELLED[i * 5 % len(SPELLED)] for i in range(n)]


def in_part(labels, value):
    """Which rows lie in a part, found without the package."""
    keys = dict(zip(SPELLED, KEYS, strict=True))
    return np.array([keys[label] == str(value) for label in labels], dtype=bool)


def pandas_of(rows, labels):
    import pandas as pd

    region = pd.Series(list(labels), dtype=object)
    return pd.DataFrame({"a": rows[:, 0], "region": region, "b": rows[:, 1]})


def table_of(kind, rows, labels, folder, monkeypatch):
    """A table, and the column of its labels, as they are given to a curator."""
    if kind == "labels":
        return rows, np.array(labels, dtype=object)
    if kind == "pandas":
        return pandas_of(rows, labels), "region"
    if kind == "polars":
        import polars as pl

        columns = {"a": rows[:, 0], "region": labels, "b": rows[:, 1]}
        return pl.DataFrame(columns, schema_overrides={"region": pl.String}), "region"
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": rows[:, 0], "region": pa.array(labels, pa.string()), "b": rows[:, 1]})
    if kind == "pyarrow":
        return table, "region"
    if kind.startswith("large"):
        monkeypatch.setenv("SFUMATO_LATTICE_MB", "0")
        monkeypatch.setattr("sfumato.engines._partitions._PIECE_CELLS", 60)
    else:
        monkeypatch.delenv("SFUMATO_LATTICE_MB", raising=False)
    if kind.endswith("csv"):
        text = ["a,region,b"]
        pairs = zip(rows.tolist(), labels, strict=True)
        text += [f"{a!r},{'' if label is None else label},{b!r}" for (a, b), label in pairs]
        (folder / "rows.csv").write_text("\n".join([*text, ""]))
        return TableFile(folder / "rows.csv", header=True), "region"
    pq.write_table(table, folder / "rows.parquet", row_group_size=17)
    return folder / "rows.parquet", "region"


def parts_of(table, column, values=VALUES, replay=None, **settings):
    """The parts of a curator with replayed noise, each with a transcript; and its ledger."""
    curator = curator_of(table, **settings)
    parts = curator.by(column, values=values)
    for value, part in parts.items():
        if replay is not None:
            part.replay = replay[value].transcript
    return curator.ledger, parts


def run_all(parts, method, budgets):
    """Fit every part, each seeded by what was released about those before it."""
    accounts, seed = {}, 1
    for (value, part), budget in zip(parts.items(), budgets, strict=True):
        accounts[value], centers = run(part, method, budget=budget, seed=seed)
        seed = crc32(centers.points.tobytes())
    return accounts

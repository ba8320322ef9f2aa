"""One table with every kind of column, kept in every way: as text, as typed values, in pieces."""

import gzip
import itertools
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato._schema.kinds import Cycle, Date, Flag, Number
from sfumato._schema.levels import Category, Ordinal
from sfumato._schema.schema import Schema
from sfumato.engines._files import TableFile
from tests.laws.sources import as_text, seen

ODD = 'a "ward", with\nlines'
SCHEMA = Schema(
    income=Number(0, 100_000, scale="log"),
    ward=Category("north", "south", 3, ODD, weight=0.5),
    grade=Ordinal("mild", "moderate", "severe", missing="center"),
    ill=Flag(missing="drop"),
    day=Date("2020-01-01", "2030-12-31", missing="2025-01-01"),
    hour=Cycle(24),
    groups="id",
)
FEATURES = list(SCHEMA.features)
NAMES = ["note", "day", "id", "ward", "income", "hour", "ill", "grade"]
"""As the table has them: a column more, in another order than the schema."""

# income, ward, grade, ill, day, hour, id
RECORDS = [
    ("1200.5", "north", "mild", "yes", "2024-02-29", "23.5", "7"),
    ("", " south ", "severe", "no", "2024-01-01T12:00:00", "1", "7.0"),
    ("1e3", "never heard of", "mild", "TRUE", "2031-01-01", "25", "8"),
    ("-5", "3", "none", "0", "", "-1", ""),
    ("x", "NA", "worse", "", "2024-13-01", "noon", "9"),
    ("99999999", ODD, "moderate", "f", "1990-06-30", "", "10"),
    ("1_000", "3.0", "", "maybe", "not a day", "6", "11"),
    ("inf", "\ufeffnorth", "Mild", "T", "2024-02-29 00:00", "nan", "12"),
    ("0", "", "severe", "1.0", "20240229", "1,5", "NA"),
]
KEPT = 7
"""Rows of the table without those that are dropped: two do not say whether they are ill."""

NEW = [
    ("5", "south", "mild", "n", "2020-01-01", "12", "99"),
    ("?", "?", "?", "y", "?", "?", "99"),
    (ODD, "\n", '"', "1", "\r", "\t", "99"),
    ("nan", "<NA>", "null", "0", "NaT", "None", "99"),
    ("\udcff", "\x00", "1e999", "False", "0000-00-00", "1e400", "99"),
]


def _number(text):
    try:
        found = float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return None
    return found if np.isfinite(found) else None


def _day(text):
    try:
        return None if text.isdigit() else datetime.fromisoformat(text)
    except ValueError:
        return None


def _ill(text):
    words = {"yes": True, "true": True, "t": True, "1.0": True, "1": True, "y": True}
    words |= {"no": False, "f": False, "0": False, "n": False, "false": False}
    return words.get(text.lower())


def _text(text):
    kept = text.replace("\ufeff", "").strip()
    return None if kept.lower() in ("", "na", "<na>", "null", "none") else text


def typed(records):
    """The columns as values of their types, None where a cell is missing or of another type."""
    read = (_number, _text, _text, _ill, _day, _number, _text)
    pairs = zip(read, _turned(records), strict=True)
    columns = [[own(cell) for cell in column] for own, column in pairs]
    return {**dict(zip([*FEATURES, "id"], columns, strict=True)), "note": ["x"] * len(records)}


def texts(records):
    """The columns as text."""
    columns = map(list, _turned(records))
    return {**dict(zip([*FEATURES, "id"], columns, strict=True)), "note": ["a, b"] * len(records)}


def _turned(records):
    return zip(*records, strict=True) if records else [()] * 7


def as_objects(records):
    """The features as objects of many types, by position."""
    table = np.empty((len(records), len(FEATURES)), dtype=object)
    columns = typed(records)
    for j, name in enumerate(FEATURES):
        table[:, j] = columns[name]
    table[table == "3"] = 3
    return table


def as_pandas(records):
    """A data frame with the types that pandas has for missing cells."""
    columns = typed(records)
    kinds = {"ward": "category", "ill": "boolean", "income": "Float64", "grade": "string"}
    kinds |= {"day": "datetime64[ns]", "hour": "float64", "id": object, "note": object}
    return pd.DataFrame({name: pd.Series(columns[name], dtype=kinds[name]) for name in NAMES})


def as_polars(records):
    """A data frame of polars."""
    columns = typed(records)
    kinds = {"ward": pl.Categorical, "ill": pl.Boolean, "income": pl.Float64, "grade": pl.String}
    kinds |= {"day": pl.Datetime("ms"), "hour": pl.Float32, "id": pl.String, "note": pl.String}
    return pl.DataFrame({n: pl.Series(n, columns[n], dtype=kinds[n]) for n in NAMES})


def as_arrow(records):
    """A table of pyarrow, in two chunks."""
    columns = typed(records)
    ward = pa.array(columns["ward"], pa.string()).dictionary_encode()
    days = pa.array(
        [d and d.replace(tzinfo=UTC) for d in columns["day"]], pa.timestamp("us", "Europe/Rome")
    )
    kinds = {"ill": pa.bool_(), "income": pa.float64(), "grade": pa.large_string()}
    kinds |= {"hour": pa.float32(), "id": pa.string(), "note": pa.string()}
    own = {"ward": ward, "day": days}
    table = pa.table({n: own[n] if n in own else pa.array(columns[n], kinds[n]) for n in NAMES})
    half = len(records) // 2
    return pa.concat_tables([table.slice(0, half), table.slice(half)])


def frames(records):
    """Every table in memory that has names."""
    text = texts(records)
    zoned = as_pandas(records)
    zoned["day"] = zoned["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    readable = {n: [c.encode("utf-8", "replace").decode() for c in text[n]] for n in NAMES}
    return {
        "pandas": as_pandas(records),
        "pandas, text": pd.DataFrame(text, columns=NAMES, dtype=object),
        "pandas, zones": zoned,
        "polars": as_polars(records),
        "polars, text": pl.DataFrame({n: pl.Series(n, readable[n], pl.String) for n in NAMES}),
        "pyarrow": as_arrow(records),
        "pyarrow, text": pa.table({n: pa.array(readable[n], pa.string()) for n in NAMES}),
    }


def arrays(records):
    """Every table in memory without names."""
    objects, text = as_objects(records), texts(records)
    plain = np.array([text[n] for n in FEATURES], dtype=object).T.reshape(-1, len(FEATURES))
    hidden = np.ma.array(np.where(objects == None, "3", objects), mask=objects == None)  # noqa: E711
    return {
        "objects": objects,
        "lists": [list(row) for row in objects] or objects,
        "masked": hidden,
        "text": plain,
    }


def write_files(folder, records):
    """Write the table in every format; returns what can be opened."""
    folder.mkdir(parents=True)
    columns = texts(records)
    rows = list(zip(*(columns[n] for n in NAMES), strict=True))
    for ending, mark in (("csv", ","), ("tsv", "\t"), ("csv.gz", ";")):
        lines = [mark.join(NAMES), *as_text(rows, mark)]
        data = ("\ufeff" + "\r\n".join(lines)).encode("utf-8", "surrogateescape")
        place = folder / f"rows.{ending}"
        place.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    half = len(rows) // 2
    for i, part in enumerate((rows[:half], rows[half:])):
        (folder / "parts").mkdir(exist_ok=True)
        lines = [",".join(NAMES), *as_text(part, always=True)]
        data = "\n".join(lines).encode("utf-8", "surrogateescape")
        (folder / "parts" / f"part-{i}.csv").write_bytes(data)
    bare = as_text(zip(*(columns[n] for n in FEATURES), strict=True))
    (folder / "bare.csv").write_bytes("\n".join(bare).encode("utf-8", "surrogateescape"))
    memory = frames(records)
    pq.write_table(memory["pyarrow"], folder / "typed.parquet", row_group_size=2)
    pq.write_table(memory["pyarrow, text"], folder / "text.parquet", row_group_size=2)
    return {
        **{name: folder / name for name in ("rows.csv", "rows.tsv", "rows.csv.gz", "parts")},
        **{name: folder / name for name in ("typed.parquet", "text.parquet")},
        "bare.csv": TableFile(folder / "bare.csv", header=False),
    }


def grown():
    """The table with each of the new records, at the start, in the middle and at the end."""
    for new, place in itertools.product(NEW, (0, 4, len(RECORDS))):
        yield new, [*RECORDS[:place], new, *RECORDS[place:]]


def points_seen(rows):
    """All lattice rows that a curator could see of rows through the schema, with how often."""
    assert rows.n_features == SCHEMA.width
    return seen(rows, SCHEMA.box)

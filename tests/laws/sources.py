"""Tables as their owners keep them, written to files in every way."""

import gzip
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato._lattice.box import Box
from sfumato.engines._files import TableFile

BOX = Box((0.0, 0.0), (10.0, 10.0), "center")
"""Every record is a row, whatever is missing in it."""
NAMES = ["x", "y", "who"]

ENCODINGS = {"latin.csv": "latin-1", "wide.csv": "utf-16"}
TEXTS = ("csv", "csv.gz", "tsv", "folder", *ENCODINGS)

CELLS = ["1", "2.5", "10", "-3", "1e1", "", "NA", "nan", "x", " 4 ", "inf", "é", "1,5", "7;8"]
HOSTILE = [
    *('"', '""', 'a"b', "\n", "1\n2\n3", "\r\n", "\r", '",1\n9,9,9\n"', '"\n5,5,5\n"', "1,2,3"),
    *("1;2;3", "\t", "\ufeff", "\ufeff1", "\udcff", "\udcfd\udcff", "\x00", "\u2028", "\x1c"),
    *("x,y,who", "x;y;who", "\n" * 40, "5,5,5\n" * 200, "x" * 200_000),
]

SPELLINGS = {
    "7": ["7", "7.0", "07", " 7 ", "+7", "7.000e+00", "7."],
    "missing": ["", "NA", "NaN", "null", "None", " ", "<NA>", "nat", "n/a"],
    "ann": ["ann", " ann", "ann  "],
    "a note": ['a "note"\nof, lines', ' a "note"\nof, lines'],
    "day": ["2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00"],
    "big": ["9007199254740993", " 9007199254740993", "+9007199254740993"],
    "bytes": ["\udcff", " \udcff"],
}
OTHERS = ["8", "8.5", "bob", "2024-01-02", "9007199254740992", "\udcfe", "Ann", "7a", "12e5"]


def quoted(cell, mark, always):
    """A cell as a careful writer writes it."""
    if always or any(c in cell for c in (mark, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def as_text(records, mark=",", *, always=False):
    """Records of cells as text; a record that is text already stays as it is."""
    return [
        r if isinstance(r, str) else mark.join(quoted(cell, mark, always) for cell in r)
        for r in records
    ]


def write_text(folder, kind, records, *, header=True, end="\n", last=True, always=False, cut=0):
    """Write a text table, or several; returns it with what is declared about it."""
    mark = "\t" if kind == "tsv" else ","
    head = [mark.join(NAMES)] if header else []
    tables = [records[:cut], records[cut:]] if kind == "folder" else [records]
    ending = "csv" if kind == "folder" else kind
    folder.mkdir()
    for i, part in enumerate(tables):
        lines = [*head, *as_text(part, mark, always=always)]
        text = end.join(lines) + end * bool(last and lines)
        data = text.encode("utf-8", "surrogateescape")
        if kind in ENCODINGS:
            data = text.replace("\ufeff", "").encode(ENCODINGS[kind], "backslashreplace")
        (folder / f"part-{i}.{ending}").write_bytes(
            gzip.compress(data) if ending.endswith("gz") else data
        )
    columns = (0, 1) if not header else ("x", "y")
    return TableFile(folder, columns, header=header, encoding=ENCODINGS.get(kind))


def write_parquet(folder, tables):
    """Write files whose labels are of different types: (values, Arrow array) for each file."""
    folder.mkdir()
    for i, (values, labels) in enumerate(tables):
        columns = [pa.array(values[:, 0]), pa.array(values[:, 1]), labels]
        size = max(1, len(values) // 2)
        pq.write_table(pa.table(columns, NAMES), folder / f"part-{i}.parquet", row_group_size=size)
    return TableFile(folder, ("x", "y"))


# What becomes of ids when somebody writes them: None is a row without one.
KINDS = {
    "int64": lambda ids: pa.array(ids, pa.int64()),
    "int8": lambda ids: pa.array(ids, pa.int8()),
    "as pandas": lambda ids: pa.array(
        [np.nan if i is None else float(i) for i in ids] if None in ids else ids,
        pa.float64() if None in ids else pa.int64(),
    ),
    "floats and nulls": lambda ids: pa.array(
        [i if i is None else float(i) for i in ids], pa.float64()
    ),
    "float32": lambda ids: pa.array([np.nan if i is None else i for i in ids], pa.float32()),
    "text": lambda ids: pa.array(["" if i is None else str(i) for i in ids]),
    "floats as text": lambda ids: pa.array(["NaN" if i is None else f"{i}.0" for i in ids]),
    "decimal": lambda ids: pa.array(
        [i if i is None else Decimal(i) for i in ids], pa.decimal128(20, 3)
    ),
    "dictionary": lambda ids: pa.array(
        [i if i is None else str(i) for i in ids], pa.string()
    ).dictionary_encode(),
    "bytes": lambda ids: pa.array([b"NULL" if i is None else str(i).encode() for i in ids]),
}
TIMES = {
    "seconds": lambda ids: pa.array([_day(i) for i in ids], pa.timestamp("s")),
    "nanoseconds": lambda ids: pa.array([_day(i) for i in ids], pa.timestamp("ns")),
    "days": lambda ids: pa.array([i if i is None else date(2024, 1, i + 1) for i in ids]),
    "with a zone": lambda ids: pa.array([_day(i) for i in ids], pa.timestamp("us", "UTC")),
    "times as text": lambda ids: pa.array(
        ["NaT" if i is None else f"2024-01-{i + 1:02} 00:00:00" for i in ids]
    ),
}


def _day(i):
    return None if i is None else datetime(2024, 1, i + 1)


def seen(rows, box=BOX):
    """All lattice rows that a curator could ever see, each with how often."""
    (block,) = rows.split(box, 1, 3)
    return Counter(map(tuple, block.tolist()))


def check_grown(before, after, most):
    """Nothing of the others has changed, and no more rows have come than may."""
    assert not before - after
    assert (after - before).total() <= most

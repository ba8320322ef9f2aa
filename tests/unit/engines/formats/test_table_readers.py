"""Files at random, read by us, by Python's csv, by pandas and by polars: the same rows and numbers.

Every file is the same for all, or refused by name and line, or one of the differences that
docs/files.md lists.
"""

import csv
import io
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines._files import TableFile, layout_of
from sfumato.engines.formats import _csv as delimited
from sfumato.engines.formats import _records as records
from tests.unit.files import SECRET, Made, made
from tests.unit.grammar import Wrong, generator, parsed
from tests.unit.tables import read


def ours(file, path):
    """The cells of every row and the numbers, whole and in pieces."""
    declared = None if file.header else file.width
    settings = {"sep": file.mark, "encoding": file.encoding, "decimal": file.decimal}
    layout = layout_of(TableFile(path, declared, file.header, **settings))
    table = layout.table
    cells = _cells(table, file.width)
    if len(file.data) % 4 == 0:
        pieces = [_cells(piece, file.width) for piece in table.pieces(1)]
        assert [row for piece in pieces for row in piece] == cells
    return cells, read(layout)[0]


def _cells(table, width):
    columns = [[cell for block in table.cells(i) for cell in block] for i in range(width)]
    return list(zip(*columns, strict=True))


def fitted(rows, width):
    """Records as we read them: cells that are not there are empty, others are left out."""
    return [tuple(c.strip() for c in (*row, *[""] * width)[:width]) for row in rows]


def by_csv(file):
    rows = list(csv.reader(io.StringIO(file.text, newline=""), delimiter=file.mark))
    # The module counts blank lines, as records of no cell, or of one blank cell.
    full = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
    return fitted(full[file.header :], file.width)


def by_pandas(file, path):
    frame = pd.read_csv(
        path,
        sep=file.mark,
        header=0 if file.header else None,
        names=None if file.header else range(file.width),
        dtype=str,
        keep_default_na=False,
        encoding=file.encoding,
        index_col=False,
    )
    return fitted(frame.itertuples(index=False), file.width)


def by_polars(file, path):
    known = file.encoding in ("utf-8", "utf-8-sig")
    frame = pl.read_csv(
        path if known else file.text.encode(),
        separator=file.mark,
        has_header=file.header,
        infer_schema=False,
        truncate_ragged_lines=True,
    )
    return fitted(frame.fill_null("").rows(), file.width)


def numbers(rows, decimal, width):
    """Numbers of text by pandas and by polars."""
    swap = str.maketrans(",.", ".,") if decimal == "," else {}
    columns = [[row[i].translate(swap) for row in rows] for i in range(width)]
    found = [pd.to_numeric(pd.Series(c, dtype=object), errors="coerce") for c in columns]
    theirs = [
        [np.column_stack([c.to_numpy(float, na_value=np.nan) for c in found])],
        [np.column_stack([_by_polars(c) for c in columns])],
    ]
    for (values,) in theirs:
        values[~np.isfinite(values)] = np.nan
    return [values for (values,) in theirs]


def _by_polars(cells):
    text = [cell.encode("utf-8", "replace").decode() for cell in cells]
    return pl.Series(text, dtype=pl.String).cast(pl.Float64, strict=False).to_numpy().copy()


def differs(file):
    """The readers that are known to read such a file otherwise: docs/files.md says why."""
    odd = file.marks
    pandas = odd & {"returns", "bytes"} or _too_long(file) or not file.text.strip()
    polars = odd & {"returns", "bytes", "blank"} or not file.text.strip()
    return {"pandas": bool(pandas), "polars": bool(polars) or _narrow(file)}


def _too_long(file):
    """pandas refuses a record with more fields than the first has, or counts another width."""
    widths = [len(fields) for _, fields in parsed(file.text, file.mark)]
    return any(width > file.width for width in widths)


def _narrow(file):
    """Without a header polars has as many columns as the first record has fields."""
    rows = parsed(file.text, file.mark)
    return not file.header and bool(rows) and len(rows[0][1]) != file.width


def outcome(file, path):
    """Compare one file; returns how it went."""
    path.write_bytes(file.data)
    records._checked.cache_clear()
    try:
        expected = parsed(file.text, file.mark)[file.header :]
    except Wrong as wrong:
        return refused(file, path, "" if "damaged" in file.marks else f"line {wrong.args[0]}: ")
    if "damaged" in file.marks or (file.header and not file.text):
        return refused(file, path, "damaged or incomplete" if "damaged" in file.marks else "empty")
    cells, values = ours(file, path)
    assert cells == fitted([fields for _, fields in expected], file.width), repr(file)
    assert cells == by_csv(file), repr(file)
    other = differs(file)
    if not other["pandas"]:
        assert cells == by_pandas(file, path), repr(file)
    if not other["polars"]:
        assert cells == by_polars(file, path), repr(file)
    for theirs in numbers(cells, file.decimal, file.width):
        np.testing.assert_allclose(values, theirs, rtol=3e-16, atol=0, err_msg=repr(file))
    return "documented" if any(other.values()) else "same"


def refused(file, path, why):
    with pytest.raises(ValueError, match=r"rows\.csv") as caught:
        ours(file, path)
    assert why in str(caught.value), repr(file)
    assert SECRET not in str(caught.value)
    assert SECRET[:4] not in str(caught.value)
    return "refused"


@pytest.mark.parametrize("files", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_all_readers_agree_or_the_file_is_refused_or_the_difference_is_documented(
    tmp_path, monkeypatch, files
):
    monkeypatch.setattr(records, "_GRAIN", 1)
    monkeypatch.setattr(delimited, "_CHARACTERS", 40)
    rng = generator(files)
    before = csv.field_size_limit(2**20)
    counts = Counter()
    for _ in range(files):
        file = made(rng)
        counts[outcome(file, tmp_path / file.name)] += 1
    csv.field_size_limit(before)
    assert counts["same"] > 0.3 * files
    assert counts["refused"] > 0.05 * files
    assert counts["documented"] > 0.2 * files


FIXED = {
    "a note of 200 lines": 'x,y\n1,"' + "5,5\n" * 200 + '"\n3,4\n',
    "doubled quotes": 'x,y\n"1","a ""b"" c"\n"",""""\n',
    "mixed line ends": "x,y\r\n1,2\n3,4\r\n5,6",
    "header only": "x,y\n",
    "header without an end": "x,y",
    "a quoted line end at the end": 'x,y\n1,"\n"',
    "separators in quotes": 'x,y\n"1,2",3\n',
    "nothing but separators": "x,y\n,\n,\n",
    "NUL": "x,y\n\0,1\n1\0,2\n",
    "a long field": f"x,y\n1,{'z' * 200_000}\n3,4\n",
}


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_fixed_files_are_read_alike(tmp_path, monkeypatch, name, encoding):
    monkeypatch.setattr(delimited, "_CHARACTERS", 40)
    before = csv.field_size_limit(2**20)
    text = FIXED[name]
    data = text.encode(encoding)
    file = Made("rows.csv", data, text, ",", 2, True, encoding, ".", frozenset())
    assert outcome(file, tmp_path / file.name) == "same"
    csv.field_size_limit(before)


def _typed(rng, n):
    """A table with columns of every type that can be a feature, some cells missing."""
    gaps = rng.random((7, n)) < 0.2
    whole, real = rng.integers(-99, 99, n), rng.normal(size=n).round(3)
    kinds = [
        (whole.tolist(), pa.int64()),
        ((whole % 100).tolist(), pa.uint8()),
        (real.tolist(), pa.float64()),
        (real.astype(np.float32).tolist(), pa.float32()),
        ([Decimal(f"{x:.3f}") for x in real], pa.decimal128(12, 3)),
        ((whole > 0).tolist(), pa.bool_()),
        ([float(x) for x in whole], pa.float16()),
    ]
    arrays = [
        pa.array([None if gap else cell for cell, gap in zip(cells, own, strict=True)], kind)
        for (cells, kind), own in zip(kinds, gaps, strict=True)
    ]
    return pa.table(arrays, [f"c{i}" for i in range(len(arrays))])


@pytest.mark.parametrize("files", [30, pytest.param(600, marks=pytest.mark.slow)])
def test_parquet_is_read_as_pandas_and_polars_read_it(tmp_path, files):
    rng, path = generator(files), tmp_path / "rows.parquet"
    for _ in range(files):
        n = int(rng.integers(0, 40))
        table = _typed(rng, n)
        pq.write_table(
            table,
            path,
            row_group_size=int(rng.integers(1, 20)),
            use_dictionary=bool(rng.integers(2)),
            compression=["none", "snappy", "zstd"][rng.integers(3)],
            data_page_version=["1.0", "2.0"][rng.integers(2)],
        )
        layout = layout_of(path)
        values = read(layout)[0]
        theirs = pd.read_parquet(path).astype(float).to_numpy()
        # Arrow may miss the last bit of a decimal.
        np.testing.assert_allclose(values, theirs.reshape(n, 7), rtol=3e-16, atol=0)
        others = pl.read_parquet(path).select(pl.all().cast(pl.Float64)).to_numpy()
        np.testing.assert_allclose(values, others.reshape(n, 7), rtol=3e-16, atol=0)
        pieces = [
            block.values for part in layout.table.pieces(7) for block in part.blocks(range(7))
        ]
        np.testing.assert_array_equal(np.concatenate([np.empty((0, 7)), *pieces]), values)


NO_FEATURES = {
    "list": pa.array([[1.0], [2.0]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "text": pa.array(["1", "2"]),
    "dictionary": pa.array(["1", "2"]).dictionary_encode(),
    "timestamp": pa.array([1, 2], pa.timestamp("us")),
    "date": pa.array([1, 2], pa.date32()),
    "bytes": pa.array([b"1", b"2"]),
}


@pytest.mark.parametrize("kind", NO_FEATURES)
def test_columns_of_parquet_that_are_no_numbers_are_refused_by_type(tmp_path, kind):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": pa.array([1.0, 2.0]), "y": NO_FEATURES[kind]}), path)
    with pytest.raises(ValueError, match="y"):
        layout_of(path)
    np.testing.assert_array_equal(read(layout_of(path, columns=["x"]))[0], [[1], [2]])

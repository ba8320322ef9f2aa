"""Tables on disk, cut in ways that nobody would choose."""

import csv
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import _files as files
from sfumato.engines import _partitions as parts
from sfumato.engines import _partitions as pieces
from sfumato.engines import _rows as tasks
from sfumato.engines.formats import _csv as delimited
from sfumato.engines.formats import _records as records
from sfumato.engines.formats import _table as tables

NAMES = "abcdefghij"


def write_parquet(path, rows, cut, labels=None):
    """Write rows in row groups of the sizes that the cuts leave."""
    arrays = {NAMES[i]: rows[:, i] for i in range(rows.shape[1])}
    if labels is not None:
        arrays["who"] = np.asarray(labels)
    table = pa.table(arrays)
    with pq.ParquetWriter(path, table.schema) as writer:
        for start, stop in zip([0, *cut], [*cut, len(rows)], strict=True):
            writer.write_table(table.slice(start, stop - start))
    return path


def write_csv(path, rows, labels=None):
    """Write rows with all their digits, and a blank line or two."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*NAMES[: rows.shape[1]], *([] if labels is None else ["who"])])
        for i, row in enumerate(rows.tolist()):
            out.writerow([*map(repr, row), *([] if labels is None else [labels[i]])])
            if i % 50 == 7:
                file.write("\n")
    return path


def cuts(n, pieces, seed):
    """Random cuts of n rows; some pieces may be empty."""
    return sorted(np.random.default_rng(seed).integers(0, n + 1, pieces - 1).tolist())


@contextmanager
def tiny():
    """Nothing is kept, pieces and blocks have a few rows, and few blocks are held."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_IN_MEMORY", -1)
        patch.setattr(pieces, "_PIECE_CELLS", 60)
        patch.setattr(parts, "_HELD_BYTES", 600)
        patch.setattr(tasks, "_BUFFER_CELLS", 34)
        patch.setattr(tables, "_BLOCK_CELLS", 26)
        patch.setattr(tables, "_FEWEST", 1)
        patch.setattr(delimited, "_CHARACTERS", 100)
        patch.setattr(records, "_GRAIN", 1)
        yield

"""One record more in a file is one row more, one group more m rows: on every engine.

The same law as tests/laws/test_source.py, with fixed sources, where a pass takes longer.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from sfumato.engines._files import layout_of, open_file
from sfumato.engines.formats._records import _checked
from tests.laws.sources import (
    HOSTILE,
    KINDS,
    SPELLINGS,
    TIMES,
    check_grown,
    seen,
    write_parquet,
    write_text,
)
from tests.unit.cuts import tiny

BASE = [(str(i), "2", f"p{i}") for i in range(6)]
# One new record each: a cell with anything in it, at the start, in the middle, at the end.
NEW = [((cell, "3", "new"), place) for cell in HOSTILE if len(cell) < 10_000 for place in (0, 3, 6)]


@pytest.fixture
def dask(dask_client, monkeypatch):
    """Files on two Dask workers, a record or two in a piece."""
    from sfumato.engines._dask import files_on

    monkeypatch.setattr("sfumato.engines._partitions._LEAST_CELLS", 4)

    @contextmanager
    def opened(file, groups=None, max_rows_per_group=1):
        yield files_on(dask_client, layout_of(file, groups=groups), max_rows_per_group)

    return opened


@pytest.fixture
def spark_files(spark, monkeypatch):
    """Files on two Spark executors, a record or two in a piece."""
    from sfumato.engines._spark import open_spark_files

    monkeypatch.setattr("sfumato.engines._partitions._LEAST_CELLS", 4)
    return open_spark_files


def laws(folder, opener, news, spellings, typed):
    """Check sources one by one; each is read in memory too."""
    for i, (new, place) in enumerate(news):
        grown = [*BASE[:place], new, *BASE[place:]]
        header = bool(i % 2)
        before, after = (
            both(opener, write_text(folder / f"{name}{i}", "csv", rows, header=header))
            for name, rows in (("before", BASE), ("after", grown))
        )
        check_grown(before, after, 1)
    for person in spellings:
        rows = [("5", "5", how) for how in SPELLINGS[person]]
        source = write_text(folder / f"group {person}", "csv", [*BASE, *rows])
        assert both(opener, source, groups="who").total() == len(BASE) + 1
    for kinds, one, other in typed:
        values, ids = np.full((8, 2), 5.0), [*range(7), None]
        tables = [(values, kinds[kind](ids)) for kind in (one, other)]
        source = write_parquet(folder / f"{one} {other}", tables)
        assert both(opener, source, groups="who").total() == 8


def both(opener, source, **groups):
    """What is seen there, and that it is what is seen here."""
    _checked.cache_clear()
    here = seen(open_file(source, **groups))
    with tiny(), opener(source, **groups) as rows:
        assert seen(rows) == here
    return here


TYPED = [(kinds, one, other) for kinds in (KINDS, TIMES) for one in kinds for other in kinds]


def test_compss(compss_files, tmp_path):
    laws(tmp_path, compss_files, NEW, sorted(SPELLINGS), TYPED)


@pytest.mark.xdist_group("dask")
def test_dask(dask, tmp_path):
    laws(tmp_path, dask, NEW[::5], sorted(SPELLINGS), TYPED[::7])


@pytest.mark.xdist_group("spark")
def test_spark(spark_files, tmp_path):
    kinds = [(KINDS, "int64", "as pandas"), (TIMES, "seconds", "nanoseconds")]
    news = [n for n in NEW if n[0][0] in ('",1\n9,9,9\n"', "\udcff")][1::2]
    laws(tmp_path, spark_files, news, ["7", "missing", "bytes"], kinds)


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("labels", ["7", "missing", "day"])
def test_spark_frames_gather_spellings(spark, labels):
    from sfumato.engines._spark import open_spark

    rows = [(5.0, 5.0, how) for how in SPELLINGS[labels]] + [(1.0, 1.0, "other")]
    frame = spark.createDataFrame(rows, "x double, y double, who string").repartition(5)
    assert seen(open_spark(frame, "who", 1)).total() == 2

"""Bytes of text tables: encodings, gzip, and files that are no text. No message shows a byte."""

import bz2
import gzip
import io
import lzma
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

from sfumato._lattice.box import Box
from sfumato.engines._files import TableFile, layout_of, open_file
from sfumato.engines.formats import _records as records
from sfumato.engines.formats import _text as texts
from sfumato.engines.formats._text import encoding_named
from tests.laws.sources import seen
from tests.unit.cuts import tiny
from tests.unit.tables import read

BOX = Box((0.0,), (10.0,), "center")
SECRET = "Ann Smith"
TEXT = f'größe;who\n1,5;"José\n{SECRET}"\n2,5;José\n'
SINGLE = ["latin-1", "cp1252", "iso8859-15", "cp437", "mac_roman", "L1"]
DECODED = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030"]


@pytest.fixture
def written(tmp_path):
    def write(data, name="rows.csv"):
        records._checked.cache_clear()
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def zipped(data):
    return gzip.compress(data, mtime=0)


PACKED = zipped(f"a,b\n{SECRET},2\n".encode() * 50)
ARCHIVE = io.BytesIO()
with zipfile.ZipFile(ARCHIVE, "w") as archive:
    archive.writestr("rows.csv", f"a,b\n{SECRET},2\n")
DAMAGED = {
    "no gzip": (f"{SECRET},b\n1,2\n".encode(), "rows.csv.gz", "no gzip file"),
    "cut": (PACKED[:-9], "rows.csv.gz", "damaged or incomplete"),
    "a header alone": (PACKED[:10], "rows.csv.gz", "damaged or incomplete"),
    "garbage behind it": (PACKED + SECRET.encode(), "rows.csv.gz", "damaged or incomplete"),
    "another sum": (PACKED[:-8] + b"abcd" + PACKED[-4:], "rows.csv.gz", "damaged or incomplete"),
    "other bits": (PACKED[:20] + b"\xff" * 9 + PACKED[29:], "rows.csv.gz", "damaged or incomplete"),
    "nothing": (b"", "rows.csv.gz", "empty"),
    "nothing inside": (zipped(b""), "rows.csv.gz", "empty"),
    "gzip as text": (PACKED, "rows.csv", "gzip"),
    "gzip twice": (zipped(PACKED), "rows.csv.gz", "gzip"),
    "zip": (ARCHIVE.getvalue(), "rows.csv", "zip archive"),
    "xz": (lzma.compress(SECRET.encode()), "rows.csv", "xz"),
    "bzip2": (bz2.compress(SECRET.encode()), "rows.csv", "bzip2"),
    "zstd": (b"\x28\xb5\x2f\xfd" + SECRET.encode(), "rows.csv", "zstd"),
    "parquet": (b"PAR1\x15\x04" + SECRET.encode(), "rows.csv", "Parquet"),
    "no parquet": (SECRET.encode(), "rows.parquet", "not a Parquet file"),
    "cut parquet": (b"PAR1" + SECRET.encode() + b"\x08\0\0\0PAR1", "rows.parquet", "not a Parquet"),
    "no array": (SECRET.encode(), "rows.npy", "not an array"),
    "empty": (b"", "rows.csv", "empty"),
    "blank": (b"\n \n\r\n", "rows.csv", "empty"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_files_that_are_not_what_their_name_says_are_refused_by_name(written, kind):
    data, name, why = DAMAGED[kind]
    with pytest.raises(ValueError, match=why) as caught:
        layout_of(TableFile(written(data, name), header=True))
    assert name in str(caught.value)
    assert SECRET[:3] not in str(caught.value)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_gzip_file_of_several_members_is_one_text(written, parts):
    data = b'a,b\n1,"x\ny"\n3,4\n'
    cut = [data[i * len(data) // parts : (i + 1) * len(data) // parts] for i in range(parts)]
    path = written(b"".join(map(zipped, cut)) + bytes(7), "rows.csv.gz")
    np.testing.assert_array_equal(read(layout_of(path, header=True))[0], [[1, np.nan], [3, 4]])


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "pipe.csv"])
def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path, name):
    path = tmp_path / name
    if name == "pipe.csv":
        os.mkfifo(path)
    with pytest.raises(ValueError, match="pipe or a device") as caught:
        layout_of(path, header=True)
    assert str(path) in str(caught.value)


def test_a_folder_without_tables_is_refused(tmp_path):
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"rows\.csv"):
        layout_of(tmp_path / "rows.csv", header=True)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_record_that_is_too_long_is_refused_with_its_line(written, monkeypatch, name, end):
    """What is held is bounded, also of a small file that holds many zeros."""
    monkeypatch.setattr(records, "_LONGEST", 1000)
    monkeypatch.setattr(records, "_CHUNK", 300)
    body = f"1,2{end}" * 1000
    pack = zipped if name.endswith("gz") else bytes
    fits = "x" * 990
    for inside in (fits, f'"{fits[:300]}{end}{fits[303:]}"'):
        data = f"a,b{end}{body}{inside}{end}{body}".encode()
        assert len(read(layout_of(written(pack(data), name), header=True))[0]) == 2001
    for inside in ("\0" * 5000, f'"{"x" * 900}{end}{"y" * 900}"', "\0" * 1001):
        data = f"a,b{end}{body}{inside}{end}{body}".encode()
        with pytest.raises(ValueError, match="line 1002: a record is longer than 1,000 bytes"):
            layout_of(written(pack(data), name), header=True)


def test_a_hundred_megabytes_of_zeros_are_refused_in_little_memory(tmp_path):
    tracemalloc = pytest.importorskip("tracemalloc")
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,b\n1,2\n")
        for _ in range(100):
            file.write(bytes(2**20))
    tracemalloc.start()
    with pytest.raises(ValueError, match="line 3: a record is longer"):
        layout_of(path, header=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size < 10**6
    assert peak < 40 * 2**20


@pytest.mark.parametrize("encoding", [*SINGLE, *DECODED, "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_text_is_the_same_in_every_encoding(written, monkeypatch, encoding, name):
    monkeypatch.setattr(texts, "_BLOCK", 3)
    data = TEXT.encode(encoding)
    path = written(zipped(data) if name.endswith("gz") else data, name)
    file = TableFile(path, header=True, sep=";", encoding=encoding, decimal=",")
    layout = layout_of(file)
    assert layout.names == ("größe", "who")
    np.testing.assert_array_equal(read(layout)[0], [[1.5, np.nan], [2.5, np.nan]])
    assert [c for block in layout.table.cells(1) for c in block] == [f"José\n{SECRET}", "José"]
    assert seen_by(file) == seen_by(
        TableFile(written(TEXT.encode(), "u.csv"), header=True, decimal=",")
    )


def seen_by(file):
    """What a curator sees of one row of each person, in memory and in pieces."""
    found = []
    for wanted in (False, True):
        records._checked.cache_clear()
        if wanted:
            with tiny():
                found.append(seen(open_file(file, groups="who"), BOX))
        else:
            found.append(seen(open_file(file, groups="who"), BOX))
    assert found[0] == found[1]
    return found[0]


def test_one_person_in_files_of_three_encodings_is_one_group(tmp_path):
    """Labels and names are compared as text, not as bytes."""
    people = "x;who\n1;José\n2;Zoë\n"
    for i, encoding in enumerate(["utf-8", "latin-1", "utf-16"]):
        (tmp_path / f"{i}.csv").write_bytes(people.encode(encoding))
    keys = set()
    for i, encoding in enumerate(["utf-8", "latin-1", "utf-16"]):
        file = TableFile(tmp_path / f"{i}.csv", header=True, encoding=encoding)
        keys.add(tuple(c for block in layout_of(file).table.labels(1) for c in block))
    assert keys == {("José", "Zoë")}


@pytest.mark.parametrize("encoding", ["utf-7", "hz", "iso2022_jp", "cp037", "raw_unicode_escape"])
def test_encodings_in_which_records_cannot_be_found_are_refused(written, encoding):
    with pytest.raises(ValueError, match="save the file as UTF-8"):
        layout_of(TableFile(written(b"a,b\n"), header=True, encoding=encoding))


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "", "a\0b", "base64"])
def test_what_is_no_encoding_is_refused(encoding):
    with pytest.raises(ValueError, match="encoding"):
        encoding_named(encoding)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode("latin-1"), None),
        (TEXT.encode("latin-1"), "ascii"),
        (TEXT.encode(), "ascii"),
        (TEXT.encode("utf-16-le"), None),
        (TEXT.encode("utf-16-le"), "latin-1"),
        (b"a\x81b;c\n1;2\n", "cp1252"),
    ],
)
def test_a_header_that_is_not_as_declared_is_refused_and_not_shown(written, data, encoding):
    for asked in ({"header": True}, {"names": ("größe",)}, {"header": "guess"}):
        with pytest.raises(ValueError, match="--encoding cp1252") as caught:
            layout_of(TableFile(written(data), encoding=encoding, **asked))
        assert "rows.csv, line 1: " in str(caught.value)
        assert "gr" not in str(caught.value)
        assert "\ufffd" not in str(caught.value)


@pytest.mark.parametrize("other", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_mark_of_another_encoding_is_refused(written, other):
    path = written(TEXT.encode(other))
    with pytest.raises(ValueError, match=f"--encoding {other.removesuffix('-sig')}"):
        layout_of(TableFile(path, header=True, encoding="latin-1"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_without_the_mark_that_its_encoding_needs_is_refused(written, encoding):
    """Else a file of another encoding would be read as garbage, and its header be shown."""
    with pytest.raises(ValueError, match=rf"rows\.csv has no .* say {encoding}-le") as caught:
        layout_of(TableFile(written(TEXT.encode("cp1252")), header=True, encoding=encoding))
    assert "gr" not in str(caught.value)


def test_a_first_cell_that_makes_a_mark_look_like_another_is_a_cell(written):
    path = written("\0,1\n2,3\n".encode("utf-16"))
    file = TableFile(path, 2, header=False, encoding="utf-16")
    np.testing.assert_array_equal(read(layout_of(file))[0], [[np.nan, 1], [2, 3]])


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_bytes_that_are_no_character_make_their_cell_missing(written, encoding):
    path = written(b"a,b\n1,2\n\x81\xff5,3\n\x81,4\n5,6")
    file = TableFile(path, header=True, encoding=encoding)
    np.testing.assert_array_equal(
        read(layout_of(file))[0], [[1, 2], [np.nan, 3], [np.nan, 4], [5, 6]]
    )


@pytest.mark.parametrize(
    ("encoding", "wrong"),
    [
        ("utf-16-le", b"\0\xd8"),
        ("utf-32-le", b"\xff" * 4),
        ("shift_jis", b"\x81"),
        ("gbk", b"\xff"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 3, 2**18])
def test_wide_text_that_is_not_valid_is_refused_by_line(
    written, monkeypatch, encoding, wrong, end, block
):
    """Where a record ends is not certain behind such a place."""
    monkeypatch.setattr(texts, "_BLOCK", block)
    rows = [f"a,b{end}1,2{end}", f"{end}5,6{end}"]
    data = rows[0].encode(encoding) + wrong + rows[1].encode(encoding)
    with pytest.raises(ValueError, match="line 3: this is not"):
        layout_of(TableFile(written(data), header=True, encoding=encoding))
    cut = rows[0].encode(encoding) + rows[1][len(end) :].encode(encoding) + b"\x81"
    with pytest.raises(ValueError, match="line 4: this is not"):
        layout_of(TableFile(written(cut), header=True, encoding=encoding))


CELLS = [
    "1,5",
    "-,5",
    "+1,",
    "1e3",
    "1,5e-3",
    "7",
    " 2,5 ",
    "1.5",
    "1.234,5",
    "1,2,3",
    "",
    "NA",
    "x",
]


def test_a_decimal_comma_is_read_as_pandas_reads_it(written):
    lines = [f"{a};1" for a in CELLS]
    for extra in ([], ['1;"x"']):
        text = "\n".join(["a;b", *lines, *extra])
        path = written(text.encode())
        values, words, _, _ = read(layout_of(TableFile(path, header=True, decimal=",")))
        for cell, value, word in zip(CELLS, values[:, 0], words[:, 0], strict=False):
            theirs = pd.read_csv(io.StringIO(f"a;b\n{cell};1"), sep=";", decimal=",")["a"]
            expected = float(theirs[0]) if theirs.dtype.kind in "if" else np.nan
            np.testing.assert_equal(value, expected, err_msg=cell)
            assert word == (cell in ("1.5", "1.234,5", "1,2,3", "x"))


def test_labels_with_a_decimal_comma_are_numbers(written):
    path = written(b'x;who\n1;7\n2;7,0\n3;"+7,0"\n4;8,5\n5;8,50\n6;31.12.2024\n7;a,b\n')
    file = TableFile(path, header=True, decimal=",")
    rows = open_file(file, groups="who", max_rows_per_group=1)
    assert seen(rows, BOX).total() == 4
    # Columns that are kept are copied as they are.
    assert next(layout_of(file).table.cells(1))[1] == "7,0"


def test_with_a_decimal_comma_fields_are_separated_by_something_else(written):
    path = written(b"1,5;2\n3,5;4\n")
    for sep in (None, ";"):
        file = TableFile(path, 2, header=False, sep=sep, decimal=",")
        np.testing.assert_array_equal(read(layout_of(file))[0], [[1.5, 2], [3.5, 4]])
    with pytest.raises(ValueError, match="a comma cannot separate fields"):
        layout_of(TableFile(path, 2, header=False, sep=",", decimal=","))
    with pytest.raises(ValueError, match="a point or a comma"):
        layout_of(TableFile(path, 2, header=False, decimal="'"))
    assert not layout_of(TableFile(path, header="guess", decimal=",")).table.named

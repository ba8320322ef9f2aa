"""Datasets from their origins, played by a server on this machine."""

import csv
import gzip
import hashlib
import io
import threading
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module

import numpy as np
import pytest

from bench import data, median
from bench.__main__ import BENCHES
from bench.data import Source, digest, get, main, path_of, sources, with_data
from bench.data_convert import CONVERT, YEAST
from bench.data_fetch import WrongFile, fetch

ROWS = np.array([[1, 2], [3, 4], [900, 800], [1000, 900]], dtype=np.int32)
BIG = bytes(range(256)) * 2000


class Origin(BaseHTTPRequestHandler):
    """Files with ranges; the first answer may break off in the middle."""

    def __init__(self, files, log, *args):
        self.files, self.log = files, log
        super().__init__(*args)

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.log.append((self.path, wanted))
        body = self.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if start >= len(body) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.end_headers()
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.files.pop("cut", None)
        self.wfile.write(body[start:cut])

    def log_message(self, *args):
        pass


@pytest.fixture
def origin():
    files, log = {}, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Origin, files, log))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", files, log
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def little(origin, tmp_path, monkeypatch):
    """A dataset of four rows and its source."""
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    url, files, _ = origin
    files["/a.data.gz"] = gzip.compress(b"1 2\n3 4\n900 800\n1000 900\n")
    files["/a.labels0.gz"] = gzip.compress(b"1\n1\n2\n2\n")
    bounds = {"lo": np.zeros(2), "hi": np.full(2, 1000.0)}
    arrays = {"X": ROWS, "y": np.array([1, 1, 2, 2], dtype=np.uint8), **bounds}
    urls = (f"{url}/a.data.gz", f"{url}/a.labels0.gz")
    return Source("a", "suite", urls, (0, 1000), "free", "nobody", digest(arrays), dtype="int32")


def test_a_dataset_is_fetched_once_with_its_licence(little, origin):
    place = get(little)
    with np.load(place, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["X"], ROWS)
        np.testing.assert_array_equal(file["C"], [[2, 3], [950, 850]])
        np.testing.assert_array_equal(file["hi"], [1000, 1000])
    assert "licence: free\ncite: nobody" in place.with_suffix(".txt").read_text("utf-8")
    asked = len(origin[2])
    assert get(little) == place
    assert len(origin[2]) == asked == 2


def test_wrong_arrays_are_refused_and_nothing_is_kept(little, tmp_path):
    with pytest.raises(WrongFile, match="not kept"):
        get(replace(little, digest="0" * 64))
    assert not path_of("a").exists()
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_a_page_in_place_of_the_data_is_refused(little, origin, tmp_path):
    origin[1]["/a.data.gz"] = b"<html>moved</html>"
    with pytest.raises(WrongFile, match="not in the expected format"):
        get(little)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_an_interrupted_download_goes_on_where_it_stopped(origin, tmp_path):
    url, files, log = origin
    files.update({"/big": BIG, "cut": 100_000})
    place = fetch(f"{url}/big", tmp_path / "big", hashlib.sha256(BIG).hexdigest())
    assert place.read_bytes() == BIG
    assert log == [("/big", None), ("/big", "bytes=100000-")]
    assert not (tmp_path / "big.part").exists()


def test_a_later_run_continues_too(origin, tmp_path):
    url, files, log = origin
    files["/big"] = BIG
    (tmp_path / "big.part").write_bytes(BIG[:7])
    assert fetch(f"{url}/big", tmp_path / "big").read_bytes() == BIG
    assert log == [("/big", "bytes=7-")]


def test_a_part_that_was_whole_is_taken(origin, tmp_path):
    url, files, _ = origin
    files["/big"] = BIG
    (tmp_path / "big.part").write_bytes(BIG)
    assert fetch(f"{url}/big", tmp_path / "big").read_bytes() == BIG


def test_a_wrong_file_is_refused_and_not_kept(origin, tmp_path):
    url, files, _ = origin
    files["/big"] = BIG
    with pytest.raises(WrongFile, match="it is not kept"):
        fetch(f"{url}/big", tmp_path / "big", "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_said(origin, tmp_path):
    with pytest.raises(OSError, match="404"):
        fetch(f"{origin[0]}/none", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_the_catalogue_is_whole():
    found = sources()
    assert len(found) >= 18
    for name, source in found.items():
        assert source.kind in CONVERT, name
        assert len(source.digest) == 64
        assert source.licence
        assert source.cite
        assert all(url.startswith("https://") for url in source.files)
    assert found["birch1"].files[0].endswith("sipu/birch1.data.gz")


@pytest.mark.parametrize("name", sorted(sources()))
def test_the_digests_are_those_of_the_files_that_were_measured(name):
    if not path_of(name).is_file():
        pytest.skip("not in the folder that SFUMATO_DATA names")
    with np.load(path_of(name), allow_pickle=False) as file:
        assert digest({key: file[key] for key in file}) == sources()[name].digest


def test_tables_of_the_repository_of_uci(tmp_path):
    adult = "39, x, 77516, x, 13, x, x, x, x, x, 2174, 0, 40, x, <=50K\n"
    test = "|1x3 Cross validator\n" + adult.replace("<=50K", ">50K.")
    (tmp_path / "adult.data").write_text(adult)
    (tmp_path / "adult.test").write_text(test)
    found = CONVERT["adult"]([tmp_path / "adult.data", tmp_path / "adult.test"])
    assert found["X"].tolist() == [[39, 77516, 13, 2174, 0, 40]] * 2
    assert found["y"].tolist() == [0, 1]
    (tmp_path / "yeast").write_text(
        "ADT1_YEAST  0.58  0.61  0.47  0.13  0.50  0.00  0.48  0.22  MIT\n"
    )
    found = CONVERT["yeast"]([tmp_path / "yeast"])
    assert found["X"].shape == (1, 8)
    assert YEAST[found["y"][0]] == "MIT"


def test_a_histogram_becomes_cells(tmp_path):
    counts = np.zeros((256, 256))
    counts[3, 200] = 7
    np.save(tmp_path / "h.npy", counts)
    found = CONVERT["grid"]([tmp_path / "h.npy"])
    assert found["X"].tolist() == [[3, 200]]
    assert found["w"].tolist() == [7]


def test_states_only(tmp_path):
    out = io.StringIO()
    lines = [("00501", "40.5", "-72.5", "x", "NY", "y"), ("00601", "18", "-66", "x", "PR", "y")]
    names = ("zip_code", "latitude", "longitude", "city", "state", "county")
    csv.writer(out).writerows([names, *lines])
    (tmp_path / "zip.csv").write_text(out.getvalue())
    found = CONVERT["zip"]([tmp_path / "zip.csv"])
    assert found["X"].tolist() == [[40.5, -72.5]]
    assert found["y_names"].tolist() == ["NY"]


def test_the_command_lists_fetches_and_fails_loudly(little, monkeypatch, capsys):
    monkeypatch.setattr(
        data,
        "sources",
        lambda: {"a": little, "b": replace(little, name="b", files=("http://127.0.0.1:9/x",))},
    )
    main([])
    assert "a                not here  free" in capsys.readouterr().out
    main(["a"])
    assert "licence: free\n  cite: nobody" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="not fetched: b"):
        main(["--all"])
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "unknown: nothing" in capsys.readouterr().err


EMPTY = {
    "bounds": "",
    "utility": "--only s1",
    "gallery": "adult",
    "explain": "run --tables adult",
    "evidence": "s1",
    "intervals": "few yeast",
    "edler2023": "fig4.2 --quick",
}
"""Benches, and what of them needs a dataset. Others have made-up rows, and are never empty."""


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("name", EMPTY)
def test_a_bench_without_its_data_says_so_and_fails(name, missing, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "none" if missing else tmp_path))
    with pytest.raises(SystemExit, match=r"^nothing to measure: none of .*python -m bench data \w"):
        import_module(BENCHES[name]).main(EMPTY[name].split())


def test_what_lacks_its_data_is_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    (tmp_path / "s1.npz").touch()
    needs = {"few": "s1", "yeast": "yeast", "more": "yeast", "made": ""}
    assert with_data(needs) == ["few", "made"]
    assert capsys.readouterr().out.endswith("SFUMATO_DATA names: yeast\n")
    assert with_data({"made": ""}) == ["made"]
    assert with_data({}) == []
    assert capsys.readouterr().out == ""


def test_a_bench_measures_what_it_has(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    monkeypatch.setattr(median, "TABLE", tmp_path / "median.csv")
    monkeypatch.setattr(median, "measure", lambda name, epsilon, runs: [name, epsilon, runs])
    monkeypatch.setattr(median, "page", lambda rows: " ".join({row["data"]: 0 for row in rows}))
    monkeypatch.setattr(median, "put", lambda page, text, *marks: shown.append(text))
    median.main(["--runs", "1"])
    assert shown == ["anywhere tails corner"]

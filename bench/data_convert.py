"""From the files of an origin to arrays: X and what is known about its rows."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]
YEAST = ("CYT", "NUC", "MIT", "ME3", "ME2", "ME1", "EXC", "VAC", "POX", "ERL")
SEEDS = ("area", "perimeter", "compactness", "length", "width", "asymmetry", "groove_length")
ADULT = {
    "age": 0,
    "fnlwgt": 2,
    "education-num": 4,
    "capital-gain": 10,
    "capital-loss": 11,
    "hours-per-week": 12,
}
FLIGHTS = ("origin_lat", "origin_lon", "dest_lat", "dest_lon")
FLIGHTS += ("distance_miles", "dep_minute", "delay_minutes")


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def _numbers(path: Path, sep: str | None = None) -> np.ndarray:
    lines = (line.split(sep) for line in _text(path).splitlines() if line.strip())
    return np.array([[float(cell) for cell in line] for line in lines])


def suite(files: list[Path], dtype: str = "float32") -> Arrays:
    """Points and labels of the clustering suite, with the means of the labelled clusters."""
    points, labels = (_numbers(file) for file in files)
    y = labels[:, 0].astype(np.uint8)
    X = points.astype(dtype)
    return {
        "X": X,
        "y": y,
        "C": np.array([X[y == i].mean(axis=0, dtype=float) for i in np.unique(y)]),
    }


def adult(files: list[Path]) -> Arrays:
    """The six numeric columns of both parts, and whether the income is above 50K."""
    text = "".join(_text(file) for file in files)
    rows = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines())]
    rows = [row for row in rows if len(row) == 15]
    X = np.array([[int(row[i]) for i in ADULT.values()] for row in rows], dtype=np.int32)
    y = np.array([row[14].startswith(">50K") for row in rows], dtype=np.uint8)
    return {"X": X, "y": y, "columns": np.array(list(ADULT))}


def yeast(files: list[Path]) -> Arrays:
    """Eight numbers of each protein and its place in the cell; the name is dropped."""
    rows = [line.split() for line in _text(files[0]).splitlines() if line.strip()]
    X = np.array([[float(cell) for cell in row[1:9]] for row in rows], dtype=np.float32)
    y = np.array([YEAST.index(row[9]) for row in rows], dtype=np.uint8)
    return {"X": X, "y": y, "y_names": np.array(YEAST)}


def seeds(files: list[Path]) -> Arrays:
    """Seven measures of each grain, and its kind."""
    table = _numbers(files[0])
    y = table[:, 7].astype(np.uint8)
    return {"X": table[:, :7].astype(np.float32), "y": y, "columns": np.array(SEEDS)}


def lifesci(files: list[Path]) -> Arrays:
    """Ten principal components, and a class."""
    table = _numbers(files[0], ",")
    return {"X": table[:, :10].astype(np.float32), "y": table[:, 10].astype(np.uint8)}


def colours(files: list[Path]) -> Arrays:
    """Colours as text, three numbers in a line."""
    return {"X": _numbers(files[0]).astype(np.uint8)}


def picture(files: list[Path]) -> Arrays:
    """The distinct colours of a picture, sorted."""
    from matplotlib.image import imread

    pixels = np.rint(imread(files[0])[..., :3] * 255).astype(np.uint8)
    return {"X": np.unique(pixels.reshape(-1, 3), axis=0)}


def grid(files: list[Path]) -> Arrays:
    """The cells of a histogram that are not empty, and what each counts."""
    counts = np.load(files[0], allow_pickle=False).reshape(256, 256)
    cells = np.argwhere(counts > 0)
    return {"X": cells.astype(np.uint8), "w": counts[tuple(cells.T)].astype(np.int32)}


def mnist(files: list[Path]) -> Arrays:
    """Pixels of the training part, then of the test part; the digits."""
    images, tests, labels, answers = (gzip.decompress(file.read_bytes()) for file in files)
    X = np.concatenate([np.frombuffer(part, np.uint8, offset=16) for part in (images, tests)])
    y = np.concatenate([np.frombuffer(part, np.uint8, offset=8) for part in (labels, answers)])
    return {"X": X.reshape(-1, 784), "y": y}


def zip_codes(files: list[Path]) -> Arrays:
    """Places of the post codes of fifty states and Washington, and their state."""
    lines = list(csv.DictReader(_text(files[0]).splitlines()))
    lines = [line for line in lines if line["state"] not in ("", "PR", "VI", "GU", "AS", "MP")]
    lines = [line for line in lines if line["state"] not in ("AA", "AE", "AP", "FM", "MH", "PW")]
    names = sorted({line["state"] for line in lines})
    X = [[float(line["latitude"]), float(line["longitude"])] for line in lines]
    y = np.array([names.index(line["state"]) for line in lines], dtype=np.uint8)
    return {"X": np.array(X, dtype=np.float32), "y": y, "y_names": np.array(names)}


def flights(files: list[Path]) -> Arrays:
    """Places of both airports, distance, minute of the day, and delay; `scale` gives the units."""
    import pyarrow.parquet as pq

    places = {
        line["iata"]: [round(float(line[side]) * 100) for side in ("latitude", "longitude")]
        for line in csv.DictReader(_text(files[1]).splitlines())
    }
    table = pq.read_table(files[0])
    ends = []
    for name in ("origin", "destination"):
        codes = table[name].combine_chunks().dictionary_encode()
        known = np.array([places[code.as_py()] for code in codes.dictionary], dtype=np.int16)
        ends.append(known[codes.indices.to_numpy()])
    minutes = table["date"].to_numpy().astype("datetime64[m]").astype(np.int64) % 1440
    rest = [table["distance"].to_numpy(), minutes, table["delay"].to_numpy()]
    X = np.column_stack([*ends, *rest]).astype(np.int16)
    scale = np.array([0.01, 0.01, 0.01, 0.01, 1.0, 1.0, 1.0])
    return {"X": X, "scale": scale, "columns": np.array(FLIGHTS)}


CONVERT: dict[str, Callable[..., Arrays]] = {
    "suite": suite,
    "adult": adult,
    "yeast": yeast,
    "seeds": seeds,
    "lifesci": lifesci,
    "colours": colours,
    "picture": picture,
    "grid": grid,
    "mnist": mnist,
    "zip": zip_codes,
    "flights": flights,
}

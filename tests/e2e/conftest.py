"""Files that a user has, in a directory of their own."""

import gzip

import numpy as np
import pytest


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def people(here):
    """A thousand rows in two clouds, in files of every format."""
    rng = np.random.default_rng(0)
    centers = np.repeat([[25.0, 10.0], [60.0, 45.0]], 500, axis=0)
    rows = rng.normal(centers, (4, 3)).round(2)
    np.save(here / "people.npy", rows)
    lines = [f"{age},{hours}" for age, hours in rows]
    (here / "people.csv").write_text("\n".join(["age,hours", *lines]) + "\n")
    (here / "bare.csv").write_text("\n".join(lines) + "\n")
    (here / "people.csv.gz").write_bytes(gzip.compress((here / "people.csv").read_bytes()))
    with_ids = [f"p{i // 4},{line},town {i}" for i, line in enumerate(lines)]
    (here / "visits.csv").write_text("\n".join(["id,age,hours,town", *with_ids]) + "\n")
    return rows
